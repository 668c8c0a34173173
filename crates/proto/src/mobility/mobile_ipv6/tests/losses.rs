//! Loss of any one or two signalling messages, also with a home agent that loses its bindings, ends in a working
//! binding.

use super::*;

/// Goes from home to a foreign link and on to another, with everything enabled: detection, buffering at the home agent and
/// at access routers, route optimisation.
fn journey(lost: Vec<usize>) -> World {
    journey_with(lost, false)
}

/// Takes the same journey, with a home agent that may restart.
fn journey_with(lost: Vec<usize>, restarts: bool) -> World {
    let agent = HomeAgentSettings {
        detection: DuplicateAddressDetection::STANDARD,
        strategy: Strategy::Buffer(POLICY),
        ..agent_settings()
    };
    let mut world = World::new(
        mobile_with(|fleet| {
            fleet.configuration = configuration(DuplicateAddressDetection::STANDARD);
            fleet.buffering = Some(BufferingRequest::STUDY_D);
            fleet.tells_routers = true;
            fleet.optimizes_routes = true;
            // A restarted home agent learns of the mobile at the next refresh.
            fleet.lifetime = BindingLifetime::at_most(if restarts { 60 } else { 600 });
        }),
        agent.clone(),
        subscriber(),
    )
    .with_buffering_routers(POLICY);
    world.lost = lost;
    world.attach(0, 0);
    world.run_until(at(10_000));
    for (link, leaves) in [(1, 10_000), (2, 60_000)] {
        world.run_until(at(leaves));
        let now = world.now();
        world.mobile.link_going_down(now, InterfaceId(0));
        world.run_until(at(leaves + 500));
        world.detach(0);
        world.run_until(at(leaves + 1000));
        world.attach(0, link);
        if restarts && link == 2 {
            // The update is under way, or the home agent performs duplicate address detection.
            world.run_until(at(leaves + 3000));
            world.home_agent = HomeAgent::new(agent.clone());
            world.home_agent.subscribe(subscriber());
        }
        // Starts route optimisation as soon as there is a tunnel.
        for second in 2..40 {
            world.run_until(at(leaves + second * 1000));
            world.send_down(ip(HOME), leaves + second);
        }
    }
    world.run_until(at(200_000));
    world
}

/// Checks that the mobile is bound to link 2 and is reached there, both ways.
pub(super) fn assert_works(mut world: World, lost: &[usize]) {
    let names: Vec<&str> = lost
        .iter()
        .filter_map(|&place| world.ladder.get(place))
        .map(|&(_, name)| name)
        .collect();
    let home = ip(HOME);
    let expected = Some(care_of(2));
    assert_eq!(
        world.mobile.registered(world.now()),
        expected,
        "{lost:?} {names:?}"
    );
    assert_eq!(
        world.home_agent.care_of(home),
        expected,
        "{lost:?} {names:?}"
    );
    // A correspondent has no binding, or the right one.
    let bound = world.correspondent.care_of(world.now(), home);
    assert!(bound.is_none() || bound == expected, "{lost:?} {names:?}");
    world.stale.clear();
    world.got.clear();
    world.send_down(home, 1_000_000);
    world.send_up(home, 1_000_001);
    let end = world.now() + Duration::from_secs(1);
    world.run_until(end);
    assert_eq!(world.got, [1_000_000], "{lost:?} {names:?}");
    let last = world.answered.last();
    assert_eq!(last, Some(&(1_000_001, home.into())), "{lost:?} {names:?}");
    assert!(world.stale.is_empty(), "{lost:?} {names:?}");
}

/// Goes softly between two links on both of which it stays, there, back and there again; the first goes down and comes
/// back in between, as a satellite's behind an obstacle.
fn soft_returns(lost: Vec<usize>) -> World {
    let mut world = World::new(
        mobile_with(|fleet| {
            fleet.tells_routers = true;
            fleet.optimizes_routes = true;
        }),
        agent_settings(),
        subscriber(),
    );
    world.lost = lost;
    world.attach(0, 1);
    world.run_until(at(10_000));
    world.attach(1, 2);
    for (interface, moves) in [(1, 20_000), (0, 40_000), (1, 60_000)] {
        world.run_until(at(moves - 10_000));
        if interface == 0 {
            world.detach(0);
            world.run_until(at(moves - 5000));
            world.attach(0, 1);
        }
        world.run_until(at(moves));
        let now = world.now();
        world.mobile.prefer(now, InterfaceId(interface));
        world.settle();
        for second in 1..10 {
            world.run_until(at(moves + second * 1000));
            world.send_down(ip(HOME), moves + second);
        }
    }
    world.run_until(at(200_000));
    world
}

/// The address is there when the mobile decides: the update leaves in that moment and arrives after 20 ms, and nothing is
/// solicited or refused.
#[test]
fn a_soft_return_begins_with_its_update() {
    let world = soft_returns(Vec::new());
    for moves in [20_000, 40_000, 60_000] {
        let sent = world.ladder.iter().filter(|(when, name)| {
            at(moves) <= *when && *when < at(moves + 60) && ["BU", "BA"].contains(name)
        });
        let sent: Vec<_> = sent.copied().collect();
        assert_eq!(sent, [(at(moves), "BU"), (at(moves + 20), "BA")]);
    }
    assert!(world.times_of("RS").is_empty());
    let refused = |event: &MobileEvent| matches!(event, MobileEvent::Refused(_));
    assert!(!world.events.iter().any(|(_, event)| refused(event)));
    assert_works(world, &[]);
}

#[test]
fn any_two_lost_of_soft_returns() {
    let messages = soft_returns(Vec::new()).ladder.len();
    assert!(messages > 20, "{messages}");
    for first in 0..messages {
        let world = soft_returns(vec![first]);
        let after = world.ladder.len();
        assert_works(world, &[first]);
        for second in first + 1..after {
            assert_works(soft_returns(vec![first, second]), &[first, second]);
        }
    }
}

#[test]
fn nothing_lost() {
    let world = journey(Vec::new());
    for name in [
        "RS", "RA", "NS", "MLD", "MBU", "MBA", "BU", "BA", "FBU", "FBack", "HoTI", "CoTI", "HoT",
        "CoT",
    ] {
        let sent = world.ladder.iter().any(|&(_, one)| one == name);
        // The router advertises on the link event, so that no solicitation is needed.
        assert_eq!(sent, name != "RS", "{name}");
    }
    assert_eq!(
        world.correspondent.care_of(world.now(), ip(HOME)),
        Some(care_of(2))
    );
    assert_works(world, &[]);
}

#[test]
fn any_one_lost() {
    let messages = journey(Vec::new()).ladder.len();
    assert!(messages > 30, "{messages}");
    for lost in 0..messages {
        assert_works(journey(vec![lost]), &[lost]);
    }
}

#[test]
fn any_two_lost() {
    let messages = journey(Vec::new()).ladder.len();
    for first in 0..messages {
        // The messages after the first loss differ; the second may be any of them, retransmissions included.
        let after = journey(vec![first]).ladder.len();
        for second in first + 1..after {
            assert_works(journey(vec![first, second]), &[first, second]);
        }
    }
}

#[test]
fn any_two_lost_around_a_restart_of_the_home_agent() {
    let messages = journey_with(Vec::new(), true).ladder.len();
    assert_works(journey_with(Vec::new(), true), &[]);
    for first in 0..messages {
        let world = journey_with(vec![first], true);
        let after = world.ladder.len();
        assert_works(world, &[first]);
        for second in first + 1..after {
            assert_works(journey_with(vec![first, second], true), &[first, second]);
        }
    }
}
