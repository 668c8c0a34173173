//! Fast retransmit and recovery: Reno, NewReno, SACK; what follows a timeout.

use super::*;
use crate::tcp::profile::{Algorithm, Recovery};

fn with(recovery: Recovery) -> Profile {
    Profile {
        recovery,
        sack: recovery == Recovery::Sack,
        congestion: Algorithm::NewReno,
        ..profile("rfc")
    }
}

/// Ten segments are out at 100 ms: 1..10001, and more is waiting.
fn ten_out(profile: &Profile) -> Solo {
    let mut solo = Solo::established(profile);
    solo.write(100_000);
    assert_eq!(solo.sends().len(), 10);
    solo.at(200);
    solo
}

#[test]
fn three_duplicates_bring_the_segment_again_and_inflate_the_window() {
    let mut solo = ten_out(&with(Recovery::NewReno));
    // RFC 3042: the first two duplicates each let out a new segment.
    assert_eq!(solo.receive(ack(1)).sends(), ["10001..11001"]);
    assert_eq!(solo.receive(ack(1)).sends(), ["11001..12001"]);
    // The third: 12 segments in flight, of which the two of limited transmit do not count (RFC 5681 section 3.2,
    // step 2): ssthresh 5, window 5 + 3.
    assert_eq!(solo.receive(ack(1)).sends(), ["1..1001"]);
    assert_eq!(solo.connection.slow_start_threshold(), 5_000);
    assert_eq!(solo.connection.congestion_window(), 8_000);
    // Each further one adds a segment; new data from the thirteenth segment of window on.
    for _ in 0..4 {
        assert!(solo.receive(ack(1)).sends().is_empty());
    }
    assert_eq!(solo.receive(ack(1)).sends(), ["12001..13001"]);
    assert_eq!(solo.connection.congestion_window(), 13_000);
    // A full acknowledgment deflates to ssthresh.
    solo.at(300).receive(ack(13_001));
    assert_eq!(solo.connection.congestion_window(), 5_000);
    assert_eq!(solo.sends().len(), 5);
    assert_eq!(solo.connection.statistics().fast_retransmits, 1);
}

/// RFC 6675 section 6 lets the timer count anew from a retransmission, so that a repair longer than it needs no timeout.
#[test]
fn a_fast_retransmit_restarts_the_timer() {
    for recovery in [Recovery::Reno, Recovery::NewReno, Recovery::Sack] {
        let mut solo = ten_out(&with(recovery));
        for sacked in 1..=3 {
            assert_eq!(solo.wakes_at(), Some(100 + 1_000), "{recovery:?}");
            solo.receive(ack(1).sack(&[(1_001, 1_001 + 1_000 * sacked)]));
            solo.sends();
        }
        assert_eq!(solo.wakes_at(), Some(200 + 1_000), "{recovery:?}");
    }
}

#[test]
fn newreno_repairs_one_hole_with_each_partial_acknowledgment() {
    // RFC 6582 section 3.2: segments 1 and 4 are lost.
    let mut solo = ten_out(&with(Recovery::NewReno));
    for _ in 0..3 {
        solo.receive(ack(1));
        solo.sends();
    }
    // 12 out, window 5 + 3. The retransmission fills the first hole: 3 segments acknowledged, the
    // window deflates by 3 and gains 1: 5 + 1.
    solo.at(300).receive(ack(3_001));
    assert_eq!(solo.connection.congestion_window(), 6_000);
    assert_eq!(solo.sends(), ["3001..4001"]);
    solo.at(400).receive(ack(12_001));
    assert_eq!(solo.connection.congestion_window(), 5_000);
    assert_eq!(solo.connection.statistics().fast_retransmits, 1);
}

#[test]
fn reno_leaves_recovery_at_the_first_new_acknowledgment() {
    let mut solo = ten_out(&with(Recovery::Reno));
    for _ in 0..3 {
        solo.receive(ack(1));
        solo.sends();
    }
    solo.at(300).receive(ack(3_001));
    assert_eq!(solo.connection.congestion_window(), 5_000);
    assert!(
        solo.sends().is_empty(),
        "the second hole is left to new duplicates or a timeout"
    );
}

/// SACK is on and recovery does not use it: what it reports has left the "pipe" (RFC 6675 section 4), so a duplicate
/// lets out one segment (RFC 5681 section 3.2, step 4) and not two, however long the repair takes.
#[test]
fn duplicates_count_once_where_sack_reports_them_too() {
    for recovery in [Recovery::Reno, Recovery::NewReno] {
        let mut solo = ten_out(&Profile {
            sack: true,
            ..with(recovery)
        });
        let mut sent = 10;
        for sacked in 1..40 {
            let end = 1_001 + 1_000 * sacked;
            solo.receive(ack(1).sack(&[(1_001, end)]));
            let sends = solo.sends();
            assert!(sends.len() <= 1, "{recovery:?}: {sends:?}");
            sent += sends.iter().filter(|it| *it != "1..1001").count() as u32;
            if sacked >= 3 {
                assert_eq!(solo.connection.congestion_window(), 5_000);
            }
        }
        // 39 reported and one repeated, of which all but the first were new: five of window stay out.
        assert_eq!(sent, 1 + 39 + 4);
    }
}

/// The windows of Reno never grow from loss to loss: what duplicates let out beyond the window does not count.
#[test]
fn a_second_loss_right_after_recovery_lowers_the_threshold_again() {
    let mut solo = ten_out(&with(Recovery::Reno));
    for _ in 0..13 {
        solo.receive(ack(1));
        solo.sends();
    }
    assert_eq!(solo.connection.slow_start_threshold(), 5_000);
    solo.at(300).receive(ack(3_001));
    solo.sends();
    assert!(solo.connection.bytes_in_flight() > 10_000);
    for _ in 0..3 {
        solo.receive(ack(3_001));
        solo.sends();
    }
    assert_eq!(solo.connection.statistics().fast_retransmits, 2);
    assert_eq!(solo.connection.slow_start_threshold(), 2_500);
}

#[test]
fn duplicates_that_carry_data_or_a_new_window_do_not_count() {
    let mut solo = ten_out(&with(Recovery::NewReno));
    for (index, window) in [50_000, 51_000, 52_000, 53_000].into_iter().enumerate() {
        let from = 1 + index as i64;
        solo.receive(data(from, from + 1))
            .receive(ack(1).window(window));
    }
    assert_eq!(solo.connection.statistics().duplicate_acks_received, 0);
}

#[test]
fn without_limited_transmit_the_first_duplicates_bring_nothing() {
    let mut profile = with(Recovery::NewReno);
    profile.limited_transmit = false;
    let mut solo = ten_out(&profile);
    assert!(solo.receive(ack(1)).sends().is_empty());
    assert!(solo.receive(ack(1)).sends().is_empty());
    assert_eq!(solo.receive(ack(1)).sends(), ["1..1001"]);
    assert_eq!(solo.connection.slow_start_threshold(), 5_000);
}

#[test]
fn sack_recovery_keeps_the_pipe_full_and_resends_only_holes() {
    // Segments 1, 3 and 5 of ten are lost.
    let mut solo = ten_out(&with(Recovery::Sack));
    assert_eq!(
        solo.receive(ack(1).sack(&[(1_001, 2_001)])).sends(),
        ["10001..11001"]
    );
    let two = [(3_001, 4_001), (1_001, 2_001)];
    assert_eq!(solo.receive(ack(1).sack(&two)).sends(), ["11001..12001"]);
    // The third: window 5, for limited transmit does not count. Segment 1 goes whatever the pipe holds:
    // 12 − 3 SACKed − 1 lost = 8.
    let holes = [(3_001, 4_001), (1_001, 2_001)];
    let sacked_to = |end| ack(1).sack(&[(5_001, end), holes[0], holes[1]]);
    assert_eq!(solo.receive(sacked_to(6_001)).sends(), ["1..1001"]);
    assert_eq!(solo.connection.congestion_window(), 5_000);
    // With the retransmission the pipe holds 9, then 7 (segment 3 is lost: two segments and more above it), then
    // 5 (segment 5 is lost): nothing may go.
    assert!(solo.receive(sacked_to(7_001)).sends().is_empty());
    assert!(solo.receive(sacked_to(8_001)).sends().is_empty());
    // Then a segment for each that leaves: the holes first, then new data.
    assert_eq!(solo.receive(sacked_to(9_001)).sends(), ["2001..3001"]);
    assert_eq!(solo.receive(sacked_to(10_001)).sends(), ["4001..5001"]);
    assert_eq!(solo.receive(sacked_to(11_001)).sends(), ["12001..13001"]);
    solo.at(300).receive(ack(13_001));
    assert_eq!(solo.connection.congestion_window(), 5_000);
    assert_eq!(solo.connection.statistics().retransmitted, 3);
}

#[test]
fn sack_finds_a_loss_before_the_third_duplicate() {
    // RFC 6675 section 4, IsLost: more than two full segments SACKed above, in one acknowledgment.
    let mut solo = ten_out(&with(Recovery::Sack));
    solo.receive(ack(1).sack(&[(1_001, 4_001)]));
    assert_eq!(solo.sends()[0], "1..1001");
    assert_eq!(solo.connection.statistics().fast_retransmits, 1);
}

#[test]
fn the_rescue_retransmission_sends_the_last_segment_again() {
    // RFC 6675 section 5 (4): nothing new to send, the tail of the flight may be lost as well.
    let mut solo = Solo::established(&with(Recovery::Sack));
    solo.write(6_000);
    assert_eq!(solo.sends().len(), 6);
    // Segments 1 and 6 are lost.
    solo.at(200).receive(ack(1).sack(&[(1_001, 5_001)]));
    assert_eq!(solo.sends(), ["1..1001", "5001..6001"]);
    solo.at(300).receive(ack(6_001));
    assert_eq!(solo.connection.statistics().timeouts, 0);
}

#[test]
fn after_a_timeout_what_is_sacked_is_not_sent_again() {
    let mut profile = with(Recovery::Sack);
    profile.duplicate_ack_threshold = None;
    let mut solo = ten_out(&profile);
    solo.receive(ack(1).sack(&[(2_001, 9_001)]));
    solo.sends();
    assert_eq!(
        solo.at(1_100).sends(),
        ["1..1001"],
        "a window of one segment"
    );
    assert_eq!(solo.connection.congestion_window(), 1_000);
    solo.at(1_200).receive(ack(1_001).sack(&[(2_001, 9_001)]));
    assert_eq!(
        solo.sends(),
        ["1001..2001", "9001..10001"],
        "slow start over the holes"
    );
}

#[test]
fn a_receiver_that_reneges_gets_everything_again() {
    let mut solo = ten_out(&with(Recovery::Sack));
    solo.receive(ack(1).sack(&[(1_001, 2_001)]));
    solo.sends();
    solo.at(300).receive(ack(1_001));
    solo.sends();
    // It acknowledges segment 1 but not segment 2, which it had SACKed.
    assert_eq!(solo.at(1_300).sends(), ["1001..2001"], "RFC 2018 section 8");
}

#[test]
fn after_a_timeout_slow_start_sends_the_flight_again() {
    let mut solo = ten_out(&with(Recovery::NewReno));
    assert_eq!(solo.at(1_100).sends(), ["1..1001"]);
    assert_eq!(solo.connection.slow_start_threshold(), 5_000);
    solo.at(1_200).receive(ack(1_001));
    assert_eq!(solo.sends(), ["1001..2001", "2001..3001"]);
    // Duplicates of what was outstanding bring no fast retransmit (RFC 6582 section 3.2).
    for _ in 0..5 {
        solo.receive(ack(1_001));
    }
    assert!(solo.sends().is_empty());
    assert_eq!(solo.connection.statistics().fast_retransmits, 0);
    // The originals were only late: a jump of the acknowledgment ends the repetition.
    solo.at(1_300).receive(ack(10_001));
    assert_eq!(solo.sends()[0], "10001..11001");
    assert_eq!(solo.connection.statistics().retransmitted, 3);
}

#[test]
fn a_loss_in_a_long_transfer_costs_one_retransmission() {
    for recovery in [Recovery::Reno, Recovery::NewReno, Recovery::Sack] {
        let profile = with(recovery);
        let mut pair = Pair::new(
            &profile,
            &profile,
            Box::new(|passing| match (passing.from, passing.number) {
                (Side::A, 60) => Fate::Drop,
                _ => Fate::Deliver(ms(20)),
            }),
        );
        pair.a.application.pattern = Some((1, 500_000));
        pair.a.application.close_when_written = true;
        pair.b.application.close_when_written = true;
        pair.run_to_rest(Instant::from_secs(1_000));
        let statistics = *pair.a.connection.statistics();
        assert_eq!(
            (statistics.retransmitted, statistics.timeouts),
            (1, 0),
            "{recovery:?}"
        );
        assert!(is_pattern(&pair.b.application.received, 1));
    }
}

#[test]
fn many_losses_in_a_window_cost_sack_one_round_trip() {
    let profile = with(Recovery::Sack);
    let mut pair = Pair::new(
        &profile,
        &profile,
        Box::new(|passing| match (passing.from, passing.number) {
            (Side::A, 100..=120) if passing.number % 2 == 0 => Fate::Drop,
            _ => Fate::Deliver(ms(50)),
        }),
    );
    pair.a.application.pattern = Some((1, 500_000));
    pair.run_until(Instant::from_secs(20));
    let statistics = *pair.a.connection.statistics();
    assert_eq!(pair.b.application.received.len(), 500_000);
    assert_eq!((statistics.retransmitted, statistics.timeouts), (11, 0));
    assert_eq!(statistics.fast_retransmits, 1);
}
