//! Flow control: the offered window, silly windows, zero windows and their probes.

use super::*;

#[test]
fn a_shut_window_is_probed_at_doubling_intervals() {
    let rfc = profile("rfc");
    let mut solo = Solo::connecting(&rfc);
    solo.at(100).receive(Incoming::syn_ack(&rfc).window(0));
    assert_eq!(solo.sends(), ["ack 1"]);
    solo.write(5_000);
    assert_eq!(solo.sends(), Vec::<String>::new());
    // RFC 9293 section 3.8.6.1: first after the RTO (1 s), then at exponentially growing intervals, at
    // least one byte of new data, for as long as the peer acknowledges.
    let mut at = 100 + 1_000;
    for interval in [2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000] {
        assert_eq!(solo.wakes_at(), Some(at));
        assert_eq!(solo.at(at).sends(), ["1..2"], "{at}");
        solo.at(at + 50).receive(ack(1).window(0));
        at += interval;
    }
    let statistics = *solo.connection.statistics();
    assert_eq!((statistics.window_probes, statistics.timeouts), (7, 0));
    assert_eq!(solo.connection.congestion_window(), 10_000, "no congestion");
    // The window opens: the byte and the rest go at once.
    solo.at(400_000).receive(ack(1).window(3_000));
    assert_eq!(solo.sends(), ["1..2", "2..1002", "1002..2002"]);
    // And what is out now is data, with data's timeout (RFC 6298 section 5.1), not the probes' long one.
    assert_eq!(solo.wakes_at(), Some(401_000));
}

/// Nor does a present Linux give a receiver up that has shut its window, and is out of reach for a while (`tcp_probe_timer`).
#[test]
fn a_present_linux_probes_at_doubling_intervals_too() {
    let linux = super::linux6::linux();
    let mut solo = Solo::connecting(&linux);
    solo.at(100).receive(Incoming::syn_ack(&linux).window(0));
    solo.sends();
    solo.write(5_000);
    assert_eq!(solo.sends(), Vec::<String>::new());
    let mut at = 100 + 300;
    for interval in [600, 1_200, 2_400, 4_800, 9_600, 19_200] {
        assert_eq!(solo.wakes_at(), Some(at));
        // Empty, and with a number from before (`tcp_xmit_probe_skb`).
        assert_eq!(solo.at(at).sends(), ["ack 1"], "{at}");
        at += interval;
    }
    solo.at(40_000).receive(ack(1).window(3_000));
    assert_eq!(solo.sends()[..2], ["1..1001", "1001..2001"]);
}

/// An answer does not set the timer of Linux 2.0's probes, as an ACK does that of data.
#[test]
fn linux_2_0_probes_at_doubling_intervals_too() {
    let linux = profile("linux-2.0.36");
    let mut solo = Solo::connecting(&linux);
    solo.at(100).receive(Incoming::syn_ack(&linux).window(0));
    solo.sends();
    solo.write(5_000);
    assert_eq!(solo.sends(), Vec::<String>::new());
    let mut at = solo.wakes_at().unwrap();
    let mut interval = 2 * (at - 100);
    for _ in 0..4 {
        assert_eq!(solo.at(at).sends(), ["1..2"], "{at}");
        solo.at(at + 50).receive(ack(1).window(0));
        at += interval;
        assert_eq!(solo.wakes_at(), Some(at));
        interval *= 2;
    }
}

#[test]
fn a_probe_that_is_taken_counts_as_data() {
    let rfc = profile("rfc");
    let mut solo = Solo::connecting(&rfc);
    solo.at(100)
        .receive(Incoming::syn_ack(&rfc).window(0))
        .write(3_000);
    solo.sends();
    assert_eq!(solo.at(1_100).sends(), ["1..2"]);
    solo.at(1_150).receive(ack(2).window(2_000));
    assert_eq!(solo.sends(), ["2..1002", "1002..2002"]);
}

#[test]
fn a_probed_peer_that_falls_silent_is_given_up() {
    let mut few = profile("rfc");
    few.data_retries = 2;
    let mut solo = Solo::connecting(&few);
    solo.at(100)
        .receive(Incoming::syn_ack(&few).window(0))
        .write(3_000);
    solo.sends();
    for at in [1_100, 3_100, 7_100] {
        assert_eq!(solo.at(at).sends(), ["1..2"]);
    }
    solo.at(15_100);
    assert!(solo.events().contains(&Event::TimedOut));
}

#[test]
fn the_sender_waits_for_a_window_worth_sending_into() {
    // RFC 9293 section 3.8.6.2.1: a full segment, or half the largest window seen, or all there is.
    let rfc = profile("rfc");
    let mut solo = Solo::connecting(&rfc);
    solo.at(100).receive(Incoming::syn_ack(&rfc).window(1_200));
    solo.sends();
    solo.write(5_000);
    assert_eq!(
        solo.sends(),
        ["1..1001"],
        "200 bytes of window are left alone"
    );
    solo.at(200).receive(ack(1_001).window(100));
    assert_eq!(solo.sends(), Vec::<String>::new());
    // Nothing else would ever send: the override, after the RTO.
    assert_eq!(solo.at(1_200).sends(), ["1001..1101"]);
    solo.at(1_300).receive(ack(1_101).window(700));
    assert_eq!(solo.sends(), ["1101..1801"], "more than half of 1200");
}

#[test]
fn the_receiver_opens_its_window_in_useful_steps() {
    let mut small = profile("rfc");
    small.receive_buffer = 4_000;
    small.window_scaling = false;
    let mut solo = Solo::established(&small);
    for start in [1, 1_001, 2_001, 3_001] {
        solo.at(200).receive(data(start, start + 1_000));
    }
    let segment = solo.connection.poll_transmit(solo.now).unwrap();
    assert_eq!(segment.header.window, 0);
    // Less than a segment read: silence. A whole one: an update (RFC 9293 section 3.8.6.2.2).
    assert_eq!(solo.connection.discard(900), 900);
    assert_eq!(solo.sends(), Vec::<String>::new());
    assert_eq!(solo.connection.discard(100), 100);
    let update = solo.connection.poll_transmit(solo.now).unwrap();
    assert_eq!(update.header.window, 1_000);
}

#[test]
fn data_beyond_the_window_is_cut_off() {
    let mut small = profile("rfc");
    small.receive_buffer = 1_500;
    let mut solo = Solo::established(&small);
    solo.at(200)
        .receive(data(1, 1_001))
        .receive(data(1_001, 2_001));
    assert_eq!(solo.connection.readable(), 1_500);
    assert_eq!(solo.sends(), ["ack 1501"]);
    // A probe of the shut window is answered, and its byte not taken.
    solo.at(300).receive(data(1_501, 1_502));
    assert_eq!(solo.sends(), ["ack 1501"]);
    // An acknowledgment that comes with such a byte counts all the same.
    solo.write(10);
    assert_eq!(solo.sends(), ["1..11"]);
    solo.at(400).receive(data(1_501, 1_502).acknowledging(11));
    assert_eq!(solo.connection.bytes_in_flight(), 0);
}

#[test]
fn a_scaled_window_never_moves_back() {
    let rfc = profile("rfc");
    let mut pair = Pair::new(&rfc, &rfc, Box::new(link(200_000, 30)).then_deliver());
    pair.a.application.pattern = Some((1, 3_000_000));
    pair.b.application.reads = false;
    let (mut highest, mut steps) = (0, 0);
    while pair.step(Instant::from_secs(30)) {
        let end = pair.a.connection.sender.flow.space.unacknowledged()
            + pair.a.connection.sender.flow.space.window();
        assert!(end >= highest, "the right edge moved back");
        highest = end;
        steps += 1;
        if steps % 7 == 0 {
            pair.b.connection.discard(1_111);
        }
    }
    assert!(pair.a.connection.bytes_acknowledged() > 1 << 20);
}

trait ThenDeliver {
    fn then_deliver(self) -> Path;
}

impl<F: FnMut(&Passing) -> Duration + 'static> ThenDeliver for Box<F> {
    fn then_deliver(mut self) -> Path {
        Box::new(move |passing| Fate::Deliver(self(passing)))
    }
}

#[test]
fn sack_blocks_come_most_recent_first() {
    let mut solo = Solo::established(&profile("rfc"));
    solo.at(200);
    let mut last = Vec::new();
    for start in [2_001, 4_001, 6_001, 8_001, 10_001] {
        solo.receive(data(start, start + 1_000));
        last = solo.sends();
    }
    // RFC 2018 section 4: the block of the latest segment first, then those reported before; four at most.
    assert_eq!(
        last,
        ["ack 1 sack 10001..11001 sack 8001..9001 sack 6001..7001 sack 4001..5001"]
    );
    // A segment that joins two blocks makes one of them.
    solo.receive(data(3_001, 4_001));
    assert_eq!(
        solo.sends(),
        ["ack 1 sack 2001..5001 sack 10001..11001 sack 8001..9001 sack 6001..7001"]
    );
}

#[test]
fn the_list_of_pieces_is_bounded() {
    let mut rfc = profile("rfc");
    rfc.receive_buffer = 256 << 10;
    let mut solo = Solo::established(&rfc);
    solo.at(200);
    for index in 0..10_000 {
        solo.receive(data(3 + 2 * index, 4 + 2 * index));
        solo.sends();
    }
    assert!(
        solo.connection.memory() < 64 << 10,
        "{}",
        solo.connection.memory()
    );
    assert_eq!(solo.connection.receiving.data.blocks().len(), 256);
    let statistics = solo.connection.statistics();
    assert_eq!(statistics.scattered_dropped, 10_000 - 256);
    assert_eq!(statistics.duplicates_received, 0);
}

/// A large window that loses every second segment makes many gaps, and none of what came is sent again.
#[test]
fn many_gaps_in_a_large_window_cost_no_second_transmission() {
    let mut rfc = profile("rfc");
    (rfc.receive_buffer, rfc.send_buffer) = (4 << 20, 4 << 20);
    rfc.initial_window = 1_500;
    let lose = |passing: &Passing| {
        let first = !passing.segment.retransmission && !passing.segment.payload.is_empty();
        if first && passing.number % 2 == 1 {
            Fate::Drop
        } else {
            Fate::Deliver(ms(10))
        }
    };
    let mut pair = Pair::new(&rfc, &rfc, Box::new(lose));
    pair.a.application.pattern = Some((1, 2_000_000));
    pair.a.application.close_when_written = true;
    pair.b.application.close_when_written = true;
    pair.run_to_rest(Instant::from_secs(200));
    let received = pair.b.connection.statistics();
    assert!(received.out_of_order_received > 300, "{received:?}");
    assert_eq!(received.scattered_dropped, 0);
    // RFC 6675's rescue retransmission may be in vain.
    assert!(received.duplicates_received <= 1, "{received:?}");
}

#[test]
fn a_connection_is_small() {
    let rfc = profile("rfc");
    let mut pair = Pair::new(&rfc, &rfc, delay(20));
    pair.a.application.pattern = Some((1, 3_000_000));
    pair.run_until(at_ms(200));
    // The goal is 16 KiB a flow, both ends and all else included.
    assert!(
        size_of::<Connection>() < 1_500,
        "{}",
        size_of::<Connection>()
    );
    assert!(pair.b.connection.memory() < 2 << 10);
}

#[test]
fn a_connection_that_has_ended_gives_its_room_back() {
    let rfc = profile("rfc");
    let mut pair = Pair::new(&rfc, &rfc, delay(20));
    pair.a.application.pattern = Some((1, 3_000_000));
    pair.a.application.close_when_written = true;
    pair.b.application.close_when_written = true;
    pair.run_to_rest(Instant::from_secs(200));
    for end in [&pair.a, &pair.b] {
        assert_eq!(end.connection.state(), State::Closed);
        assert!(
            end.connection.memory() < 2 << 10,
            "{}",
            end.connection.memory()
        );
    }
}

#[test]
fn a_write_that_was_cut_short_is_told_when_to_go_on() {
    let mut small = profile("rfc");
    small.send_buffer = 3_000;
    let mut solo = Solo::established(&small);
    solo.events();
    assert_eq!(solo.connection.write_pattern(0, 10_000), 3_000);
    solo.sends();
    solo.at(200).receive(ack(1_001));
    assert_eq!(solo.events(), [Event::Writable]);
    assert_eq!(solo.connection.write_pattern(1, 10), 0, "another pattern");
    assert_eq!(solo.connection.write(b"x"), 0, "bytes after a pattern");
    assert_eq!(solo.connection.write_pattern(0, 10_000), 1_000);
}

/// Found by the search over two connected ends: the window that stands in data sent again is the present one.
#[test]
fn an_acknowledgment_in_data_sent_again_does_not_move_the_old_window_along() {
    let mut solo = Solo::established(&profile("rfc"));
    solo.at(200).write(100_000);
    solo.sends();
    // The peer's second segment has come, its first was lost. It offers 3000 bytes beyond the first of ours.
    solo.receive(data(101, 201).acknowledging(1_001).window(9_000));
    solo.sends();
    // Its first again: it has 9000 more of ours, and room for 500 bytes.
    solo.receive(data(1, 101).acknowledging(10_001).window(500));
    assert_eq!(solo.connection.peer_window(), 500);
}

/// Found by the search over hostile peers. RFC 7323 section 2.2: the window of a SYN is never scaled, and that of the
/// SYN-ACK that ends a simultaneous open is a SYN's.
#[test]
fn the_window_of_a_simultaneous_opens_syn_ack_is_not_scaled() {
    let mut solo = Solo::connecting(&profile("rfc"));
    let options = TcpOptions {
        window_scale: Some(7),
        ..TcpOptions::default()
    };
    let from_peer = |flags, acknowledgment| {
        let segment = from_peer(flags, 0, acknowledgment).window(1_280);
        segment.options(options)
    };
    solo.at(100).receive(from_peer(TcpFlags::SYN, 0));
    solo.receive(from_peer(TcpFlags::SYN.with(TcpFlags::ACK), 1));
    assert_eq!(solo.connection.state(), State::Established);
    assert_eq!(solo.connection.peer_window(), 1_280);
}
