//! The extended Golay code: words of 24 bits with 12 bits of data, of which any three flipped bits are put right. It
//! protects the few bits by which a decoder knows how to decode the rest.

/// Generator polynomial of the (23, 12) Golay code, x^11 + x^10 + x^6 + x^5 + x^4 + x^2 + 1.
const GENERATOR: u32 = 0xC75;
/// Number of errors that the code corrects.
const CORRECTED: u32 = 3;

/// Encodes 12 bits of data as a word of 24 bits: the data, eleven bits of redundancy, and a parity bit.
pub(crate) fn encode(data: u32) -> u32 {
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
pub(crate) fn decode(received: u32) -> Option<u32> {
    let data = received >> 12;
    let close = |flipped: u32| {
        let candidate = data ^ flipped;
        let distance = (encode(candidate) ^ received).count_ones();
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
            weights[encode(data).count_ones() as usize] += 1;
        }
        let mut expected = [0; 25];
        for (weight, count) in [(0, 1), (8, 759), (12, 2576), (16, 759), (24, 1)] {
            expected[weight] = count;
        }
        assert_eq!(weights, expected);
    }
}
