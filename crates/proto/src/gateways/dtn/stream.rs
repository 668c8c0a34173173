//! One connection at a gateway: its half, and the data from the other gateway in order.

use super::{Pair, SocketId};
use crate::packet::{FlowId, Payload};
use crate::tcp::Connection;
use std::collections::BTreeMap;

/// The half of a connection at this gateway.
#[derive(Clone, Copy, Debug)]
pub struct Half {
    /// Ends of the connection, the one on this side first.
    pub ends: Pair,
    pub socket: SocketId,
    pub flow: Option<FlowId>,
}

/// A connection in bundles.
#[derive(Debug, Default)]
pub struct Stream {
    /// The half here; none before the record that opens the stream has arrived.
    pub half: Option<Half>,
    /// Bytes of the half taken into custody.
    pub taken: u64,
    /// True once the end here has sent all its data.
    pub near_finished: bool,
    /// True once the half here was refused, reset or timed out.
    pub near_failed: bool,
    /// True once the end of the half's data is in custody.
    pub is_ended: bool,
    /// True once the half has all data from the other gateway.
    pub far_finished: bool,
    /// Position of the next byte for the half.
    next: u64,
    /// Data from the other gateway, by its position; what is written to the half is removed.
    pieces: BTreeMap<u64, Vec<u8>>,
    /// Position of the end of the other gateway's data, once known.
    end: Option<u64>,
}

impl Stream {
    /// Returns true for data that the half can take at once.
    pub fn is_next(&self, offset: u64) -> bool {
        offset == self.next
    }

    /// Takes in data at a position. Custody delivers each byte once, so pieces do not overlap; what a faulty gateway
    /// repeats is dropped. Returns the number of bytes kept.
    pub fn arrive(&mut self, offset: u64, bytes: Vec<u8>) -> u64 {
        let length = bytes.len() as u64;
        let before = self.pieces.range(..=offset).next_back();
        let before = before.map_or(self.next, |(start, piece)| start + piece.len() as u64);
        let after = self.pieces.range(offset..).next();
        let is_free = after.is_none_or(|(&start, _)| offset.saturating_add(length) <= start);
        if offset < before || !is_free {
            return 0;
        }
        self.pieces.insert(offset, bytes);
        length
    }

    /// Takes in the end of the other gateway's data.
    pub fn arrive_end(&mut self, offset: u64) {
        self.end.get_or_insert(offset);
    }

    /// Writes data in order to the half, as far as it has room, and closes it behind the last byte. Returns the number
    /// of bytes written.
    pub fn write(&mut self, tcp: &mut Connection) -> u64 {
        let start = self.next;
        tcp.put_all(|room| {
            let entry = self.pieces.first_entry()?;
            if *entry.key() != self.next {
                return None;
            }
            let mut piece = entry.remove();
            let length = piece.len().min(usize::try_from(room).unwrap_or(usize::MAX));
            let later = piece.split_off(length);
            self.next += length as u64;
            if !later.is_empty() {
                self.pieces.insert(self.next, later);
            }
            Some(Payload::from_slice(&piece))
        });
        if self.end == Some(self.next) && !self.far_finished {
            self.far_finished = true;
            tcp.close();
        }
        self.next - start
    }

    /// Returns the number of bytes that wait for the half.
    pub fn waiting(&self) -> u64 {
        self.pieces.values().map(|piece| piece.len() as u64).sum()
    }
}
