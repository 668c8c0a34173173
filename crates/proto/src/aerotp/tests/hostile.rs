//! Packets that nobody should send: dropped and counted, and the connection is as it was.

use super::*;
use crate::wire::aerotp::{AerotpHeader, Mack, MissingRange, Range};
use crate::wire::tcp::TcpFlags;

/// A connection under way, and the first packet of A with another content.
fn under_way() -> (Pair, AerotpHeader) {
    let mut pair = Pair::new(with_mode(Mode::Reliable), study_path(0.0, 1));
    pair.write(20_000);
    pair.seconds(1.0);
    let Body::Aerotp(packet) = pair.log[0].2.body.clone() else {
        unreachable!()
    };
    (pair, packet.header)
}

fn hand_in(pair: &mut Pair, header: AerotpHeader, payload: Payload) {
    let now = pair.now();
    let b = pair.b.as_mut().unwrap();
    b.handle_packet(now, (HERE, THERE), AerotpPacket::new(header, payload));
}

/// Asserts that the packet is refused once, and that the connection goes on.
fn assert_refused(change: impl FnOnce(&mut AerotpHeader)) {
    let (mut pair, mut header) = under_way();
    change(&mut header);
    hand_in(&mut pair, header, Payload::EMPTY);
    let b = pair.b.as_ref().unwrap();
    assert_eq!(b.statistics().refused, 1);
    assert_eq!(b.state(), State::Established);
    pair.write(20_000);
    pair.a.close();
    pair.seconds(3.0);
    pair.assert_read(40_000);
    assert!(pair.saw(End::A, Event::Delivered));
}

#[test]
fn a_mode_does_not_change() {
    assert_refused(|header| header.mode = Mode::QuasiReliable);
}

#[test]
fn a_connection_has_one_opening() {
    assert_refused(|header| header.opening.as_mut().unwrap().token ^= 1);
    assert_refused(|header| header.opening.as_mut().unwrap().initial.0 ^= 1);
}

#[test]
fn what_was_never_sent_is_not_acknowledged() {
    let with = |mack: Mack| move |header: &mut AerotpHeader| header.mack = Some(Box::new(mack));
    // B has sent nothing: its first byte is the next.
    let cumulative = identity(2000, 1000).initial;
    let ahead = SequenceNumber(cumulative.0.wrapping_add(1));
    assert_refused(with(Mack {
        cumulative: ahead,
        ..Mack::default()
    }));
    let behind = SequenceNumber(cumulative.0.wrapping_sub(1));
    assert_refused(with(Mack {
        cumulative: behind,
        ..Mack::default()
    }));
    let range = Range {
        start: 1,
        length: 1,
    };
    assert_refused(with(Mack {
        cumulative,
        received: vec![range],
        ..Mack::default()
    }));
    let missing = MissingRange {
        range,
        damaged: true,
    };
    assert_refused(with(Mack {
        cumulative,
        missing: vec![missing],
        ..Mack::default()
    }));
    assert_refused(with(Mack {
        cumulative,
        unconfirmed: 1,
        ..Mack::default()
    }));
}

#[test]
fn a_reset_proves_that_it_is_the_peers() {
    assert_refused(|header| header.tcp_flags = TcpFlags::RST);
    assert_refused(|header| header.tcp_flags = TcpFlags::RST.with(TcpFlags::ACK));
    assert_refused(|header| {
        header.tcp_flags = TcpFlags::RST;
        header.token = Some(1);
    });
}

#[test]
fn data_beyond_the_window_is_not_kept() {
    let (mut pair, mut header) = under_way();
    header.sequence = SequenceNumber(header.sequence.0.wrapping_add(5 << 20));
    hand_in(
        &mut pair,
        header,
        Payload::Pattern {
            stream: 1,
            offset: 0,
            length: 100,
        },
    );
    assert_eq!(pair.b.as_ref().unwrap().statistics().refused, 1);
    pair.write(20_000);
    pair.seconds(3.0);
    pair.assert_read(40_000);
}

#[test]
fn an_end_does_not_move() {
    let (mut pair, mut header) = under_way();
    header.is_final = true;
    header.sequence = SequenceNumber(header.sequence.0.wrapping_add(10_000));
    // Before what has come already: no end at all.
    hand_in(&mut pair, header, Payload::EMPTY);
    pair.write(20_000);
    pair.a.close();
    pair.seconds(3.0);
    pair.assert_read(40_000);
}

/// The issue: an idle connection costs at most 2 kB.
#[test]
fn an_idle_connection_is_small() {
    let (pair, _) = under_way();
    let heap = pair.a.memory();
    assert!(heap <= 2048, "{heap}");
}
