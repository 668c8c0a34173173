//! Arbitrary losses, movements and restarts: in the end there is one binding.

use super::*;
use crate::mobility::buffering::{BufferPolicy, Overflow};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

#[derive(Clone, Copy, Debug)]
enum Step {
    /// A hard handover.
    Attach(usize),
    /// A soft handover: the old link stays.
    AttachOther(usize),
    /// A soft handover to the other link, if the mobile is on it.
    Return,
    Detach,
    RestartMobile,
    RestartHomeAgent,
    RestartCorrespondent,
    RestartRouter(usize),
    Send,
}

fn step() -> impl Strategy_<Value = Step> {
    prop_oneof![
        4 => (0..3usize).prop_map(Step::Attach),
        4 => (0..3usize).prop_map(Step::AttachOther),
        2 => Just(Step::Return),
        1 => Just(Step::Detach),
        1 => Just(Step::RestartMobile),
        1 => Just(Step::RestartHomeAgent),
        1 => Just(Step::RestartCorrespondent),
        1 => (0..3usize).prop_map(Step::RestartRouter),
        3 => Just(Step::Send),
    ]
}

use proptest::strategy::Strategy as Strategy_;

/// Settings of a journey.
#[derive(Clone, Copy, Debug)]
struct Options {
    optimizes_routes: bool,
    detection: bool,
    bicasts: bool,
    /// Access routers hold packets and forward them to the mobile.
    forwards: bool,
    /// Access routers get copies, and the one at the mobile's link delivers them.
    multicasts: bool,
    /// Messages between mobile and home agent are signed, and their sequence numbers remembered.
    signs: bool,
}

fn options() -> impl Strategy_<Value = Options> {
    any::<[bool; 6]>().prop_map(
        |[
            optimizes_routes,
            detection,
            bicasts,
            forwards,
            multicasts,
            signs,
        ]| Options {
            optimizes_routes,
            detection,
            bicasts,
            forwards,
            multicasts,
            signs,
        },
    )
}

fn settings(options: Options) -> (MobileSettings, HomeAgentSettings, Subscriber) {
    let key = options.signs.then_some(SharedKey {
        security_parameter_index: 300,
        key: [3; 20],
    });
    let detection = match options.detection {
        true => DuplicateAddressDetection::STANDARD,
        false => NO_DETECTION,
    };
    let overlap = Duration::from_secs(3);
    let mobile = MobileSettings {
        key,
        ..mobile_with(|fleet| {
            fleet.configuration = configuration(detection);
            fleet.tells_routers = options.forwards;
            fleet.has_group = options.multicasts;
            fleet.optimizes_routes = options.optimizes_routes;
            fleet.lifetime = BindingLifetime::at_most(60);
        })
    };
    let agent = HomeAgentSettings {
        detection,
        strategy: match options.bicasts {
            true => super::Strategy::Bicast { overlap },
            false => super::Strategy::Forward,
        },
        ..agent_settings()
    };
    let subscriber = Subscriber {
        key,
        ..subscriber()
    };
    (mobile, agent, subscriber)
}

const POLICY: BufferPolicy = BufferPolicy {
    bytes: 100_000,
    age: Duration::from_secs(30),
    overflow: Overflow::DropNewest,
    pace: None,
    drop_duplicates: true,
};

fn new_router(link: usize, options: Options) -> AccessRouter {
    let mut router = router(link);
    if options.multicasts && link > 0 {
        join(&mut router, POLICY);
    }
    router
}

fn new_home_agent(options: Options) -> HomeAgent {
    let (_, settings, subscriber) = settings(options);
    let mut agent = HomeAgent::new(settings);
    agent.subscribe(subscriber);
    if options.multicasts {
        let members = [1, 2].map(|link| new_router(link, options).settings().address);
        agent.form_group(ip(HOME), &members);
    }
    agent
}

fn journey(steps: &[(Step, u64)], lost: Vec<usize>, options: Options) -> World {
    let (mobile, agent, subscriber) = settings(options);
    let mut world = World::new(mobile.clone(), agent, subscriber);
    world.home_agent = new_home_agent(options);
    world.routers = (0..3).map(|link| new_router(link, options)).collect();
    world.buffering = options.forwards.then_some(POLICY);
    world.lost = lost;
    world.attach(0, 1);
    let mut used = 0;
    for (count, &(step, wait)) in steps.iter().enumerate() {
        let end = world.now() + Duration::from_millis(wait);
        world.run_until(end);
        let secret = [count as u8 + 100; 16];
        match step {
            Step::Attach(link) => {
                world.detach(0);
                world.detach(1);
                world.attach(used, link);
            }
            Step::AttachOther(link) if world.links[used] != Some(link) => {
                used = 1 - used;
                world.attach(used, link);
                let now = world.now();
                world.mobile.prefer(now, InterfaceId(used));
            }
            Step::Return if world.links[1 - used].is_some() => {
                used = 1 - used;
                let now = world.now();
                world.mobile.prefer(now, InterfaceId(used));
            }
            Step::AttachOther(_) | Step::Return | Step::Send => {}
            Step::Detach => {
                world.detach(0);
                world.detach(1);
            }
            Step::RestartMobile => {
                world.mobile = MobileNode::new(mobile.clone(), 2, secret);
                let now = world.now();
                world.mobile.prefer(now, InterfaceId(used));
                for interface in 0..2 {
                    if world.links[interface].is_some() {
                        let now = world.now();
                        world.mobile.link_up(now, InterfaceId(interface));
                    }
                }
            }
            Step::RestartHomeAgent => {
                world.copies += world.home_agent.counts().copies;
                world.home_agent = new_home_agent(options);
            }
            Step::RestartCorrespondent => {
                world.correspondent = Correspondent::new(ip(CORRESPONDENT), [9; 20], secret);
            }
            Step::RestartRouter(link) => world.routers[link] = new_router(link, options),
        }
        let number = count as u64 + 1;
        world.send_down(ip(HOME), number);
        world.send_up(ip(HOME), number);
    }
    world.lost.clear();
    world
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// A restarted home agent has lost its bindings; if the `late` one restarts, where the mobile stays, only the
    /// refresh restores the binding.
    #[test]
    fn there_is_one_binding_in_the_end(
        steps in prop::collection::vec((step(), 0..8000u64), 1..12),
        lost in prop::collection::vec(0..150usize, 0..40),
        options in options(),
        last in 0..3usize,
        late: bool,
    ) {
        let mut world = journey(&steps, lost, options);
        world.detach(0);
        world.detach(1);
        let now = world.now();
        world.mobile.prefer(now, InterfaceId(0));
        world.attach(0, last);
        if late {
            let registered = world.now() + Duration::from_secs(40);
            world.run_until(registered);
            world.copies += world.home_agent.counts().copies;
            world.home_agent = new_home_agent(options);
        }
        // Longer than a binding's lifetime (60 s), and than the longest interval between two updates.
        let end = world.now() + Duration::from_secs(200);
        world.run_until(end);
        let home = ip(HOME);
        let expected = (last != 0).then(|| care_of(last));
        prop_assert_eq!(world.home_agent.care_of(home), expected);
        prop_assert_eq!(world.mobile.registered(world.now()), expected);
        let bound = world.correspondent.care_of(world.now(), home);
        prop_assert!(bound.is_none() || bound == expected, "{:?}", bound);
        // No duplicates, whatever happened; with two bindings, or two routers with copies, at most one counted copy of
        // each.
        let mut got = world.got.clone();
        got.sort_unstable();
        let most = got.chunk_by(|one, other| one == other).map(<[u64]>::len).max();
        prop_assert!(most.unwrap_or(0) <= 1 + usize::from(options.bicasts || options.multicasts), "{:?}", got);
        got.dedup();
        let copies = world.copies + world.home_agent.counts().copies;
        prop_assert!((world.got.len() - got.len()) as u64 <= copies);
        // From here on no packet goes elsewhere than to the mobile, and each arrives once.
        world.stale.clear();
        world.got.clear();
        world.answered.clear();
        for number in 1000..1005 {
            world.send_down(home, number);
            world.send_up(home, number);
            let end = world.now() + Duration::from_secs(1);
            world.run_until(end);
        }
        prop_assert!(world.stale.is_empty(), "{:?}", world.stale);
        prop_assert_eq!(&world.got, &(1000..1005).collect::<Vec<u64>>());
        let answered: Vec<_> = (1000..1005).map(|number| (number, home.into())).collect();
        prop_assert_eq!(&world.answered, &answered);
    }
}
