//! The AeroTP packet: prelude, header, extensions, checks and code words (docs/aerotp.md, sections 3 and 4).
//!
//! The layout is Baton's own, since the authors' figures (study A, figures 3 and 4) are lost.

mod mack;
mod prelude;
mod resumption;
mod sealed;

pub use mack::{ErrorRate, Mack, MissingRange, Range};
pub use prelude::Protection;
pub use resumption::Resumption;
pub use sealed::{AerotpPacket, Condition};

use super::sequence::SequenceNumber;
use super::tcp::TcpFlags;
use super::{DecodeError, expect_length, u16_at, u32_at};

/// Name of the header in errors.
const NAME: &str = "AeroTP";
/// Length of the prelude in bytes.
const PRELUDE: usize = 3;
/// Length of the fixed header after the prelude, in bytes.
const FIXED: usize = 17;
/// Length of the header error check in bytes.
const HEC: usize = 2;
/// Length of the payload check in bytes.
const PAYLOAD_CRC: usize = 4;

/// Reliability of a connection (study A, section III-D).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// Acknowledges only data stored at the far end.
    Reliable,
    /// Acknowledges also data in custody of a gateway.
    NearReliable,
    /// Open-loop codes only, without a return channel.
    QuasiReliable,
    /// Reordering only.
    UnreliableConnection,
    /// Like UDP: no state at all.
    UnreliableDatagram,
}

impl Mode {
    /// All modes, in the order of their numbers on the wire.
    pub const ALL: [Mode; 5] = [
        Mode::Reliable,
        Mode::NearReliable,
        Mode::QuasiReliable,
        Mode::UnreliableConnection,
        Mode::UnreliableDatagram,
    ];

    /// Returns true if lost data is retransmitted, which needs a return channel.
    pub const fn repeats(self) -> bool {
        matches!(self, Mode::Reliable | Mode::NearReliable)
    }
}

/// Service class of a connection, 0 (lowest priority) to 7 (highest).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ServiceClass(u8);

impl ServiceClass {
    /// Creates the class of this number; `None` beyond 7.
    pub const fn new(number: u8) -> Option<ServiceClass> {
        if number < 8 {
            Some(ServiceClass(number))
        } else {
            None
        }
    }

    /// Returns the number, 0 to 7.
    pub const fn number(self) -> u8 {
        self.0
    }
}

/// Extension of every packet until the peer answers (ASYN), so that any of them can open the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    /// Sequence number of the connection's first byte.
    pub initial: SequenceNumber,
    /// Token that later proves from another address that a packet belongs to the connection.
    pub token: u32,
}

/// Position of a packet in a block of an erasure code across packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockPlace {
    /// Number of the block, modulo 2^16.
    pub block: u16,
    /// Position in the block: data packets are below `sources`, repair packets follow.
    pub index: u8,
    /// Number of data packets in the block, at least one.
    pub sources: u8,
    /// Number of repair packets; with `sources` at most 255.
    pub repairs: u8,
}

impl BlockPlace {
    /// Returns true if the payload is a repair symbol.
    pub const fn is_repair(&self) -> bool {
        self.index >= self.sources
    }
}

/// Options of a TCP SYN, from one gateway to the other (with [`TcpFlags::SYN`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpOffer {
    /// Maximum segment size that the sender accepts, in bytes.
    pub maximum_segment_size: u16,
    /// Window scale shift, 0 to 14, if offered.
    pub window_scale: Option<u8>,
    /// True if SACK is offered.
    pub sack_permitted: bool,
    /// True if timestamps are offered.
    pub timestamps: bool,
}

/// An AeroTP header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AerotpHeader {
    /// Sender's port.
    pub source_port: u16,
    /// Receiver's port.
    pub destination_port: u16,
    /// Sequence number of the payload's first byte, or in a packet without payload of the next byte.
    pub sequence: SequenceNumber,
    /// Time of departure by the sender's clock, in microseconds modulo 2^32.
    pub timestamp: u32,
    /// The connection's mode.
    pub mode: Mode,
    /// The connection's class.
    pub class: ServiceClass,
    /// AFIN: the sender's data ends with the payload, or at `sequence` without one.
    pub is_final: bool,
    /// True if the payload ends a unit of writing, such as a datagram.
    pub ends_record: bool,
    /// True to request a MACK at once.
    pub wants_mack: bool,
    /// Flags of the TCP segment that a gateway converted to this packet. [`TcpFlags::RST`] resets.
    pub tcp_flags: TcpFlags,
    /// Protection against bit errors.
    pub protection: Protection,
    /// ASYN extension.
    pub opening: Option<Opening>,
    /// Options of a TCP SYN from a gateway; with [`TcpFlags::SYN`].
    pub tcp_offer: Option<TcpOffer>,
    /// MACK extension, with SNACK.
    pub mack: Option<Box<Mack>>,
    /// Proof for a move or a reset: the token of the sender's opening.
    pub token: Option<u32>,
    /// With `token`: true if the packet's source is an additional path and replaces none.
    pub adds_path: bool,
    /// Position in a block of an erasure code.
    pub block: Option<BlockPlace>,
    /// True in every second incarnation of the sender ([`Resumption`]).
    pub is_odd_incarnation: bool,
    /// Resumption after a restart; with [`TcpFlags::URG`].
    pub resumption: Option<Resumption>,
}

/// Bits of the flags byte.
mod flag {
    pub const ASYN: u8 = 0x80;
    pub const AFIN: u8 = 0x40;
    pub const MACK: u8 = 0x20;
    pub const SNACK: u8 = 0x10;
    pub const TOKEN: u8 = 0x08;
    pub const BLOCK: u8 = 0x04;
    pub const RECORD: u8 = 0x02;
    pub const PULL: u8 = 0x01;
}

impl AerotpHeader {
    /// Returns the length on the wire from the prelude to the header error check, in bytes.
    pub fn wire_length(&self) -> u32 {
        let opening = if self.opening.is_some() { 8 } else { 0 };
        let offer = if self.tcp_offer.is_some() { 4 } else { 0 };
        let mack = self.mack.as_ref().map_or(0, |mack| mack.wire_length());
        let token = if self.token.is_some() { 4 } else { 0 };
        let block = if self.block.is_some() { 5 } else { 0 };
        let resumption = self.resumption.map_or(0, |_| Resumption::LENGTH);
        (PRELUDE + FIXED + HEC) as u32 + opening + offer + mack + token + block + resumption
    }

    fn flags(&self) -> u8 {
        let mut flags = 0;
        let snack = self
            .mack
            .as_ref()
            .is_some_and(|mack| !mack.missing.is_empty());
        for (bit, is_set) in [
            (flag::ASYN, self.opening.is_some()),
            (flag::AFIN, self.is_final),
            (flag::MACK, self.mack.is_some()),
            (flag::SNACK, snack),
            (flag::TOKEN, self.token.is_some()),
            (flag::BLOCK, self.block.is_some()),
            (flag::RECORD, self.ends_record),
            (flag::PULL, self.wants_mack),
        ] {
            if is_set {
                flags |= bit;
            }
        }
        flags
    }

    /// Appends the bytes between prelude and header error check. A payload length beyond 65,535 is written as that.
    fn encode(&self, payload_length: u32, out: &mut Vec<u8>) {
        let mut tcp_flags = self.tcp_flags;
        for (flag, is_set) in [
            (TcpFlags::SYN, self.tcp_offer.is_some()),
            (TcpFlags::URG, self.resumption.is_some()),
        ] {
            tcp_flags = match is_set {
                true => tcp_flags.with(flag),
                false => tcp_flags.without(flag),
            };
        }
        let odd = u8::from(self.is_odd_incarnation) << 1;
        out.extend_from_slice(&[
            (self.mode as u8) << 5 | self.class.0 << 2 | odd | u8::from(self.adds_path),
            self.flags(),
            tcp_flags.0,
        ]);
        out.extend_from_slice(&self.source_port.to_be_bytes());
        out.extend_from_slice(&self.destination_port.to_be_bytes());
        out.extend_from_slice(&self.sequence.0.to_be_bytes());
        out.extend_from_slice(&self.timestamp.to_be_bytes());
        let length = u16::try_from(payload_length).unwrap_or(u16::MAX);
        out.extend_from_slice(&length.to_be_bytes());
        if let Some(opening) = &self.opening {
            out.extend_from_slice(&opening.initial.0.to_be_bytes());
            out.extend_from_slice(&opening.token.to_be_bytes());
        }
        if let Some(offer) = &self.tcp_offer {
            offer.encode(out);
        }
        if let Some(mack) = &self.mack {
            mack.encode(out);
        }
        if let Some(token) = self.token {
            out.extend_from_slice(&token.to_be_bytes());
        }
        if let Some(place) = &self.block {
            out.extend_from_slice(&place.block.to_be_bytes());
            out.extend_from_slice(&[place.index, place.sources, place.repairs]);
        }
        if let Some(resumption) = &self.resumption {
            resumption.encode(out);
        }
    }

    /// Decodes the bytes between prelude and header error check at the front of `bytes`. Returns the header, the
    /// payload length in it, and the number of bytes decoded.
    fn decode(
        protection: Protection,
        bytes: &[u8],
    ) -> Result<(AerotpHeader, usize, usize), DecodeError> {
        expect_length(NAME, bytes, FIXED)?;
        let first = bytes[0];
        let mode = *Mode::ALL
            .get(usize::from(first >> 5))
            .ok_or(field("mode", u32::from(first >> 5)))?;
        let flags = bytes[1];
        let has = |bit| flags & bit != 0;
        let mut rest = Reader(&bytes[FIXED..]);
        let opening = match has(flag::ASYN) {
            true => Some(Opening {
                initial: SequenceNumber(rest.u32()?),
                token: rest.u32()?,
            }),
            false => None,
        };
        let tcp_flags = TcpFlags(bytes[2]);
        let tcp_offer = match tcp_flags.contains(TcpFlags::SYN) {
            true => Some(TcpOffer::decode(&mut rest)?),
            false => None,
        };
        if has(flag::SNACK) && !has(flag::MACK) {
            return Err(field("SNACK without MACK", u32::from(flags)));
        }
        let mack = match has(flag::MACK) {
            true => Some(Box::new(Mack::decode(has(flag::SNACK), &mut rest)?)),
            false => None,
        };
        let token = match has(flag::TOKEN) {
            true => Some(rest.u32()?),
            false => None,
        };
        let block = match has(flag::BLOCK) {
            true => Some(BlockPlace::decode(&mut rest)?),
            false => None,
        };
        let resumption = match tcp_flags.contains(TcpFlags::URG) {
            true => Some(Resumption::decode(&mut rest)?),
            false => None,
        };
        let header = AerotpHeader {
            source_port: u16_at(bytes, 3),
            destination_port: u16_at(bytes, 5),
            sequence: SequenceNumber(u32_at(bytes, 7)),
            timestamp: u32_at(bytes, 11),
            mode,
            class: ServiceClass(first >> 2 & 0b111),
            is_final: has(flag::AFIN),
            ends_record: has(flag::RECORD),
            wants_mack: has(flag::PULL),
            tcp_flags,
            protection,
            opening,
            tcp_offer,
            mack,
            token,
            adds_path: first & 0b01 != 0,
            block,
            is_odd_incarnation: first & 0b10 != 0,
            resumption,
        };
        let taken = bytes.len() - rest.0.len();
        Ok((header, usize::from(u16_at(bytes, 15)), taken))
    }
}

impl TcpOffer {
    const NO_SCALE: u8 = 0xFF;

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.maximum_segment_size.to_be_bytes());
        out.push(self.window_scale.unwrap_or(Self::NO_SCALE));
        out.push(u8::from(self.sack_permitted) << 1 | u8::from(self.timestamps));
    }

    fn decode(rest: &mut Reader<'_>) -> Result<TcpOffer, DecodeError> {
        let bytes = rest.take(4)?;
        let window_scale = match bytes[2] {
            Self::NO_SCALE => None,
            shift @ 0..=14 => Some(shift),
            other => return Err(field("window scale", u32::from(other))),
        };
        if bytes[3] > 0b11 {
            return Err(field("TCP options", u32::from(bytes[3])));
        }
        Ok(TcpOffer {
            maximum_segment_size: u16_at(bytes, 0),
            window_scale,
            sack_permitted: bytes[3] & 0b10 != 0,
            timestamps: bytes[3] & 0b01 != 0,
        })
    }
}

impl BlockPlace {
    fn decode(rest: &mut Reader<'_>) -> Result<BlockPlace, DecodeError> {
        let bytes = rest.take(5)?;
        let [index, sources, repairs] = [bytes[2], bytes[3], bytes[4]];
        let all = u32::from(sources) + u32::from(repairs);
        if sources == 0 || all > 255 {
            return Err(field("block size", all));
        }
        if u32::from(index) >= all {
            return Err(field("block index", u32::from(index)));
        }
        Ok(BlockPlace {
            block: u16_at(bytes, 0),
            index,
            sources,
            repairs,
        })
    }
}

fn field(field: &'static str, value: u32) -> DecodeError {
    DecodeError::Field {
        header: NAME,
        field,
        value,
    }
}

/// A reader of bytes from the front.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        expect_length(NAME, self.0, count)?;
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        Ok(taken)
    }

    fn u8(&mut self) -> Result<u8, DecodeError> {
        Ok(self.take(1)?[0])
    }

    fn u32(&mut self) -> Result<u32, DecodeError> {
        Ok(u32_at(self.take(4)?, 0))
    }

    /// Reads a number of one, two or four bytes; its first two bits tell the length (as in RFC 9000 section 16).
    fn number(&mut self) -> Result<u32, DecodeError> {
        let first = self.u8()?;
        let further = match first >> 6 {
            0 => 0,
            1 => 1,
            2 => 3,
            _ => return Err(field("number", u32::from(first))),
        };
        let start = u32::from(first & 0x3F);
        let more = self.take(further)?;
        Ok(more
            .iter()
            .fold(start, |number, &byte| number << 8 | u32::from(byte)))
    }
}

/// Largest number that [`encode_number`] can write.
const LARGEST_NUMBER: u32 = (1 << 30) - 1;

/// Returns the encoded length of a number in bytes.
const fn number_length(number: u32) -> u32 {
    match number {
        0..=0x3F => 1,
        0x40..=0x3FFF => 2,
        _ => 4,
    }
}

/// Appends a number, limited to [`LARGEST_NUMBER`].
fn encode_number(number: u32, out: &mut Vec<u8>) {
    let number = number.min(LARGEST_NUMBER);
    match number_length(number) {
        1 => out.push(number as u8),
        2 => out.extend_from_slice(&(0x4000 | number as u16).to_be_bytes()),
        _ => out.extend_from_slice(&(0x8000_0000 | number).to_be_bytes()),
    }
}

#[cfg(test)]
mod tests;
