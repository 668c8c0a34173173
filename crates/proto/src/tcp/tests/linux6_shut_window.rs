//! A present Linux and a window that shuts, as Freeze-TCP and other remedies shut it: packet scripts of which the kernel's answers are
//! known.

use super::linux6::{linux, out, statistics, window, without_probes};
use super::*;
use crate::tcp::profile::Algorithm;

/// Acknowledges all of a window as it doubles, until it is `segments` at least; returns the next number expected.
fn grow_to(solo: &mut Solo, segments: u32) -> i64 {
    let mut next = 1;
    let mut at = 200;
    solo.write(400_000);
    while window(solo) < segments {
        let sent = solo.sends().len() as i64;
        next += 1_000 * sent;
        solo.at(at).receive(ack(next));
        at += 100;
    }
    next
}

/// `slow_start/slow-start-after-win-update.pkt`: the probe is an empty segment at SND.UNA - 1 (`tcp_xmit_probe_skb`) and uses no
/// window; when the peer opens, the idle sender starts with ten segments (`tcp_slow_start_after_idle_check`).
#[test]
fn a_shut_window_is_probed_by_an_empty_segment() {
    let mut solo = out(&linux(), 10);
    solo.write(100_000);
    solo.at(200).receive(ack(10_001).window(0));
    let full = window(&solo);
    assert!(full >= 20 && solo.sends().is_empty());
    let at = solo.wakes_at().unwrap();
    let now = solo.at(at).now;
    let probe = solo.connection.poll_transmit(now).unwrap();
    assert_eq!(probe.payload.length(), 0);
    assert_eq!(
        solo.connection
            .sender
            .flow
            .space
            .position(probe.header.sequence),
        10_000
    );
    assert_eq!(window(&solo), full, "no start");
    assert_eq!(solo.connection.bytes_in_flight(), 0);
    solo.receive(ack(10_001).window(0));
    assert!(solo.sends().is_empty());
    solo.at(at + 2_000).receive(ack(10_001).window(60_000));
    assert_eq!(solo.sends().len(), 10);
    assert_eq!(window(&solo), 10);
    // Nothing is cut off: whole segments leave.
    solo.at(at + 2_100).receive(ack(20_001));
    assert_eq!(solo.sends()[0], "20001..21001");
}

/// Four seconds, as in an outage for which a receiver freezes its sender: the window is held, and ten segments leave after it.
#[test]
fn a_frozen_sender_begins_again_with_ten_segments() {
    let mut solo = Solo::established(&Profile {
        congestion: Algorithm::Cubic,
        hystart: false,
        ..linux()
    });
    let next = grow_to(&mut solo, 160);
    let held = window(&solo);
    solo.receive(ack(next).window(0));
    for _ in 0..40 {
        solo.now += ms(100);
        solo.connection.handle_timeout(solo.now);
        solo.sends();
        assert_eq!(window(&solo), held);
    }
    solo.receive(ack(next).window(60_000));
    assert_eq!((solo.sends().len(), window(&solo)), (10, 10));
}

/// `tcp_retransmit_timer`, "receiver dastardly shrinks window": the timeout is a loss, with a threshold of seven tenths of
/// the window, the oldest segment goes out whole, and the connection is not given up while the peer answers.
#[test]
fn a_window_shut_on_data_loses_it() {
    let cubic = Profile {
        congestion: Algorithm::Cubic,
        initial_window: 14,
        ..without_probes()
    };
    let mut solo = out(&cubic, 14);
    solo.at(200).receive(ack(1).window(0));
    let at = solo.wakes_at().unwrap();
    assert_eq!(solo.at(at).sends(), ["1..1001"]);
    assert_eq!(window(&solo), 1);
    assert_eq!(solo.connection.slow_start_threshold(), 9_000);
    assert_eq!(statistics(&solo).timeouts, 1);
    // The window opens: nothing is repeated for that alone, and the repair goes on with what is acknowledged.
    solo.at(at + 50).receive(ack(1).window(60_000));
    assert!(solo.sends().is_empty());
    solo.at(at + 100).receive(ack(1_001).window(60_000));
    assert_eq!(solo.sends()[0], "1001..2001");
    // For ever, if the peer says so.
    let mut solo = out(&cubic, 14);
    solo.at(200).receive(ack(1).window(0));
    while solo.now < Instant::from_secs(5_000) {
        let at = solo.wakes_at().unwrap();
        assert_eq!(solo.at(at).sends(), ["1..1001"]);
        solo.receive(ack(1).window(0));
    }
    assert_eq!(solo.events(), [Event::Connected]);
}

/// netdev, "shrunk-window" (commit 536a6c8e05f9): what is sent again ends where the window now ends.
#[test]
fn a_repair_ends_with_the_window() {
    let mut solo = out(&without_probes(), 6);
    solo.at(200).receive(ack(5_001).window(1));
    let at = solo.wakes_at().unwrap();
    assert_eq!(solo.at(at).sends(), ["5001..5002"]);
    solo.at(at + 100).receive(ack(5_002).window(60_000));
    assert_eq!(solo.sends(), ["5002..6001"]);
    // A probe of the tail as well; and beyond the window there is none (`__tcp_retransmit_skb`).
    let mut solo = out(&linux(), 6);
    solo.at(200).receive(ack(5_001).window(1));
    let at = solo.wakes_at().unwrap();
    assert_eq!(solo.at(at).sends(), ["5001..5002"]);
    let mut solo = out(&linux(), 6);
    solo.at(200).receive(ack(4_001).window(1_000));
    let at = solo.wakes_at().unwrap();
    assert!(solo.at(at).sends().is_empty());
    assert_eq!(statistics(&solo).tail_loss_probes, 0);
}

/// netdev, `unexpected-rwin-0`: an answer to a probe starts the timer anew (`tcp_ack_probe`).
#[test]
fn an_answer_puts_the_next_probe_off() {
    let mut solo = out(&linux(), 2);
    solo.write(5_000);
    solo.sends();
    solo.at(200).receive(ack(7_001).window(0));
    solo.write(5_000);
    solo.sends();
    let rto = solo.connection.retransmission_timeout().as_nanos() / 1_000_000;
    let mut at = 200 + rto;
    for doubled in [2, 4, 8] {
        assert_eq!(solo.wakes_at(), Some(at));
        assert_eq!(solo.at(at).sends(), ["ack 1"]);
        at += 100;
        solo.at(at).receive(ack(7_001).window(0));
        at += doubled * rto;
    }
}

/// `tcp_write_wakeup`: a window that is too small for a segment is filled when the timer goes off.
#[test]
fn a_small_window_is_filled_in_the_end() {
    let mut solo = out(&linux(), 2);
    solo.at(200).receive(ack(2_001).window(300));
    solo.write(5_000);
    assert!(solo.sends().is_empty());
    let at = solo.wakes_at().unwrap();
    assert_eq!(solo.at(at).sends(), ["2001..2301"]);
    assert_eq!(statistics(&solo).window_probes, 0);
}
