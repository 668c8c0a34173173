//! Timelines of messages.

use super::super::discovery::{Discovery, News};
use super::*;
use crate::testing::at;
use crate::wire::agent_discovery::{
    AgentDiscovery, AgentFlags, MobilityAgent, RouterAdvertisement,
};
use crate::wire::mobile_ipv4::{AuthenticationKind, Code, Purpose, Reply, Request, RequestFlags};

/// Returns the requests that a mobile sends until `end` without any reply, with their times in milliseconds.
fn unanswered(config: MobileNodeConfig, end: Instant) -> Vec<(u64, Request)> {
    let mut mobile = MobileNode::new(config);
    let mut now = Instant::ZERO;
    mobile.attach(now, MODEM_LINK, CareOf::Known(MODEM));
    let mut requests = Vec::new();
    loop {
        while let Some(sent) = mobile.poll_transmit() {
            let Some(Ok(received)) = Received::from_packet(&sent.packet) else {
                continue;
            };
            if let Content::Request(request) = received.message.content {
                requests.push((now.as_nanos() / 1_000_000, request));
            }
        }
        match mobile.poll_timeout() {
            Some(next) if next <= end => now = next,
            _ => return requests,
        }
        mobile.handle_timeout(now);
    }
}

/// RFC 5944 section 3.6.3: intervals of at least a second, doubled each time, no longer than the requested lifetime,
/// and a new identification each time.
#[test]
fn an_unanswered_request_is_repeated_more_and_more_slowly() {
    let requests = unanswered(mobile_config(), at(200_000));
    let times: Vec<u64> = requests.iter().map(|(time, _)| time / 1000).collect();
    assert_eq!(times, [0, 1, 3, 7, 15, 31, 63, 123, 183]);
    let mut numbers = requests.iter().map(|(_, request)| request.identification);
    assert!(
        numbers
            .clone()
            .zip(numbers.by_ref().skip(1))
            .all(|(one, next)| one < next)
    );
    let short = MobileNodeConfig {
        lifetime: 5,
        ..mobile_config()
    };
    let times = unanswered(short, at(20_000)).into_iter();
    let times: Vec<u64> = times.map(|(time, _)| time / 1000).collect();
    assert_eq!(times, [0, 1, 3, 7, 12, 17]);
}

/// At 0 ms the mobile requests 60 s, at 10 ms the agent grants 40 s, which end at 40,010 ms; the mobile renews when a
/// quarter, counted from the request, is left.
#[test]
fn a_registration_is_renewed_in_time_and_ends_when_it_is_not() {
    let home_config = HomeAgentConfig {
        longest_lifetime: 40,
        ..home_agent_config()
    };
    let mut network = Network::with(mobile_config(), home_config, false);
    network.attach(MODEM_LINK, CareOf::Known(MODEM));
    network.run_until(at(20));
    let point = Point {
        interface: MODEM_LINK,
        care_of_address: MODEM,
        agent: None,
        gateway: None,
    };
    let lifetime = 40;
    let registered = MobileNodeEvent::Registered { point, lifetime };
    assert_eq!(network.events, [(at(20), registered)]);
    network.run_until(at(31_000));
    let requests = network.registrations().into_iter();
    let requests = requests.filter(|(_, from, _)| *from == Node::Mobile);
    assert_eq!(
        requests.map(|(at, ..)| at).collect::<Vec<_>>(),
        [at(0), at(30_000)]
    );
    network.lost = (network.signalling.len()..10_000).collect();
    // The renewal came at 30,010 ms.
    network.run_until(at(69_999));
    assert!(network.registered().is_some());
    network.run_until(at(70_009));
    assert!(network.registered().is_none());
    assert_eq!(network.bindings(), [MODEM]);
    network.run_until(at(70_010));
    assert_eq!(network.bindings(), [] as [Ipv4Addr; 0]);
    assert!(
        network
            .events
            .contains(&(at(70_000), MobileNodeEvent::Expired { point }))
    );
}

/// RFC 5944 section 2.4: three solicitations a second apart, then ever fewer, until an agent is heard.
#[test]
fn solicitations_become_rare() {
    let mut mobile = MobileNode::new(mobile_config());
    let mut now = Instant::ZERO;
    mobile.attach(now, FOREIGN_LINKS[0], CareOf::ForeignAgent);
    let mut times = Vec::new();
    while now < Instant::from_secs(300) {
        while let Some(sent) = mobile.poll_transmit() {
            assert_eq!(sent.packet.ip.hop_limit, 1);
            times.push(now);
        }
        now = mobile.poll_timeout().expect("it goes on");
        mobile.handle_timeout(now);
    }
    let gaps = times.iter().zip(&times[1..]);
    let gaps: Vec<u64> = gaps
        .map(|(one, next)| next.saturating_since(*one).as_nanos() / 1_000_000)
        .collect();
    for (gap, least) in gaps.iter().zip([1, 1, 1, 2, 4, 8, 16, 32, 60, 60]) {
        assert!((least * 1000..=least * 1100).contains(gap), "{gaps:?}");
    }
    assert!(gaps.len() >= 9);
}

/// RFC 5944 section 2.3: at most one multicast advertisement a second; its lifetime outlasts two lost ones. A
/// solicitation is answered at once by unicast.
#[test]
fn advertisements_keep_their_distance() {
    let mut network = Network::new();
    for second in 0..20 {
        network.run_until(at(second * 930));
        network.jump_to(FOREIGN_LINKS[0]);
    }
    let (mut last, mut alone) = (None, 0);
    for sent in &network.signalling {
        let Body::Icmp(IcmpMessage::AgentDiscovery(message)) = &sent.packet.body else {
            continue;
        };
        if let AgentDiscovery::Advertisement(said) = &**message
            && sent.from == Node::Foreign(0)
        {
            if sent.packet.ip.destination != IpAddr::V4(ALL_SYSTEMS) {
                alone += 1;
                continue;
            }
            let gap = last.map(|last| sent.at.saturating_since(last));
            assert!(
                gap.is_none_or(|gap| gap >= Duration::from_secs(1)),
                "{gap:?}"
            );
            assert_eq!((said.lifetime, sent.packet.ip.hop_limit), (3, 1));
            last = Some(sent.at);
        }
    }
    // The last solicitation is under way.
    assert_eq!(alone, 19);
    assert!(last > Some(at(16_000)));
}

fn advertisement(sequence: u16, address: Ipv4Addr, prefix: Option<u8>) -> RouterAdvertisement {
    RouterAdvertisement {
        lifetime: 3,
        routers: vec![(address, 0)],
        prefix_lengths: prefix.into_iter().collect(),
        mobility_agent: Some(MobilityAgent {
            sequence,
            registration_lifetime: 600,
            flags: AgentFlags::FOREIGN_AGENT,
            care_of_addresses: vec![address],
        }),
        access_point: None,
    }
}

/// RFC 5944 sections 2.4.2.1 (by lifetime) and 2.4.2.2 (by prefix).
#[test]
fn a_move_is_seen_by_the_prefix_or_else_by_silence() {
    let [one, other] = FOREIGN_AGENTS;
    for (prefixes, heard_again) in [
        ([Some(25), Some(25)], Some(other)), // two networks
        ([Some(24), Some(24)], Some(one)),   // two agents of one network
        ([None, Some(25)], Some(one)),       // nobody knows
    ] {
        let mut discovery = Discovery::default();
        discovery.start(at(0));
        discovery.handle_advertisement(at(0), one, &advertisement(7, one, prefixes[0]));
        assert_eq!(discovery.choose().map(|agent| agent.address), Some(one));
        let said = advertisement(9, other, prefixes[1]);
        let news = discovery.handle_advertisement(at(2000), other, &said);
        assert_eq!(news, News::Another);
        assert_eq!(discovery.choose().map(|agent| agent.address), heard_again);
        // The first agent falls silent.
        assert_eq!(discovery.poll_timeout(), Some(at(3000)));
        discovery.handle_timeout(at(3000), &mut crate::mobility::draws::Draws::new([0; 16]));
        assert_eq!(discovery.choose().map(|agent| agent.address), Some(other));
    }
}

/// Two overlapping agents: the mobile stays with the one it reached last.
#[test]
fn a_mobile_between_two_agents_does_not_swing() {
    let [one, other] = FOREIGN_AGENTS;
    let mut discovery = Discovery::default();
    for (second, address, chosen) in [
        (0, one, one),
        (1, other, other),
        (2, one, other),
        (3, other, other),
    ] {
        let said = advertisement(second as u16, address, Some(25));
        discovery.handle_advertisement(at(second * 1000), address, &said);
        assert_eq!(discovery.choose().map(|agent| agent.address), Some(chosen));
    }
}

/// RFC 5944 section 2.3.2: after 65,535 comes 256.
#[test]
fn a_restart_is_told_from_a_number_that_wraps() {
    let address = FOREIGN_AGENTS[0];
    for (before, after, news) in [
        (65_535, 256, News::None),
        (300, 255, News::Restarted),
        (5, 6, News::None),
        (5, 0, News::Restarted),
        (600, 500, News::None),
    ] {
        let mut discovery = Discovery::default();
        discovery.handle_advertisement(at(0), address, &advertisement(before, address, None));
        let said = advertisement(after, address, None);
        assert_eq!(discovery.handle_advertisement(at(1), address, &said), news);
    }
    let mut network = Network::new();
    network.jump_to(FOREIGN_LINKS[0]);
    network.run_until(at(5000));
    network.restart_foreign(0);
    assert_eq!(network.foreign[0].visitors(network.now()).count(), 0);
    network.run_for(Duration::from_millis(2100));
    assert_eq!(network.foreign[0].visitors(network.now()).count(), 1);
}

/// Sends a numbered datagram every 5 ms over a second from 1 s on, with the move of `change` at 1.5 s.
fn stream(network: &mut Network, change: impl FnOnce(&mut Network)) -> Vec<u32> {
    network.run_until(at(1000));
    let mut change = Some(change);
    for number in 0..200 {
        network.run_until(at(1000 + 5 * u64::from(number)));
        if number == 100
            && let Some(change) = change.take()
        {
            change(network);
        }
        network.send_data(number);
    }
    network.run_until(at(4000));
    (0..200)
        .filter(|&number| network.received(number) != 1)
        .collect()
}

/// Study T, section 5.1: with both interfaces up, nothing is lost. The mobile's own packets change over with the reply,
/// after 10 ms of request and 10 ms of reply.
#[test]
fn a_soft_handover_loses_nothing() {
    let mut network = Network::new();
    network.attach(MODEM_LINK, CareOf::Known(MODEM));
    let missing = stream(&mut network, |network| {
        network.attach(DHCP_LINK, CareOf::Acquired);
    });
    assert_eq!(missing, [] as [u32; 0]);
    let registered = network
        .events
        .iter()
        .rev()
        .find_map(|(at, event)| match event {
            MobileNodeEvent::Registered { point, .. } => Some((*at, point.interface)),
            _ => None,
        });
    // Two exchanges of 20 ms each with the server, and one with the home agent.
    assert_eq!(registered, Some((at(1560), DHCP_LINK)));

    let mut network = Network::new();
    network.attach(MODEM_LINK, CareOf::Known(MODEM));
    network.run_until(at(1000));
    network.attach(DHCP_LINK, CareOf::Known(Ipv4Addr::new(198, 18, 0, 99)));
    let out = |network: &mut Network| {
        let packet = datagram(HOME_ADDRESS, CORRESPONDENT, 1);
        let now = network.now();
        assert_eq!(network.mobile.send(now, packet), None);
        network
            .mobile
            .poll_transmit()
            .and_then(|sent| sent.interface)
    };
    network.run_until(at(1019));
    assert_eq!(out(&mut network), Some(MODEM_LINK));
    network.run_until(at(1020));
    assert_eq!(out(&mut network), Some(DHCP_LINK));
}

/// On a link that the mobile has not left it has heard the agent, or has its address: the request leaves at once, and the
/// reply is there after 20 ms to the home agent, and 20 ms more by a foreign agent.
#[test]
fn a_soft_return_begins_with_its_request() {
    for (link, care_of, after) in [
        (FOREIGN_LINKS[0], CareOf::ForeignAgent, 40),
        (DHCP_LINK, CareOf::Acquired, 20),
    ] {
        let mut network = Network::new();
        network.attach(link, care_of);
        network.run_until(at(4000));
        network.attach(MODEM_LINK, CareOf::Known(MODEM));
        network.run_until(at(8000));
        network.return_to(link, care_of);
        network.run_until(at(9000));
        let mut registered = network.events.iter().filter_map(|(at, event)| match event {
            MobileNodeEvent::Registered { point, .. } => Some((*at, point.interface)),
            _ => None,
        });
        assert_eq!(registered.next_back(), Some((at(8000 + after), link)));
        let from_mobile = |sent: &&Sent| sent.at == at(8000) && sent.from == Node::Mobile;
        assert_eq!(network.signalling.iter().filter(from_mobile).count(), 1);
    }
}

/// After the jump at 1500 ms: solicitation and advertisement until 1520, the request at the new agent at 1530, and at
/// 1540 at the home agent; the update reaches the old agent at the same time. Packets that reach the old agent from
/// then on are forwarded; without the notification they are lost.
#[test]
fn the_previous_foreign_agent_sends_on_what_still_comes() {
    let lost = |foreign| {
        let config = MobileNodeConfig {
            foreign,
            ..mobile_config()
        };
        let mut network = Network::with(config, home_agent_config(), false);
        network.jump_to(FOREIGN_LINKS[0]);
        stream(&mut network, |network| network.jump_to(FOREIGN_LINKS[1]))
    };
    let [with, without] = [lost(Some(association(300))), lost(None)];
    // The mobile is gone from 1500 ms on; a datagram takes 10 ms to the home agent, 10 to the foreign agent and 10 to
    // the mobile. It is lost if it was sent after 1470 ms and reached the home agent, or the old agent, before 1540.
    assert_eq!(without, (95..=105).collect::<Vec<_>>());
    assert_eq!(with, (95..=103).collect::<Vec<_>>());
}

/// RFC 4857: a move below the gateway is registered with the gateway.
#[test]
fn a_regional_registration_does_not_reach_the_home_agent() {
    let mut network = Network::with(mobile_config(), home_agent_config(), true);
    network.jump_to(FOREIGN_LINKS[0]);
    network.run_until(at(2000));
    assert_eq!(network.bindings(), [GATEWAY]);
    let replies = |network: &Network| {
        let all = network.registrations().into_iter();
        all.filter(|(_, from, _)| *from == Node::Home).count()
    };
    assert_eq!(replies(&network), 1);
    network.jump_to(FOREIGN_LINKS[1]);
    network.run_for(Duration::from_secs(2));
    assert_eq!(replies(&network), 1);
    let last = network.registered().expect("registered");
    assert_eq!(
        (last.agent, last.gateway),
        (Some(FOREIGN_AGENTS[1]), Some(GATEWAY))
    );
    network.send_data(1);
    network.run_for(Duration::from_secs(1));
    assert_eq!(network.received(1), 1);
    // The registration with the home agent is renewed on schedule: 45 s after the first request.
    network.run_until(at(48_000));
    assert_eq!(replies(&network), 2);
    assert_eq!(network.bindings(), [GATEWAY]);
}

/// RFC 5944 section 3.8.2.2: with the S bit every care-of address gets a copy; without it only the last one.
#[test]
fn simultaneous_bindings_get_a_copy_each() {
    for (simultaneous_bindings, copies) in [(true, 2), (false, 1)] {
        let config = MobileNodeConfig {
            simultaneous_bindings,
            ..mobile_config()
        };
        let mut network = Network::with(config, home_agent_config(), false);
        network.attach(MODEM_LINK, CareOf::Known(MODEM));
        network.run_until(at(1000));
        network.attach(FOREIGN_LINKS[1], CareOf::ForeignAgent);
        // Both are renewed on their own schedules.
        network.run_until(at(100_000));
        assert_eq!(network.bindings().len(), copies);
        // At 0, 45 and 90 s, and at 1, 46 and 91 s; otherwise only the second one.
        let requests = network.registrations().into_iter();
        let requests = requests.filter(|(_, from, _)| *from == Node::Mobile);
        assert_eq!(requests.count(), if simultaneous_bindings { 6 } else { 4 });
        network.send_data(1);
        network.run_for(Duration::from_secs(1));
        assert_eq!(network.received(1), copies);
        let last = network.registered().expect("registered");
        assert_eq!(last.interface, FOREIGN_LINKS[1]);
        let links: BTreeSet<_> = network.delivered.iter().map(|(_, link, _)| *link).collect();
        assert_eq!(links.len(), copies);
    }
}

/// Study T, section 5.2.
#[test]
fn packets_travel_as_the_policy_says() {
    let rule = |port, delivery| PolicyRule {
        destination: CORRESPONDENT,
        prefix_length: 24,
        port: Some(port),
        delivery,
    };
    let rules = vec![
        rule(80, Delivery::CareOfAddress),
        rule(5001, Delivery::ReverseTunnel),
    ];
    let config = MobileNodeConfig {
        policy: PolicyTable::new(rules, Delivery::Triangle),
        ..mobile_config()
    };
    for link in [MODEM_LINK, FOREIGN_LINKS[0]] {
        let mut network = Network::with(config.clone(), home_agent_config(), false);
        network.jump_to(link);
        network.run_until(at(2000));
        let now = network.now();
        let is_colocated = link == MODEM_LINK;
        let own = if is_colocated { MODEM } else { HOME_ADDRESS };
        let source = |port| network.mobile.source_address(CORRESPONDENT, Some(port));
        assert_eq!([80, 5001, 9].map(source), [own, HOME_ADDRESS, HOME_ADDRESS]);
        // Port 5001 goes through the home agent, another destination directly.
        for (number, destination) in [(1, CORRESPONDENT), (2, Ipv4Addr::new(100, 65, 0, 1))] {
            let packet = datagram(HOME_ADDRESS, destination, number);
            assert_eq!(network.mobile.send(now, packet), None);
        }
        network.settle();
        let is_first = |(_, _, packet): &&mut Arriving| packet.flow == Some(FlowId(1));
        let first = network.wires.iter_mut().find(is_first);
        let (_, _, first) = first.expect("a packet");
        assert_eq!(matches!(first.body, Body::Tunnel(_)), is_colocated);
        network.run_for(Duration::from_secs(1));
        let arrived = |number| {
            let all = network.at_correspondent.iter();
            let mut all = all.filter(move |packet| packet.flow == Some(FlowId(number)));
            all.next().expect("arrived").ip
        };
        assert_eq!(arrived(1).source, IpAddr::V4(HOME_ADDRESS));
        // Home agent: one hop. A foreign agent takes one more for the tunnel; in triangle routing this network's
        // routers take none.
        assert_eq!(arrived(1).hop_limit, if is_colocated { 63 } else { 62 });
        // A foreign agent takes every packet of a visitor with a reverse tunnel (RFC 3024, direct delivery).
        assert_eq!(arrived(2).hop_limit, if is_colocated { 64 } else { 62 });
    }
}

/// RFC 5944 sections 4.2.2 and 4.2.3, RFC 2003 section 4.
#[test]
fn nothing_goes_round_in_a_tunnel() {
    let mut network = Network::new();
    network.attach(MODEM_LINK, CareOf::Known(MODEM));
    network.run_until(at(1000));
    let now = network.now();
    let tunnelled = |source: Ipv4Addr, destination: Ipv4Addr, inner: Packet| Packet {
        body: Body::Tunnel(Box::new(inner)),
        ..datagram(source, destination, 1)
    };
    let inner = datagram(CORRESPONDENT, HOME_ADDRESS, 1);
    for (what, packet) in [
        ("from the care-of address", datagram(MODEM, HOME_ADDRESS, 1)),
        (
            "from the agent itself",
            datagram(HOME_AGENT, HOME_ADDRESS, 1),
        ),
        (
            "our own tunnel",
            tunnelled(MODEM, HOME_ADDRESS, inner.clone()),
        ),
    ] {
        let before = network.home.dropped().looping;
        assert_eq!(network.home.tunnel(now, packet), None, "{what}");
        assert_eq!(network.home.dropped().looping, before + 1, "{what}");
        assert_eq!(network.home.poll_transmit(), None, "{what}");
    }
    // Another node's tunnel to the mobile is redirected, not put into a further one.
    let other = tunnelled(SERVER, HOME_ADDRESS, inner.clone());
    assert_eq!(network.home.tunnel(now, other), None);
    let sent = network.home.poll_transmit().expect("sent on").packet;
    assert_eq!(sent.ip.destination, IpAddr::V4(MODEM));
    assert!(matches!(sent.body, Body::Tunnel(inner) if matches!(inner.body, Body::Udp(..))));
    // One hop is not enough for a tunnel.
    let mut tired = inner.clone();
    tired.ip.hop_limit = 1;
    assert_eq!(network.home.tunnel(now, tired), None);
    assert_eq!(
        (
            network.home.dropped().hop_limit,
            network.home.poll_transmit()
        ),
        (1, None)
    );
    // No node here has that address.
    let stray = tunnelled(HOME_AGENT, FOREIGN_AGENTS[0], inner);
    network.foreign[0].handle_packet(now, FOREIGN_LINKS[0], stray);
    assert_eq!(network.foreign[0].dropped().unexpected_tunnel, 1);
    // A reverse tunnel is accepted only from the registered care-of address, and only with the T bit.
    let outwards = datagram(HOME_ADDRESS, CORRESPONDENT, 1);
    for source in [SERVER, MODEM] {
        let packet = tunnelled(source, HOME_AGENT, outwards.clone());
        network.home.handle_packet(now, HOME_LINK, packet);
    }
    assert_eq!(network.home.dropped().unexpected_tunnel, 2);
}

/// RFC 5944 section 3.6.1.2: at home all bindings end, and the mobile is an ordinary host.
#[test]
fn at_home_nothing_is_tunnelled() {
    let mut network = Network::new();
    network.jump_to(FOREIGN_LINKS[0]);
    network.run_until(at(2000));
    network.jump_to(HOME_LINK);
    network.run_for(Duration::from_secs(1));
    assert_eq!(network.bindings(), [] as [Ipv4Addr; 0]);
    assert_eq!(network.mobile.home_link(), Some(HOME_LINK));
    let requests = network.registrations().into_iter();
    let last = requests.rev().find_map(|(_, from, content)| match content {
        Content::Request(request) if from == Node::Mobile => Some(request),
        _ => None,
    });
    let last = last.map(|request| (request.lifetime, request.care_of_address));
    assert_eq!(last, Some((0, HOME_ADDRESS)));
    network.send_data(1);
    network.run_for(Duration::from_secs(1));
    let (_, link, packet) = network.delivered.last().expect("delivered");
    assert_eq!((*link, packet.ip.hop_limit), (HOME_LINK, 64));
}

/// Study T, section 4.2: with the check in the background, the address is ready after two exchanges of 20 ms. The check
/// itself takes four to seven seconds (RFC 5227 section 2.1.1).
#[test]
fn the_conflict_check_may_wait() {
    let ready = |conflict_check| {
        let config = MobileNodeConfig {
            conflict_check,
            ..mobile_config()
        };
        let mut network = Network::with(config, home_agent_config(), false);
        network.attach(DHCP_LINK, CareOf::Acquired);
        network.run_until(at(10_000));
        let (at, event) = network.events.remove(0);
        assert!(matches!(event, MobileNodeEvent::AddressReady { .. }));
        at
    };
    assert_eq!(ready(ConflictCheck::Background), at(40));
    let checked = ready(ConflictCheck::Before);
    assert!(at(4040) <= checked && checked < at(7040), "{checked}");
}

/// RFC 2131 section 3.1: a conflicting address is declined; after ten seconds the mobile requests another.
#[test]
fn a_conflict_costs_the_address() {
    let mut network = Network::new();
    network.attach(DHCP_LINK, CareOf::Acquired);
    network.run_until(at(1000));
    let first = network.bindings();
    network.conflict();
    assert_eq!(network.registered(), None);
    network.run_until(at(11_100));
    let second = network.registered().map(|point| point.care_of_address);
    assert!(second.is_some() && second != first.first().copied());
    assert_eq!(network.bindings(), Vec::from_iter(second));
}

/// Section 5.7.1: refused once, then corrected by the agent's clock.
#[test]
fn a_clock_that_is_wrong_costs_one_exchange() {
    for ahead_seconds in [-3600, 3600] {
        let config = MobileNodeConfig {
            clock: Clock { ahead_seconds },
            ..mobile_config()
        };
        let mut network = Network::with(config, home_agent_config(), false);
        network.attach(MODEM_LINK, CareOf::Known(MODEM));
        network.run_until(at(1000));
        let all = network.events.iter();
        let told: Vec<_> = all
            .map(|(at, event)| (*at, matches!(event, MobileNodeEvent::Refused { .. })))
            .collect();
        assert_eq!(told, [(at(20), true), (at(40), false)]);
    }
}

/// Returns a foreign agent's reply to a request from its link.
fn ask(agent: &mut ForeignAgent, now: Instant, hop_limit: u8, message: &Message) -> Option<Reply> {
    let mut packet = datagram(HOME_ADDRESS, FOREIGN_AGENTS[0], 1);
    packet.ip.hop_limit = hop_limit;
    let ports = UdpHeader {
        source_port: 434,
        destination_port: 434,
    };
    packet.body = Body::Udp(ports, Payload::Bytes(message.encode().into()));
    agent.handle_packet(now, FOREIGN_LINKS[0], packet);
    reply_of(agent)
}

fn reply_of(agent: &mut ForeignAgent) -> Option<Reply> {
    let mut replies = core::iter::from_fn(|| agent.poll_transmit());
    replies.find_map(
        |sent| match Received::from_packet(&sent.packet)?.ok()?.message.content {
            Content::Reply(reply) => Some(reply),
            Content::Request(_) => None,
        },
    )
}

/// RFC 5944 section 3.7.2.1; RFC 3024 for 74 and 76.
#[test]
fn a_foreign_agent_refuses_with_the_standard_s_codes() {
    let config = ForeignAgentConfig {
        most_visitors: 1,
        ..foreign_agent_config(0)
    };
    let request = Request {
        purpose: Purpose::Home,
        flags: RequestFlags(0),
        lifetime: 600,
        home_address: HOME_ADDRESS,
        agent: HOME_AGENT,
        care_of_address: FOREIGN_AGENTS[0],
        identification: 1,
    };
    let mut agent = ForeignAgent::new(at(0), config.clone());
    let mut forged = Message::from(request);
    forged.sign(AuthenticationKind::MobileForeign, &association(301));
    let with = |change: fn(&mut Request)| {
        let mut changed = request;
        change(&mut changed);
        Message::from(changed)
    };
    for (what, hop_limit, message, code) in [
        ("signed by another", 1, forged, 67),
        ("too long", 1, with(|request| request.lifetime = 601), 69),
        ("a reserved bit", 1, with(|request| request.flags.0 = 1), 70),
        (
            "minimal encapsulation",
            1,
            with(|request| request.flags.0 = 0x10),
            72,
        ),
        (
            "header compression",
            1,
            with(|request| request.flags.0 = 4),
            73,
        ),
        (
            "a tunnel from afar",
            64,
            with(|request| request.flags.0 = 2),
            76,
        ),
        (
            "another's address",
            1,
            with(|request| request.care_of_address = MODEM),
            77,
        ),
        (
            "no home agent",
            1,
            with(|request| request.agent = Ipv4Addr::UNSPECIFIED),
            194,
        ),
    ] {
        let reply = ask(&mut agent, at(0), hop_limit, &message).expect(what);
        assert_eq!(reply.code, Code(code), "{what}");
        let longest = if code == 69 { 600 } else { 0 };
        assert_eq!(reply.lifetime, longest, "{what}");
    }
    // A valid request is relayed; a second mobile finds no room; after seven seconds the first is refused for lack of a
    // reply.
    assert_eq!(ask(&mut agent, at(0), 1, &Message::from(request)), None);
    let another = with(|request| request.home_address = SERVER);
    let reply = ask(&mut agent, at(1), 1, &another);
    assert_eq!(reply.map(|reply| reply.code), Some(Code(66)));
    agent.handle_timeout(at(7000));
    assert_eq!(reply_of(&mut agent).map(|reply| reply.code), Some(Code(78)));
    // An ICMP error about the request.
    assert_eq!(ask(&mut agent, at(8000), 1, &Message::from(request)), None);
    let mut error = datagram(SERVER, FOREIGN_AGENTS[0], 1);
    error.body = Body::Icmp(IcmpMessage::Error {
        kind: crate::wire::icmp::IcmpError::Unreachable,
        quoted: crate::wire::icmp::QuotedPacket {
            source: FOREIGN_AGENTS[0].into(),
            destination: HOME_AGENT.into(),
            protocol: 17,
            source_port: 434,
            destination_port: 434,
            sequence: 0,
            within: None,
        },
    });
    agent.handle_packet(at(8001), FOREIGN_LINKS[0], error);
    assert_eq!(reply_of(&mut agent).map(|reply| reply.code), Some(Code(81)));
    let mut without = ForeignAgent::new(
        at(0),
        ForeignAgentConfig {
            reverse_tunnel: false,
            ..config
        },
    );
    let reply = ask(
        &mut without,
        at(0),
        255,
        &with(|request| request.flags.0 = 2),
    );
    assert_eq!(reply.map(|reply| reply.code), Some(Code(74)));
}

/// 100,000 mobiles at one agent: at most 4 kB each, of which the agents keep this much.
#[test]
fn a_mobile_takes_little_room() {
    let home = super::super::home_agent::bytes_of_mobile();
    assert!(home <= 300, "{home} bytes at the home agent");
    let own = size_of::<MobileNode>();
    assert!(own <= 700, "{own} bytes in the mobile");
}

/// RFC 5944 sections 3.5.4 and 3.7.3: agents with a shared key sign for each other, and detect another signer.
#[test]
fn agents_that_share_a_key_use_it() {
    for (index_at_foreign, registered) in [(512, true), (513, false)] {
        let home_config = HomeAgentConfig {
            foreign_agents: [(FOREIGN_AGENTS[0], association(512))].into(),
            ..home_agent_config()
        };
        let mut network = Network::with(mobile_config(), home_config, false);
        let shared = [(HOME_AGENT, association(index_at_foreign))];
        network.foreign_configs[0].home_agents = shared.into();
        network.restart_foreign(0);
        network.jump_to(FOREIGN_LINKS[0]);
        network.run_until(at(500));
        assert_eq!(network.bindings().len(), usize::from(registered));
        let refused = network.events.iter().find_map(|(_, event)| match event {
            MobileNodeEvent::Refused { code, .. } => Some(*code),
            _ => None,
        });
        // The home agent refuses with 132, which the foreign agent does not accept.
        let expected = (!registered).then_some(Code::FOREIGN_HOME_AUTHENTICATION);
        assert_eq!(refused, expected);
    }
}

/// RFC 5944 section 3.1: an agent with the R bit also registers mobiles with a co-located address.
#[test]
fn an_agent_may_insist_on_registration() {
    let own = Ipv4Addr::new(203, 0, 113, 50);
    for registration_required in [false, true] {
        let mut network = Network::new();
        network.foreign_configs[0].registration_required = registration_required;
        network.restart_foreign(0);
        network.jump(FOREIGN_LINKS[0], CareOf::Known(own));
        network.run_until(at(3000));
        assert_eq!(network.bindings(), [own]);
        let point = network.registered().expect("registered");
        let agent = registration_required.then_some(FOREIGN_AGENTS[0]);
        assert_eq!(point.agent, agent);
        let visitors = network.foreign[0].visitors(network.now()).count();
        assert_eq!(visitors, usize::from(registration_required));
    }
}

/// With the T bit refused (137), the mobile registers without it; packets then go directly.
#[test]
fn a_mobile_does_without_a_refused_reverse_tunnel() {
    let config = MobileNodeConfig {
        policy: PolicyTable::new(Vec::new(), Delivery::ReverseTunnel),
        ..mobile_config()
    };
    let home_config = HomeAgentConfig {
        reverse_tunnel: false,
        ..home_agent_config()
    };
    let mut network = Network::with(config, home_config, false);
    network.attach(MODEM_LINK, CareOf::Known(MODEM));
    network.run_until(at(100));
    let told = network.registrations().into_iter();
    let told = told.filter_map(|(_, _, content)| match content {
        Content::Request(request) => Some(request.flags.contains(RequestFlags::REVERSE_TUNNEL)),
        Content::Reply(_) => None,
    });
    assert_eq!(told.collect::<Vec<_>>(), [true, false]);
    assert_eq!(network.bindings(), [MODEM]);
}
