//! The receiver: data to read, data beyond gaps, and the window.
//!
//! Positions are 64-bit distances from the peer's initial sequence number: 0 is its SYN, 1 its first byte.

use crate::packet::{Payload, pattern_byte};
use crate::wire::split_context::TcpContext;
use std::collections::VecDeque;

/// Bytes of receive buffer per disjoint range beyond a gap; [`LEAST_BLOCKS`] are kept in any case. A segment that would
/// exceed this is dropped without an ACK, so that a peer cannot force a list of single bytes. Loss of every second
/// segment, the worst case of a full queue, stays below it.
const BUFFER_PER_BLOCK: u64 = 1024;
/// Ranges beyond a gap that are kept in any case, see [`BUFFER_PER_BLOCK`].
const LEAST_BLOCKS: usize = 256;

/// Received data and the offered window.
#[derive(Debug)]
pub(in crate::tcp) struct Receiver {
    /// Next position expected: "RCV.NXT".
    next: u64,
    /// End of the window last advertised to the peer; never moves back.
    window_end: u64,
    buffer: u32,
    /// Limit of the window; `u32::MAX` if only the buffer limits it.
    limit: u32,
    /// Shift of the window field in headers sent.
    window_shift: u8,
    /// True if the window is a multiple of the segment size.
    rounds: bool,
    /// The window last offered.
    offered: u64,
    readable: VecDeque<Payload>,
    readable_bytes: u64,
    /// Data beyond a gap, ascending and disjoint.
    pieces: VecDeque<(u64, Payload)>,
    /// The ranges that `pieces` cover, most recently changed first: the SACK blocks.
    blocks: Vec<(u64, u64)>,
}

/// Result of taking in a segment's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tcp) enum Arrival {
    /// No new data inside the window.
    Nothing,
    /// The next data in order; `filled` is true if it closed a gap, or part of one.
    InOrder { filled: bool },
    /// Data out of order.
    Ahead,
    /// Data out of order that was dropped, because of too many ranges.
    Scattered,
}

impl Receiver {
    /// Creates a receiver. `bounds` are in bytes: the buffer, and the limit of the window (see `tuning.rs`).
    pub(in crate::tcp) fn new(bounds: (u32, u32)) -> Receiver {
        Receiver {
            next: 1,
            window_end: 1,
            buffer: bounds.0,
            limit: bounds.1,
            window_shift: 0,
            rounds: false,
            offered: 0,
            readable: VecDeque::new(),
            readable_bytes: 0,
            pieces: VecDeque::new(),
            blocks: Vec::new(),
        }
    }

    /// Resumes another gateway's receiver.
    pub(in crate::tcp) fn resume(context: &TcpContext, bounds: (u32, u32)) -> Receiver {
        let mut receiver = Receiver::new(bounds);
        receiver.next = context.expected;
        receiver.window_end = context.window_end;
        receiver.offered = receiver.window();
        let shifts = context.negotiated.window_shifts;
        receiver.window_shift = shifts.map_or(0, |(ours, _)| ours);
        receiver.readable = context.unread.iter().cloned().collect();
        let lengths = context.unread.iter().map(Payload::length);
        receiver.readable_bytes = lengths.map(u64::from).sum();
        receiver.pieces = context.beyond_gap.iter().cloned().collect();
        for (start, piece) in &context.beyond_gap {
            receiver.bring_forward(*start, start + u64::from(piece.length()));
        }
        receiver
    }

    /// Writes the received data to a message for another gateway.
    pub(in crate::tcp) fn write_context(&self, context: &mut TcpContext) {
        context.expected = self.next;
        context.window_end = self.window_end;
        context.receive_buffer = (self.buffer, self.limit);
        context.unread = self.readable.iter().cloned().collect();
        context.beyond_gap = self.pieces.iter().cloned().collect();
    }

    /// Returns the shift to offer: the smallest with which the whole buffer fits the field (RFC 7323 section 2.2).
    pub(in crate::tcp) fn wanted_shift(buffer: u32) -> u8 {
        (0..14)
            .find(|shift| buffer >> shift <= 0xFFFF)
            .unwrap_or(14)
    }

    pub(in crate::tcp) fn limit(&self) -> u32 {
        self.limit
    }

    /// Raises the limit of the window by up to `bytes`, within the room; returns true if it may grow.
    pub(in crate::tcp) fn raise_limit(&mut self, bytes: u32) -> bool {
        let room = self.free().saturating_sub(u64::from(self.limit));
        let more = room.min(u64::from(bytes)) as u32;
        self.limit += more;
        more > 0
    }

    /// Returns the size of the buffer in bytes.
    pub(in crate::tcp) fn buffer(&self) -> u32 {
        self.buffer
    }

    /// Sets the size of the buffer; the offered window stays.
    pub(in crate::tcp) fn set_buffer(&mut self, bytes: u32) {
        self.buffer = bytes;
    }

    /// Returns the number of bytes from the next expected position to the end of data out of order.
    pub(in crate::tcp) fn ahead(&self) -> u64 {
        let last = self.pieces.back();
        last.map_or(0, |(start, piece)| {
            start + u64::from(piece.length()) - self.next
        })
    }

    pub(in crate::tcp) fn set_window_shift(&mut self, shift: u8) {
        self.window_shift = shift;
    }

    /// Offers the window in whole segments from now on.
    pub(in crate::tcp) fn round_window(&mut self) {
        self.rounds = true;
    }

    pub(in crate::tcp) fn next(&self) -> u64 {
        self.next
    }

    /// Returns the number of bytes of the offered window that are still free: "RCV.WND".
    pub(in crate::tcp) fn window(&self) -> u64 {
        self.window_end - self.next
    }

    pub(in crate::tcp) fn readable_bytes(&self) -> u64 {
        self.readable_bytes
    }

    /// Returns the ranges received beyond the first gap, most recent first.
    pub(in crate::tcp) fn blocks(&self) -> &[(u64, u64)] {
        &self.blocks
    }

    pub(in crate::tcp) fn memory(&self) -> usize {
        self.readable.capacity() * size_of::<Payload>()
            + self.pieces.capacity() * size_of::<(u64, Payload)>()
            + self.blocks.capacity() * size_of::<(u64, u64)>()
    }

    /// Takes in the peer's FIN, which occupies one position.
    pub(in crate::tcp) fn take_fin(&mut self) {
        self.next += 1;
        self.window_end = self.window_end.max(self.next);
    }

    /// Returns the free bytes of the buffer. In a buffer that tunes itself, data out of order counts, too.
    fn free(&self) -> u64 {
        let mut taken = self.readable_bytes;
        if self.is_tuned() {
            taken += self
                .blocks
                .iter()
                .map(|(start, end)| end - start)
                .sum::<u64>();
        }
        u64::from(self.buffer).saturating_sub(taken)
    }

    fn is_tuned(&self) -> bool {
        self.limit < u32::MAX
    }

    /// Returns the unscaled window in whole segments (`__tcp_select_window`): the one last offered, unless there is
    /// room for another segment, or less room.
    fn rounded(&self, space: u64, segment_size: u32) -> u64 {
        let segment = u64::from(segment_size.min(self.buffer)).max(1);
        if self.offered + segment <= space || self.offered > space {
            space / segment * segment
        } else {
            self.offered
        }
    }

    /// Returns the largest possible end of the window now. By RFC 9293 section 3.8.6.2.2 it moves only by a useful
    /// amount: a full segment, or half the buffer.
    fn possible_end(&self, segment_size: u32) -> u64 {
        let most = 0xFFFF << self.window_shift;
        let space = self.free().min(u64::from(self.limit)).min(most);
        if self.rounds {
            let end = self.next + self.rounded(space, segment_size);
            return end.max(self.window_end);
        }
        let end = self.next + space;
        let useful = u64::from(segment_size.min(self.buffer / 2)).max(1);
        if end >= self.window_end + useful {
            end
        } else {
            self.window_end
        }
    }

    /// Returns the window field for a segment sent now, scaled by `shift` (none on a SYN).
    pub(in crate::tcp) fn advertise(&mut self, segment_size: u32, shift: u8) -> u16 {
        let kept = self.window_end;
        let end = self.possible_end(segment_size);
        let window = end - self.next;
        // Rounding down would shrink the offered window; only growth is rounded down.
        let mut field = window >> shift;
        if self.next + (field << shift) < kept {
            field = (kept - self.next).div_ceil(1 << shift);
        }
        let field = field.min(0xFFFF);
        self.window_end = kept.max(self.next + (field << shift));
        self.offered = field << shift;
        field as u16
    }

    /// Returns true if reading has opened the window enough for a window update: the peer has less than half a buffer
    /// left to send into, and would gain two segments or half a buffer; or has less than one segment, and would gain
    /// one. Linux: at most half a buffer, and would gain as much again (`tcp_cleanup_rbuf`).
    pub(in crate::tcp) fn wants_update(&self, segment_size: u32) -> bool {
        let (half, one) = (u64::from(self.buffer / 2), u64::from(segment_size));
        let left = self.window();
        if self.is_tuned() {
            return left <= half && self.would_double(segment_size);
        }
        if left >= half.max(one) {
            return false;
        }
        let gain = self.possible_end(segment_size) - self.window_end;
        gain > 0
            && ((left < half && gain >= (2 * one).min(half))
                || (left < one && gain >= one.min(half)))
    }

    /// Returns true if a window update would at least double the window that the peer has left (Linux 2.0's
    /// `tcp_raise_window`).
    pub(in crate::tcp) fn would_double(&self, segment_size: u32) -> bool {
        let gain = self.possible_end(segment_size) - self.window_end;
        gain > 0 && gain >= self.window()
    }

    /// Returns the number of bytes held: unread, or beyond a gap.
    pub(in crate::tcp) fn held(&self) -> u64 {
        let beyond = self.blocks.iter().map(|(start, end)| end - start);
        self.readable_bytes + beyond.sum::<u64>()
    }

    /// Returns the number of bytes held beyond a position, and beyond a gap.
    pub(in crate::tcp) fn held_beyond(&self, place: u64) -> u64 {
        let beyond = self
            .blocks
            .iter()
            .map(|&(start, end)| end.saturating_sub(start.max(place)));
        beyond.sum()
    }

    /// Returns the number of bytes missing below the highest received position.
    pub(in crate::tcp) fn missing(&self) -> u64 {
        let Some(end) = self.blocks.iter().map(|&(_, end)| end).max() else {
            return 0;
        };
        let held: u64 = self.blocks.iter().map(|&(start, end)| end - start).sum();
        end - self.next - held
    }

    /// Returns true if all of a range has been received.
    pub(in crate::tcp) fn holds(&self, start: i64, end: i64) -> bool {
        let position = |number: i64| u64::try_from(number).unwrap_or(0);
        let (start, end) = (position(start).max(self.next), position(end));
        end <= self.next || self.blocks.iter().any(|&(s, e)| s <= start && end <= e)
    }

    /// Returns the first range beyond the gap that a segment duplicates, for a duplicate SACK (RFC 2883 section 4).
    pub(in crate::tcp) fn overlap(&self, start: i64, end: i64) -> Option<(u64, u64)> {
        let position = |number: i64| u64::try_from(number).unwrap_or(0);
        let (start, end) = (position(start), position(end));
        let common = self.blocks.iter().map(|&(s, e)| (s.max(start), e.min(end)));
        common.filter(|(from, to)| from < to).min()
    }

    /// Returns true if data beyond a gap starts a new block, or extends an old one, and moves one of the two latest
    /// down in the SACK option.
    pub(in crate::tcp) fn moves_blocks_down(&self, start: i64, length: u32) -> bool {
        let (Ok(start), [first, second, ..]) = (u64::try_from(start), self.blocks.as_slice())
        else {
            return false;
        };
        let end = start + u64::from(length);
        let apart = |block: &(u64, u64)| block.1 < start || end < block.0;
        start > self.next && apart(first) && apart(second)
    }

    /// Takes in data from `start` on, which may lie before the SYN; data outside the window is trimmed.
    pub(in crate::tcp) fn accept(&mut self, start: i64, payload: Payload) -> Arrival {
        let whole_end = start + i64::from(payload.length());
        let end = u64::try_from(whole_end).unwrap_or(0).min(self.window_end);
        let from = u64::try_from(start).unwrap_or(0).max(self.next);
        if from >= end {
            return Arrival::Nothing;
        }
        let before = (from as i64 - start) as u64;
        let payload = match end - from < u64::from(payload.length()) {
            true => payload.slice(before, before + (end - from)),
            false => payload,
        };
        if from > self.next {
            return self.keep_ahead(from, payload);
        }
        let filled = !self.pieces.is_empty();
        self.append(payload);
        if filled {
            self.join();
        }
        Arrival::InOrder { filled }
    }

    fn append(&mut self, payload: Payload) {
        let length = u64::from(payload.length());
        self.next += length;
        self.readable_bytes += length;
        if let Some(last) = self.readable.back_mut()
            && last.extend_pattern(&payload)
        {
            return;
        }
        self.readable.push_back(payload);
    }

    /// Moves the data that follows a closed gap into the data in order.
    fn join(&mut self) {
        while let Some((start, payload)) = self.pieces.pop_front() {
            if start > self.next {
                self.pieces.push_front((start, payload));
                break;
            }
            let end = start + u64::from(payload.length());
            if end > self.next {
                let skip = self.next - start;
                self.append(payload.slice(skip, end - start));
            }
        }
        let next = self.next;
        self.blocks.retain(|&(_, end)| end > next);
    }

    fn keep_ahead(&mut self, from: u64, payload: Payload) -> Arrival {
        let end = from + u64::from(payload.length());
        let touches = |&(s, e): &(u64, u64)| s <= end && from <= e;
        if self.blocks.iter().any(|&(s, e)| s <= from && end <= e) {
            self.bring_forward(from, end);
            return Arrival::Nothing;
        }
        let most = LEAST_BLOCKS.max((u64::from(self.buffer) / BUFFER_PER_BLOCK) as usize);
        if self.blocks.len() >= most && !self.blocks.iter().any(touches) {
            return Arrival::Scattered;
        }
        self.bring_forward(from, end);
        let mut position = from;
        let mut index = self
            .pieces
            .partition_point(|(s, p)| s + u64::from(p.length()) <= from);
        while position < end {
            let held = self
                .pieces
                .get(index)
                .map(|(s, p)| (*s, s + u64::from(p.length())));
            let gap_end = held.map_or(end, |(s, _)| s.min(end));
            if position < gap_end {
                let part = payload.clone().slice(position - from, gap_end - from);
                index = self.insert_piece(index, position, part);
            }
            position = held.map_or(end, |(_, e)| e).max(gap_end);
            index += 1;
        }
        Arrival::Ahead
    }

    /// Inserts a piece at `index`, or extends the piece before it; returns the index of the piece that now holds the
    /// data.
    fn insert_piece(&mut self, index: usize, start: u64, payload: Payload) -> usize {
        if let Some((before, held)) = index.checked_sub(1).and_then(|i| self.pieces.get_mut(i))
            && *before + u64::from(held.length()) == start
            && held.extend_pattern(&payload)
        {
            return index - 1;
        }
        self.pieces.insert(index, (start, payload));
        index
    }

    /// Joins the range with the blocks that it touches and moves the result to the front (RFC 2018 section 4).
    fn bring_forward(&mut self, start: u64, end: u64) {
        let (mut start, mut end) = (start, end);
        self.blocks.retain(|&(s, e)| {
            let apart = e < start || s > end;
            if !apart {
                start = start.min(s);
                end = end.max(e);
            }
            apart
        });
        self.blocks.insert(0, (start, end));
    }

    /// Copies the next data into `out` and drops it.
    pub(in crate::tcp) fn read(&mut self, out: &mut [u8]) -> usize {
        let mut filled = 0;
        while filled < out.len() {
            let Some(first) = self.readable.pop_front() else {
                break;
            };
            let count = (first.length() as usize).min(out.len() - filled);
            let target = &mut out[filled..filled + count];
            match &first {
                Payload::Bytes(bytes) => target.copy_from_slice(&bytes[..count]),
                Payload::Pattern { stream, offset, .. } => {
                    for (position, byte) in (*offset..).zip(target) {
                        *byte = pattern_byte(*stream, position);
                    }
                }
            }
            self.put_back(first, count as u64);
            filled += count;
        }
        self.readable_bytes -= filled as u64;
        filled
    }

    /// Drops up to `at_most` unread bytes.
    pub(in crate::tcp) fn discard(&mut self, at_most: u64) -> u64 {
        let mut gone = 0;
        while gone < at_most {
            let Some(first) = self.readable.pop_front() else {
                break;
            };
            let count = u64::from(first.length()).min(at_most - gone);
            self.put_back(first, count);
            gone += count;
        }
        self.readable_bytes -= gone;
        gone
    }

    /// Takes the next data, at most so many bytes, to pass on unchanged.
    pub(in crate::tcp) fn take(&mut self, at_most: u64) -> Option<Payload> {
        if at_most == 0 {
            return None;
        }
        let first = self.readable.pop_front()?;
        let length = u64::from(first.length());
        let taken = length.min(at_most);
        self.readable_bytes -= taken;
        if taken < length {
            self.readable.push_front(first.clone().slice(taken, length));
        }
        Some(first.slice(0, taken))
    }

    #[inline]
    fn put_back(&mut self, payload: Payload, consumed: u64) {
        let length = u64::from(payload.length());
        if consumed < length {
            self.readable.push_front(payload.slice(consumed, length));
        }
    }
}
