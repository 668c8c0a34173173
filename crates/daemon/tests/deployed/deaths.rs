//! Daemons that are killed, and one too many.

use crate::world::{ANOTHER, Version, WLAN, WWAN, World, until_bound};
use std::thread::sleep;
use std::time::{Duration, Instant};

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn whoever_is_killed_is_bound_again_when_started_in_traffic_and_in_a_handover() {
    let world = World::new(Version::V4);
    let (mut home_agent, mut router) = world.start();
    let streams = world.streams(Version::V4);
    let until_flows = || streams.iter().for_each(|stream| stream.until_more(300));
    until_flows();
    for in_handover in [false, true] {
        for (home_agent_dies, router_dies) in [(true, false), (false, true), (true, true)] {
            let mut uplink = WLAN;
            if in_handover {
                world.air.cut(WLAN, true);
                sleep(Duration::from_millis(80));
                uplink = WWAN;
            }
            let killed = Instant::now();
            if router_dies {
                router.kill();
                router = world.start_router(&world.router);
            }
            if home_agent_dies {
                home_agent.kill();
                home_agent = world.start_home_agent();
            }
            if router_dies {
                until_bound(&mut router, uplink);
            }
            until_flows();
            println!(
                "killed home agent {home_agent_dies}, router {router_dies}, in a handover {in_handover}: 300 further datagrams {:?} later",
                killed.elapsed()
            );
            if in_handover {
                world.air.cut(WLAN, false);
                until_bound(&mut router, WLAN);
                until_flows();
            }
        }
    }
    for stream in streams {
        let record = stream.end();
        println!("the longest stall {:?}", record.stall(record.whole()));
    }
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn two_routers_with_one_key_harm_each_other_and_nobody_else() {
    let world = World::new(Version::V4);
    let (home_agent, mut router) = world.start();
    let streams = world.streams(Version::V6);
    let until_flows = || streams.iter().for_each(|stream| stream.until_more(300));
    until_flows();
    let mut another = world.start_router(&world.another);
    another.until("Registered");
    sleep(Duration::from_secs(5));
    let seen = world.air.state().uplinks[ANOTHER].seen.len();
    println!(
        "in 5 s: {} and {} bindings, {seen} packets of the other router",
        router.times("Registered"),
        another.times("Registered"),
    );
    // Each may say that it is the one, not all the time.
    assert!(
        home_agent.times("Binding Updated") < 100,
        "{}",
        home_agent.said()
    );
    another.kill();
    router.until("Registered");
    until_flows();
    for stream in streams {
        stream.end();
    }
}
