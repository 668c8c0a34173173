//! The TP++ packet: an envelope of labelled chunks, or one control message (docs/models/tp-plus-plus.md).
//!
//! D. Feldmeier's labels (A data labelling technique, SIGCOMM 1993) give each chunk its place in three units: the
//! connection (C), the unit of error control (T, the TPDU), and the application's unit (X, the external PDU), each by
//! an identifier (ID), a position (SN) and a bit that ends it (ST). The layout is Baton's own. All numbers are in
//! network order, lengths in bytes:
//!
//! ```text
//! every packet      source port 2 | destination port 2 | C.ID 4 | kind 1 | check 8
//! data (0)          T.ID 4 | place in the block 1 (zero: none, else from 1) | chunks to the end
//! repair (1)        T.ID of the block's first TPDU 4 | sources 1 | repairs 1 | number 1 | symbol to the end
//! acknowledgment (2) T.ID before which all arrived 4 | bitmap of the TPDUs behind that one, to the end
//! limit (3)         C.SN up to which the peer may send 8
//! request (4)       nothing: asks for the limit
//! a chunk           ST bits 1 (C 4, T 2, X 1) | C.SN 8 | T.SN 2 | X.ID 4 | X.SN 4 | length 2 | data
//! ```

mod chunk;
pub mod weighted_sum;

pub use chunk::{CHUNK_HEADER, Chunk, Tpdu};
pub use weighted_sum::WeightedSum;

use super::{DecodeError, expect_length, u16_at, u32_at};
use crate::packet::Payload;

/// Name of the header in errors.
const NAME: &str = "TP++";
/// Length of the header of every packet in bytes.
const HEADER: usize = 17;
/// Offset of the check in that header.
const CHECK_AT: usize = 9;
/// Length of the header of data behind that in bytes.
const DATA_HEADER: usize = 5;
/// Length of the header of a repair symbol behind that in bytes.
const REPAIR_HEADER: usize = 7;

/// Bytes of a packet's headers around one chunk's data.
pub const ONE_CHUNK: u32 = (HEADER + DATA_HEADER) as u32 + CHUNK_HEADER;
/// Bytes of a packet's headers around a repair symbol.
pub const AROUND_REPAIR: u32 = (HEADER + REPAIR_HEADER) as u32;
/// Bytes of a packet's headers around chunks.
pub const AROUND_CHUNKS: u32 = (HEADER + DATA_HEADER) as u32;
/// Most bytes of an acknowledgment's bitmap.
pub const LONGEST_BITMAP: usize = 1024;

/// Labels of a connection, in every packet: a receiver needs no address to find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionLabel {
    /// Sender's port.
    pub source_port: u16,
    /// Receiver's port.
    pub destination_port: u16,
    /// The connection's identifier (C.ID), chosen by the end that opens.
    pub identifier: u32,
}

impl ConnectionLabel {
    /// Returns the label of the packets in the other direction.
    pub fn reversed(self) -> ConnectionLabel {
        ConnectionLabel {
            source_port: self.destination_port,
            destination_port: self.source_port,
            ..self
        }
    }

    pub(super) fn bytes(self) -> [u8; 8] {
        let [a, b] = self.source_port.to_be_bytes();
        let [c, d] = self.destination_port.to_be_bytes();
        let [e, f, g, h] = self.identifier.to_be_bytes();
        [a, b, c, d, e, f, g, h]
    }
}

/// A TP++ packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TpPlusPlusPacket {
    /// The connection.
    pub label: ConnectionLabel,
    /// Its content.
    pub content: Content,
}

/// Content of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Chunks of one TPDU, whose check covers the whole TPDU.
    Data(Tpdu),
    /// A repair symbol of a block of TPDUs.
    Repair(Repair),
    /// An acknowledgment of many TPDUs.
    Acknowledgment(Acknowledgment),
    /// The C.SN up to which the peer may send: flow control in a packet of its own.
    Limit(u64),
    /// Request of the limit.
    Request,
}

/// A repair symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repair {
    /// T.ID of the block's first TPDU.
    pub first: u32,
    /// Number of TPDUs in the block, at least one.
    pub sources: u8,
    /// Number of repair symbols; with `sources` at most 255.
    pub repairs: u8,
    /// Number of this one, from zero.
    pub index: u8,
    /// The symbol.
    pub symbol: Box<[u8]>,
}

/// An acknowledgment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acknowledgment {
    /// T.ID before which all TPDUs have arrived.
    pub next: u32,
    /// TPDUs that have arrived behind that one, the lowest in the first byte's highest bit; at most
    /// [`LONGEST_BITMAP`] bytes.
    pub bitmap: Box<[u8]>,
}

impl Acknowledgment {
    /// Returns the numbers of the TPDUs in the bitmap.
    pub fn beyond(&self) -> impl Iterator<Item = u32> {
        let bits = self.bitmap.iter().enumerate().flat_map(|(place, &byte)| {
            let places = (0..8).filter(move |bit| byte & 0x80 >> bit != 0);
            places.map(move |bit| 8 * place as u32 + bit)
        });
        bits.filter_map(|bit| self.next.checked_add(1)?.checked_add(bit))
    }
}

impl Content {
    const fn kind(&self) -> u8 {
        match self {
            Content::Data(_) => 0,
            Content::Repair(_) => 1,
            Content::Acknowledgment(_) => 2,
            Content::Limit(_) => 3,
            Content::Request => 4,
        }
    }
}

impl TpPlusPlusPacket {
    /// Returns the length on the wire after the IP header, in bytes.
    pub fn wire_length(&self) -> u32 {
        HEADER as u32
            + match &self.content {
                Content::Data(tpdu) => DATA_HEADER as u32 + tpdu.wire_length(),
                Content::Repair(repair) => (REPAIR_HEADER + repair.symbol.len()) as u32,
                Content::Acknowledgment(acknowledgment) => 4 + acknowledgment.bitmap.len() as u32,
                Content::Limit(_) => 8,
                Content::Request => 0,
            }
    }

    /// Returns the length of data or of a repair symbol, in bytes.
    pub fn payload_length(&self) -> u32 {
        match &self.content {
            Content::Data(tpdu) => tpdu.data_length(),
            Content::Repair(repair) => repair.symbol.len() as u32,
            Content::Acknowledgment(_) | Content::Limit(_) | Content::Request => 0,
        }
    }

    /// Appends the bytes. The check of data is its TPDU's; that of other packets is computed here.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.label.bytes());
        out.push(self.content.kind());
        out.extend_from_slice(&[0; 8]);
        match &self.content {
            Content::Data(tpdu) => {
                out.extend_from_slice(&tpdu.number.to_be_bytes());
                out.push(tpdu.place.map_or(0, |place| place.saturating_add(1)));
                tpdu.encode_chunks(out);
            }
            Content::Repair(repair) => {
                out.extend_from_slice(&repair.first.to_be_bytes());
                out.extend_from_slice(&[repair.sources, repair.repairs, repair.index]);
                out.extend_from_slice(&repair.symbol);
            }
            Content::Acknowledgment(acknowledgment) => {
                out.extend_from_slice(&acknowledgment.next.to_be_bytes());
                out.extend_from_slice(&acknowledgment.bitmap);
            }
            Content::Limit(limit) => out.extend_from_slice(&limit.to_be_bytes()),
            Content::Request => {}
        }
        let check = match &self.content {
            Content::Data(tpdu) => tpdu.check,
            _ => WeightedSum::of(&out[start..]),
        };
        out[start + CHECK_AT..start + HEADER].copy_from_slice(&check.to_bytes());
    }

    /// Decodes the bytes after the IP header, and verifies the check of all packets except data, whose TPDU may be in
    /// several.
    ///
    /// # Errors
    /// Fails if the packet is truncated, a field has an impossible value, or the check is wrong.
    pub fn decode(bytes: &[u8]) -> Result<TpPlusPlusPacket, DecodeError> {
        expect_length(NAME, bytes, HEADER)?;
        let (header, rest) = bytes.split_at(HEADER);
        let check = header.last_chunk::<8>().copied().unwrap_or_default();
        let check = WeightedSum::from(check);
        let content = match header[8] {
            0 => Content::Data(decode_data(check, rest)?),
            1 => Content::Repair(Repair::decode(rest)?),
            2 => Content::Acknowledgment(Acknowledgment::decode(rest)?),
            3 => {
                expect_end(rest, 8)?;
                let [high, low] = [0, 4].map(|at| u64::from(u32_at(rest, at)));
                Content::Limit(high << 32 | low)
            }
            4 => {
                expect_end(rest, 0)?;
                Content::Request
            }
            other => return Err(field("kind", other.into())),
        };
        if !matches!(content, Content::Data(_)) {
            let mut covered = bytes.to_vec();
            covered[CHECK_AT..HEADER].fill(0);
            if WeightedSum::of(&covered) != check {
                return Err(DecodeError::Checksum { header: NAME });
            }
        }
        Ok(TpPlusPlusPacket {
            label: ConnectionLabel {
                source_port: u16_at(bytes, 0),
                destination_port: u16_at(bytes, 2),
                identifier: u32_at(bytes, 4),
            },
            content,
        })
    }
}

fn decode_data(check: WeightedSum, bytes: &[u8]) -> Result<Tpdu, DecodeError> {
    expect_length(NAME, bytes, DATA_HEADER)?;
    Ok(Tpdu {
        number: u32_at(bytes, 0),
        place: bytes[4].checked_sub(1),
        check,
        chunks: Tpdu::decode_chunks(&bytes[DATA_HEADER..])?,
    })
}

impl Repair {
    fn decode(bytes: &[u8]) -> Result<Repair, DecodeError> {
        expect_length(NAME, bytes, REPAIR_HEADER)?;
        let [sources, repairs, index] = [bytes[4], bytes[5], bytes[6]];
        if sources == 0 || sources.checked_add(repairs).is_none() {
            return Err(field("block size", u32::from(sources) + u32::from(repairs)));
        }
        if index >= repairs {
            return Err(field("repair number", index.into()));
        }
        Ok(Repair {
            first: u32_at(bytes, 0),
            sources,
            repairs,
            index,
            symbol: bytes[REPAIR_HEADER..].into(),
        })
    }
}

impl Acknowledgment {
    fn decode(bytes: &[u8]) -> Result<Acknowledgment, DecodeError> {
        expect_length(NAME, bytes, 4)?;
        let bitmap = &bytes[4..];
        if bitmap.len() > LONGEST_BITMAP {
            return Err(field("bitmap length", bitmap.len() as u32));
        }
        Ok(Acknowledgment {
            next: u32_at(bytes, 0),
            bitmap: bitmap.into(),
        })
    }
}

fn expect_end(bytes: &[u8], length: usize) -> Result<(), DecodeError> {
    expect_length(NAME, bytes, length)?;
    match bytes.len() == length {
        true => Ok(()),
        false => Err(field("length", bytes.len() as u32)),
    }
}

fn field(field: &'static str, value: u32) -> DecodeError {
    DecodeError::Field {
        header: NAME,
        field,
        value,
    }
}

/// Returns a payload's bytes.
fn bytes_of(payload: &Payload) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(payload.length() as usize);
    payload.copy_into(&mut bytes);
    bytes
}

#[cfg(test)]
mod tests;
