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
