//! The prelude of three bytes: the packet's protection, in a word of the extended Golay code, which survives any three
//! flipped bits. A receiver can thus decode a code that covers the header itself.

use super::{NAME, PRELUDE, field};
use crate::fec::golay;
use crate::fec::interleaved::Strength;
use crate::wire::{DecodeError, expect_length};

/// Version of this format.
const VERSION: u16 = 1;

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
        let word = golay::encode(u32::from(data));
        out.extend_from_slice(&word.to_be_bytes()[1..]);
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Protection, DecodeError> {
        expect_length(NAME, bytes, PRELUDE)?;
        let word = u32::from_be_bytes([0, bytes[0], bytes[1], bytes[2]]);
        let data = golay::decode(word).ok_or(DecodeError::Checksum { header: NAME })?;
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

#[cfg(test)]
mod tests {
    use super::*;

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
            let word = golay::encode(u32::from(data)).to_be_bytes();
            let error = Protection::decode(&word[1..]).unwrap_err();
            assert!(error.to_string().contains(name), "{error}");
        }
    }
}
