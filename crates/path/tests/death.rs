//! Death of a path: how soon it is noticed, and that it is not noticed where there is none.

mod pipe;

use baton_path::Event;
use baton_proto::time::{Duration, Instant};
use pipe::{Behaviour, Pair};

/// Both ends' time from the cut to their event, under a stream.
fn detection(
    round_trip_ms: u64,
    jitter_ms: u64,
    gap_us: u64,
    up: bool,
    down: bool,
) -> [Duration; 2] {
    let behaviour = Behaviour {
        jitter: Duration::from_millis(jitter_ms),
        ..Behaviour::delayed(round_trip_ms / 2)
    };
    let mut pair = Pair::up(behaviour, 3);
    let gap = Duration::from_micros(gap_us);
    let count = 20_000_000 / gap_us as u32;
    pair.stream(count, gap, up, down, 200);
    assert_eq!(
        pair.router_went_down() + pair.home_went_down(),
        0,
        "down too early"
    );
    pair.cut();
    let cut = pair.now;
    pair.stream(2_000_000 / gap_us as u32, gap, up, down, 200);
    let router = pair
        .router_events
        .iter()
        .find(|(_, event)| *event == Event::Down);
    let home = pair
        .home_events
        .iter()
        .find(|(_, _, event)| *event == Event::Down);
    [
        router.map(|(time, _)| *time),
        home.map(|(time, _, _)| *time),
    ]
    .map(|time| time.expect("noticed within 2 s").saturating_since(cut))
}

#[test]
fn table() {
    for (rtt, jitter) in [
        (10, 0),
        (10, 2),
        (50, 0),
        (50, 5),
        (100, 0),
        (100, 10),
        (600, 0),
    ] {
        for (up, down) in [(true, true), (true, false), (false, true)] {
            for gap in [1000, 20_000] {
                let [router, home] = detection(rtt, jitter, gap, up, down);
                eprintln!(
                    "rtt {rtt} jitter {jitter} gap {gap} up {up} down {down}: router {router} home {home} limit {} ",
                    2 * rtt + 50
                );
            }
        }
    }
}

fn alarms(behaviour: Behaviour, up: bool, down: bool, gap: Duration, hours: u64) -> (usize, usize) {
    let mut pair = Pair::up(behaviour, 11);
    let end = pair.now + Duration::from_secs(3600 * hours);
    while pair.now < end {
        if up || down {
            pair.stream(1000, gap, up, down, 200);
        } else {
            pair.run_for(Duration::from_secs(60))
        }
        pair.at_home.clear();
        pair.at_router.clear();
    }
    (pair.router_went_down(), pair.home_went_down())
}

#[test]
fn false_alarms() {
    let lossy = Behaviour {
        loss: 0.02,
        jitter: Duration::from_millis(25),
        ..Behaviour::delayed(37)
    };
    for (up, down, gap_ms, hours) in [
        (false, false, 0, 50),
        (true, true, 5, 2),
        (true, false, 20, 3),
        (false, true, 20, 3),
        (true, true, 700, 50),
    ] {
        let t = std::time::Instant::now();
        let a = alarms(lossy, up, down, Duration::from_millis(gap_ms), hours);
        eprintln!(
            "up {up} down {down} gap {gap_ms} ms {hours} h: {a:?} in {:?}",
            t.elapsed()
        );
    }
}
#[allow(dead_code)]
fn unused(_: Instant) {}
