//! ICMP (RFC 792) and ICMPv6 (RFC 4443) messages used here.

use super::agent_discovery::AgentDiscovery;
use super::checksum::Checksum;
use super::multicast_listener::{self, MulticastListenerReport};
use super::neighbor_discovery::{self, NeighborDiscovery};
use super::{DecodeError, Words, expect_length, protocol, u16_at, u32_at};
use crate::packet::{IpHeader, Payload};
use core::net::IpAddr;
use std::sync::Arc;

mod quoted;

pub use quoted::{QuotedPacket, QuotedWithin};

/// An ICMP message with the same meaning in both versions; the IP header's version decides the encoding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IcmpMessage {
    /// Echo request.
    EchoRequest(Echo),
    /// Echo reply.
    EchoReply(Echo),
    /// An error about a packet that could not be delivered.
    Error {
        /// Kind of the error.
        kind: IcmpError,
        /// Quotation of the packet.
        quoted: QuotedPacket,
    },
    /// Agent discovery of Mobile IPv4; ICMP only.
    AgentDiscovery(Box<AgentDiscovery>),
    /// Neighbor Discovery (RFC 4861); ICMPv6 only. Shared, since a router sends the same message to all nodes on a
    /// link.
    NeighborDiscovery(Arc<NeighborDiscovery>),
    /// Multicast Listener Report (RFC 3810); ICMPv6 only.
    MulticastListenerReport(Box<MulticastListenerReport>),
}

/// Body of an echo request or reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Echo {
    /// Identifier of the series of requests.
    pub identifier: u16,
    /// Sequence number in the series.
    pub sequence: u16,
    /// Data after the eight bytes of header; a reply returns its request's data.
    pub data: Payload,
}

/// Kind of an ICMP error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IcmpError {
    /// The packet exceeds the next link's MTU: "fragmentation needed" (RFC 1191) or "packet too big" (RFC 4443).
    PacketTooBig {
        /// MTU of that link in bytes; zero from a router older than RFC 1191.
        mtu: u32,
    },
    /// No route, or no such host.
    Unreachable,
    /// The host does not implement the protocol.
    ProtocolUnreachable,
    /// No socket listens on the port.
    PortUnreachable,
    /// The hop limit ran out.
    TimeExceeded,
    /// A base station has failed again to send the packet over its radio link, and continues to try: the explicit bad
    /// state notification of Bakshi, Krishna, Vaidya and Pradhan (ICDCS 1997). It has no assigned number; these are the
    /// ones for experiments: type 253 (RFC 4727 section 4), in ICMPv6 100 (RFC 4443 section 2.1), code 0.
    BadState,
    /// A router's queue fills, and it can forward the source's packets at this rate only. Study A leaves this to
    /// AeroNP, which it does not define; chosen: the type of `BadState` with code 1, and the rate in the second word.
    Backpressure {
        /// Rate in kbit/s of IP packets.
        rate: u32,
    },
}

impl IcmpMessage {
    /// Describes the message, which is from `source`, if it is a signalling message.
    pub(crate) fn words(&self, source: IpAddr) -> Option<Words> {
        match self {
            IcmpMessage::NeighborDiscovery(message) => Some(message.words(source)),
            IcmpMessage::MulticastListenerReport(message) => Some(message.words()),
            IcmpMessage::AgentDiscovery(message) => Some(message.words()),
            _ => None,
        }
    }

    /// Returns the length on the wire after the IP header, in bytes. An error quotes the packet's headers, including
    /// the first eight bytes of the transport.
    pub fn wire_length(&self) -> u32 {
        match self {
            IcmpMessage::EchoRequest(echo) | IcmpMessage::EchoReply(echo) => 8 + echo.data.length(),
            IcmpMessage::Error { quoted, .. } => 8 + quoted.wire_length(),
            IcmpMessage::AgentDiscovery(message) => message.wire_length(),
            IcmpMessage::NeighborDiscovery(message) => message.wire_length(),
            IcmpMessage::MulticastListenerReport(report) => report.wire_length(),
        }
    }

    /// Returns the hop limit that receivers require, if any.
    pub const fn required_hop_limit(&self) -> Option<u8> {
        match self {
            IcmpMessage::NeighborDiscovery(_) => Some(neighbor_discovery::HOP_LIMIT),
            IcmpMessage::MulticastListenerReport(_) => Some(multicast_listener::HOP_LIMIT),
            _ => None,
        }
    }

    /// Appends the message with a checksum of zero, in the version of `ip`.
    pub fn encode(&self, ip: &IpHeader, out: &mut Vec<u8>) {
        let v4 = ip.source.is_ipv4();
        match self {
            IcmpMessage::EchoRequest(echo) => echo.encode(if v4 { 8 } else { 128 }, out),
            IcmpMessage::EchoReply(echo) => echo.encode(if v4 { 0 } else { 129 }, out),
            IcmpMessage::Error { kind, quoted } => {
                let (kind_and_code, second) = kind.numbers(v4);
                out.extend_from_slice(&kind_and_code);
                out.extend_from_slice(&[0; 2]);
                out.extend_from_slice(&second.to_be_bytes());
                quoted.encode(out);
            }
            IcmpMessage::AgentDiscovery(message) => message.encode(out),
            IcmpMessage::NeighborDiscovery(message) => message.encode(out),
            IcmpMessage::MulticastListenerReport(report) => report.encode(out),
        }
    }

    /// Decodes the message that `ip` carries; `None` for a valid message of another kind.
    ///
    /// # Errors
    /// Too few bytes, an invalid quoted header, or a wrong checksum.
    pub fn decode(ip: &IpHeader, bytes: &[u8]) -> Result<Option<IcmpMessage>, DecodeError> {
        let v4 = ip.source.is_ipv4();
        let header = if v4 { "ICMP" } else { "ICMPv6" };
        expect_length(header, bytes, 8)?;
        let mut checksum = if v4 {
            Checksum::new()
        } else {
            Checksum::pseudo_header(ip, protocol::ICMPV6, bytes.len())
        };
        checksum.add(bytes);
        if checksum.finish() != 0 {
            return Err(DecodeError::Checksum { header });
        }
        let kind = match (v4, bytes[0], bytes[1]) {
            (true, 8, 0) | (false, 128, 0) => {
                return Ok(Some(IcmpMessage::EchoRequest(Echo::decode(bytes))));
            }
            (true, 0, 0) | (false, 129, 0) => {
                return Ok(Some(IcmpMessage::EchoReply(Echo::decode(bytes))));
            }
            (true, 9 | 10, _) => {
                let message = AgentDiscovery::decode(bytes)?;
                return Ok(Some(IcmpMessage::AgentDiscovery(Box::new(message))));
            }
            (true, 3, 4) => IcmpError::PacketTooBig {
                mtu: u32::from(u16_at(bytes, 6)),
            },
            (false, 2, _) => IcmpError::PacketTooBig {
                mtu: u32_at(bytes, 4),
            },
            // In ICMPv6 "unrecognized next header type" (RFC 4443 section 3.4).
            (true, 3, 2) | (false, 4, 1) => IcmpError::ProtocolUnreachable,
            (true, 3, 3) | (false, 1, 4) => IcmpError::PortUnreachable,
            (true, 3, _) | (false, 1, _) => IcmpError::Unreachable,
            (true, 11, 0) | (false, 3, 0) => IcmpError::TimeExceeded,
            (true, 253, 0) | (false, 100, 0) => IcmpError::BadState,
            (true, 253, 1) | (false, 100, 1) => IcmpError::Backpressure {
                rate: u32_at(bytes, 4),
            },
            (false, kind, _) if NeighborDiscovery::has_kind(kind) => {
                let message = NeighborDiscovery::decode(ip, bytes)?;
                return Ok(Some(IcmpMessage::NeighborDiscovery(Arc::new(message))));
            }
            (false, multicast_listener::REPORT, _) => {
                let report = MulticastListenerReport::decode(ip, bytes)?;
                return Ok(Some(IcmpMessage::MulticastListenerReport(Box::new(report))));
            }
            _ => return Ok(None),
        };
        match QuotedPacket::decode(&bytes[8..]) {
            Ok(quoted) => Ok(Some(IcmpMessage::Error { kind, quoted })),
            // Other experiments use the same numbers.
            Err(_) if kind.is_experimental() => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Echo {
    /// Creates an echo with `length` bytes of data: 0, 1, 2, … modulo 256, as most pings send.
    pub fn counting(identifier: u16, sequence: u16, length: u32) -> Echo {
        let data: Vec<u8> = (0..length).map(|position| position as u8).collect();
        Echo {
            identifier,
            sequence,
            data: Payload::from_slice(&data),
        }
    }

    /// Returns true for the type of an echo request or reply in either version; the numbers of one have no other
    /// meaning in the other.
    pub(crate) const fn has_kind(kind: u8) -> bool {
        matches!(kind, 0 | 8 | 128 | 129)
    }

    fn encode(&self, kind: u8, out: &mut Vec<u8>) {
        out.extend_from_slice(&[kind, 0, 0, 0]);
        out.extend_from_slice(&self.identifier.to_be_bytes());
        out.extend_from_slice(&self.sequence.to_be_bytes());
        self.data.copy_into(out);
    }

    /// Decodes a message; the caller has checked that it has eight bytes.
    fn decode(bytes: &[u8]) -> Echo {
        Echo {
            identifier: u16_at(bytes, 4),
            sequence: u16_at(bytes, 6),
            data: Payload::from_slice(&bytes[8..]),
        }
    }
}

impl IcmpError {
    /// Returns type and code as the first word of the message, in the given version.
    pub(crate) fn first_word(self, v4: bool) -> u16 {
        u16::from_be_bytes(self.numbers(v4).0)
    }

    /// Returns true if the type is one for experiments.
    const fn is_experimental(self) -> bool {
        matches!(self, IcmpError::BadState | IcmpError::Backpressure { .. })
    }

    /// Returns type and code, and the second word, which holds the MTU, the rate or zero. "Unreachable" becomes "host
    /// unreachable" or "no route to destination".
    fn numbers(self, v4: bool) -> ([u8; 2], u32) {
        match self {
            // RFC 1191 section 4: the MTU is in the lower half of the word.
            IcmpError::PacketTooBig { mtu } if v4 => ([3, 4], mtu.min(0xFFFF)),
            IcmpError::PacketTooBig { mtu } => ([2, 0], mtu),
            IcmpError::Unreachable => (if v4 { [3, 1] } else { [1, 0] }, 0),
            // The pointer of ICMPv6 denotes the "next header" field of the IPv6 header.
            IcmpError::ProtocolUnreachable if v4 => ([3, 2], 0),
            IcmpError::ProtocolUnreachable => ([4, 1], 6),
            IcmpError::PortUnreachable => (if v4 { [3, 3] } else { [1, 4] }, 0),
            IcmpError::TimeExceeded => (if v4 { [11, 0] } else { [3, 0] }, 0),
            IcmpError::BadState => (if v4 { [253, 0] } else { [100, 0] }, 0),
            IcmpError::Backpressure { rate } => (if v4 { [253, 1] } else { [100, 1] }, rate),
        }
    }
}
