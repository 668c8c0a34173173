//! The sending half: data cut into TPDUs, and a timer for each until it is acknowledged.

use super::configuration::{Configuration, Mode};
use super::timeout::Timeout;
use crate::packet::{Payload, SendBuffer};
use crate::time::{Duration, Instant};
use crate::wire::tp_plus_plus::{
    Acknowledgment, CHUNK_HEADER, Chunk, ConnectionLabel, LONGEST_BITMAP, Tpdu, WeightedSum,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Numbers of TPDUs under way at once: those that a bitmap names.
pub(super) const SPAN: u32 = 8 * LONGEST_BITMAP as u32;
/// Capacity of the send buffer in bytes, as AeroTP's; chosen.
const SEND_BUFFER: u32 = 4 << 20;
/// Transmissions of the last TPDU without acknowledgments; chosen.
const LAST_TRANSMISSIONS: u32 = 3;

/// A TPDU under way.
#[derive(Debug)]
struct Sent {
    tpdu: Tpdu,
    at: Instant,
    transmissions: u32,
    deadline: Instant,
}

/// Data of one direction.
#[derive(Debug)]
pub(super) struct Sender {
    mode: Mode,
    /// Interval between transmissions of the last TPDU without acknowledgments.
    repeat_after: Duration,
    buffer: SendBuffer,
    /// Ends of the records that are not yet in TPDUs.
    record_ends: VecDeque<u64>,
    /// Number of the external PDU, and its begin.
    external: (u32, u64),
    /// C.SN of the next data.
    position: u64,
    next_number: u32,
    /// TPDU before which all are acknowledged.
    acknowledged: u32,
    under_way: BTreeMap<u32, Sent>,
    deadlines: BTreeSet<(Instant, u32)>,
    /// TPDUs whose timer has expired.
    expired: BTreeSet<u32>,
    pub timeout: Timeout,
    /// C.SN up to which the peer permits data.
    pub limit: u64,
    /// True once the application writes no more.
    pub is_closing: bool,
    /// True once the TPDU with C.ST has been made.
    has_ended: bool,
    pub timeouts: u64,
}

impl Sender {
    pub fn new(configuration: &Configuration) -> Sender {
        Sender {
            mode: configuration.mode,
            repeat_after: configuration.reordering_wait.half(),
            buffer: SendBuffer::new(SEND_BUFFER),
            record_ends: VecDeque::new(),
            external: (0, 0),
            position: 0,
            next_number: 0,
            acknowledged: 0,
            under_way: BTreeMap::new(),
            deadlines: BTreeSet::new(),
            expired: BTreeSet::new(),
            timeout: Timeout::default(),
            limit: configuration.receive_buffer.into(),
            is_closing: false,
            has_ended: false,
            timeouts: 0,
        }
    }

    /// Writes as much as fits, or a record as a whole or not at all; returns the number of bytes.
    pub fn write(&mut self, payload: &Payload, is_record: bool) -> u64 {
        let length = u64::from(payload.length());
        if self.is_closing || is_record && self.room() < length {
            return 0;
        }
        let taken = self.buffer.write_payload(payload);
        if is_record && taken > 0 {
            self.record_ends.push_back(self.buffer.written());
        }
        taken
    }

    pub fn room(&self) -> u64 {
        self.buffer.room()
    }

    pub fn has_written(&self) -> bool {
        self.buffer.written() > 0
    }

    pub fn in_flight(&self) -> u64 {
        let data = |sent: &Sent| u64::from(sent.tpdu.data_length());
        self.under_way.values().map(data).sum()
    }

    /// Returns true if all data is acknowledged or, without acknowledgments, sent.
    pub fn is_done(&self) -> bool {
        self.has_ended && self.under_way.is_empty()
    }

    /// Returns true if the peer's limit holds up data.
    pub fn is_limited(&self) -> bool {
        self.position < self.buffer.written() && self.position >= self.limit
    }

    pub fn awaits(&self) -> bool {
        self.mode == Mode::Reliable && !self.under_way.is_empty()
    }

    /// Returns true if a TPDU can be sent, again or for the first time.
    pub fn has_tpdu(&self) -> bool {
        !self.expired.is_empty() || self.has_new()
    }

    fn has_new(&self) -> bool {
        let written = self.buffer.written();
        let has_data = self.position < written && self.position < self.limit;
        let ends = self.is_closing && !self.has_ended && self.position == written;
        let has_number = self.next_number < u32::MAX
            && (self.mode == Mode::QuasiReliable
                || self.next_number.saturating_sub(self.acknowledged) < SPAN);
        (has_data || ends) && has_number
    }

    /// Returns the TPDU to send again whose timer has expired first in the order of the data.
    pub fn next_expired(&mut self, now: Instant) -> Option<Tpdu> {
        let number = self.expired.pop_first()?;
        let earlier = self.under_way.get(&number)?.transmissions;
        let deadline = now + self.interval(earlier);
        let sent = self.under_way.get_mut(&number)?;
        sent.transmissions += 1;
        let tpdu = sent.tpdu.clone();
        if self.mode == Mode::QuasiReliable && sent.transmissions == LAST_TRANSMISSIONS {
            self.under_way.remove(&number);
        } else {
            sent.deadline = deadline;
            self.deadlines.insert((deadline, number));
        }
        Some(tpdu)
    }

    fn interval(&self, earlier: u32) -> Duration {
        match self.mode {
            Mode::Reliable => self.timeout.value(earlier),
            Mode::QuasiReliable => self.repeat_after,
        }
    }

    /// Makes the next TPDU, whose chunks take at most `room` bytes on the wire. The caller sends it, and calls
    /// [`sent`](Self::sent).
    pub fn next_new(&mut self, room: u32, label: ConnectionLabel) -> Option<Tpdu> {
        if !self.has_new() {
            return None;
        }
        let number = self.next_number;
        let base = self.position;
        let chunks = self.chunks(room);
        let length = (self.position - base) as u32;
        let mut check = WeightedSum::default();
        for chunk in &chunks {
            chunk.add_to(&mut check);
        }
        Tpdu::add_labels(&mut check, label, number, (base, length, self.has_ended));
        self.next_number += 1;
        Some(Tpdu {
            number,
            place: None,
            check,
            chunks,
        })
    }

    /// Cuts chunks off the data: one for each external PDU. A record is cut only if a whole TPDU would not hold it.
    fn chunks(&mut self, room: u32) -> Vec<Chunk> {
        let data_end = self.buffer.written().min(self.limit);
        let base = self.position;
        let mut chunks: Vec<Chunk> = Vec::new();
        let mut left = room.max(CHUNK_HEADER + 1);
        while self.position < data_end && left > CHUNK_HEADER {
            let most = u64::from(left - CHUNK_HEADER);
            let record_end = self.record_ends.front().copied();
            let end = data_end.min(record_end.unwrap_or(u64::MAX));
            if !chunks.is_empty() && end - self.position > most {
                break;
            }
            let end = end.min(self.position + most);
            let ends_external = record_end == Some(end);
            chunks.push(self.chunk(base, end, ends_external));
            left -= CHUNK_HEADER + (end - self.position) as u32;
            self.position = end;
            if ends_external {
                self.record_ends.pop_front();
                self.external = (self.external.0.wrapping_add(1), end);
            }
        }
        if self.is_closing && self.position == self.buffer.written() {
            self.has_ended = true;
            if chunks.is_empty() {
                chunks.push(self.chunk(base, self.position, true));
            }
        }
        if let Some(last) = chunks.last_mut() {
            last.ends_tpdu = true;
            last.ends_connection = self.has_ended;
            last.ends_external |= self.has_ended;
        }
        chunks
    }

    fn chunk(&self, base: u64, end: u64, ends_external: bool) -> Chunk {
        Chunk {
            position: self.position,
            ends_connection: false,
            tpdu_position: (self.position - base) as u16,
            ends_tpdu: false,
            external: self.external.0,
            external_position: (self.position - self.external.1) as u32,
            ends_external,
            payload: self
                .buffer
                .payload(self.position, (end - self.position) as u32),
        }
    }

    /// Notes that a new TPDU has been sent.
    pub fn sent(&mut self, now: Instant, tpdu: Tpdu) {
        let is_last = self.has_ended;
        if self.mode == Mode::QuasiReliable && !is_last {
            return self.buffer.release(self.position);
        }
        let (number, deadline) = (tpdu.number, now + self.interval(0));
        let sent = Sent {
            tpdu,
            at: now,
            transmissions: 1,
            deadline,
        };
        self.under_way.insert(number, sent);
        self.deadlines.insert((deadline, number));
    }

    pub fn poll_timeout(&self) -> Option<Instant> {
        self.deadlines.first().map(|&(at, _)| at)
    }

    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some(&(at, number)) = self.deadlines.first().filter(|&&(at, _)| at <= now) {
            self.deadlines.remove(&(at, number));
            self.expired.insert(number);
            self.timeouts += u64::from(self.mode == Mode::Reliable);
        }
    }

    /// Takes in an acknowledgment; returns true if the buffer has more room. One of TPDUs that were never sent is ignored.
    pub fn acknowledge(&mut self, now: Instant, acknowledgment: &Acknowledgment) -> bool {
        if acknowledgment.next > self.next_number || self.mode == Mode::QuasiReliable {
            return false;
        }
        self.acknowledged = self.acknowledged.max(acknowledgment.next);
        let later = self.under_way.split_off(&acknowledgment.next);
        let mut gone = core::mem::replace(&mut self.under_way, later);
        for number in acknowledgment.beyond() {
            if let Some(sent) = self.under_way.remove(&number) {
                gone.insert(number, sent);
            }
        }
        for (number, sent) in &gone {
            self.deadlines.remove(&(sent.deadline, *number));
            self.expired.remove(number);
        }
        // Karn's algorithm: a TPDU that was sent again is no sample (RFC 6298 section 3).
        let once = gone.values().filter(|sent| sent.transmissions == 1);
        if let Some(latest) = once.map(|sent| sent.at).max() {
            self.timeout.sample(now.saturating_since(latest));
        }
        let first = self.under_way.values().next();
        let first = first.and_then(|sent| sent.tpdu.chunks.first());
        let room = self.buffer.room();
        let released = first.map_or(self.position, |chunk| chunk.position);
        self.buffer.release(released);
        self.buffer.room() > room
    }

    /// Gives up all data.
    pub fn abandon(&mut self) {
        self.under_way.clear();
        self.deadlines.clear();
        self.expired.clear();
        self.is_closing = true;
        self.has_ended = true;
        self.position = self.buffer.written();
    }
}
