//! Snoop of data from the mobile, with 10 ms to the gateway and 100 ms from there to the server: the times of transmissions.

use super::*;
use crate::testing::Sent;

const SEGMENT: u32 = 1460;
/// Time in ms at which the mobile writes.
const START: u64 = 1000;

/// Lost segments of the mobile, by node and by index among the node's transmissions from [`START`] on.
type Lost = &'static [(usize, usize)];

/// Has the mobile send so many segments, while the channel loses some, given as node and index.
fn upload(profile: &Profile, snoops: bool, segments: u32, lost: Lost) -> Net {
    let mut row = serving([ms(100), ms(10)], Some(PORT), Service::Watch);
    if !snoops {
        *row.hosts[1].layer_mut::<PathAgents>().unwrap() = PathAgents::new([2; 16]);
    }
    row.begin(profile);
    row.run_until(at(START));
    let mut count = [0; 3];
    row.decide(move |_, Entering { from, to, .. }| {
        let place = if to == 2 { usize::MAX } else { count[from] };
        count[from] += usize::from(to != 2);
        match lost.contains(&(from, place)) {
            true => Passage::Lost,
            false => Passage::Arrives,
        }
    });
    let length = u64::from(segments * SEGMENT);
    assert_eq!(row.connection(2, 0).write_pattern(7, length), length);
    row
}

/// Returns the mobile's retransmissions: time in ms since [`START`], and segment.
fn again(row: &Net) -> Vec<(u64, u32)> {
    let number = |sent: &Sent| sent.packet.segment_within().unwrap().header.sequence;
    let by_mobile = || row.sent.iter().filter(|sent| sent.from == 2);
    let first = by_mobile().find(|sent| is_data(&sent.packet)).map(number);
    let each = by_mobile().filter(|sent| sent.packet.retransmission);
    each.map(|sent| {
        let distance = number(sent).distance_from(first.unwrap()) as u32;
        (sent.at.as_nanos() / 1_000_000 - START, distance / SEGMENT)
    })
    .collect()
}

fn read_all(row: &mut Net) -> u64 {
    row.connection(0, 0).discard(u64::MAX)
}

fn is_data(packet: &Packet) -> bool {
    packet.segment_within().unwrap().payload.length() > 0
}

/// The third of ten segments is lost on the hop. At the gateway the sixth is the third beyond the gap, at 10 ms. The
/// mobile learns of the loss at 20 ms, a round trip of the hop after it was sent, and not at 220. It retransmits the
/// first, which no SACK block covers, and the third, which the server has at 130 ms.
#[test]
fn the_first_repair_takes_a_round_trip_of_the_hop_instead_of_the_paths() {
    for (snoops, expected) in [(true, vec![(20, 0), (20, 2)]), (false, vec![(220, 2)])] {
        let mut row = upload(&Profile::rfc(), snoops, 40, &[(2, 2)]);
        row.run_until(at(10_000));
        assert_eq!(again(&row), expected, "{snoops}");
        assert_eq!(read_all(&mut row), u64::from(40 * SEGMENT));
    }
}

/// The far end's duplicate ACKs arrive at 220 ms, after the window was halved: there is one fast retransmission.
#[test]
fn the_window_is_reduced_once_though_the_far_end_tells_of_the_gap_too() {
    let mut row = upload(&Profile::rfc(), true, 200, &[(2, 12)]);
    row.run_until(at(10_000));
    let duplicates = row
        .sent
        .iter()
        .filter(|sent| (sent.from, sent.to) == (0, 1) && blocks(&sent.packet) > 0);
    assert!(duplicates.count() >= 3);
    let statistics = row.connection(2, 0).statistics();
    assert_eq!((statistics.fast_retransmits, statistics.timeouts), (1, 0));
    assert_eq!(read_all(&mut row), u64::from(200 * SEGMENT));
}

fn blocks(packet: &Packet) -> usize {
    let header = packet.segment_within().unwrap().header;
    header.options.sack.as_slice().len()
}

/// The mobile gets no ACK beyond the server's, and neither more nor less window than the server offers.
#[test]
fn the_mobile_is_told_the_far_ends_number_and_window() {
    let mut row = upload(
        &Profile::rfc(),
        true,
        100,
        &[(2, 2), (2, 7), (2, 30), (2, 31)],
    );
    row.run_until(at(10_000));
    let said = |from: usize, to: usize| {
        let way = row.sent.iter();
        let way = way.filter(move |sent| (sent.from, sent.to) == (from, to));
        way.map(|sent| (sent.at, sent.packet.segment_within().unwrap().header))
    };
    let word = |header: &TcpHeader| (header.acknowledgment, header.window);
    let mut before = said(1, 2).next().unwrap().1.acknowledgment;
    for (at, header) in said(1, 2) {
        let mut arrived = said(0, 1).filter(|(sent, _)| *sent + ms(100) <= at);
        assert!(arrived.any(|(_, known)| word(known) == word(header)));
        assert!(header.acknowledgment.distance_from(before) >= 0);
        before = header.acknowledgment;
    }
    assert!(said(1, 2).count() >= said(0, 1).count() + 3);
}

/// A SACK is no promise (RFC 2018 section 8). The third segment is lost on the hop, and the fifth behind the gateway
/// after its SACK: the mobile gets no further report of the fifth, and retransmits it at its timeout, a second after
/// the last progress.
#[test]
fn what_is_lost_behind_the_gateway_after_it_was_told_of_is_for_the_timeout() {
    let mut row = upload(&Profile::rfc(), true, 40, &[(2, 2), (1, 3)]);
    row.run_until(at(10_000));
    let again = again(&row);
    assert_eq!(again[..2], [(20, 0), (20, 2)]);
    let fifth = again.iter().find(|(_, number)| *number == 4);
    assert_eq!(fifth, Some(&(1240, 4)), "{again:?}");
    assert_eq!(row.connection(2, 0).statistics().timeouts, 1);
    assert_eq!(read_all(&mut row), u64::from(40 * SEGMENT));
}

/// Without SACK at both ends the gateway sends nothing: the packets are the same as without snoop.
#[test]
fn a_connection_without_sack_is_left_as_it_is() {
    let without = Profile {
        sack: false,
        ..Profile::rfc()
    };
    let mut row = upload(&without, true, 30, &[(2, 2)]);
    row.run_until(at(10_000));
    // Three duplicate ACKs of the server.
    assert_eq!(again(&row).first(), Some(&(220, 2)));
    assert_eq!(read_all(&mut row), u64::from(30 * SEGMENT));
}
