use super::*;
use crate::fec::test_util::{hex, pattern};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

fn size(sources: u8, repairs: u8) -> BlockSize {
    BlockSize::new(sources, repairs).expect("possible")
}

fn encoded(packets: &[Vec<u8>], repairs: u8) -> BlockEncoder {
    let mut encoder = BlockEncoder::new(size(packets.len() as u8, repairs));
    for (index, packet) in (0..).zip(packets) {
        assert_eq!(encoder.add(packet), Ok(index));
    }
    encoder
}

/// Checks values from Python's galois 0.4.11, its field GF(2^8) with 0x11D: the row of 1 / (i + (255 - j)) times the
/// matrix of shards.
#[test]
fn repair_packets_are_those_of_galois() {
    let packets = [pattern(5), pattern(9), Vec::new(), pattern(1)];
    let encoder = encoded(&packets, 201);
    for (index, expected) in [
        (0, "00f82b595da03fa0077860"),
        (1, "002291595da03f09cecf07"),
        (200, "00e5683584426ca44a7b97"),
    ] {
        assert_eq!(hex(encoder.repair(index).expect("it exists")), expected);
    }
}

#[test]
fn what_is_not_of_the_block_is_refused() {
    for (sources, repairs) in [(0, 3), (200, 56), (1, 255)] {
        let refused = Err(BlockError::Size { sources, repairs });
        assert_eq!(BlockSize::new(sources, repairs), refused);
    }
    let index = |index, count| BlockError::Index { index, count };
    let length = |actual, least, most| BlockError::Length {
        actual,
        least,
        most,
    };
    let mut encoder = encoded(&[vec![1; 8]], 1);
    assert_eq!(encoder.add(&[]), Err(index(1, 1)));
    assert_eq!(encoder.repair(1), Err(index(1, 1)));
    let mut encoder = BlockEncoder::new(size(1, 1));
    assert_eq!(encoder.add(&[0; 65_536]), Err(length(65_536, 0, 65_535)));
    let mut decoder = BlockDecoder::new(size(3, 2));
    assert_eq!(decoder.add_source(3, &[]), Err(index(3, 3)));
    assert_eq!(decoder.add_repair(2, &[0; 9]), Err(index(2, 2)));
    assert_eq!(decoder.add_repair(0, &[0]), Err(length(1, 2, 65_537)));
    assert_eq!(decoder.add_repair(0, &[0; 9]), Ok(()));
    assert_eq!(decoder.add_repair(1, &[0; 8]), Err(length(8, 9, 9)));
    // A source packet that contradicts every repair packet is detected when it matters.
    assert_eq!(decoder.add_source(0, &[0; 8]), Ok(()));
    assert_eq!(decoder.add_repair(1, &[0; 9]), Ok(()));
    assert_eq!(decoder.try_restore(), Err(length(8, 0, 7)));
}

#[test]
fn a_contradiction_is_told_where_it_shows() {
    let mut decoder = BlockDecoder::new(size(1, 1));
    assert_eq!(decoder.add_repair(0, &[0xFF; 6]), Ok(()));
    let refused = Err(BlockError::Inconsistent { index: 0 });
    assert_eq!(decoder.try_restore(), refused);
}

#[test]
fn a_block_that_is_closed_early_is_one_of_as_many_packets() {
    let mut encoder = BlockEncoder::new(size(20, 4));
    let packets = [pattern(30), pattern(12)];
    for packet in &packets {
        encoder.add(packet).expect("there is room");
    }
    let mut decoder = BlockDecoder::new(size(encoder.sources(), 4));
    for index in [3, 1] {
        let repair = encoder.repair(index).expect("it exists");
        decoder
            .add_repair(index, repair)
            .expect("it is of the block");
    }
    let restored = vec![(0, packets[0].clone()), (1, packets[1].clone())];
    assert_eq!(decoder.try_restore(), Ok(Some(restored)));
    assert_eq!(decoder.try_restore(), Ok(Some(Vec::new())));
}

/// Packets of a block, the number of repair packets, and an order of their arrivals.
fn block() -> impl Strategy<Value = (Vec<Vec<u8>>, u8, Vec<usize>)> {
    let sizes = (1..=60_u8, 0..=30_u8);
    let packet = proptest::collection::vec(any::<u8>(), 0..90);
    sizes.prop_flat_map(move |(sources, repairs)| {
        let packets = proptest::collection::vec(packet.clone(), usize::from(sources));
        let all = (0..usize::from(sources) + usize::from(repairs)).collect::<Vec<_>>();
        (packets, Just(repairs), Just(all).prop_shuffle())
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_as_many_packets_as_sources_restore_the_rest((packets, repairs, order) in block()) {
        let encoder = encoded(&packets, repairs);
        let mut decoder = BlockDecoder::new(size(packets.len() as u8, repairs));
        for arrived in &order[..packets.len()] {
            prop_assert_eq!(decoder.try_restore(), Ok(None));
            match packets.get(*arrived) {
                Some(packet) => decoder.add_source(*arrived as u8, packet).unwrap(),
                None => {
                    let index = (arrived - packets.len()) as u8;
                    decoder.add_repair(index, encoder.repair(index).unwrap()).unwrap();
                }
            }
        }
        let missing = (0..packets.len()).filter(|index| !order[..packets.len()].contains(index));
        let expected: Vec<_> = missing.map(|index| (index as u8, packets[index].clone())).collect();
        prop_assert_eq!(decoder.try_restore(), Ok(Some(expected)));
    }

    #[test]
    fn nothing_makes_it_panic(
        sources in 1..=8_u8,
        repairs in 0..=8_u8,
        packets in proptest::collection::vec((any::<bool>(), 0..10_u8, proptest::collection::vec(any::<u8>(), 0..5)), 0..30),
    ) {
        let mut decoder = BlockDecoder::new(size(sources, repairs));
        for (is_source, index, bytes) in packets {
            let _ = if is_source { decoder.add_source(index, &bytes) } else { decoder.add_repair(index, &bytes) };
            let _ = decoder.try_restore();
        }
    }
}
