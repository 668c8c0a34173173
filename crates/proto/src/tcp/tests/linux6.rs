//! A present Linux: what RFC 8985, 6937, 5682, 3522 and 2883 ask for, and what the kernel (6.18) was seen to do.

use super::*;
use crate::tcp::Statistics;
use crate::wire::tcp::Timestamps;

/// Linux without its coarse timers, which would blur the arithmetic, with Reno's round numbers and buffers of one size.
pub(super) fn linux() -> Profile {
    Profile {
        congestion: crate::tcp::profile::Algorithm::Reno,
        timer_wheel: false,
        timestamps: false,
        receive_autotuning: Autotuning::Off,
        send_autotuning: false,
        ..profile("linux-6")
    }
}

/// `segments` are out; the round trip of the handshake took 100 ms.
pub(super) fn out(profile: &Profile, segments: u64) -> Solo {
    let mut solo = Solo::established(profile);
    solo.write(segments * 1_000);
    assert_eq!(solo.sends().len() as u64, segments);
    solo
}

pub(super) fn statistics(solo: &Solo) -> Statistics {
    *solo.connection.statistics()
}

pub(super) fn window(solo: &Solo) -> u32 {
    solo.connection.congestion_window() / 1_000
}

#[test]
fn a_timeout_is_at_least_200_ms_beyond_the_round_trip() {
    let mut solo = Solo::established(&linux());
    // 100 ms: 100 + max(2 · 100, 200) = 300 (`tcp_rtt_estimator`).
    assert_eq!(solo.connection.retransmission_timeout(), ms(300));
    let mut next = 1;
    for round in 1..40 {
        solo.write(1_000);
        solo.sends();
        next += 1_000;
        solo.at(100 + round * 100).receive(ack(next));
    }
    // RFC 6298 would be at its floor, 200 ms in all.
    assert_eq!(solo.connection.retransmission_timeout(), ms(300));
}

#[test]
fn an_echo_measures_a_retransmission() {
    let mut profile = linux();
    profile.timestamps = true;
    let mut pair = Pair::new(&profile, &profile, {
        let mut lost = false;
        Box::new(move |passing| {
            let first = passing.segment.payload.length() > 0 && !lost;
            lost |= first;
            if first {
                Fate::Drop
            } else {
                Fate::Deliver(ms(50))
            }
        })
    });
    pair.run_until(at_ms(1_000));
    pair.a.connection.write(&[7; 100]);
    pair.run_until(at_ms(3_000));
    // One segment's probe waits for two round trips and 200 ms, its timeout for 300 ms: the earlier is a probe.
    assert_eq!(pair.a.connection.statistics().tail_loss_probes, 1);
    assert_eq!(pair.a.connection.last_rtt_sample(), Some(ms(100)));
}

/// RFC 8985 section 6.2: what was sent before something that has arrived is lost once three have (section 6.2.1: no
/// reordering was seen), here by one acknowledgment; the next segments stay until they are overdue.
#[test]
fn rack_finds_a_loss_by_the_third_segment_beyond_it() {
    let mut solo = out(&linux(), 10);
    solo.at(200).receive(ack(1).sack(&[(1_001, 3_001)]));
    assert!(solo.sends().is_empty(), "two only");
    // A quarter of the shortest round trip is left to the first, plus 2 ms.
    assert_eq!(solo.wakes_at(), Some(200 + 25 + 2));
    solo.receive(ack(1).sack(&[(1_001, 4_001)]));
    assert_eq!(solo.sends(), ["1..1001"]);
    assert_eq!(statistics(&solo).fast_retransmits, 1);
}

/// `tcp_xmit_retransmit_queue`: with the oldest segment the timer counts anew (RFC 6675 section 6), whether three segments
/// beyond it have told the loss or the time for reordering is over. The probe of the tail waits no more.
#[test]
fn the_timer_counts_from_the_retransmission_of_the_oldest() {
    for (sacked, at) in [(4_001, 200), (2_001, 227)] {
        let mut solo = out(&linux(), 10);
        solo.at(200).receive(ack(1).sack(&[(1_001, sacked)]));
        assert_eq!(solo.at(at).sends(), ["1..1001"]);
        let rto = solo.connection.retransmission_timeout().as_nanos() / 1_000_000;
        assert_eq!(solo.wakes_at(), Some(at + rto));
    }
}

#[test]
fn rack_waits_a_quarter_of_the_round_trip_for_what_was_reordered() {
    let mut solo = out(&linux(), 10);
    solo.at(200).receive(ack(1).sack(&[(1_001, 2_001)]));
    assert!(solo.sends().is_empty());
    assert_eq!(
        solo.at(227).sends(),
        ["1..1001"],
        "RFC 8985 section 6.2 step 5"
    );
    assert_eq!(statistics(&solo).timeouts, 0);
    // Without RACK two more duplicates must come (RFC 6675).
    let mut old = linux();
    old.rack = false;
    let mut solo = out(&old, 10);
    solo.at(200).receive(ack(1).sack(&[(1_001, 2_001)]));
    assert!(solo.at(227).sends().is_empty());
}

#[test]
fn rack_finds_the_loss_of_a_retransmission() {
    let mut solo = out(&linux(), 10);
    solo.write(10_000);
    solo.at(200).receive(ack(1).sack(&[(1_001, 4_001)]));
    // Three were delivered, the window of ten is to fall to five: PRR lets ceil(3 · 5 / 10) = 2 go.
    assert_eq!(solo.sends(), ["1..1001", "10001..11001"]);
    solo.at(201).receive(ack(1).sack(&[(1_001, 6_001)]));
    assert_eq!(solo.sends(), ["11001..12001"], "ceil(5 · 5 / 10) − 2");
    // Segments sent after the copy arrive, the copy does not.
    solo.at(301)
        .receive(ack(1).sack(&[(10_001, 11_001), (1_001, 10_001)]));
    assert_eq!(solo.sends()[0], "1..1001");
    assert_eq!(statistics(&solo).timeouts, 0);
}

/// RFC 8985 section 7: two round trips after the last transmission, and 2 ms (Linux).
#[test]
fn a_tail_is_probed_by_its_last_segment() {
    assert_eq!(out(&linux(), 3).wakes_at(), Some(100 + 202));
    let mut solo = out(&linux(), 3);
    solo.at(200).receive(ack(1_001));
    assert_eq!(solo.wakes_at(), Some(200 + 202));
    assert_eq!(solo.at(402).sends(), ["2001..3001"]);
    // The probe's SACK shows the loss of the second; no timeout is needed.
    solo.at(502).receive(ack(1_001).sack(&[(2_001, 3_001)]));
    assert_eq!(solo.sends(), ["1001..2001"]);
    assert_eq!(
        (
            statistics(&solo).timeouts,
            statistics(&solo).tail_loss_probes
        ),
        (0, 1)
    );
}

#[test]
fn a_probe_that_repairs_the_loss_costs_the_window() {
    let mut solo = out(&linux(), 10);
    solo.at(200).receive(ack(9_001));
    let before = window(&solo);
    // One segment is out: its acknowledgment may be delayed, so 200 ms more, but the timeout comes first.
    let at = solo.wakes_at().unwrap();
    assert_eq!(solo.at(at).sends(), ["9001..10001"]);
    solo.write(1_000);
    assert_eq!(solo.sends(), ["10001..11001"]);
    // RFC 8985 section 7.4.2: more than the probe's end is acknowledged, and no duplicate reported.
    solo.at(at + 100).receive(ack(11_001));
    assert_eq!(window(&solo), before / 2);
    // With a duplicate SACK for the probe, nothing was lost.
    let mut solo = out(&linux(), 10);
    solo.at(200).receive(ack(9_001));
    let at = solo.wakes_at().unwrap();
    solo.at(at).sends();
    solo.at(at + 100)
        .receive(ack(10_001).sack(&[(9_001, 10_001)]));
    solo.write(1_000);
    solo.sends();
    solo.at(at + 200).receive(ack(11_001));
    assert_eq!(solo.connection.slow_start_threshold(), u32::MAX);
}

/// RFC 6937 section 4, its first example in Linux's terms: half of the window, a segment for every two delivered.
#[test]
fn the_window_falls_in_proportion_to_what_is_delivered() {
    let mut profile = linux();
    profile.initial_window = 20;
    let mut solo = out(&profile, 20);
    solo.write(40_000);
    let mut sent = Vec::new();
    for segment in 2..=19 {
        solo.at(200 + 2 * segment)
            .receive(ack(1).sack(&[(1_001, segment as u32 * 1_000 + 1)]));
        sent.push(solo.sends().len());
    }
    // Two duplicates let out a segment each; the third brings the retransmission; then one for every two.
    assert_eq!(sent[..3], [1, 1, 1]);
    let rest: usize = sent[3..].iter().sum();
    assert!((7..=8).contains(&rest), "{sent:?}");
    solo.at(320).receive(ack(20_001));
    assert!((10..=11).contains(&window(&solo)), "{}", window(&solo));
    assert_eq!(solo.connection.slow_start_threshold(), 10_000);
}

#[test]
fn without_proportional_reduction_the_window_falls_at_once() {
    let mut profile = linux();
    profile.proportional_rate_reduction = false;
    let mut solo = out(&profile, 10);
    solo.at(200).receive(ack(1).sack(&[(1_001, 4_001)]));
    solo.sends();
    assert_eq!(window(&solo), 5);
}

pub(super) fn without_probes() -> Profile {
    Profile {
        tail_loss_probe: false,
        ..linux()
    }
}

/// RFC 5682 section 2.1: the acknowledgment of the first segment brings new data, that of originals ends it.
#[test]
fn a_spurious_timeout_is_found_and_taken_back() {
    let mut solo = out(&without_probes(), 10);
    solo.write(10_000);
    assert_eq!(solo.at(400).sends(), ["1..1001"]);
    assert_eq!(window(&solo), 1);
    // The originals were only late.
    solo.at(450).receive(ack(1_001));
    assert_eq!(solo.sends(), ["10001..11001", "11001..12001"], "step 2.b");
    solo.at(451).receive(ack(2_001));
    assert_eq!(statistics(&solo).spurious_timeouts, 1);
    assert!(window(&solo) >= 10);
    assert!(solo.sends().iter().all(|sent| sent.starts_with('1')));
    assert_eq!(statistics(&solo).retransmitted, 1);
}

#[test]
fn a_timeout_that_was_right_is_not_taken_back() {
    let mut solo = out(&without_probes(), 10);
    solo.write(10_000);
    assert_eq!(solo.at(400).sends(), ["1..1001"]);
    solo.at(500).receive(ack(1_001));
    assert_eq!(solo.sends(), ["10001..11001", "11001..12001"]);
    // Step 3.a: a duplicate, by the new data.
    solo.at(600).receive(ack(1_001).sack(&[(10_001, 11_001)]));
    assert_eq!(solo.sends()[0], "1001..2001");
    assert_eq!(statistics(&solo).spurious_timeouts, 0);
    assert_eq!(solo.connection.slow_start_threshold(), 5_000);
}

#[test]
fn without_forward_rto_the_flight_is_sent_again() {
    let mut profile = without_probes();
    profile.forward_rto = false;
    let mut solo = out(&profile, 10);
    solo.write(10_000);
    solo.at(400).sends();
    solo.at(450).receive(ack(1_001));
    assert_eq!(solo.sends(), ["1001..2001", "2001..3001"]);
}

/// RFC 2883 and 3708: every retransmission turns out a duplicate.
#[test]
fn duplicate_sacks_take_a_reduction_back() {
    let mut solo = out(&linux(), 10);
    solo.write(10_000);
    solo.at(200).receive(ack(1).sack(&[(1_001, 4_001)]));
    assert_eq!(solo.sends(), ["1..1001", "10001..11001"]);
    // The original was late: it fills the hole, and the copy is reported as a duplicate.
    solo.at(210).receive(ack(4_001));
    solo.sends();
    assert!(window(&solo) < 10);
    solo.at(300).receive(ack(4_001).sack(&[(1, 1_001)]));
    assert!(window(&solo) >= 10, "{}", window(&solo));
    assert_eq!(statistics(&solo).undone_reductions, 1);
    let mut firm = linux();
    firm.undo = false;
    let mut solo = out(&firm, 10);
    solo.at(200).receive(ack(1).sack(&[(1_001, 4_001)]));
    solo.sends();
    solo.at(210).receive(ack(4_001));
    solo.at(300).receive(ack(4_001).sack(&[(1, 1_001)]));
    assert_eq!(statistics(&solo).undone_reductions, 0);
}

/// RFC 3522: the first acknowledgment echoes a timestamp older than the retransmission.
#[test]
fn an_old_echo_takes_a_reduction_back() {
    let mut profile = linux();
    profile.timestamps = true;
    let late = 3;
    let mut pair = Pair::new(
        &profile,
        &profile,
        Box::new(move |passing| {
            // The fourth segment with data is held up for longer than the reordering window.
            let held = passing.from == Side::A && passing.number == 1 + late;
            Fate::Deliver(ms(if held { 120 } else { 50 }))
        }),
    );
    pair.a.application.pattern = Some((1, 100_000));
    pair.run_until(at_ms(2_000));
    let statistics = *pair.a.connection.statistics();
    assert_eq!(statistics.fast_retransmits, 1);
    assert_eq!(statistics.undone_reductions, 1);
    assert_eq!(pair.a.connection.slow_start_threshold(), u32::MAX);
}

/// RFC 2883 section 4: the first block reports the duplicate, once.
#[test]
fn a_duplicate_is_reported_once() {
    let mut solo = Solo::established(&linux());
    solo.at(1_000).receive(data(1, 1_001));
    solo.sends();
    solo.receive(data(1, 1_001));
    assert_eq!(solo.sends(), ["ack 1001 sack 1..1001"]);
    solo.receive(data(2_001, 3_001));
    assert_eq!(solo.sends(), ["ack 1001 sack 2001..3001"]);
    solo.receive(data(2_001, 3_001));
    assert_eq!(solo.sends(), ["ack 1001 sack 2001..3001 sack 2001..3001"]);
    solo.receive(data(501, 2_001));
    assert_eq!(solo.sends(), ["ack 3001 sack 501..1001"]);
}

/// Seen at Linux's receivers: the first segments of a connection are acknowledged one by one.
#[test]
fn the_first_sixteen_segments_are_acknowledged_at_once() {
    let mut solo = Solo::established(&linux());
    let mut acknowledgments = 0;
    for segment in 0..40 {
        let from = 1 + segment * 1_000;
        solo.at(1_000 + segment as u64)
            .receive(data(from, from + 1_000));
        solo.connection.discard(u64::MAX);
        acknowledgments += solo.sends().len();
        if segment == 15 {
            assert_eq!(acknowledgments, 16);
        }
    }
    // Of the rest, every second.
    assert_eq!(acknowledgments, 16 + 12);
}

#[test]
fn the_delay_of_an_acknowledgment_follows_the_gaps() {
    let mut solo = Solo::established(&linux());
    let mut from = 1;
    let mut next = |solo: &mut Solo, at: u64| {
        solo.at(at).receive(data(from, from + 1_000));
        from += 1_000;
        solo.sends().len()
    };
    for at in 0..16 {
        assert_eq!(next(&mut solo, 1_000 + at), 1);
    }
    // Alone, 40 ms.
    assert_eq!(next(&mut solo, 1_100), 0);
    assert_eq!(solo.wakes_at(), Some(1_140));
    assert_eq!(solo.at(1_140).sends().len(), 1);
    // The delay ran out: twice as long, but not beyond the round-trip time of 100 ms.
    assert_eq!(next(&mut solo, 1_300), 0);
    assert_eq!(solo.wakes_at(), Some(1_380));
}

/// `tcp_comp_sack_delay_ns`: three acknowledgments of a gap go at once, the next are put together.
#[test]
fn acknowledgments_of_a_gap_are_compressed() {
    let mut solo = Solo::established(&linux());
    solo.at(1_000).receive(data(1, 1_001));
    solo.sends();
    let mut sent = Vec::new();
    for segment in 2..10 {
        solo.receive(data(segment * 1_000 + 1, segment * 1_000 + 1_001));
        sent.push(solo.sends().len());
    }
    assert_eq!(sent, [1, 1, 1, 0, 0, 0, 0, 0]);
    // A millisecond, and as long as the timer may be late (`tcp_comp_sack_slack_ns`).
    assert!(solo.at(1_001).sends().is_empty());
    assert_eq!(solo.at(1_002).sends(), ["ack 1001 sack 2001..10001"]);
}

#[test]
fn a_syn_is_repeated_each_second_at_first() {
    let mut solo = Solo::connecting(&linux());
    // `tcp_syn_linear_timeouts` 4 and `tcp_syn_retries` 6, by Linux's ip-sysctl.rst: 67 s to the last, 131 s in all.
    for at in [1, 2, 3, 4, 5, 7, 11, 19, 35, 67] {
        assert_eq!(solo.wakes_at(), Some(at * 1_000));
        assert_eq!(solo.at(at * 1_000).sends(), ["SYN"]);
    }
    assert_eq!(solo.wakes_at(), Some(131_000));
    solo.at(131_000);
    assert_eq!(solo.events(), [Event::TimedOut]);
}

/// `tcp_retries2` 15, by Linux's ip-sysctl.rst: "a hypothetical timeout of 924.6 seconds".
#[test]
fn a_dead_path_is_given_up_by_time() {
    let mut solo = out(&without_probes(), 1);
    let mut last = 0;
    while let Some(at) = solo.wakes_at() {
        solo.at(at).sends();
        last = at;
    }
    assert_eq!(solo.events(), [Event::Connected, Event::TimedOut]);
    let since_first = last - 400;
    assert!(
        (924_600..924_600 + 120_000).contains(&since_first),
        "{since_first}"
    );
}

/// RFC 2861, as Linux does it: half for each timeout that has passed, here two.
#[test]
fn an_idle_window_is_halved_for_each_timeout() {
    let mut solo = out(&linux(), 10);
    solo.write(100_000);
    let mut next = 1;
    while window(&solo) < 40 {
        next += 1_000;
        solo.at(200).receive(ack(next));
        solo.sends();
    }
    let flight = u64::from(solo.connection.bytes_in_flight());
    solo.at(300).receive(ack(next + flight as i64));
    solo.sends();
    let left = u64::from(solo.connection.bytes_in_flight());
    solo.at(400).receive(ack(next + (flight + left) as i64));
    let before = window(&solo);
    let rto = solo.connection.retransmission_timeout().as_nanos() / 1_000_000;
    solo.at(300 + 2 * rto + 10).write(100_000);
    let burst = solo.sends().len() as u32;
    assert_eq!(burst, (before / 4).max(10));
}

/// A long transfer over a lossy path, with all of it.
#[test]
fn any_losses_are_repaired_without_stalls() {
    for (sack, timestamps) in [(true, true), (true, false), (false, false)] {
        let profile = Profile {
            sack,
            timestamps,
            // Which copies are lost depends on the count of segments, and that on the window.
            receive_autotuning: Autotuning::Off,
            ..profile("linux-6")
        };
        let mut pair = Pair::new(
            &profile,
            &profile,
            Box::new(|passing| match (passing.from, passing.number % 37) {
                (Side::A, 5 | 11) if passing.number > 20 => Fate::Drop,
                _ => Fate::Deliver(ms(20)),
            }),
        );
        pair.a.application.pattern = Some((1, 2_000_000));
        pair.a.application.close_when_written = true;
        pair.b.application.close_when_written = true;
        pair.run_to_rest(Instant::from_secs(2_000));
        assert!(is_pattern(&pair.b.application.received, 1));
        assert_eq!(pair.b.application.received.len(), 2_000_000);
        let statistics = *pair.a.connection.statistics();
        assert!(statistics.retransmitted < 160, "{statistics:?}");
        if sack {
            assert_eq!(statistics.timeouts, 0, "{statistics:?}");
        }
    }
}

#[test]
fn timestamps_are_in_the_acknowledgments_of_probes() {
    // A guard for the options' room: a duplicate SACK, three blocks and timestamps fill 40 bytes.
    let mut profile = linux();
    profile.timestamps = true;
    let mut solo = Solo::connecting(&profile);
    let mut answer = Incoming::syn_ack(&profile);
    answer.header.options.timestamps = Some(Timestamps { value: 1, echo: 0 });
    solo.at(100).receive(answer);
    solo.sends();
    for from in [2_001, 4_001, 6_001, 8_001, 8_001] {
        let mut incoming = data(from, from + 1_000);
        incoming.header.options.timestamps = Some(Timestamps { value: 2, echo: 0 });
        solo.receive(incoming);
    }
    let sent = solo.sends();
    assert_eq!(sent.last().unwrap().matches("sack").count(), 3, "{sent:?}");
}

pub(super) fn with_bbr() -> Profile {
    Profile {
        congestion: crate::tcp::profile::Algorithm::Bbr,
        ..linux()
    }
}

/// BBR begins at 2.885 windows a round trip: ten in 100 ms are 288 segments a second, which leave in twos.
#[test]
fn bbr_paces_its_segments() {
    let mut solo = out(&with_bbr(), 10);
    solo.write(20_000);
    solo.at(200).receive(ack(5_001));
    assert_eq!(solo.sends(), ["10001..11001", "11001..12001"]);
    // The window has kept them waiting: half of their time is forgiven (`tcp_update_skb_after_send`; so seen where a
    // window of five segments stops the sender for most of the time).
    let next = solo.wakes_at().unwrap();
    assert!((203..=204).contains(&next), "{next}");
    assert!(solo.at(next - 1).sends().is_empty());
    assert_eq!(solo.at(next + 1).sends().len(), 2);
    let third = solo.wakes_at().unwrap();
    assert!((210..=211).contains(&third), "{third}");
}

#[test]
fn bbr_fills_a_path_without_filling_its_queue() {
    let profile = with_bbr();
    let mut link = link(125_000, 50);
    let mut pair = Pair::new(
        &profile,
        &profile,
        Box::new(move |passing| Fate::Deliver(link(passing))),
    );
    pair.a.application.pattern = Some((1, 1_000_000));
    pair.run_until(Instant::from_secs(6));
    let rtt = pair.a.connection.smoothed_rtt().unwrap();
    assert!(rtt < ms(250), "twice the path of 100 ms at most: {rtt:?}");
    pair.run_until(Instant::from_secs(10));
    assert_eq!(pair.b.application.received.len(), 1_000_000, "of 1.2 MB");
    assert_eq!(pair.a.connection.statistics().retransmitted, 0);
}
