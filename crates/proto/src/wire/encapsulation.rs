//! Encapsulation of IPv4 packets in IPv4 packets beside IP in IP: minimal encapsulation (RFC 2004) and generic routing
//! encapsulation (RFC 2784).

use super::agent_discovery::address_at;
use super::checksum::Checksum;
use super::{DecodeError, expect_length};
use crate::packet::IpHeader;
use core::net::{IpAddr, Ipv4Addr};

/// Length of a GRE header without optional fields, in bytes (RFC 2784 section 2).
pub(crate) const GENERIC_LENGTH: usize = 4;
/// A GRE header without checksum, version 0, for IPv4: protocol type 0x0800 (RFC 2784 sections 2 and 3).
const GENERIC: [u8; GENERIC_LENGTH] = [0, 0, 0x08, 0x00];
/// S: the original source address is present (RFC 2004 section 3.1).
const SOURCE_PRESENT: u8 = 0x80;

/// Form of a tunnel's packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encapsulation {
    /// A second IP header (RFC 2003, RFC 2473).
    #[default]
    IpInIp,
    /// A minimal forwarding header behind the packet's own IP header (RFC 2004).
    Minimal,
    /// A second IP header and a GRE header (RFC 2784).
    Generic,
}

/// Minimal forwarding header (RFC 2004 section 3.1): the fields of the original IP header that its new values replace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MinimalHeader {
    /// IANA protocol number of the original header.
    pub protocol: u8,
    /// Original destination.
    pub destination: Ipv4Addr,
    /// Original source; `None` if the encapsulator is the source.
    pub source: Option<Ipv4Addr>,
}

impl MinimalHeader {
    /// Returns the length of the header in bytes: 8, or 12 with the original source.
    pub const fn wire_length(&self) -> u32 {
        if self.source.is_some() { 12 } else { 8 }
    }

    /// Appends the header with its checksum.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        let flags = self.source.map_or(0, |_| SOURCE_PRESENT);
        out.extend_from_slice(&[self.protocol, flags, 0, 0]);
        out.extend_from_slice(&self.destination.octets());
        out.extend(self.source.iter().flat_map(Ipv4Addr::octets));
        let mut checksum = Checksum::new();
        checksum.add(&out[start..]);
        out[start + 2..start + 4].copy_from_slice(&checksum.finish().to_be_bytes());
    }

    /// Decodes the header. Returns it and the bytes that follow, which are the original payload.
    ///
    /// # Errors
    /// Too few bytes, or a wrong checksum.
    pub fn decode(bytes: &[u8]) -> Result<(MinimalHeader, &[u8]), DecodeError> {
        const HEADER: &str = "minimal forwarding header";
        expect_length(HEADER, bytes, 8)?;
        let has_source = bytes[1] & SOURCE_PRESENT != 0;
        let length = if has_source { 12 } else { 8 };
        expect_length(HEADER, bytes, length)?;
        let (header, payload) = bytes.split_at(length);
        let mut checksum = Checksum::new();
        checksum.add(header);
        if checksum.finish() != 0 {
            return Err(DecodeError::Checksum { header: HEADER });
        }
        let header = MinimalHeader {
            protocol: header[0],
            destination: address_at(header, 4),
            source: has_source.then(|| address_at(header, 8)),
        };
        Ok((header, payload))
    }
}

/// Returns the bytes of the original packet behind the header `outer` and a minimal forwarding header.
///
/// # Errors
/// Too few bytes, or a wrong checksum.
pub(crate) fn restore(outer: &IpHeader, bytes: &[u8]) -> Result<Vec<u8>, DecodeError> {
    let (header, payload) = MinimalHeader::decode(bytes)?;
    let ip = IpHeader {
        source: header.source.map_or(outer.source, IpAddr::V4),
        destination: header.destination.into(),
        ..*outer
    };
    let mut whole = Vec::with_capacity(20 + payload.len());
    ip.encode(header.protocol, 0, payload.len() as u32, &mut whole);
    whole.extend_from_slice(payload);
    Ok(whole)
}

/// Appends a GRE header for an IPv4 packet.
pub(crate) fn encode_generic(out: &mut Vec<u8>) {
    out.extend_from_slice(&GENERIC);
}

/// Returns the IPv4 packet behind a GRE header; `None` for another protocol, and for a header with optional fields,
/// which is not decoded here.
///
/// # Errors
/// Too few bytes.
pub(crate) fn decode_generic(bytes: &[u8]) -> Result<Option<&[u8]>, DecodeError> {
    expect_length("GRE", bytes, GENERIC_LENGTH)?;
    let (header, packet) = bytes.split_at(GENERIC_LENGTH);
    let is_v4 = packet.first().is_some_and(|first| first >> 4 == 4);
    Ok((header == GENERIC && is_v4).then_some(packet))
}
