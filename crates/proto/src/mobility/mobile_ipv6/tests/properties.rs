//! Whatever is lost, and however the mobile and the agents come and go: in the end there is one binding.

use super::*;
use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
enum Step {
    Attach(usize),
    Detach,
    RestartMobile,
    RestartHomeAgent,
    RestartCorrespondent,
    Send,
}

fn step() -> impl Strategy_<Value = Step> {
    prop_oneof![
        4 => (0..3usize).prop_map(Step::Attach),
        1 => Just(Step::Detach),
        1 => Just(Step::RestartMobile),
        1 => Just(Step::RestartHomeAgent),
        1 => Just(Step::RestartCorrespondent),
        3 => Just(Step::Send),
    ]
}

use proptest::strategy::Strategy as Strategy_;

fn settings(optimizes_routes: bool, detection: bool) -> (MobileSettings, HomeAgentSettings) {
    let detection = match detection {
        true => DuplicateAddressDetection::STANDARD,
        false => NO_DETECTION,
    };
    let mobile = MobileSettings {
        detection,
        optimizes_routes,
        lifetime: BindingLifetime::at_most(60),
        ..mobile_settings()
    };
    let agent = HomeAgentSettings {
        detection,
        ..agent_settings()
    };
    (mobile, agent)
}

fn journey(
    steps: &[(Step, u64)],
    lost: Vec<usize>,
    (optimizes_routes, detection): (bool, bool),
) -> World {
    let (mobile, agent) = settings(optimizes_routes, detection);
    let mut world = World::new(mobile.clone(), agent.clone(), subscriber());
    world.lost = lost;
    world.attach(0, 1);
    let mut number = 0;
    for (count, &(step, wait)) in steps.iter().enumerate() {
        let end = world.now + Duration::from_millis(wait);
        world.run_until(end);
        let secret = [count as u8 + 100; 16];
        match step {
            Step::Attach(link) => {
                world.detach(0);
                world.attach(0, link);
            }
            Step::Detach => world.detach(0),
            Step::RestartMobile => {
                world.mobile = MobileNode::new(mobile.clone(), 2, secret);
                if world.links[0].is_some() {
                    world.mobile.link_up(world.now, 0);
                }
            }
            Step::RestartHomeAgent => {
                world.home_agent = HomeAgent::new(agent.clone());
                world.home_agent.subscribe(subscriber());
            }
            Step::RestartCorrespondent => {
                world.correspondent = Correspondent::new(ip(CORRESPONDENT), [9; 20], secret);
            }
            Step::Send => {}
        }
        number += 1;
        world.send_down(ip(HOME), number);
        world.send_up(ip(HOME), number);
    }
    world.lost.clear();
    world
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn there_is_one_binding_in_the_end(
        steps in prop::collection::vec((step(), 0..8000u64), 1..12),
        lost in prop::collection::vec(0..150usize, 0..40),
        options in any::<(bool, bool)>(),
        last in 0..3usize,
    ) {
        let mut world = journey(&steps, lost, options);
        world.detach(0);
        world.attach(0, last);
        // Longer than bindings last (60 s), and than the longest interval between two updates.
        let end = world.now + Duration::from_secs(200);
        world.run_until(end);
        let home = ip(HOME);
        let expected = (last != 0).then(|| care_of(last));
        prop_assert_eq!(world.home_agent.care_of(home), expected);
        prop_assert_eq!(world.mobile.registered(world.now), expected);
        let bound = world.correspondent.care_of(world.now, home);
        prop_assert!(bound.is_none() || bound == expected, "{:?}", bound);
        // No packet twice, whatever happened on the way.
        let mut got = world.got.clone();
        got.sort_unstable();
        got.dedup();
        prop_assert_eq!(got.len(), world.got.len());
        // From here on nothing goes to where the mobile is not, and all arrives once.
        world.stale.clear();
        world.got.clear();
        world.answered.clear();
        for number in 1000..1005 {
            world.send_down(home, number);
            world.send_up(home, number);
            let end = world.now + Duration::from_secs(1);
            world.run_until(end);
        }
        prop_assert!(world.stale.is_empty(), "{:?}", world.stale);
        prop_assert_eq!(&world.got, &(1000..1005).collect::<Vec<u64>>());
        let answered: Vec<_> = (1000..1005).map(|number| (number, home.into())).collect();
        prop_assert_eq!(&world.answered, &answered);
    }
}
