//! Written data: the part in flight, the part to retransmit, and the part not yet sent.
//!
//! Positions are 64-bit distances from the first byte written. They do not wrap; only sequence numbers in headers do.

use super::path::Path;
use super::redundancy::Fates;
use crate::packet::{Payload, SendBuffer, free_if_idle};
use crate::time::{Duration, Instant};
use std::collections::{BTreeMap, VecDeque};

/// Copies of a retransmission that leave while nothing else may (chosen: of a hundred packets lost at 5 %, all arrive
/// within a round trip in 99 of 100 cases).
const COPIES: u8 = 2;

/// A packet's data in flight.
#[derive(Clone, Copy, Debug)]
struct Sent {
    end: u64,
    at: Instant,
    path: u8,
    /// True for a retransmission: it may be an earlier one that arrives.
    again: bool,
    /// Copies of it still to send.
    copies: u8,
}

/// Data for a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Chunk {
    pub start: u64,
    pub payload: Payload,
    pub ends_record: bool,
    /// True for a retransmission.
    pub again: bool,
    /// Copies of it that may follow.
    copies: u8,
}

impl Chunk {
    /// Returns a chunk without data, before the byte at a position.
    pub(super) fn nothing_at(start: u64) -> Chunk {
        Chunk {
            start,
            payload: Payload::EMPTY,
            ends_record: false,
            again: false,
            copies: 0,
        }
    }

    /// Returns a chunk without data of its own: a repair packet's content.
    pub(super) fn of_repair(start: u64, payload: Payload) -> Chunk {
        Chunk {
            payload,
            ..Chunk::nothing_at(start)
        }
    }
}

/// The sender's side.
#[derive(Debug)]
pub(super) struct Sender {
    buffer: SendBuffer,
    /// True if data is kept until it is confirmed.
    keeps: bool,
    /// Ends of records that are not acknowledged, ascending.
    record_ends: VecDeque<u64>,
    /// The first position never sent.
    next: u64,
    acknowledged: u64,
    /// The first position beyond the peer's window.
    pub window_end: u64,
    /// Data in flight by the position of its first byte; disjoint.
    outstanding: BTreeMap<u64, Sent>,
    /// Ranges to retransmit, start to end; disjoint.
    lost: BTreeMap<u64, u64>,
    /// Retransmissions in flight of which copies are to be sent, by the first byte and the time of the latest: each
    /// loss of one would cost a round trip in which the path is idle.
    to_copy: VecDeque<(u64, Instant)>,
    /// Packets whose fate has become known and was not yet reported.
    pub fates: Fates,
}

impl Sender {
    /// Creates a sender with a buffer of so many bytes, and true if it keeps data until it is confirmed.
    pub(super) fn new((capacity, keeps): (u32, bool), window: u64) -> Sender {
        Sender {
            buffer: SendBuffer::new(capacity),
            keeps,
            record_ends: VecDeque::new(),
            next: 0,
            acknowledged: 0,
            window_end: window,
            outstanding: BTreeMap::new(),
            lost: BTreeMap::new(),
            to_copy: VecDeque::new(),
            fates: Fates::default(),
        }
    }

    /// Resumes with `written` bytes written, of which the last are held, and none sent.
    pub(super) fn resume(&mut self, written: u64, held: &[Payload]) {
        let capacity = u32::try_from(self.buffer.capacity()).unwrap_or(u32::MAX);
        self.buffer = SendBuffer::resume(capacity, written, held);
        self.acknowledged = written - self.buffer.held();
        self.next = self.acknowledged;
        self.window_end = self.window_end.saturating_add(self.next);
    }

    /// Goes on from a position, as if nothing behind it had been sent; returns false if data from there on is gone, or
    /// was never written.
    pub(super) fn begin_anew_from(&mut self, position: u64, window: u64) -> bool {
        let first = self.buffer.written() - self.buffer.held();
        if !(first..=self.buffer.written()).contains(&position) {
            return false;
        }
        self.outstanding.clear();
        self.lost.clear();
        (self.acknowledged, self.next) = (position, position);
        self.window_end = position + window;
        true
    }

    /// Takes in that the peer has data up to `position` that an earlier incarnation of this end has sent. The part that
    /// it misses is lost.
    pub(super) fn skip_to(&mut self, position: u64) {
        let position = position.min(self.buffer.written());
        if position > self.next {
            self.lost.insert(self.next, position);
            self.next = position;
        }
    }

    /// Returns the bytes written and held.
    pub(super) fn held(&self) -> u64 {
        self.buffer.held()
    }

    pub(super) fn held_data(&self) -> Vec<Payload> {
        self.buffer.runs()
    }

    /// Takes in that the far end has confirmed all data before `position`.
    pub(super) fn confirm(&mut self, position: u64) {
        if self.keeps {
            self.buffer.release(position);
        }
    }

    pub(super) fn room(&self) -> u64 {
        self.buffer.room()
    }

    pub(super) fn written(&self) -> u64 {
        self.buffer.written()
    }

    pub(super) fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Returns the number of bytes in flight.
    pub(super) fn in_flight(&self) -> u64 {
        self.outstanding
            .iter()
            .map(|(start, sent)| sent.end - start)
            .sum()
    }

    pub(super) fn write(&mut self, payload: &Payload) -> u64 {
        self.buffer.write_payload(payload)
    }

    /// Ends a record at the data written so far.
    pub(super) fn end_record(&mut self) {
        self.record_ends.push_back(self.buffer.written());
    }

    /// Returns true if the written data has records.
    pub(super) fn has_records(&self) -> bool {
        !self.record_ends.is_empty()
    }

    /// Returns true if all written data is acknowledged.
    pub(super) fn is_done(&self) -> bool {
        self.acknowledged == self.buffer.written()
    }

    /// Returns true if all written data was sent, and nothing is to be retransmitted.
    pub(super) fn is_drained(&self) -> bool {
        self.lost.is_empty() && self.next == self.buffer.written()
    }

    /// Returns true if data is in flight.
    pub(super) fn waits(&self) -> bool {
        !self.outstanding.is_empty() || !self.lost.is_empty()
    }

    /// Returns true if the peer's window alone holds back the next data.
    pub(super) fn is_shut(&self) -> bool {
        self.next < self.buffer.written() && self.sendable_end() <= self.next
    }

    /// Returns the end of the data that may be sent for the first time: written, and in the window; a record only as a
    /// whole.
    fn sendable_end(&self) -> u64 {
        let end = self.buffer.written().min(self.window_end);
        let place = self.record_ends.partition_point(|&record| record <= end);
        match (self.record_ends.get(place), place.checked_sub(1)) {
            // The window ends within a record.
            (Some(_), Some(last)) => self.record_ends[last].max(self.next),
            (Some(_), None) => self.next,
            (None, _) => end,
        }
    }

    /// Returns true if there is data that may be sent now.
    pub(super) fn is_ready(&self) -> bool {
        let has_copies = || {
            self.to_copy
                .iter()
                .any(|&it| self.in_flight_since(it).is_some())
        };
        !self.lost.is_empty() || self.has_new() || has_copies()
    }

    /// Returns true if there is data that may be sent for the first time.
    fn has_new(&self) -> bool {
        self.next < self.sendable_end()
    }

    /// Returns the packet in flight that left at a time, unless it has been sent again since.
    fn in_flight_since(&self, (start, at): (u64, Instant)) -> Option<Sent> {
        let sent = self.outstanding.get(&start).copied();
        sent.filter(|sent| sent.at == at)
    }

    /// Takes the next data to send, of at most `most.0` bytes; a record that is no longer than `most.1` is not divided.
    /// A probe has no copies: nobody may be there.
    pub(super) fn take(&mut self, most: (u32, u32), is_probe: bool) -> Option<Chunk> {
        let has_new = self.has_new();
        if let Some((start, end)) = self.lost.pop_first() {
            let mut chunk = self.chunk(start, end, most, true);
            chunk.copies = if has_new || is_probe { 0 } else { COPIES };
            let rest = start + u64::from(chunk.payload.length());
            if rest < end {
                self.lost.insert(rest, end);
            }
            return Some(chunk);
        }
        if !has_new {
            return self.take_copy(most);
        }
        let chunk = self.chunk(self.next, self.sendable_end(), most, false);
        self.next += u64::from(chunk.payload.length());
        Some(chunk)
    }

    /// Takes a copy of a retransmission in flight, unless packets have become too short for it.
    fn take_copy(&mut self, most: (u32, u32)) -> Option<Chunk> {
        while let Some((start, at)) = self.to_copy.pop_front() {
            let Some(sent) = self.in_flight_since((start, at)) else {
                continue;
            };
            let mut chunk = self.chunk(start, sent.end, most, true);
            chunk.copies = sent.copies.saturating_sub(1);
            if start + u64::from(chunk.payload.length()) == sent.end {
                return Some(chunk);
            }
        }
        free_if_idle(&mut self.to_copy);
        None
    }

    /// Marks unacknowledged data for retransmission: the oldest, at most so many bytes and at least one packet; or all.
    pub(super) fn lose_oldest(&mut self, most: u64) {
        let mut bytes = 0;
        while bytes < most
            && let Some((start, sent)) = self.outstanding.pop_first()
        {
            bytes += sent.end - start;
            self.lost.insert(start, sent.end);
        }
    }

    /// Marks the data in flight over a path for retransmission.
    pub(super) fn lose_path(&mut self, number: usize, path: &mut Path) {
        for (at, start) in path.sent.drain(..) {
            if self.is_still(number, (at, start))
                && let Some(sent) = self.outstanding.remove(&start)
            {
                self.lost.insert(start, sent.end);
            }
        }
    }

    /// Returns true if the packet sent over a path at a time is still in flight.
    fn is_still(&self, number: usize, (at, start): (Instant, u64)) -> bool {
        let sent = self.outstanding.get(&start);
        sent.is_some_and(|sent| sent.at == at && usize::from(sent.path) == number)
    }

    /// Removes packets no longer in flight from the front of a path's list.
    pub(super) fn forget_known(&self, number: usize, path: &mut Path) {
        while path
            .sent
            .front()
            .is_some_and(|&front| !self.is_still(number, front))
        {
            path.sent.pop_front();
        }
    }

    fn chunk(&self, start: u64, end: u64, most: (u32, u32), again: bool) -> Chunk {
        let place = self.record_ends.partition_point(|&record| record <= start);
        let record = self.record_ends.get(place).copied();
        let record = record.filter(|record| record - start <= u64::from(most.1));
        // A retransmitted chunk ends with the lost range: the data behind it is in flight, or was never sent.
        let record = record.filter(|&record| !again || record <= end);
        let end = record.unwrap_or_else(|| end.min(start + u64::from(most.0.max(1))));
        Chunk {
            start,
            payload: self.buffer.payload(start, (end - start) as u32),
            ends_record: record.is_some(),
            again,
            copies: 0,
        }
    }

    /// Notes a sent chunk. In modes without retransmission it is forgotten.
    pub(super) fn note_sent(
        &mut self,
        now: Instant,
        chunk: &Chunk,
        path: (u8, &mut Path),
        repeats: bool,
    ) {
        let end = chunk.start + u64::from(chunk.payload.length());
        if !repeats {
            self.acknowledge(end);
            return;
        }
        let (number, path) = path;
        let sent = Sent {
            end,
            at: now,
            path: number,
            again: chunk.again,
            copies: chunk.copies,
        };
        self.outstanding.insert(chunk.start, sent);
        if chunk.copies > 0 {
            self.to_copy.push_back((chunk.start, now));
        }
        path.sent.push_back((now, chunk.start));
    }

    /// Takes in that all data before `position` has arrived.
    pub(super) fn acknowledge(&mut self, position: u64) {
        self.acknowledged = self.acknowledged.max(position);
        if !self.keeps {
            self.buffer.release(position);
        }
        while self.record_ends.front().is_some_and(|&end| end <= position) {
            self.record_ends.pop_front();
        }
    }

    /// Takes in that a range has arrived, and notes the newest arrived packet of each path; returns the bytes newly
    /// acknowledged. Of a retransmission it is not known whether it has arrived or the packet before it, but that the
    /// packet which `echoed` names has, over the path that was heard.
    pub(super) fn arrived(
        &mut self,
        (start, end): (u64, u64),
        paths: &mut [Path],
        (heard_path, echoed): (usize, Instant),
    ) -> u64 {
        let mut new = 0;
        while let Some((first, sent)) = overlapping(&self.outstanding, start, end, |sent| sent.end)
        {
            self.outstanding.remove(&first);
            self.fates.arrived = self.fates.arrived.saturating_add(1);
            let bytes = sent.end.min(end) - first.max(start);
            new += bytes;
            if let Some(path) = paths.get_mut(usize::from(sent.path)) {
                path.arrived += bytes;
                let known = match sent.again {
                    false => Some(sent.at),
                    true if usize::from(sent.path) == heard_path => Some(sent.at.min(echoed)),
                    true => None,
                };
                path.newest_arrived = path.newest_arrived.max(known);
            }
            // The receiver kept only a part of it.
            self.lose_outside((first, sent.end), (start, end));
        }
        while let Some((first, last)) = overlapping(&self.lost, start, end, |&last| last) {
            self.lost.remove(&first);
            // It was late, or is restored, which the peer reports.
            self.fates.lost = self.fates.lost.saturating_sub(1);
            self.fates.arrived = self.fates.arrived.saturating_add(1);
            new += last.min(end) - first.max(start);
            self.lose_outside((first, last), (start, end));
        }
        new
    }

    fn lose_outside(&mut self, whole: (u64, u64), without: (u64, u64)) {
        if whole.0 < without.0 {
            self.lost.insert(whole.0, without.0);
        }
        if without.1 < whole.1 {
            self.lost.insert(without.1, whole.1);
        }
    }

    /// Takes in that the receiver misses a range: the part sent over a path before `until` is lost.
    pub(super) fn missing(&mut self, (start, end): (u64, u64), (path, until): (usize, Instant)) {
        let from = overlapping(&self.outstanding, start, end, |sent| sent.end);
        let Some((first, _)) = from else { return };
        let gone: Vec<(u64, u64)> = self
            .outstanding
            .range(first..end)
            .filter(|(_, sent)| sent.at <= until && usize::from(sent.path) == path)
            .map(|(&first, sent)| (first, sent.end))
            .collect();
        self.fates.lost = self.fates.lost.saturating_add(gone.len() as u32);
        for (first, end) in gone {
            self.outstanding.remove(&first);
            self.lost.insert(first, end);
        }
    }

    /// Declares packets lost that left over a path before one that has arrived, by more than the allowed reordering.
    pub(super) fn find_lost(&mut self, number: usize, path: &mut Path, overtaking: Duration) {
        let Some(newest) = path.newest_arrived else {
            return;
        };
        while let Some(&(at, start)) = path.sent.front() {
            if self.is_still(number, (at, start)) {
                if at + overtaking >= newest {
                    return;
                }
                if let Some(sent) = self.outstanding.remove(&start) {
                    self.fates.lost = self.fates.lost.saturating_add(1);
                    self.lost.insert(start, sent.end);
                }
            }
            path.sent.pop_front();
        }
        free_if_idle(&mut path.sent);
    }
}

/// Returns the first entry that overlaps a range.
fn overlapping<T: Copy>(
    map: &BTreeMap<u64, T>,
    start: u64,
    end: u64,
    end_of: impl Fn(&T) -> u64,
) -> Option<(u64, T)> {
    if start >= end {
        return None;
    }
    let before = map.range(..=start).next_back();
    let before = before.filter(|(_, entry)| end_of(entry) > start);
    let entry = before.or_else(|| map.range(start..end).next());
    entry.map(|(&first, &entry)| (first, entry))
}
