//! A present Linux against packet scripts: sequences of which a kernel's answer is known, by Google's packetdrill scripts
//! (`gtests/net/tcp`), the kernel's selftests, or its developers' mails.

use super::linux6::{linux, out};
use super::*;
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

/// What a lossy path sees of repairs.
#[derive(Default)]
struct Repairs {
    /// When acknowledgments arrive at the sender, and the ranges that each reports.
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
