//! Opening a connection.

use super::*;
use crate::tcp::listener::{Admission, Listener};

#[test]
fn a_syn_is_repeated_at_doubling_intervals_and_given_up() {
    let mut solo = Solo::connecting(&profile("rfc"));
    // RFC 6298: 1 s at first, doubled each time, at most 60 s; six retransmissions.
    for at in [1_000, 3_000, 7_000, 15_000, 31_000, 63_000] {
        assert_eq!(solo.wakes_at(), Some(at));
        assert_eq!(solo.at(at).sends(), ["SYN"]);
    }
    solo.at(63_000 + 60_000);
    assert_eq!(solo.events(), [Event::TimedOut]);
    assert_eq!(solo.connection.state(), State::Closed);
    assert_eq!(solo.wakes_at(), None);
}

#[test]
fn a_repeated_syn_leaves_a_cautious_start() {
    let mut solo = Solo::connecting(&profile("rfc"));
    assert_eq!(solo.at(1_000).sends(), ["SYN"]);
    solo.at(1_100).receive(Incoming::syn_ack(&profile("rfc")));
    assert_eq!(solo.sends(), ["ack 1"]);
    // RFC 6298 section 5.7, RFC 5681 section 3.1.
    assert_eq!(solo.connection.retransmission_timeout(), ms(3_000));
    assert_eq!(solo.connection.congestion_window(), 1_000);
    assert_eq!(solo.connection.last_rtt_sample(), None, "Karn");
}

#[test]
fn the_options_of_both_syns_decide() {
    let mut all = profile("rfc");
    all.timestamps = true;
    let plain = profile("linux-2.0.36");
    for (a, b, agreed) in [
        (&all, &all, true),
        (&all, &plain, false),
        (&plain, &all, false),
    ] {
        let mut pair = Pair::new(a, b, delay(10));
        pair.run_until(at_ms(50));
        for end in [&pair.a.connection, &pair.b.connection] {
            assert_eq!(end.state(), State::Established);
            assert_eq!(end.common.negotiated.sack, agreed);
            assert_eq!(end.common.negotiated.timestamps, agreed);
            // 1 MiB needs a shift of 5: 2^20 >> 5 = 32768.
            assert_eq!(
                end.common.negotiated.window_shifts,
                agreed.then_some((5, 5))
            );
            // 1500 − 40, less 12 for the timestamps.
            assert_eq!(end.segment_size(), if agreed { 1_448 } else { 1_460 });
        }
        assert_eq!(pair.when(Side::A, Event::Connected), Some(at_ms(20)));
        assert_eq!(pair.when(Side::B, Event::Connected), Some(at_ms(30)));
    }
}

#[test]
fn a_peer_without_mss_option_gets_536_bytes() {
    let mut solo = Solo::connecting(&profile("rfc"));
    let bare = from_peer(TcpFlags::SYN.with(TcpFlags::ACK), 0, 1);
    solo.at(100).receive(bare);
    assert_eq!(solo.connection.segment_size(), 536);
}

#[test]
fn only_a_reset_that_acknowledges_our_syn_refuses() {
    let mut solo = Solo::connecting(&profile("rfc"));
    let reset = TcpFlags::RST.with(TcpFlags::ACK);
    solo.at(10).receive(from_peer(TcpFlags::RST, 0, 0));
    assert_eq!(solo.connection.state(), State::SynSent, "no ACK");
    solo.receive(from_peer(reset, 0, 2));
    assert_eq!(
        solo.connection.state(),
        State::SynSent,
        "ACK of something else"
    );
    assert_eq!(
        solo.sends(),
        Vec::<String>::new(),
        "a reset is never answered"
    );
    solo.receive(from_peer(reset, 0, 1));
    assert_eq!(solo.events(), [Event::Refused]);
}

#[test]
fn an_old_acknowledgment_of_a_syn_is_reset() {
    // RFC 9293 figure 9: the half-open connection of a peer that we have forgotten.
    let mut solo = Solo::connecting(&profile("rfc"));
    solo.at(10).receive(from_peer(TcpFlags::ACK, 300, 100));
    assert_eq!(solo.sends(), ["RST 100"]);
    assert_eq!(solo.connection.state(), State::SynSent);
}

#[test]
fn both_may_open_at_once() {
    // RFC 9293 figure 7.
    let profile = profile("rfc");
    let mut pair = Pair::new(&profile, &profile, delay(10)).simultaneous();
    pair.run_until(at_ms(100));
    for end in [&pair.a, &pair.b] {
        assert_eq!(end.connection.state(), State::Established);
        assert_eq!(end.log[0].1, "SYN");
        assert_eq!(end.log[1].1, "SYN ack 1");
        assert_eq!(end.events, [(at_ms(20), Event::Connected)]);
    }
}

#[test]
fn a_repeated_syn_gets_the_syn_ack_again() {
    let (a, b) = (end_point(1, 40_000), end_point(2, 80));
    let syn = from_peer(TcpFlags::SYN, 0, 0).header;
    let mut solo = Solo {
        now: Instant::ZERO,
        connection: Connection::accept(Instant::ZERO, a, b, &profile("rfc"), ISS_A, 1500, &syn),
    };
    assert_eq!(solo.sends(), ["SYN ack 1"]);
    solo.at(500).receive(from_peer(TcpFlags::SYN, 0, 0));
    assert_eq!(solo.sends(), ["SYN ack 1"]);
    solo.at(600).receive(ack(5));
    assert_eq!(
        solo.sends(),
        ["RST 5"],
        "an acknowledgment of what was never sent"
    );
    solo.at(700).receive(ack(1));
    assert_eq!(solo.events(), [Event::Connected]);
}

#[test]
fn ecn_is_declined() {
    // RFC 3168 section 6.1.1: a SYN-ACK without ECE declines.
    let asks = TcpFlags::SYN.with(TcpFlags::ECE).with(TcpFlags::CWR);
    let syn = from_peer(asks, 0, 0).header;
    let (a, b) = (end_point(1, 40_000), end_point(2, 80));
    let rfc = profile("rfc");
    let mut connection = Connection::accept(Instant::ZERO, a, b, &rfc, ISS_A, 1500, &syn);
    let answer = connection.poll_transmit(Instant::ZERO).unwrap();
    assert_eq!(answer.header.flags, TcpFlags::SYN.with(TcpFlags::ACK));
}

#[test]
fn data_written_and_closed_before_the_handshake_waits_for_it() {
    let profile = profile("rfc");
    let mut pair = Pair::new(&profile, &profile, delay(10));
    pair.a.connection.write(b"hello");
    pair.a.connection.close();
    pair.run_until(at_ms(100));
    assert_eq!(pair.b.application.received, b"hello");
    assert_eq!(pair.b.connection.state(), State::CloseWait);
}

#[test]
fn a_full_backlog_drops_syns_without_an_answer() {
    let mut listener = Listener::new(2);
    let syn = from_peer(TcpFlags::SYN, 0, 0).header;
    assert_eq!(listener.admit(&syn, 0), Admission::Accept);
    assert_eq!(listener.admit(&syn, 0), Admission::Accept);
    assert_eq!(listener.admit(&syn, 0), Admission::Drop);
    assert_eq!((listener.half_open(), listener.refused()), (2, 1));
    listener.half_open_ended();
    assert_eq!(listener.admit(&syn, 0), Admission::Accept);
    // RFC 9293 section 3.10.7.2: an ACK at a listening port is reset, a RST and anything else forgotten.
    let stray = ack(77).header;
    let Admission::Reset(reset) = listener.admit(&stray, 0) else {
        panic!("no reset");
    };
    assert_eq!(
        (reset.flags, reset.sequence),
        (TcpFlags::RST, stray.acknowledgment)
    );
    let reset = from_peer(TcpFlags::RST, 0, 0).header;
    assert_eq!(listener.admit(&reset, 0), Admission::Drop);
}

#[test]
fn a_segment_for_nobody_is_reset() {
    // RFC 9293 section 3.10.7.1: without ACK, <SEQ=0><ACK=SEG.SEQ+SEG.LEN><CTL=RST,ACK>.
    let mut syn = from_peer(TcpFlags::SYN, 0, 0).header;
    syn.sequence = SequenceNumber(1_000);
    let reset = super::super::reset_reply(&syn, 10).unwrap();
    assert_eq!(reset.sequence, SequenceNumber(0));
    assert_eq!(reset.acknowledgment, SequenceNumber(1_011));
    assert_eq!(reset.flags, TcpFlags::RST.with(TcpFlags::ACK));
    assert_eq!((reset.source_port, reset.destination_port), (40_000, 80));
    let with_ack = ack(50).header;
    let reset = super::super::reset_reply(&with_ack, 0).unwrap();
    assert_eq!(reset.sequence, with_ack.acknowledgment);
    assert_eq!(reset.flags, TcpFlags::RST);
    assert_eq!(super::super::reset_reply(&reset, 0), None);
}
