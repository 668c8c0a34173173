//! Literal bytes: the messages as encoded by scapy 2.8, with authenticators by Python's `hmac`; tshark 4.0 decodes
//! those of types 1 and 3 and the advertisement with these meanings.

use super::*;
use crate::packet::{Body, Packet, PacketName};
use crate::wire::agent_discovery::{
    AgentDiscovery, AgentFlags, MobilityAgent, RouterAdvertisement,
};
use crate::wire::checksum::Checksum;
use crate::wire::icmp::IcmpMessage;
use crate::wire::neighbor_discovery::LinkLayerAddress;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const KEY: [u8; 16] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];
const IDENTIFICATION: u64 = 0xE1B6_9580_8000_0000;
const HOME_ADDRESS: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 10);
const HOME_AGENT: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const CARE_OF_ADDRESS: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 7);
const FOREIGN_AGENT: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 9);
const GATEWAY: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 1);

fn association(index: u32) -> SecurityAssociation {
    SecurityAssociation { index, key: KEY }
}

fn bytes(hexadecimal: &str) -> Vec<u8> {
    let digits = hexadecimal.as_bytes().chunks(2);
    digits
        .map(|pair| u8::from_str_radix(core::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

fn request(purpose: Purpose) -> Request {
    Request {
        purpose,
        flags: RequestFlags(0),
        lifetime: 600,
        home_address: HOME_ADDRESS,
        agent: HOME_AGENT,
        care_of_address: CARE_OF_ADDRESS,
        identification: IDENTIFICATION,
    }
}

fn check(message: &Message, hexadecimal: &str) {
    assert_eq!(message.encode(), bytes(hexadecimal));
    assert_eq!(Message::decode(&bytes(hexadecimal)).as_ref(), Ok(message));
}

#[test]
fn a_request_with_a_co_located_address_and_a_reverse_tunnel() {
    let flags = RequestFlags::DECAPSULATION.with_if(RequestFlags::REVERSE_TUNNEL, true);
    let mut message = Message::from(Request {
        flags,
        ..request(Purpose::Home)
    });
    message.sign(AuthenticationKind::MobileHome, &association(256));
    check(
        &message,
        "01220258c000020ac0000201c6336407e1b6958080000000201400000100033ca72f33bbe46c39c0a04439efaac9",
    );
}

#[test]
fn a_reply_with_two_authentications() {
    let mut message = Message::from(Reply {
        purpose: Purpose::Home,
        code: Code::ACCEPTED,
        lifetime: 300,
        home_address: HOME_ADDRESS,
        agent: HOME_AGENT,
        identification: IDENTIFICATION,
    });
    message.sign(AuthenticationKind::MobileHome, &association(256));
    message.sign(AuthenticationKind::ForeignHome, &association(512));
    check(
        &message,
        "0300012cc000020ac0000201e1b6958080000000201400000100305015ecd6c5485d1fda5f21ea585efb\
         221400000200a853e715da23b6bcd2a38c2a30cbef24",
    );
}

#[test]
fn a_regional_registration_and_a_fast_binding_update() {
    let mut regional = Message::from(Request {
        agent: GATEWAY,
        care_of_address: FOREIGN_AGENT,
        ..request(Purpose::Regional)
    });
    regional.sign(AuthenticationKind::MobileGateway, &association(300));
    let agent = Extension::HierarchicalForeignAgent(FOREIGN_AGENT);
    regional.extensions.push(agent);
    check(
        &regional,
        "12000258c000020acb007101cb007109e1b6958080000000\
         240300140000012c9357fca9a66b9b64b72e8f3f1758dafe8c04cb007109",
    );
    let mut update = Message::from(Request {
        lifetime: 30,
        agent: FOREIGN_AGENT,
        ..request(Purpose::Handoff)
    });
    update.sign(AuthenticationKind::MobileForeign, &association(300));
    check(
        &update,
        "1400001ec000020acb007109c6336407e1b695808000000021140000012ce19fe24549bff1f8f83f281a388efbd2",
    );
}

#[test]
fn an_agent_advertisement_and_a_solicitation() {
    let advertisement = AgentDiscovery::Advertisement(RouterAdvertisement {
        lifetime: 3,
        routers: vec![(FOREIGN_AGENT, 0)],
        prefix_lengths: vec![24],
        mobility_agent: Some(MobilityAgent {
            sequence: 7,
            registration_lifetime: 600,
            flags: AgentFlags::FOREIGN_AGENT
                .with(AgentFlags::REVERSE_TUNNEL)
                .with(AgentFlags::REGIONAL),
            care_of_addresses: vec![FOREIGN_AGENT, GATEWAY],
        }),
        access_point: None,
    });
    for (message, hexadecimal) in [
        (
            advertisement,
            "0900f35501020003cb00710900000000100e000702581120cb007109cb007101130118",
        ),
        // RFC 1256 section 3: type 10, code 0, and four bytes of zero.
        (AgentDiscovery::Solicitation, "0a00f5ff00000000"),
    ] {
        let bytes = bytes(hexadecimal);
        assert_eq!(message.wire_length() as usize, bytes.len());
        let packet = advertisement_packet(message);
        let mut encoded = Vec::new();
        packet.encode(&mut encoded);
        assert_eq!(encoded[20..], bytes);
        assert_eq!(Packet::decode(&encoded), Ok(packet));
    }
}

fn advertisement_packet(message: AgentDiscovery) -> Packet {
    Packet {
        ip: crate::packet::IpHeader {
            source: FOREIGN_AGENT.into(),
            destination: Ipv4Addr::new(224, 0, 0, 1).into(),
            hop_limit: 1,
            traffic_class: 0,
            identification: 0,
            dont_fragment: true,
        },
        flow: None,
        retransmission: false,
        bit_errors: crate::packet::BitErrors::NONE,
        identity: crate::packet::Identity::NONE,
        body: Body::Icmp(IcmpMessage::AgentDiscovery(Box::new(message))),
    }
}

/// RFC 4881 section 9.1, by hand: type 138 in registrations and 140 in agent discovery, subtype 6 for an access point,
/// 7 for a foreign agent; six bytes for each packet that was received, in an extension for experiments (RFC 4064).
#[test]
fn access_points_foreign_agents_and_names_of_packets() {
    let point = LinkLayerAddress([2, 0, 0, 0, 0, 9]);
    let name = |host: u8, identification| PacketName {
        source: Ipv4Addr::new(100, 64, 0, host),
        identification,
    };
    let mut message = Message::from(request(Purpose::Home));
    message.extensions = vec![
        Extension::AccessPoint(point),
        Extension::PresentForeignAgent(FOREIGN_AGENT),
        Extension::ReceivedPackets([name(1, 0xFFFF), name(2, 0)].into()),
    ];
    check(
        &message,
        "01000258c000020ac0000201c6336407e1b6958080000000\
         8a0706020000000009\
         8a0507cb007109\
         ff0c64400001ffff644000020000",
    );
    let asked = AgentDiscovery::ProxySolicitation(point);
    assert_eq!(asked.wire_length(), 17);
    let mut encoded = Vec::new();
    advertisement_packet(asked).encode(&mut encoded);
    assert_eq!(encoded[20..22], bytes("0a00"));
    assert_eq!(encoded[24..], bytes("000000008c0706020000000009"));
}

/// Checks RFC 2202 section 2, test case 1.
#[test]
fn the_standard_s_example_of_hmac_md5() {
    assert_eq!(
        authentication::hmac_md5(&[0x0b; 16], b"Hi There").to_vec(),
        bytes("9294727a3638bb1c13f48ef8158bfc9d")
    );
}

#[test]
fn whatever_is_changed_is_seen() {
    let association = association(256);
    let mut message = Message::from(request(Purpose::Home));
    let kind = AuthenticationKind::MobileHome;
    assert_eq!(
        message.verify(kind, &association),
        Err(NotAuthentic::Missing)
    );
    message.extensions.push(Extension::Skipped {
        kind: 200,
        bytes: Box::new([9, 9]),
    });
    message.sign(kind, &association);
    let whole = message.encode();
    for bit in 0..whole.len() * 8 {
        let mut damaged = whole.clone();
        damaged[bit / 8] ^= 0x80 >> (bit % 8);
        if let Ok(damaged) = Message::decode(&damaged) {
            assert!(damaged.verify(kind, &association).is_err(), "bit {bit}");
        }
    }
    // Extensions that a foreign agent adds afterwards are not covered.
    message.sign(AuthenticationKind::ForeignHome, &association);
    assert_eq!(message.verify(kind, &association), Ok(()));
    let other = SecurityAssociation {
        key: [0; 16],
        ..association
    };
    assert_eq!(
        message.verify(kind, &other),
        Err(NotAuthentic::Authenticator)
    );
}

#[test]
fn unknown_extensions_are_skipped_or_cost_the_message() {
    let fixed = "01220258c000020ac0000201c6336407e1b6958080000000";
    for (extension, well_formed) in [
        ("800155", true),                        // skippable from 128 on
        ("c800", true),                          // without data
        ("7f0155", false),                       // not skippable below 128
        ("2013000001000102030405060708", false), // truncated
        ("20040000010000", false),               // an empty authenticator
        ("24030014", false),
        ("240900040000012c", false), // a generalised authentication with another subtype
        ("8c03010203", false),
        ("80", false),
    ] {
        let read = Message::decode(&bytes(&format!("{fixed}{extension}")));
        assert_eq!(read.is_ok(), well_formed, "{extension}: {read:?}");
    }
}

#[test]
fn advertisements_that_cannot_be_are_refused() {
    for wrong in [
        "090000000101000300000000",               // one word per router
        "0900000001020003cb007109",               // a router without its preference
        "09000000000200031003000702",             // an agent without its flags
        "0900000000020003100700070258112001",     // a quarter of an address
        "0900000000020003130118",                 // a prefix length without a router
        "0900000001020003cb00710900000000130121", // a prefix of 33 bits
        "09000000000200031801aa",                 // a challenge must not be skipped
        "090000000002000310",
    ] {
        let mut message = bytes(wrong);
        let mut checksum = Checksum::new();
        checksum.add(&message);
        let checksum = checksum.finish().to_be_bytes();
        message[2..4].copy_from_slice(&checksum);
        let ip = advertisement_packet(AgentDiscovery::Solicitation).ip;
        assert!(IcmpMessage::decode(&ip, &message).is_err(), "{wrong}");
    }
    // Padding, a longer entry, and an extension to skip.
    let mut message = bytes("0900000001030003cb0071090000000055555555001301180080020000");
    let mut checksum = Checksum::new();
    checksum.add(&message);
    let checksum = checksum.finish().to_be_bytes();
    message[2..4].copy_from_slice(&checksum);
    let ip = advertisement_packet(AgentDiscovery::Solicitation).ip;
    let read = IcmpMessage::decode(&ip, &message).expect("well formed");
    let Some(IcmpMessage::AgentDiscovery(read)) = read else {
        panic!("another kind");
    };
    let AgentDiscovery::Advertisement(read) = *read else {
        panic!("another kind");
    };
    assert_eq!((read.routers.len(), read.prefix_lengths), (1, vec![24]));
}

/// Checks the wording of RFC 5944 section 3.4.
#[test]
fn codes_have_the_standard_s_meaning() {
    assert_eq!(
        Code(133).text(),
        "home agent: registration identification mismatch"
    );
    assert_eq!(Code(200).text(), "unknown");
    let accepted = Code::ALL.iter().filter(|code| code.is_accepted());
    assert_eq!(accepted.count(), 2);
    assert!(Code(88).is_foreign_refusal() && !Code(128).is_foreign_refusal());
}

fn addresses() -> impl Strategy<Value = Ipv4Addr> {
    any::<u32>().prop_map(Ipv4Addr::from_bits)
}

fn extensions() -> impl Strategy<Value = Extension> {
    let kinds = prop::sample::select(vec![
        AuthenticationKind::MobileHome,
        AuthenticationKind::MobileForeign,
        AuthenticationKind::ForeignHome,
        AuthenticationKind::MobileGateway,
    ]);
    let skipped = (128..=255_u8, prop::collection::vec(any::<u8>(), 0..256))
        .prop_filter("known", |(kind, _)| ![138, 140, 255].contains(kind))
        .prop_map(|(kind, bytes)| Extension::Skipped {
            kind,
            bytes: bytes.into(),
        });
    let previous = (any::<(u16, u32, [u8; 16])>(), addresses(), addresses()).prop_map(
        |((lifetime, index, authenticator), previous, care_of_address)| {
            Extension::PreviousForeignAgent(PreviousForeignAgent {
                lifetime,
                previous,
                care_of_address,
                index,
                authenticator,
            })
        },
    );
    prop_oneof![
        (kinds, any::<(u32, [u8; 16])>()).prop_map(|(kind, (index, authenticator))| {
            Extension::Authentication {
                kind,
                index,
                authenticator,
            }
        }),
        previous,
        addresses().prop_map(Extension::HierarchicalForeignAgent),
        addresses().prop_map(Extension::PresentForeignAgent),
        any::<[u8; 6]>().prop_map(|point| Extension::AccessPoint(LinkLayerAddress(point))),
        prop::collection::vec((addresses(), any::<u16>()), 0..=MOST_NAMED).prop_map(|names| {
            let names = names
                .into_iter()
                .map(|(source, identification)| PacketName {
                    source,
                    identification,
                });
            Extension::ReceivedPackets(names.collect())
        }),
        skipped,
    ]
}

fn contents() -> impl Strategy<Value = Content> {
    let purposes = prop::sample::select(Purpose::ALL.to_vec());
    let fields = any::<(u8, u16, u64, bool)>();
    (purposes, fields, [addresses(), addresses(), addresses()]).prop_map(
        |(purpose, (first, lifetime, identification, is_request), addresses)| {
            let [home_address, agent, care_of_address] = addresses;
            if is_request {
                Content::Request(Request {
                    purpose,
                    flags: RequestFlags(first),
                    lifetime,
                    home_address,
                    agent,
                    care_of_address,
                    identification,
                })
            } else {
                Content::Reply(Reply {
                    purpose,
                    code: Code(first),
                    lifetime,
                    home_address,
                    agent,
                    identification,
                })
            }
        },
    )
}

fn advertisements() -> impl Strategy<Value = RouterAdvertisement> {
    let routers = prop::collection::vec((addresses(), any::<i32>()), 0..6);
    let agent = (
        any::<(u16, u16, u16)>(),
        prop::collection::vec(addresses(), 0..=62),
    );
    (
        routers,
        any::<(u16, bool)>(),
        prop::option::of(agent),
        (0..=32_u8, any::<Option<[u8; 6]>>()),
    )
        .prop_map(
            |(routers, (lifetime, with_prefixes), agent, (prefix, point))| RouterAdvertisement {
                lifetime,
                prefix_lengths: if with_prefixes {
                    vec![prefix; routers.len()]
                } else {
                    Vec::new()
                },
                routers,
                mobility_agent: agent.map(
                    |((sequence, registration_lifetime, flags), addresses)| MobilityAgent {
                        sequence,
                        registration_lifetime,
                        flags: AgentFlags(flags),
                        care_of_addresses: addresses,
                    },
                ),
                access_point: point.map(LinkLayerAddress),
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig {
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn messages_come_back(content in contents(), extensions in prop::collection::vec(extensions(), 0..5)) {
        let message = Message { content, extensions };
        prop_assert_eq!(Message::decode(&message.encode()), Ok(message));
    }

    #[test]
    fn advertisements_come_back(advertisement in advertisements()) {
        let packet = advertisement_packet(AgentDiscovery::Advertisement(advertisement));
        let mut bytes = Vec::new();
        packet.encode(&mut bytes);
        prop_assert_eq!(bytes.len() as u32, packet.wire_length());
        prop_assert_eq!(Packet::decode(&bytes), Ok(packet));
    }

    #[test]
    fn no_bytes_panic(
        kind in prop::sample::select(vec![1_u8, 3, 9, 10, 18, 19, 20, 21, 0, 255]),
        mut bytes in prop::collection::vec(any::<u8>(), 0..120),
    ) {
        if let Some(first) = bytes.first_mut() {
            *first = kind;
        }
        if let Ok(message) = Message::decode(&bytes) {
            prop_assert_eq!(message.encode(), bytes.clone());
        }
        if bytes.len() >= 8 {
            let _ = AgentDiscovery::decode(&bytes);
        }
    }
}
