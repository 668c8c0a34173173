//! The packet that travels through hosts and links.
//!
//! A link reads only [`Packet::wire_length`]; hosts and agents read the typed headers. A payload whose bytes are not
//! needed is stored as its length, and produces its bytes on demand ([`Payload::copy_into`]): for a capture, a
//! checksum, or a channel that flips bits.

use crate::wire::DecodeError;
use crate::wire::aerotp::AerotpPacket;
use crate::wire::icmp::IcmpMessage;
use crate::wire::mobility_header::MobilityMessage;
use crate::wire::tcp::TcpHeader;
use crate::wire::tp_plus_plus::TpPlusPlusPacket;
use crate::wire::udp::UdpHeader;
use core::hash::{Hash, Hasher};
use core::net::IpAddr;
use siphasher::sip::SipHasher13;

mod body;
mod compressed;
mod encapsulated;
mod extended;
mod identity;
mod name;
mod quote;
mod send_buffer;
mod transport;
mod verbatim;
mod view;
mod words;

pub use compressed::Compressed;
pub use extended::Extended;
pub use identity::Identity;
pub use name::PacketName;
pub(crate) use send_buffer::{SendBuffer, free_if_idle};
pub use transport::SegmentWithin;
pub use verbatim::{Segmentation, Verbatim};
pub use view::View;
pub use words::Wording;

/// An IP packet. The fields keep their order in memory, since routers read only the first ones.
#[derive(Clone, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Packet {
    /// The network header.
    pub ip: IpHeader,
    /// Flow of the scenario that the packet belongs to, for the record; `None` for agents' packets.
    pub flow: Option<FlowId>,
    /// True if a transport sent these bytes before. Known only in a simulation.
    pub retransmission: bool,
    /// Identity of the packet in its run.
    pub identity: Identity,
    /// Bits flipped by the channel.
    pub bit_errors: BitErrors,
    /// Payload of the IP header.
    pub body: Body,
}

/// Positions of bits flipped by a channel, ascending, counted from the first bit of the IP header. An undamaged packet,
/// the usual case, has only a null pointer.
// A boxed slice would be twice as wide, and make a packet a cache line longer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BitErrors(Option<Box<Damage>>);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Damage {
    positions: Vec<u32>,
    is_indicated: bool,
}

impl BitErrors {
    /// No flipped bits.
    pub const NONE: BitErrors = BitErrors(None);

    /// Returns true if no bit is flipped.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the positions, ascending.
    pub fn positions(&self) -> &[u32] {
        self.0.as_deref().map_or(&[], |damage| &damage.positions)
    }

    /// Flips further bits; a bit flipped twice is intact again.
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
        let is_indicated = self.is_indicated() || further.is_indicated();
        *self = positions.into();
        if is_indicated {
            self.indicate();
        }
    }

    /// Notes that a network has told of the damage, as AeroNP's corruption indicator does; without damage nothing.
    pub fn indicate(&mut self) {
        if let Some(damage) = &mut self.0 {
            damage.is_indicated = true;
        }
    }

    /// Returns true if a network has told of the damage.
    pub fn is_indicated(&self) -> bool {
        self.0.as_deref().is_some_and(|damage| damage.is_indicated)
    }
}

impl From<Vec<u32>> for BitErrors {
    /// Converts positions, which must ascend.
    fn from(positions: Vec<u32>) -> BitErrors {
        let damage = |positions| Damage {
            positions,
            is_indicated: false,
        };
        BitErrors((!positions.is_empty()).then(|| Box::new(damage(positions))))
    }
}

/// Number of a flow in its scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

/// Differentiated services code point: six bits that select a router's treatment of the packet (RFC 2474).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct CodePoint(u8);

impl CodePoint {
    /// Creates a code point; `None` beyond 63.
    pub const fn new(number: u8) -> Option<CodePoint> {
        match number {
            0..64 => Some(CodePoint(number)),
            _ => None,
        }
    }

    /// Returns the class selector of a precedence, CS0 to CS7 (RFC 2474 section 4.2.2); only the last three bits of
    /// `precedence` count.
    pub const fn class_selector(precedence: u8) -> CodePoint {
        CodePoint((precedence & 0b111) << 3)
    }

    /// Returns the number, 0 to 63.
    pub const fn number(self) -> u8 {
        self.0
    }

    /// Returns the traffic class (in IPv4, the type of service) with this code point and without congestion marks.
    pub const fn traffic_class(self) -> u8 {
        self.0 << 2
    }
}

/// The fields of IPv4 and IPv6 headers that vary here. Both addresses are of the same version. The fields that routers
/// read come first in memory.
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
    /// IPv4's "don't fragment"; true for IPv6, whose routers never fragment.
    pub dont_fragment: bool,
}

/// Codepoints of congestion notification in the two last bits of the traffic class (RFC 3168 section 5).
const CONGESTION_EXPERIENCED: u8 = 0b11;
const CAPABLE: u8 = 0b10;

impl IpHeader {
    /// Returns true if a node on the way had a congested queue (CE, RFC 3168 section 5).
    pub const fn has_met_congestion(&self) -> bool {
        self.traffic_class & CONGESTION_EXPERIENCED == CONGESTION_EXPERIENCED
    }

    /// Marks the packet as one whose receiver understands congestion marks (ECT(0)).
    pub fn allow_congestion_marks(&mut self) {
        self.traffic_class |= CAPABLE;
    }

    /// Marks the packet with congestion, if its receiver understands that.
    pub fn mark_congestion(&mut self) {
        if self.traffic_class & CONGESTION_EXPERIENCED != 0 {
            self.traffic_class |= CONGESTION_EXPERIENCED;
        }
    }

    /// Returns the first three bits of the traffic class, 0 to 7: the IPv4 precedence (RFC 791), by which class
    /// selectors are ordered (RFC 2474 section 4.2.2).
    pub const fn precedence(&self) -> u8 {
        self.traffic_class >> 5
    }

    /// Returns the length of the header in bytes: 20 for IPv4, 40 for IPv6.
    pub const fn wire_length(&self) -> u32 {
        match self.source {
            IpAddr::V4(_) => 20,
            IpAddr::V6(_) => 40,
        }
    }
}

/// Payload of an IP packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// A TCP segment.
    Tcp(TcpHeader, Payload),
    /// A UDP datagram.
    Udp(UdpHeader, Payload),
    /// An AeroTP packet.
    Aerotp(Box<AerotpPacket>),
    /// A TP++ packet.
    TpPlusPlus(Box<TpPlusPlusPacket>),
    /// An ICMP (RFC 792) or ICMPv6 (RFC 4443) message.
    Icmp(IcmpMessage),
    /// A message of Mobile IPv6 or NEMO; over IPv6 only.
    Mobility(Box<MobilityMessage>),
    /// A whole packet: a tunnel of IPv4 (RFC 2003) or IPv6 (RFC 2473), in any combination. Bits flipped before the
    /// packet entered the tunnel are in its own `bit_errors`.
    Tunnel(Box<Packet>),
    /// An IPv4 packet in minimal encapsulation (RFC 2004), over IPv4 only. The IP header around it is its own with the
    /// tunnel's ends as addresses: hop limit, type of service, identification and "don't fragment" of the inner header
    /// count only up to the tunnel's entry.
    Minimal(Box<Packet>),
    /// An IPv4 packet in generic routing encapsulation (RFC 2784), over IPv4 only.
    Generic(Box<Packet>),
    /// A TCP segment with compressed headers, on a link; over IPv4 only.
    Compressed(Box<Compressed>),
    /// Extension headers of Mobile IPv6, and the upper layer; over IPv6 only.
    Extended(Box<Extended>),
    /// Any other payload, not decoded.
    Opaque {
        /// IANA protocol number, from the IP header's protocol or next-header field.
        protocol: u8,
        /// IPv4's "more fragments" bit (0x2000) and fragment offset; zero unless it is a fragment.
        fragment: u16,
        /// The bytes after the IP header.
        bytes: Box<[u8]>,
    },
    /// The whole packet as written by a kernel, of which only the IP header was decoded. `Packet::ip` has that header's
    /// values; hop limit and traffic class are the current ones.
    Verbatim(Verbatim),
}

/// Payload of a transport: real bytes, or the length of a range of a pattern that is generated on demand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payload {
    /// `length` bytes of pattern `stream`, from `offset` on.
    Pattern {
        /// Number of the pattern; by convention the flow's number.
        stream: u32,
        /// Offset of the first byte in the pattern.
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

    /// Returns the number of bytes.
    pub const fn length(&self) -> u32 {
        match self {
            Payload::Pattern { length, .. } => *length,
            Payload::Bytes(bytes) => bytes.len() as u32,
        }
    }

    /// Returns true if there are no bytes.
    pub const fn is_empty(&self) -> bool {
        self.length() == 0
    }

    /// Copies real bytes.
    pub(crate) fn from_slice(bytes: &[u8]) -> Payload {
        if bytes.is_empty() {
            Payload::EMPTY
        } else {
            Payload::Bytes(bytes.into())
        }
    }

    /// Returns true if both payloads have the same bytes.
    fn has_same_bytes(&self, other: &Payload) -> bool {
        let [mut ours, mut theirs] = [Vec::new(), Vec::new()];
        self.copy_into(&mut ours);
        other.copy_into(&mut theirs);
        ours == theirs
    }

    /// Returns the bytes from `from` to `to`; positions beyond the end are ignored.
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

    /// Extends the payload by `next` if that continues the same pattern; returns true if so.
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
                let (mut position, mut left) = (*offset, u64::from(*length));
                while left > 0 {
                    let count = left.min(STREAM_BIT - position % STREAM_BIT);
                    let first = mixed(*stream, position);
                    out.extend((0..count).map(|index| {
                        (first.wrapping_add(index.wrapping_mul(MULTIPLIER)) >> 56) as u8
                    }));
                    position = position.wrapping_add(count);
                    left -= count;
                }
            }
        }
    }
}

/// Returns the byte at `position` of pattern `stream`. Neighbouring bytes, packets and streams differ, so that a
/// comparison detects misplaced or repeated ranges.
pub const fn pattern_byte(stream: u32, position: u64) -> u8 {
    (mixed(stream, position) >> 56) as u8
}

/// Lowest bit of a position that a stream's number changes. Below it the mixed values of neighbouring positions differ by
/// the multiplier.
const STREAM_BIT: u64 = 1 << STREAM_SHIFT;
const STREAM_SHIFT: u32 = 40;
const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

const fn mixed(stream: u32, position: u64) -> u64 {
    (position ^ ((stream as u64) << STREAM_SHIFT)).wrapping_mul(MULTIPLIER)
}

impl Packet {
    /// Returns a hash of addresses, protocol and ports, by which a router distinguishes flows (RFC 8290 section 4.1.1).
    /// For a tunnelled packet it covers only the outer header.
    pub fn flow_hash(&self) -> u32 {
        let mut hasher = SipHasher13::new();
        (self.ip.source, self.ip.destination).hash(&mut hasher);
        self.body.protocol(&self.ip).hash(&mut hasher);
        self.body.ports().hash(&mut hasher);
        hasher.finish() as u32
    }

    /// Returns the length of the packet in bytes, from the IP header to the end of the payload; of a segmented one,
    /// that of its longest packet.
    #[inline]
    pub fn wire_length(&self) -> u32 {
        match &self.body {
            // Most packets, here without a call.
            Body::Tcp(header, payload) => {
                self.ip.wire_length() + header.wire_length() + payload.length()
            }
            Body::Verbatim(verbatim) => verbatim.wire_length(),
            Body::Compressed(compressed) => compressed.wire_length(),
            body => self.ip.wire_length() + body.wire_length(&self.ip),
        }
    }

    /// Returns the length of all headers before the transport's payload in bytes, including tunnels; the whole length
    /// if there is no such payload.
    pub fn headers_length(&self) -> u32 {
        match &self.body {
            Body::Verbatim(_) => self.wire_length() - self.view().payload_bytes,
            Body::Compressed(compressed) => compressed.header.bytes.len() as u32,
            body => self.ip.wire_length() + body.headers_length(&self.ip),
        }
    }

    /// Appends the whole packet as bytes, with valid checksums and generated patterns; a verbatim packet with
    /// the values of `ip` that change on the way, and one with compressed headers as it was before. Does not apply
    /// `bit_errors`, except those of a packet in a tunnel. A packet of more than 65,535 bytes gets wrong length fields.
    pub fn encode(&self, out: &mut Vec<u8>) {
        if let Body::Verbatim(verbatim) = &self.body {
            return verbatim.encode(&self.ip, out);
        }
        let length = self.body.wire_length(&self.ip);
        out.reserve((self.ip.wire_length() + length) as usize);
        let (protocol, fragment) = self.body.protocol(&self.ip);
        self.ip.encode(protocol, fragment, length, out);
        self.body.encode(&self.ip, out);
    }

    /// Decodes a whole packet and verifies its checksums. IPv4 fragments, IPv6 extension headers other than Mobile
    /// IPv6's, unknown protocols and unknown message types become [`Body::Opaque`]. A packet in a tunnel of which only
    /// the IP header is valid becomes verbatim, so that its receiver detects the fault, not the tunnel's exit.
    ///
    /// # Errors
    /// A [`DecodeError`]; a receiver drops such a packet.
    pub fn decode(bytes: &[u8]) -> Result<Packet, DecodeError> {
        /// Maximum depth of nested tunnels: RFC 2473 section 6.6's encapsulation limit.
        const TUNNELS: u8 = 4;
        Packet::decode_within(bytes, TUNNELS)
    }

    /// Decodes like [`decode`](Self::decode), with at most `tunnels` nested tunnels.
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

    /// Appends the packet as the channel left it: as [`encode`](Self::encode) writes it, with `bit_errors` flipped.
    /// Positions beyond the end are ignored, and all in a packet with compressed headers.
    pub fn encode_damaged(&self, out: &mut Vec<u8>) {
        let start = out.len();
        self.encode(out);
        if let Body::Compressed(_) = self.body {
            return;
        }
        for position in self.bit_errors.positions() {
            if let Some(byte) = out[start..].get_mut(*position as usize / 8) {
                *byte ^= 0x80 >> (position % 8);
            }
        }
    }

    /// Returns the packet inside all tunnels.
    #[inline]
    pub fn innermost(&self) -> &Packet {
        let mut packet = self;
        while let Some(inner) = packet.body.inner() {
            packet = inner;
        }
        packet
    }

    /// Returns true if the packet, in tunnels or not, has transport payload. Does not look into a kernel's packets.
    #[inline]
    pub fn has_data(&self) -> bool {
        match &self.body {
            // Most packets, here without a call.
            Body::Tcp(_, payload) => !payload.is_empty(),
            _ => self.has_other_data(),
        }
    }

    fn has_other_data(&self) -> bool {
        let of_transport = |body: &Body| match body {
            Body::Tcp(_, payload) | Body::Udp(_, payload) => !payload.is_empty(),
            Body::Aerotp(packet) => !packet.payload.is_empty(),
            Body::TpPlusPlus(packet) => packet.payload_length() > 0,
            _ => false,
        };
        match &self.innermost().body {
            Body::Extended(extended) => of_transport(&extended.body),
            Body::Compressed(compressed) => of_transport(&compressed.segment),
            body => of_transport(body),
        }
    }

    /// Returns true if the headers are typed, as in all packets but those a kernel wrote.
    pub const fn is_typed(&self) -> bool {
        !matches!(self.body, Body::Verbatim(_))
    }

    /// Decodes the packet as its receiver does, with its `bit_errors` flipped. An undamaged payload stays a pattern. The
    /// damage of a packet with compressed headers is left to [`decompress`](Self::decompress).
    ///
    /// # Errors
    /// The fault for which a receiver drops the packet.
    pub fn apply_bit_errors(self) -> Result<Packet, DecodeError> {
        let is_compressed = matches!(self.body, Body::Compressed(_));
        if is_compressed || self.is_typed() && self.bit_errors.is_empty() {
            return Ok(self);
        }
        let mut bytes = Vec::new();
        self.encode_damaged(&mut bytes);
        let mut damaged = Packet::decode(&bytes)?;
        damaged.remember(self);
        Ok(damaged)
    }

    /// Restores the metadata that bytes do not carry from the packet before encoding.
    fn remember(&mut self, before: Packet) {
        self.flow = before.flow;
        self.retransmission = before.retransmission;
        self.identity = before.identity;
        self.body.remember(before.body);
    }
}

#[cfg(test)]
mod tests;
