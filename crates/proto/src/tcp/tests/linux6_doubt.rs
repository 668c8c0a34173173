//! A present Linux where the network reorders, as at a handover to a faster path: what it counts, and what it holds back.

use super::linux6::{linux, statistics};
use super::linux6_habits::{stamped, with_timestamps};
use super::*;

/// `tcp_sack_new_ofo_skb`: seen in recovery from a short queue's overflow at 100 Mbit/s, where a millisecond of compression holds
/// more gaps than an option has blocks. What no option had shown would be sent again.
#[test]
fn a_block_is_shown_before_others_push_it_out() {
    let mut solo = Solo::established(&linux());
    solo.at(1_000).receive(data(1, 1_001));
    solo.sends();
    let mut segment = |start: i64| {
        solo.receive(data(start, start + 1_000));
        solo.sends()
    };
    for start in [2_001, 4_001, 6_001] {
        assert_eq!(segment(start).len(), 1);
    }
    // One is held back, and what lengthens its block waits with it.
    assert!(segment(8_001).is_empty());
    assert!(segment(9_001).is_empty());
    // The next block leaves it among the first two, but that before it not.
    let shown = segment(11_001);
    assert_eq!(
        shown,
        ["ack 1001 sack 8001..10001 sack 6001..7001 sack 4001..5001 sack 2001..3001"]
    );
    assert!(segment(12_001).is_empty());
}

/// Ten segments are out, and ten more are ready; what was sent last overtakes the first five, which are lost by RACK. One goes
/// out again.
fn overtaken() -> Solo {
    let mut solo = with_timestamps();
    solo.write(40_000);
    assert_eq!(solo.sends().len(), 10);
    solo.at(200).receive(stamped(ack(5_001), 1_200, 100));
    assert_eq!(solo.sends().len(), 10);
    let high = stamped(ack(5_001), 1_310, 200).sack(&[(10_001, 13_001)]);
    solo.at(310).receive(high);
    let again = solo.sends();
    assert_eq!(again[0], "5001..6001", "{again:?}");
    solo
}

/// `tcp_try_undo_partial` while copies are out: new data may leave, but nothing is sent again (`REXMIT_NONE`). Seen at a soft
/// handover from 580 ms to 20 ms.
#[test]
fn an_acknowledgment_in_doubt_repairs_nothing() {
    let mut solo = overtaken();
    solo.at(311)
        .receive(stamped(ack(5_001), 1_311, 200).sack(&[(10_001, 16_001)]));
    solo.sends();
    let before = statistics(&solo).retransmitted;
    assert!(before >= 2, "two copies are out");
    // The first original arrives; the copy of the second is still out.
    let late = stamped(ack(6_001), 1_312, 100).sack(&[(10_001, 16_001)]);
    solo.at(312).receive(late);
    let sent = solo.sends();
    assert_eq!(statistics(&solo).retransmitted, before, "{sent:?}");
    // An acknowledgment that says nothing of originals repairs again.
    let more = stamped(ack(6_001), 1_313, 200).sack(&[(10_001, 19_001)]);
    solo.at(313).receive(more);
    solo.sends();
    assert!(statistics(&solo).retransmitted > before);
}

/// `tcp_dsack_seen`: a copy that arrives in vain has left the network, too, and lets out another segment.
#[test]
fn a_duplicate_counts_as_delivered() {
    let sent_after = |blocks: &[(u32, u32)]| {
        let mut solo = overtaken();
        let report = stamped(ack(5_001), 1_320, 200).sack(blocks);
        solo.at(320).receive(report);
        solo.sends().len()
    };
    assert_eq!(sent_after(&[(10_001, 13_001)]), 0);
    assert_eq!(sent_after(&[(4_001, 5_001), (10_001, 13_001)]), 1);
}

/// `tcp_skb_spurious_retrans`: the copy of a segment whose original arrived shows nothing about what was sent before the copy.
#[test]
fn an_original_that_arrives_late_does_not_advance_rack() {
    for (echo, lost) in [(200, false), (310, true)] {
        let mut solo = overtaken();
        // Long after, the segment that was sent again is acknowledged; 13,001 to 20,001 were sent before the copy.
        solo.at(460)
            .receive(stamped(ack(6_001), 1_460, echo).sack(&[(10_001, 13_001)]));
        solo.sends();
        solo.at(461)
            .receive(stamped(ack(6_001), 1_461, echo).sack(&[(10_001, 13_001)]));
        let sent = solo.sends();
        let counts = solo.connection.sender.flow.space.sent.counts();
        assert_eq!(counts.lost > 4, lost, "{sent:?} {counts:?}");
    }
}

/// `tcp_rack_reo_timeout`: the timeout counts from the last transmission of the oldest segment, also after the timer for
/// reordering. Seen at a soft handover from 600 ms to 30 ms, where it was put off by two seconds.
#[test]
fn a_timer_for_reordering_does_not_put_off_the_timeout() {
    let mut solo = overtaken();
    // The original of what was sent again arrives: the oldest segment, sent at 100, is not found lost by time any more.
    solo.at(311)
        .receive(stamped(ack(6_001), 1_311, 100).sack(&[(10_001, 13_001)]));
    solo.sends();
    // The last overtakes six others, for which the timer waits.
    let high = [(19_001, 20_001), (10_001, 13_001)];
    solo.at(330)
        .receive(stamped(ack(6_001), 1_330, 200).sack(&high));
    solo.sends();
    let before = statistics(&solo).retransmitted;
    let waits = solo.wakes_at().unwrap();
    assert!((340..380).contains(&waits), "{waits}");
    solo.at(waits + 1);
    let sent = solo.sends();
    assert!(statistics(&solo).retransmitted > before, "{sent:?}");
    let rto = solo.connection.retransmission_timeout().as_nanos() / 1_000_000;
    let due = solo.wakes_at().unwrap();
    assert!(due <= 100 + rto + 1, "{due} {rto}");
}
