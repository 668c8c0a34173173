//! Packets of mobility made by scapy 2.8.0 from the values beside them; malformed messages; tunnels.
//!
//! They were made as `bytes(IPv6(src=…, dst=…, hlim=255)/ICMPv6ND_NS(tgt=…))`, with scapy's layers of the messages'
//! names, and with options in the order of the bytes. Set by hand were: the five bytes of padding before the update's
//! authentication option, where scapy puts four after it; the lengths of nonce indices (4) and binding authorization
//! data (12), where scapy's are 16; and the options unknown to scapy, such as the buffering option,
//! `MIP6OptUnknown(otype=18, odata=b"\xba\x01")`. For those of IPv4 (types 29 and 30), tshark 4.0 reads the values
//! given here.

use super::*;
use crate::wire::icmp::QuotedWithin;
use crate::wire::mobility_header::{
    Authenticator, BindingAcknowledgement, BindingError, BindingErrorStatus, BindingLifetime,
    BindingStatus, BindingUpdate, Ipv4AddressAcknowledgement, Ipv4AddressStatus, Ipv4HomeAddress,
    NatDetection, NonceIndices, PacketBuffering, RoutabilityTest, Timestamp,
};
use crate::wire::multicast_listener::{
    MulticastAddressRecord, MulticastListenerReport, REPORT_DESTINATION, RecordKind,
};
use crate::wire::neighbor_discovery::{
    ALL_NODES, ALL_ROUTERS, HomeAgentInformation, LinkLayerAddress, NeighborAdvertisement,
    NeighborDiscovery, NeighborSolicitation, PrefixInformation, RouterAdvertisement,
    RouterSolicitation, solicited_node_multicast,
};
use crate::wire::prefix::Ipv6Prefix;
use core::num::NonZeroU16;

mod anchor_points;
mod signal;

const ROUTER_SOLICITATION: &str = "6000000000103afffe8000000000000002005efffe005301ff0200000000000000000000000000028500192b000000000101\
    00005e005301";
const ROUTER_ADVERTISEMENT: &str = "6000000000703afffe8000000000000002005efffe005302ff02000000000000000000000000000186009aca406007080000\
    7530000003e8010100005e0053020501000000000500030440e000278d0000093a800000000020010db80001000000000000\
    0000000103043000ffffffffffffffff0000000020010db800070000000000000000000007010000000005dc080100000007\
    0384";
const DETECTION: &str = "6000000000183aff00000000000000000000000000000000ff0200000000000000000001ff00010087004aee000000002001\
    0db8000100000000000000000100";
const NEIGHBOR_SOLICITATION: &str = "6000000000203afffe8000000000000002005efffe005301ff0200000000000000000001ff0000018700ea5e000000002001\
    0db8000100000000000000000001010100005e005301";
const NEIGHBOR_ADVERTISEMENT: &str = "6000000000203afffe8000000000000002005efffe005302fe8000000000000002005efffe005301880055dfe00000002001\
    0db8000100000000000000000001020100005e005302";
const PROXY_ADVERTISEMENT: &str = "6000000000203afffe8000000000000002005efffe005302ff0200000000000000000000000000018800c65f200000002001\
    0db8000100000000000000000100020100005e005302";
const REPORT: &str = "60000000006c0001fe8000000000000002005efffe005301ff0200000000000000000000000000163a000502000001008f00\
    dcf40000000304000000ff0200000000000000000001ff00010003000000ff0200000000000000000001ff00000105000002\
    ff3e000000000000000000008000000120010db800030000000000000000000920010db8000100000000000000000001";
const REFRESH_REQUEST: &str = "600000000008874020010db800030000000000000000000920010db80001000000000000000001003b00000067f10000";
const HOME_TEST_INIT: &str = "600000000010874020010db800010000000000000000010020010db80003000000000000000000093b01010056d400000102\
    030405060708";
const CARE_OF_TEST_INIT: &str = "600000000010874020010db800020000000000000000010020010db80003000000000000000000093b01020055d300000102\
    030405060708";
const HOME_TEST: &str = "600000000018874020010db800030000000000000000000920010db80001000000000000000001003b020300c03302010102\
    030405060708a1a2a3a4a5a6a7a8";
const CARE_OF_TEST: &str = "600000000018874020010db800030000000000000000000920010db80002000000000000000001003b020400bf3102020102\
    030405060708a1a2a3a4a5a6a7a8";
const BUFFERING_UPDATE: &str = "6000000000883c4020010db800020000000000000000010020010db8000100000000000000000001870201020000c9102001\
    0db80001000000000000000001003b0d05003d7dfffff40000691202ba01010400000000031020010db80002000000000000\
    00000100010200000612003820010db8000101000000000000000000010200000612004020010db800010201000000000000\
    0000010300000009110100001001c0c1c2c3c4c5c6c7c8c9cacb";
const IPV4_UPDATE: &str = "6000000000483c4020010db800020000000000000000010020010db8000100000000000000000001870201020000c91020010db8\
    0001000000000000000001003b050500a1410009c40000690612003820010db80001010000000000000000001d0642000a01\
    00001d068000c0000207";
const IPV4_ACKNOWLEDGEMENT: &str = "6000000000382b4020010db800010000000000000000000120010db80002000000000000000001008702020100000000\
    20010db80001000000000000000001003b030600d4bd004000090069020200191e0600400a0100001e068200c0000207";
/// Written octet by octet in Python with `struct` and `hmac`: scapy knows neither the IPv4 care-of address (type 32)
/// nor NAT detection (31). tshark 4.0 reads these values.
const OVER_IPV4_UPDATE: &str = "600000000050874020010db800010000000000000000010020010db80001000000000000000000013b090500e4630009c500\
    00690612003820010db80001010000000000000000001d0642000a01000020060000c0a8010701000a08ea00000180000000\
    00091101000010019794c64fc0921230ed09854b";
const OVER_IPV4_ACKNOWLEDGEMENT: &str = "600000000040874020010db800010000000000000000000120010db80001000000000000000001003b0706004b8500400009\
    00691e0600400a0100001f0680000000006e0104000000000a08ea000001800000000009110100001001cfaf5a9cde0bf9b7\
    52c762d8";
const CORRESPONDENT_UPDATE: &str = "6000000000383c4020010db800020000000000000000010020010db8000300000000000000000009870201020000c9102001\
    0db80001000000000000000001003b03050032b0000180000069040402010202050cc0c1c2c3c4c5c6c7c8c9cacb";
const DEREGISTRATION: &str = "600000000010874020010db800010000000000000000010020010db80001000000000000000000013b010500a1ed0002c000\
    000001020000";
const ACKNOWLEDGEMENT: &str = "6000000000402b4020010db800010000000000000000000120010db800020000000000000000010087020201000000002001\
    0db80001000000000000000001003b040600ceda00c0ffff00691202ba010202001a0009110100001001c0c1c2c3c4c5c6c7\
    c8c9cacb";
const REFUSAL: &str = "600000000010874020010db800010000000000000000000120010db80002000000000000000001003b010600d9e787000007\
    000001020000";
const BINDING_ERROR: &str = "600000000018874020010db800030000000000000000000920010db80002000000000000000001003b020700312401002001\
    0db8000100000000000000000100";
const TUNNEL_6_IN_6: &str = "600000000036294020010db800010000000000000000000120010db800020000000000000000010060000000000e113f2001\
    0db800030000000000000000000920010db80001000000000000000001000fa01388000e43ed6d6f62696c65";
const TUNNEL_4_IN_4: &str = "450000360009400040044e7fc0000201c633640745000022000800003f117d55cb007109c00002640fa01388000ea1fd6d6f\
    62696c65";
const TUNNEL_4_IN_6: &str = "600000000022044020010db800010000000000000000000120010db800020000000000000000010045000022000840003f11\
    3d55cb007109c00002640fa01388000ea1fd6d6f62696c65";
const TUNNEL_6_IN_4: &str = "4500004a0009400040294e46c0000201c633640760000000000e113f20010db800030000000000000000000920010db80001\
    000000000000000001000fa01388000e43ed6d6f62696c65";
const OPTIMISED_UP: &str = "6000000000263c4020010db800020000000000000000010020010db8000300000000000000000009110201020000c9102001\
    0db80001000000000000000001000fa01388000e43ed6d6f62696c65";
const OPTIMISED_DOWN: &str = "6000000000302b4020010db800030000000000000000000920010db800020000000000000000010006020201000000002001\
    0db800010000000000000000010013880fa00000000100000002501016d03d790000646f776e";
const BETWEEN_MOBILES: &str = "60000000003e2b4020010db800020000000000000000010020010db80004000000000000000002003c020201000000002001\
    0db8000100000000000000000200110201020000c91020010db80001000000000000000001000fa01388000e41f86d6f6269\
    6c65";

const HOME_AGENT: &str = "2001:db8:1::1";
const HOME: &str = "2001:db8:1::100";
const CARE_OF: &str = "2001:db8:2::100";
const CORRESPONDENT: &str = "2001:db8:3::9";
const HOST: &str = "fe80::200:5eff:fe00:5301";
const ROUTER: &str = "fe80::200:5eff:fe00:5302";

const COOKIE: [u8; 8] = [1, 2, 3, 4, 5, 6, 7, 8];
const TOKEN: [u8; 8] = [0xA1, 0xA2, 0xA3, 0xA4, 0xA5, 0xA6, 0xA7, 0xA8];
const PROOF: [u8; 12] = [
    0xC0, 0xC1, 0xC2, 0xC3, 0xC4, 0xC5, 0xC6, 0xC7, 0xC8, 0xC9, 0xCA, 0xCB,
];

fn v6(text: &str) -> Ipv6Addr {
    text.parse().expect("an address")
}

fn link_layer(last: u8) -> Option<LinkLayerAddress> {
    Some(LinkLayerAddress([0, 0, 0x5E, 0, 0x53, last]))
}

fn prefix(text: &str, length: u8) -> Ipv6Prefix {
    Ipv6Prefix::new(v6(text), length).expect("a length")
}

fn packet(source: &str, destination: &str, hop_limit: u8, body: Body) -> Packet {
    let [source, destination] = [source, destination].map(|text| text.parse().expect("an address"));
    Packet {
        ip: IpHeader {
            source,
            destination,
            hop_limit,
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

fn discovery(source: &str, destination: &str, message: NeighborDiscovery) -> Packet {
    let body = Body::Icmp(IcmpMessage::NeighborDiscovery(message.into()));
    packet(source, destination, 255, body)
}

fn mobility(source: &str, destination: &str, message: MobilityMessage) -> Packet {
    let body = Body::Mobility(Box::new(message));
    packet(source, destination, 64, body)
}

/// Puts extension headers in front of a packet's payload.
fn extended(mut packet: Packet, home_address: Option<&str>, routing: Option<&str>) -> Packet {
    packet.body = Body::Extended(Box::new(Extended {
        home_address: home_address.map(v6),
        routing_home_address: routing.map(v6),
        body: packet.body,
    }));
    packet
}

fn datagram(source: &str, destination: &str, hop_limit: u8) -> Packet {
    let ports = UdpHeader {
        source_port: 4000,
        destination_port: 5000,
    };
    let payload = Payload::from_slice(b"mobile");
    packet(source, destination, hop_limit, Body::Udp(ports, payload))
}

fn tunnel(source: &str, destination: &str, inner: Packet) -> Packet {
    packet(source, destination, 64, Body::Tunnel(Box::new(inner)))
}

fn router_advertisement() -> RouterAdvertisement {
    RouterAdvertisement {
        hop_limit: 64,
        managed_addresses: false,
        other_configuration: true,
        home_agent: true,
        router_lifetime_s: 1800,
        reachable_time_ms: 30_000,
        retransmission_time_ms: 1000,
        source_link_layer_address: link_layer(2),
        mtu: Some(1280),
        prefixes: vec![
            PrefixInformation {
                prefix: prefix("2001:db8:1::", 64),
                on_link: true,
                autonomous: true,
                router_address: Some(v6(HOME_AGENT)),
                valid_lifetime_s: 2_592_000,
                preferred_lifetime_s: 604_800,
            },
            PrefixInformation {
                prefix: prefix("2001:db8:7::", 48),
                on_link: false,
                autonomous: false,
                router_address: None,
                valid_lifetime_s: PrefixInformation::FOREVER,
                preferred_lifetime_s: PrefixInformation::FOREVER,
            },
        ],
        advertisement_interval_ms: Some(1500),
        home_agent_information: NonZeroU16::new(900).map(|lifetime_s| HomeAgentInformation {
            preference: 7,
            lifetime_s,
        }),
        anchor_points: Vec::new(),
    }
}

fn discovery_packets() -> Vec<(&'static str, Packet)> {
    let address = |target: &str| solicited_node_multicast(v6(target)).to_string();
    let solicitation = |target: &str, source_link_layer_address| {
        NeighborDiscovery::NeighborSolicitation(NeighborSolicitation {
            target: v6(target),
            source_link_layer_address,
        })
    };
    let advertisement = |target: &str, router, solicited| {
        NeighborDiscovery::NeighborAdvertisement(NeighborAdvertisement {
            target: v6(target),
            router,
            solicited,
            overrides: true,
            target_link_layer_address: link_layer(2),
        })
    };
    let router_solicitation = NeighborDiscovery::RouterSolicitation(RouterSolicitation {
        source_link_layer_address: link_layer(1),
    });
    let router_advertisement = NeighborDiscovery::RouterAdvertisement(router_advertisement());
    let all_nodes = ALL_NODES.to_string();
    let all_routers = ALL_ROUTERS.to_string();
    vec![
        (
            ROUTER_SOLICITATION,
            discovery(HOST, &all_routers, router_solicitation),
        ),
        (
            ROUTER_ADVERTISEMENT,
            discovery(ROUTER, &all_nodes, router_advertisement),
        ),
        (
            DETECTION,
            discovery("::", &address(HOME), solicitation(HOME, None)),
        ),
        (
            NEIGHBOR_SOLICITATION,
            discovery(
                HOST,
                &address(HOME_AGENT),
                solicitation(HOME_AGENT, link_layer(1)),
            ),
        ),
        (
            NEIGHBOR_ADVERTISEMENT,
            discovery(ROUTER, HOST, advertisement(HOME_AGENT, true, true)),
        ),
        (
            PROXY_ADVERTISEMENT,
            discovery(ROUTER, &all_nodes, advertisement(HOME, false, false)),
        ),
        (REPORT, report()),
    ]
}

fn report() -> Packet {
    let record = |kind, address, sources: &[&str]| MulticastAddressRecord {
        kind,
        address,
        sources: sources.iter().map(|source| v6(source)).collect(),
    };
    let mut report = MulticastListenerReport::join(solicited_node_multicast(v6(HOME)));
    report.records.extend([
        record(
            RecordKind::ChangeToInclude,
            solicited_node_multicast(v6(HOME_AGENT)),
            &[],
        ),
        record(
            RecordKind::AllowNewSources,
            v6("ff3e::8000:1"),
            &[CORRESPONDENT, HOME_AGENT],
        ),
    ]);
    packet(
        HOST,
        &REPORT_DESTINATION.to_string(),
        1,
        Body::Icmp(IcmpMessage::MulticastListenerReport(Box::new(report))),
    )
}

fn buffering_update() -> BindingUpdate {
    BindingUpdate {
        sequence: 65_535,
        acknowledge: true,
        home_registration: true,
        link_local_compatible: true,
        key_management_mobility: true,
        anchor_registration: false,
        mobile_router: true,
        forces_udp_encapsulation: false,
        lifetime: BindingLifetime::at_most(420),
        alternate_care_of_address: Some(v6(CARE_OF)),
        nonce_indices: None,
        mobile_network_prefixes: vec![
            prefix("2001:db8:1:100::", 56),
            prefix("2001:db8:1:201::", 64),
        ],
        ipv4_home_addresses: Vec::new(),
        ipv4_care_of_address: None,
        packet_buffering: Some(PacketBuffering::Buffer),
        last_received: None,
        path_report: None,
        timestamp: None,
        authenticator: Some(Authenticator::MobileHomeAgent {
            security_parameter_index: 0x1001,
            data: PROOF,
        }),
    }
}

fn correspondent_update() -> BindingUpdate {
    BindingUpdate {
        sequence: 1,
        acknowledge: true,
        lifetime: BindingLifetime { units: 105 },
        nonce_indices: Some(NonceIndices {
            home: 513,
            care_of: 514,
        }),
        authenticator: Some(Authenticator::BindingAuthorization(PROOF)),
        ..BindingUpdate::default()
    }
}

/// Returns an update for an IPv4 and an IPv6 network, and an IPv4 address.
fn ipv4_update() -> BindingUpdate {
    let home = |address, prefix_length, asks_for_prefix| Ipv4HomeAddress {
        address,
        prefix_length,
        asks_for_prefix,
    };
    BindingUpdate {
        sequence: 9,
        acknowledge: true,
        home_registration: true,
        mobile_router: true,
        lifetime: BindingLifetime { units: 105 },
        mobile_network_prefixes: vec![prefix("2001:db8:1:100::", 56)],
        ipv4_home_addresses: vec![
            home(Ipv4Addr::new(10, 1, 0, 0), 16, true),
            home(Ipv4Addr::new(192, 0, 2, 7), 32, false),
        ],
        ..BindingUpdate::default()
    }
}

/// Returns an acknowledgement that grants the network, and refuses the address.
fn ipv4_acknowledgement() -> BindingAcknowledgement {
    let answer = |status, prefix_length, address| Ipv4AddressAcknowledgement {
        status,
        prefix_length,
        address,
    };
    let incorrect = Ipv4AddressStatus::INCORRECT_HOME_ADDRESS;
    BindingAcknowledgement {
        mobile_router: true,
        refresh_advice: Some(BindingLifetime { units: 25 }),
        ipv4_acknowledgements: vec![
            answer(Ipv4AddressStatus::ACCEPTED, 16, Ipv4Addr::new(10, 1, 0, 0)),
            answer(incorrect, 0, Ipv4Addr::new(192, 0, 2, 7)),
        ],
        ..BindingAcknowledgement::new(BindingStatus::ACCEPTED, 9, BindingLifetime { units: 105 })
    }
}

/// Returns an authenticator under the key 00 01 … 13.
fn proved(data: [u8; 12]) -> Option<Authenticator> {
    Some(Authenticator::MobileHomeAgent {
        security_parameter_index: 0x1001,
        data,
    })
}

/// Returns an update in UDP over IPv4, from behind an address translator.
fn over_ipv4_update() -> BindingUpdate {
    let mut update = BindingUpdate {
        forces_udp_encapsulation: true,
        ipv4_care_of_address: Some(Ipv4Addr::new(192, 168, 1, 7)),
        timestamp: Some(Timestamp(0xEA00_0001_8000_0000)),
        authenticator: proved([
            0x97, 0x94, 0xC6, 0x4F, 0xC0, 0x92, 0x12, 0x30, 0xED, 0x09, 0x85, 0x4B,
        ]),
        ..ipv4_update()
    };
    update.ipv4_home_addresses.truncate(1);
    update
}

/// Returns an acknowledgement that reports the translator.
fn over_ipv4_acknowledgement() -> BindingAcknowledgement {
    let mut answer = BindingAcknowledgement {
        refresh_advice: None,
        nat_detection: Some(NatDetection {
            forces_udp_encapsulation: true,
            refresh_time_s: 110,
        }),
        timestamp: over_ipv4_update().timestamp,
        authenticator: proved([
            0xCF, 0xAF, 0x5A, 0x9C, 0xDE, 0x0B, 0xF9, 0xB7, 0x52, 0xC7, 0x62, 0xD8,
        ]),
        ..ipv4_acknowledgement()
    };
    answer.ipv4_acknowledgements.truncate(1);
    answer
}

fn acknowledgement() -> BindingAcknowledgement {
    BindingAcknowledgement {
        status: BindingStatus::ACCEPTED,
        key_management_mobility: true,
        mobile_router: true,
        sequence: 65_535,
        lifetime: BindingLifetime { units: 105 },
        refresh_advice: Some(BindingLifetime::at_most(107)),
        packet_buffering: Some(PacketBuffering::Buffer),
        ipv4_acknowledgements: Vec::new(),
        nat_detection: None,
        timestamp: None,
        authenticator: buffering_update().authenticator,
    }
}

fn routability_packets() -> Vec<(&'static str, Packet)> {
    let test = |nonce_index| RoutabilityTest {
        nonce_index,
        cookie: COOKIE,
        keygen_token: TOKEN,
    };
    let home_test_init = MobilityMessage::HomeTestInit { cookie: COOKIE };
    let care_of_test_init = MobilityMessage::CareOfTestInit { cookie: COOKIE };
    vec![
        (
            REFRESH_REQUEST,
            mobility(CORRESPONDENT, HOME, MobilityMessage::BindingRefreshRequest),
        ),
        (
            HOME_TEST_INIT,
            mobility(HOME, CORRESPONDENT, home_test_init),
        ),
        (
            CARE_OF_TEST_INIT,
            mobility(CARE_OF, CORRESPONDENT, care_of_test_init),
        ),
        (
            HOME_TEST,
            mobility(CORRESPONDENT, HOME, MobilityMessage::HomeTest(test(513))),
        ),
        (
            CARE_OF_TEST,
            mobility(
                CORRESPONDENT,
                CARE_OF,
                MobilityMessage::CareOfTest(test(514)),
            ),
        ),
    ]
}

fn binding_packets() -> Vec<(&'static str, Packet)> {
    let update = |source, destination, update| {
        mobility(source, destination, MobilityMessage::BindingUpdate(update))
    };
    let answer = |answer| {
        let message = MobilityMessage::BindingAcknowledgement(answer);
        mobility(HOME_AGENT, CARE_OF, message)
    };
    let deregistration = BindingUpdate {
        sequence: 2,
        acknowledge: true,
        home_registration: true,
        ..BindingUpdate::default()
    };
    let over_ipv4 = MobilityMessage::BindingAcknowledgement(over_ipv4_acknowledgement());
    let out_of_window = BindingStatus::SEQUENCE_NUMBER_OUT_OF_WINDOW;
    let refusal = BindingAcknowledgement::new(out_of_window, 7, BindingLifetime::ZERO);
    let error = MobilityMessage::BindingError(BindingError {
        status: BindingErrorStatus::UnknownBinding,
        home_address: Some(v6(HOME)),
    });
    vec![
        (
            BUFFERING_UPDATE,
            extended(
                update(CARE_OF, HOME_AGENT, buffering_update()),
                Some(HOME),
                None,
            ),
        ),
        (
            CORRESPONDENT_UPDATE,
            extended(
                update(CARE_OF, CORRESPONDENT, correspondent_update()),
                Some(HOME),
                None,
            ),
        ),
        (
            IPV4_UPDATE,
            extended(update(CARE_OF, HOME_AGENT, ipv4_update()), Some(HOME), None),
        ),
        (
            IPV4_ACKNOWLEDGEMENT,
            extended(answer(ipv4_acknowledgement()), None, Some(HOME)),
        ),
        (
            OVER_IPV4_UPDATE,
            update(HOME, HOME_AGENT, over_ipv4_update()),
        ),
        (
            OVER_IPV4_ACKNOWLEDGEMENT,
            mobility(HOME_AGENT, HOME, over_ipv4),
        ),
        (DEREGISTRATION, update(HOME, HOME_AGENT, deregistration)),
        (
            ACKNOWLEDGEMENT,
            extended(answer(acknowledgement()), None, Some(HOME)),
        ),
        (REFUSAL, answer(refusal)),
        (BINDING_ERROR, mobility(CORRESPONDENT, CARE_OF, error)),
    ]
}

fn data_packets() -> Vec<(&'static str, Packet)> {
    let segment = TcpHeader {
        source_port: 5000,
        destination_port: 4000,
        sequence: SequenceNumber(1),
        acknowledgment: SequenceNumber(2),
        flags: TcpFlags::ACK,
        window: 5840,
        options: TcpOptions::default(),
    };
    let down = Body::Tcp(segment, Payload::from_slice(b"down"));
    let mut inner_v4 = datagram("203.0.113.9", "192.0.2.100", 63);
    inner_v4.ip.identification = 8;
    let mut may_be_cut = inner_v4.clone();
    may_be_cut.ip.dont_fragment = false;
    let mut outer_v4 = tunnel("192.0.2.1", "198.51.100.7", may_be_cut);
    outer_v4.ip.identification = 9;
    let inner_v6 = datagram(CORRESPONDENT, HOME, 63);
    let mut mixed = outer_v4.clone();
    mixed.body = Body::Tunnel(Box::new(inner_v6.clone()));
    vec![
        (TUNNEL_6_IN_6, tunnel(HOME_AGENT, CARE_OF, inner_v6)),
        (TUNNEL_4_IN_4, outer_v4),
        (TUNNEL_4_IN_6, tunnel(HOME_AGENT, CARE_OF, inner_v4)),
        (TUNNEL_6_IN_4, mixed),
        (
            OPTIMISED_UP,
            extended(datagram(CARE_OF, CORRESPONDENT, 64), Some(HOME), None),
        ),
        (
            OPTIMISED_DOWN,
            extended(packet(CORRESPONDENT, CARE_OF, 64, down), None, Some(HOME)),
        ),
        (
            BETWEEN_MOBILES,
            extended(
                datagram(CARE_OF, "2001:db8:4::200", 64),
                Some(HOME),
                Some("2001:db8:1::200"),
            ),
        ),
    ]
}

fn all_packets() -> Vec<(&'static str, Packet)> {
    [
        discovery_packets(),
        routability_packets(),
        binding_packets(),
        data_packets(),
    ]
    .concat()
}

#[test]
fn what_scapy_wrote_is_read_and_written_alike() {
    for (original, packet) in all_packets() {
        assert_eq!(decode(original), packet);
        assert_eq!(encode(&packet), bytes(original), "{packet:?}");
        assert_eq!(packet.wire_length() as usize * 2, original.len());
    }
}

#[test]
fn what_is_cut_off_is_refused() {
    for (original, _) in all_packets() {
        let bytes = bytes(original);
        for end in 0..bytes.len() {
            assert!(
                Packet::decode(&bytes[..end]).is_err(),
                "{end} of {original}"
            );
        }
    }
}

#[test]
fn every_flipped_bit_of_a_message_is_refused() {
    let messages = [discovery_packets(), routability_packets()].concat();
    for (original, packet) in messages {
        let start = packet.wire_length() - packet.body.wire_length(&packet.ip);
        let alert = if original == REPORT { 8 } else { 0 };
        for position in 8 * (start + alert)..8 * packet.wire_length() {
            let mut damaged = packet.clone();
            damaged.bit_errors = vec![position].into();
            assert!(damaged.apply_bit_errors().is_err(), "bit {position}");
        }
    }
}

#[test]
fn a_checksum_is_made_with_the_home_address() {
    // RFC 6275 section 6.1.1: the same messages with care-of addresses alone have another checksum, and so the
    // extension headers cannot be taken away.
    for (original, place) in [
        (BUFFERING_UPDATE, protocol::MOBILITY),
        (ACKNOWLEDGEMENT, protocol::MOBILITY),
        (OPTIMISED_UP, protocol::UDP),
        (OPTIMISED_DOWN, protocol::TCP),
    ] {
        let mut bare = bytes(original);
        let header: Vec<u8> = bare.splice(40..64, []).collect();
        assert_eq!(header[0], place);
        bare[6] = header[0];
        bare[5] -= 24;
        assert!(matches!(
            Packet::decode(&bare),
            Err(DecodeError::Checksum { .. })
        ));
    }
    let update = decode(OPTIMISED_UP);
    assert_eq!(update.ip.source, IpAddr::V6(v6(CARE_OF)));
    assert_eq!(update.upper_ip().source, IpAddr::V6(v6(HOME)));
    assert_eq!(update.upper_ip().destination, update.ip.destination);
    let down = decode(OPTIMISED_DOWN).upper_ip();
    assert_eq!(down.destination, IpAddr::V6(v6(HOME)));
}

/// Returns a packet with changed bytes and a corrected checksum at `checksum_at`.
fn changed(original: &str, changes: &[(usize, u8)], checksum_at: usize) -> Vec<u8> {
    let mut packet = bytes(original);
    let start = checksum_at
        - if packet[6] == protocol::MOBILITY {
            4
        } else {
            2
        };
    for (at, value) in changes {
        packet[*at] = *value;
    }
    packet[checksum_at..checksum_at + 2].fill(0);
    let (ip, _) = IpHeader::decode(&packet).expect("its header is whole");
    let mut checksum = Checksum::pseudo_header(&ip, packet[6], packet.len() - start);
    checksum.add(&packet[start..]);
    packet[checksum_at..checksum_at + 2].copy_from_slice(&checksum.finish().to_be_bytes());
    packet
}

#[test]
fn discovery_that_section_6_and_7_of_rfc_4861_discard_is_refused() {
    let options = 40 + 24;
    let unspecified: Vec<_> = (8..24).map(|at| (at, 0)).collect();
    let mut from_global: Vec<_> = (8..24).map(|at| (at, 0)).collect();
    from_global[0].1 = 0x20;
    for (original, changes, field) in [
        (ROUTER_SOLICITATION, &[(7, 254)][..], "hop limit"),
        (ROUTER_SOLICITATION, &[(41, 1)], "code"),
        (ROUTER_SOLICITATION, &[(40 + 9, 0)], "option length"),
        (
            ROUTER_SOLICITATION,
            &unspecified,
            "source link-layer address",
        ),
        (
            NEIGHBOR_SOLICITATION,
            &unspecified,
            "source link-layer address",
        ),
        (ROUTER_ADVERTISEMENT, &from_global, "source"),
        (
            ROUTER_ADVERTISEMENT,
            &[(40 + 16 + 16 + 2, 129)],
            "prefix length",
        ),
        (NEIGHBOR_SOLICITATION, &[(48, 0xFF)], "target"),
        (NEIGHBOR_ADVERTISEMENT, &[(48, 0xFF)], "target"),
        (NEIGHBOR_ADVERTISEMENT, &[(options + 1, 0)], "option length"),
        (PROXY_ADVERTISEMENT, &[(44, 0x60)], "solicited flag"),
        (DETECTION, &[(36, 0)], "destination"),
    ] {
        let refused = Packet::decode(&changed(original, changes, 42));
        assert!(
            matches!(refused, Err(DecodeError::Field { field: found, .. }) if found == field),
            "{field}: {refused:?}"
        );
    }
    // Only duplicate address detection must be sent to the solicited-node group.
    assert!(Packet::decode(&changed(NEIGHBOR_SOLICITATION, &[(36, 0)], 42)).is_ok());
    // The last option is the home agent's: a lifetime of zero.
    let end = ROUTER_ADVERTISEMENT.len() / 2;
    let changes = [(end - 1, 0), (end - 2, 0)];
    assert!(Packet::decode(&changed(ROUTER_ADVERTISEMENT, &changes, 42)).is_err());
}

#[test]
fn unknown_options_of_discovery_are_skipped() {
    // The link-layer address as an option of an unassigned type.
    let read = Packet::decode(&changed(ROUTER_SOLICITATION, &[(48, 250)], 42));
    let silent = NeighborDiscovery::RouterSolicitation(RouterSolicitation::default());
    assert_eq!(read, Ok(discovery(HOST, &ALL_ROUTERS.to_string(), silent)));
}

#[test]
fn a_report_from_elsewhere_or_without_alert_is_none() {
    let without_alert = {
        let mut bytes = bytes(REPORT);
        bytes.drain(40..48);
        bytes[6] = protocol::ICMPV6;
        bytes[5] -= 8;
        Packet::decode(&bytes).expect("its checksum covers no extension header")
    };
    assert!(matches!(without_alert.body, Body::Opaque { .. }));
    for (at, value) in [(7, 2), (8, 0x20)] {
        let mut bytes = bytes(REPORT);
        bytes[at] = value;
        assert!(Packet::decode(&bytes).is_err());
    }
    // A packet for all routers that is not of Multicast Listener Discovery: alert 1 is RSVP's (RFC 2711).
    let mut bytes = bytes(REPORT);
    bytes[45] = 1;
    assert!(matches!(decode_bytes(&bytes).body, Body::Opaque { .. }));
}

fn decode_bytes(bytes: &[u8]) -> Packet {
    Packet::decode(bytes).expect("well formed")
}

#[test]
fn mobility_headers_that_section_9_2_of_rfc_6275_discards_are_refused() {
    for (at, value, field) in [(40, 17, "payload protocol"), (41, 0, "header length")] {
        let refused = Packet::decode(&changed(DEREGISTRATION, &[(at, value)], 44));
        assert!(
            matches!(refused, Err(DecodeError::Field { field: found, .. }) if found == field),
            "{field}: {refused:?}"
        );
    }
    let longer = Packet::decode(&changed(DEREGISTRATION, &[(41, 2)], 44));
    assert!(matches!(
        longer,
        Err(DecodeError::Truncated { needed: 24, .. })
    ));
    // An option that reaches beyond the header, and a status that binding errors do not have.
    assert!(Packet::decode(&changed(DEREGISTRATION, &[(53, 3)], 44)).is_err());
    assert!(Packet::decode(&changed(BINDING_ERROR, &[(46, 3)], 44)).is_err());
    // A message of an unknown type goes to an agent that answers with a binding error.
    let unknown = decode_bytes(&changed(DEREGISTRATION, &[(42, 11)], 44));
    assert!(
        matches!(unknown.body, Body::Opaque { protocol: 135, ref bytes, .. } if bytes[2] == 11)
    );
}

#[test]
fn unknown_mobility_options_are_skipped() {
    // The padding at the end as an option of type 200.
    let read = decode_bytes(&changed(DEREGISTRATION, &[(52, 200)], 44));
    assert_eq!(read, decode(DEREGISTRATION));
    // Another experiment's use of the experimental option.
    let update = |packet: Packet| match packet.body {
        Body::Mobility(message) => *message,
        other => panic!("no message: {other:?}"),
    };
    let mut original = decode(DEREGISTRATION);
    let MobilityMessage::BindingUpdate(mut expected) = update(original.clone()) else {
        panic!("an update");
    };
    expected.packet_buffering = Some(PacketBuffering::Forward);
    original.body = Body::Mobility(Box::new(MobilityMessage::BindingUpdate(expected)));
    let text: String = encode(&original)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert!(text.ends_with("1202ba00"));
    assert_eq!(decode(&text), original);
    let other = decode_bytes(&changed(&text, &[(54, 0xBB)], 44));
    assert_eq!(other, decode(DEREGISTRATION));
}

#[test]
fn an_authenticator_covers_all_that_stands_before_it() {
    // RFC 6275 section 6.2.7 and RFC 4285 section 5.1: the message up to the authenticator, with a checksum of zero.
    for (original, message, start) in [
        (
            BUFFERING_UPDATE,
            MobilityMessage::BindingUpdate(buffering_update()),
            64,
        ),
        (
            CORRESPONDENT_UPDATE,
            MobilityMessage::BindingUpdate(correspondent_update()),
            64,
        ),
        (
            ACKNOWLEDGEMENT,
            MobilityMessage::BindingAcknowledgement(acknowledgement()),
            64,
        ),
    ] {
        let mut expected = bytes(original).split_off(start);
        expected[4..6].fill(0);
        let end = expected.len() - 12;
        assert_eq!(expected[end..], PROOF);
        assert_eq!(
            message.authenticated_bytes().as_deref(),
            Some(&expected[..end])
        );
    }
    assert_eq!(
        MobilityMessage::BindingRefreshRequest.authenticated_bytes(),
        None
    );
}

#[test]
fn a_fault_in_a_tunnelled_packet_is_its_receivers_to_find() {
    for (original, mut packet) in data_packets().into_iter().take(4) {
        packet.flow = Some(FlowId(3));
        let Body::Tunnel(inner) = &mut packet.body else {
            panic!("no tunnel: {original}");
        };
        inner.flow = Some(FlowId(3));
        inner.retransmission = true;
        // The last bit of the innermost payload.
        let last = packet.wire_length() * 8 - 1;
        packet.bit_errors = vec![last].into();
        let received = packet
            .apply_bit_errors()
            .expect("nothing that the tunnel looks at");
        let Body::Tunnel(inner) = received.body else {
            panic!("no tunnel: {original}");
        };
        assert_eq!((inner.flow, inner.retransmission), (Some(FlowId(3)), true));
        assert_eq!(inner.view().ports, Some((4000, 5000)));
        assert_eq!(
            inner.apply_bit_errors(),
            Err(DecodeError::Checksum { header: "UDP" })
        );
    }
    // A fault in an inner IPv4 header is seen at the tunnel's end, which has to read that.
    let mut packet = decode(TUNNEL_4_IN_4);
    packet.bit_errors = vec![8 * (20 + 12)].into();
    assert_eq!(
        packet.apply_bit_errors(),
        Err(DecodeError::Checksum { header: "IPv4" })
    );
}

#[test]
fn damage_from_before_the_tunnel_goes_through_it() {
    let mut packet = decode(TUNNEL_6_IN_6);
    let Body::Tunnel(inner) = &mut packet.body else {
        panic!("a tunnel");
    };
    // The last bit of the payload, "e" to "d".
    inner.bit_errors = vec![inner.wire_length() * 8 - 1].into();
    let mut expected = bytes(TUNNEL_6_IN_6);
    *expected.last_mut().expect("it is long") ^= 1;
    assert_eq!(encode(&packet), expected);
    assert_eq!(packet.clone().apply_bit_errors(), Ok(packet));
}

#[test]
fn a_pattern_that_comes_through_tunnel_and_headers_stays_one() {
    let pattern = Payload::Pattern {
        stream: 3,
        offset: 9,
        length: 700,
    };
    let mut inner = datagram(CARE_OF, CORRESPONDENT, 64);
    let Body::Udp(_, payload) = &mut inner.body else {
        panic!("a datagram");
    };
    *payload = pattern;
    let mut packet = tunnel(HOME_AGENT, CARE_OF, extended(inner, Some(HOME), None));
    let whole = packet.clone();
    // The hop limit of the outer header, which no checksum covers.
    packet.bit_errors = vec![8 * 7].into();
    let mut received = packet.apply_bit_errors().expect("nobody notices");
    assert_eq!(received.ip.hop_limit, 64 ^ 0x80);
    received.ip.hop_limit = 64;
    assert_eq!(received, whole);
}

#[test]
fn tunnels_in_tunnels_are_read_so_far_and_carried_on() {
    // As many nested IPv4 headers as a packet can hold: nothing at that depth is read.
    let mut packet = Vec::new();
    let outer = decode(TUNNEL_4_IN_4).ip;
    for length in (0..3276).rev().map(|number| 20 * number) {
        outer.encode(if length == 0 { 6 } else { 4 }, 0, length, &mut packet);
    }
    let mut read = decode_bytes(&packet);
    assert_eq!(encode(&read), packet);
    for _ in 0..4 {
        let Body::Tunnel(inner) = read.body else {
            panic!("a tunnel");
        };
        read = *inner;
    }
    let Body::Tunnel(deepest) = &read.body else {
        panic!("a tunnel");
    };
    assert!(!deepest.is_typed());
    assert_eq!(read.view().protocol, 6);
}

#[test]
fn a_view_looks_through_tunnels_and_extension_headers() {
    for (original, packet) in all_packets() {
        let verbatim = Packet::verbatim(&bytes(original)).expect("a right header");
        let (bytes, typed) = (verbatim.view(), packet.view());
        assert_eq!(bytes.protocol, typed.protocol, "{original}");
        assert_eq!(bytes.ports, typed.ports);
        assert_eq!(bytes.tcp, typed.tcp);
    }
    for (_, packet) in data_packets() {
        let view = packet.view();
        assert!(matches!(view.protocol, protocol::TCP | protocol::UDP));
        assert!(matches!(view.ports, Some((4000, 5000) | (5000, 4000))));
        assert!(matches!(view.payload_bytes, 4 | 6));
    }
    assert_eq!(decode(BUFFERING_UPDATE).view().protocol, protocol::MOBILITY);
    assert_eq!(decode(REPORT).view().protocol, protocol::ICMPV6);
}

#[test]
fn a_quotation_tells_of_home_addresses_and_of_the_packet_in_a_tunnel() {
    let quoted = QuotedPacket::decode(&bytes(OPTIMISED_UP)).expect("whole");
    assert_eq!((quoted.protocol, quoted.source_port), (17, 4000));
    assert_eq!(quoted.source, IpAddr::V6(v6(CARE_OF)));
    assert_eq!(
        quoted.transport_addresses(),
        (IpAddr::V6(v6(HOME)), IpAddr::V6(v6(CORRESPONDENT)))
    );
    let quoted = QuotedPacket::decode(&bytes(TUNNEL_6_IN_4)).expect("whole");
    assert_eq!(quoted.protocol, protocol::IPV6);
    let Some(QuotedWithin::Tunnel(inner)) = quoted.within.as_deref() else {
        panic!("a tunnel: {quoted:?}");
    };
    assert_eq!(inner.source, IpAddr::V6(v6(CORRESPONDENT)));
    assert_eq!((inner.source_port, inner.destination_port), (4000, 5000));
    // The second of two extension headers, cut off in the quotation: the header after the first is reported.
    let cut = bytes(BETWEEN_MOBILES);
    let quoted = QuotedPacket::decode(&cut[..40 + 24 + 8]).expect("enough");
    assert_eq!(quoted.protocol, protocol::DESTINATION_OPTIONS);
    let (_, destination) = quoted.transport_addresses();
    assert_eq!(destination, IpAddr::V6(v6("2001:db8:1::200")));
    // The minimum of RFC 792 for a tunnel over IPv4: twenty bytes and eight.
    let short = QuotedPacket::decode(&bytes(TUNNEL_4_IN_4)[..28]).expect("enough");
    assert_eq!((short.protocol, short.within), (protocol::IPV4, None));
}
