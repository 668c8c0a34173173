//! Forged and replayed messages.

use super::encapsulation::FORMS;
use super::*;
use crate::packet::PacketName;
use crate::wire::agent_discovery::{
    AgentDiscovery, AgentFlags, MobilityAgent, RouterAdvertisement,
};
use crate::wire::mobile_ipv4::{
    AuthenticationKind, Code, Extension, PreviousForeignAgent, Purpose, Reply, Request,
    RequestFlags,
};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// Mostly the address of a node in the network.
fn addresses() -> impl Strategy<Value = Ipv4Addr> {
    prop_oneof![
        8 => prop::sample::select(vec![
            HOME_ADDRESS, HOME_AGENT, FOREIGN_AGENTS[0], FOREIGN_AGENTS[1], GATEWAY, MODEM, SERVER,
            CORRESPONDENT, ALL_SYSTEMS, Ipv4Addr::UNSPECIFIED, Ipv4Addr::BROADCAST,
        ]),
        1 => any::<u32>().prop_map(Ipv4Addr::from_bits),
    ]
}

fn purposes() -> impl Strategy<Value = Purpose> {
    prop::sample::select(vec![Purpose::Home, Purpose::Regional, Purpose::Handoff])
}

/// Sometimes with a correct authenticator.
fn messages() -> impl Strategy<Value = Message> {
    let numbers = (any::<u16>(), any::<u8>(), 0..20_u64, any::<u8>());
    let addresses = [addresses(), addresses(), addresses(), addresses()];
    (purposes(), numbers, addresses, any::<bool>()).prop_map(
        |(purpose, (lifetime, first, time, shape), addresses, is_request)| {
            let [home_address, agent, care_of_address, other] = addresses;
            let identification =
                Clock::default().timestamp(Instant::from_secs(time)) + u64::from(shape);
            let mut message = if is_request {
                Message::from(Request {
                    purpose,
                    flags: RequestFlags(first),
                    lifetime,
                    home_address,
                    agent,
                    care_of_address,
                    identification,
                })
            } else {
                Message::from(Reply {
                    purpose,
                    code: Code(first % 140),
                    lifetime,
                    home_address,
                    agent,
                    identification,
                })
            };
            if shape & 1 != 0 {
                message.sign(AuthenticationKind::MobileHome, &association(256));
            }
            if shape & 2 != 0 {
                let extension = Extension::HierarchicalForeignAgent(other);
                message.extensions.push(extension);
            }
            if shape & 4 != 0 {
                message.sign(AuthenticationKind::MobileForeign, &association(300));
                message.sign(AuthenticationKind::MobileGateway, &association(300));
            }
            if shape & 8 != 0 {
                let notification = PreviousForeignAgent {
                    lifetime,
                    previous: other,
                    care_of_address,
                    index: 300,
                    authenticator: [0; 16],
                };
                message
                    .extensions
                    .push(Extension::PreviousForeignAgent(notification));
            }
            if shape & 16 != 0 {
                let point = Extension::AccessPoint(POINTS[usize::from(first & 1)]);
                let present = Extension::PresentForeignAgent(other);
                message.extensions.extend([point, present]);
            }
            if shape & 32 != 0 {
                let name = PacketName {
                    source: CORRESPONDENT,
                    identification: lifetime,
                };
                let names = Extension::ReceivedPackets([name].into());
                message.extensions.push(names);
            }
            message
        },
    )
}

fn bodies() -> impl Strategy<Value = Body> {
    let ports = |destination_port| UdpHeader {
        source_port: 434,
        destination_port,
    };
    let raw = prop::collection::vec(any::<u8>(), 0..330);
    let raw = (raw, prop::sample::select(vec![434, 67, 68]));
    let advertisement = (any::<(u16, u16, u16)>(), addresses(), 0..=32_u8).prop_map(
        |((sequence, lifetime, flags), address, prefix)| {
            Body::Icmp(IcmpMessage::AgentDiscovery(Box::new(
                AgentDiscovery::Advertisement(RouterAdvertisement {
                    lifetime,
                    routers: vec![(address, 0)],
                    prefix_lengths: vec![prefix],
                    mobility_agent: Some(MobilityAgent {
                        sequence,
                        registration_lifetime: lifetime,
                        flags: AgentFlags(flags),
                        care_of_addresses: vec![address],
                    }),
                    access_point: (sequence & 1 != 0).then_some(POINTS[1]),
                }),
            )))
        },
    );
    let inner = (addresses(), addresses(), 0..3_u8).prop_map(|(source, destination, hops)| {
        let mut inner = datagram(source, destination, 9);
        inner.ip.hop_limit = hops;
        inner
    });
    let inner = (inner, addresses(), any::<bool>()).prop_map(|(packet, end, twice)| match twice {
        true => {
            let mut outer = datagram(end, HOME_ADDRESS, 9);
            outer.body = Body::encapsulate(packet, Encapsulation::Minimal);
            outer
        }
        false => packet,
    });
    let forms = prop::sample::select(FORMS.to_vec());
    prop_oneof![
        messages().prop_map(move |message| {
            Body::Udp(ports(434), Payload::Bytes(message.encode().into()))
        }),
        raw.prop_map(move |(bytes, port)| Body::Udp(ports(port), Payload::Bytes(bytes.into()))),
        advertisement,
        (inner, forms).prop_map(|(packet, form)| Body::encapsulate(packet, form)),
        prop::sample::select(vec![
            AgentDiscovery::Solicitation,
            AgentDiscovery::ProxySolicitation(POINTS[1]),
        ])
        .prop_map(|message| Body::Icmp(IcmpMessage::AgentDiscovery(Box::new(message)))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 512,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Every node receives arbitrary messages at arbitrary times.
    #[test]
    fn no_message_panics(
        start in 0..5_usize,
        with_gateway: bool,
        all in prop::collection::vec((bodies(), addresses(), addresses(), 0..5_usize, 0..2000_u64), 1..40),
    ) {
        let mut network = Network::with(mobile_config(), home_agent_config(), with_gateway);
        network.introduce();
        for agent in &mut network.foreign {
            agent.keep_copies(copies::roomy());
        }
        network.jump_to(InterfaceId(start));
        for (body, source, destination, link, wait) in all {
            network.run_for(Duration::from_millis(wait));
            let mut packet = datagram(source, destination, 9);
            packet.body = body;
            let (now, link) = (network.now(), InterfaceId(link));
            if wait & 7 == 0 {
                network.mobile.prepare_handover(now, link);
            }
            network.mobile.handle_packet(now, link, packet.clone());
            let _ = network.mobile.send(now, packet.clone());
            network.home.handle_packet(now, link, packet.clone());
            let _ = network.home.tunnel(now, packet.clone());
            network.server.handle_packet(now, link, packet.clone());
            for agent in &mut network.foreign {
                agent.handle_packet(now, link, packet.clone());
                let _ = agent.forward(now, link, packet.clone());
            }
            network.settle();
            // A tunnel never ends where it begins.
            for (_, _, packet) in network.wires.iter_mut() {
                if let Some(inner) = packet.body.inner() {
                    prop_assert!(inner.ip.source != packet.ip.source || packet.ip.source == inner.ip.destination
                        || packet.flow == Some(FlowId(9)));
                }
            }
        }
    }

    /// Without the key, no message changes a binding.
    #[test]
    fn what_is_not_signed_changes_nothing(
        all in prop::collection::vec(messages(), 1..20),
    ) {
        let mut network = Network::new();
        network.jump_to(MODEM_LINK);
        network.run_for(Duration::from_secs(1));
        prop_assert_eq!(network.bindings(), vec![MODEM]);
        let now = network.now();
        let binding = network.registered();
        for mut message in all {
            message.extensions.retain(|extension| {
                !matches!(extension, Extension::Authentication { kind: AuthenticationKind::MobileHome, .. })
            });
            message.sign(AuthenticationKind::MobileHome, &SecurityAssociation { index: 256, key: [7; 16] });
            let mut packet = datagram(CORRESPONDENT, HOME_AGENT, 9);
            let ports = UdpHeader { source_port: 434, destination_port: 434 };
            packet.body = Body::Udp(ports, Payload::Bytes(message.encode().into()));
            network.home.handle_packet(now, HOME_LINK, packet.clone());
            network.mobile.handle_packet(now, MODEM_LINK, packet);
            network.settle();
        }
        network.run_for(Duration::from_secs(1));
        prop_assert_eq!(network.bindings(), vec![MODEM]);
        prop_assert_eq!(network.registered(), binding);
    }
}

/// Returns the home agent's reply to a message from an address.
fn answer(network: &mut Network, source: Ipv4Addr, message: &Message) -> Option<Reply> {
    let mut packet = datagram(source, HOME_AGENT, 9);
    let ports = UdpHeader {
        source_port: 434,
        destination_port: 434,
    };
    packet.body = Body::Udp(ports, Payload::Bytes(message.encode().into()));
    let now = network.now();
    network.home.handle_packet(now, HOME_LINK, packet);
    let sent = network.home.poll_transmit()?;
    match Received::from_packet(&sent.packet)?.ok()?.message.content {
        Content::Reply(reply) => Some(reply),
        Content::Request(_) => None,
    }
}

fn signed(request: Request) -> Message {
    let mut message = Message::from(request);
    message.sign(AuthenticationKind::MobileHome, &association(256));
    message
}

fn request(now: Instant) -> Request {
    Request {
        purpose: Purpose::Home,
        flags: RequestFlags::DECAPSULATION,
        lifetime: 60,
        home_address: HOME_ADDRESS,
        agent: HOME_AGENT,
        care_of_address: MODEM,
        identification: Clock::default().timestamp(now),
    }
}

/// RFC 5944 sections 3.4, 3.8.2 and 5.7.1; RFC 3024 for 137.
#[test]
fn the_home_agent_refuses_with_the_standard_s_codes() {
    let home_config = HomeAgentConfig {
        foreign_agents: [(FOREIGN_AGENTS[0], association(512))].into(),
        simultaneous_bindings: 2,
        ..home_agent_config()
    };
    let mut network = Network::with(mobile_config(), home_config, false);
    network.run_until(Instant::from_secs(100));
    let at = |seconds: u64| request(Instant::from_secs(seconds));
    let flags = |seconds, flags: u8| {
        signed(Request {
            flags: RequestFlags(flags),
            ..at(seconds)
        })
    };
    let simultaneous = |second: u64, host| {
        signed(Request {
            flags: RequestFlags::SIMULTANEOUS,
            care_of_address: Ipv4Addr::new(198, 51, 100, host),
            ..at(second)
        })
    };
    for (what, source, message, code) in [
        ("unsigned", MODEM, Message::from(at(94)), 131),
        (
            "unknown mobile",
            MODEM,
            signed(Request {
                home_address: MODEM,
                ..at(94)
            }),
            131,
        ),
        (
            "an agent that should sign",
            FOREIGN_AGENTS[0],
            signed(at(94)),
            132,
        ),
        ("too old", MODEM, signed(at(92)), 133),
        ("too early", MODEM, signed(at(108)), 133),
        ("right", MODEM, signed(at(94)), 0),
        ("replayed", MODEM, signed(at(94)), 133),
        (
            "another agent's",
            MODEM,
            signed(Request {
                agent: SERVER,
                ..at(95)
            }),
            136,
        ),
        (
            "replayed though it was refused",
            MODEM,
            signed(Request {
                agent: SERVER,
                ..at(95)
            }),
            133,
        ),
        ("a reserved bit", MODEM, flags(96, 0x21), 134),
        (
            "a tunnel to everybody",
            MODEM,
            signed(Request {
                care_of_address: ALL_SYSTEMS,
                ..at(97)
            }),
            134,
        ),
        (
            "a tunnel to the agent",
            MODEM,
            signed(Request {
                care_of_address: HOME_AGENT,
                ..at(98)
            }),
            134,
        ),
        (
            "away at home",
            MODEM,
            signed(Request {
                care_of_address: HOME_ADDRESS,
                ..at(99)
            }),
            134,
        ),
        ("minimal encapsulation", MODEM, flags(100, 0x30), 139),
        ("a second binding", MODEM, simultaneous(101, 8), 0),
        ("a third", MODEM, simultaneous(102, 9), 135),
        ("the second again", MODEM, simultaneous(103, 8), 0),
    ] {
        let reply = answer(&mut network, source, &message).expect(what);
        assert_eq!(reply.code, Code(code), "{what}: {}", reply.code.text());
    }
    assert_eq!(network.bindings(), [MODEM, Ipv4Addr::new(198, 51, 100, 8)]);
    network.home_config.reverse_tunnel = false;
    network.restart_home();
    let reply = answer(&mut network, MODEM, &flags(100, 0x22));
    assert_eq!(reply.map(|reply| reply.code), Some(Code(137)));
}

/// Section 5.7.1: the reply has the agent's seconds and the lower half of the request's identification.
#[test]
fn a_wrong_clock_is_told_the_time() {
    let mut network = Network::new();
    network.run_until(Instant::from_secs(1000));
    let mut late = request(Instant::from_secs(10));
    late.identification |= 0x1234_5678;
    let reply = answer(&mut network, MODEM, &signed(late)).expect("an answer");
    assert_eq!(reply.code, Code::IDENTIFICATION_MISMATCH);
    // 2020-01-01 00:00:00 is 3,786,825,600 s after 1900.
    assert_eq!(
        reply.identification,
        ((3_786_825_600 + 1000) << 32) | 0x1234_5678
    );
}
