//! The check of TP++: a weighted sum code, which is summed up piece by piece in any order.
//!
//! Data is words of 32 bits, elements of GF(2^32). The check is two sums: that of all words, and that of each word times
//! α^i, where i is its position. A piece adds its words at their positions, wherever it begins; two checks differ if
//! one word does, or two do, since α^i e + α^j e = 0 only if i = j (A. McAuley, Weighted sum codes for error detection
//! and their comparison with existing codes, 1994; its WSC-2 has two such symbols). The article's field polynomial was
//! not to be had: this one, x^32 + x^22 + x^2 + x + 1, is chosen as a primitive one with few terms.

use crate::wire::u32_at;

/// The polynomial without its highest term.
const POLYNOMIAL: u32 = 0x0040_0007;

/// Two sums over GF(2^32).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WeightedSum {
    plain: u32,
    weighted: u32,
}

impl WeightedSum {
    /// Returns the sum of bytes from position zero on.
    pub fn of(bytes: &[u8]) -> WeightedSum {
        let mut sum = WeightedSum::default();
        sum.add(0, bytes);
        sum
    }

    /// Adds bytes whose first one is at `position`. Missing bytes of the first and the last word count as zeros.
    pub fn add(&mut self, position: u32, bytes: &[u8]) {
        let lead = (position % 4) as usize;
        let (first, rest) = bytes.split_at(bytes.len().min((4 - lead) % 4));
        let mut words = rest.chunks(4).map(|part| word(0, part)).rev();
        let last_first = |weighted: u32, word| times_alpha(weighted) ^ word;
        let (mut plain, mut weighted) = (0, 0);
        for word in &mut words {
            plain ^= word;
            weighted = last_first(weighted, word);
        }
        if !first.is_empty() {
            let word = word(lead, first);
            plain ^= word;
            weighted = last_first(weighted, word);
        }
        self.plain ^= plain;
        self.weighted ^= multiply(weighted, power_of_alpha(position / 4));
    }

    /// Returns the bytes on the wire.
    pub fn to_bytes(self) -> [u8; 8] {
        let [plain, weighted] = [self.plain, self.weighted].map(u64::from);
        (plain << 32 | weighted).to_be_bytes()
    }
}

impl From<[u8; 8]> for WeightedSum {
    fn from(bytes: [u8; 8]) -> WeightedSum {
        WeightedSum {
            plain: u32_at(&bytes, 0),
            weighted: u32_at(&bytes, 4),
        }
    }
}

/// Returns the word with up to four bytes from the byte `lead` on.
fn word(lead: usize, bytes: &[u8]) -> u32 {
    let mut word = [0; 4];
    for (place, byte) in word[lead..].iter_mut().zip(bytes) {
        *place = *byte;
    }
    u32::from_be_bytes(word)
}

const fn times_alpha(value: u32) -> u32 {
    value << 1 ^ (POLYNOMIAL * (value >> 31))
}

fn multiply(one: u32, other: u32) -> u32 {
    (0..32).rev().fold(0, |product, bit| {
        times_alpha(product) ^ (one * (other >> bit & 1))
    })
}

fn power_of_alpha(exponent: u32) -> u32 {
    (0..32).rev().fold(1, |power, bit| {
        let square = multiply(power, power);
        match exponent >> bit & 1 {
            0 => square,
            _ => times_alpha(square),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The order of α is 2^32 - 1 = 3 · 5 · 17 · 257 · 65537 if no quotient by one of these primes is a period. So all
    /// weights of a packet's words differ, which is what the code needs.
    #[test]
    fn alpha_is_primitive() {
        assert_eq!(power_of_alpha(u32::MAX), 1);
        for prime in [3, 5, 17, 257, 65537] {
            assert_ne!(power_of_alpha(u32::MAX / prime), 1, "{prime}");
        }
    }

    /// By hand: the words 1 and 0x80000000 have the weights 1 and x, and x · x^31 = x^32 = x^22 + x^2 + x + 1.
    #[test]
    fn two_words_by_hand() {
        let sum = WeightedSum::of(&[0, 0, 0, 1, 0x80, 0, 0, 0]);
        assert_eq!(
            sum.to_bytes(),
            [0x80, 0, 0, 0x01, 0x00, 0x40, 0x00, 0x07 ^ 1]
        );
    }

    proptest! {
        /// Pieces cut anywhere, in any order.
        #[test]
        fn the_order_of_pieces_does_not_matter(
            bytes in prop::collection::vec(any::<u8>(), 0..300),
            cuts in prop::collection::vec(0usize..300, 0..6),
            order in any::<prop::sample::Index>(),
        ) {
            let mut ends: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            ends.extend([0, bytes.len()]);
            ends.sort_unstable();
            let mut pieces: Vec<_> = ends.windows(2).map(|ends| (ends[0], ends[1])).collect();
            let first = order.index(pieces.len());
            pieces.rotate_left(first);
            pieces.reverse();
            let mut sum = WeightedSum::default();
            for (from, to) in pieces {
                sum.add(from as u32, &bytes[from..to]);
            }
            prop_assert_eq!(sum, WeightedSum::of(&bytes));
        }

        /// Any damage to one or two words is detected.
        #[test]
        fn two_wrong_words_are_detected(
            words in prop::collection::vec(any::<u32>(), 2..400),
            places in any::<[prop::sample::Index; 2]>(),
            errors in any::<[u32; 2]>(),
        ) {
            let bytes = |words: &[u32]| -> Vec<u8> {
                words.iter().flat_map(|word| word.to_be_bytes()).collect()
            };
            let mut damaged = words.clone();
            for (place, error) in places.iter().zip(errors) {
                damaged[place.index(words.len())] ^= error;
            }
            let is_same = damaged == words;
            let sums = [&words, &damaged].map(|words| WeightedSum::of(&bytes(words)));
            prop_assert_eq!(sums[0] == sums[1], is_same);
        }
    }
}
