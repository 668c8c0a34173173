//! The receiver's side: what is there to be read, what waits for a gap to close, and the window.
//!
//! Positions are 64-bit distances from the peer's initial sequence number: 0 is its SYN, 1 its first byte.

use crate::packet::{Payload, pattern_byte};
use crate::wire::split_context::TcpContext;
use std::collections::VecDeque;

/// One disjoint range beyond a gap may be kept for so many bytes of the receive buffer, and [`LEAST_BLOCKS`]
/// in any case. What would make one more is dropped without an acknowledgment, so that a peer cannot make us
/// keep a list of single bytes. Every second segment lost, the worst that a full queue does, makes fewer.
const BUFFER_PER_BLOCK: u64 = 1024;
/// See [`BUFFER_PER_BLOCK`].
const LEAST_BLOCKS: usize = 256;

/// Received data and the window that is offered for more.
#[derive(Debug)]
pub(super) struct Receiver {
    /// Next position expected: "RCV.NXT".
    next: u64,
    /// End of the window as the peer was told it; never moves back.
    window_end: u64,
    buffer: u32,
    /// The window is no larger than this; `u32::MAX` where the buffer is the only bound.
    limit: u32,
    /// Shift of the window field in headers sent.
    window_shift: u8,
    /// The window is a number of whole segments.
    rounds: bool,
    /// The window as it was offered last.
    offered: u64,
    readable: VecDeque<Payload>,
    readable_bytes: u64,
    /// Data beyond a gap, ascending and disjoint.
    pieces: VecDeque<(u64, Payload)>,
    /// The ranges that `pieces` cover, most recently changed first: the SACK blocks.
    blocks: Vec<(u64, u64)>,
}

/// Fate of a segment's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// All of it was there before, or is outside the window.
    Nothing,
    /// It is the next in turn; `filled` tells whether it closed a gap, or part of one.
    InOrder { filled: bool },
    /// It came ahead of its turn.
    Ahead,
    /// It came ahead of its turn and was dropped: there are too many ranges already.
    Scattered,
}

impl Receiver {
    /// `bounds` in bytes: the buffer, and what the window does not exceed (see `linux/receive_window.rs`).
    pub(super) fn new(bounds: (u32, u32)) -> Receiver {
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

    /// Goes on with what another gateway has received.
    pub(super) fn resume(context: &TcpContext, bounds: (u32, u32)) -> Receiver {
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

    /// Tells another gateway, in a message to it, what was received.
    pub(super) fn write_context(&self, context: &mut TcpContext) {
        context.expected = self.next;
        context.window_end = self.window_end;
        context.receive_buffer = (self.buffer, self.limit);
        context.unread = self.readable.iter().cloned().collect();
        context.beyond_gap = self.pieces.iter().cloned().collect();
    }

    /// The shift to ask for: the smallest with which the whole buffer fits the field (RFC 7323 section 2.2).
    pub(super) fn wanted_shift(buffer: u32) -> u8 {
        (0..14)
            .find(|shift| buffer >> shift <= 0xFFFF)
            .unwrap_or(14)
    }

    pub(super) fn limit(&self) -> u32 {
        self.limit
    }

    /// Lets the window grow by up to `bytes`, as far as there is room; returns whether it may.
    pub(super) fn raise_limit(&mut self, bytes: u32) -> bool {
        let room = self.free().saturating_sub(u64::from(self.limit));
        let more = room.min(u64::from(bytes)) as u32;
        self.limit += more;
        more > 0
    }

    /// Sets the size of the buffer; the window that was offered stays offered.
    pub(super) fn set_buffer(&mut self, bytes: u32) {
        self.buffer = bytes;
    }

    /// Bytes from the next position expected to the end of what came ahead of its turn.
    pub(super) fn ahead(&self) -> u64 {
        let last = self.pieces.back();
        last.map_or(0, |(start, piece)| {
            start + u64::from(piece.length()) - self.next
        })
    }

    pub(super) fn set_window_shift(&mut self, shift: u8) {
        self.window_shift = shift;
    }

    /// The window is offered in whole segments from now on.
    pub(super) fn round_window(&mut self) {
        self.rounds = true;
    }

    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Bytes of the offered window that are still free: "RCV.WND".
    pub(super) fn window(&self) -> u64 {
        self.window_end - self.next
    }

    pub(super) fn readable_bytes(&self) -> u64 {
        self.readable_bytes
    }

    /// Ranges received beyond the first gap, most recent first.
    pub(super) fn blocks(&self) -> &[(u64, u64)] {
        &self.blocks
    }

    pub(super) fn memory(&self) -> usize {
        self.readable.capacity() * size_of::<Payload>()
            + self.pieces.capacity() * size_of::<(u64, Payload)>()
            + self.blocks.capacity() * size_of::<(u64, u64)>()
    }

    /// The peer's FIN takes one position.
    pub(super) fn take_fin(&mut self) {
        self.next += 1;
        self.window_end = self.window_end.max(self.next);
    }

    /// Bytes of the buffer that are not taken. A buffer that tunes itself counts what came ahead of its turn, too.
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

    /// The window without scaling, in whole segments (`__tcp_select_window`): as it was offered last, unless there is room for a
    /// segment more, or less room.
    fn rounded(&self, space: u64, segment_size: u32) -> u64 {
        let segment = u64::from(segment_size.min(self.buffer)).max(1);
        if self.offered + segment <= space || self.offered > space {
            space / segment * segment
        } else {
            self.offered
        }
    }

    /// Returns the place where the window could end now. By RFC 9293 section 3.8.6.2.2 it moves only by a useful
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

    /// The window field for a segment sent now, scaled by `shift` (none on a SYN).
    pub(super) fn advertise(&mut self, segment_size: u32, shift: u8) -> u16 {
        let kept = self.window_end;
        let end = self.possible_end(segment_size);
        let window = end - self.next;
        // Rounding down would take back what was offered; only growth is rounded down.
        let mut field = window >> shift;
        if self.next + (field << shift) < kept {
            field = (kept - self.next).div_ceil(1 << shift);
        }
        let field = field.min(0xFFFF);
        self.window_end = kept.max(self.next + (field << shift));
        self.offered = field << shift;
        field as u16
    }

    /// Returns true if reading has opened the window so far that the peer should be told without being asked: it has
    /// less than half a buffer left to send into, and would gain two segments or half a buffer; or less than one
    /// segment, and would gain one. Linux: half a buffer, and would gain as much again (`tcp_cleanup_rbuf`).
    pub(super) fn wants_update(&self, segment_size: u32) -> bool {
        let gain = self.possible_end(segment_size) - self.window_end;
        let (half, one) = (u64::from(self.buffer / 2), u64::from(segment_size));
        let left = self.window();
        if self.is_tuned() {
            return left <= half && gain > 0 && gain >= left;
        }
        gain > 0
            && ((left < half && gain >= (2 * one).min(half))
                || (left < one && gain >= one.min(half)))
    }

    /// Bytes that are here: to be read, or beyond a gap.
    pub(super) fn held(&self) -> u64 {
        let beyond = self.blocks.iter().map(|(start, end)| end - start);
        self.readable_bytes + beyond.sum::<u64>()
    }

    /// Bytes beyond a place, and beyond a gap.
    pub(super) fn held_beyond(&self, place: u64) -> u64 {
        let beyond = self
            .blocks
            .iter()
            .map(|&(start, end)| end.saturating_sub(start.max(place)));
        beyond.sum()
    }

    /// Bytes that are missing below the highest that has arrived.
    pub(super) fn missing(&self) -> u64 {
        let Some(end) = self.blocks.iter().map(|&(_, end)| end).max() else {
            return 0;
        };
        let held: u64 = self.blocks.iter().map(|&(start, end)| end - start).sum();
        end - self.next - held
    }

    /// Returns true if all of a range has been received.
    pub(super) fn holds(&self, start: i64, end: i64) -> bool {
        let position = |number: i64| u64::try_from(number).unwrap_or(0);
        let (start, end) = (position(start).max(self.next), position(end));
        end <= self.next || self.blocks.iter().any(|&(s, e)| s <= start && end <= e)
    }

    /// The first range that is here already, beyond the gap, of what comes: what a duplicate SACK reports (RFC 2883 section 4).
    pub(super) fn overlap(&self, start: i64, end: i64) -> Option<(u64, u64)> {
        let position = |number: i64| u64::try_from(number).unwrap_or(0);
        let (start, end) = (position(start), position(end));
        let common = self.blocks.iter().map(|&(s, e)| (s.max(start), e.min(end)));
        common.filter(|(from, to)| from < to).min()
    }

    /// Returns true if data beyond a gap starts a new block, or adds to an old one, and moves one of the two latest
    /// further down in the SACK option.
    pub(super) fn moves_blocks_down(&self, start: i64, length: u32) -> bool {
        let (Ok(start), [first, second, ..]) = (u64::try_from(start), self.blocks.as_slice())
        else {
            return false;
        };
        let end = start + u64::from(length);
        let apart = |block: &(u64, u64)| block.1 < start || end < block.0;
        start > self.next && apart(first) && apart(second)
    }

    /// Takes in data that starts at `start`, which may lie before the SYN; what lies outside the window is cut off.
    pub(super) fn accept(&mut self, start: i64, payload: Payload) -> Arrival {
        let whole_end = start + i64::from(payload.length());
        let end = u64::try_from(whole_end).unwrap_or(0).min(self.window_end);
        let from = u64::try_from(start).unwrap_or(0).max(self.next);
        if from >= end {
            return Arrival::Nothing;
        }
        let before = (from as i64 - start) as u64;
        let payload = payload.slice(before, before + (end - from));
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

    /// Moves over what follows directly after the gap that has closed.
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

    /// Inserts a piece at `index`, or lengthens the piece before it; returns the index of the piece that now
    /// holds it.
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

    /// Joins the range with the blocks that it touches and puts the result first (RFC 2018 section 4).
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

    /// Copies what is next into `out` and forgets it.
    pub(super) fn read(&mut self, out: &mut [u8]) -> usize {
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

    /// Forgets up to `at_most` bytes unread.
    pub(super) fn discard(&mut self, at_most: u64) -> u64 {
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

    /// Takes the next data, of at most so many bytes, to be handed on as it came.
    pub(super) fn take(&mut self, at_most: u64) -> Option<Payload> {
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

    fn put_back(&mut self, payload: Payload, consumed: u64) {
        let length = u64::from(payload.length());
        if consumed < length {
            self.readable.push_front(payload.slice(consumed, length));
        }
    }
}
