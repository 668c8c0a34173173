use super::*;
use crate::fec::test_util::{hex, pattern};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use sha1::{Digest, Sha1};

fn parity_of(data: &[u8], parity: u8) -> Vec<u8> {
    let mut out = Vec::new();
    let code = Code::with_parity(parity);
    code.encode(data, &mut out).expect("it fits a codeword");
    out
}

/// Checks values from Python's reedsolo 1.7.0: `rs_encode_msg(data, r, fcr=0, generator=2, gen=rs_generator_poly(r, 0,
/// 2))` after `init_tables(0x11D)`.
#[test]
fn parity_is_that_of_reedsolo() {
    let vectors = [
        (1, 5, "21"),
        (2, 9, "bcf1"),
        (4, 3, "153bb9e6"),
        (19, 40, "c33d1066ac4a5d41ba6ce355a3e0afda3eef7f"),
        (
            32,
            223,
            "44c216cdc26f8b1f286460f2e4df9fbafaa64efdee0a37266a161674ecf0bc6f",
        ),
    ];
    for (parity, length, expected) in vectors {
        let computed = hex(&parity_of(&pattern(length), parity));
        assert_eq!(computed, expected, "{parity} bytes for {length}");
    }
}

/// Checks the same for the full codewords of every code, one after another, by a digest.
#[test]
fn parity_of_every_code_is_that_of_reedsolo() {
    let mut digest = Sha1::new();
    for parity in 1..=254 {
        digest.update(parity_of(&pattern(255 - usize::from(parity)), parity));
    }
    assert_eq!(
        hex(&digest.finalize()),
        "ce28fe23d604439e81b9ffd4e624953cf4eb86eb"
    );
}

#[test]
fn what_is_no_codeword_is_refused() {
    let code = Code::with_parity(16);
    let length = |actual| FecError::Length {
        actual,
        least: 16,
        most: 255,
    };
    assert_eq!(code.encode(&[0; 240], &mut Vec::new()), Err(length(256)));
    assert_eq!(code.decode(&mut [0; 15], &[]), Err(length(15)));
    assert_eq!(code.decode(&mut [0; 256], &[]), Err(length(256)));
    let outside = FecError::ErasureOutside {
        position: 20,
        length: 20,
    };
    assert_eq!(code.decode(&mut [0; 20], &[3, 20]), Err(outside));
}

#[test]
fn one_erasure_more_than_parity_is_uncorrectable_even_where_the_bytes_fit() {
    let mut codeword = [0; 20];
    let places: Vec<usize> = (0..5).collect();
    let code = Code::with_parity(4);
    assert_eq!(code.decode(&mut codeword, &places[..4]), Ok(0));
    let refused = Err(FecError::Uncorrectable);
    assert_eq!(code.decode(&mut codeword, &places), refused);
}

/// A codeword and its changes: for each a position, the added value, and true if the decoder is told.
#[derive(Clone, Debug)]
struct Damaged {
    parity: u8,
    sent: Vec<u8>,
    received: Vec<u8>,
    erasures: Vec<usize>,
    /// Changed bytes, and those of them at positions that the decoder is not told.
    wrong: usize,
    untold: usize,
}

impl Damaged {
    fn needed(&self) -> usize {
        2 * self.untold + self.erasures.len()
    }

    fn differences(&self, other: &[u8]) -> usize {
        let pairs = self.received.iter().zip(other);
        pairs.filter(|(a, b)| a != b).count()
    }
}

/// Codewords with up to about `times` as much damage as is correctable.
fn damaged(times: usize) -> impl Strategy<Value = Damaged> {
    let code = (0..=254_u8).prop_flat_map(|parity| (Just(parity), 0..=254 - parity));
    let code = code.prop_flat_map(move |(parity, more)| {
        let length = 1 + usize::from(parity) + usize::from(more);
        let data = proptest::collection::vec(any::<u8>(), 1 + usize::from(more));
        let places = Just((0..length).collect::<Vec<_>>()).prop_shuffle();
        let budget = 0..=(times * usize::from(parity));
        (Just(parity), data, places, budget, 0.0..=1.0, any::<u64>())
    });
    code.prop_map(|(parity, data, places, budget, told_share, draws)| {
        let mut sent = data;
        let coded = parity_of(&sent, parity);
        sent.extend(coded);
        let told = ((budget as f64 * told_share) as usize).min(places.len());
        let untold = ((budget - told) / 2).min(places.len() - told);
        let mut received = sent.clone();
        for (index, place) in places[..told + untold].iter().enumerate() {
            let drawn = (draws.rotate_left(index as u32) ^ index as u64) as u8;
            received[*place] ^= if index < told { drawn } else { drawn.max(1) };
        }
        let mut damaged = Damaged {
            parity,
            sent,
            received,
            erasures: places[..told].to_vec(),
            wrong: 0,
            untold,
        };
        damaged.wrong = damaged.differences(&damaged.sent);
        damaged
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        cases: 2_000,
        ..ProptestConfig::default()
    })]

    #[test]
    fn whatever_is_within_the_capacity_is_corrected(damaged in damaged(1)) {
        let mut codeword = damaged.received.clone();
        let found = Code::with_parity(damaged.parity).decode(&mut codeword, &damaged.erasures);
        prop_assert!(damaged.needed() <= usize::from(damaged.parity));
        prop_assert_eq!(found, Ok(damaged.wrong));
        prop_assert_eq!(codeword, damaged.sent);
    }

    /// Checks that a decoder takes another codeword for the right one only if it is as near, and reports its distance.
    #[test]
    fn beyond_the_capacity_it_finds_a_codeword_or_nothing(damaged in damaged(3)) {
        let mut codeword = damaged.received.clone();
        let parity = usize::from(damaged.parity);
        match Code::with_parity(damaged.parity).decode(&mut codeword, &damaged.erasures) {
            Ok(corrected) => {
                let data = &codeword[..codeword.len() - parity];
                prop_assert_eq!(&codeword[data.len()..], parity_of(data, damaged.parity));
                prop_assert_eq!(corrected, damaged.differences(&codeword));
                prop_assert!(corrected <= damaged.erasures.len() + parity);
            }
            Err(error) => {
                prop_assert_eq!(error, FecError::Uncorrectable);
                prop_assert_eq!(codeword, damaged.received);
            }
        }
    }

    #[test]
    fn nothing_makes_it_panic(
        parity: u8,
        mut codeword in proptest::collection::vec(any::<u8>(), 0..300),
        erasures in proptest::collection::vec(0..300_usize, 0..300),
    ) {
        let _ = Code::with_parity(parity).decode(&mut codeword, &erasures);
    }
}
