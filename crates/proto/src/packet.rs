//! The record that travels through hosts and links.
//!
//! A link reads only [`Packet::wire_length`]; hosts and agents read the typed headers. A payload of which
//! nobody looks at the bytes is kept as its length and can produce its bytes when someone asks
//! ([`Payload::copy_into`]): a capture, a checksum, a channel that flips bits.

use crate::wire::DecodeError;
use crate::wire::aerotp::AerotpPacket;
use crate::wire::icmp::IcmpMessage;
use crate::wire::mobility_header::MobilityMessage;
use crate::wire::tcp::TcpHeader;
use crate::wire::udp::UdpHeader;
use core::net::IpAddr;

mod body;
mod extended;
mod identity;
mod quote;
mod send_buffer;
mod signal;
mod transport;
mod verbatim;
mod view;

pub use extended::Extended;
pub use identity::Identity;
pub(crate) use send_buffer::SendBuffer;
pub use signal::Signal;
pub use transport::SegmentWithin;
pub use verbatim::Verbatim;
pub use view::View;

/// One IP packet. The fields stand in memory as they stand here, since routers read the first alone.
#[derive(Clone, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Packet {
    /// The network header.
    pub ip: IpHeader,
    /// The scenario's flow to which this packet belongs, for the record; agents have none.
    pub flow: Option<FlowId>,
    /// Whether a transport sent these bytes before. Known only inside a simulation.
    pub retransmission: bool,
    /// Which packet of its run it is.
    pub identity: Identity,
    /// The bits that the channel has flipped.
    pub bit_errors: BitErrors,
    /// What the network header carries.
    pub body: Body,
}

/// Positions of the bits that a channel has flipped, counted from the first bit of the IP header, ascending. An
/// undamaged packet, as most are, has no more of it than a pointer.
// A boxed slice would be twice as wide, and a packet then a cache line longer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BitErrors(#[allow(clippy::box_collection)] Option<Box<Vec<u32>>>);

impl BitErrors {
    /// No bit is flipped.
    pub const NONE: BitErrors = BitErrors(None);

    /// Whether no bit is flipped.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The positions, ascending.
    pub fn positions(&self) -> &[u32] {
        self.0.as_deref().map_or(&[], Vec::as_slice)
    }

    /// Flips further bits; one that was flipped before is whole again.
    pub fn add(&mut self, further: BitErrors) {
        if self.is_empty() {
            *self = further;
            return;
        }
        let mut positions = self.positions().to_vec();
        for &position in further.positions() {
            match positions.binary_search(&position) {
                Ok(place) => drop(positions.remove(place)),
                Err(place) => positions.insert(place, position),
            }
        }
        *self = positions.into();
    }
}

impl From<Vec<u32>> for BitErrors {
    /// The positions must ascend.
    fn from(positions: Vec<u32>) -> BitErrors {
        BitErrors((!positions.is_empty()).then(|| Box::new(positions)))
    }
}

/// Number of a flow in its scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

/// The six bits of differentiated services, which say how routers are to treat a packet (RFC 2474).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct CodePoint(u8);

impl CodePoint {
    /// The code point of a number; `None` beyond 63.
    pub const fn new(number: u8) -> Option<CodePoint> {
        match number {
            0..64 => Some(CodePoint(number)),
            _ => None,
        }
    }

    /// The class selector of a precedence, CS0 to CS7 (RFC 2474 section 4.2.2); only the last three bits of `precedence` count.
    pub const fn class_selector(precedence: u8) -> CodePoint {
        CodePoint((precedence & 0b111) << 3)
    }

    /// Its number, 0 to 63.
    pub const fn number(self) -> u8 {
        self.0
    }

    /// The traffic class (of IPv4, the type of service) with this code point and without congestion marks.
    pub const fn traffic_class(self) -> u8 {
        self.0 << 2
    }
}

/// The fields of IPv4 and IPv6 headers that differ between packets here. Both addresses are of one version. What
/// routers read stands first in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct IpHeader {
    /// Receiver's address.
    pub destination: IpAddr,
    /// Time to live (RFC 791) or hop limit (RFC 8200).
    pub hop_limit: u8,
    /// Type of service or traffic class.
    pub traffic_class: u8,
    /// Sender's address.
    pub source: IpAddr,
    /// Identification of an IPv4 packet; not carried by IPv6.
    pub identification: u16,
    /// IPv4's "don't fragment"; IPv6 routers never fragment, so it reads as true there.
    pub dont_fragment: bool,
}

impl IpHeader {
    /// The first three bits of the traffic class, 0 to 7: the precedence of IPv4 (RFC 791), by which the class selectors of
    /// differentiated services are ordered (RFC 2474 section 4.2.2).
    pub const fn precedence(&self) -> u8 {
        self.traffic_class >> 5
    }

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
    /// An AeroTP packet.
    Aerotp(Box<AerotpPacket>),
    /// A message of ICMP (RFC 792) or ICMPv6 (RFC 4443).
    Icmp(IcmpMessage),
    /// A message of Mobile IPv6 or NEMO, over IPv6 only.
    Mobility(Box<MobilityMessage>),
    /// A whole packet: a tunnel of IPv4 (RFC 2003) or IPv6 (RFC 2473), whichever is in which. What the channel did to
    /// the inner packet before it came into the tunnel is its own `bit_errors`.
    Tunnel(Box<Packet>),
    /// Extension headers of Mobile IPv6, and what follows them; over IPv6 only.
    Extended(Box<Extended>),
    /// Anything else: bytes after the IP header that nobody parsed.
    Opaque {
        /// IANA protocol number, the IP header's protocol or next-header field.
        protocol: u8,
        /// IPv4's "more fragments" bit (0x2000) and fragment offset; zero unless it is a fragment.
        fragment: u16,
        /// The bytes after the IP header.
        bytes: Box<[u8]>,
    },
    /// The whole packet as a kernel wrote it, of which only the IP header was read. `Packet::ip` says what
    /// that header says, and its hop limit counts.
    Verbatim(Verbatim),
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

    /// A copy of real bytes.
    pub(crate) fn from_slice(bytes: &[u8]) -> Payload {
        if bytes.is_empty() {
            Payload::EMPTY
        } else {
            Payload::Bytes(bytes.into())
        }
    }

    /// Whether both stand for the same bytes.
    fn has_same_bytes(&self, other: &Payload) -> bool {
        let [mut ours, mut theirs] = [Vec::new(), Vec::new()];
        self.copy_into(&mut ours);
        other.copy_into(&mut theirs);
        ours == theirs
    }

    /// Bytes `from` to `to`; what lies beyond the end is left out.
    pub(crate) fn slice(self, from: u64, to: u64) -> Payload {
        let whole = u64::from(self.length());
        let (from, to) = (from.min(whole), to.min(whole));
        if from == 0 && to == whole {
            return self;
        }
        match self {
            Payload::Pattern { stream, offset, .. } => Payload::Pattern {
                stream,
                offset: offset + from,
                length: (to - from) as u32,
            },
            Payload::Bytes(bytes) => Payload::Bytes(bytes[from as usize..to as usize].into()),
        }
    }

    /// Lengthens this by `next` if that is the continuation of the same pattern.
    pub(crate) fn extend_pattern(&mut self, next: &Payload) -> bool {
        let Payload::Pattern {
            stream,
            offset,
            length,
        } = self
        else {
            return false;
        };
        match next {
            Payload::Pattern {
                stream: next_stream,
                offset: next_offset,
                length: more,
            } if next_stream == stream && *next_offset == *offset + u64::from(*length) => {
                match length.checked_add(*more) {
                    Some(sum) => {
                        *length = sum;
                        true
                    }
                    None => false,
                }
            }
            _ => false,
        }
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
                    (0..u64::from(*length))
                        .map(|index| pattern_byte(*stream, offset.wrapping_add(index))),
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
    #[inline]
    pub fn wire_length(&self) -> u32 {
        if let Body::Verbatim(verbatim) = &self.body {
            return verbatim.bytes().len() as u32;
        }
        self.ip.wire_length() + self.body.wire_length()
    }

    /// Bytes before the transport's payload, with the headers of tunnels. All of a message that has none.
    pub fn headers_length(&self) -> u32 {
        match &self.body {
            Body::Verbatim(_) => self.wire_length() - self.view().payload_bytes,
            body => self.ip.wire_length() + body.headers_length(),
        }
    }

    /// Appends the whole packet as bytes, with valid checksums and the bytes of patterns; a verbatim one as it
    /// came, with the hop limit of now. `bit_errors` are not applied, but for those that a packet in a tunnel brought
    /// along. More than a packet can hold (65,535 bytes) gives length fields that do not tell.
    pub fn encode(&self, out: &mut Vec<u8>) {
        if let Body::Verbatim(verbatim) = &self.body {
            return verbatim.encode(&self.ip, out);
        }
        let length = self.body.wire_length();
        out.reserve((self.ip.wire_length() + length) as usize);
        let (protocol, fragment) = self.body.protocol(&self.ip);
        self.ip.encode(protocol, fragment, length, out);
        self.body.encode(&self.ip, out);
    }

    /// Reads a whole packet and verifies its checksums. IPv4 fragments, IPv6 extension headers but those of Mobile
    /// IPv6, unknown protocols and unknown kinds of messages become [`Body::Opaque`]. A packet in a tunnel of which no
    /// more than the IP header is right is verbatim, so that its receiver finds the fault and not the tunnel's end.
    ///
    /// # Errors
    /// See [`DecodeError`]: a receiver drops such a packet.
    pub fn decode(bytes: &[u8]) -> Result<Packet, DecodeError> {
        /// The encapsulation limit that RFC 2473 section 6.6 gives a tunnel, of which others are within.
        const TUNNELS: u8 = 4;
        Packet::decode_within(bytes, TUNNELS)
    }

    /// As [`decode`](Self::decode), with at most so many tunnels.
    fn decode_within(bytes: &[u8], tunnels: u8) -> Result<Packet, DecodeError> {
        let (ip, carried) = IpHeader::decode(bytes)?;
        Ok(Packet {
            ip,
            body: Body::decode(&ip, carried, tunnels)?,
            flow: None,
            retransmission: false,
            bit_errors: BitErrors::NONE,
            identity: Identity::NONE,
        })
    }

    /// Appends the whole packet as the channel has left it: as [`encode`](Self::encode) writes it, with its
    /// `bit_errors` flipped. Positions beyond the end are ignored.
    pub fn encode_damaged(&self, out: &mut Vec<u8>) {
        let start = out.len();
        self.encode(out);
        for position in self.bit_errors.positions() {
            if let Some(byte) = out[start..].get_mut(*position as usize / 8) {
                *byte ^= 0x80 >> (position % 8);
            }
        }
    }

    /// The packet in all its tunnels.
    #[inline]
    pub fn innermost(&self) -> &Packet {
        let mut packet = self;
        while let Body::Tunnel(inner) = &packet.body {
            packet = inner;
        }
        packet
    }

    /// Tells if it, in tunnels or not, has payload of a transport. A kernel's packets are not looked at.
    #[inline]
    pub fn has_data(&self) -> bool {
        let of_transport = |body: &Body| match body {
            Body::Tcp(_, payload) | Body::Udp(_, payload) => !payload.is_empty(),
            Body::Aerotp(packet) => !packet.payload.is_empty(),
            _ => false,
        };
        match &self.innermost().body {
            Body::Extended(extended) => of_transport(&extended.body),
            body => of_transport(body),
        }
    }

    /// Whether the headers are values: not so in a packet that a kernel wrote.
    pub const fn is_typed(&self) -> bool {
        !matches!(self.body, Body::Verbatim(_))
    }

    /// The packet as its receiver reads it, after the channel has flipped its `bit_errors`, with typed headers.
    /// A payload that came through whole stays the pattern that it was.
    ///
    /// # Errors
    /// What a receiver drops the damaged packet for.
    pub fn apply_bit_errors(self) -> Result<Packet, DecodeError> {
        if self.is_typed() && self.bit_errors.is_empty() {
            return Ok(self);
        }
        let mut bytes = Vec::new();
        self.encode_damaged(&mut bytes);
        let mut damaged = Packet::decode(&bytes)?;
        damaged.remember(self);
        Ok(damaged)
    }

    /// Takes over what bytes do not tell from the packet whose bytes were read.
    fn remember(&mut self, before: Packet) {
        self.flow = before.flow;
        self.retransmission = before.retransmission;
        self.identity = before.identity;
        self.body.remember(before.body);
    }
}

#[cfg(test)]
mod tests;
