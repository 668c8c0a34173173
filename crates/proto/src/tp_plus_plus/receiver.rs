//! The receiving half: each chunk goes to its place whenever it arrives, so reordering costs nothing.

use super::assembly::Assembly;
use super::blocks::BlockReceiver;
use super::configuration::{Configuration, Mode};
use super::sender::SPAN;
use crate::time::{Duration, Instant};
use crate::wire::tp_plus_plus::{Acknowledgment, Chunk, ConnectionLabel, Repair, Tpdu};
use std::collections::{BTreeMap, VecDeque};

/// Counters of what has arrived.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counters {
    pub damaged: u64,
    pub duplicates: u64,
    pub restored: u64,
    pub refused: u64,
    pub skipped: u64,
}

/// Data of the other direction.
#[derive(Debug)]
pub(super) struct Receiver {
    mode: Mode,
    reordering_wait: Duration,
    assemblies: BTreeMap<u32, Assembly>,
    /// Bytes in those.
    assembling: u64,
    blocks: BlockReceiver,
    /// TPDU before which all have arrived or are given up, and the C.SN there.
    next: (u32, u64),
    /// Begin and end of the TPDUs that have arrived behind that one.
    arrived: BTreeMap<u32, (u64, u64)>,
    /// Time at which a missing TPDU is given up.
    gives_up_at: Option<Instant>,
    /// TPDU with C.ST.
    last: Option<u32>,
    /// Chunks that the application has not read.
    ready: VecDeque<Chunk>,
    unread: u64,
    capacity: u64,
    /// Limit that the peer has been told.
    granted: u64,
    pub counters: Counters,
}

impl Receiver {
    pub fn new(configuration: &Configuration) -> Receiver {
        let capacity = u64::from(configuration.receive_buffer);
        Receiver {
            mode: configuration.mode,
            reordering_wait: configuration.reordering_wait,
            assemblies: BTreeMap::new(),
            assembling: 0,
            blocks: BlockReceiver::default(),
            next: (0, 0),
            arrived: BTreeMap::new(),
            gives_up_at: None,
            last: None,
            ready: VecDeque::new(),
            unread: 0,
            capacity,
            granted: capacity,
            counters: Counters::default(),
        }
    }

    /// Returns the next chunk, in the order of arrival.
    pub fn read(&mut self) -> Option<Chunk> {
        let chunk = self.ready.pop_front()?;
        self.unread -= u64::from(chunk.payload.length());
        Some(chunk)
    }

    /// Returns the number of TPDUs of which all chunks have arrived, or which were skipped.
    pub fn accounted(&self) -> u64 {
        u64::from(self.next.0) + self.arrived.len() as u64
    }

    /// Returns true if all data has arrived or is given up.
    pub fn is_finished(&self) -> bool {
        self.last.is_some_and(|last| last < self.next.0)
    }

    /// Takes in the chunks of a packet, and any TPDUs that its block restores.
    pub fn take(&mut self, now: Instant, label: ConnectionLabel, tpdu: &Tpdu) {
        let is_whole = self.take_one(label, tpdu);
        if is_whole {
            let restored = self.blocks.take(tpdu);
            self.take_restored(label, &restored);
        }
        self.advance(now);
    }

    /// Takes in a repair symbol.
    pub fn take_repair(&mut self, now: Instant, label: ConnectionLabel, repair: Repair) {
        let end = repair.first.saturating_add(repair.sources.into());
        if end <= self.next.0 || repair.first.saturating_sub(self.next.0) >= SPAN {
            return;
        }
        let restored = self.blocks.take_repair(repair);
        self.take_restored(label, &restored);
        self.advance(now);
    }

    fn take_restored(&mut self, label: ConnectionLabel, restored: &[Tpdu]) {
        for tpdu in restored {
            let before = self.accounted();
            self.take_one(label, tpdu);
            self.counters.restored += self.accounted() - before;
        }
    }

    /// Takes in the chunks of a packet; returns true if they are a whole new TPDU.
    fn take_one(&mut self, label: ConnectionLabel, tpdu: &Tpdu) -> bool {
        let number = tpdu.number;
        if number < self.next.0 || self.arrived.contains_key(&number) {
            self.counters.duplicates += 1;
            return false;
        }
        let exceeds = |chunk: &Chunk| {
            chunk.position.saturating_add(chunk.payload.length().into()) > self.granted
        };
        let is_numbered = number < u32::MAX && number - self.next.0 < SPAN;
        let held = self.unread + self.assembling + u64::from(tpdu.data_length());
        if !is_numbered || held > self.capacity || tpdu.chunks.iter().any(exceeds) {
            self.counters.refused += 1;
            return false;
        }
        let known = self.assemblies.remove(&number);
        self.assembling -= known.as_ref().map_or(0, Assembly::bytes);
        let extended = known.and_then(|mut known| known.add(tpdu).then_some(known));
        let Some(assembly) = extended.or_else(|| Assembly::begin(tpdu)) else {
            self.counters.damaged += 1;
            return false;
        };
        if !assembly.is_complete() {
            self.assembling += assembly.bytes();
            self.assemblies.insert(number, assembly);
            return false;
        }
        match assembly.verified(label, number) {
            Some(chunks) => self.place(number, chunks) == tpdu.chunks.len(),
            None => {
                self.counters.damaged += 1;
                false
            }
        }
    }

    /// Gives a TPDU's chunks to the application; returns their number.
    fn place(&mut self, number: u32, chunks: Vec<Chunk>) -> usize {
        let ends = chunks.iter().map(|chunk| chunk.position);
        let begin = ends.min().unwrap_or(self.next.1);
        let count = chunks.len();
        let mut end = begin;
        for chunk in chunks {
            let length = u64::from(chunk.payload.length());
            end = end.max(chunk.position + length);
            if chunk.ends_connection {
                self.last = Some(number);
            }
            if length > 0 {
                self.unread += length;
                self.ready.push_back(chunk);
            }
        }
        self.arrived.insert(number, (begin, end));
        count
    }

    /// Moves on past TPDUs that follow each other, and begins to wait for the first missing one.
    fn advance(&mut self, now: Instant) {
        let before = self.next.0;
        while let Some((_, end)) = self.arrived.remove(&self.next.0) {
            self.next = (self.next.0 + 1, end);
        }
        let has_gap = self.mode == Mode::QuasiReliable && !self.arrived.is_empty();
        let is_new = self.gives_up_at.is_none() || self.next.0 != before;
        match has_gap {
            true if is_new => self.gives_up_at = Some(now + self.reordering_wait),
            true => {}
            false => self.gives_up_at = None,
        }
    }

    pub fn poll_timeout(&self) -> Option<Instant> {
        self.gives_up_at
    }

    /// Gives up missing TPDUs that are overdue; returns true if so.
    pub fn handle_timeout(&mut self, now: Instant) -> bool {
        if self.gives_up_at.is_none_or(|at| at > now) {
            return false;
        }
        self.gives_up_at = None;
        let Some((&number, &(begin, _))) = self.arrived.first_key_value() else {
            return false;
        };
        self.counters.skipped += begin.saturating_sub(self.next.1);
        self.next = (number, begin);
        self.assemblies = self.assemblies.split_off(&number);
        self.assembling = self.assemblies.values().map(Assembly::bytes).sum();
        self.advance(now);
        true
    }

    /// Returns the acknowledgment of all that has arrived.
    pub fn acknowledgment(&self) -> Acknowledgment {
        let next = self.next.0;
        let bits = self.arrived.keys().map(|number| number - next - 1);
        let mut bitmap = Vec::new();
        for bit in bits.map(|bit| bit as usize) {
            bitmap.resize(bitmap.len().max(bit / 8 + 1), 0);
            bitmap[bit / 8] |= 0x80 >> (bit % 8);
        }
        Acknowledgment {
            next,
            bitmap: bitmap.into(),
        }
    }

    /// Returns the limit to report, if it has grown by a quarter of the buffer since the last report, or in any case
    /// if `is_asked`.
    pub fn limit(&self, is_asked: bool) -> Option<u64> {
        let limit = (self.next.1 + self.capacity).saturating_sub(self.unread);
        let limit = limit.max(self.granted);
        (is_asked || limit - self.granted >= self.capacity / 4).then_some(limit)
    }

    /// Notes the limit that was reported.
    pub fn grant(&mut self, limit: u64) {
        self.granted = limit;
    }
}
