//! Wire formats: one file for each protocol header, each a typed value with its encoding and decoding.
//!
//! Decoding never panics: bytes become a valid value, or a [`DecodeError`] that names the fault.

pub mod aeronp;
pub mod aerotp;
pub mod agent_discovery;
pub mod association;
pub mod bundle;
pub mod checksum;
pub mod dhcp;
pub mod encapsulation;
pub mod extension;
pub mod icmp;
pub mod ikev2;
pub mod ip;
pub mod micro_mobility;
pub mod mih;
pub mod mobile_ipv4;
pub mod mobility_header;
pub mod multicast_listener;
pub mod neighbor_discovery;
pub mod prefix;
pub mod radius;
pub mod sequence;
pub mod split_context;
pub mod tcp;
pub mod tp_plus_plus;
pub mod udp;
pub mod van_jacobson;

use core::net::Ipv6Addr;

/// Reason why bytes are not a valid header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Fewer bytes than the header, or a length field, requires.
    #[error("{header}: {actual} bytes where {needed} are needed")]
    Truncated {
        /// The header being read.
        header: &'static str,
        /// Bytes required.
        needed: usize,
        /// Bytes present.
        actual: usize,
    },
    /// A field holds a value that its standard does not allow.
    #[error("{header}: field {field} holds {value}")]
    Field {
        /// The header being read.
        header: &'static str,
        /// The field, by its standard's name.
        field: &'static str,
        /// Value of the field.
        value: u32,
    },
    /// The checksum does not match.
    #[error("{header}: wrong checksum")]
    Checksum {
        /// The header being read.
        header: &'static str,
    },
}

/// Name of a message, as in its standard, and the values that distinguish messages of a kind, separated by commas.
pub(crate) type Words = (&'static str, String);

/// Describes the signalling message in a UDP datagram, if its ports are a known protocol's.
pub(crate) fn datagram_words(header: &udp::UdpHeader, datagram: &[u8]) -> Option<Words> {
    let ports = [header.source_port, header.destination_port];
    mobile_ipv4::words(ports, datagram)
        .or_else(|| radius::words(ports, datagram))
        .or_else(|| mih::words(ports, datagram))
        .or_else(|| dhcp::words(ports, datagram))
        .or_else(|| ikev2::words(ports, datagram))
        .or_else(|| micro_mobility::words(ports, datagram))
}

/// IANA protocol numbers in use here.
pub mod protocol {
    /// IPv6 hop-by-hop options (RFC 8200 section 4.3).
    pub const HOP_BY_HOP: u8 = 0;
    /// ICMP for IPv4 (RFC 792).
    pub const ICMP: u8 = 1;
    /// An IPv4 packet: a tunnel (RFC 2003).
    pub const IPV4: u8 = 4;
    /// TCP.
    pub const TCP: u8 = 6;
    /// UDP.
    pub const UDP: u8 = 17;
    /// TP++.
    pub const TP_PLUS_PLUS: u8 = 39;
    /// An IPv6 packet: a tunnel (RFC 2473).
    pub const IPV6: u8 = 41;
    /// IPv6 routing header (RFC 8200 section 4.4).
    pub const ROUTING: u8 = 43;
    /// Generic routing encapsulation (RFC 2784).
    pub const GENERIC_ENCAPSULATION: u8 = 47;
    /// Minimal encapsulation (RFC 2004).
    pub const MINIMAL_ENCAPSULATION: u8 = 55;
    /// ICMP for IPv6 (RFC 4443).
    pub const ICMPV6: u8 = 58;
    /// No next header after an IPv6 extension header (RFC 8200 section 4.7).
    pub const NONE: u8 = 59;
    /// IPv6 destination options (RFC 8200 section 4.6).
    pub const DESTINATION_OPTIONS: u8 = 60;
    /// The IPv6 Mobility Header (RFC 6275 section 6.1).
    pub const MOBILITY: u8 = 135;
    /// AeroTP. It has no assigned number; this is the first for experiments (RFC 3692 section 2.1).
    pub const AEROTP: u8 = 253;
}

/// Returns an error if there are fewer bytes than `header` needs.
pub(crate) fn expect_length(
    header: &'static str,
    bytes: &[u8],
    needed: usize,
) -> Result<(), DecodeError> {
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

/// Returns the 16-bit field at byte `at`, which the caller has checked to exist.
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// Returns the 32-bit field at byte `at`, which the caller has checked to exist.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// Returns the IPv6 address at byte `at`, which the caller has checked to exist.
fn ipv6_at(bytes: &[u8], at: usize) -> Ipv6Addr {
    Ipv6Addr::from(core::array::from_fn::<u8, 16, _>(|index| bytes[at + index]))
}

#[cfg(test)]
mod tests;
