//! Hardships of the machines that the daemons run on: a clock that goes back, a disk that is full, a home agent that is started anew.

use crate::world::daemons::Surroundings;
use crate::world::{DELAYS, Version, WLAN, WWAN, World, until_bound};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

const SECOND: Duration = Duration::from_secs(1);

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn a_home_agent_that_is_started_anew_is_silent_for_a_round_trip_and_200_ms() {
    for is_alone in [false, true] {
        let world = World::new(Version::V4);
        let (mut home_agent, mut router) = world.start();
        // With one uplink there is no other by which the router could register.
        world.air.cut(WWAN, is_alone);
        let streams = world.streams(Version::V6);
        for _ in 0..3 {
            sleep(2 * SECOND);
            router.pass();
            let killed = Instant::now();
            home_agent.kill();
            home_agent = world.start_home_agent();
            let started = killed.elapsed();
            until_bound(&mut router, WLAN);
            println!(
                "alone {is_alone}: killed, running {started:?} later, bound {:?} later",
                killed.elapsed()
            );
        }
        let begun = Instant::now() - 8 * SECOND;
        sleep(SECOND);
        let records = streams.map(|stream| stream.end());
        let when = begun..Instant::now();
        let late = world.lateness(&records, &when);
        let most = 2 * DELAYS[WLAN] + SECOND / 5;
        for record in &records {
            let stall = record.stall(when.clone());
            println!("alone {is_alone}: silent for {stall:?}; up to {late:?} late");
            assert!(stall < most + 5 * late, "{stall:?}, late {late:?}");
        }
        assert_eq!(router.times("uses wwan0"), 0, "{}", router.said());
    }
}

/// Interposes the clock of the day: it is a year behind.
const LATE_CLOCK: &str = r"
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *now) {
    int failed = syscall(SYS_clock_gettime, clock, now);
    if (!failed && clock == CLOCK_REALTIME)
        now->tv_sec -= 31536000;
    return failed;
}
";

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn a_router_whose_clock_has_gone_back_a_year_is_bound_again() {
    let world = World::new(Version::V4);
    let source = world.file("clock.c", LATE_CLOCK);
    let library = source.with_extension("so");
    let mut compiler = Command::new("cc");
    compiler
        .args(["-shared", "-fPIC", "-o"])
        .arg(&library)
        .arg(&source);
    match compiler.status() {
        Ok(status) => assert!(status.success()),
        Err(error) => return println!("left out, as there is no C compiler: {error}"),
    }
    let (home_agent, router) = world.start();
    router.kill();
    let late = Surroundings {
        preload: Some(library),
        ..Surroundings::default()
    };
    let mut router = world.start_router_in(&late);
    let begun = Instant::now();
    until_bound(&mut router, WLAN);
    println!("bound {:?} after the start", begun.elapsed());
    let status = home_agent.status();
    // One initiation of each path had to be repeated with the home agent's number.
    assert!(status.contains("not taken: Stale"), "{status}");
    for stream in world.streams(Version::V6) {
        stream.until_more(300);
        stream.end();
    }
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn full_disks_and_logs_that_nobody_takes_stop_no_traffic() {
    let world = World::new(Version::V4);
    let full = Surroundings {
        is_full: true,
        ..Surroundings::default()
    };
    let _home_agent = world.start_home_agent_in(&full);
    let router = world.start_router_in(&full);
    let streams = world.streams(Version::V6);
    streams.iter().for_each(|stream| stream.until_more(300));
    for uplink in [WLAN, WWAN] {
        // Each has news to tell, which cannot be written.
        world.air.cut(uplink, true);
        sleep(SECOND);
        streams.iter().for_each(|stream| stream.until_more(300));
        world.air.cut(uplink, false);
        sleep(4 * SECOND);
        streams.iter().for_each(|stream| stream.until_more(300));
    }
    // Nor does an operator wait for an answer.
    let status = router.status();
    assert!(status.contains("uses wlan0"), "{status}");
    for stream in streams {
        stream.end();
    }
}
