//! A rate that is told, true or ten times wrong: the path's own measurements bound it.

mod bottleneck;
mod pipe;

use baton_path::Initiator;
use baton_proto::rate::DataRate;
use baton_proto::time::Duration;
use bottleneck::{Habit, Lab, LabExt, Link};

const MBIT: f64 = 1e6;
/// The rate of the link.
const LINK: f64 = 10.0;

/// Results of thirty seconds.
#[derive(Debug)]
struct Result {
    /// Rate of arrivals with all headers, in Mbit/s.
    arrived: f64,
    /// Mean delay in the queue, and the longest, in seconds.
    waits: [f64; 2],
    /// Share of what was sent that the queue dropped.
    dropped: f64,
}

/// Sends as much as a path permits whose rate is told (in Mbit/s) or found.
fn send(round_trip_ms: u64, told: Option<f64>) -> [Result; 2] {
    let mut lab = Lab::lab(Link::new((LINK * MBIT) as u64, round_trip_ms, 1.0), 3);
    let way = lab.add_way(Habit::Greedy);
    let rate = told.map(|told| DataRate::from_bits_per_second((told * MBIT) as u64));
    let now = lab.now();
    let router: &mut Initiator = &mut lab.way(way).router;
    router.set_rate(now, rate);
    // At first, and once the path knows.
    [2, 30].map(|seconds| {
        let time = Duration::from_secs(seconds);
        let before = lab.offered[way];
        lab.waits.clear();
        let arrived = lab.arrivals(time)[way];
        let offered = (lab.offered[way] - before) as f64;
        let number = lab.waits.len().max(1) as f64;
        Result {
            arrived: arrived * 8.0 / MBIT / time.as_secs_f64(),
            waits: [
                lab.waits.iter().sum::<f64>() / number,
                lab.waits.iter().copied().fold(0.0, f64::max),
            ],
            dropped: 1.0 - lab.waits.len() as f64 * 1464.0 / offered.max(1.0),
        }
    })
}

#[test]
fn a_rate_ten_times_too_high_fills_no_queue_for_long_and_one_too_low_is_obeyed() {
    for round_trip in [20, 100, 600] {
        let [_, found] = send(round_trip, None);
        for told in [LINK, 10.0 * LINK, LINK / 10.0] {
            let [begin, then] = send(round_trip, Some(told));
            println!("{round_trip} ms, told {told}: at first {begin:.3?}, then {then:.3?}");
            if told < LINK {
                assert!(
                    (0.9 * told..1.01 * told).contains(&then.arrived),
                    "{then:?}"
                );
                assert!(then.waits[1] < 0.01, "{then:?}");
            } else {
                assert!(then.arrived > 0.9 * LINK, "{then:?}");
                // Hardly more of a queue than without a word.
                let most = 1.5 * found.waits[0] + 0.005;
                assert!(then.waits[0] < most, "{then:?}, found {found:?}");
                assert!(then.dropped < 0.01, "{then:?}");
                // A train refutes the word before much is sent at its rate.
                assert!(begin.dropped < 0.12, "{begin:?}");
            }
        }
    }
}
