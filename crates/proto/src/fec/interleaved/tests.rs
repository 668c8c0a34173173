use super::*;
use crate::fec::failure::failure_probability;
use crate::fec::test_util::{hex, pattern};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use sha1::{Digest, Sha1};

fn words(words: u16) -> Strength {
    Strength::from_words(words).expect("at most 256")
}

fn protected(data: &[u8], strength: Strength) -> Vec<u8> {
    let mut block = data.to_vec();
    encode(data, strength, &mut block);
    block
}

/// Checks the parity of each codeword from Python's reedsolo 1.7.0 (as in the tests of codewords), at the positions of
/// the layout.
#[test]
fn parity_is_that_of_reedsolo_in_the_layout() {
    let parity = &protected(&pattern(1500), words(8))[1500..];
    let expected = "c64d4b33e97e50218e8739a70b0f5910fea914ca3840368db81e6a07f3cd3836";
    assert_eq!(hex(parity), expected);
    let mut digest = Sha1::new();
    for length in [1, 4, 100, 254, 255, 536, 1500, 9000] {
        for strength in [1, 8, 32, 96, 191, 256] {
            digest.update(&protected(&pattern(length), words(strength))[length..]);
        }
    }
    let expected = "50fee5d64c84e871a5d71965ae13a6026cccfac0";
    assert_eq!(hex(&digest.finalize()), expected);
}

#[test]
fn a_strength_is_at_most_256_words() {
    assert_eq!(Strength::from_words(257), None);
    assert_eq!(Strength::from_words(256), Some(Strength::MOST));
    assert_eq!(Strength::MOST.bytes(), 1024);
    assert_eq!(Strength::from_words(0), Some(Strength::NONE));
}

#[test]
fn without_parity_nothing_is_added_and_nothing_corrected() {
    let data = pattern(1500);
    let mut block = protected(&data, Strength::NONE);
    assert_eq!(block, data);
    block[7] ^= 1;
    assert_eq!(decode(&mut block, Strength::NONE, &[]), Ok(0));
    assert_ne!(block, data);
}

/// 1500 + 128 bytes are seven codewords with 18 or 19 parity bytes: each corrects nine errors, so any burst of 63 bytes.
#[test]
fn a_burst_is_spread_over_the_codewords() {
    let sent = protected(&pattern(1500), words(32));
    for start in 0..=sent.len() - 63 {
        let mut block = sent.clone();
        block[start..start + 63]
            .iter_mut()
            .for_each(|byte| *byte ^= 0xA5);
        assert_eq!(decode(&mut block, words(32), &[]), Ok(63), "from {start}");
        assert_eq!(block, sent);
    }
    let mut block = sent.clone();
    block[700..770].iter_mut().for_each(|byte| *byte ^= 0xA5);
    assert_eq!(
        decode(&mut block, words(32), &[]),
        Err(FecError::Uncorrectable)
    );
    // All of a burst of 126 bytes at a known position.
    let erasures: Vec<usize> = (700..826).collect();
    let mut block = sent.clone();
    block[700..826].fill(0);
    assert!(decode(&mut block, words(32), &erasures).is_ok());
    assert_eq!(block, sent);
}

#[test]
fn what_one_codeword_cannot_correct_leaves_the_others_corrected() {
    let sent = protected(&pattern(1500), words(32));
    let mut block = sent.clone();
    // Ten errors in the first of seven codewords, one in the second.
    (0..10).for_each(|index| block[index * 7] ^= 1);
    block[1] ^= 1;
    assert_eq!(
        decode(&mut block, words(32), &[]),
        Err(FecError::Uncorrectable)
    );
    assert_eq!(block[1], sent[1]);
    assert_eq!(block[0], sent[0] ^ 1);
}

/// Checks independent bit errors drawn from SplitMix64: of 4000 packets as many stay damaged as the closed form
/// predicts, within four standard deviations.
#[test]
fn as_many_packets_fail_as_the_closed_form_says() {
    const RATE: f64 = 1e-3;
    const PACKETS: usize = 4_000;
    let mut state = 1_u64;
    let mut uniform = || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (state ^ state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ mixed >> 31) as f64 / 2.0_f64.powi(64)
    };
    for (length, strength) in [(300, words(2)), (700, words(8)), (40, words(1))] {
        let sent = protected(&pattern(length), strength);
        let mut failed = 0;
        for _ in 0..PACKETS {
            let mut block = sent.clone();
            let bits = (0..block.len() * 8).filter(|_| uniform() < RATE);
            bits.for_each(|bit| block[bit / 8] ^= 1 << (bit % 8));
            let _ = decode(&mut block, strength, &[]);
            failed += usize::from(block != sent);
        }
        let expected = failure_probability(RATE, length, strength);
        let deviation = (expected * (1.0 - expected) / PACKETS as f64).sqrt();
        let share = failed as f64 / PACKETS as f64;
        assert!(
            (share - expected).abs() < 4.0 * deviation,
            "{share} {expected}"
        );
    }
}

#[test]
fn a_block_that_cannot_be_is_refused() {
    let short = FecError::Length {
        actual: 31,
        least: 32,
        most: usize::MAX,
    };
    assert_eq!(decode(&mut [0; 31], words(8), &[]), Err(short));
    let outside = FecError::ErasureOutside {
        position: 40,
        length: 40,
    };
    assert_eq!(decode(&mut [0; 40], words(8), &[40]), Err(outside));
}

proptest! {
    #![proptest_config(ProptestConfig {
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_layout_is_even_and_has_the_fewest_codewords(length in 1..70_000_usize, strength in 0..=256_u16) {
        let strength = words(strength);
        let all: Vec<Codeword> = codewords(length, strength).collect();
        let lengths: Vec<usize> = all.iter().map(|one| one.data + usize::from(one.parity)).collect();
        let block = length + strength.bytes();
        prop_assert_eq!(all.iter().map(|one| one.data).sum::<usize>(), length);
        prop_assert!(lengths.iter().all(|one| *one <= 255));
        prop_assert!(block > 255 * (all[0].stride - 1), "fewer codewords would do");
        let spread = |values: Vec<usize>| values.iter().max().unwrap() - values.iter().min().unwrap();
        prop_assert!(spread(lengths) <= 1);
        prop_assert!(spread(all.iter().map(|one| usize::from(one.parity)).collect()) <= 1);
    }

    #[test]
    fn as_many_errors_as_the_weakest_codeword_corrects_are_corrected(
        data in proptest::collection::vec(any::<u8>(), 1..4_000),
        strength in 0..=256_u16,
        hits in proptest::collection::vec((any::<prop::sample::Index>(), 1..=255_u8), 0..120),
        told: bool,
    ) {
        let strength = words(strength);
        let sent = protected(&data, strength);
        let weakest = codewords(data.len(), strength).map(|one| usize::from(one.parity)).min();
        let capacity = if told { weakest.unwrap() } else { weakest.unwrap() / 2 };
        let mut block = sent.clone();
        let places: Vec<usize> = hits.iter().map(|(at, _)| at.index(data.len())).take(capacity).collect();
        for (place, (_, value)) in places.iter().zip(&hits) {
            block[*place] = sent[*place] ^ value;
        }
        let wrong = block.iter().zip(&sent).filter(|(a, b)| a != b).count();
        prop_assert_eq!(decode(&mut block, strength, if told { &places } else { &[] }), Ok(wrong));
        prop_assert_eq!(block, sent);
    }

    #[test]
    fn nothing_makes_it_panic(
        mut block in proptest::collection::vec(any::<u8>(), 0..3_000),
        strength in 0..=256_u16,
        erasures in proptest::collection::vec(0..3_000_usize, 0..300),
    ) {
        let _ = decode(&mut block, words(strength), &erasures);
    }
}
