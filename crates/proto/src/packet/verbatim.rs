//! Packets written by a kernel, carried unchanged and decoded only on demand.

use super::{BitErrors, Body, Identity, IpHeader, Packet};
use crate::wire::checksum::updated;
use crate::wire::ip::IpPayload;
use crate::wire::{DecodeError, u16_at};
use std::sync::Arc;

/// A whole IP packet as received. Its header was valid at creation ([`Packet::verbatim`]): version, lengths and IPv4's
/// checksum. Its payload may be anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verbatim(Arc<[u8]>);

impl Packet {
    /// Creates a packet that leaves as it came, with flow label, options and reserved bits; only the hop limit is
    /// rewritten ([`Packet::encode`]). Bytes after the packet's end are cut off.
    ///
    /// # Errors
    /// Too few bytes, a version other than 4 and 6, an impossible length field, or a wrong header checksum.
    pub fn verbatim(bytes: &[u8]) -> Result<Packet, DecodeError> {
        let (ip, carried) = IpHeader::decode(bytes)?;
        let end = header_length(bytes) + carried.bytes.len();
        Ok(Packet {
            ip,
            body: Body::Verbatim(Verbatim(bytes[..end].into())),
            flow: None,
            retransmission: false,
            bit_errors: BitErrors::NONE,
            identity: Identity::NONE,
        })
    }
}

impl Packet {
    /// Decodes a verbatim packet of TCP, UDP or ICMP, for layers that read headers, if nothing but an IPv6 flow label is lost by
    /// it: what it encodes to is what was written. Returns any other packet as it is.
    pub fn typed_if_same(self) -> Packet {
        let Body::Verbatim(verbatim) = &self.body else {
            return self;
        };
        let written = verbatim.bytes();
        let decoded = Packet::decode(written).ok().filter(|decoded| {
            matches!(decoded.body, Body::Tcp(..) | Body::Udp(..) | Body::Icmp(_))
        });
        let Some(decoded) = decoded else { return self };
        let mut encoded = Vec::with_capacity(written.len());
        decoded.encode(&mut encoded);
        match encoded.len() == written.len()
            && without_flow_label(&encoded) == without_flow_label(written)
        {
            true => Packet {
                body: decoded.body,
                ..self
            },
            false => self,
        }
    }
}

/// Splits a packet into its first word, without an IPv6 flow label, and the rest.
fn without_flow_label(packet: &[u8]) -> (u32, &[u8]) {
    let (first, rest) = packet.split_at(4);
    let first = u32::from_be_bytes([first[0], first[1], first[2], first[3]]);
    match first >> 28 {
        6 => (first & 0xFFF0_0000, rest),
        _ => (first, rest),
    }
}

impl Verbatim {
    /// Returns the packet's bytes, as received.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the packet's bytes for writing; copies them first if they are shared.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        Arc::make_mut(&mut self.0)
    }

    /// Returns the payload of the IP header.
    pub fn carried(&self) -> IpPayload<'_> {
        let bytes = self.bytes();
        let (protocol, fragment) = match bytes[0] >> 4 {
            4 => (bytes[9], u16_at(bytes, 6) & crate::wire::ip::FRAGMENT),
            _ => (bytes[6], 0),
        };
        IpPayload {
            protocol,
            fragment,
            bytes: &bytes[header_length(bytes)..],
        }
    }

    /// Appends the packet with the hop limit of `ip`, and IPv4's checksum updated.
    pub(super) fn encode(&self, ip: &IpHeader, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(self.bytes());
        let header = &mut out[start..];
        if header[0] >> 4 == 6 {
            header[7] = ip.hop_limit;
        } else if header[8] != ip.hop_limit {
            let before = [header[8], header[9]];
            header[8] = ip.hop_limit;
            let checksum = updated(u16_at(header, 10), &before, &header[8..10]);
            header[10..12].copy_from_slice(&checksum.to_be_bytes());
        }
    }
}

/// Returns the length of the IP header at the front of `packet` in bytes, options included. It was decoded before.
fn header_length(packet: &[u8]) -> usize {
    match packet[0] >> 4 {
        4 => usize::from(packet[0] & 0x0F) * 4,
        _ => 40,
    }
}
