//! What stands on the wire: one file a header, each a typed value with its encoding and decoding.
//!
//! Decoding never panics: bytes become a value that cannot be wrong, or a [`DecodeError`] that says what
//! was wrong.

pub mod aerotp;
pub mod agent_discovery;
pub mod checksum;
pub mod dhcp;
pub mod extension;
pub mod icmp;
pub mod ip;
pub mod mih;
pub mod mobile_ipv4;
pub mod mobility_header;
pub mod multicast_listener;
pub mod neighbor_discovery;
pub mod prefix;
pub mod radius;
pub mod sequence;
pub mod tcp;
pub mod udp;

use core::net::Ipv6Addr;

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
    /// IPv6's hop-by-hop options (RFC 8200 section 4.3).
    pub const HOP_BY_HOP: u8 = 0;
    /// ICMP of IPv4 (RFC 792).
    pub const ICMP: u8 = 1;
    /// An IPv4 packet: a tunnel (RFC 2003).
    pub const IPV4: u8 = 4;
    /// TCP.
    pub const TCP: u8 = 6;
    /// UDP.
    pub const UDP: u8 = 17;
    /// An IPv6 packet: a tunnel (RFC 2473).
    pub const IPV6: u8 = 41;
    /// IPv6's routing header (RFC 8200 section 4.4).
    pub const ROUTING: u8 = 43;
    /// ICMP of IPv6 (RFC 4443).
    pub const ICMPV6: u8 = 58;
    /// Nothing follows an IPv6 extension header (RFC 8200 section 4.7).
    pub const NONE: u8 = 59;
    /// IPv6's destination options (RFC 8200 section 4.6).
    pub const DESTINATION_OPTIONS: u8 = 60;
    /// The IPv6 Mobility Header (RFC 6275 section 6.1).
    pub const MOBILITY: u8 = 135;
    /// AeroTP. It has no number of its own: this is the first for experiments (RFC 3692 section 2.1).
    pub const AEROTP: u8 = 253;
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

/// The IPv6 address that begins at byte `at`, which the caller has checked to be there.
fn ipv6_at(bytes: &[u8], at: usize) -> Ipv6Addr {
    Ipv6Addr::from(core::array::from_fn::<u8, 16, _>(|index| bytes[at + index]))
}

#[cfg(test)]
mod tests;
