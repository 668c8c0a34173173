//! The Internet checksum (RFC 1071).

use crate::packet::IpHeader;
use core::net::IpAddr;

/// A checksum summed over pieces of any length.
#[derive(Clone, Copy, Debug, Default)]
pub struct Checksum {
    sum: u64,
    /// True if the pieces so far end in the middle of a 16-bit word.
    odd: bool,
}

impl Checksum {
    /// Starts with an empty sum.
    pub fn new() -> Checksum {
        Checksum::default()
    }

    /// Starts with the pseudo header of TCP, UDP and ICMPv6: addresses, protocol number, and `length` of the transport
    /// header and payload in bytes (RFC 9293 section 3.1, RFC 8200 section 8.1).
    pub fn pseudo_header(ip: &IpHeader, protocol: u8, length: usize) -> Checksum {
        let mut checksum = Checksum::new();
        for address in [ip.source, ip.destination] {
            match address {
                IpAddr::V4(address) => checksum.add(&address.octets()),
                IpAddr::V6(address) => checksum.add(&address.octets()),
            }
        }
        // The IPv4 and IPv6 layouts differ only in zeros.
        checksum.add(&(length as u32).to_be_bytes());
        checksum.add(&[0, protocol]);
        checksum
    }

    /// Adds the next bytes.
    pub fn add(&mut self, mut bytes: &[u8]) {
        if self.odd
            && let Some((low, rest)) = bytes.split_first()
        {
            self.sum += u64::from(*low);
            self.odd = false;
            bytes = rest;
        }
        let (words, rest) = bytes.as_chunks::<2>();
        for word in words {
            self.sum += u64::from(u16::from_be_bytes(*word));
        }
        if let [high] = rest {
            self.sum += u64::from(*high) << 8;
            self.odd = true;
        }
    }

    /// Returns the value of the checksum field, which must be zero in the sum. Over bytes with a valid checksum it
    /// returns zero.
    pub fn finish(self) -> u16 {
        let mut sum = self.sum;
        while sum > 0xFFFF {
            sum = (sum & 0xFFFF) + (sum >> 16);
        }
        !(sum as u16)
    }
}

/// Updates a checksum for bytes, from a 16-bit boundary and of even length, that change from `before` to `after`: HC' =
/// ~(~HC + ~m + m') for each word (RFC 1624, equation 3).
pub fn updated(checksum: u16, before: &[u8], after: &[u8]) -> u16 {
    let mut sum = u64::from(!checksum);
    for (before, after) in before
        .as_chunks::<2>()
        .0
        .iter()
        .zip(after.as_chunks::<2>().0)
    {
        sum += u64::from(!u16::from_be_bytes(*before)) + u64::from(u16::from_be_bytes(*after));
    }
    Checksum { sum, odd: false }.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    #[test]
    fn the_worked_example_of_rfc_1071() {
        // Section 3: the sum of these bytes is ddf2; the checksum is its complement.
        let mut checksum = Checksum::new();
        checksum.add(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]);
        assert_eq!(checksum.finish(), !0xddf2);
    }

    #[test]
    fn the_worked_example_of_rfc_1624() {
        // Section 4: a field of 5555 becomes 3285, the checksum goes from dd2f to 0000.
        assert_eq!(updated(0xdd2f, &[0x55, 0x55], &[0x32, 0x85]), 0x0000);
    }

    #[test]
    fn an_odd_last_byte_is_padded_with_zero() {
        // Section 1, equation (2): Z is taken as [Z, 0].
        let mut checksum = Checksum::new();
        checksum.add(&[0x12, 0x34, 0x56]);
        assert_eq!(checksum.finish(), !(0x1234 + 0x5600));
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            rng_seed: RngSeed::Fixed(1),
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn pieces_sum_up_like_the_whole(
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
            cuts in proptest::collection::vec(0usize..200, 0..5),
        ) {
            let mut whole = Checksum::new();
            whole.add(&bytes);
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let mut pieces = Checksum::new();
            for pair in cuts.windows(2) {
                pieces.add(&bytes[pair[0]..pair[1]]);
            }
            prop_assert_eq!(pieces.finish(), whole.finish());
        }
    }
}
