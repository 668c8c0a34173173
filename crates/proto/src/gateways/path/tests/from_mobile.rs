//! Snoop of data from the mobile, with 10 ms to the gateway and 100 ms from there to the server: the times of transmissions.

use super::*;

const SEGMENT: u32 = 1460;
/// Time in ms at which the mobile writes.
const START: u64 = 1000;

/// Lost segments of the mobile, by node and by place among the node's transmissions from [`START`] on.
type Lost = &'static [(usize, usize)];

/// Lets the mobile send so many segments, while the channel loses some, given as node and place.
fn upload(profile: &Profile, snoops: bool, segments: u32, lost: Lost) -> Row {
    let far = |from: usize, to: usize| if from + to == 1 { ms(100) } else { ms(10) };
    let mut row = Row::new(Service::Watch);
    if !snoops {
        *row.hosts[1].layer_mut::<PathAgents>().unwrap() = PathAgents::new([2; 16]);
    }
    row.fate = Box::new(move |from, to| vec![far(from, to)]);
    row.begin(profile);
    row.run(Instant::from_millis(START));
    let mut count = [0; 3];
    row.fate = Box::new(move |from, to| {
        let place = if to == 2 { usize::MAX } else { count[from] };
        count[from] += usize::from(to != 2);
        match lost.contains(&(from, place)) {
            true => vec![],
            false => vec![far(from, to)],
        }
    });
    let length = u64::from(segments * SEGMENT);
    assert_eq!(row.connection(2, 0).write_pattern(7, length), length);
    row
}

impl Row {
    /// Returns the mobile's retransmissions: time in ms since [`START`], and segment.
    fn again(&self) -> Vec<(u64, u32)> {
        let first = self.log.iter().find(|log| log.1 == 2 && is_data(&log.3));
        let first = first.map(|log| log.3.segment_within().unwrap().header.sequence);
        let each = self
            .log
            .iter()
            .filter(|log| log.1 == 2 && log.3.retransmission);
        let number = |packet: &Packet| packet.segment_within().unwrap().header.sequence;
        each.map(|(at, _, _, packet)| {
            let distance = number(packet).distance_from(first.unwrap()) as u32;
            (at.as_nanos() / 1_000_000 - START, distance / SEGMENT)
        })
        .collect()
    }

    fn read_all(&mut self) -> u64 {
        self.connection(0, 0).discard(u64::MAX)
    }
}

fn is_data(packet: &Packet) -> bool {
    packet.segment_within().unwrap().payload.length() > 0
}

/// The third of ten segments is lost on the hop. At the gateway the sixth is the third beyond the gap, at 10 ms; the mobile
/// hears of it at 20 ms, a round trip of the hop after it was sent, and not at 220. It retransmits the first, which no SACK block
/// covers, and the third, which the server has at 130 ms.
#[test]
fn the_first_repair_takes_a_round_trip_of_the_hop_instead_of_the_paths() {
    for (snoops, expected) in [(true, vec![(20, 0), (20, 2)]), (false, vec![(220, 2)])] {
        let mut row = upload(&Profile::rfc(), snoops, 40, &[(2, 2)]);
        row.run(Instant::from_secs(10));
        assert_eq!(row.again(), expected, "{snoops}");
        assert_eq!(row.read_all(), u64::from(40 * SEGMENT));
    }
}

/// The far end's duplicate ACKs come at 220 ms, after the window was halved: there is one fast retransmission.
#[test]
fn the_window_is_reduced_once_though_the_far_end_tells_of_the_gap_too() {
    let mut row = upload(&Profile::rfc(), true, 200, &[(2, 12)]);
    row.run(Instant::from_secs(10));
    let duplicates = row
        .log
        .iter()
        .filter(|log| (log.1, log.2) == (0, 1) && blocks(&log.3) > 0);
    assert!(duplicates.count() >= 3);
    let statistics = row.connection(2, 0).statistics();
    assert_eq!((statistics.fast_retransmits, statistics.timeouts), (1, 0));
    assert_eq!(row.read_all(), u64::from(200 * SEGMENT));
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
    row.run(Instant::from_secs(10));
    let said = |from: usize, to: usize| {
        let log = row
            .log
            .iter()
            .filter(move |log| (log.1, log.2) == (from, to));
        log.map(|log| (log.0, log.3.segment_within().unwrap().header))
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

/// A SACK is no promise (RFC 2018 section 8). The third segment is lost on the hop, and the fifth behind the gateway after its SACK:
/// the mobile hears no more of the fifth, and retransmits it at its timeout, a second after the last progress.
#[test]
fn what_is_lost_behind_the_gateway_after_it_was_told_of_is_for_the_timeout() {
    let mut row = upload(&Profile::rfc(), true, 40, &[(2, 2), (1, 3)]);
    row.run(Instant::from_secs(10));
    let again = row.again();
    assert_eq!(again[..2], [(20, 0), (20, 2)]);
    let fifth = again.iter().find(|(_, number)| *number == 4);
    assert_eq!(fifth, Some(&(1240, 4)), "{again:?}");
    assert_eq!(row.connection(2, 0).statistics().timeouts, 1);
    assert_eq!(row.read_all(), u64::from(40 * SEGMENT));
}

/// Without SACK at both ends the gateway sends nothing: the packets are the same as without snoop.
#[test]
fn a_connection_without_sack_is_left_as_it_is() {
    let without = Profile {
        sack: false,
        ..Profile::rfc()
    };
    let mut row = upload(&without, true, 30, &[(2, 2)]);
    row.run(Instant::from_secs(10));
    // Three duplicate ACKs of the server.
    assert_eq!(row.again().first(), Some(&(220, 2)));
    assert_eq!(row.read_all(), u64::from(30 * SEGMENT));
}
