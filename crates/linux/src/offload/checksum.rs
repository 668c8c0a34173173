//! The Internet checksum (RFC 1071).

/// Adds up the 16-bit words of some bytes; a zero is appended to an odd last one.
pub(super) fn sum(bytes: &[u8]) -> u32 {
    // Words of any length and byte order give the same sum in the end (RFC 1071 section 2).
    let (words, rest) = bytes.as_chunks::<4>();
    let mut last = [0; 4];
    for (place, byte) in last.iter_mut().zip(rest) {
        *place = *byte;
    }
    let words = words.iter().chain([&last]);
    let mut sum: u64 = words.map(|word| u64::from(u32::from_ne_bytes(*word))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    u32::from(u16::from_be(sum as u16))
}

/// Folds a sum of sums into 16 bits.
pub(super) const fn fold(sum: u32) -> u16 {
    let once = (sum & 0xffff) + (sum >> 16);
    ((once & 0xffff) + (once >> 16)) as u16
}

/// Adds up the pseudo-header of a transport protocol (RFC 9293 section 3.1, RFC 8200 section 8.1).
pub(super) fn pseudo_header(addresses: &[u8], protocol: u8, length: usize) -> u32 {
    sum(addresses) + u32::from(protocol) + length as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_the_rfc() {
        // RFC 1071 section 3.
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(sum(&bytes), 0xddf2);
        // The same by single words, for every length.
        let bytes: Vec<u8> = (0..=255).rev().cycle().take(3_001).collect();
        for length in 0..bytes.len() {
            let words = bytes[..length].chunks(2);
            let mut plain: u32 = words
                .map(|word| u32::from(word[0]) << 8 | u32::from(*word.get(1).unwrap_or(&0)))
                .sum();
            while plain > 0xffff {
                plain = (plain & 0xffff) + (plain >> 16);
            }
            assert_eq!(sum(&bytes[..length]), plain);
        }
        assert_eq!((fold(0x1_fffe), fold(u32::MAX)), (0xffff, 0xffff));
    }
}
