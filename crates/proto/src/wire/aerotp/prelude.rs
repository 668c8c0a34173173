//! The prelude of three bytes: the packet's protection, in a word of the extended Golay code, which survives any three
//! flipped bits. A receiver can thus decode a code that covers the header itself.

use super::{NAME, PRELUDE, field};
use crate::fec::interleaved::Strength;
use crate::wire::{DecodeError, expect_length};

/// Version of this format.
const VERSION: u16 = 1;
/// Generator polynomial of the (23, 12) Golay code, x^11 + x^10 + x^6 + x^5 + x^4 + x^2 + 1.
const GENERATOR: u32 = 0xC75;
/// Number of errors that the code corrects.
const CORRECTED: u32 = 3;

/// Protection of a packet against bit errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Protection {
    /// Strength of the code.
    pub strength: Strength,
    /// True if the code covers the AeroTP header, false if only the payload and its check.
    pub covers_header: bool,
}

impl Protection {
    pub(super) fn encode(self, out: &mut Vec<u8>) {
        let data = VERSION << 10 | u16::from(self.covers_header) << 9 | self.strength.words();
        let word = golay_encode(u32::from(data));
        out.extend_from_slice(&word.to_be_bytes()[1..]);
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Protection, DecodeError> {
        expect_length(NAME, bytes, PRELUDE)?;
        let word = u32::from_be_bytes([0, bytes[0], bytes[1], bytes[2]]);
        let data = golay_decode(word).ok_or(DecodeError::Checksum { header: NAME })?;
        let version = data >> 10;
        if version != u32::from(VERSION) {
            return Err(field("version", version));
        }
        let words = data & 0x1FF;
        Ok(Protection {
            strength: Strength::from_words(words as u16).ok_or(field("FEC strength", words))?,
            covers_header: data & 0x200 != 0,
        })
    }
}

/// Encodes 12 bits of data as a word of 24 bits: the data, eleven bits of redundancy, and a parity bit.
fn golay_encode(data: u32) -> u32 {
    let mut remainder = data << 11;
    for bit in (11..23).rev() {
        if remainder >> bit & 1 == 1 {
            remainder ^= GENERATOR << (bit - 11);
        }
    }
    let word = data << 11 | remainder;
    word << 1 | (word.count_ones() & 1)
}

/// Returns the data whose word is within three bits of the received one; `None` if there is none. Since the data bits
/// may be flipped too, tries all data within three bits, the likeliest first.
fn golay_decode(received: u32) -> Option<u32> {
    let data = received >> 12;
    let close = |flipped: u32| {
        let candidate = data ^ flipped;
        let distance = (golay_encode(candidate) ^ received).count_ones();
        (distance <= CORRECTED).then_some(candidate)
    };
    (0..=CORRECTED).find_map(|errors| {
        (0u32..1 << 12)
            .filter(|flipped| flipped.count_ones() == errors)
            .find_map(close)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The extended Golay code has 759 words of weight 8, 2576 of 12, 759 of 16, one of 0 and one of 24 (Conway and Sloane,
    /// chapter 3), and so a distance of 8.
    #[test]
    fn the_words_have_the_weights_of_the_golay_code() {
        let mut weights = [0; 25];
        for data in 0..1 << 12 {
            weights[golay_encode(data).count_ones() as usize] += 1;
        }
        let mut expected = [0; 25];
        for (weight, count) in [(0, 1), (8, 759), (12, 2576), (16, 759), (24, 1)] {
            expected[weight] = count;
        }
        assert_eq!(weights, expected);
    }

    #[test]
    fn any_three_flipped_bits_are_put_right_and_four_are_not_taken() {
        let protection = Protection {
            strength: Strength::from_words(133).unwrap(),
            covers_header: true,
        };
        let mut bytes = Vec::new();
        protection.encode(&mut bytes);
        let word = u32::from_be_bytes([0, bytes[0], bytes[1], bytes[2]]);
        for errors in (0u32..1 << 24).filter(|errors| errors.count_ones() <= 3) {
            let damaged = (word ^ errors).to_be_bytes();
            assert_eq!(Protection::decode(&damaged[1..]), Ok(protection));
        }
        for first in 0..21 {
            let damaged = (word ^ 0b1111 << first).to_be_bytes();
            assert!(Protection::decode(&damaged[1..]).is_err());
        }
    }

    #[test]
    fn strengths_and_versions_that_do_not_exist_are_refused() {
        for (data, name) in [(VERSION << 10 | 257, "FEC strength"), (2 << 10, "version")] {
            let word = golay_encode(u32::from(data)).to_be_bytes();
            let error = Protection::decode(&word[1..]).unwrap_err();
            assert!(error.to_string().contains(name), "{error}");
        }
    }
}
