//! Data from the mobile as timelines: what it is told, and when.

use super::super::tests::{LENGTH, at, header, packet};
use super::*;

/// Both ends have said in their SYNs whether they take SACK; the hop has taken 20 ms for the second and its answer.
fn open(mobile: bool, far_end: bool) -> FromMobile {
    let mut agent = FromMobile::default();
    let mut syn = header(0, 0, 0xFFFF);
    syn.options.sack_permitted = mobile;
    agent.handle_syn(at(0), (&syn, 0), &packet(syn, 0), false);
    syn.options.sack_permitted = far_end;
    agent.handle_syn(at(200), (&syn, 0), &packet(syn, 0), true);
    let said = header(0, 1, 0x2000);
    assert!(acknowledges(&mut agent, 200, &said).is_empty());
    assert!(
        agent
            .handle_data(at(220), (&header(1, 1, 0xFFFF), 0))
            .is_empty()
    );
    agent
}

/// Contents of an acknowledgment: its number, and its blocks.
type Told = (u32, Vec<(u32, u32)>);

/// In segments of a thousand bytes, the first of which begins at 1; what is left out at the beginning of a block is a byte.
fn told(packets: &[Packet]) -> Vec<Told> {
    let segment = |number: SequenceNumber| (number.0 - 1) / LENGTH;
    let each = packets.iter().map(|packet| {
        let header = packet.segment_within().unwrap().header;
        assert_eq!(header.flags, TcpFlags::ACK);
        let blocks = header.options.sack.as_slice().iter();
        let blocks = blocks.map(|block| (segment(block.0), segment(block.1)));
        (segment(header.acknowledgment), blocks.collect())
    });
    each.collect()
}

/// Segment `number` passes.
fn passes(agent: &mut FromMobile, milliseconds: u64, number: u32) -> Vec<Told> {
    let said = header(1 + number * LENGTH, 1, 0xFFFF);
    told(&agent.handle_data(at(milliseconds), (&said, LENGTH)))
}

fn acknowledges(agent: &mut FromMobile, milliseconds: u64, said: &TcpHeader) -> Vec<Told> {
    told(&agent.handle_acknowledgment(at(milliseconds), (said, 0), &packet(*said, 0)))
}

/// The far end has so many segments in order.
fn has(agent: &mut FromMobile, milliseconds: u64, segments: u32) -> Vec<Told> {
    let said = header(1, 1 + segments * LENGTH, 0x2000);
    acknowledges(agent, milliseconds, &said)
}

/// Segments 2, and 6 and 7, are lost before the gateway; the far end has acknowledged one.
#[test]
fn the_third_segment_beyond_a_gap_has_the_mobile_told_of_all_that_has_passed() {
    let mut agent = open(true, true);
    assert_eq!(passes(&mut agent, 300, 0), []);
    assert_eq!(passes(&mut agent, 301, 1), []);
    assert_eq!(has(&mut agent, 302, 1), []);
    assert_eq!(passes(&mut agent, 303, 3), []);
    assert_eq!(passes(&mut agent, 304, 4), []);
    assert_eq!(passes(&mut agent, 305, 5), [(1, vec![(1, 2), (3, 6)])]);
    assert_eq!(passes(&mut agent, 308, 8), []);
    assert_eq!(passes(&mut agent, 309, 9), []);
    let both = (1, vec![(1, 2), (3, 6), (8, 11)]);
    assert_eq!(passes(&mut agent, 310, 10), [both]);
    assert_eq!(passes(&mut agent, 326, 2), []);
    assert_eq!(passes(&mut agent, 330, 6), []);
    assert!(!agent.is_whole());
    assert_eq!(passes(&mut agent, 330, 7), []);
    assert!(agent.is_whole());
    assert_eq!(agent.poll_timeout(), None);
}

/// While it does not come, with every third more. Of eleven that are out, half, the one that is missing and two are told of.
#[test]
fn a_gap_that_stays_is_told_with_every_third_segment() {
    let mut agent = open(true, true);
    let told = (0..10).filter(|number| *number != 1);
    let told: Vec<u32> = told
        .filter(|&number| !passes(&mut agent, 300, number).is_empty())
        .collect();
    assert_eq!(told, [4, 7]);
    // A repeated segment is nothing new.
    assert_eq!(passes(&mut agent, 310, 4), []);
    assert_eq!(passes(&mut agent, 310, 10), [(0, vec![(0, 1), (2, 8)])]);
}

/// Twenty are on their way before the one that is lost, and a sender that hears that all of them have left the network sends as
/// many at once. It hears when there are as many behind, of half of them all.
#[test]
fn a_gap_is_told_when_as_much_has_passed_behind_it_as_is_on_its_way_before_it() {
    let mut agent = open(true, true);
    let behind = |agent: &mut FromMobile| {
        (0..=19).for_each(|number| assert_eq!(passes(agent, 300, number), []));
        (21..=39).for_each(|number| assert_eq!(passes(agent, 310, number), []));
    };
    behind(&mut agent);
    let all = (0, vec![(0, 20), (21, 24)]);
    assert_eq!(passes(&mut agent, 320, 40), [all]);
    // Or when acknowledgments have come so far.
    let mut agent = open(true, true);
    behind(&mut agent);
    assert_eq!(has(&mut agent, 330, 1), [(1, vec![(1, 20), (21, 24)])]);
}

/// The byte at the acknowledgment's number is left out: a receiver that has it acknowledges it.
#[test]
fn what_the_mobile_is_told_is_the_far_ends_last_word_with_blocks() {
    let mut agent = open(true, true);
    let mut said = header(501, 1 + LENGTH, 0x3000);
    said.options.timestamps = Some(Timestamps { value: 70, echo: 5 });
    // With data of its own, which is not repeated.
    let with_data = packet(said, 200);
    agent.handle_acknowledgment(at(250), (&said, 200), &with_data);
    // An older one changes nothing but the clock.
    let mut old = header(701, 1, 0xFFFF);
    old.options.timestamps = Some(Timestamps { value: 71, echo: 5 });
    agent.handle_acknowledgment(at(251), (&old, 0), &packet(old, 0));
    for number in [0, 1, 3, 4] {
        passes(&mut agent, 300, number);
    }
    let data = header(1 + 5 * LENGTH, 1, 0xFFFF);
    let told = agent.handle_data(at(301), (&data, LENGTH));
    let [packet] = told.as_slice() else {
        panic!("{told:?}");
    };
    let segment = packet.segment_within().unwrap();
    let mut expected = header(701, 1 + LENGTH, 0x3000);
    expected.options.timestamps = Some(Timestamps { value: 71, echo: 5 });
    let number = |segment: u32| SequenceNumber(1 + segment * LENGTH);
    expected.options.sack.push(number(1) + 1, number(2));
    expected.options.sack.push(number(3), number(6));
    assert_eq!((segment.header, segment.payload.length()), (&expected, 0));
    assert!(!packet.retransmission);
    assert_eq!(packet.ip, with_data.ip);
}

/// RFC 7323 section 2.2: of the window in a SYN, 65535, a shift by 7 leaves 511.
#[test]
fn before_the_far_end_says_more_its_syn_is_its_word() {
    let mut agent = FromMobile::default();
    let mut syn = header(0, 0, 0xFFFF);
    syn.options.sack_permitted = true;
    agent.handle_syn(at(0), (&syn, 0), &packet(syn, 0), false);
    let mut answer = header(700, 1, 0xFFFF);
    answer.flags = TcpFlags::SYN.with(TcpFlags::ACK);
    answer.options.sack_permitted = true;
    answer.options.window_scale = Some(7);
    agent.handle_syn(at(200), (&answer, 0), &packet(answer, 0), true);
    for number in [1, 2] {
        passes(&mut agent, 220, number);
    }
    let data = header(1 + 3 * LENGTH, 1, 0xFFFF);
    let told = agent.handle_data(at(221), (&data, LENGTH));
    let [packet] = told.as_slice() else {
        panic!("{told:?}");
    };
    let mut expected = header(701, 1, 511);
    let number = |segment: u32| SequenceNumber(1 + segment * LENGTH);
    expected.options.sack.push(number(1), number(4));
    assert_eq!(packet.segment_within().unwrap().header, &expected);
}

/// Two come later than what was sent behind them: no gap.
#[test]
fn what_is_reordered_by_less_than_three_is_no_gap() {
    let mut agent = open(true, true);
    for number in [1, 2, 0, 5, 4, 3, 6, 8, 9, 7] {
        assert_eq!(passes(&mut agent, 300, number), []);
    }
    assert!(agent.is_whole());
}

#[test]
fn who_does_not_take_sack_is_told_nothing() {
    for (mobile, far_end) in [(false, true), (true, false), (false, false)] {
        let mut agent = open(mobile, far_end);
        for number in [0, 2, 3, 4, 5, 6] {
            assert_eq!(passes(&mut agent, 300, number), []);
        }
        assert_eq!(agent.poll_timeout(), None);
    }
}

/// A gateway to which a mobile has come has seen no SYN: blocks of the far end's show that both take SACK. And it does not know
/// what has passed elsewhere; of that the far end has to say that it has it.
#[test]
fn a_gateway_that_comes_to_it_later_tells_once_it_knows_enough() {
    let mut agent = FromMobile::default();
    for number in [10, 12, 13, 14, 15] {
        assert_eq!(passes(&mut agent, 300, number), []);
    }
    let mut said = header(1, 1 + 8 * LENGTH, 0x2000);
    let number = |segment: u32| SequenceNumber(1 + segment * LENGTH);
    said.options.sack.push(number(9), number(10));
    assert_eq!(acknowledges(&mut agent, 310, &said), []);
    let all = (10, vec![(10, 11), (12, 16)]);
    assert_eq!(has(&mut agent, 320, 10), [all]);
    // Data that the far end has although it did not pass here came by another path.
    assert_eq!(has(&mut agent, 400, 20), []);
    assert!(agent.is_whole());
    for number in [25, 26, 27, 28] {
        assert_eq!(passes(&mut agent, 410, number), []);
    }
    assert!(agent.is_whole());
}

/// RFC 6298 with a first sample of 20 ms: 20 + 4 · 10 = 60 ms, and so the least, 100 ms; doubled each time.
#[test]
fn when_too_little_follows_a_gap_or_nothing_helps_the_mobile_is_told_when_the_hops_timeout_is_over()
{
    let mut agent = open(true, true);
    for number in [0, 1, 3] {
        assert_eq!(passes(&mut agent, 300 + u64::from(number), number), []);
    }
    let mut due = 403;
    for doubling in 0..=10 {
        assert_eq!(agent.poll_timeout(), Some(at(due)), "{doubling}");
        assert_eq!(agent.handle_timeout(at(due - 1)), []);
        let all = (0, vec![(0, 2), (3, 4)]);
        assert_eq!(told(&agent.handle_timeout(at(due))), [all]);
        due += 100 << (doubling + 1).min(10);
    }
    assert_eq!(agent.poll_timeout(), None, "given up");
    // Progress begins anew; of what was told twice nobody knows how long the answer took.
    assert_eq!(passes(&mut agent, due, 5), []);
    assert_eq!(passes(&mut agent, due + 1, 2), []);
    assert_eq!(agent.poll_timeout(), Some(at(due + 101)));
}

/// The answer to what it was told is a round trip of the hop: 300 ms of the next say 20 + (300 - 20) / 8 = 55 ms, a variation of
/// (3 · 10 + 280) / 4 = 77.5 ms, and so 365 ms.
#[test]
fn the_answer_tells_the_hops_round_trip_time() {
    let mut agent = open(true, true);
    for number in [0, 2, 3] {
        assert_eq!(passes(&mut agent, 300, number), []);
    }
    assert_eq!(passes(&mut agent, 310, 4), [(0, vec![(0, 1), (2, 5)])]);
    assert_eq!(passes(&mut agent, 610, 1), []);
    assert_eq!(passes(&mut agent, 1000, 6), []);
    assert_eq!(agent.poll_timeout(), Some(at(1365)));
}

/// RFC 2018 section 3: three blocks beside timestamps, four without. Every second segment is lost.
#[test]
fn what_does_not_fit_goes_in_several_acknowledgments_each_with_what_is_on_its_way() {
    for (timestamps, expected) in [
        (
            None,
            vec![vec![(0, 2), (3, 4), (5, 6), (7, 8)], vec![(0, 2), (9, 10)]],
        ),
        (
            Some(Timestamps { value: 7, echo: 5 }),
            vec![vec![(0, 2), (3, 4), (5, 6)], vec![(0, 2), (7, 8), (9, 10)]],
        ),
    ] {
        let mut agent = open(true, true);
        let mut said = header(1, 1, 0x2100);
        said.options.timestamps = timestamps;
        acknowledges(&mut agent, 250, &said);
        for number in [0, 1, 3, 5] {
            assert_eq!(passes(&mut agent, 300, number), []);
        }
        passes(&mut agent, 300, 7);
        let last: Vec<_> = passes(&mut agent, 301, 9);
        let blocks: Vec<_> = last.into_iter().map(|(_, blocks)| blocks).collect();
        assert_eq!(blocks, expected);
    }
}

/// Numbers wrap (RFC 9293 section 3.4), and a gap is filled in pieces.
#[test]
fn a_gap_across_the_end_of_the_sequence_space_is_filled_in_pieces() {
    let mut agent = open(true, true);
    let first = 0_u32.wrapping_sub(3 * LENGTH);
    let mut syn = header(first.wrapping_sub(1), 0, 0xFFFF);
    syn.options.sack_permitted = true;
    agent.handle_syn(at(230), (&syn, 0), &packet(syn, 0), false);
    let mut fresh = FromMobile {
        acknowledgment: None,
        ..agent
    };
    let said = header(1, first, 0x2000);
    fresh.handle_acknowledgment(at(231), (&said, 0), &packet(said, 0));
    let mut sent = |number: u32| {
        let data = header(first.wrapping_add(number * LENGTH), 1, 0xFFFF);
        fresh.handle_data(at(240), (&data, LENGTH))
    };
    for number in [0, 6, 7] {
        assert!(sent(number).is_empty());
    }
    let [packet] = &sent(8)[..] else {
        panic!("one acknowledgment");
    };
    let number = |segment: u32| SequenceNumber(first) + segment * LENGTH;
    let blocks = packet.segment_within().unwrap().header.options.sack;
    let expected = [(number(0) + 1, number(1)), (number(6), number(9))];
    assert_eq!(blocks.as_slice(), expected);
    for number in [2, 4, 1, 5] {
        assert!(sent(number).is_empty());
    }
    assert!(sent(3).is_empty());
    assert!(fresh.is_whole());
}

#[test]
fn more_gaps_than_can_be_told_are_left_to_the_sender() {
    let mut agent = open(true, true);
    for number in 0..200 {
        passes(&mut agent, 300, 2 * number);
        assert!(agent.gaps.len() <= MOST_GAPS);
    }
}
