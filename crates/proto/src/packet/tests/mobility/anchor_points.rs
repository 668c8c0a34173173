//! Messages of hierarchical Mobile IPv6 (RFC 5380) made by scapy 2.8.0: `ICMPv6NDOptMAP`, and updates with the flags "AM".

use super::*;
use crate::wire::neighbor_discovery::AnchorPoint;

const ADVERTISEMENT: &str = "6000000000603afffe8000000000000002005efffe005302ff020000000000000000000000000001\
    86009866400007080000000000000000030440e000278d0000093a800000000020010db80001000000000000000000011703\
    298000000e1020010db80009000000000000000000011703f0000000000020010db8000a00000000000000000001";
const LOCAL_UPDATE: &str = "6000000000283c4020010db800020000000000000000010020010db8000900000000000000000001870201\
    020000c91020010db80009000000000000000001003b010500d96f00078800006901020000";
const LOCAL_ACKNOWLEDGEMENT: &str = "6000000000282b4020010db800090000000000000000000120010db80002000000000000000001\
    00870202010000000020010db80009000000000000000001003b010600607000000007006901020000";

const ANCHOR: &str = "2001:db8:9::1";
const REGIONAL: &str = "2001:db8:9::100";

fn advertisement() -> RouterAdvertisement {
    let anchor_point = |address, place: (u8, u8), valid_lifetime_s| AnchorPoint {
        distance: place.0,
        preference: place.1,
        forms_addresses: valid_lifetime_s > 0,
        valid_lifetime_s,
        address: v6(address),
    };
    RouterAdvertisement {
        hop_limit: 64,
        router_lifetime_s: 1800,
        prefixes: router_advertisement().prefixes[..1].to_vec(),
        anchor_points: vec![
            anchor_point(ANCHOR, (2, 9), 3600),
            anchor_point("2001:db8:a::1", (15, 0), 0),
        ],
        ..RouterAdvertisement::default()
    }
}

fn packets() -> [(&'static str, Packet); 3] {
    let update = MobilityMessage::BindingUpdate(BindingUpdate {
        sequence: 7,
        acknowledge: true,
        anchor_registration: true,
        lifetime: BindingLifetime::at_most(420),
        ..BindingUpdate::default()
    });
    let accepted = BindingStatus::ACCEPTED;
    let answer = BindingAcknowledgement::new(accepted, 7, BindingLifetime::at_most(420));
    let answer = MobilityMessage::BindingAcknowledgement(answer);
    let advertisement = NeighborDiscovery::RouterAdvertisement(advertisement());
    [
        (
            ADVERTISEMENT,
            discovery(ROUTER, &ALL_NODES.to_string(), advertisement),
        ),
        (
            LOCAL_UPDATE,
            extended(mobility(CARE_OF, ANCHOR, update), Some(REGIONAL), None),
        ),
        (
            LOCAL_ACKNOWLEDGEMENT,
            extended(mobility(ANCHOR, CARE_OF, answer), None, Some(REGIONAL)),
        ),
    ]
}

#[test]
fn messages_for_anchor_points_are_read_and_written_as_by_scapy() {
    for (original, packet) in packets() {
        assert_eq!(decode(original), packet);
        assert_eq!(encode(&packet), bytes(original), "{packet:?}");
        assert_eq!(packet.wire_length() as usize * 2, original.len());
    }
}

#[test]
fn messages_for_anchor_points_are_called_as_in_the_standard() {
    let signal = |original| {
        let signal = decode(original).signal().expect("a signal");
        (signal.name, signal.details)
    };
    let details = "prefix 2001:db8:1::/64, anchor point 2001:db8:9::1, anchor point 2001:db8:a::1";
    assert_eq!(
        signal(ADVERTISEMENT),
        ("Router Advertisement", details.to_owned())
    );
    let details = "sequence 7, care-of address 2001:db8:2::100, lifetime 420 s";
    assert_eq!(
        signal(LOCAL_UPDATE),
        ("Local Binding Update", details.to_owned())
    );
}

/// RFC 4861 section 4.6: an option of another length than its own is skipped; one cut short is refused.
#[test]
fn options_of_other_lengths_are_no_anchor_points() {
    // The first option becomes four units long: it ends within the second.
    let place = 40 + 16 + 32 + 1;
    assert!(Packet::decode(&changed(ADVERTISEMENT, &[(place, 4)], 42)).is_err());
    // Both together are one option of six units.
    let read = Packet::decode(&changed(ADVERTISEMENT, &[(place, 6)], 42)).expect("well formed");
    let Body::Icmp(IcmpMessage::NeighborDiscovery(message)) = &read.body else {
        panic!("{read:?}");
    };
    let NeighborDiscovery::RouterAdvertisement(read) = &**message else {
        panic!("{message:?}");
    };
    assert_eq!(read.anchor_points, []);
    assert_eq!(read.prefixes.len(), 1);
}
