//! Snoop as timelines: what passes, what ends at the gateway, and what is sent again when.

use super::*;
use crate::packet::{Body, IpHeader, Payload};
use crate::wire::tcp::TcpOptions;

pub(super) const LENGTH: u32 = 1000;

pub(super) fn at(milliseconds: u64) -> Instant {
    Instant::from_millis(milliseconds)
}

pub(super) fn header(sequence: u32, acknowledgment: u32, window: u16) -> TcpHeader {
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

pub(super) fn packet(header: TcpHeader, length: u32) -> Packet {
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
        identity: crate::packet::Identity::NONE,
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
    assert_eq!(snoop.poll_timeout(), None, "nothing is measured");
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

/// With one segment acknowledged after 60 ms, so that the timeout is 180 ms.
fn measured() -> Snoop {
    let mut snoop = Snoop::default();
    data(&mut snoop, 0, 0);
    has(&mut snoop, 60, 1);
    snoop
}

/// All six segments are lost in an outage: one by the timer, then two for each that is acknowledged.
#[test]
fn a_window_that_is_lost_is_sent_again_as_in_slow_start() {
    let mut snoop = measured();
    for number in 1..7 {
        data(&mut snoop, 820, number);
    }
    let first = snoop.handle_timeout(at(1000)).unwrap();
    assert_eq!(number_of(&first), 1);
    for (milliseconds, segments, expected) in [
        (1050, 2, vec![2, 3]),
        (1100, 3, vec![4, 5]),
        (1101, 4, vec![6]),
        (1150, 6, vec![]),
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
    // A segment that the mobile has already goes no further, and its acknowledgment comes from here.
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

/// The mobile has so many segments in order, and these beyond, each from a segment to before another.
fn told(segments: u32, blocks: &[(u32, u32)]) -> TcpHeader {
    let number = |segment: u32| SequenceNumber(1 + segment * LENGTH);
    let mut said = header(1, 1 + segments * LENGTH, 0xFFFF);
    for &(first, after) in blocks {
        said.options.sack.push(number(first), number(after));
    }
    said
}

/// Takes acknowledgments at times in ms; says what becomes of each, and what is sent again.
fn take(snoop: &mut Snoop, said: &[(u64, TcpHeader)]) -> Vec<(Watched, Vec<u32>)> {
    let each = |&(milliseconds, header): &(u64, TcpHeader)| {
        let (watched, resent) = snoop.handle_acknowledgment(at(milliseconds), (&header, 0));
        (watched, resent.iter().map(number_of).collect())
    };
    said.iter().map(each).collect()
}

/// Of twelve segments the hop loses 1, 3, 5 and 6. It keeps the order: what was sent before a segment that has arrived is
/// lost. So all four are sent again within a round trip, two for an acknowledgment.
#[test]
fn several_holes_are_repaired_in_a_round_trip() {
    let mut snoop = Snoop::default();
    (0..12).for_each(|number| assert_eq!(data(&mut snoop, number.into(), number), Watched::Pass));
    let did = take(
        &mut snoop,
        &[
            (50, told(1, &[])),
            (52, told(1, &[(2, 3)])),
            (54, told(1, &[(4, 5), (2, 3)])),
            (57, told(1, &[(7, 8), (4, 5), (2, 3)])),
            (58, told(1, &[(7, 9), (4, 5), (2, 3)])),
            (102, told(3, &[(7, 12), (4, 5)])),
            (104, told(5, &[(7, 12)])),
        ],
    );
    let drop = |resent: &[u32]| (Watched::Drop, resent.to_vec());
    let expected = [
        (Watched::Pass, vec![]),
        drop(&[1]),
        drop(&[3]),
        drop(&[5, 6]),
        drop(&[]),
        (Watched::WithoutBlocks, vec![]),
        (Watched::WithoutBlocks, vec![]),
    ];
    assert_eq!(did, expected);
    let all = take(&mut snoop, &[(107, told(12, &[]))]);
    assert_eq!((all, snoop.bytes()), (vec![(Watched::Pass, vec![])], 0));
}

/// A repeated packet is lost again if something has arrived that went behind it.
#[test]
fn a_copy_that_is_lost_too_is_sent_once_more_without_a_timeout() {
    let mut snoop = Snoop::default();
    (0..3).for_each(|number| assert_eq!(data(&mut snoop, number.into(), number), Watched::Pass));
    let before = take(&mut snoop, &[(50, told(1, &[])), (52, told(1, &[(2, 3)]))]);
    assert_eq!(before[1], (Watched::Drop, vec![1]));
    data(&mut snoop, 53, 3);
    let after = take(&mut snoop, &[(103, told(1, &[(2, 4)]))]);
    assert_eq!(after, [(Watched::Drop, vec![1])]);
}

/// Two of four segments find no room in the gateway's own queue, and one is lost on the air: of the first the sender hears,
/// and of the others with it; before it, of none.
#[test]
fn what_the_gateways_own_queue_has_dropped_is_the_senders_to_hear_of() {
    let mut snoop = Snoop::default();
    (0..6).for_each(|number| assert_eq!(data(&mut snoop, number.into(), number), Watched::Pass));
    for number in [3, 4] {
        snoop.handle_drop(at(6), SequenceNumber(1 + number * LENGTH));
    }
    let did = take(
        &mut snoop,
        &[
            (50, told(1, &[])),
            (52, told(1, &[(2, 3)])),
            (55, told(1, &[(5, 6), (2, 3)])),
            (102, told(3, &[(5, 6)])),
            (103, told(3, &[(5, 7), (5, 6)])),
        ],
    );
    let expected = [
        (Watched::Pass, vec![]),
        (Watched::Drop, vec![1]),
        (Watched::Drop, vec![]),
        (Watched::Pass, vec![]),
        (Watched::Pass, vec![]),
    ];
    assert_eq!(did, expected);
    assert_eq!(snoop.bytes(), packet(header(1, 1, 0), LENGTH).wire_length());
    // Nor does a timer run for what is behind the sender's hole.
    assert_eq!(snoop.poll_timeout(), None);
}

/// RFC 2883: the first block, below what is acknowledged, tells of what has come twice. The timeout was wrong.
#[test]
fn what_the_mobile_has_twice_ends_a_repair() {
    let mut snoop = measured();
    (1..9).for_each(|number| assert_eq!(data(&mut snoop, 100, number), Watched::Pass));
    assert_eq!(number_of(&snoop.handle_timeout(at(280)).unwrap()), 1);
    let did = take(
        &mut snoop,
        &[
            (300, told(2, &[])),
            (310, told(3, &[])),
            (320, told(4, &[(1, 2)])),
        ],
    );
    let pass = |resent: &[u32]| (Watched::Pass, resent.to_vec());
    let ended = (Watched::WithoutBlocks, vec![]);
    assert_eq!(did, [pass(&[2, 3]), pass(&[4, 5]), ended]);
}

/// A sender that reads of the hole in a SACK would repair it itself.
#[test]
fn blocks_that_tell_of_a_hole_with_a_copy_are_taken_out() {
    let mut snoop = Snoop::default();
    (0..5).for_each(|number| assert_eq!(data(&mut snoop, 0, number), Watched::Pass));
    let mut said = told(1, &[(2, 3)]);
    let (watched, resent) = snoop.handle_acknowledgment(at(30), (&said, 0));
    assert_eq!((watched, resent.len()), (Watched::WithoutBlocks, 1));
    // Of a hole that is not from here they go on.
    said.acknowledgment = SequenceNumber(1 + 5 * LENGTH);
    let taken = snoop.handle_acknowledgment(at(40), (&said, 0));
    assert_eq!(taken, (Watched::Pass, vec![]));
}

/// RFC 7323 section 5: with the timestamp that it had, the mobile might take it for an old duplicate.
#[test]
fn a_copy_bears_the_senders_latest_timestamp() {
    let mut snoop = measured();
    for number in 1..4 {
        let mut header = header(1 + number * LENGTH, 1, 0xFFFF);
        let value = 699 + number;
        header.options.timestamps = Some(Timestamps { value, echo: 9 });
        let packet = packet(header, LENGTH);
        snoop.handle_data(at(100), (&header, LENGTH), &packet);
    }
    let packet = snoop.handle_timeout(at(1000)).unwrap();
    assert_eq!(number_of(&packet), 1);
    let header = packet.segment_within().unwrap().header;
    assert_eq!(header.options.timestamps.unwrap().value, 702);
}

#[test]
fn copies_take_no_more_than_a_mebibyte() {
    let mut snoop = Snoop::default();
    for number in 0..2000 {
        assert_eq!(data(&mut snoop, 0, number), Watched::Pass);
        assert!(snoop.bytes() <= 1 << 20);
    }
    assert!(snoop.bytes() > (1 << 20) - 1100);
    // A packet that found no room is left to the sender.
    assert_eq!(has(&mut snoop, 10, 1500), (Watched::Pass, None));
    assert_eq!(has(&mut snoop, 20, 1500), (Watched::Pass, None));
    assert_eq!(snoop.bytes(), 0);
}
