//! Marks of congestion (RFC 3168), and the rate that follows: nine tenths of the arrival rate, 5 Mbit/s here.

use super::*;
use crate::wire::tcp::TcpFlags;

/// Returns the times at which B has sent a report of congestion.
fn reports(pair: &Pair) -> Vec<Instant> {
    let reports = pair.log.iter().filter(|(_, end, packet)| {
        let Body::Aerotp(packet) = &packet.body else {
            return false;
        };
        *end == End::B && packet.header.tcp_flags.contains(TcpFlags::ECE)
    });
    reports.map(|(at, ..)| *at).collect()
}

fn rate(pair: &Pair) -> f64 {
    let rate = pair.a.rate(PathId(0)).map(DataRate::bits_per_second);
    rate.unwrap_or(0) as f64 / 1e6
}

fn mark(pair: &mut Pair) {
    pair.b.as_mut().expect("B has answered").note_congestion();
}

#[test]
fn a_mark_is_reported_once_and_lowers_the_rate_for_a_round_trip() {
    let mut pair = Pair::new(with_mode(Mode::Reliable), study_path(0.0, 1));
    pair.write(4_000_000);
    pair.seconds(1.0);
    assert_eq!(rate(&pair), 5.0);
    mark(&mut pair);
    pair.seconds(1.03);
    assert_eq!(reports(&pair).len(), 1);
    assert!((4.2..4.8).contains(&rate(&pair)), "{}", rate(&pair));
    // Steps of a twentieth each 100 ms.
    pair.seconds(1.5);
    assert_eq!(rate(&pair), 5.0);
    assert_eq!(reports(&pair).len(), 1);
}

/// Marks at every packet count once in a round trip: the rate sinks, but by no more than a tenth of what arrives each time.
#[test]
fn marks_at_all_packets_lower_the_rate_step_by_step() {
    let mut pair = Pair::new(with_mode(Mode::Reliable), study_path(0.0, 1));
    pair.write(4_000_000);
    pair.seconds(1.0);
    for millisecond in 0..200 {
        mark(&mut pair);
        pair.seconds(1.0 + f64::from(millisecond) / 1000.0);
    }
    // Nine round trips of 22 ms at most: 0.9^9 of 5 Mbit/s.
    assert!((1.9..4.2).contains(&rate(&pair)), "{}", rate(&pair));
}

/// A mode without MACKs has no way to report.
#[test]
fn a_mode_without_answers_ignores_marks() {
    let mut pair = Pair::new(with_mode(Mode::UnreliableConnection), study_path(0.0, 1));
    pair.write(1_000_000);
    pair.seconds(0.5);
    mark(&mut pair);
    pair.seconds(1.0);
    assert!(reports(&pair).is_empty());
    assert_eq!(rate(&pair), 5.0);
}
