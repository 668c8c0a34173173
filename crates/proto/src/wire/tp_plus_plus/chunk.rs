//! Chunks and the check of their TPDU.
//!
//! The check covers everything that does not change when a chunk is cut in two: the data at its T.SN, and beyond it, in
//! a region that no data reaches, the labels. C.ID, T.ID, the difference of C.SN and T.SN and the length are the same
//! for all of a TPDU; X.ID and X.SN are added at the end of each external PDU's part of it.

use super::{ConnectionLabel, NAME, WeightedSum, bytes_of, field};
use crate::packet::Payload;
use crate::wire::{DecodeError, expect_length, u16_at, u32_at};
use core::mem::take;
use std::collections::VecDeque;

/// Length of a chunk's labels in bytes.
pub const CHUNK_HEADER: u32 = 21;

/// Position of a TPDU's labels in its check, behind its longest data.
const LABELS_AT: u32 = 1 << 16;
/// Position of external PDUs' labels, sixteen bytes for each place where one may end.
const EXTERNAL_AT: u32 = 1 << 17;

/// ST bits of a chunk.
mod flag {
    pub const CONNECTION: u8 = 4;
    pub const TPDU: u8 = 2;
    pub const EXTERNAL: u8 = 1;
}

/// Data with its places in the connection, in its TPDU and in its external PDU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// C.SN: position in the connection's data.
    pub position: u64,
    /// C.ST: the connection's data ends here.
    pub ends_connection: bool,
    /// T.SN: position in the TPDU.
    pub tpdu_position: u16,
    /// T.ST: the TPDU ends here.
    pub ends_tpdu: bool,
    /// X.ID: number of the external PDU.
    pub external: u32,
    /// X.SN: position in the external PDU, modulo 2^32.
    pub external_position: u32,
    /// X.ST: the external PDU ends here.
    pub ends_external: bool,
    /// The data; at most 65,535 bytes from the TPDU's begin.
    pub payload: Payload,
}

impl Chunk {
    /// Returns the end in the TPDU.
    pub fn tpdu_end(&self) -> u32 {
        u32::from(self.tpdu_position) + self.payload.length()
    }

    /// Returns the C.SN of the TPDU's begin; `None` if there is none.
    pub fn base(&self) -> Option<u64> {
        self.position.checked_sub(self.tpdu_position.into())
    }

    /// Cuts the chunk after `length` bytes, which are fewer than it has; returns the rest.
    pub fn cut(&mut self, length: u32) -> Chunk {
        let whole = u64::from(self.payload.length());
        let payload = core::mem::replace(&mut self.payload, Payload::EMPTY);
        self.payload = payload.clone().slice(0, length.into());
        let rest = Chunk {
            position: self.position + u64::from(length),
            tpdu_position: self.tpdu_position.saturating_add(length as u16),
            external_position: self.external_position.wrapping_add(length),
            payload: payload.slice(length.into(), whole),
            ..*self
        };
        self.ends_connection = false;
        self.ends_tpdu = false;
        self.ends_external = false;
        rest
    }

    /// Adds the data and, at an end, the external PDU's labels to the check of the TPDU.
    pub fn add_to(&self, sum: &mut WeightedSum) {
        sum.add(self.tpdu_position.into(), &bytes_of(&self.payload));
        if self.ends_external || self.ends_tpdu {
            let end = self.external_position.wrapping_add(self.payload.length());
            let mut labels = self.external.to_be_bytes().to_vec();
            labels.extend_from_slice(&end.to_be_bytes());
            labels.push(u8::from(self.ends_external) * flag::EXTERNAL);
            sum.add(EXTERNAL_AT + 16 * self.tpdu_end(), &labels);
        }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let mut flags = 0;
        for (bit, is_set) in [
            (flag::CONNECTION, self.ends_connection),
            (flag::TPDU, self.ends_tpdu),
            (flag::EXTERNAL, self.ends_external),
        ] {
            flags |= bit * u8::from(is_set);
        }
        out.push(flags);
        out.extend_from_slice(&self.position.to_be_bytes());
        out.extend_from_slice(&self.tpdu_position.to_be_bytes());
        out.extend_from_slice(&self.external.to_be_bytes());
        out.extend_from_slice(&self.external_position.to_be_bytes());
        out.extend_from_slice(&(self.payload.length() as u16).to_be_bytes());
        self.payload.copy_into(out);
    }

    /// Decodes the chunk at the front; returns the rest too.
    fn decode(bytes: &[u8]) -> Result<(Chunk, &[u8]), DecodeError> {
        let labels = CHUNK_HEADER as usize;
        expect_length(NAME, bytes, labels)?;
        let length = usize::from(u16_at(bytes, 19));
        expect_length(NAME, bytes, labels + length)?;
        let flags = bytes[0];
        if flags > 7 {
            return Err(field("ST", flags.into()));
        }
        let [high, low] = [1, 5].map(|at| u64::from(u32_at(bytes, at)));
        let chunk = Chunk {
            position: high << 32 | low,
            ends_connection: flags & flag::CONNECTION != 0,
            tpdu_position: u16_at(bytes, 9),
            ends_tpdu: flags & flag::TPDU != 0,
            external: u32_at(bytes, 11),
            external_position: u32_at(bytes, 15),
            ends_external: flags & flag::EXTERNAL != 0,
            payload: Payload::from_slice(&bytes[labels..labels + length]),
        };
        let has_place = chunk.base().is_some()
            && chunk.position.checked_add(length as u64).is_some()
            && chunk.tpdu_end() <= u16::MAX.into();
        match has_place {
            true => Ok((chunk, &bytes[labels + length..])),
            false => Err(field("T.SN", u32::from(u16_at(bytes, 9)))),
        }
    }
}

/// The unit of error control and retransmission, or a part of one: the chunks in one packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tpdu {
    /// T.ID: number of the TPDU.
    pub number: u32,
    /// Place in its block of the code across packets, from zero to 253.
    pub place: Option<u8>,
    /// Check of the whole TPDU.
    pub check: WeightedSum,
    /// Chunks, at least one.
    pub chunks: Vec<Chunk>,
}

impl Tpdu {
    /// Returns the length of the chunks on the wire, in bytes.
    pub fn wire_length(&self) -> u32 {
        self.chunks.len() as u32 * CHUNK_HEADER + self.data_length()
    }

    /// Returns the length of the data, in bytes.
    pub fn data_length(&self) -> u32 {
        self.chunks.iter().map(|chunk| chunk.payload.length()).sum()
    }

    /// Adds the labels that all chunks of a TPDU share to its check.
    pub fn add_labels(
        sum: &mut WeightedSum,
        connection: ConnectionLabel,
        number: u32,
        (base, length, ends_connection): (u64, u32, bool),
    ) {
        let mut labels = connection.bytes().to_vec();
        labels.extend_from_slice(&number.to_be_bytes());
        labels.extend_from_slice(&base.to_be_bytes());
        labels.extend_from_slice(&length.to_be_bytes());
        labels.push(u8::from(ends_connection));
        sum.add(LABELS_AT, &labels);
    }

    /// Returns the TPDU in parts of at most `room` bytes on the wire each, for packets of a smaller MTU; a part has at
    /// least one byte of data.
    pub fn into_parts(mut self, room: u32) -> Vec<Tpdu> {
        let room = room.max(CHUNK_HEADER + 1);
        let mut waiting: VecDeque<Chunk> = take(&mut self.chunks).into();
        let mut parts = Vec::new();
        while let Some(mut chunk) = waiting.pop_front() {
            let left = room.saturating_sub(self.wire_length());
            if CHUNK_HEADER + chunk.payload.length() <= left {
                self.chunks.push(chunk);
                continue;
            }
            if left > CHUNK_HEADER {
                waiting.push_front(chunk.cut(left - CHUNK_HEADER));
                self.chunks.push(chunk);
            } else {
                waiting.push_front(chunk);
            }
            let chunks = take(&mut self.chunks);
            parts.push(Tpdu {
                chunks,
                ..self.clone()
            });
        }
        parts.push(self);
        parts
    }

    /// Appends the chunks' bytes.
    pub fn encode_chunks(&self, out: &mut Vec<u8>) {
        for chunk in &self.chunks {
            chunk.encode(out);
        }
    }

    /// Decodes chunks up to the end.
    ///
    /// # Errors
    /// Fails if there is no chunk, or one is truncated or without a possible place in its TPDU.
    pub fn decode_chunks(mut bytes: &[u8]) -> Result<Vec<Chunk>, DecodeError> {
        let mut chunks = Vec::new();
        while chunks.is_empty() || !bytes.is_empty() {
            let (chunk, rest) = Chunk::decode(bytes)?;
            chunks.push(chunk);
            bytes = rest;
        }
        Ok(chunks)
    }
}
