//! Registration ahead of a handover (RFC 4881 section 3). Each message takes 10 ms a link, so a preparation at 1200 ms
//! asks the present agent at 1210, has the next one's advertisement there at 1230 and at the mobile at 1240; the request
//! is at the next agent at 1260, at the home agent at 1270, and the reply, by the same way, at the mobile at 1300.

use super::*;
use crate::testing::at;
use crate::wire::agent_discovery::AgentDiscovery;
use crate::wire::mobile_ipv4::RequestFlags;

/// Returns a network whose mobile and agents know the access points, with the mobile at the first agent from 0 ms on.
fn prepared(config: MobileNodeConfig) -> Network {
    let mut network = Network::with(config, home_agent_config(), false);
    network.introduce();
    network.jump_to(FOREIGN_LINKS[0]);
    network
}

fn prepare(network: &mut Network) {
    let now = network.now();
    network.mobile.prepare_handover(now, FOREIGN_LINKS[1]);
    network.settle();
}

/// A step of a test, with its time in milliseconds.
type Step<'a> = (u64, &'a mut dyn FnMut(&mut Network));

/// Sends a numbered datagram every 5 ms from 1000 ms on for a second, and takes each step at its time. Returns the numbers
/// of those that did not arrive once.
fn stream(network: &mut Network, steps: &mut [Step<'_>]) -> Vec<u32> {
    for number in 0..200 {
        let now = 1000 + 5 * u64::from(number);
        network.run_until(at(now));
        for (time, step) in &mut *steps {
            if *time == now {
                step(network);
            }
        }
        network.send_data(number);
    }
    network.run_until(at(4000));
    let all = 0..200;
    all.filter(|&number| network.received(number) != 1)
        .collect()
}

fn break_off(network: &mut Network) {
    network.detach_all();
}

fn arrive(network: &mut Network) {
    network.attach(FOREIGN_LINKS[1], CareOf::ForeignAgent);
}

/// Lists the events from 1200 ms on.
fn events(network: &Network) -> Vec<(Instant, MobileNodeEvent)> {
    let all = network.events.iter().copied();
    all.filter(|(time, _)| *time >= at(1200)).collect()
}

fn there(lifetime: u16) -> MobileNodeEvent {
    let point = Point {
        interface: FOREIGN_LINKS[1],
        care_of_address: FOREIGN_AGENTS[1],
        agent: Some(FOREIGN_AGENTS[1]),
        gateway: None,
    };
    MobileNodeEvent::Registered { point, lifetime }
}

/// Closed form: with the reply in time, only what meets the break is lost. A datagram with number n is at either agent
/// at 1020 + 5n ms; it is lost if it leaves there after 1490, to arrive after 1500, and not after 1600.
#[test]
fn the_silence_is_the_break_alone() {
    let mut network = prepared(mobile_config());
    let lost = stream(
        &mut network,
        &mut [
            (1200, &mut prepare),
            (1500, &mut break_off),
            (1600, &mut arrive),
        ],
    );
    assert_eq!(lost, (95..=116).collect::<Vec<_>>());
    // The mobile uses the new link at once, and the answer to its registration there, 40 ms later, ends the former one.
    let done = MobileNodeEvent::Preregistered { accepted: true };
    let expected = [
        (at(1300), done),
        (at(1600), there(60)),
        (at(1640), there(60)),
    ];
    assert_eq!(events(&network), expected);
    assert_eq!(network.bindings(), [FOREIGN_AGENTS[1]]);
    // Without a warning the mobile is deaf for 60 ms more: solicitation, advertisement, request, and the way from the home
    // agent. The previous agent forwards what comes from 1640 on.
    let mut network = prepared(mobile_config());
    let lost = stream(
        &mut network,
        &mut [(1500, &mut break_off), (1600, &mut arrive)],
    );
    assert_eq!(lost, (95..=123).collect::<Vec<_>>());
}

/// The requests carry the S bit ahead of the handover, and not after it (sections 3.3 and 3.7).
#[test]
fn the_former_address_is_kept_until_the_arrival() {
    let mut network = prepared(mobile_config());
    network.run_until(at(1200));
    prepare(&mut network);
    network.run_until(at(1400));
    assert_eq!(network.bindings(), FOREIGN_AGENTS);
    network.detach_all();
    arrive(&mut network);
    network.run_until(at(1600));
    assert_eq!(network.bindings(), [FOREIGN_AGENTS[1]]);
    let sent = network.registrations();
    let requests = sent.iter().filter_map(|(_, from, content)| match content {
        Content::Request(request) if *from == Node::Mobile => Some(request),
        _ => None,
    });
    let bits = requests.map(|request| request.flags.contains(RequestFlags::SIMULTANEOUS));
    assert_eq!(bits.collect::<Vec<_>>(), [false, true, false]);
}

/// The home agent binds the next agent at 1270 ms, whether the mobile hears of it or not: again only the break is lost.
#[test]
fn a_handover_may_come_before_the_reply() {
    for (leaves, first, last) in [(1265, 48, 69), (1280, 51, 72)] {
        let mut network = prepared(mobile_config());
        let lost = stream(
            &mut network,
            &mut [
                (1200, &mut prepare),
                (leaves, &mut break_off),
                (leaves + 100, &mut arrive),
            ],
        );
        assert_eq!(lost, (first..=last).collect::<Vec<_>>());
        // The mobile knows the agent, and registers without a solicitation.
        assert_eq!(events(&network), [(at(leaves + 140), there(60))]);
        assert_eq!(network.bindings(), [FOREIGN_AGENTS[1]]);
    }
}

/// Without an advertisement in time, the handover is one without preparation.
#[test]
fn a_handover_may_come_before_the_advertisement() {
    let mut network = prepared(mobile_config());
    stream(
        &mut network,
        &mut [
            (1200, &mut prepare),
            (1235, &mut break_off),
            (1300, &mut arrive),
        ],
    );
    assert_eq!(events(&network), [(at(1360), there(60))]);
    assert_eq!(network.bindings(), [FOREIGN_AGENTS[1]]);
}

#[test]
fn a_mobile_that_stays_ends_the_other_binding() {
    // While the present agent is asked, while the next one is, and after the reply.
    for stays in [1225, 1265, 1400] {
        let mut network = prepared(mobile_config());
        let mut stay = |network: &mut Network| {
            let now = network.now();
            network.mobile.stay(now);
            network.settle();
        };
        let lost = stream(
            &mut network,
            &mut [(1200, &mut prepare), (stays, &mut stay)],
        );
        assert_eq!(lost, [] as [u32; 0], "stays at {stays} ms");
        assert_eq!(
            network.bindings(),
            [FOREIGN_AGENTS[0]],
            "stays at {stays} ms"
        );
        let point = network.registered().expect("registered");
        assert_eq!(point.interface, FOREIGN_LINKS[0]);
    }
}

/// A mobile that goes elsewhere registers there, which ends both bindings.
#[test]
fn a_mobile_may_go_elsewhere() {
    let mut network = prepared(mobile_config());
    network.run_until(at(1200));
    prepare(&mut network);
    network.run_until(at(1400));
    network.jump_to(MODEM_LINK);
    network.run_until(at(1600));
    assert_eq!(network.bindings(), [MODEM]);
}

/// Section 3.2: a trigger at the present agent has it advertise the next one unasked.
#[test]
fn the_network_may_begin() {
    let mut network = prepared(mobile_config());
    let mut trigger = |network: &mut Network| {
        let now = network.now();
        network.foreign[0].advertise_next(now, HOME_ADDRESS, POINTS[1]);
        network.settle();
    };
    let lost = stream(
        &mut network,
        &mut [
            (1200, &mut trigger),
            (1500, &mut break_off),
            (1600, &mut arrive),
        ],
    );
    assert_eq!(lost, (95..=116).collect::<Vec<_>>());
    let done = MobileNodeEvent::Preregistered { accepted: true };
    assert_eq!(events(&network)[0], (at(1290), done));
}

/// The agent caches the other one's advertisement for its lifetime, 3 s.
#[test]
fn an_advertisement_is_asked_for_once_in_its_lifetime() {
    let mut network = prepared(mobile_config());
    let asked = |network: &Network| {
        let all = network.signalling.iter();
        let from_agent = all.filter(|sent| sent.from == Node::Foreign(0));
        let solicitation = Body::Icmp(IcmpMessage::AgentDiscovery(Box::new(
            AgentDiscovery::Solicitation,
        )));
        from_agent
            .filter(|sent| sent.packet.body == solicitation)
            .count()
    };
    for (time, count) in [(1200, 1), (4215, 1), (4225, 2)] {
        network.run_until(at(time));
        prepare(&mut network);
        network.run_until(at(time + 10));
        assert_eq!(asked(&network), count, "at {time} ms");
        let now = network.now();
        network.mobile.stay(now);
    }
}

/// With a reverse tunnel, the mobile's own packets leave by the present agent until the break, by the next one from the
/// arrival on, and its request does not take the tunnel.
#[test]
fn own_packets_leave_all_the_time() {
    let mut network = prepared(MobileNodeConfig {
        policy: PolicyTable::new(Vec::new(), Delivery::ReverseTunnel),
        ..mobile_config()
    });
    for (time, arrived) in [(1350, 1), (1605, 2), (1700, 3)] {
        network.run_until(at(1200));
        if time == 1350 {
            prepare(&mut network);
        }
        if time == 1605 {
            network.run_until(at(1500));
            network.detach_all();
            network.run_until(at(1600));
            arrive(&mut network);
        }
        network.run_until(at(time));
        let now = network.now();
        let packet = datagram(HOME_ADDRESS, CORRESPONDENT, 7);
        assert_eq!(network.mobile.send(now, packet), None);
        network.settle();
        network.run_until(at(time + 50));
        assert_eq!(network.at_correspondent.len(), arrived, "sent at {time} ms");
    }
    let request = network
        .registrations()
        .into_iter()
        .find(|(time, from, _)| *time == at(1260) && *from == Node::Foreign(1));
    assert!(request.is_some(), "the request is relayed at 1260 ms");
}

/// Follows a preparation and a handover, or none; messages of the first four seconds may be lost.
fn check_all_losses(leaves: u64, moves: bool) {
    let run = |lost: &[usize]| {
        let mut network = prepared(mobile_config());
        network.lost = lost.iter().copied().collect();
        network.run_until(at(1200));
        prepare(&mut network);
        network.run_until(at(leaves));
        if moves {
            network.detach_all();
            network.run_until(at(leaves + 100));
            arrive(&mut network);
        } else {
            let now = network.now();
            network.mobile.stay(now);
            network.settle();
        }
        network.run_until(at(4000));
        let counted = network.signalling.len();
        // Before the renewal, 45 s after the registration, so that only retransmission can help.
        network.run_for(Duration::from_secs(25));
        network.send_data(1);
        network.run_for(Duration::from_secs(1));
        let place = usize::from(moves);
        assert_eq!(
            network.bindings(),
            [FOREIGN_AGENTS[place]],
            "lost: {lost:?}"
        );
        assert_eq!(network.received(1), 1, "lost: {lost:?}");
        counted
    };
    lose_any_two(run);
}

#[test]
fn any_two_messages_may_be_lost_around_a_handover() {
    check_all_losses(2400, true);
}

#[test]
fn any_two_messages_may_be_lost_around_an_early_handover() {
    check_all_losses(1265, true);
}

#[test]
fn any_two_messages_may_be_lost_if_the_mobile_stays() {
    check_all_losses(2400, false);
}

/// A preparation that gets no answer is given up after three solicitations, and one whose request is lost after three
/// requests, which are undone.
#[test]
fn an_unanswered_preparation_ends() {
    for answered in [false, true] {
        let mut network = prepared(mobile_config());
        network.run_until(at(1200));
        prepare(&mut network);
        if answered {
            network.run_until(at(1240));
        }
        network.lost = (network.signalling.len()..10_000).collect();
        network.run_until(at(8000));
        network.lost.clear();
        network.run_until(at(8500));
        let failed = MobileNodeEvent::Preregistered { accepted: false };
        let end = network.events.iter().find(|(_, event)| *event == failed);
        // After 1 s each; or after 1, 2 and 4 s.
        let expected = if answered { at(8240) } else { at(4200) };
        assert_eq!(end.map(|(time, _)| *time), Some(expected));
        network.run_until(at(15_000));
        assert_eq!(network.bindings(), [FOREIGN_AGENTS[0]]);
    }
}

/// Only the mobile's present agent may advertise another one, only a visitor is answered, and only a known agent's reply
/// is handed to a visitor.
#[test]
fn strangers_change_nothing() {
    let stranger = Ipv4Addr::new(203, 0, 113, 77);
    let mut network = prepared(mobile_config());
    network.run_until(at(1200));
    prepare(&mut network);
    network.run_until(at(1245));
    let proxy = network
        .signalling
        .iter()
        .rev()
        .find_map(|sent| match &sent.packet.body {
            Body::Icmp(IcmpMessage::AgentDiscovery(message)) if sent.from == Node::Foreign(0) => {
                matches!(**message, AgentDiscovery::Advertisement(_)).then_some(&sent.packet)
            }
            _ => None,
        });
    let genuine = proxy.expect("an advertisement").clone();
    let mut other = prepared(mobile_config());
    other.run_until(at(1200));
    let mut forged = genuine.clone();
    forged.ip.source = stranger.into();
    let now = other.now();
    other.mobile.handle_packet(now, FOREIGN_LINKS[0], forged);
    assert_eq!(other.mobile.poll_transmit(), None);
    other.mobile.handle_packet(now, FOREIGN_LINKS[0], genuine);
    assert!(other.mobile.poll_transmit().is_some());
    // A stranger on the link, and one in the network.
    let before = network.signalling.len();
    for (interface, source) in [(FOREIGN_LINKS[0], stranger), (HOME_LINK, stranger)] {
        let mut outbox = Outbox::default();
        let asked = AgentDiscovery::ProxySolicitation(POINTS[1]);
        outbox.send_discovery(None, [source, FOREIGN_AGENTS[0]], asked);
        outbox.send_discovery(
            None,
            [source, FOREIGN_AGENTS[0]],
            AgentDiscovery::Solicitation,
        );
        let now = network.now();
        while let Some(sent) = outbox.pop() {
            if interface == FOREIGN_LINKS[0] && sent.packet.wire_length() == 28 {
                continue;
            }
            network.foreign[0].handle_packet(now, interface, sent.packet);
        }
    }
    network.settle();
    assert_eq!(network.signalling.len(), before);
}
