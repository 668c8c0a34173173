//! Arbitrary losses and movements: in the end the mobile is reached, once.

use super::*;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// Follows a movement; messages of the first `counted` seconds may be lost.
pub(super) fn check_all_losses(
    make: impl Fn() -> Network,
    moves: &[(u64, InterfaceId)],
    away: Option<Ipv4Addr>,
) {
    let run = |lost: &[usize]| {
        let mut network = make();
        network.lost = lost.iter().copied().collect();
        for &(at, link) in moves {
            network.run_until(Instant::from_millis(at));
            network.jump_to(link);
        }
        network.run_for(Duration::from_secs(4));
        let counted = network.signalling.len();
        // Before the renewal, 45 s after the registration, so that only retransmission can help.
        network.run_for(Duration::from_secs(25));
        network.send_data(1);
        network.run_for(Duration::from_secs(1));
        assert_eq!(network.bindings(), Vec::from_iter(away), "lost: {lost:?}");
        assert_eq!(network.received(1), 1, "lost: {lost:?}");
        counted
    };
    lose_any_two(run);
}

#[test]
fn any_two_messages_may_be_lost_between_foreign_agents() {
    let moves = [(0, FOREIGN_LINKS[0]), (2500, FOREIGN_LINKS[1])];
    check_all_losses(Network::new, &moves, Some(FOREIGN_AGENTS[1]));
}

#[test]
fn any_two_messages_may_be_lost_below_a_gateway() {
    let moves = [(0, FOREIGN_LINKS[0]), (2500, FOREIGN_LINKS[1])];
    let make = || Network::with(mobile_config(), home_agent_config(), true);
    check_all_losses(make, &moves, Some(GATEWAY));
}

#[test]
fn any_two_messages_may_be_lost_with_addresses_of_the_mobile_s_own() {
    let moves = [(0, MODEM_LINK), (1500, DHCP_LINK)];
    let acquired = Ipv4Addr::new(198, 18, 0, 50);
    check_all_losses(Network::new, &moves, Some(acquired));
}

#[test]
fn any_two_messages_may_be_lost_with_another_encapsulation_or_its_refusal() {
    let config = MobileNodeConfig {
        encapsulation: Encapsulation::Generic,
        ..mobile_config()
    };
    for generic in [true, false] {
        let make = || {
            let mut network = Network::with(config.clone(), home_agent_config(), false);
            network.offer(Encapsulations {
                minimal: false,
                generic: true,
            });
            network.home_config.encapsulations.generic = generic;
            network.restart_home();
            network
        };
        let moves = [(0, MODEM_LINK), (2500, FOREIGN_LINKS[1])];
        check_all_losses(make, &moves, Some(FOREIGN_AGENTS[1]));
    }
}

#[test]
fn any_two_messages_may_be_lost_on_the_way_home() {
    let moves = [(0, FOREIGN_LINKS[0]), (2500, HOME_LINK)];
    check_all_losses(Network::new, &moves, None);
}

/// Returns softly to a foreign agent, or to an address of its own, on a link that the mobile has not left.
#[test]
fn any_two_messages_may_be_lost_of_a_soft_return() {
    for (link, care_of, bound) in [
        (FOREIGN_LINKS[0], CareOf::ForeignAgent, FOREIGN_AGENTS[0]),
        (DHCP_LINK, CareOf::Acquired, Ipv4Addr::new(198, 18, 0, 50)),
    ] {
        lose_any_two(|lost| {
            let mut network = Network::new();
            network.lost = lost.iter().copied().collect();
            network.attach(link, care_of);
            network.run_until(Instant::from_millis(4000));
            network.attach(MODEM_LINK, CareOf::Known(MODEM));
            network.run_until(Instant::from_millis(8000));
            network.return_to(link, care_of);
            network.run_for(Duration::from_secs(4));
            let counted = network.signalling.len();
            network.run_for(Duration::from_secs(25));
            network.send_data(1);
            network.run_for(Duration::from_secs(1));
            assert_eq!(network.bindings(), [bound], "lost: {lost:?}");
            assert_eq!(network.received(1), 1, "lost: {lost:?}");
            counted
        });
    }
}

#[derive(Clone, Copy, Debug)]
enum Happening {
    Move(usize),
    RestartHome,
    RestartForeign(usize),
    RestartMobile,
    Conflict,
}

fn happenings() -> impl Strategy<Value = Happening> {
    prop_oneof![
        6 => (0..5_usize).prop_map(Happening::Move),
        1 => Just(Happening::RestartHome),
        1 => (0..2_usize).prop_map(Happening::RestartForeign),
        1 => Just(Happening::RestartMobile),
        1 => Just(Happening::Conflict),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 256,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn there_is_one_binding_after_any_course(
        course in prop::collection::vec((1..8000_u64, happenings()), 1..12),
        losses in prop::collection::vec(0..400_usize, 0..150),
        with_gateway: bool,
        clock in -100..100_i64,
    ) {
        let config = MobileNodeConfig {
            clock: Clock { ahead_seconds: clock },
            ..mobile_config()
        };
        let mut network = Network::with(config, home_agent_config(), with_gateway);
        network.lost = losses.into_iter().collect();
        network.jump_to(HOME_LINK);
        let happened = course.len();
        for (count, (wait, happening)) in course.into_iter().enumerate() {
            network.run_for(Duration::from_millis(wait));
            network.send_data(100 + count as u32);
            match happening {
                Happening::Move(link) => network.jump_to(InterfaceId(link)),
                Happening::RestartHome => network.restart_home(),
                Happening::RestartForeign(place) => network.restart_foreign(place),
                Happening::RestartMobile => network.restart_mobile(),
                Happening::Conflict => network.conflict(),
            }
        }
        let place = *network.links_up.first().expect("it is somewhere");
        // After the last possible loss, two lifetimes and the longest timeout follow.
        network.lost.clear();
        network.run_for(Duration::from_secs(200));
        network.send_data(1);
        network.run_for(Duration::from_secs(1));
        let bindings = network.bindings();
        let expected = match place {
            HOME_LINK => 0,
            _ => 1,
        };
        prop_assert_eq!(bindings.len(), expected, "{:?} {:?}", bindings, network.mobile);
        prop_assert_eq!(network.received(1), 1);
        // No duplicates, whatever happened: only one binding was requested.
        for number in 0..happened {
            let times = network.received(100 + number as u32);
            prop_assert!(times <= 1, "{} times", times);
        }
        let is_right = bindings.iter().all(|address| match place {
            MODEM_LINK => *address == MODEM,
            DHCP_LINK => address.octets()[..3] == [198, 18, 0],
            _ if with_gateway => *address == GATEWAY,
            InterfaceId(place) => *address == FOREIGN_AGENTS[place - 1],
        });
        prop_assert!(is_right, "{:?} at {:?}", bindings, place);
        prop_assert_eq!(network.mobile.home_link().is_some(), place == HOME_LINK);
    }
}
