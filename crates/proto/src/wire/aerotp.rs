//! The AeroTP header and what stands around it: prelude, extensions, checks and code words (docs/aerotp.md, sections 3 and 4).
//!
//! The layout is Baton's own: the figure that showed the authors' (study A, figures 3 and 4) is lost.

mod mack;
mod prelude;
mod sealed;

pub use mack::{ErrorRate, Mack, MissingRange, Range};
pub use prelude::Protection;
pub use sealed::{AerotpPacket, Condition};

use super::sequence::SequenceNumber;
use super::tcp::TcpFlags;
use super::{DecodeError, expect_length, u16_at, u32_at};

/// The name of this header in errors.
const NAME: &str = "AeroTP";
/// Bytes of the prelude.
const PRELUDE: usize = 3;
/// Bytes of the fixed header behind the prelude.
const FIXED: usize = 17;
/// Bytes of the header error check.
const HEC: usize = 2;
/// Bytes of the payload's check.
const PAYLOAD_CRC: usize = 4;

/// What a sender promises about its data (study A, section III-D).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// Nothing is confirmed that the far end has not stored.
    Reliable,
    /// What a gateway has taken into custody may be confirmed.
    NearReliable,
    /// Open-loop codes only; no return channel is needed.
    QuasiReliable,
    /// Reordered, and nothing more.
    UnreliableConnection,
    /// As UDP: no state at all.
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

    /// Whether lost data is sent again, and so a return channel needed.
    pub const fn repeats(self) -> bool {
        matches!(self, Mode::Reliable | Mode::NearReliable)
    }
}

/// The service class of a connection, 0 (first to wait) to 7 (first to go).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ServiceClass(u8);

impl ServiceClass {
    /// The class of a number; `None` beyond 7.
    pub const fn new(number: u8) -> Option<ServiceClass> {
        if number < 8 {
            Some(ServiceClass(number))
        } else {
            None
        }
    }

    /// Its number, 0 to 7.
    pub const fn number(self) -> u8 {
        self.0
    }
}

/// What stands in every packet until the peer has been heard (ASYN): any of them can open the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    /// Sequence number of the connection's first byte.
    pub initial: SequenceNumber,
    /// What proves later, from another address, that a packet is of this connection.
    pub token: u32,
}

/// The place of a packet in a block of an erasure code across packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockPlace {
    /// Number of the block, modulo 2^16.
    pub block: u16,
    /// Its place: below `sources` a packet with data, from there on one that repairs.
    pub index: u8,
    /// Packets with data in the block, at least one.
    pub sources: u8,
    /// Packets that repair; with `sources` at most 255.
    pub repairs: u8,
}

impl BlockPlace {
    /// Whether the packet's payload is a repair symbol.
    pub const fn is_repair(&self) -> bool {
        self.index >= self.sources
    }
}

/// What a gateway tells the other of a TCP SYN (with [`TcpFlags::SYN`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpOffer {
    /// Largest segment that its sender takes, in bytes.
    pub maximum_segment_size: u16,
    /// Shift of the window field, 0 to 14, if offered.
    pub window_scale: Option<u8>,
    /// Selective acknowledgments are offered.
    pub sack_permitted: bool,
    /// Timestamps are offered.
    pub timestamps: bool,
}

/// One AeroTP header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AerotpHeader {
    /// Sender's port.
    pub source_port: u16,
    /// Receiver's port.
    pub destination_port: u16,
    /// Sequence number of the payload's first byte; of the next byte to come in a packet without payload.
    pub sequence: SequenceNumber,
    /// When this packet left, by its sender's clock, in microseconds modulo 2^32.
    pub timestamp: u32,
    /// The connection's mode.
    pub mode: Mode,
    /// The connection's class.
    pub class: ServiceClass,
    /// AFIN: the payload's end, or `sequence` without one, is the end of the sender's data.
    pub is_final: bool,
    /// The payload's last byte is the last of what was written at once: a datagram's end.
    pub ends_record: bool,
    /// A MACK is wanted at once.
    pub wants_mack: bool,
    /// The flags of the TCP segment from which a gateway made this packet. [`TcpFlags::RST`] resets.
    pub tcp_flags: TcpFlags,
    /// How the packet is protected against bit errors.
    pub protection: Protection,
    /// ASYN.
    pub opening: Option<Opening>,
    /// Of a TCP SYN that a gateway passes on; together with [`TcpFlags::SYN`].
    pub tcp_offer: Option<TcpOffer>,
    /// MACK, and with it SNACK.
    pub mack: Option<Box<Mack>>,
    /// A move's or a reset's proof: the token that its sender's opening had.
    pub token: Option<u32>,
    /// With `token`: the packet's source is one more path, and does not replace another.
    pub adds_path: bool,
    /// The place in a block of an erasure code.
    pub block: Option<BlockPlace>,
}

/// Bits of the flags' byte.
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
    /// Bytes on the wire from the prelude to the header error check.
    pub fn wire_length(&self) -> u32 {
        let opening = if self.opening.is_some() { 8 } else { 0 };
        let offer = if self.tcp_offer.is_some() { 4 } else { 0 };
        let mack = self.mack.as_ref().map_or(0, |mack| mack.wire_length());
        let token = if self.token.is_some() { 4 } else { 0 };
        let block = if self.block.is_some() { 5 } else { 0 };
        (PRELUDE + FIXED + HEC) as u32 + opening + offer + mack + token + block
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

    /// Appends what stands between prelude and header error check, for a payload of so many bytes. More than 65,535
    /// are written as that.
    fn encode(&self, payload_length: u32, out: &mut Vec<u8>) {
        let syn = match self.tcp_offer {
            Some(_) => self.tcp_flags.with(TcpFlags::SYN),
            None => self.tcp_flags.without(TcpFlags::SYN),
        };
        out.extend_from_slice(&[
            (self.mode as u8) << 5 | self.class.0 << 2 | u8::from(self.adds_path),
            self.flags(),
            syn.0,
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
    }

    /// Reads what stands between prelude and header error check from the front of `bytes`; returns it, the payload's
    /// length as it says, and how many bytes it took.
    fn decode(
        protection: Protection,
        bytes: &[u8],
    ) -> Result<(AerotpHeader, usize, usize), DecodeError> {
        expect_length(NAME, bytes, FIXED)?;
        let first = bytes[0];
        let mode = *Mode::ALL
            .get(usize::from(first >> 5))
            .ok_or(field("mode", u32::from(first >> 5)))?;
        if first & 0b10 != 0 {
            return Err(field("reserved", u32::from(first & 0b10)));
        }
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

/// Bytes that are read from the front.
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

    /// A number of one, two or four bytes, of which the first two bits tell how many (as in RFC 9000 section 16).
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

/// The largest number that [`encode_number`] can write.
const LARGEST_NUMBER: u32 = (1 << 30) - 1;

/// Bytes that a number takes.
const fn number_length(number: u32) -> u32 {
    match number {
        0..=0x3F => 1,
        0x40..=0x3FFF => 2,
        _ => 4,
    }
}

/// Appends a number; one beyond [`LARGEST_NUMBER`] is written as that.
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
