//! Table I row by row, by hand: no handshake, acknowledgments, timers, flow control, rate.

use super::pair::{DELAY, address, is_acknowledgment, is_data};
use super::*;

/// Bytes of one chunk in a packet of 1500: headers of IP 20, packet 17, data 5, chunk 21.
const FULL: u64 = 1500 - 20 - 17 - 5 - 21;

/// "3-way handshake: no": the first packet carries data, which is delivered one way later.
#[test]
fn data_goes_with_the_first_packet() {
    let mut pair = Pair::losing(configuration(), &[]);
    pair.write(100, false);
    pair.a.close();
    pair.run_until(at(50));
    assert_eq!(pair.log.len(), 2, "data, and its acknowledgment");
    assert_eq!(pair.read[0].0, at(50));
    assert_eq!(pair.assert_read(), 100);
    assert!(pair.saw(End::B, Event::Finished));
    pair.run_until(at(100));
    assert!(pair.saw(End::A, Event::Connected) && pair.saw(End::A, Event::Closed));
    assert!(pair.b.as_ref().is_some_and(Connection::is_over));
}

/// "congestion control: none": full packets leave every 12 ms, whatever is lost.
#[test]
fn losses_do_not_slow_the_sender() {
    for lost in [&[][..], &[0, 2, 3, 5, 6, 7, 9][..]] {
        let mut pair = Pair::losing(configuration(), lost);
        pair.write(20 * FULL as u32, false);
        pair.run_until(at(12 * 19));
        let expected: Vec<Instant> = (0..20).map(|packet| at(12 * packet)).collect();
        assert_eq!(pair.times(End::A, is_data), expected);
    }
}

/// A transfer takes its bits at the rate, and one way.
#[test]
fn a_transfer_takes_its_bits_at_the_rate() {
    let mut pair = Pair::losing(configuration(), &[]);
    pair.write(100 * FULL as u32, false);
    pair.a.close();
    pair.run_until(at(5000));
    assert_eq!(pair.assert_read(), 100 * FULL);
    assert_eq!(pair.read.last().expect("100 chunks").0, at(99 * 12) + DELAY);
}

/// "aggregated ACKs: yes", "selective repeat: yes": one for eight TPDUs or 10 ms, with a bitmap of those behind a gap.
#[test]
fn one_acknowledgment_covers_many() {
    let fast = Configuration {
        rate: DataRate::from_bits_per_second(100_000_000),
        ..configuration()
    };
    let mut pair = Pair::losing(fast, &[1]);
    pair.write(9 * FULL as u32, false);
    pair.run_until(at(900));
    let sent = |content: &Content| match content {
        Content::Acknowledgment(sent) => Some((sent.next, sent.bitmap.to_vec())),
        _ => None,
    };
    let contents = pair.log.iter().map(|(_, _, sent)| &sent.packet.content);
    let acknowledgments: Vec<_> = contents.filter_map(sent).collect();
    // Eight of nine packets arrive: TPDU 0, and 2 to 8 behind the gap at 1.
    assert_eq!(acknowledgments, [(1, vec![0b1111_1110])]);
    pair.run_until(at(1200));
    let again: Vec<_> = pair
        .log
        .iter()
        .filter(|(_, _, sent)| sent.retransmission)
        .collect();
    assert_eq!(again.len(), 1, "the missing one alone");
    assert_eq!(pair.assert_read(), 9 * FULL);
}

/// "negative ACKs: no": a gap makes no packet; the sender's timer (RFC 6298: 1 s, then doubled) does.
#[test]
fn a_lost_tpdu_is_sent_again_by_its_timer() {
    let mut pair = Pair::losing(configuration(), &[0, 2, 3]);
    pair.write(2 * FULL as u32, false);
    pair.run_until(at(20_000));
    // TPDU 0 at 0, and 1 s later; that is lost too, and so is the one 2 s later; the next comes 4 s later.
    let times = pair.times(End::A, is_data);
    assert_eq!(times, [0, 12, 1000, 3000, 7000].map(at));
    let acknowledgments = pair.times(End::B, is_acknowledgment);
    assert_eq!(acknowledgments, [72, 7060].map(at), "10 ms after arrivals");
    assert_eq!(pair.assert_read(), 2 * FULL);
    assert_eq!(pair.a.statistics().timeouts, 3);
}

/// A round-trip time of 2 s: SRTT 2 s, RTTVAR 1 s, timeout 6 s (RFC 6298 section 2.2).
#[test]
fn the_timeout_follows_the_round_trip_time() {
    let mut pair = Pair::new(configuration(), |end, number, _| match (end, number) {
        (End::A, 1) => Vec::new(),
        (End::A, _) => vec![Duration::from_millis(1490)],
        (End::B, _) => vec![Duration::from_millis(500)],
    });
    // The first timeout, of 1 s, repeats TPDU 0, so that it is no sample; the next one is.
    pair.write(FULL as u32, false);
    pair.run_until(at(9_000));
    assert_eq!(pair.a.smoothed_rtt(), None);
    pair.write(FULL as u32, false);
    pair.run_until(at(9_500));
    assert_eq!(pair.a.retransmission_timeout(), Duration::from_secs(1));
    let mut slow = Pair::new(
        Configuration {
            tpdus_per_acknowledgment: 1,
            ..configuration()
        },
        |end, _, _| match end {
            End::A => vec![Duration::from_millis(900)],
            End::B => vec![Duration::from_millis(90)],
        },
    );
    slow.write(FULL as u32, false);
    slow.run_until(at(990));
    assert_eq!(slow.a.smoothed_rtt(), Some(Duration::from_millis(990)));
    // SRTT 990 ms + 4 · RTTVAR 495 ms.
    assert_eq!(slow.a.retransmission_timeout(), Duration::from_millis(2970));
}

/// Reordering costs nothing: each chunk is read on arrival, and nothing is sent again.
#[test]
fn chunks_go_to_their_places_in_any_order() {
    let mut pair = Pair::new(configuration(), |_, number, _| {
        vec![Duration::from_millis(if number.is_multiple_of(2) {
            300
        } else {
            50
        })]
    });
    pair.write(40 * FULL as u32, false);
    pair.a.close();
    pair.run_until(at(5000));
    assert_eq!(pair.assert_read(), 40 * FULL);
    for (now, chunk) in &pair.read {
        let packet = chunk.position / FULL;
        let delay = if packet.is_multiple_of(2) { 300 } else { 50 };
        assert_eq!(*now, at(12 * packet + delay), "{packet}");
    }
    assert_eq!(pair.a.statistics().retransmitted, 0);
}

/// "flow control: out-of-band signals": the limit comes in packets of its own, and its loss is mended by a request.
#[test]
fn the_limit_travels_alone() {
    let small = Configuration {
        receive_buffer: 10 * FULL as u32,
        ..configuration()
    };
    // B's packets: acknowledgments of 8 and of 10 TPDUs, then the limit, which is lost.
    let mut pair = Pair::new(small, |_, _, packet| {
        static LOST: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);
        let is_limit = matches!(packet.content, Content::Limit(_));
        match is_limit && !LOST.swap(true, std::sync::atomic::Ordering::Relaxed) {
            true => Vec::new(),
            false => vec![DELAY],
        }
    });
    pair.reads = false;
    pair.write(15 * FULL as u32, false);
    pair.run_until(at(900));
    assert_eq!(pair.times(End::A, is_data).len(), 10, "up to the limit");
    assert!(
        pair.times(End::B, |content| matches!(content, Content::Limit(_)))
            .is_empty()
    );
    pair.reads = true;
    pair.run_until(at(5000));
    // Limited since 120 ms, A asks after its timeout of 1 s.
    let requests = pair.times(End::A, |content| matches!(content, Content::Request));
    assert_eq!(requests, [at(1108)]);
    let limits = pair.times(End::B, |content| matches!(content, Content::Limit(_)));
    assert_eq!(limits[..2], [at(900), at(1158)]);
    assert_eq!(pair.assert_read(), 15 * FULL);
}

/// Records are external PDUs: several in a TPDU, none cut that a TPDU could hold.
#[test]
fn records_keep_their_labels() {
    let mut pair = Pair::losing(configuration(), &[]);
    for _ in 0..4 {
        pair.write(600, true);
    }
    pair.write(2000, true);
    pair.a.close();
    pair.run_until(at(1000));
    let labels: Vec<_> = pair
        .read
        .iter()
        .map(|(_, chunk)| {
            let ends = (chunk.ends_external, chunk.ends_tpdu);
            (
                chunk.external,
                chunk.external_position,
                chunk.payload.length(),
                ends,
            )
        })
        .collect();
    let whole = |external, ends_tpdu| (external, 0, 600, (true, ends_tpdu));
    let full = FULL as u32;
    assert_eq!(
        labels,
        [
            whole(0, false),
            whole(1, true),
            whole(2, false),
            whole(3, true),
            (4, 0, full, (false, true)),
            (4, full, 2000 - full, (true, true)),
        ]
    );
}

/// "multipath friendly: yes": two paths carry the sum of their rates, with one connection by its label alone.
#[test]
fn two_paths_carry_the_sum_of_their_rates() {
    let mut pair = Pair::new(configuration(), |_, number, _| {
        vec![Duration::from_millis(10 + 90 * (number as u64 % 3))]
    });
    let rate = DataRate::from_bits_per_second(2_000_000);
    pair.a.add_path((address(11), address(2)), 1500, rate);
    pair.write(300 * FULL as u32, false);
    pair.a.close();
    pair.run_until(at(10_000));
    assert_eq!(pair.assert_read(), 300 * FULL);
    // 300 packets of 12,000 bits at 3 Mbit/s: 1.2 s, of which one path's last packet may take 12 ms more.
    let last = *pair.times(End::A, is_data).last().expect("300 packets");
    assert!(at(1180) <= last && last <= at(1200), "{last:?}");
    assert_eq!(pair.a.statistics().retransmitted, 0);
}

/// A sender that nobody answers gives up after 300 s.
#[test]
fn silence_ends_the_connection() {
    let mut pair = Pair::new(configuration(), |_, _, _| Vec::new());
    pair.write(100, false);
    pair.run_until(at(299_999));
    assert!(!pair.saw(End::A, Event::TimedOut));
    pair.run_until(at(300_000));
    assert!(pair.saw(End::A, Event::TimedOut) && pair.a.is_over());
    assert_eq!(pair.a.poll_timeout(), None);
}
