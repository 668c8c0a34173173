//! Multicast with intelligent buffering: routers hold copies, and deliver those that the mobile lacks.

use super::*;
use crate::mobility::buffering::Overflow;

const POLICY: BufferPolicy = BufferPolicy {
    bytes: 100_000,
    age: Duration::from_secs(30),
    overflow: Overflow::DropOldest,
    pace: None,
    drop_duplicates: false,
};

fn group_world(policy: BufferPolicy) -> World {
    let mobile = mobile_with(|fleet| fleet.has_group = true);
    World::new(mobile, agent_settings(), subscriber()).with_group(policy)
}

/// A datagram every 5 ms from 1 s on, so that eight are between the home agent and the mobile; the mobile leaves link 1
/// after the hundredth and comes to link 2 after the hundred and fiftieth.
fn hard_handover(world: &mut World) {
    world.attach(0, 1);
    for number in 0..300 {
        world.run_until(at(1000 + number * 5));
        match number {
            100 => world.detach(0),
            150 => world.attach(0, 2),
            _ => {}
        }
        world.send_down(ip(HOME), number);
    }
    world.run_until(at(5000));
}

/// Packets in the air when the link broke are in the other router's buffer; those received do not come twice.
#[test]
fn a_hard_handover_loses_nothing_and_gives_nothing_twice() {
    let mut plain = World::plain();
    hard_handover(&mut plain);
    assert!(plain.got.len() < 240, "{}", plain.got.len());
    let mut world = group_world(POLICY);
    hard_handover(&mut world);
    assert_eq!(world.got, (0..300).collect::<Vec<_>>());
    let counts = world.home_agent.counts();
    assert_eq!(counts.copies, 300);
    // Each member has handled every packet. The second delivered its buffer, or dropped what the mobile had received.
    let [first, second] = [1, 2].map(|link| world.routers[link].counts());
    assert_eq!(second.held, second.released + second.duplicates);
    assert!(second.released > 50 && second.duplicates > 60, "{second:?}");
    assert!(world.stale.len() < 10, "{:?}", world.stale);
    // The first router keeps packets from Link_Down on until they are too old.
    assert_eq!((first.released, first.overflowed), (0, 0));
    world.run_until(at(40_000));
    let first = world.routers[1].counts();
    assert_eq!(first.held, first.expired);
}

/// Link_Up at 1750 ms and 20 ms each way: the advertisement, the two updates, their answers. The first packet comes
/// with the router's answer, before the home agent knows the new place.
#[test]
fn the_mobile_asks_as_soon_as_it_has_an_address() {
    let mut world = group_world(POLICY);
    hard_handover(&mut world);
    let said = world.ladder.iter().filter(|(when, _)| *when > at(1700));
    let said: Vec<_> = said.filter(|(_, name)| *name != "MLD").copied().collect();
    let expected = [
        (at(1750), "RA"),
        (at(1770), "BU"),
        (at(1770), "LBU"),
        (at(1790), "BA"),
        (at(1790), "BA"),
    ];
    assert_eq!(said, expected);
}

/// A lost request or answer is retransmitted after 1 s, then 2 s; packets held meanwhile are not lost.
#[test]
fn a_lost_request_is_sent_again_and_loses_nothing() {
    let mut world = group_world(POLICY);
    world.attach(0, 1);
    world.run_until(at(1000));
    world.send_down(ip(HOME), 0);
    world.run_until(at(1100));
    world.detach(0);
    world.lost_names = vec!["LBU"];
    world.run_until(at(2000));
    world.attach(0, 2);
    for number in 1..10 {
        world.send_down(ip(HOME), number);
        world.run_until(at(2000 + number * 100));
    }
    assert_eq!(world.got, [0]);
    world.run_until(at(4000));
    world.lost_names.clear();
    world.run_until(at(10_000));
    assert_eq!(world.times_of("LBU"), [20, 2020, 3020, 5020]);
    assert_eq!(world.got, (0..10).collect::<Vec<_>>());
}

/// A mobile goes there and back before the home agent receives any update.
#[test]
fn a_mobile_that_turns_back_loses_nothing() {
    let mut world = group_world(POLICY);
    world.attach(0, 1);
    world.run_until(at(1000));
    world.lost_names = vec!["BU"];
    for number in 0..200 {
        world.run_until(at(1000 + number * 5));
        match number {
            50 | 100 => world.detach(0),
            60 => world.attach(0, 2),
            110 => world.attach(0, 1),
            _ => {}
        }
        world.send_down(ip(HOME), number);
    }
    world.run_until(at(3000));
    assert_eq!(world.got, (0..200).collect::<Vec<_>>());
    assert_eq!(world.home_agent.care_of(ip(HOME)), Some(care_of(1)));
}

/// With both links up, the previous router is informed after the new one's answer; until then both send.
#[test]
fn a_soft_handover_ends_with_one_router_that_sends() {
    let mut world = group_world(POLICY);
    world.attach(0, 1);
    world.run_until(at(1000));
    for number in 0..100 {
        world.run_until(at(1000 + number * 5));
        if number == 50 {
            world.attach(1, 2);
            let now = world.now();
            world.mobile.prefer(now, InterfaceId(1));
            let now = world.now();
            world.mobile.handle_timeout(now);
        }
        world.send_down(ip(HOME), number);
    }
    world.run_until(at(3000));
    let all = world.got.clone();
    let mut once = all.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once, (0..100).collect::<Vec<_>>());
    // From the request until the last packet of the old router: three times 20 ms, and the packets then under way.
    assert!(all.len() - once.len() <= 20, "{all:?}");
    assert_eq!(world.times_of("LBU").len(), 3);
    world.got.clear();
    world.send_down(ip(HOME), 1000);
    world.run_until(at(4000));
    assert_eq!(world.got, [1000]);
}

#[test]
fn what_does_not_fit_is_lost_from_its_oldest() {
    let mut world = group_world(BufferPolicy {
        bytes: 148 * 20,
        ..POLICY
    });
    hard_handover(&mut world);
    let lost: Vec<u64> = (0..300).filter(|one| !world.got.contains(one)).collect();
    let first = lost[0];
    assert_eq!(lost, (first..first + lost.len() as u64).collect::<Vec<_>>());
    // The last packet to arrive was sent three times 20 ms before 1500 ms.
    assert_eq!(first, 89);
    assert_eq!(world.got.len() + lost.len(), 300);
    // Twenty packets were held at the request, and arrived.
    assert_eq!(world.routers[2].counts().released, 20);
}

#[test]
fn the_network_behind_loses_nothing() {
    let behind = prefix("2001:db8:aaaa::", 48);
    let mobile = MobileSettings {
        router: Some(RouterRegistration {
            prefixes: Box::from([behind.into()]),
            explicit: true,
        }),
        ..mobile_with(|fleet| fleet.has_group = true)
    };
    let subscriber = Subscriber {
        prefixes: Some(Box::new([behind.into()])),
        ..subscriber()
    };
    let mut world = World::new(mobile, agent_settings(), subscriber).with_group(POLICY);
    world.attach(0, 1);
    for number in 0..100 {
        world.run_until(at(1000 + number * 5));
        match number {
            30 => world.detach(0),
            60 => world.attach(0, 2),
            _ => {}
        }
        world.send_down(ip(BEHIND), number);
    }
    world.run_until(at(3000));
    assert_eq!(world.got, (0..100).collect::<Vec<_>>());
}

/// A router accepts requests only from an address of the link, and copies only from the home agent.
#[test]
fn a_router_serves_nobody_from_elsewhere() {
    use crate::wire::mobility_header::BindingUpdate;
    let mut member = router(1);
    let address = join(&mut member, POLICY);
    let copy = |from: Ipv6Addr, number| {
        let inner = datagram(ip(CORRESPONDENT), ip(HOME), number);
        crate::mobility::packet(from.into(), address.into(), Body::Tunnel(Box::new(inner)))
    };
    assert!(member.take(at(0), copy(ip(CORRESPONDENT), 0)).is_some());
    assert!(member.take(at(0), copy(ip(HOME_AGENT), 1)).is_none());
    let ask = |member: &mut AccessRouter, from| {
        let update = BindingUpdate {
            acknowledge: true,
            lifetime: BindingLifetime::at_most(60),
            ..BindingUpdate::default()
        };
        let message = MobilityMessage::BindingUpdate(update);
        let packet = mobility_packet((from, address), (Some(ip(HOME)), None), message);
        assert!(member.take_message(at(10), packet).is_none());
        let sent = core::iter::from_fn(|| member.poll_transmit());
        sent.map(|(_, packet)| name_of(&packet)).collect::<Vec<_>>()
    };
    assert_eq!(ask(&mut member, care_of(2)), ["BA"]);
    assert_eq!(member.counts().released, 0);
    assert_eq!(ask(&mut member, care_of(1)), ["BA", "data"]);
    assert_eq!(member.counts().released, 1);
}

/// A router serves for the requested lifetime; the mobile renews it after three quarters. A restarted router, which
/// only holds packets, thus serves again from the mobile's latest packet.
#[test]
fn a_restarted_router_is_asked_again() {
    let mut world = group_world(POLICY);
    world.attach(0, 1);
    world.run_until(at(1000));
    world.send_down(ip(HOME), 0);
    world.run_until(at(2000));
    let mut restarted = router(1);
    join(
        &mut restarted,
        BufferPolicy {
            age: Duration::from_secs(1000),
            ..POLICY
        },
    );
    world.routers[1] = restarted;
    world.send_down(ip(HOME), 1);
    world.run_until(at(3000));
    assert_eq!(world.got, [0]);
    let lifetime = u64::from(mobile_settings().fleet.lifetime.seconds());
    world.run_until(at(lifetime * 1000));
    assert_eq!(world.times_of("LBU"), [20, 60 + lifetime * 750]);
    assert_eq!(world.got, [0, 1]);
}

/// A mobile silent for the lifetime counts as gone: copies are held.
#[test]
fn a_router_serves_for_a_lifetime() {
    use crate::wire::mobility_header::BindingUpdate;
    let mut member = router(1);
    let address = join(&mut member, POLICY);
    let update = BindingUpdate {
        lifetime: BindingLifetime::at_most(60),
        ..BindingUpdate::default()
    };
    let message = MobilityMessage::BindingUpdate(update);
    let packet = mobility_packet((care_of(1), address), (Some(ip(HOME)), None), message);
    assert!(member.take_message(at(10), packet).is_none());
    let mut handed_out = |now, number| {
        member.handle_timeout(now);
        let inner = datagram(ip(CORRESPONDENT), ip(HOME), number);
        let addresses = (ip(HOME_AGENT).into(), address.into());
        let copy = crate::mobility::packet(addresses.0, addresses.1, Body::Tunnel(Box::new(inner)));
        assert!(member.take(now, copy).is_none());
        let sent = core::iter::from_fn(|| member.poll_transmit());
        sent.filter(|(_, packet)| name_of(packet) == "data").count()
    };
    assert_eq!(handed_out(at(60_009), 0), 1);
    assert_eq!(handed_out(at(60_010), 1), 0);
}

/// Two moves with any two messages lost: in the end packets arrive, each once.
#[test]
fn any_two_lost_of_a_group() {
    let journey = |lost: Vec<usize>| {
        let mut world = group_world(POLICY);
        world.lost = lost;
        for (link, comes) in [(1, 0), (2, 20_000), (1, 40_000)] {
            world.run_until(at(comes));
            world.detach(0);
            world.attach(0, link);
            for second in 1..20 {
                world.run_until(at(comes + second * 1000));
                world.send_down(ip(HOME), comes + second);
            }
        }
        world.run_until(at(100_000));
        world
    };
    let messages = journey(Vec::new()).ladder.len();
    for first in 0..messages {
        let after = journey(vec![first]).ladder.len();
        for second in first + 1..after {
            let mut world = journey(vec![first, second]);
            let mut once = world.got.clone();
            once.sort_unstable();
            once.dedup();
            assert_eq!(once.len(), world.got.len(), "{first} {second}");
            world.got.clear();
            world.send_down(ip(HOME), 1);
            world.run_until(at(101_000));
            assert_eq!(world.got, [1], "{first} {second}");
        }
    }
}
