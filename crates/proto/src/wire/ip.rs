//! IPv4 (RFC 791) and IPv6 (RFC 8200) headers as bytes.

use super::checksum::Checksum;
use super::{DecodeError, expect_length, protocol, u16_at};
use crate::packet::IpHeader;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The "don't fragment" flag in IPv4's word of flags and fragment offset.
const DONT_FRAGMENT: u16 = 0x4000;
/// Mask of "more fragments" and the fragment offset in that word.
pub(crate) const FRAGMENT: u16 = 0x3FFF;

/// Payload of an IP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpPayload<'a> {
    /// IANA protocol number.
    pub protocol: u8,
    /// IPv4's "more fragments" bit (0x2000) and fragment offset in units of eight bytes; zero for a whole
    /// packet and for IPv6, where fragments are an extension header.
    pub fragment: u16,
    /// The bytes after the header, up to the end of the packet.
    pub bytes: &'a [u8],
}

impl IpPayload<'_> {
    /// Returns true if the bytes begin as a packet of the IP version that the protocol number denotes: a tunnel.
    pub fn is_packet(&self) -> bool {
        let version = self.bytes.first().map(|first| first >> 4);
        let is_version = matches!(
            (self.protocol, version),
            (protocol::IPV4, Some(4)) | (protocol::IPV6, Some(6))
        );
        is_version && self.fragment == 0
    }
}

impl IpHeader {
    /// Appends the header of a packet with `length` bytes of payload; `protocol` and `fragment` as in [`IpPayload`]. A
    /// length that exceeds the 16-bit field is written as the maximum.
    pub fn encode(&self, protocol: u8, fragment: u16, length: u32, out: &mut Vec<u8>) {
        match self.source {
            IpAddr::V4(source) => self.encode_v4(source, protocol, fragment, length, out),
            IpAddr::V6(source) => self.encode_v6(source, protocol, length, out),
        }
    }

    fn encode_v4(
        &self,
        source: Ipv4Addr,
        protocol: u8,
        fragment: u16,
        length: u32,
        out: &mut Vec<u8>,
    ) {
        let total_length = u16::try_from(length.saturating_add(20)).unwrap_or(u16::MAX);
        let flags = if self.dont_fragment { DONT_FRAGMENT } else { 0 } | (fragment & FRAGMENT);
        let destination = match self.destination {
            IpAddr::V4(address) => address,
            IpAddr::V6(address) => address.to_ipv4().unwrap_or(Ipv4Addr::UNSPECIFIED),
        };
        let start = out.len();
        out.extend_from_slice(&[0x45, self.traffic_class]);
        out.extend_from_slice(&total_length.to_be_bytes());
        out.extend_from_slice(&self.identification.to_be_bytes());
        out.extend_from_slice(&flags.to_be_bytes());
        out.extend_from_slice(&[self.hop_limit, protocol, 0, 0]);
        out.extend_from_slice(&source.octets());
        out.extend_from_slice(&destination.octets());
        let mut checksum = Checksum::new();
        checksum.add(&out[start..]);
        out[start + 10..start + 12].copy_from_slice(&checksum.finish().to_be_bytes());
    }

    fn encode_v6(&self, source: Ipv6Addr, protocol: u8, length: u32, out: &mut Vec<u8>) {
        let payload_length = u16::try_from(length).unwrap_or(u16::MAX);
        let destination = match self.destination {
            IpAddr::V4(address) => address.to_ipv6_mapped(),
            IpAddr::V6(address) => address,
        };
        // Version, traffic class, and a flow label of zero.
        let first_word = (6 << 28) | (u32::from(self.traffic_class) << 20);
        out.extend_from_slice(&u32::to_be_bytes(first_word));
        out.extend_from_slice(&payload_length.to_be_bytes());
        out.extend_from_slice(&[protocol, self.hop_limit]);
        out.extend_from_slice(&source.octets());
        out.extend_from_slice(&destination.octets());
    }

    /// Decodes the header of a packet of either version. Drops IPv4 options and the IPv6 flow label, and ignores bytes
    /// after the packet's end (Ethernet padding).
    ///
    /// # Errors
    /// Too few bytes, another version, an impossible length field, or a wrong header checksum.
    pub fn decode(bytes: &[u8]) -> Result<(IpHeader, IpPayload<'_>), DecodeError> {
        expect_length("IP", bytes, 1)?;
        match bytes[0] >> 4 {
            4 => IpHeader::decode_v4(bytes),
            6 => IpHeader::decode_v6(bytes),
            version => Err(DecodeError::Field {
                header: "IP",
                field: "version",
                value: u32::from(version),
            }),
        }
    }

    fn decode_v4(bytes: &[u8]) -> Result<(IpHeader, IpPayload<'_>), DecodeError> {
        expect_length("IPv4", bytes, 20)?;
        let field = |field, value| DecodeError::Field {
            header: "IPv4",
            field,
            value,
        };
        let header_length = usize::from(bytes[0] & 0x0F) * 4;
        if header_length < 20 {
            return Err(field("IHL", header_length as u32 / 4));
        }
        expect_length("IPv4", bytes, header_length)?;
        let mut checksum = Checksum::new();
        checksum.add(&bytes[..header_length]);
        if checksum.finish() != 0 {
            return Err(DecodeError::Checksum { header: "IPv4" });
        }
        let total_length = usize::from(u16_at(bytes, 2));
        if total_length < header_length {
            return Err(field("total length", total_length as u32));
        }
        expect_length("IPv4", bytes, total_length)?;
        let flags = u16_at(bytes, 6);
        let (source, destination) = addresses(bytes);
        let header = IpHeader {
            source,
            destination,
            hop_limit: bytes[8],
            traffic_class: bytes[1],
            identification: u16_at(bytes, 4),
            dont_fragment: flags & DONT_FRAGMENT != 0,
        };
        let payload = IpPayload {
            protocol: bytes[9],
            fragment: flags & FRAGMENT,
            bytes: &bytes[header_length..total_length],
        };
        Ok((header, payload))
    }

    fn decode_v6(bytes: &[u8]) -> Result<(IpHeader, IpPayload<'_>), DecodeError> {
        expect_length("IPv6", bytes, 40)?;
        let end = 40 + usize::from(u16_at(bytes, 4));
        expect_length("IPv6", bytes, end)?;
        let (source, destination) = addresses(bytes);
        let header = IpHeader {
            source,
            destination,
            hop_limit: bytes[7],
            traffic_class: (u16_at(bytes, 0) >> 4) as u8,
            identification: 0,
            dont_fragment: true,
        };
        let payload = IpPayload {
            protocol: bytes[6],
            fragment: 0,
            bytes: &bytes[40..end],
        };
        Ok((header, payload))
    }
}

/// Returns source and destination of a header of either version, whose version and length the caller has checked.
pub(in crate::wire) fn addresses(header: &[u8]) -> (IpAddr, IpAddr) {
    fn octets<const N: usize>(header: &[u8], at: usize) -> [u8; N] {
        core::array::from_fn(|index| header[at + index])
    }
    if header[0] >> 4 == 4 {
        (
            Ipv4Addr::from(octets::<4>(header, 12)).into(),
            Ipv4Addr::from(octets::<4>(header, 16)).into(),
        )
    } else {
        (
            Ipv6Addr::from(octets::<16>(header, 8)).into(),
            Ipv6Addr::from(octets::<16>(header, 24)).into(),
        )
    }
}
