//! Handovers that a timetable announces.

use crate::world::{DELAYS, Version, WLAN, WWAN, World, until_bound};
use std::ops::Range;
use std::thread::sleep;
use std::time::{Duration, Instant};

const SECOND: Duration = Duration::from_secs(1);

/// Tells the router of a time from now on in which its better uplink carries nothing.
fn foretell(world: &World, away: Range<Duration>) -> Instant {
    world.foretell(WLAN, &[away]);
    Instant::now()
}

/// Both uplinks are up, the better one until two seconds before a timetable ends it: the router moves while both carry.
#[test]
#[ignore = "needs root: it makes network namespaces"]
fn an_announced_handover_loses_nothing_and_its_gap_is_that_of_the_delays() {
    let world = World::new(Version::V4);
    let begun = foretell(&world, 6 * SECOND..9 * SECOND);
    let (_home_agent, mut router) = world.start();
    let streams = world.streams(Version::V6);
    router.until("wlan0 is expected to go");
    until_bound(&mut router, WWAN);
    let moved = Instant::now();
    assert!(moved < begun + 6 * SECOND, "{:?}", moved - begun);
    sleep((begun + 6 * SECOND).saturating_duration_since(Instant::now()));
    world.air.cut(WLAN, true);
    sleep((begun + 9 * SECOND).saturating_duration_since(Instant::now()));
    world.air.cut(WLAN, false);
    router.until("wlan0 is expected to stay");
    until_bound(&mut router, WLAN);
    sleep(SECOND);
    let records = streams.map(|stream| stream.end());
    let when = moved - SECOND..moved + SECOND;
    let late = world.lateness(&records, &when);
    for record in &records {
        let (gap, lost) = (record.stall(when.clone()), record.lost(record.whole()));
        println!("announced: gap {gap:?}, lost {lost}; up to {late:?} late");
        assert_eq!(lost, 0);
        let difference = DELAYS[WWAN] - DELAYS[WLAN];
        assert!(gap > difference / 2, "no handover: {gap:?}");
        assert!(
            gap < difference + Duration::from_millis(20) + 5 * late,
            "{gap:?}"
        );
    }
}

/// Without another uplink the home agent is asked to hold packets (study D, proposal 2).
#[test]
#[ignore = "needs root: it makes network namespaces"]
fn what_comes_while_the_only_uplink_is_away_is_held_at_the_home_agent() {
    let world = World::new(Version::V4);
    let begun = foretell(&world, 6 * SECOND..8 * SECOND);
    let (mut home_agent, mut router) = world.start();
    world.air.cut(WWAN, true);
    let [to_host, from_host] = world.streams(Version::V6);
    router.until("wwan0 is down");
    router.until("wlan0 is expected to go");
    home_agent.until("Buffering");
    sleep((begun + 6 * SECOND).saturating_duration_since(Instant::now()));
    world.air.cut(WLAN, true);
    sleep((begun + 8 * SECOND).saturating_duration_since(Instant::now()));
    world.air.cut(WLAN, false);
    home_agent.until("Binding Updated");
    sleep(SECOND);
    let record = to_host.end();
    drop(from_host);
    println!(
        "held: gap {:?}, lost {}",
        record.stall(record.whole()),
        record.lost(record.whole())
    );
    assert!(record.stall(record.whole()) > 2 * SECOND);
    assert_eq!(record.lost(record.whole()), 0);
}

/// With copies by the old path, too, the loss of a new one that begins badly is made good.
#[test]
#[ignore = "needs root: it makes network namespaces"]
fn copies_by_the_old_path_make_a_bad_beginning_of_the_new_one_good() {
    let world = World::new(Version::V4);
    world.configure("home-agent", ("bicast = \"1 s\"", ""));
    world.configure("mobile-router", ("bicast = true", ""));
    let begun = foretell(&world, 6 * SECOND..20 * SECOND);
    let (_home_agent, mut router) = world.start();
    let streams = world.streams(Version::V6);
    until_bound(&mut router, WWAN);
    world.air.cut(WWAN, true);
    sleep(SECOND / 2);
    world.air.cut(WWAN, false);
    sleep(SECOND);
    assert!(begun.elapsed() > 5 * SECOND);
    let [to_host, _] = streams.map(|stream| stream.end());
    assert_eq!(to_host.lost(to_host.whole()), 0);
    println!("bicast: gap {:?}", to_host.stall(to_host.whole()));
    assert!(to_host.stall(to_host.whole()) < SECOND / 10);
}
