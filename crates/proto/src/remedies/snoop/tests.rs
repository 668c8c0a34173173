//! Snoop as timelines: what passes, what ends at the gateway, and what is sent again when.

use super::*;
use crate::packet::{Body, IpHeader, Payload};
use crate::wire::tcp::TcpOptions;

const LENGTH: u32 = 1000;

fn at(milliseconds: u64) -> Instant {
    Instant::from_millis(milliseconds)
}

fn header(sequence: u32, acknowledgment: u32, window: u16) -> TcpHeader {
    TcpHeader {
        source_port: 5001,
        destination_port: 49152,
        sequence: SequenceNumber(sequence),
        acknowledgment: SequenceNumber(acknowledgment),
        flags: TcpFlags::ACK,
        window,
        options: TcpOptions::default(),
    }
}

fn packet(header: TcpHeader, length: u32) -> Packet {
    let payload = Payload::Pattern {
        stream: 1,
        offset: 0,
        length,
    };
    Packet {
        ip: IpHeader {
            source: [10, 0, 0, 1].into(),
            destination: [10, 0, 0, 3].into(),
            hop_limit: 60,
            traffic_class: 0,
            identification: 0,
            dont_fragment: true,
        },
        flow: None,
        retransmission: false,
        bit_errors: Default::default(),
        body: Body::Tcp(header, payload),
    }
}

/// Segment `number` of a thousand bytes each, the first of which begins at 1.
fn data(snoop: &mut Snoop, milliseconds: u64, number: u32) -> Watched {
    let header = header(1 + number * LENGTH, 1, 0xFFFF);
    let packet = packet(header, LENGTH);
    snoop.handle_data(at(milliseconds), (&header, LENGTH), &packet)
}

/// The mobile has so many segments in order; says what becomes of its acknowledgment, and which segment is sent again.
fn has(snoop: &mut Snoop, milliseconds: u64, segments: u32) -> (Watched, Option<u32>) {
    let header = header(1, 1 + segments * LENGTH, 0xFFFF);
    let (watched, resent) = snoop.handle_acknowledgment(at(milliseconds), (&header, 0));
    assert!(resent.len() <= 1);
    (watched, resent.first().map(number_of))
}

fn number_of(packet: &Packet) -> u32 {
    assert!(packet.retransmission);
    let segment = packet.segment_within().unwrap();
    (segment.header.sequence.0 - 1) / LENGTH
}

/// The second of five segments is lost behind the gateway.
#[test]
fn the_first_duplicate_has_the_copy_sent_again_and_no_duplicate_goes_on() {
    let mut snoop = Snoop::default();
    for number in 0..5 {
        let sent = 10 * u64::from(number);
        assert_eq!(data(&mut snoop, sent, number), Watched::Pass);
    }
    assert_eq!(has(&mut snoop, 50, 1), (Watched::Pass, None));
    assert_eq!(has(&mut snoop, 60, 1), (Watched::Drop, Some(1)));
    assert_eq!(has(&mut snoop, 70, 1), (Watched::Drop, None));
    assert_eq!(has(&mut snoop, 80, 1), (Watched::Drop, None));
    assert_eq!(has(&mut snoop, 110, 5), (Watched::Pass, None));
    assert_eq!((snoop.bytes(), snoop.poll_timeout()), (0, None));
    // An old one, which another way has delivered late, ends here.
    assert_eq!(has(&mut snoop, 120, 3), (Watched::Drop, None));
}

/// RFC 6298 with a first sample of 60 ms: 60 + 4 · 30 = 180 ms, doubled each time, ten times.
#[test]
fn what_nobody_acknowledges_is_sent_again_when_the_last_hops_timeout_is_over() {
    let mut snoop = Snoop::default();
    data(&mut snoop, 0, 0);
    assert_eq!(snoop.poll_timeout(), Some(at(1000)), "nothing is measured");
    has(&mut snoop, 60, 1);
    assert_eq!(snoop.poll_timeout(), None);
    data(&mut snoop, 100, 1);
    let mut due = 280;
    for doubling in 0..=10 {
        assert_eq!(snoop.poll_timeout(), Some(at(due)), "{doubling}");
        assert_eq!(snoop.handle_timeout(at(due - 1)), None);
        let packet = snoop.handle_timeout(at(due)).unwrap();
        assert_eq!(number_of(&packet), 1);
        due += 180 << (doubling + 1).min(10);
    }
    assert_eq!(snoop.poll_timeout(), None, "given up");
    // The sender's own brings it back, and its duplicates are the sender's.
    assert_eq!(data(&mut snoop, due, 1), Watched::Pass);
    assert!(snoop.poll_timeout().is_some());
    assert_eq!(has(&mut snoop, due + 10, 1), (Watched::Pass, None));
    // Sent so often, it tells nothing of the round-trip time (Karn).
    assert_eq!(has(&mut snoop, due + 20, 2), (Watched::Pass, None));
    data(&mut snoop, due + 30, 2);
    assert_eq!(snoop.poll_timeout(), Some(at(due + 210)));
}

/// All six segments are lost in an outage: one by the timer, then two for each that is acknowledged.
#[test]
fn a_window_that_is_lost_is_sent_again_as_in_slow_start() {
    let mut snoop = Snoop::default();
    for number in 0..6 {
        data(&mut snoop, 0, number);
    }
    let first = snoop.handle_timeout(at(1000)).unwrap();
    assert_eq!(number_of(&first), 0);
    for (milliseconds, segments, expected) in [
        (1050, 1, vec![1, 2]),
        (1100, 2, vec![3, 4]),
        (1101, 3, vec![5]),
        (1150, 5, vec![]),
    ] {
        let said = header(1, 1 + segments * LENGTH, 0xFFFF);
        let (watched, resent) = snoop.handle_acknowledgment(at(milliseconds), (&said, 0));
        let numbers: Vec<u32> = resent.iter().map(number_of).collect();
        assert_eq!((watched, numbers), (Watched::Pass, expected));
    }
}

#[test]
fn what_was_lost_before_the_gateway_is_the_senders_to_repair() {
    let mut snoop = Snoop::default();
    data(&mut snoop, 0, 0);
    data(&mut snoop, 10, 2);
    assert_eq!(has(&mut snoop, 30, 1), (Watched::Pass, None));
    assert_eq!(has(&mut snoop, 40, 1), (Watched::Pass, None), "no copy");
    assert_eq!(data(&mut snoop, 90, 1), Watched::Pass);
    assert_eq!(
        has(&mut snoop, 95, 1),
        (Watched::Pass, None),
        "the sender's"
    );
    assert_eq!(has(&mut snoop, 120, 3), (Watched::Pass, None));
    // What the mobile has had already goes no further, and its acknowledgment comes from here.
    assert_eq!(data(&mut snoop, 130, 1), Watched::Acknowledge);
}

#[test]
fn a_window_that_changes_or_is_shut_and_data_are_no_duplicates() {
    let mut snoop = Snoop::default();
    data(&mut snoop, 0, 0);
    data(&mut snoop, 0, 1);
    has(&mut snoop, 10, 1);
    let with = |window, length| (header(1, 1 + LENGTH, window), length);
    for (said, length) in [with(0x1000, 0), with(0x1000, 200), with(0, 0), with(0, 0)] {
        let taken = snoop.handle_acknowledgment(at(20), (&said, length));
        assert_eq!(taken, (Watched::Pass, vec![]), "{said:?}");
    }
}

/// A sender that reads of the hole in a SACK would repair it itself.
#[test]
fn blocks_that_tell_of_a_hole_with_a_copy_are_taken_out() {
    let mut snoop = Snoop::default();
    (0..5).for_each(|number| assert_eq!(data(&mut snoop, 0, number), Watched::Pass));
    let mut said = header(1, 1 + LENGTH, 0xFFFF);
    said.options.sack.push(
        SequenceNumber(1 + 2 * LENGTH),
        SequenceNumber(1 + 3 * LENGTH),
    );
    let taken = snoop.handle_acknowledgment(at(30), (&said, 0));
    assert_eq!(taken, (Watched::WithoutBlocks, vec![]));
    // Of a hole that is not from here they go on.
    said.acknowledgment = SequenceNumber(1 + 5 * LENGTH);
    let taken = snoop.handle_acknowledgment(at(40), (&said, 0));
    assert_eq!(taken, (Watched::Pass, vec![]));
}

#[test]
fn copies_take_no_more_than_a_mebibyte() {
    let mut snoop = Snoop::default();
    for number in 0..2000 {
        assert_eq!(data(&mut snoop, 0, number), Watched::Pass);
        assert!(snoop.bytes() <= 1 << 20);
    }
    assert!(snoop.bytes() > (1 << 20) - 1100);
    // What found no room is the sender's business.
    assert_eq!(has(&mut snoop, 10, 1500), (Watched::Pass, None));
    assert_eq!(has(&mut snoop, 20, 1500), (Watched::Pass, None));
    assert_eq!(snoop.bytes(), 0);
}
