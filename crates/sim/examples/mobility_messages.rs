//! Writes a capture with one of each message and header of mobility over IPv6, for Wireshark and for
//! `tests/test_mobility_wire.py`, which compares other programs' reading of it with the values given here:
//!
//! ```sh
//! cargo run --example mobility_messages -- messages.pcapng
//! ```

use baton_proto::packet::{BitErrors, Body, Extended, Identity, IpHeader, Packet, Payload};
use baton_proto::time::Instant;
use baton_proto::wire::icmp::{IcmpError, IcmpMessage, QuotedPacket, QuotedWithin};
use baton_proto::wire::mobility_header::{
    Authenticator, BindingAcknowledgement, BindingError, BindingErrorStatus, BindingLifetime,
    BindingStatus, BindingUpdate, HandoverAcknowledge, HandoverCode, HandoverInitiate,
    Ipv4AddressAcknowledgement, Ipv4AddressStatus, Ipv4HomeAddress, MobilityMessage, NonceIndices,
    PacketBuffering, RoutabilityTest,
};
use baton_proto::wire::multicast_listener::{MulticastListenerReport, REPORT_DESTINATION};
use baton_proto::wire::neighbor_discovery::{
    ALL_NODES, ALL_ROUTERS, AnchorPoint, HomeAgentInformation, LinkLayerAddress,
    NeighborAdvertisement, NeighborDiscovery, NeighborSolicitation, PrefixInformation,
    ProxyAdvertisement, ProxyRouter, ProxySolicitation, RouterAdvertisement, RouterSolicitation,
    solicited_node_multicast,
};
use baton_proto::wire::prefix::Ipv6Prefix;
use baton_proto::wire::protocol;
use baton_proto::wire::udp::UdpHeader;
use baton_sim::pcap::{Capture, Direction};
use std::fs::File;
use std::io::{self, BufWriter};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::num::NonZeroU16;

const HOME_AGENT: Ipv6Addr = Ipv6Addr::new(0x2001, 0xDB8, 1, 0, 0, 0, 0, 1);
const HOME: Ipv6Addr = Ipv6Addr::new(0x2001, 0xDB8, 1, 0, 0, 0, 0, 0x100);
const CARE_OF: Ipv6Addr = Ipv6Addr::new(0x2001, 0xDB8, 2, 0, 0, 0, 0, 0x100);
/// The mobile's former address.
const FORMER: Ipv6Addr = Ipv6Addr::new(0x2001, 0xDB8, 4, 0, 0, 0, 0, 0x100);
const CORRESPONDENT: Ipv6Addr = Ipv6Addr::new(0x2001, 0xDB8, 3, 0, 0, 0, 0, 9);
/// The mobile and the router on their link.
const MOBILE: Ipv6Addr = Ipv6Addr::new(0xFE80, 0, 0, 0, 0x200, 0x5EFF, 0xFE00, 0x5301);
const ROUTER: Ipv6Addr = Ipv6Addr::new(0xFE80, 0, 0, 0, 0x200, 0x5EFF, 0xFE00, 0x5302);
/// The router of the mobile's next link, and its access point.
const NEXT_ROUTER: Ipv6Addr = Ipv6Addr::new(0x2001, 0xDB8, 5, 0, 0, 0, 0, 1);
const NEXT_ACCESS_POINT: LinkLayerAddress = LinkLayerAddress([0, 0, 0x5E, 0, 0x53, 3]);
/// A mobility anchor point, and the mobile's regional care-of address there.
const ANCHOR: Ipv6Addr = Ipv6Addr::new(0x2001, 0xDB8, 9, 0, 0, 0, 0, 1);
const REGIONAL: Ipv6Addr = Ipv6Addr::new(0x2001, 0xDB8, 9, 0, 0, 0, 0, 0x100);
const MOBILE_CARD: LinkLayerAddress = LinkLayerAddress([0, 0, 0x5E, 0, 0x53, 1]);
const ROUTER_CARD: LinkLayerAddress = LinkLayerAddress([0, 0, 0x5E, 0, 0x53, 2]);

fn main() -> io::Result<()> {
    let Some(path) = std::env::args_os().nth(1) else {
        let message = "no file is named; expected the path of the capture to be written";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    };
    let file = BufWriter::new(File::create(path)?);
    let mut capture = Capture::new(file, "mobility", "one of each message of mobility", None)?;
    let packets = [discovery(), routability(), bindings(), data()].concat();
    for (second, packet) in (0..).zip(&packets) {
        capture.write(Instant::from_secs(second), Direction::Outbound, packet)?;
    }
    capture.finish().map(drop)
}

fn packet(source: impl Into<IpAddr>, destination: impl Into<IpAddr>, body: Body) -> Packet {
    let hop_limit = match &body {
        Body::Icmp(message) => message.required_hop_limit(),
        _ => None,
    };
    Packet {
        ip: IpHeader {
            source: source.into(),
            destination: destination.into(),
            hop_limit: hop_limit.unwrap_or(64),
            traffic_class: 0,
            identification: 0,
            dont_fragment: true,
        },
        body,
        flow: None,
        retransmission: false,
        bit_errors: BitErrors::NONE,
        identity: Identity::NONE,
    }
}

/// Puts home addresses in front of a packet's content.
fn extended(
    packet: Packet,
    home_address: Option<Ipv6Addr>,
    routing_home_address: Option<Ipv6Addr>,
) -> Packet {
    let extended = Extended {
        home_address,
        routing_home_address,
        body: packet.body,
    };
    Packet {
        body: Body::Extended(Box::new(extended)),
        ..packet
    }
}

/// Makes the messages of one link.
fn discovery() -> Vec<Packet> {
    let prefix = |address, router_address: Option<Ipv6Addr>| PrefixInformation {
        prefix: Ipv6Prefix::new(address, 64).expect("a length of at most 128"),
        on_link: true,
        autonomous: router_address.is_some(),
        router_address,
        valid_lifetime_s: 2_592_000,
        preferred_lifetime_s: 604_800,
    };
    let advertisement = RouterAdvertisement {
        hop_limit: 64,
        managed_addresses: false,
        other_configuration: true,
        home_agent: true,
        router_lifetime_s: 1800,
        reachable_time_ms: 30_000,
        retransmission_time_ms: 1000,
        source_link_layer_address: Some(ROUTER_CARD),
        mtu: Some(1280),
        prefixes: vec![prefix(HOME, Some(HOME_AGENT)), prefix(CARE_OF, None)],
        advertisement_interval_ms: Some(1500),
        home_agent_information: NonZeroU16::new(900).map(|lifetime_s| HomeAgentInformation {
            preference: 7,
            lifetime_s,
        }),
        anchor_points: vec![AnchorPoint {
            distance: 2,
            preference: 9,
            forms_addresses: true,
            valid_lifetime_s: 3600,
            address: ANCHOR,
        }],
    };
    let solicitation = |source_link_layer_address| {
        NeighborDiscovery::NeighborSolicitation(NeighborSolicitation {
            target: HOME,
            source_link_layer_address,
        })
    };
    let answer = |solicited| {
        NeighborDiscovery::NeighborAdvertisement(NeighborAdvertisement {
            target: HOME,
            router: solicited,
            solicited,
            overrides: true,
            target_link_layer_address: Some(ROUTER_CARD),
        })
    };
    let question = NeighborDiscovery::RouterSolicitation(RouterSolicitation {
        source_link_layer_address: Some(MOBILE_CARD),
    });
    let group = solicited_node_multicast(HOME);
    let unspecified = Ipv6Addr::UNSPECIFIED;
    let discovery = [
        (MOBILE, ALL_ROUTERS, question),
        (
            ROUTER,
            ALL_NODES,
            NeighborDiscovery::RouterAdvertisement(advertisement),
        ),
        (unspecified, group, solicitation(None)),
        (MOBILE, group, solicitation(Some(MOBILE_CARD))),
        (ROUTER, MOBILE, answer(true)),
        (ROUTER, ALL_NODES, answer(false)),
        (
            MOBILE,
            ALL_ROUTERS,
            NeighborDiscovery::ProxySolicitation(ProxySolicitation {
                identifier: 515,
                access_point: NEXT_ACCESS_POINT,
            }),
        ),
        (
            ROUTER,
            MOBILE,
            NeighborDiscovery::ProxyAdvertisement(ProxyAdvertisement {
                identifier: 515,
                access_point: NEXT_ACCESS_POINT,
                router: Some(ProxyRouter {
                    address: NEXT_ROUTER,
                    prefix: Ipv6Prefix::new(NEXT_ROUTER, 64).expect("a length of at most 128"),
                }),
            }),
        ),
    ]
    .map(|(source, destination, message)| {
        let message = IcmpMessage::NeighborDiscovery(message.into());
        packet(source, destination, Body::Icmp(message))
    });
    let reports = [
        (unspecified, MulticastListenerReport::join(group)),
        (MOBILE, MulticastListenerReport::leave(group)),
    ]
    .map(|(source, report)| {
        let message = IcmpMessage::MulticastListenerReport(Box::new(report));
        packet(source, REPORT_DESTINATION, Body::Icmp(message))
    });
    [discovery.as_slice(), reports.as_slice()].concat()
}

fn mobility(source: Ipv6Addr, destination: Ipv6Addr, message: MobilityMessage) -> Packet {
    packet(source, destination, Body::Mobility(Box::new(message)))
}

/// Makes the return routability procedure.
fn routability() -> Vec<Packet> {
    let cookie = [1, 2, 3, 4, 5, 6, 7, 8];
    let test = |nonce_index| RoutabilityTest {
        nonce_index,
        cookie,
        keygen_token: [0xA1; 8],
    };
    [
        (CORRESPONDENT, HOME, MobilityMessage::BindingRefreshRequest),
        (
            HOME,
            CORRESPONDENT,
            MobilityMessage::HomeTestInit { cookie },
        ),
        (
            CARE_OF,
            CORRESPONDENT,
            MobilityMessage::CareOfTestInit { cookie },
        ),
        (CORRESPONDENT, HOME, MobilityMessage::HomeTest(test(513))),
        (
            CORRESPONDENT,
            CARE_OF,
            MobilityMessage::CareOfTest(test(514)),
        ),
    ]
    .map(|(source, destination, message)| mobility(source, destination, message))
    .into()
}

/// Makes registrations with home agent and correspondent, including failures.
fn bindings() -> Vec<Packet> {
    let prefix = |third| {
        let address = Ipv6Addr::new(0x2001, 0xDB8, 1, third, 0, 0, 0, 0);
        Ipv6Prefix::new(address, 56).expect("a length of at most 128")
    };
    let shared = Authenticator::MobileHomeAgent {
        security_parameter_index: 4097,
        data: [0xC1; 12],
    };
    let registration = BindingUpdate {
        sequence: 65_535,
        acknowledge: true,
        home_registration: true,
        link_local_compatible: true,
        key_management_mobility: true,
        mobile_router: true,
        lifetime: BindingLifetime::at_most(420),
        alternate_care_of_address: Some(CARE_OF),
        nonce_indices: None,
        mobile_network_prefixes: vec![prefix(0x100), prefix(0x200)],
        ipv4_home_addresses: vec![Ipv4HomeAddress {
            address: Ipv4Addr::new(10, 1, 0, 0),
            prefix_length: 16,
            asks_for_prefix: true,
        }],
        packet_buffering: Some(PacketBuffering::Buffer),
        path_report: None,
        last_received: None,
        authenticator: Some(shared),
        ..BindingUpdate::default()
    };
    let correspondent = BindingUpdate {
        sequence: 1,
        acknowledge: true,
        lifetime: BindingLifetime::at_most(420),
        nonce_indices: Some(NonceIndices {
            home: 513,
            care_of: 514,
        }),
        authenticator: Some(Authenticator::BindingAuthorization([0xC2; 12])),
        ..BindingUpdate::default()
    };
    let answer = BindingAcknowledgement {
        key_management_mobility: true,
        mobile_router: true,
        refresh_advice: Some(BindingLifetime::at_most(100)),
        packet_buffering: Some(PacketBuffering::Buffer),
        ipv4_acknowledgements: vec![Ipv4AddressAcknowledgement {
            status: Ipv4AddressStatus::PREFIX_ALLOCATION_UNAUTHORIZED,
            prefix_length: 0,
            address: Ipv4Addr::new(10, 1, 0, 0),
        }],
        authenticator: Some(shared),
        ..BindingAcknowledgement::new(
            BindingStatus::ACCEPTED,
            65_535,
            BindingLifetime::at_most(420),
        )
    };
    let refusal = BindingAcknowledgement {
        key_management_mobility: true,
        ..BindingAcknowledgement::new(
            BindingStatus::SEQUENCE_NUMBER_OUT_OF_WINDOW,
            65_535,
            BindingLifetime::ZERO,
        )
    };
    let router = Ipv6Addr::new(0x2001, 0xDB8, 4, 0, 0, 0, 0, 1);
    let fast = BindingUpdate {
        sequence: 7,
        acknowledge: true,
        home_registration: true,
        lifetime: BindingLifetime::at_most(32),
        ..BindingUpdate::default()
    };
    let copies = BindingUpdate {
        home_registration: false,
        last_received: Some(0xD3D3_D3D3_D3D3_D3D3),
        ..fast.clone()
    };
    let local = BindingUpdate {
        home_registration: false,
        anchor_registration: true,
        ..fast.clone()
    };
    let next = Ipv6Addr::new(0x2001, 0xDB8, 5, 0, 0, 0, 0, 0x100);
    let ahead = BindingUpdate {
        alternate_care_of_address: Some(next),
        ..fast.clone()
    };
    let initiate = HandoverInitiate {
        sequence: 9,
        buffers: true,
        previous_care_of_address: FORMER,
        new_care_of_address: next,
    };
    let agreed = HandoverAcknowledge {
        sequence: 9,
        code: HandoverCode::ACCEPTED,
    };
    let unspecified = BindingStatus::REASON_UNSPECIFIED;
    let forwarding = BindingAcknowledgement::new(unspecified, 7, BindingLifetime::ZERO);
    let error = BindingError {
        status: BindingErrorStatus::UnknownBinding,
        home_address: Some(HOME),
    };
    let update = |destination, update| {
        let message = MobilityMessage::BindingUpdate(update);
        extended(mobility(CARE_OF, destination, message), Some(HOME), None)
    };
    let acknowledgement = |answer| {
        let message = MobilityMessage::BindingAcknowledgement(answer);
        extended(mobility(HOME_AGENT, CARE_OF, message), None, Some(HOME))
    };
    vec![
        update(HOME_AGENT, registration),
        acknowledgement(answer),
        update(CORRESPONDENT, correspondent),
        acknowledgement(refusal),
        mobility(CORRESPONDENT, CARE_OF, MobilityMessage::BindingError(error)),
        extended(
            mobility(CARE_OF, router, MobilityMessage::FastBindingUpdate(fast)),
            Some(FORMER),
            None,
        ),
        mobility(
            router,
            CARE_OF,
            MobilityMessage::FastBindingAcknowledgement(forwarding),
        ),
        update(router, copies),
        extended(
            mobility(FORMER, router, MobilityMessage::FastBindingUpdate(ahead)),
            Some(FORMER),
            None,
        ),
        mobility(
            router,
            NEXT_ROUTER,
            MobilityMessage::HandoverInitiate(initiate),
        ),
        mobility(
            NEXT_ROUTER,
            router,
            MobilityMessage::HandoverAcknowledge(agreed),
        ),
        extended(
            mobility(CARE_OF, ANCHOR, MobilityMessage::BindingUpdate(local)),
            Some(REGIONAL),
            None,
        ),
    ]
}

/// Makes data on its ways: tunnels, optimised routes, and an error about a tunnel.
fn data() -> Vec<Packet> {
    let ports = UdpHeader {
        source_port: 4000,
        destination_port: 5000,
    };
    let datagram = || Body::Udp(ports, Payload::Bytes((*b"mobile").into()));
    let [entry, exit, server, mobile] = [
        [192, 0, 2, 1],
        [198, 51, 100, 7],
        [203, 0, 113, 9],
        [192, 0, 2, 100],
    ]
    .map(Ipv4Addr::from);
    let inner_v4 = || Body::Tunnel(Box::new(packet(server, mobile, datagram())));
    let inner_v6 = || Body::Tunnel(Box::new(packet(CORRESPONDENT, HOME, datagram())));
    let quoted = |source: Ipv6Addr, destination: Ipv6Addr, protocol, within| QuotedPacket {
        source: source.into(),
        destination: destination.into(),
        protocol,
        source_port: 0,
        destination_port: 0,
        sequence: 0,
        within,
    };
    let carried = QuotedPacket {
        source_port: 4000,
        destination_port: 5000,
        ..quoted(CORRESPONDENT, HOME, protocol::UDP, None)
    };
    let within = Some(Box::new(QuotedWithin::Tunnel(carried)));
    let error = IcmpMessage::Error {
        kind: IcmpError::PacketTooBig { mtu: 1400 },
        quoted: quoted(HOME_AGENT, CARE_OF, protocol::IPV6, within),
    };
    let router = Ipv6Addr::new(0x2001, 0xDB8, 2, 0, 0, 0, 0, 1);
    let other = Ipv6Addr::new(0x2001, 0xDB8, 4, 0, 0, 0, 0, 0x200);
    vec![
        packet(HOME_AGENT, CARE_OF, inner_v6()),
        packet(HOME_AGENT, CARE_OF, inner_v4()),
        packet(entry, exit, inner_v4()),
        packet(entry, exit, inner_v6()),
        extended(packet(CARE_OF, CORRESPONDENT, datagram()), Some(HOME), None),
        extended(packet(CORRESPONDENT, CARE_OF, datagram()), None, Some(HOME)),
        extended(
            packet(CARE_OF, other, datagram()),
            Some(HOME),
            Some(HOME_AGENT),
        ),
        packet(router, HOME_AGENT, Body::Icmp(error)),
    ]
}
