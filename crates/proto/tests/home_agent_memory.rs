//! Memory that a registered mobile costs its home agent.

#[path = "../../sim/tests/counting/mod.rs"]
mod counting;

use baton_proto::interface::InterfaceId;
use baton_proto::mobility::address_configuration::{DuplicateAddressDetection, Uniqueness};
use baton_proto::mobility::buffering::{BufferPolicy, Overflow};
use baton_proto::mobility::mobile_ipv6::{
    HomeAgent, HomeAgentSettings, SharedKey, Strategy, Subscriber,
};
use baton_proto::packet::{BitErrors, Body, Extended, Identity, IpHeader, Packet};
use baton_proto::time::{Duration, Instant};
use baton_proto::wire::mobility_header::{BindingLifetime, BindingUpdate, MobilityMessage};
use baton_proto::wire::prefix::Ipv6Prefix;
use core::net::Ipv6Addr;

const MOBILES: u128 = 100_000;
const AGENT: u128 = 0x2001_0db8_0100_0000_0000_0000_0000_0001;

fn home(number: u128) -> Ipv6Addr {
    Ipv6Addr::from_bits(AGENT + 0x1000 + number)
}

fn behind(number: u128) -> Ipv6Prefix {
    let address = Ipv6Addr::from_bits(0x2001_0db9 << 96 | number << 64);
    Ipv6Prefix::new(address, 64).expect("a length")
}

/// The update of a mobile that is at a place.
fn update(number: u128, place: u128, sequence: u16) -> Packet {
    let care_of = Ipv6Addr::from_bits((0x2001_0dba + place) << 96 | number);
    let message = MobilityMessage::BindingUpdate(BindingUpdate {
        sequence,
        acknowledge: true,
        home_registration: true,
        mobile_router: true,
        lifetime: BindingLifetime::at_most(600),
        ..BindingUpdate::default()
    });
    Packet {
        ip: IpHeader {
            source: care_of.into(),
            destination: Ipv6Addr::from_bits(AGENT).into(),
            hop_limit: 64,
            traffic_class: 0,
            identification: 0,
            dont_fragment: true,
        },
        flow: None,
        retransmission: false,
        bit_errors: BitErrors::NONE,
        identity: Identity::NONE,
        body: Body::Extended(Box::new(Extended {
            home_address: Some(home(number)),
            routing_home_address: None,
            body: Body::Mobility(Box::new(message)),
        })),
    }
}

#[test]
fn a_registered_mobile_takes_less_than_1_kib() {
    let policy = BufferPolicy {
        bytes: 65_536,
        age: Duration::from_secs(30),
        overflow: Overflow::DropOldest,
        pace: None,
        drop_duplicates: true,
    };
    let before = counting::live_bytes();
    let mut agent = HomeAgent::new(HomeAgentSettings {
        is_anchor_point: false,
        address: Ipv6Addr::from_bits(AGENT),
        home_prefix: Ipv6Prefix::new(home(0), 64).expect("a length"),
        home_interface: InterfaceId(0),
        longest_lifetime: BindingLifetime::at_most(3600),
        detection: DuplicateAddressDetection::NotNeeded(Uniqueness::HomeNetworkPrefix),
        retransmission_time: Duration::from_secs(1),
        strategy: Strategy::Buffer(policy),
        bicast_on_request: None,
        proven_care_of: None,
        path_mtu: 1500,
        clamp_segment_size: false,
    });
    for number in 0..MOBILES {
        agent.subscribe(Subscriber {
            home_address: home(number),
            key: None::<SharedKey>,
            prefixes: Some(Box::new([behind(number).into()])),
        });
    }
    // Two places each, so that what a change leaves behind is counted.
    for (place, sequence) in [(0, 1), (1, 2)] {
        for number in 0..MOBILES {
            let now = Instant::from_nanos(number as u64);
            agent.handle_packet(now, update(number, place, sequence));
            while agent.poll_transmit().is_some() {}
            while agent.poll_event().is_some() {}
        }
    }
    assert_eq!(agent.registered(), MOBILES as usize);
    let each = (counting::live_bytes() - before) / MOBILES as i64;
    println!("{each} B a mobile router with one prefix");
    assert!(each < 1024, "{each} B");
}
