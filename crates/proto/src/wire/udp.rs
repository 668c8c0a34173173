//! The UDP header (RFC 768).

use super::checksum::Checksum;
use super::{DecodeError, expect_length, protocol, u16_at};
use crate::packet::IpHeader;
use core::net::IpAddr;

/// Ports of a datagram; the length follows from the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpHeader {
    /// Sender's port.
    pub source_port: u16,
    /// Receiver's port.
    pub destination_port: u16,
}

impl UdpHeader {
    /// Returns the length on the wire, in bytes.
    pub const fn wire_length(&self) -> u32 {
        8
    }

    /// Appends the header of a datagram with `payload_length` bytes of payload and a checksum of zero. A length that
    /// exceeds the 16-bit field is written as the maximum.
    pub fn encode(&self, payload_length: u32, out: &mut Vec<u8>) {
        let length = u16::try_from(payload_length.saturating_add(8)).unwrap_or(u16::MAX);
        for field in [self.source_port, self.destination_port, length, 0] {
            out.extend_from_slice(&field.to_be_bytes());
        }
    }

    /// Decodes the datagram that `ip` carries. Returns the header and the payload.
    ///
    /// # Errors
    /// Too few bytes, a length field below eight, or a wrong checksum. A checksum of zero (none) is valid over IPv4,
    /// not over IPv6 (RFC 8200 section 8.1).
    pub fn decode<'a>(
        ip: &IpHeader,
        bytes: &'a [u8],
    ) -> Result<(UdpHeader, &'a [u8]), DecodeError> {
        expect_length("UDP", bytes, 8)?;
        let length = usize::from(u16_at(bytes, 4));
        if length < 8 {
            return Err(DecodeError::Field {
                header: "UDP",
                field: "length",
                value: length as u32,
            });
        }
        expect_length("UDP", bytes, length)?;
        let bytes = &bytes[..length];
        let without_checksum = u16_at(bytes, 6) == 0;
        if !(without_checksum && matches!(ip.source, IpAddr::V4(_))) {
            let mut checksum = Checksum::pseudo_header(ip, protocol::UDP, length);
            checksum.add(bytes);
            if without_checksum || checksum.finish() != 0 {
                return Err(DecodeError::Checksum { header: "UDP" });
            }
        }
        let header = UdpHeader {
            source_port: u16_at(bytes, 0),
            destination_port: u16_at(bytes, 2),
        };
        Ok((header, &bytes[8..]))
    }
}
