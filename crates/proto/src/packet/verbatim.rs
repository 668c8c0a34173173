//! Packets written by a kernel, carried unchanged and decoded only on demand.

use super::{BitErrors, Body, Identity, IpHeader, Packet, Payload};
use crate::wire::checksum::updated;
use crate::wire::ip::IpPayload;
use crate::wire::tcp::TcpHeader;
use crate::wire::udp::UdpHeader;
use crate::wire::{DecodeError, protocol, u16_at};
use std::sync::Arc;

/// Length of a UDP header, in bytes.
const UDP_HEADER: usize = 8;

/// A whole IP packet as received. Its header was valid at creation ([`Packet::verbatim`]): version, lengths and IPv4's
/// checksum. Its payload may be anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verbatim {
    bytes: Arc<[u8]>,
    segmentation: Option<Segmentation>,
}

/// Segmentation of a long packet that stands for several packets of one TCP connection or UDP flow until it leaves.
/// Their headers equal its headers except for lengths, numbers and checksums. Its transport checksum covers the
/// pseudo-header only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segmentation {
    /// Offset of the transport header, in bytes.
    pub transport: u16,
    /// Length of all headers, in bytes.
    pub headers: u16,
    /// Payload of each packet, in bytes; the last one may have less.
    pub segment: u16,
}

impl Packet {
    /// Creates a packet that leaves with its flow label, options and reserved bits; hop limit and traffic class
    /// are rewritten ([`Packet::encode`]). Bytes after the packet's end are cut off.
    ///
    /// # Errors
    /// Too few bytes, a version other than 4 and 6, an impossible length field, or a wrong header checksum.
    pub fn verbatim(bytes: &[u8]) -> Result<Packet, DecodeError> {
        Packet::verbatim_as(bytes, None)
    }

    /// Creates a packet that stands for several, and is forwarded like them: routers compare the longest of them with
    /// an MTU. The packet is never fragmented, and its payload never decoded.
    ///
    /// # Errors
    /// As for [`verbatim`](Self::verbatim).
    pub fn segmented(bytes: &[u8], segmentation: Segmentation) -> Result<Packet, DecodeError> {
        let mut packet = Packet::verbatim_as(bytes, Some(segmentation))?;
        packet.ip.dont_fragment = true;
        Ok(packet)
    }

    fn verbatim_as(
        bytes: &[u8],
        segmentation: Option<Segmentation>,
    ) -> Result<Packet, DecodeError> {
        let (ip, carried) = IpHeader::decode(bytes)?;
        let end = header_length(bytes) + carried.bytes.len();
        Ok(Packet {
            ip,
            body: Body::Verbatim(Verbatim {
                bytes: bytes[..end].into(),
                segmentation,
            }),
            flow: None,
            retransmission: false,
            bit_errors: BitErrors::NONE,
            identity: Identity::NONE,
        })
    }

    /// Decodes a segmented packet for the node that ends its connection: as one long segment of TCP, or as each of the
    /// datagrams of UDP. No checksum is verified, since those of its packets do not exist yet. Returns nothing for
    /// headers that cannot be read.
    pub fn read_segmented(&self) -> Vec<Packet> {
        let Body::Verbatim(verbatim) = &self.body else {
            return Vec::new();
        };
        let carried = verbatim.carried();
        let typed = |body| Packet {
            ip: self.ip,
            body,
            flow: self.flow,
            retransmission: false,
            bit_errors: BitErrors::NONE,
            identity: Identity::NONE,
        };
        match (carried.protocol, verbatim.segmentation) {
            (protocol::TCP, Some(_)) => {
                let read = TcpHeader::read(carried.bytes);
                let segment = read.map(|(header, payload)| {
                    typed(Body::Tcp(header, Payload::from_slice(payload)))
                });
                segment.into_iter().collect()
            }
            (protocol::UDP, Some(segmentation)) => {
                let Some((header, payload)) = carried.bytes.split_at_checked(UDP_HEADER) else {
                    return Vec::new();
                };
                let header = UdpHeader {
                    source_port: u16_at(header, 0),
                    destination_port: u16_at(header, 2),
                };
                let pieces = payload.chunks(usize::from(segmentation.segment).max(1));
                let datagram = |piece| typed(Body::Udp(header, Payload::from_slice(piece)));
                pieces.map(datagram).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns the segmentation of a packet that stands for several.
    pub const fn segmentation(&self) -> Option<Segmentation> {
        match &self.body {
            Body::Verbatim(verbatim) => verbatim.segmentation,
            _ => None,
        }
    }
}

impl Packet {
    /// Decodes a verbatim packet of TCP, UDP or ICMP, for layers that read headers, if that loses nothing but an IPv6
    /// flow label, so that encoding restores the written bytes. Returns any other packet unchanged.
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
        &self.bytes
    }

    /// Returns the length of the packet in bytes; of a segmented one, that of its longest packet.
    pub(super) fn wire_length(&self) -> u32 {
        let whole = self.bytes.len() as u32;
        match self.segmentation {
            Some(Segmentation {
                headers, segment, ..
            }) => whole.min(u32::from(headers) + u32::from(segment)),
            None => whole,
        }
    }

    /// Returns the packet's bytes for writing; copies them first if they are shared.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        Arc::make_mut(&mut self.bytes)
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

    /// Appends the packet with hop limit and traffic class of `ip`, and IPv4's checksum updated.
    pub(super) fn encode(&self, ip: &IpHeader, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(self.bytes());
        let header = &mut out[start..];
        if header[0] >> 4 == 6 {
            header[0] = 0x60 | ip.traffic_class >> 4;
            header[1] = ip.traffic_class << 4 | header[1] & 0x0F;
            header[7] = ip.hop_limit;
            return;
        }
        let before: [u8; 10] = core::array::from_fn(|index| header[index]);
        header[1] = ip.traffic_class;
        header[8] = ip.hop_limit;
        if header[..10] != before {
            let checksum = updated(u16_at(header, 10), &before, &header[..10]);
            header[10..12].copy_from_slice(&checksum.to_be_bytes());
        }
    }
}

/// Returns the length of the IP header at the front of `packet` in bytes, options included. The header was decoded
/// before.
fn header_length(packet: &[u8]) -> usize {
    match packet[0] >> 4 {
        4 => usize::from(packet[0] & 0x0F) * 4,
        _ => 40,
    }
}
