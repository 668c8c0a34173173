//! Predictive binding updates (study D, section 4, table 3).

use super::*;

/// Returns a mobile on a link that knows the router of link 2; its home agent bicasts for two seconds.
fn world(from: usize, lost: Vec<usize>) -> World {
    let agent = HomeAgentSettings {
        // Also from home, where the mobile has its home address itself.
        detection: DuplicateAddressDetection::STANDARD,
        strategy: Strategy::Bicast {
            overlap: Duration::from_secs(2),
        },
        ..agent_settings()
    };
    let mut world = World::new(mobile_settings(), agent, subscriber());
    world.lost = lost;
    world.mobile.know_router(InterfaceId(0), link_prefix(2));
    world.attach(0, from);
    world.run_until(at(10_000));
    world
}

/// Moves to link 2: left at 10.5 s, there at 11 s. A datagram leaves every 10 ms from 10 s to 14 s.
fn moved(mut world: World, announced: bool) -> World {
    for number in 0..400 {
        world.run_until(at(10_000 + number * 10));
        let now = world.now();
        match number {
            0 if announced => world.mobile.link_going_down(now, InterfaceId(0)),
            50 => world.detach(0),
            100 => world.attach(0, 2),
            _ => {}
        }
        world.send_down(ip(HOME), number);
    }
    world.run_until(at(60_000));
    world
}

fn missing(world: &World) -> Vec<u64> {
    let all = 0..400;
    all.filter(|number| !world.got.contains(number)).collect()
}

/// Returns the times in milliseconds and the names of the messages with the home agent from 10 s on.
fn said(world: &World) -> Vec<(u64, &'static str)> {
    let said = world.ladder.iter();
    said.map(|&(sent, name)| (sent.as_nanos() / 1_000_000, name))
        .filter(|&(sent, name)| sent >= 10_000 && ["BU", "BA"].contains(&name))
        .collect()
}

/// Each path takes 20 ms, so a datagram 40 ms. Announced, those that come after the link is up arrive. Unforeseen, the
/// mobile first waits for an advertisement, 20 ms, and the home agent for the update, 20 ms: those arrive that are at the
/// home agent later.
#[test]
fn an_announcement_spares_the_waits_for_router_and_home_agent() {
    for from in [0, 1] {
        let announced = moved(world(from, Vec::new()), true);
        assert_eq!(said(&announced), [(10_000, "BU"), (10_020, "BA")], "{from}");
        // Nobody holds the packets that reach either link while the mobile is on none.
        assert_eq!(missing(&announced), (47..97).collect::<Vec<_>>(), "{from}");
        let last = announced.events.last();
        let registered = MobileEvent::Registered(care_of(2));
        assert_eq!(last, Some(&(at(11_020), registered)));
        let unforeseen = moved(world(from, Vec::new()), false);
        let updates = said(&unforeseen);
        assert!(updates.contains(&(11_020, "BU")), "{updates:?}");
        // A mobile at home gets its packets straight, in 20 ms. The home agent detects duplicates until 12,040 ms, and
        // what has left before goes to the home link.
        let (left, first) = if from == 0 { (49, 204) } else { (47, 102_u64) };
        let missing = missing(&unforeseen);
        let last = missing.last().expect("losses");
        assert_eq!(missing[0], left, "{from}");
        assert!((last + 1).abs_diff(first) <= 1, "{from}: {last}");
    }
}

/// A mobile with two interfaces prepares a move to the other one, and is told when it can move.
#[test]
fn a_preparation_ends_with_the_answer_or_without() {
    let prepared = |lost, to| {
        let mut world = world(1, Vec::new());
        world.mobile.know_router(InterfaceId(1), link_prefix(to));
        world.lost_names = lost;
        let now = world.now();
        world.mobile.prepare_handover(now, InterfaceId(1));
        world.run_until(at(60_000));
        let mut events = world.events.iter();
        let found = events.find(|(_, event)| matches!(event, MobileEvent::Announced(_)));
        (found.copied(), world.home_agent.care_of(ip(HOME)))
    };
    let announced = |time, result| Some((at(time), MobileEvent::Announced(result)));
    let (next, present) = (Some(care_of(2)), Some(care_of(1)));
    assert_eq!(prepared(vec![], 2), (announced(10_040, true), next));
    // A move home is no business of the home agent's before the mobile is there.
    assert_eq!(prepared(vec![], 0), (announced(10_000, false), present));
    // Three updates, after 1 s and 2 s; 4 s later the mobile gives up.
    assert_eq!(prepared(vec!["BU"], 2), (announced(17_000, false), present));
}

#[test]
fn a_mobile_that_stays_is_bound_to_its_present_place() {
    for from in [0, 1] {
        // Before and after the answer, and with the answer lost.
        for (stays_at, lost) in [(10_010, vec![]), (10_100, vec![]), (10_100, vec!["BA"])] {
            let mut world = world(from, Vec::new());
            world.lost_names = lost;
            let now = world.now();
            world.mobile.link_going_down(now, InterfaceId(0));
            world.run_until(at(stays_at));
            world.lost_names.clear();
            let now = world.now();
            world.mobile.link_rollback(now, InterfaceId(0));
            world.run_until(at(20_000));
            let expected = (from == 1).then(|| care_of(1));
            assert_eq!(world.home_agent.care_of(ip(HOME)), expected);
            world.send_down(ip(HOME), 1);
            world.send_up(ip(HOME), 2);
            world.run_until(at(21_000));
            assert_eq!(world.got, [1]);
            assert_eq!(world.answered, [(2, ip(HOME).into())]);
        }
    }
}

/// Checks that the mobile is bound to link 2 and exchanges packets.
fn assert_works(mut world: World, lost: &[usize]) {
    let bound = world.home_agent.care_of(ip(HOME));
    assert_eq!(bound, Some(care_of(2)), "{lost:?}");
    world.got.clear();
    world.stale.clear();
    world.run_until(at(200_000));
    world.send_down(ip(HOME), 1_000);
    world.send_up(ip(HOME), 1_001);
    world.run_until(at(201_000));
    assert_eq!(world.got, [1_000], "{lost:?}");
    let answered = world.answered.last();
    assert_eq!(answered, Some(&(1_001, ip(HOME).into())), "{lost:?}");
    assert!(world.stale.is_empty(), "{lost:?}");
}

#[test]
fn any_one_or_two_lost_messages_end_in_a_working_binding() {
    for from in [0, 1] {
        let messages = moved(world(from, Vec::new()), true).ladder.len();
        assert!(messages > 5, "{messages}");
        for first in 0..messages {
            let one = moved(world(from, vec![first]), true);
            let after = one.ladder.len();
            assert_works(one, &[first]);
            for second in first + 1..after {
                let both = vec![first, second];
                assert_works(moved(world(from, both.clone()), true), &both);
            }
        }
    }
}
