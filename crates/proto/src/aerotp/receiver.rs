//! Data from the peer: put in order, read, and reported in a MACK.
//!
//! Positions are 64-bit distances from the peer's first byte.

use super::Received;
use crate::packet::{Payload, free_if_idle};
use crate::time::{Duration, Instant};
use crate::wire::aerotp::{MissingRange, Range};
use std::collections::{BTreeMap, VecDeque};

/// Ranges kept beyond gaps in any case, and bytes of a buffer that allow one more: a peer cannot make this end keep a
/// list of single bytes.
const LEAST_PIECES: usize = 8192;
const BUFFER_PER_PIECE: usize = 512;
/// Most damaged ranges kept until a MACK reports them.
const MOST_DAMAGED: usize = 128;

/// The receiver's side.
#[derive(Debug)]
pub(super) struct Receiver {
    /// Next position expected.
    next: u64,
    capacity: u32,
    /// Beyond a gap, ascending and disjoint.
    pieces: BTreeMap<u64, Received>,
    readable: VecDeque<Received>,
    readable_bytes: u64,
    /// Ranges that arrived damaged, not yet reported by a MACK.
    damaged: Vec<(u64, u64)>,
    /// End of the peer's data, once known.
    end: Option<u64>,
    /// Time at which the gap is given up, in modes without retransmission.
    gap_until: Option<Instant>,
    /// End of the arrived data when that time was set: gaps before it have waited as long.
    gap_seen_to: u64,
}

/// Fate of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// Old data only.
    Duplicate,
    /// No room for it.
    Beyond,
    /// The next data in order.
    InOrder,
    /// Data out of order.
    Ahead,
}

impl Receiver {
    pub(super) fn new(capacity: u32) -> Receiver {
        Receiver {
            next: 0,
            capacity,
            pieces: BTreeMap::new(),
            readable: VecDeque::new(),
            readable_bytes: 0,
            damaged: Vec::new(),
            end: None,
            gap_until: None,
            gap_seen_to: 0,
        }
    }

    /// Begins at a position: the data before it need not come.
    pub(super) fn skip_to(&mut self, position: u64) {
        self.next = position;
    }

    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Returns the number of bytes that may arrive beyond the next expected one.
    pub(super) fn window(&self) -> u64 {
        u64::from(self.capacity).saturating_sub(self.readable_bytes)
    }

    pub(super) fn readable_bytes(&self) -> u64 {
        self.readable_bytes
    }

    /// Returns true if all data of the peer has arrived, its end too.
    pub(super) fn is_complete(&self) -> bool {
        self.end == Some(self.next)
    }

    /// Returns true if the end of the peer's data is known.
    pub(super) fn knows_end(&self) -> bool {
        self.end.is_some()
    }

    pub(super) fn gap_until(&self) -> Option<Instant> {
        self.gap_until
    }

    pub(super) fn has_gap(&self) -> bool {
        !self.pieces.is_empty()
    }

    /// Sets the end of the peer's data. Only the first one counts, and nothing beyond it is accepted.
    pub(super) fn set_end(&mut self, end: u64) {
        let highest = self.pieces.last_key_value();
        let highest = highest.map_or(self.next, |(start, piece)| end_of(*start, piece));
        if self.end.is_none() && end >= highest {
            self.end = Some(end);
        }
    }

    /// Takes in data at `start`, which may lie before the first byte; data outside the window is dropped.
    pub(super) fn accept(&mut self, start: i64, payload: Payload, ends_record: bool) -> Arrival {
        let whole_end = start.saturating_add(i64::from(payload.length()));
        let most = (self.next + self.window()).min(self.end.unwrap_or(u64::MAX));
        let end = u64::try_from(whole_end).unwrap_or(0);
        let from = u64::try_from(start).unwrap_or(0).max(self.next);
        if from >= end {
            return Arrival::Duplicate;
        }
        // A record is taken whole or not at all.
        if from >= most || ends_record && end > most {
            return Arrival::Beyond;
        }
        let data = Data {
            from,
            end: end.min(most),
            start,
            payload,
            ends_record,
        };
        if from == self.next && self.pieces.is_empty() {
            self.append(data.part(from, data.end));
            return Arrival::InOrder;
        }
        let most = LEAST_PIECES.max(self.capacity as usize / BUFFER_PER_PIECE);
        if self.pieces.len() >= most && from > self.next {
            return Arrival::Beyond;
        }
        if !self.fill(&data) {
            return Arrival::Duplicate;
        }
        let before = self.next;
        self.join();
        if self.next > before {
            Arrival::InOrder
        } else {
            Arrival::Ahead
        }
    }

    /// Keeps the new part of the data; returns true if there is any.
    fn fill(&mut self, data: &Data) -> bool {
        let mut position = data.from;
        let mut new = false;
        while position < data.end {
            let before = self.pieces.range(..=position).next_back();
            if let Some((start, piece)) = before
                && end_of(*start, piece) > position
            {
                position = end_of(*start, piece);
                continue;
            }
            let following = self
                .pieces
                .range(position..)
                .next()
                .map(|(&start, _)| start);
            let end = data.end.min(following.unwrap_or(u64::MAX));
            self.pieces.insert(position, data.part(position, end));
            new = true;
            position = end;
        }
        new
    }

    fn append(&mut self, piece: Received) {
        let length = u64::from(piece.payload.length());
        self.next += length;
        self.readable_bytes += length;
        if let Some(last) = self.readable.back_mut()
            && !last.ends_record
            && last.payload.extend_pattern(&piece.payload)
        {
            last.ends_record = piece.ends_record;
            return;
        }
        self.readable.push_back(piece);
    }

    /// Advances over the data directly after a gap that has closed.
    fn join(&mut self) {
        while let Some(entry) = self.pieces.first_entry() {
            if *entry.key() > self.next {
                return;
            }
            let piece = entry.remove();
            self.append(piece);
        }
    }

    /// Returns the end of all that has arrived, damaged or not.
    pub(super) fn frontier(&self) -> u64 {
        let last = self.pieces.last_key_value();
        let arrived = last.map_or(self.next, |(start, piece)| end_of(*start, piece));
        let damaged = self.damaged.iter().map(|&(_, end)| end).max();
        damaged.map_or(arrived, |end| end.max(arrived))
    }

    /// Notes a packet that arrived damaged: a MACK reports it, unless its data has arrived since.
    pub(super) fn note_damaged(&mut self, start: i64, length: u32) {
        let most = (self.next + self.window()).min(self.end.unwrap_or(u64::MAX));
        let from = u64::try_from(start).unwrap_or(0).max(self.next);
        let end = u64::try_from(start + i64::from(length))
            .unwrap_or(0)
            .min(most);
        if from < end && self.damaged.len() < MOST_DAMAGED {
            self.damaged.push((from, end));
        }
    }

    /// Sets the time until which known gaps are waited for in modes without retransmission, and gives them up when it
    /// has passed; returns the bytes skipped. A gap that appears meanwhile waits at most twice as long.
    pub(super) fn give_up_gaps(&mut self, now: Instant, wait: Duration) -> u64 {
        let mut skipped = 0;
        loop {
            let following = self.pieces.first_key_value().map(|(&start, _)| start);
            let Some(gap_end) = following.or(self.end.filter(|&end| end > self.next)) else {
                self.gap_until = None;
                return skipped;
            };
            match self.gap_until {
                Some(until) if until > now => return skipped,
                Some(_) if gap_end <= self.gap_seen_to => {
                    skipped += gap_end - self.next;
                    self.next = gap_end;
                    self.join();
                }
                _ => {
                    self.gap_until = Some(now + wait);
                    let last = self.pieces.last_key_value();
                    let seen = last.map_or(self.next, |(&start, piece)| end_of(start, piece));
                    self.gap_seen_to = seen.max(self.end.unwrap_or(0));
                    return skipped;
                }
            }
        }
    }

    /// Gives up all gaps before data that lies beyond the window, in modes without retransmission: such data shows that
    /// they will not be filled. Returns the bytes skipped.
    pub(super) fn make_room(&mut self, start: i64, length: u32) -> u64 {
        let end = u64::try_from(start).unwrap_or(0) + u64::from(length);
        let mut skipped = 0;
        while end > self.next + self.window()
            && let Some((&piece, _)) = self.pieces.first_key_value()
        {
            skipped += piece - self.next;
            self.next = piece;
            self.join();
        }
        if end > self.next + u64::from(self.capacity) && self.pieces.is_empty() {
            let start = u64::try_from(start).unwrap_or(0);
            skipped += start.saturating_sub(self.next);
            self.next = self.next.max(start);
        }
        skipped
    }

    /// Returns the arrived data beyond the first gap, at most so many ranges, by their distances from the next byte
    /// expected, and the missing data before and between them: the damaged data, and with `all` every gap. What has no
    /// place goes first in the next report of the same turns: `reported_to` is the end of the ranges in their last
    /// report, zero if they were all.
    pub(super) fn report(
        &mut self,
        all: bool,
        most: usize,
        reported_to: &mut u64,
    ) -> (Vec<Range>, Vec<MissingRange>) {
        let (begin, runs, is_last) = self.next_runs(most, *reported_to);
        let mut gaps = Vec::with_capacity(runs.len() + 1);
        let mut position = begin;
        for &(start, end) in &runs {
            gaps.extend((position < start).then_some((position, start)));
            position = end;
        }
        *reported_to = if is_last { 0 } else { position };
        let mut until = position;
        if is_last {
            // All data beyond that received is missing.
            gaps.push((position, u64::MAX));
            until = u64::MAX;
        }
        let missing = self.missing(&gaps, all, (begin, until));
        let received = runs.into_iter().filter_map(|run| self.range(run));
        (received.collect(), missing)
    }

    /// Returns the next ranges of arrived data beyond a gap, at most so many, the position from which on they are all,
    /// and true if there are no more behind them.
    fn next_runs(&self, most: usize, reported_to: u64) -> (u64, Vec<(u64, u64)>, bool) {
        let is_behind = self.pieces.range(reported_to..).next().is_some();
        let begin = self.next.max(if is_behind { reported_to } else { 0 });
        let mut runs: Vec<(u64, u64)> = Vec::new();
        for (&start, piece) in self.pieces.range(begin..) {
            let (end, is_full) = (end_of(start, piece), runs.len() == most.max(1));
            match runs.last_mut() {
                Some(last) if last.1 == start => last.1 = end,
                _ if is_full => return (begin, runs, false),
                _ => runs.push((start, end)),
            }
        }
        (begin, runs, true)
    }

    /// Returns the missing data in the gaps of a range: the damaged data, and with `all` the gaps. Damaged data beyond
    /// the range, and what is still expected before it, is kept for later.
    fn missing(
        &mut self,
        gaps: &[(u64, u64)],
        all: bool,
        (begin, until): (u64, u64),
    ) -> Vec<MissingRange> {
        let is_in = |damage: &(u64, u64), gap: &(u64, u64)| damage.0 < gap.1 && damage.1 > gap.0;
        let mut damaged = core::mem::take(&mut self.damaged);
        damaged.sort_unstable();
        let mut missing = Vec::new();
        let mut position = 0;
        for gap in gaps {
            // Within a gap: the damaged parts, and what lies between them.
            position = gap.0.max(position);
            for &(start, end) in damaged.iter().filter(|damage| is_in(damage, gap)) {
                let (start, end) = (start.max(position), end.min(gap.1));
                if start >= end {
                    continue;
                }
                if all && position < start {
                    missing.extend(self.missing_range((position, start), false));
                }
                missing.extend(self.missing_range((start, end), true));
                position = end;
            }
            if all && position < gap.1 && gap.1 != u64::MAX {
                missing.extend(self.missing_range((position, gap.1), false));
            }
        }
        let next = self.next;
        damaged.retain(|damage| damage.0 >= until || damage.1 <= begin && damage.1 > next);
        self.damaged = damaged;
        missing
    }

    fn missing_range(&self, range: (u64, u64), damaged: bool) -> Option<MissingRange> {
        let range = self.range(range)?;
        Some(MissingRange { range, damaged })
    }

    fn range(&self, (start, end): (u64, u64)) -> Option<Range> {
        Some(Range {
            start: u32::try_from(start - self.next).ok()?,
            length: u32::try_from(end - start).ok()?,
        })
    }

    /// Takes the next data to read, of at most so many bytes; a longer record is returned whole.
    pub(super) fn take(&mut self, at_most: u64) -> Option<Received> {
        if at_most == 0 {
            return None;
        }
        let first = self.readable.pop_front()?;
        let length = u64::from(first.payload.length());
        if length <= at_most || first.ends_record {
            self.readable_bytes -= length;
            free_if_idle(&mut self.readable);
            return Some(first);
        }
        self.readable_bytes -= at_most;
        self.readable.push_front(Received {
            payload: first.payload.clone().slice(at_most, length),
            ends_record: false,
        });
        Some(Received {
            payload: first.payload.slice(0, at_most),
            ends_record: false,
        })
    }
}

/// Data as it arrived, and the part of it to keep.
struct Data {
    from: u64,
    end: u64,
    start: i64,
    payload: Payload,
    ends_record: bool,
}

impl Data {
    fn part(&self, from: u64, end: u64) -> Received {
        let place = |position: u64| (position as i64 - self.start) as u64;
        Received {
            payload: self.payload.clone().slice(place(from), place(end)),
            ends_record: self.ends_record && end == self.end,
        }
    }
}

fn end_of(start: u64, piece: &Received) -> u64 {
    start + u64::from(piece.payload.length())
}
