//! Linux 2.0.36, by its sources and as study T saw it: a path whose round-trip time jumps from some 4 ms to seconds.

use super::*;
use crate::tcp::profile::Algorithm;
use std::collections::BTreeSet;

fn sender() -> Profile {
    Profile {
        maximum_segment_size: 1_420,
        ..profile("linux-2.0.36")
    }
}

/// 2 Mbit/s and 4 ms there and back; from 12 s on 960 B/s and 700 ms, as WaveLAN and GSM in T2. Acknowledgments
/// take the delay alone.
fn wavelan_then_gsm() -> Path {
    let mut fast = link(250_000, 2);
    let mut slow = link(960, 350);
    Box::new(move |passing| {
        let before = passing.now < Instant::from_secs(12);
        Fate::Deliver(match (passing.from, before) {
            (Side::A, true) => fast(passing),
            (Side::A, false) => slow(passing),
            // The old path delivers what it holds: a soft handover.
            (Side::B, _) if passing.now < at_ms(12_100) => ms(2),
            (Side::B, _) => ms(350),
        })
    })
}

#[test]
fn t2_spurious_timeouts_and_no_fast_retransmit() {
    let receiver = profile("linux-2.0.36");
    let mut pair = Pair::new(&sender(), &receiver, wavelan_then_gsm());
    pair.a.application.pattern = Some((1, u64::MAX / 2));
    pair.run_until(Instant::from_secs(12));
    let before = *pair.a.connection.statistics();
    assert_eq!(before.retransmitted, 0);
    assert_eq!(pair.a.connection.retransmission_timeout(), ms(200));
    // 16 kB in segments of 1420 bytes: eleven.
    assert!(pair.a.connection.bytes_in_flight() <= 11 * 1_420);
    // 200 ms, 400 ms and 800 ms: three timeouts in the first 1.4 s and the tick; the fourth would need 1.6 s more.
    pair.run_until(at_ms(14_000));
    assert_eq!(pair.a.connection.statistics().timeouts, 3);
    assert_eq!(pair.a.connection.retransmission_timeout(), ms(1_600));
    pair.run_until(Instant::from_secs(75));

    let (mut highest, mut again, mut new) = (0, BTreeSet::new(), Vec::new());
    for (at, what) in &pair.a.log {
        let Some(Ok(start)) = what.split("..").next().map(str::parse::<u64>) else {
            continue;
        };
        if start >= highest {
            highest = start + 1;
            new.push(*at);
        } else {
            again.insert(start);
        }
    }
    // The study: the whole window of 11 segments; here 12 or 13, with the segment of which the acknowledgment was
    // delayed across the change, and the first of the next window.
    assert!((11..=14).contains(&again.len()), "{again:?}");
    let after = *pair.a.connection.statistics();
    assert_eq!(after.fast_retransmits, 0);
    // The study: 15 and three more.
    assert!(
        (15..=25).contains(&after.duplicate_acks_received),
        "{after:?}"
    );
    // The study: about 26 s without new data, while the second copies of the window cross the slow link. Here
    // more of them are under way (see above), each for 1.5 s.
    let silence = new
        .windows(2)
        .map(|pair| pair[1].saturating_since(pair[0]))
        .max();
    assert!(silence > Some(Duration::from_secs(20)) && silence < Some(Duration::from_secs(36)));
    assert!(is_pattern(&pair.b.application.received, 1));
}

/// By hand from the sources of Linux 2.0. An ACK sets the timer by the oldest segment's last transmission, here long ago, to
/// two ticks; the retransmission that follows does not set it anew, and so the same segment leaves twice.
#[test]
fn nothing_new_is_sent_until_the_window_is_repaired() {
    let mut solo = Solo::established(&sender());
    solo.write(40_000);
    let mut out = 1;
    // Slow start to four segments in flight.
    assert_eq!(solo.sends(), ["1..1001"]);
    for _ in 0..3 {
        out += 1_000;
        solo.at(200).receive(ack(out));
        solo.sends();
    }
    assert_eq!(solo.connection.bytes_in_flight(), 4_000);
    let samples = solo.connection.statistics().rtt_samples;
    solo.at(2_000);
    assert_eq!(solo.sends(), ["3001..4001"]);
    // The originals' acknowledgments arrive late: they drive retransmissions, nothing else.
    solo.at(2_100).receive(ack(4_001));
    assert_eq!(solo.sends(), ["4001..5001", "5001..6001"]);
    assert_eq!(solo.at(2_119).sends(), Vec::<String>::new());
    assert_eq!(solo.at(2_120).sends(), ["4001..5001"]);
    // The threshold is one segment, and one in the network was acknowledged: the window of two is free.
    solo.at(2_200).receive(ack(5_001));
    assert_eq!(solo.sends(), ["5001..6001", "6001..7001"]);
    solo.at(2_300).receive(ack(6_001));
    assert_eq!(solo.sends(), Vec::<String>::new());
    assert_eq!(solo.connection.statistics().rtt_samples, samples, "Karn");
    solo.at(2_400).receive(ack(7_001));
    assert_eq!(solo.sends()[0], "7001..8001");
    // Duplicates of the repaired window, from the segments sent twice: no fast retransmit.
    for _ in 0..15 {
        solo.receive(ack(7_001));
    }
    assert_eq!(solo.connection.statistics().fast_retransmits, 0);
}

#[test]
fn timeouts_in_a_row_leave_no_threshold() {
    let mut solo = Solo::established(&sender());
    solo.write(40_000);
    solo.sends();
    for acknowledged in 1..=8 {
        solo.at(200).receive(ack(acknowledged * 1_000 + 1));
        solo.sends();
    }
    assert_eq!(solo.connection.congestion_window(), 9_000);
    solo.at(1_000);
    solo.sends();
    assert_eq!(solo.connection.slow_start_threshold(), 4_000);
    solo.at(10_000);
    solo.sends();
    assert_eq!(solo.connection.slow_start_threshold(), 0);
}

#[test]
fn the_other_congestion_controls_run_in_this_profile() {
    for congestion in [Algorithm::Reno, Algorithm::NewReno, Algorithm::Cubic] {
        let mut profile = sender();
        profile.congestion = congestion;
        let mut pair = Pair::new(&profile, &profile, wavelan_then_gsm());
        pair.a.application.pattern = Some((1, 60_000));
        pair.run_until(Instant::from_secs(100));
        assert_eq!(pair.b.application.received.len(), 60_000);
    }
}

/// By hand from the sources of Linux 2.0. The end that opened the connection acknowledges 2048 bytes at once, here three
/// segments; the one that accepted it only by its timer (`max_unacked`), or when an ACK would double the window that is
/// left (`tcp_raise_window`): of 16 384 bytes after nine segments, 7384.
#[test]
fn the_end_that_accepted_acknowledges_half_a_window() {
    let receiver = profile("linux-2.0.36");
    let opened = Solo::established(&receiver);
    let mut accepted = Solo {
        now: Instant::ZERO,
        connection: Connection::accept(
            Instant::ZERO,
            end_point(1, 40_000),
            end_point(2, 80),
            &receiver,
            ISS_A,
            1500,
            &from_peer(TcpFlags::SYN, 0, 0).header,
        ),
    };
    assert_eq!(accepted.sends(), ["SYN ack 1"]);
    accepted.at(100).receive(ack(1));
    for (mut solo, segments) in [(opened, 3), (accepted, 9)] {
        for segment in 1..=segments {
            assert_eq!(solo.sends(), Vec::<String>::new());
            let from = 1 + 1_000 * (segment - 1);
            solo.at(200).receive(data(from, from + 1_000));
            solo.connection.discard(u64::MAX);
        }
        assert_eq!(solo.sends(), [format!("ack {}", 1 + 1_000 * segments)]);
    }
}

/// By hand from the sources of Linux 2.0: data that fills a gap is acknowledged by the timer, here half of a third of a
/// second and a tick later.
#[test]
fn what_fills_a_gap_waits_for_the_timer() {
    let mut solo = Solo::established(&profile("linux-2.0.36"));
    solo.at(200).receive(data(1_001, 2_001));
    assert_eq!(solo.sends(), ["ack 1"]);
    solo.at(200).receive(data(1, 1_001));
    solo.connection.discard(u64::MAX);
    assert_eq!(solo.at(370).sends(), Vec::<String>::new());
    assert_eq!(solo.at(390).sends(), ["ack 2001"]);
}
