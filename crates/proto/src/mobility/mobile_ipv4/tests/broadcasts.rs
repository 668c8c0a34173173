//! Broadcasts of the home network (RFC 5944 section 4.3).

use super::encapsulation::{BOTH, FORMS, added};
use super::*;

/// A broadcast of 128 bytes that does not leave its link.
fn broadcast() -> Packet {
    let mut packet = datagram(Ipv4Addr::new(192, 0, 2, 77), Ipv4Addr::BROADCAST, 1);
    packet.ip.hop_limit = 1;
    packet
}

/// Returns a network whose mobile is on a link, and asks for broadcasts or not.
fn network(broadcasts: bool, link: InterfaceId, with_gateway: bool) -> Network {
    let config = MobileNodeConfig {
        broadcasts,
        ..mobile_config()
    };
    let mut network = Network::with(config, home_agent_config(), with_gateway);
    network.jump_to(link);
    network.run_until(Instant::from_secs(3));
    network
}

/// Lets the home agent hear a broadcast, and returns the lengths of its copies on each of the next hops.
fn hear(network: &mut Network, link: InterfaceId) -> Vec<Vec<u32>> {
    let now = network.now();
    let heard = network.home.handle_packet(now, link, broadcast());
    assert_eq!(heard, Some(broadcast()), "the agent's own host hears it");
    network.settle();
    let mut hops = Vec::new();
    loop {
        let of_flow = |(_, _, packet): &&mut Arriving| packet.flow == Some(FlowId(1));
        let copies = network.wires.iter_mut().filter(of_flow);
        let lengths: Vec<u32> = copies.map(|(_, _, packet)| packet.wire_length()).collect();
        if lengths.is_empty() {
            return hops;
        }
        hops.push(lengths);
        network.run_for(HOP);
    }
}

#[test]
fn a_mobile_that_asks_gets_broadcasts_in_one_tunnel_or_two() {
    for (link, with_gateway, hops) in [
        // With an address of its own, in one tunnel.
        (MODEM_LINK, false, vec![vec![148]]),
        // The foreign agent takes off one of two.
        (FOREIGN_LINKS[0], false, vec![vec![168], vec![148]]),
        (
            FOREIGN_LINKS[0],
            true,
            vec![vec![168], vec![168], vec![148]],
        ),
    ] {
        let mut network = network(true, link, with_gateway);
        let what = format!("{link:?}, gateway {with_gateway}");
        assert_eq!(hear(&mut network, HOME_LINK), hops, "{what}");
        let arrived: Vec<&Packet> = (network.delivered.iter())
            .map(|(_, _, packet)| packet)
            .collect();
        assert_eq!(arrived, [&broadcast()], "{what}");
    }
}

#[test]
fn others_get_none() {
    for link in [MODEM_LINK, FOREIGN_LINKS[0]] {
        let mut without = network(false, link, false);
        assert_eq!(hear(&mut without, HOME_LINK), Vec::<Vec<u32>>::new());
        // Of another network than the home network.
        let mut elsewhere = network(true, link, false);
        assert_eq!(hear(&mut elsewhere, MODEM_LINK), Vec::<Vec<u32>>::new());
    }
    // At home there is no binding.
    let mut at_home = network(true, FOREIGN_LINKS[0], false);
    at_home.jump_to(HOME_LINK);
    at_home.run_for(Duration::from_secs(3));
    assert_eq!(hear(&mut at_home, HOME_LINK), Vec::<Vec<u32>>::new());
    // A multicast is none.
    let mut away = network(true, MODEM_LINK, false);
    let mut multicast = broadcast();
    multicast.ip.destination = ALL_SYSTEMS.into();
    let now = away.now();
    away.home.handle_packet(now, HOME_LINK, multicast);
    assert_eq!(away.home.poll_transmit(), None);
}

/// The tunnel has its encapsulation; the one within is IP in IP. Minimal encapsulation would end at the first router,
/// as the broadcast has one hop left (RFC 2004 section 3.1).
#[test]
fn broadcasts_go_in_any_encapsulation() {
    for form in FORMS {
        let config = MobileNodeConfig {
            broadcasts: true,
            encapsulation: form,
            ..mobile_config()
        };
        let mut network = Network::with(config, home_agent_config(), false);
        network.offer(BOTH);
        network.jump_to(FOREIGN_LINKS[0]);
        network.run_until(Instant::from_secs(3));
        let first = match form {
            // The home agent is the source of the tunnel inside: 8 bytes suffice.
            Encapsulation::Minimal => 156,
            form => 148 + added(form).0,
        };
        assert_eq!(hear(&mut network, HOME_LINK), [[first], [148]], "{form:?}");
        assert_eq!(network.received(1), 1, "{form:?}");
        network.jump_to(MODEM_LINK);
        network.run_until(Instant::from_secs(6));
        let only = match form {
            Encapsulation::Minimal => 148,
            form => 128 + added(form).0,
        };
        assert_eq!(hear(&mut network, HOME_LINK), [[only]], "{form:?}");
        assert_eq!(network.received(1), 2, "{form:?}");
    }
}

/// Only the home agent sends broadcasts on, and only to a mobile that asks.
#[test]
fn a_broadcast_from_another_tunnel_is_dropped() {
    for (broadcasts, source, received) in [
        (true, HOME_AGENT, 1),
        (true, SERVER, 0),
        (false, HOME_AGENT, 0),
    ] {
        let mut network = network(broadcasts, MODEM_LINK, false);
        let packet = Packet {
            body: Body::Tunnel(Box::new(broadcast())),
            ..datagram(source, MODEM, 1)
        };
        let now = network.now();
        let before = network.mobile.dropped().unexpected_tunnel;
        let taken = network.mobile.handle_packet(now, MODEM_LINK, packet);
        assert_eq!(taken.iter().count(), received);
        let dropped = network.mobile.dropped().unexpected_tunnel - before;
        assert_eq!(dropped, 1 - received as u64);
    }
}

/// A copy that does not fit is counted, and its source is told nothing (RFC 1122 section 3.2.2).
#[test]
fn no_error_is_sent_about_a_broadcast() {
    let mut network = network(true, FOREIGN_LINKS[0], false);
    let mut long = broadcast();
    if let Body::Udp(_, payload) = &mut long.body {
        // 1461 bytes in total: 40 more make 1501.
        *payload = Payload::Pattern {
            stream: 1,
            offset: 0,
            length: 1461 - 28,
        };
    }
    let now = network.now();
    network.home.handle_packet(now, HOME_LINK, long);
    assert_eq!(network.home.poll_transmit(), None);
    assert_eq!(network.home.poll_error(), None);
    assert_eq!(network.home.dropped().too_big, 1);
}
