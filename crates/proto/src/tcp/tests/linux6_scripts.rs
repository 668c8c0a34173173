//! A present Linux against packet scripts: sequences of which a kernel's answer is known, by Google's packetdrill scripts
//! (`gtests/net/tcp`), the kernel's selftests, or its developers' mails.

use super::linux6::{linux, out, without_probes};
use super::linux6_habits::{stamped, stamping, with_timestamps};
use super::*;
use crate::wire::icmp::IcmpError;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

/// `sack/sack-route-refresh-ip-tos.pkt`, in segments of 1000: an acknowledgment that advances and reports segments beyond a
/// gap shows three of them at once. Nothing that was SACKed before lay above what it acknowledges, so nothing was reordered.
#[test]
fn an_acknowledgment_that_advances_and_reports_is_no_reordering() {
    let mut solo = out(&linux(), 10);
    solo.write(10_000);
    solo.at(200)
        .receive(ack(1_001).sack(&[(3_001, 4_001), (5_001, 9_001)]));
    let sent = solo.sends();
    assert_eq!(sent[..2], ["1001..2001", "2001..3001"], "{sent:?}");
}

/// A receiver that delays its acknowledgments acknowledges the segment before a gap with the first one behind it, at half of
/// all losses. The third SACK shows the loss (RFC 8985 section 6.2.1), as it does where two acknowledgments say the same.
#[test]
fn a_late_delayed_acknowledgment_does_not_put_off_the_repair() {
    for together in [true, false] {
        let mut solo = out(&linux(), 10);
        solo.at(200).receive(ack(2_001));
        solo.sends();
        if !together {
            solo.at(201).receive(ack(3_001));
        }
        solo.at(201).receive(ack(3_001).sack(&[(4_001, 5_001)]));
        solo.at(202).receive(ack(3_001).sack(&[(4_001, 6_001)]));
        assert!(solo.sends().iter().all(|sent| sent != "3001..4001"));
        solo.at(203).receive(ack(3_001).sack(&[(4_001, 7_001)]));
        assert!(solo.sends().contains(&"3001..4001".to_owned()));
    }
}

/// Repairs as a lossy path sees them.
#[derive(Default)]
struct Repairs {
    /// Arrivals of acknowledgments at the sender, and the ranges that each reports.
    heard: Vec<(Instant, Vec<(i32, i32)>)>,
    repaired: BTreeSet<i32>,
    late: u32,
}

impl Repairs {
    /// A hole that begins at `start` is repaired for the first time. It is late if three segments beyond it were reported
    /// before, and a timer has set the repair off.
    fn note(&mut self, now: Instant, start: i32, length: u32) {
        if !self.repaired.insert(start) {
            return;
        }
        let beyond = |blocks: &[(i32, i32)]| -> i32 {
            let above = blocks.iter().filter(|block| block.0 > start);
            above.map(|(from, to)| to - from).sum()
        };
        let enough = 3 * length as i32;
        let mut heard = self.heard.iter().filter(|(at, _)| *at <= now);
        let told = heard.any(|(at, blocks)| *at < now && beyond(blocks) >= enough);
        let by_timer = self.heard.iter().all(|(at, _)| *at != now);
        self.late += u32::from(told && by_timer);
    }
}

/// Loses data at random, at 10 Mbit/s and with 100 ms there and back. Counts holes that are repaired, and those too late.
fn repairs_over_a_lossy_path(seed: u64, per_million: u64) -> (u32, u32) {
    let repairs = Rc::new(RefCell::new(Repairs::default()));
    let seen = Rc::clone(&repairs);
    let mut link = link(1_250_000, 50);
    let mut state = seed;
    let path = move |passing: &Passing| {
        let header = &passing.segment.header;
        let length = passing.segment.payload.length();
        let is_data = passing.from == Side::A && length > 0;
        if is_data && passing.segment.retransmission {
            let start = header.sequence.distance_from(ISS_A);
            seen.borrow_mut().note(passing.now, start, length);
        }
        let delay = link(passing);
        // Knuth's generator (MMIX): the upper half is random enough.
        state = state.wrapping_mul(6_364_136_223_846_793_005);
        state = state.wrapping_add(1_442_695_040_888_963_407);
        if is_data && (state >> 33) % 1_000_000 < per_million {
            return Fate::Drop;
        }
        if passing.from == Side::B {
            let position = |number: SequenceNumber| number.distance_from(ISS_A);
            let blocks = header.options.sack.as_slice().iter();
            let blocks = blocks.map(|block| (position(block.0), position(block.1)));
            let at = passing.now + delay;
            seen.borrow_mut().heard.push((at, blocks.collect()));
        }
        Fate::Deliver(delay)
    };
    let profile = profile("linux-6");
    let mut pair = Pair::new(&profile, &profile, Box::new(path));
    pair.a.application.pattern = Some((1, u64::MAX));
    pair.run_until(Instant::from_secs(10));
    let repairs = repairs.borrow();
    (repairs.repaired.len() as u32, repairs.late)
}

/// On a path that keeps the order of packets, three SACKs show each loss, and the timer for reordering shows none.
#[test]
fn no_repair_is_late_where_nothing_is_reordered() {
    for per_million in [2_000, 10_000] {
        let (mut repairs, mut late) = (0, 0);
        for seed in 1..=8 {
            let (all, by_timer) = repairs_over_a_lossy_path(seed, per_million);
            repairs += all;
            late += by_timer;
        }
        assert!(repairs > 50, "{repairs}");
        assert_eq!(late, 0, "of {repairs} at {per_million} in a million");
    }
}

fn echo_of(solo: &mut Solo) -> u32 {
    let answer = solo.connection.poll_transmit(solo.now).unwrap();
    answer.header.options.timestamps.unwrap().echo
}

/// Seen at a kernel (`tcp_sequence`, `tcp_replace_ts_recent`): a segment with TSval 1200, again with 1900. RFC 7323 section 4.3
/// literally keeps the first: what is not acceptable leaves TS.Recent alone.
#[test]
fn a_duplicate_that_ends_where_we_are_sets_the_echo() {
    for (profile, echo) in [(linux(), 1_900), (profile("rfc"), 1_200)] {
        let mut solo = stamping(profile);
        solo.at(200).receive(stamped(data(1, 1_001), 1_200, 100));
        solo.receive(stamped(data(1_001, 2_001), 1_200, 100));
        assert_eq!(echo_of(&mut solo), 1_200);
        solo.at(900)
            .receive(stamped(data(1_001, 2_001), 1_900, 100));
        assert_eq!(echo_of(&mut solo), echo);
    }
}

/// `tcp_sequence`: what ends before the last acknowledgment is dropped, not what ends there. Its acknowledgment counts, and leads from
/// CLOSING to TIME-WAIT (`snippets/time-wait-via-closing-ipv4.pkt`).
#[test]
fn a_duplicate_brings_news() {
    let mut solo = Solo::established(&linux());
    solo.at(200).receive(data(1, 1_001));
    solo.sends();
    solo.write(1_000);
    assert_eq!(solo.sends(), ["1..1001"]);
    solo.receive(data(1, 1_001).acknowledging(1_001));
    assert_eq!(solo.connection.bytes_in_flight(), 0);
    assert_eq!(solo.sends(), ["ack 1001 sack 1..1001"]);
    let mut solo = Solo::established(&linux());
    solo.connection.close();
    assert_eq!(solo.sends(), ["FIN 1"]);
    let fin = |acknowledgment| from_peer(TcpFlags::FIN.with(TcpFlags::ACK), 1, acknowledgment);
    solo.receive(fin(1));
    assert_eq!(solo.connection.state(), State::Closing);
    solo.sends();
    solo.receive(fin(2));
    assert_eq!(solo.connection.state(), State::TimeWait);
}

/// `tcp_snd_wnd_test`: a window that has 132 bytes left takes no probe of the tail; the last segment goes again.
#[test]
fn a_probe_of_the_tail_is_a_whole_segment() {
    let mut solo = Solo::connecting(&linux());
    let answer = Incoming::syn_ack(&linux()).window(3_132);
    solo.at(100).receive(answer);
    solo.sends();
    solo.write(5_000);
    assert_eq!(solo.sends().len(), 3);
    let at = solo.wakes_at().unwrap();
    assert_eq!(solo.at(at).sends(), ["2001..3001"]);
}

/// `__tcp_select_window`: eleven segments of 1448, and not 16384 bytes.
#[test]
fn a_window_without_scaling_is_of_whole_segments() {
    for (profile, window) in [(linux(), 15_928), (profile("rfc"), 16_384)] {
        let profile = Profile {
            receive_buffer: 16_384,
            window_scaling: false,
            delayed_ack: Some(ms(40)),
            ..profile
        };
        let mut solo = Solo::established(&profile);
        solo.at(200).receive(data(1, 1_449));
        solo.at(300).sends();
        solo.receive(data(1_449, 2_897));
        solo.connection.discard(u64::MAX);
        solo.now += ms(100);
        solo.connection.handle_timeout(solo.now);
        let answer = solo.connection.poll_transmit(solo.now).unwrap();
        assert_eq!(answer.header.window, window);
    }
}

/// `rcv-data-segments/overlapping-150-275.pkt`: of what comes, 200 to 275 was there beyond the gap (RFC 2883 section 4).
#[test]
fn what_overlaps_beyond_a_gap_is_reported() {
    let mut solo = Solo::established(&linux());
    solo.at(200);
    for from in [200, 400, 600] {
        solo.receive(data(from, from + 100));
        solo.sends();
    }
    solo.receive(data(150, 275));
    solo.now += ms(2);
    solo.connection.handle_timeout(solo.now);
    assert_eq!(
        solo.sends(),
        ["ack 1 sack 200..275 sack 150..300 sack 600..700 sack 400..500"]
    );
    // In turn as well, and to the end of the first overlap.
    solo.receive(data(1, 450));
    assert_eq!(solo.sends(), ["ack 500 sack 150..300 sack 600..700"]);
}

/// RFC 2883 section 4: a duplicate is reported once, whoever acknowledges.
#[test]
fn a_duplicate_is_reported_once_by_other_stacks_too() {
    let mut solo = Solo::established(&Profile {
        duplicate_sack: true,
        ..profile("rfc")
    });
    solo.at(200).receive(data(1, 1_001)).receive(data(1, 1_001));
    assert_eq!(solo.sends(), ["ack 1001 sack 1..1001"]);
    solo.receive(data(1_001, 2_001)).receive(data(2_001, 3_001));
    assert_eq!(solo.sends(), ["ack 3001"]);
    solo.write(10);
    assert_eq!(solo.sends(), ["1..11"]);
}

/// `tcp_disordered_ack_check`: SACK blocks count that an acknowledgment brings which was overtaken on another path, and has an
/// older timestamp than that which has come.
#[test]
fn sacks_that_were_overtaken_count() {
    let mut solo = with_timestamps();
    solo.write(10_000);
    solo.sends();
    solo.at(200)
        .receive(stamped(ack(1), 1_200, 100).sack(&[(1_001, 3_001)]));
    assert!(solo.sends().is_empty());
    solo.at(202)
        .receive(stamped(ack(1), 1_190, 100).sack(&[(3_001, 4_001)]));
    assert_eq!(solo.sends(), ["1..1001"]);
    // One that is older than a timeout (300 ms, of at most 1200 ticks a second) is answered.
    solo.at(203)
        .receive(stamped(ack(1), 1_200 - 361, 100).sack(&[(3_001, 5_001)]));
    assert_eq!(solo.sends(), ["ack 1"]);
}

/// Neal Cardwell's `paws-disordered-ack-old-seq-discard`: one with an old number as well is dropped in silence.
#[test]
fn an_acknowledgment_with_an_old_number_and_timestamp_is_not_answered() {
    let mut solo = with_timestamps();
    solo.at(200).receive(stamped(data(1, 1_001), 1_200, 100));
    solo.sends();
    solo.at(300).receive(stamped(ack(1), 1_100, 100));
    assert!(solo.sends().is_empty());
}

/// `fast_recovery/prr-ss-ack-below-snd_una-cubic.pkt`: the label `old_ack` of `tcp_ack` reads SACK blocks.
#[test]
fn sacks_below_what_is_acknowledged_count() {
    let mut solo = out(&linux(), 10);
    solo.at(200).receive(ack(4_001));
    solo.sends();
    solo.receive(ack(3_001).sack(&[(5_001, 8_001)]));
    assert_eq!(solo.sends()[0], "4001..5001");
}

/// netdev, "reneging" (commit d2a0fc372aca): half a round trip, here 50 ms, after the peer has thrown away what it had SACKed.
#[test]
fn reneging_shortens_the_timeout() {
    let mut solo = out(&without_probes(), 10);
    solo.at(200).receive(ack(1).sack(&[(2_001, 3_001)]));
    solo.at(201).receive(ack(2_001));
    solo.sends();
    assert_eq!(solo.wakes_at(), Some(251));
    assert_eq!(solo.at(252).sends(), ["2001..3001"]);
}

/// RFC 1122 section 4.2.3.9: "protocol" and "port unreachable" are hard, the others soft; to Linux all end an attempt (`tcp_v4_err`),
/// and a half-open connection is forgotten (`fastopen/server/icmp-baseline.pkt`). None ends one that stands.
#[test]
fn errors_before_the_connection_stands() {
    let ends = |profile: &Profile, error| {
        let mut solo = Solo::connecting(profile);
        solo.connection
            .handle_icmp(at_ms(5), error, &quoting(ISS_A));
        solo.events() == [Event::Refused]
    };
    let (rfc, linux) = (profile("rfc"), linux());
    for hard in [IcmpError::ProtocolUnreachable, IcmpError::PortUnreachable] {
        assert!(ends(&rfc, hard) && ends(&linux, hard), "{hard:?}");
    }
    for soft in [IcmpError::Unreachable, IcmpError::TimeExceeded] {
        assert!(!ends(&rfc, soft) && ends(&linux, soft), "{soft:?}");
    }
    for (profile, state) in [(&rfc, State::SynReceived), (&linux, State::Closed)] {
        let syn = from_peer(TcpFlags::SYN, 0, 0).header;
        let (here, there) = (end_point(1, 40_000), end_point(2, 80));
        let now = Instant::ZERO;
        let mut half_open = Connection::accept(now, here, there, profile, ISS_A, 1500, &syn);
        assert!(half_open.poll_transmit(now).is_some());
        half_open.handle_icmp(now, IcmpError::Unreachable, &quoting(ISS_A));
        assert_eq!(half_open.state(), state);
    }
    let mut stands = out(&linux, 1);
    stands
        .connection
        .handle_icmp(at_ms(200), IcmpError::Unreachable, &quoting(ISS_A + 1));
    assert_eq!(stands.connection.state(), State::Established);
}

/// `ts_recent/reset_tsval.pkt`: a reset of ours has a timestamp. `inq/client.pkt`: data without one is taken, where RFC 7323
/// section 3.2 has it dropped. (`ts_recent/invalid_ack.pkt` wants silence for what acknowledges the unsent; a kernel 6.18
/// answers it, as the interoperability test `acknowledgments_of_what_was_never_sent_change_nothing` shows.)
#[test]
fn smaller_habits_of_a_kernel() {
    let mut solo = with_timestamps();
    solo.at(200).receive(data(1, 1_001));
    assert_eq!(solo.connection.readable(), 1_000);
    solo.sends();
    solo.at(1_000);
    solo.connection.abort();
    let reset = solo.connection.poll_transmit(solo.now).unwrap();
    assert!(reset.header.flags.contains(TcpFlags::RST));
    let value = reset.header.options.timestamps.unwrap().value;
    assert_eq!(value, ISS_A.0.wrapping_add(1_000));
    let mut solo = stamping(profile("rfc"));
    solo.at(200).receive(data(1, 1_001));
    assert_eq!(solo.connection.readable(), 0);
}

/// The kernel's `tcp_basic_server.pkt`: CLOSE-WAIT is interactive, and a FIN by itself waits for 40 ms.
#[test]
fn a_fin_by_itself_is_acknowledged_late() {
    let mut solo = Solo::established(&linux());
    solo.at(1_000).receive(data(1, 1_001));
    assert_eq!(solo.sends(), ["ack 1001"]);
    solo.at(1_100)
        .receive(from_peer(TcpFlags::FIN.with(TcpFlags::ACK), 1_001, 1));
    assert!(solo.sends().is_empty());
    assert_eq!(solo.at(1_140).sends(), ["ack 1002"]);
    assert_eq!(solo.connection.state(), State::CloseWait);
}

/// The kernel's `tcp_ooo_rcv_mss.pkt`: since 6.17 segments beyond a gap show, too, what of the memory is window.
#[test]
fn what_comes_beyond_a_gap_measures_the_memory() {
    let mut solo = Solo::connecting(&Profile {
        receive_autotuning: Autotuning::Linux,
        ..linux()
    });
    let mut answer = Incoming::syn_ack(&linux());
    answer.header.options.window_scale = Some(7);
    solo.at(100).receive(answer);
    solo.sends();
    solo.at(200);
    for segment in 1..4 {
        let from = 1 + 1_448 * segment;
        solo.receive(data(from, from + 1_448));
        solo.sends();
    }
    let window = solo.connection.receive_window();
    assert!(window > 65_536, "{window}");
}

/// Linux's `tcp_info` tells the phase, and the segments that are SACKed, lost and sent again.
#[test]
fn the_scoreboard_can_be_read() {
    use crate::tcp::RecoveryPhase;
    let mut solo = out(&linux(), 10);
    assert_eq!(solo.connection.recovery_phase(), RecoveryPhase::Open);
    solo.at(200).receive(ack(1).sack(&[(1_001, 2_001)]));
    assert_eq!(solo.connection.recovery_phase(), RecoveryPhase::Disorder);
    solo.at(201).receive(ack(1).sack(&[(1_001, 4_001)]));
    assert_eq!(solo.sends(), ["1..1001"]);
    let counts = solo.connection.segment_counts();
    assert_eq!((counts.sacked, counts.lost, counts.resent), (3, 1, 1));
    assert_eq!(solo.connection.recovery_phase(), RecoveryPhase::Recovery);
}

/// netdev, `retrans-stamp-newreno`: a lone segment's timeout turns out to have been wrong, and the window is what it was. Only
/// `tcp_write_xmit` looks whether the window is used, through which no repair goes.
#[test]
fn a_repair_is_no_use_of_the_window() {
    let mut solo = stamping(Profile {
        sack: false,
        ..linux()
    });
    solo.write(1_000);
    solo.sends();
    for _ in 0..6 {
        let at = solo.wakes_at().unwrap();
        assert_eq!(solo.at(at).sends(), ["1..1001"]);
    }
    solo.receive(stamped(ack(1_001), 2_000, 100));
    assert_eq!(solo.connection.congestion_window(), 10_000);
}

/// Segments sent now, in words, with a P for a pushed one.
fn pushes(solo: &mut Solo) -> Vec<String> {
    let mut words = Vec::new();
    while let Some(segment) = solo.connection.poll_transmit(solo.now) {
        let pushed = segment.header.flags.contains(TcpFlags::PSH);
        let mark = if pushed { " P" } else { "" };
        words.push(describe(&segment, &solo.connection) + mark);
    }
    words
}

/// `tcp_mark_push`: the end of a write is pushed whenever it is sent, whatever was written since.
#[test]
fn the_end_of_a_write_is_pushed_again() {
    let mut solo = Solo::established(&linux());
    for from in [1, 1_001, 2_001, 3_001, 4_001] {
        solo.write(1_000);
        assert_eq!(pushes(&mut solo), [format!("{from}..{} P", from + 1_000)]);
    }
    solo.at(200).receive(ack(1_001).sack(&[(2_001, 5_001)]));
    assert_eq!(pushes(&mut solo), ["1001..2001 P"]);
    // Another stack pushes what empties its buffer.
    let mut solo = Solo::established(&profile("rfc"));
    solo.write(1_000).sends();
    solo.write(1_000);
    assert_eq!(pushes(&mut solo), ["1001..2001 P"]);
    assert_eq!(pushes(solo.at(1_200)), ["1..1001"]);
}

/// Neal Cardwell's `sack 2001:5001` on ten segments: of a window of 7 there is room for both that are lost, which leave as one,
/// `P. 1:2001(2000)`. One alone is not pushed.
#[test]
fn the_last_of_several_repairs_is_pushed() {
    let cubic = Profile {
        congestion: crate::tcp::profile::Algorithm::Cubic,
        ..linux()
    };
    let mut solo = out(&cubic, 10);
    solo.write(10_000);
    solo.at(200).receive(ack(1).sack(&[(2_001, 5_001)]));
    let repairs = pushes(&mut solo);
    assert_eq!(repairs[..2], ["1..1001", "1001..2001 P"], "{repairs:?}");
    let mut solo = out(&linux(), 10);
    solo.write(10_000);
    solo.at(200).receive(ack(1).sack(&[(1_001, 4_001)]));
    assert_eq!(pushes(&mut solo)[0], "1..1001");
}

/// `tcp_write_wakeup`: the probe that a window of less than a segment takes is pushed.
#[test]
fn what_fits_a_small_window_is_pushed() {
    let mut solo = out(&linux(), 1);
    solo.write(1_000);
    solo.sends();
    solo.at(200).receive(ack(2_001).window(500));
    solo.write(1_000);
    assert!(solo.sends().is_empty());
    let at = solo.wakes_at().unwrap();
    assert_eq!(pushes(solo.at(at)), ["2001..2501 P"]);
}
