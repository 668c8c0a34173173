//! Reassembly of segments that overlap: each is trimmed to what is new (RFC 9293 section 3.10.7.4), so that every byte
//! comes once, in order and as it was sent, however the peer or a box on the way has cut the stream.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Positions in the peer's stream, of which 1 is the first byte.
type Range = (u64, u64);

/// Hands in segments, and compares after each with a receiver that keeps a set of single bytes.
fn compare(segments: &[Range], as_bytes: bool) {
    let mut solo = Solo::established(&profile("rfc"));
    let (mut arrived, mut read) = (BTreeSet::new(), Vec::<u8>::new());
    for &(from, to) in segments {
        let incoming = data(from as i64, to as i64);
        if as_bytes {
            let bytes: Vec<u8> = (from..to).map(|at| pattern_byte(0, at)).collect();
            let payload = Payload::Bytes(bytes.into());
            solo.connection
                .handle_segment(solo.now, &incoming.header, payload);
        } else {
            solo.receive(incoming);
        }
        arrived.extend(from..to);
        let next = (1..).find(|at| !arrived.contains(at)).unwrap();
        assert_eq!(solo.connection.receiving.data.next(), next, "{segments:?}");
        // RFC 2018 section 3: the blocks are what is held beyond the gap, each byte in one of them.
        let blocks = solo.connection.receiving.data.blocks().iter();
        let mut told: Vec<u64> = blocks.flat_map(|&(start, end)| start..end).collect();
        told.sort_unstable();
        assert!(told.iter().eq(arrived.range(next..)), "{segments:?}");
        let mut buffer = [0; 64];
        let count = solo.connection.read(&mut buffer);
        read.extend(&buffer[..count]);
    }
    let mut rest = vec![0; 4_000];
    let count = solo.connection.read(&mut rest);
    read.extend(&rest[..count]);
    let next = solo.connection.receiving.data.next();
    let sent: Vec<u8> = (1..next).map(|at| pattern_byte(0, at)).collect();
    assert_eq!(read, sent, "{segments:?}");
}

#[test]
fn overlapping_segments_bring_every_byte_once() {
    let arrivals: [&[Range]; 11] = [
        // Part of it was there before.
        &[(1, 101), (51, 151)],
        // The segment that closes the gap reaches into the held data, to its end, or beyond it.
        &[(101, 201), (1, 151), (201, 301)],
        &[(101, 201), (1, 201)],
        &[(101, 151), (1, 201)],
        // It covers one held range and half of the next.
        &[(31, 51), (71, 101), (1, 91)],
        // Ahead of its turn: over the left of what is held, the right, the whole, and within.
        &[(51, 81), (31, 61), (1, 31)],
        &[(51, 81), (71, 101), (1, 51)],
        &[(51, 81), (31, 101), (1, 31)],
        &[(31, 101), (51, 81), (1, 31)],
        // It fills what is between two, or lies over several.
        &[(31, 41), (61, 71), (36, 66), (1, 31)],
        &[(31, 41), (61, 71), (91, 101), (21, 111), (1, 21)],
    ];
    for segments in arrivals {
        compare(segments, false);
        compare(segments, true);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_overlaps_bring_every_byte_once(
        segments in prop::collection::vec((1_u64..60, 1_u64..30), 1..25),
        as_bytes in any::<bool>(),
    ) {
        let segments: Vec<Range> = segments.into_iter().map(|(from, length)| (from, from + length)).collect();
        compare(&segments, as_bytes);
    }
}
