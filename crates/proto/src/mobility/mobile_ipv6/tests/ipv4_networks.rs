//! IPv4 networks behind a mobile router: bound by RFC 5555, carried in the IPv6 tunnel.

use super::*;
use crate::wire::icmp::IcmpError;
use crate::wire::mobility_header::{
    BindingAcknowledgement, BindingUpdate, Ipv4AddressAcknowledgement, Ipv4AddressStatus,
    Ipv4HomeAddress,
};
use crate::wire::prefix::{Ipv4Prefix, Prefix};
use core::net::Ipv4Addr;

const NETWORK: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 0);
const HOST: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 7);
/// A host in a network of no mobile.
const STRANGER: Ipv4Addr = Ipv4Addr::new(10, 2, 0, 7);

fn network(address: Ipv4Addr, length: u8) -> Prefix {
    Ipv4Prefix::new(address, length).expect("a length").into()
}

/// Returns the mobile router's networks, of either IP version.
fn networks() -> Box<[Prefix]> {
    let behind = prefix("2001:db8:aaaa::", 48).into();
    Box::new([behind, network(NETWORK, 16)])
}

fn mobile_router(explicit: bool) -> MobileSettings {
    MobileSettings {
        router: Some(RouterRegistration {
            prefixes: networks(),
            explicit,
        }),
        ..mobile_with(|fleet| fleet.buffering = Some(BufferingRequest::STUDY_D))
    }
}

/// Returns a mobile router on link 1, at a home agent that may bind some prefixes.
fn world_with(explicit: bool, strategy: Strategy, known: Box<[Prefix]>) -> World {
    let agent = HomeAgentSettings {
        strategy,
        ..agent_settings()
    };
    let subscriber = Subscriber {
        prefixes: Some(known),
        ..subscriber()
    };
    let mut world = World::new(mobile_router(explicit), agent, subscriber);
    world.attach(0, 1);
    world.run_until(at(1000));
    world
}

fn tunnelled(from: Ipv6Addr, to: Ipv6Addr, inner: Packet) -> Packet {
    let body = Body::Tunnel(Box::new(inner));
    crate::mobility::packet(from.into(), to.into(), body)
}

/// Extends a datagram over IPv4 to `total` bytes in all.
fn with_length(mut packet: Packet, total: u32) -> Packet {
    if let Body::Udp(_, Payload::Pattern { length, .. }) = &mut packet.body {
        *length = total - 28;
    }
    assert_eq!(packet.wire_length(), total);
    packet
}

#[test]
fn packets_of_both_versions_go_both_ways_across_a_handover() {
    for explicit in [true, false] {
        let mut world = world_with(explicit, Strategy::Forward, networks());
        for (place, number) in [(1, 10), (2, 20)] {
            if place == 2 {
                world.detach(0);
                world.attach(0, 2);
                world.run_until(at(2000));
            }
            assert_eq!(world.home_agent.care_of(ip(HOME)), Some(care_of(place)));
            world.send_down(HOST, number);
            world.send_up(HOST, number + 1);
            world.send_down(ip(BEHIND), number + 2);
            world.send_up(ip(BEHIND), number + 3);
            let end = world.now() + Duration::from_millis(500);
            world.run_until(end);
        }
        assert_eq!(world.got, [10, 12, 20, 22], "{explicit}");
        let [v4, v6] = [IpAddr::V4(HOST), IpAddr::V6(ip(BEHIND))];
        assert_eq!(world.answered, [(11, v4), (13, v6), (21, v4), (23, v6)]);
        let refused =
            |(_, event): &(_, MobileEvent)| matches!(event, MobileEvent::NetworkRefused { .. });
        assert!(!world.events.iter().any(refused));
        assert_eq!(world.mobile.counts(), MobileCounts::default());
        assert_eq!(world.home_agent.counts(), HomeAgentCounts::default());
    }
}

/// RFC 2473 section 3.1: each tunnel costs one hop at its entry, and the mobile router forwards.
#[test]
fn a_tunnel_and_a_router_cost_a_hop_each() {
    let mut world = world_with(true, Strategy::Forward, networks());
    let down = datagram(correspondent_for(HOST.into()), HOST, 1);
    let now = world.now();
    world.home_agent.handle_packet(now, down);
    let (_, outer) = world.home_agent.poll_transmit().expect("a tunnel packet");
    assert_eq!(outer.ip.destination, IpAddr::V6(care_of(1)));
    // Next header 4: IPv4 (RFC 2473 section 3).
    let mut bytes = Vec::new();
    outer.encode(&mut bytes);
    assert_eq!((bytes[0] >> 4, bytes[6], bytes[40] >> 4), (6, 4, 4));
    let now = world.now();
    world.mobile.handle_packet(now, InterfaceId(0), outer);
    let Some(Received::Behind(packet)) = world.mobile.poll_received() else {
        panic!("nothing for the network behind");
    };
    assert_eq!(packet.ip.hop_limit, 64 - 2);
    let mut last = datagram(correspondent_for(HOST.into()), HOST, 2);
    last.ip.hop_limit = 1;
    let now = world.now();
    world.home_agent.handle_packet(now, last);
    assert!(world.home_agent.poll_transmit().is_none());
    assert_eq!(world.home_agent.counts().tunnels.hop_limit, 1);
}

/// Study D, proposal 2, for an IPv4 network: packets that arrive between two links wait at the home agent, in order.
#[test]
fn a_home_agent_that_buffers_loses_nothing() {
    let mut world = world_with(true, Strategy::Buffer(POLICY), networks());
    let now = world.now();
    world.mobile.link_going_down(now, InterfaceId(0));
    for number in 0..10 {
        world.run_until(at(1100 + number * 100));
        world.send_down(HOST, number);
        match number {
            2 => world.detach(0),
            7 => world.attach(0, 2),
            _ => {}
        }
    }
    world.run_until(at(5000));
    assert_eq!(world.got, (0..10).collect::<Vec<_>>());
    let buffered = world.home_agent.counts().buffered;
    assert_eq!((buffered.held, buffered.released), (8, 8));
}

#[test]
fn packets_of_other_sources_and_for_other_networks_are_dropped_and_counted() {
    let mut world = world_with(true, Strategy::Forward, networks());
    let now = world.now();
    let far = correspondent_for(HOST.into());
    // At the mobile router: from behind, and out of the tunnel.
    world.send_up(STRANGER, 1);
    let around = datagram(HOST, Ipv4Addr::new(10, 1, 0, 8), 2);
    world.mobile.handle_outgoing(now, around.clone());
    let wrong = tunnelled(ip(HOME_AGENT), care_of(1), datagram(far, STRANGER, 3));
    world.mobile.handle_packet(now, InterfaceId(0), wrong);
    let counts = world.mobile.counts();
    assert_eq!((counts.misdirected, counts.turned_back), (2, 1));
    // Not from the home agent.
    let forged = tunnelled(ip(CORRESPONDENT), care_of(1), datagram(far, HOST, 4));
    world.mobile.handle_packet(now, InterfaceId(0), forged);
    assert_eq!(world.mobile.counts().unregistered, 1);
    assert!(world.mobile.poll_transmit().is_none());
    assert!(world.mobile.poll_received().is_none());
    // At the home agent: a wrong source inside, a wrong one outside, and a packet for the same network.
    for (from, inner) in [
        (care_of(1), datagram(STRANGER, far, 5)),
        (care_of(2), datagram(HOST, far, 6)),
        (care_of(1), around),
    ] {
        let packet = tunnelled(from, ip(HOME_AGENT), inner);
        assert_eq!(world.home_agent.handle_packet(now, packet), None);
    }
    let counts = world.home_agent.counts();
    assert_eq!((counts.strangers, counts.turned_back), (2, 1));
    assert!(world.home_agent.poll_transmit().is_none());
}

#[test]
fn a_network_that_is_not_the_mobile_s_is_refused_alone() {
    let behind = prefix("2001:db8:aaaa::", 48).into();
    let mut world = world_with(true, Strategy::Forward, Box::new([behind]));
    let Prefix::V4(asked) = network(NETWORK, 16) else {
        panic!("of IPv4");
    };
    let refused = MobileEvent::NetworkRefused {
        network: asked,
        status: Some(Ipv4AddressStatus::PREFIX_ALLOCATION_UNAUTHORIZED),
    };
    let events: Vec<MobileEvent> = world.events.iter().map(|&(_, event)| event).collect();
    assert!(events.contains(&refused), "{events:?}");
    assert!(events.contains(&MobileEvent::Registered(care_of(1))));
    assert!(!world.home_agent.intercepts(HOST.into()));
    world.send_down(ip(BEHIND), 1);
    world.send_up(HOST, 2);
    world.run_until(at(2000));
    assert_eq!(world.got, [1]);
    assert!(world.answered.is_empty());
    assert_eq!(world.home_agent.counts().strangers, 1);
}

/// RFC 5555 section 3.2.1: without an acknowledgement option, the home agent knows no IPv4 networks.
#[test]
fn a_home_agent_that_knows_no_ipv4_is_noticed() {
    let mut world = World::new(mobile_router(true), agent_settings(), subscriber());
    world.attach(0, 1);
    // The update has left, and its answer is on the way.
    world.run_until(at(50));
    let sent = world.events.iter().find_map(|(_, event)| match event {
        MobileEvent::UpdateSent { sequence, .. } => Some(*sequence),
        _ => None,
    });
    let lifetime = BindingLifetime::at_most(600);
    let sequence = sent.expect("an update");
    let answer = BindingAcknowledgement {
        mobile_router: true,
        ..BindingAcknowledgement::new(BindingStatus::ACCEPTED, sequence, lifetime)
    };
    let message = MobilityMessage::BindingAcknowledgement(answer);
    let addresses = (ip(HOME_AGENT), care_of(1));
    let packet = mobility_packet(addresses, (None, Some(ip(HOME))), message);
    world.mobile.handle_packet(at(51), InterfaceId(0), packet);
    let events: Vec<MobileEvent> = core::iter::from_fn(|| world.mobile.poll_event()).collect();
    let [MobileEvent::NetworkRefused { status: None, .. }, registered] = events[..] else {
        panic!("{events:?}");
    };
    assert_eq!(registered, MobileEvent::Registered(care_of(1)));
}

/// Sends a mobile router's update for IPv4 networks; returns the answers to them.
fn ask(agent: &mut HomeAgent, update: BindingUpdate) -> Vec<Ipv4AddressAcknowledgement> {
    let update = BindingUpdate {
        acknowledge: true,
        home_registration: true,
        lifetime: BindingLifetime::at_most(600),
        ..update
    };
    let message = MobilityMessage::BindingUpdate(update);
    let addresses = (care_of(1), ip(HOME_AGENT));
    let packet = mobility_packet(addresses, (Some(ip(HOME)), None), message);
    agent.handle_packet(at(0), packet);
    answers(agent).expect("an accepted update")
}

fn answers(agent: &mut HomeAgent) -> Option<Vec<Ipv4AddressAcknowledgement>> {
    let packets = core::iter::from_fn(|| agent.poll_transmit());
    let mut answers = packets.filter_map(|(_, packet)| match packet.body {
        Body::Extended(extended) => match extended.body {
            Body::Mobility(message) => match *message {
                MobilityMessage::BindingAcknowledgement(answer) => {
                    assert_eq!(answer.status, BindingStatus::ACCEPTED);
                    Some(answer.ipv4_acknowledgements)
                }
                _ => None,
            },
            _ => None,
        },
        _ => None,
    });
    answers.next()
}

fn home_address(address: [u8; 4], prefix_length: u8, asks_for_prefix: bool) -> Ipv4HomeAddress {
    Ipv4HomeAddress {
        address: address.into(),
        prefix_length,
        asks_for_prefix,
    }
}

fn agent_of_networks(detection: DuplicateAddressDetection) -> HomeAgent {
    let mut agent = HomeAgent::new(HomeAgentSettings {
        detection,
        ..agent_settings()
    });
    agent.subscribe(Subscriber {
        prefixes: Some(networks()),
        ..subscriber()
    });
    agent
}

/// RFC 5555 sections 3.1.1 and 3.2.1: the statuses, and a prefix length of zero in a refusal.
#[test]
fn each_address_has_an_answer_of_its_own() {
    let mut agent = agent_of_networks(NO_DETECTION);
    let asked = [
        (home_address([10, 1, 0, 0], 16, true), 0, 16),
        // The mobile's own network, in part, and one of its addresses.
        (home_address([10, 1, 2, 0], 24, true), 0, 24),
        (home_address([10, 1, 0, 7], 32, false), 0, 32),
        (home_address([10, 0, 0, 0], 8, true), 133, 0),
        (home_address([10, 2, 0, 0], 16, true), 133, 0),
        (home_address([10, 2, 0, 7], 32, false), 130, 0),
        (home_address([10, 1, 0, 0], 0, true), 131, 0),
        (home_address([10, 1, 0, 0], 33, true), 131, 0),
        (home_address([0, 0, 0, 0], 16, true), 132, 0),
    ];
    let update = |sequence, mobile_router, addresses: &[Ipv4HomeAddress]| BindingUpdate {
        sequence,
        mobile_router,
        ipv4_home_addresses: addresses.to_vec(),
        ..BindingUpdate::default()
    };
    for (sequence, (one, status, prefix_length)) in (1..).zip(asked) {
        let expected = Ipv4AddressAcknowledgement {
            status: Ipv4AddressStatus(status),
            prefix_length,
            address: one.address,
        };
        assert_eq!(ask(&mut agent, update(sequence, true, &[one])), [expected]);
        let bound = agent.intercepts(one.address.into());
        assert_eq!(bound, expected.status.is_accepted(), "{one:?}");
    }
    let all = asked.map(|(one, ..)| one);
    let statuses = ask(&mut agent, update(100, true, &all)).into_iter();
    let statuses: Vec<u8> = statuses.map(|answer| answer.status.0).collect();
    assert_eq!(statuses, asked.map(|(_, status, _)| status));
    // Implicit mode: all that is known.
    assert_eq!(ask(&mut agent, update(101, true, &[])), []);
    assert!(agent.intercepts(Ipv4Addr::new(10, 1, 255, 255).into()));
    assert!(!agent.intercepts(STRANGER.into()));
    // A mobile that is not a router.
    let mut agent = agent_of_networks(NO_DETECTION);
    let answers = ask(&mut agent, update(1, false, &all[..1]));
    let prohibited = Ipv4AddressStatus::ADMINISTRATIVELY_PROHIBITED;
    assert_eq!(answers.first().map(|one| one.status), Some(prohibited));
    assert!(!agent.intercepts(HOST.into()));
}

#[test]
fn addresses_are_answered_after_the_detection_of_duplicates_too() {
    let mut agent = agent_of_networks(DuplicateAddressDetection::STANDARD);
    let message = MobilityMessage::BindingUpdate(BindingUpdate {
        sequence: 1,
        home_registration: true,
        mobile_router: true,
        lifetime: BindingLifetime::at_most(600),
        ipv4_home_addresses: vec![home_address([10, 1, 0, 0], 16, true)],
        ..BindingUpdate::default()
    });
    let addresses = (care_of(1), ip(HOME_AGENT));
    let packet = mobility_packet(addresses, (Some(ip(HOME)), None), message);
    agent.handle_packet(at(0), packet);
    assert_eq!(answers(&mut agent), None);
    assert!(!agent.intercepts(HOST.into()));
    agent.handle_timeout(at(5000));
    let answers = answers(&mut agent).expect("an answer");
    let statuses: Vec<u8> = answers.iter().map(|one| one.status.0).collect();
    assert_eq!(statuses, [0]);
    assert!(agent.intercepts(HOST.into()));
}

/// RFC 2473 section 7.2 (a): a packet that must not be fragmented comes back as an ICMPv4 error with the tunnel's MTU, 1500
/// - 40 B, from the address of RFC 7600, as neither node has another.
#[test]
fn a_packet_larger_than_the_tunnel_comes_back_as_an_icmpv4_error() {
    let mut world = world_with(true, Strategy::Forward, networks());
    let now = world.now();
    let far = correspondent_for(HOST.into());
    let fits = with_length(datagram(far, HOST, 1), 1460);
    world.home_agent.handle_packet(now, fits);
    let (_, outer) = world.home_agent.poll_transmit().expect("a tunnel packet");
    assert_eq!(outer.wire_length(), 1500);
    let large = with_length(datagram(far, HOST, 2), 1461);
    world.home_agent.handle_packet(now, large);
    let (_, error) = world.home_agent.poll_transmit().expect("an error");
    check_error(&error, far, 1460);
    assert_eq!(world.home_agent.counts().tunnels.too_big, 1);
    // From behind the mobile router.
    let large = with_length(datagram(HOST, far, 3), 1461);
    world.mobile.handle_outgoing(now, large);
    let Some(Received::Behind(error)) = world.mobile.poll_received() else {
        panic!("no error for the network behind");
    };
    check_error(&error, HOST.into(), 1460);
    // A router on the path has reported its MTU to the home agent.
    let inside = datagram(far, HOST, 4);
    let outer = tunnelled(ip(HOME_AGENT), care_of(1), inside);
    let error = Body::Icmp(IcmpMessage::Error {
        kind: IcmpError::PacketTooBig { mtu: 1400 },
        quoted: outer.quote().expect("no error"),
    });
    let router = ip("2001:db8:700::1");
    let error = crate::mobility::packet(router.into(), ip(HOME_AGENT).into(), error);
    assert_eq!(world.home_agent.handle_packet(now, error), None);
    let (_, error) = world.home_agent.poll_transmit().expect("an error");
    check_error(&error, far, 1360);
}

/// Checks an error's bytes against RFC 792 and RFC 1191 section 4.
fn check_error(error: &Packet, to: IpAddr, mtu: u16) {
    assert_eq!(error.ip.source.to_string(), "192.0.0.8");
    assert_eq!(error.ip.destination, to);
    let mut bytes = Vec::new();
    error.encode(&mut bytes);
    // Protocol 1; destination unreachable, "fragmentation needed and DF set"; then the next hop's MTU.
    assert_eq!((bytes[9], &bytes[20..22]), (1, &[3, 4][..]));
    assert_eq!(bytes[26..28], mtu.to_be_bytes());
}

/// RFC 791 section 3.2; the destination reassembles.
#[test]
fn a_packet_that_may_be_fragmented_is_and_each_fragment_fits() {
    let mut world = world_with(true, Strategy::Forward, networks());
    let now = world.now();
    let far = correspondent_for(HOST.into());
    let may_be_cut = |from: IpAddr, to: IpAddr| {
        let mut packet = with_length(datagram(from, to, 1), 4000);
        packet.ip.dont_fragment = false;
        packet
    };
    world
        .home_agent
        .handle_packet(now, may_be_cut(far, HOST.into()));
    let down = core::iter::from_fn(|| world.home_agent.poll_transmit());
    let down: Vec<Packet> = down.map(|(_, packet)| packet).collect();
    let first = world
        .mobile
        .address_outgoing(now, may_be_cut(HOST.into(), far));
    let up = core::iter::from_fn(|| world.mobile.poll_transmit());
    let up: Vec<Packet> = first
        .into_iter()
        .chain(up)
        .map(|(_, packet)| packet)
        .collect();
    for (outer, ends) in [
        (down, [ip(HOME_AGENT), care_of(1)]),
        (up, [care_of(1), ip(HOME_AGENT)]),
    ] {
        // 3980 bytes of payload in pieces of 1440.
        let lengths: Vec<u32> = outer.iter().map(Packet::wire_length).collect();
        assert_eq!(lengths, [1500, 1500, 40 + 20 + 1100]);
        for packet in &outer {
            assert_eq!(
                [packet.ip.source, packet.ip.destination],
                ends.map(IpAddr::V6)
            );
            let Body::Tunnel(inner) = &packet.body else {
                panic!("no tunnel packet");
            };
            assert_eq!(inner.ip.hop_limit, 63);
        }
    }
    assert_eq!(world.home_agent.counts(), HomeAgentCounts::default());
    assert_eq!(world.mobile.counts(), MobileCounts::default());
}
