//! The record that travels through hosts and links.
//!
//! A link reads only [`Packet::wire_length`]; hosts and agents read the typed headers. A payload of which
//! nobody looks at the bytes is kept as its length and can produce its bytes when someone asks
//! ([`Payload::copy_into`]): a capture, a checksum, a channel that flips bits.

use crate::wire::icmp::IcmpMessage;
use crate::wire::tcp::TcpHeader;
use crate::wire::udp::UdpHeader;
use core::net::IpAddr;

/// One IP packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The network header.
    pub ip: IpHeader,
    /// What the network header carries.
    pub body: Body,
    /// The scenario's flow to which this packet belongs, for the record; agents have none.
    pub flow: Option<FlowId>,
    /// Whether a transport sent these bytes before. Known only inside a simulation.
    pub retransmission: bool,
    /// Positions of the bits that the channel has flipped, counted from the first bit of the IP header,
    /// ascending; empty (and unallocated) on an undamaged packet.
    pub bit_errors: Vec<u32>,
}

/// Number of a flow in its scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

/// The fields of IPv4 and IPv6 headers that differ between packets here. Both addresses are of one version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpHeader {
    /// Sender's address.
    pub source: IpAddr,
    /// Receiver's address.
    pub destination: IpAddr,
    /// Time to live (RFC 791) or hop limit (RFC 8200).
    pub hop_limit: u8,
    /// Type of service or traffic class.
    pub traffic_class: u8,
    /// Identification of an IPv4 packet; not carried by IPv6.
    pub identification: u16,
    /// IPv4's "don't fragment"; IPv6 routers never fragment, so it reads as true there.
    pub dont_fragment: bool,
}

impl IpHeader {
    /// Bytes of this header on the wire: 20 for IPv4, 40 for IPv6.
    pub const fn wire_length(&self) -> u32 {
        match self.source {
            IpAddr::V4(_) => 20,
            IpAddr::V6(_) => 40,
        }
    }
}

/// What an IP packet carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// A TCP segment.
    Tcp(TcpHeader, Payload),
    /// A UDP datagram.
    Udp(UdpHeader, Payload),
    /// A message of ICMP (RFC 792) or ICMPv6 (RFC 4443).
    Icmp(IcmpMessage),
    /// Anything else: bytes after the IP header that nobody parsed.
    Opaque {
        /// IANA protocol number, the IP header's protocol or next-header field.
        protocol: u8,
        /// The bytes after the IP header.
        bytes: Box<[u8]>,
    },
}

/// What a transport carries: real bytes, or the length of a stretch of a pattern that is made on demand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payload {
    /// `length` bytes of pattern `stream`, from `offset` on.
    Pattern {
        /// Which pattern; by custom the flow's number.
        stream: u32,
        /// Position of the first byte in the pattern.
        offset: u64,
        /// Number of bytes.
        length: u32,
    },
    /// Real bytes.
    Bytes(Box<[u8]>),
}

impl Payload {
    /// No bytes.
    pub const EMPTY: Payload = Payload::Pattern {
        stream: 0,
        offset: 0,
        length: 0,
    };

    /// Number of bytes.
    pub const fn length(&self) -> u32 {
        match self {
            Payload::Pattern { length, .. } => *length,
            Payload::Bytes(bytes) => bytes.len() as u32,
        }
    }

    /// Whether there are no bytes.
    pub const fn is_empty(&self) -> bool {
        self.length() == 0
    }

    /// Appends the bytes to `out`.
    pub fn copy_into(&self, out: &mut Vec<u8>) {
        match self {
            Payload::Bytes(bytes) => out.extend_from_slice(bytes),
            Payload::Pattern {
                stream,
                offset,
                length,
            } => {
                out.extend(
                    (*offset..*offset + u64::from(*length))
                        .map(|position| pattern_byte(*stream, position)),
                );
            }
        }
    }
}

/// The byte at `position` of pattern `stream`. Neighbouring bytes, packets and streams differ, so that a
/// misplaced or repeated stretch is seen by whoever compares.
pub const fn pattern_byte(stream: u32, position: u64) -> u8 {
    let mixed = (position ^ ((stream as u64) << 40)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> 56) as u8
}

impl Packet {
    /// Bytes of the packet from the first of the IP header to the last of the payload.
    pub fn wire_length(&self) -> u32 {
        self.ip.wire_length()
            + match &self.body {
                Body::Tcp(header, payload) => header.wire_length() + payload.length(),
                Body::Udp(header, payload) => header.wire_length() + payload.length(),
                Body::Icmp(message) => message.wire_length(),
                Body::Opaque { bytes, .. } => bytes.len() as u32,
            }
    }
}
