//! What stands on the wire: one file a header, each a typed value with its encoding and decoding.
//!
//! Decoding never panics: bytes become a value that cannot be wrong, or a [`DecodeError`] that says what
//! was wrong.

pub mod checksum;
pub mod icmp;
pub mod ip;
pub mod sequence;
pub mod tcp;
pub mod udp;

/// Why bytes are not the header that they were taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Fewer bytes than the header, or a length field, asks for.
    #[error("{header}: {actual} bytes where {needed} are needed")]
    Truncated {
        /// The header being read.
        header: &'static str,
        /// Bytes that the header asks for.
        needed: usize,
        /// Bytes that there are.
        actual: usize,
    },
    /// A field holds a value that its standard does not allow.
    #[error("{header}: field {field} holds {value}")]
    Field {
        /// The header being read.
        header: &'static str,
        /// The field, by its standard's name.
        field: &'static str,
        /// What it holds.
        value: u32,
    },
    /// The checksum does not match.
    #[error("{header}: wrong checksum")]
    Checksum {
        /// The header being read.
        header: &'static str,
    },
}

/// IANA protocol numbers that are spoken here.
pub mod protocol {
    /// ICMP of IPv4 (RFC 792).
    pub const ICMP: u8 = 1;
    /// TCP.
    pub const TCP: u8 = 6;
    /// UDP.
    pub const UDP: u8 = 17;
    /// ICMP of IPv6 (RFC 4443).
    pub const ICMPV6: u8 = 58;
}

/// Refuses fewer bytes than `header` needs.
fn expect_length(header: &'static str, bytes: &[u8], needed: usize) -> Result<(), DecodeError> {
    let actual = bytes.len();
    if actual < needed {
        return Err(DecodeError::Truncated {
            header,
            needed,
            actual,
        });
    }
    Ok(())
}

/// The 16-bit field that begins at byte `at`, which the caller has checked to be there.
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// The 32-bit field that begins at byte `at`, which the caller has checked to be there.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
mod tests;
