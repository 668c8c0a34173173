//! Handovers that nobody has announced.

use crate::world::{CARE_OF, DELAYS, UPLINKS, Version, WLAN, WWAN, World, until_bound};
use nix::sys::signal::Signal;
use std::thread::sleep;
use std::time::{Duration, Instant};

const SECOND: Duration = Duration::from_secs(1);
/// The router's `hold_time`.
const HOLD: Duration = Duration::from_secs(2);

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn an_uplink_that_dies_unannounced_stalls_streams_shortly_and_loses_nothing_to_the_host() {
    for over in [Version::V4, Version::V6] {
        let world = World::new(over);
        let (_home_agent, mut router) = world.start();
        let [v4, v6] = [Version::V4, Version::V6].map(|version| world.streams(version));
        sleep(2 * SECOND);
        let cut = world.air.cut(WLAN, true);
        until_bound(&mut router, WWAN);
        sleep(SECOND);
        for (within, streams) in [(Version::V4, v4), (Version::V6, v6)] {
            let records = streams.map(|stream| stream.end());
            let when = cut..cut + SECOND;
            let late = world.lateness(&records, &when);
            let [to_host, from_host] = &records;
            let stalls = [to_host, from_host].map(|record| record.stall(when.clone()));
            let lost = [to_host, from_host].map(|record| record.lost(record.whole()));
            println!(
                "{within:?} over {over:?}: stalls to the host and from it {stalls:?}, lost {lost:?}; up to {late:?} late"
            );
            assert_eq!(lost, [0, 0]);
            // Twice the round trip, one of the new uplink, and 50 ms.
            let most = 4 * DELAYS[WLAN] + 2 * DELAYS[WWAN] + Duration::from_millis(50);
            for stall in stalls {
                assert!(stall > 2 * DELAYS[WLAN], "no handover: {stall:?}");
                assert!(stall < most + 5 * late, "{stall:?}, late {late:?}");
            }
        }
    }
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn the_better_uplink_is_taken_again_when_it_flickers_no_more_and_nothing_is_lost() {
    let world = World::new(Version::V4);
    let (_home_agent, mut router) = world.start();
    let streams = world.streams(Version::V6);
    sleep(SECOND);
    world.air.cut(WLAN, true);
    until_bound(&mut router, WWAN);
    sleep(SECOND);
    let moved = Instant::now();
    for _ in 0..8 {
        world.air.cut(WLAN, false);
        sleep(SECOND / 2);
        world.air.cut(WLAN, true);
        // A path without traffic is probed every 100 ms at first, and is down after six probes in vain.
        sleep(SECOND / 2);
    }
    let mended = world.air.cut(WLAN, false);
    until_bound(&mut router, WLAN);
    let back = Instant::now();
    sleep(SECOND);
    assert!(
        back - mended > HOLD,
        "{:?} after it was mended",
        back - mended
    );
    // Three bindings: at the beginning, when the uplink died, and when it was there again.
    let bindings =
        CARE_OF.map(|address| router.times(&format!("Registered, care-of address {address}\n")));
    assert_eq!(bindings, [2, 1], "{}", router.said());
    for record in streams.map(|stream| stream.end()) {
        let when = moved..record.whole().end;
        assert_eq!(record.lost(when.clone()), 0);
        println!(
            "fail-back: the longest gap {:?}",
            record.stall(back - HOLD..when.end)
        );
    }
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn a_router_without_any_uplink_for_long_is_bound_again_when_one_comes_back() {
    let world = World::new(Version::V4);
    let (_home_agent, mut router) = world.start();
    let streams = world.streams(Version::V6);
    streams.iter().for_each(|stream| stream.until_more(100));
    // Nobody tells the router.
    for uplink in [WLAN, WWAN] {
        world.air.cut(uplink, true);
    }
    sleep(8 * SECOND);
    let mended = world.air.cut(WWAN, false);
    until_bound(&mut router, WWAN);
    streams.iter().for_each(|stream| stream.until_more(100));
    println!("goes on {:?} after the uplink came back", mended.elapsed());
    // The kernel tells it.
    for uplink in [WLAN, WWAN] {
        world.switch_off(uplink);
        world.air.cut(uplink, false);
    }
    router.until("wwan0 is down");
    sleep(3 * SECOND);
    world.switch_on(WWAN, &UPLINKS[WWAN]);
    let on = Instant::now();
    // Its binding there holds still.
    router.until("wwan0 is up");
    streams.iter().for_each(|stream| stream.until_more(100));
    println!(
        "goes on {:?} after the device was switched on",
        on.elapsed()
    );
    for stream in streams {
        stream.end();
    }
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn datagrams_that_came_before_a_device_went_down_do_not_bring_its_uplink_up() {
    let world = World::new(Version::V4);
    let (_home_agent, mut router) = world.start();
    let streams = world.streams(Version::V6);
    streams.iter().for_each(|stream| stream.until_more(100));
    // They wait in the router's socket when it hears of the device.
    router.signal(Signal::SIGSTOP);
    sleep(SECOND / 20);
    world.switch_off(WLAN);
    router.signal(Signal::SIGCONT);
    until_bound(&mut router, WWAN);
    streams.iter().for_each(|stream| stream.until_more(500));
    assert_eq!(router.times("wlan0 is up"), 1, "{}", router.said());
    world.switch_on(WLAN, &UPLINKS[WLAN]);
    until_bound(&mut router, WLAN);
    let [to_host, _] = streams.map(|stream| stream.end());
    assert_eq!(to_host.lost(to_host.whole()), 0);
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn a_stream_goes_on_when_the_uplink_or_its_translator_gets_another_address() {
    let world = World::new(Version::V4);
    let (mut home_agent, router) = world.start();
    world.air.cut(WWAN, true);
    let streams = world.streams(Version::V6);
    sleep(2 * SECOND);
    let begun = Instant::now();
    // What the home agent sends there until it hears the router from elsewhere is lost.
    world.air.state().uplinks[WLAN].outside = Some(([192, 0, 2, 99], 50_001).into());
    home_agent.until("has moved from 192.0.2.1:40001 to 192.0.2.99:50001");
    streams.iter().for_each(|stream| stream.until_more(500));
    // Without a translator the home agent sees the uplink's own address.
    world.air.state().uplinks[WLAN].outside = None;
    home_agent.until("has moved from 192.0.2.99:50001 to 192.0.2.2");
    streams.iter().for_each(|stream| stream.until_more(500));
    world.renumber(WLAN, UPLINKS[WLAN][0], "192.0.2.77");
    home_agent.until("to 192.0.2.77");
    streams.iter().for_each(|stream| stream.until_more(500));
    let when = begun..Instant::now();
    assert_eq!(router.times("Registered"), 1, "{}", router.said());
    let records = streams.map(|stream| stream.end());
    let late = world.lateness(&records, &when);
    for record in &records {
        let (stall, lost) = (record.stall(when.clone()), record.lost(record.whole()));
        println!("renumbered three times: stall {stall:?}, lost {lost}; up to {late:?} late");
        assert!(
            stall < 4 * DELAYS[WLAN] + Duration::from_millis(50) + 5 * late,
            "{stall:?}"
        );
    }
}
