//! Shares of paths beside CUBIC connections over a grid of rates, round-trip times and buffers.

mod bottleneck;
mod pipe;

use baton_proto::time::Duration;
use bottleneck::{Habit, Lab, LabExt, Link};

/// Buffers in units of the product of rate and round-trip time.
const BUFFERS: [f64; 5] = [0.25, 0.5, 1.0, 2.0, 4.0];

/// Runs a path beside CUBIC connections that begin so many milliseconds later, and returns its share in units of one of
/// theirs, and the used part of the link. A transient of the beginning is left out.
fn share(
    (rate_mbit, round_trip_ms): (u64, u64),
    buffer: f64,
    (connections, later_ms): (usize, u64),
) -> [f64; 2] {
    let mut lab = Lab::lab(Link::new(rate_mbit * 1_000_000, round_trip_ms, buffer), 3);
    lab.add_way(Habit::Greedy);
    lab.run_for(Duration::from_millis(later_ms));
    for _ in 0..connections {
        lab.add_cubic();
        lab.run_for(Duration::from_millis(123));
    }
    lab.run_for(Duration::from_secs(20).max(Duration::from_millis(50 * round_trip_ms)));
    let time = Duration::from_secs(60).max(Duration::from_millis(150 * round_trip_ms));
    let arrived = lab.arrivals(time);
    let others: f64 = arrived[1..].iter().sum();
    let all = rate_mbit as f64 * 1e6 / 8.0 * time.as_secs_f64();
    [
        arrived[0] / (others / connections as f64),
        (arrived[0] + others) / all,
    ]
}

/// Checks cells of the table in `docs/batond.md`, and prints them.
fn check(cells: &[(u64, u64)], connections: usize) {
    let mut wrong = Vec::new();
    for &(rate, round_trip) in cells {
        let row = BUFFERS.map(|buffer| share((rate, round_trip), buffer, (connections, 2_111)));
        let shares = row.map(|[share, _]| (share * 100.0).round() / 100.0);
        println!("{rate} Mbit/s, {round_trip} ms, {connections}: {shares:?}");
        for (buffer, [share, used]) in BUFFERS.into_iter().zip(row) {
            if !(0.2..=2.0).contains(&share) || used < 0.9 {
                wrong.push((rate, round_trip, buffer, share, used));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn a_path_takes_at_most_twice_what_one_cubic_takes_at_any_buffer() {
    let cells = [
        (5, 100),
        (20, 20),
        (20, 100),
        (50, 100),
        (10, 300),
        (10, 600),
    ];
    check(&cells, 1);
}

#[test]
fn a_path_takes_at_most_twice_what_each_of_two_cubics_takes() {
    check(&[(10, 100), (10, 580)], 2);
}

/// The path has the whole link at first. Of two CUBICs that meet so at 50 Mbit/s and 100 ms, the first has 1.5 to 5 times as much
/// as the second for a minute (`docs/batond.md`).
#[test]
fn a_path_makes_room_in_a_short_buffer_whenever_cubic_begins() {
    for later in [2_428, 2_745] {
        for (rate, round_trip) in [(50, 100), (10, 300), (20, 600)] {
            let [share, used] = share((rate, round_trip), 0.25, (1, later));
            let told = format!("{share:.2}, {used:.2}, {rate} Mbit/s, {round_trip} ms, {later}");
            assert!((0.2..=2.0).contains(&share) && used >= 0.9, "{told}");
        }
    }
}
