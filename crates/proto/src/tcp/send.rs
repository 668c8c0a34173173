//! The sender's two queues: what the application has written, and which segments of it are out.
//!
//! Positions are 64-bit distances from the initial sequence number: 0 is the SYN, 1 the first byte. They
//! do not wrap; only headers do.

use crate::packet::Payload;
use crate::time::Instant;
use std::collections::VecDeque;

/// Data that was written and is not yet acknowledged.
#[derive(Debug)]
pub(super) struct SendBuffer {
    content: Content,
    /// Bytes ever written.
    written: u64,
    /// Bytes acknowledged: what comes before is forgotten.
    released: u64,
    capacity: u64,
}

#[derive(Debug)]
enum Content {
    Unwritten,
    Pattern(u32),
    Bytes(VecDeque<u8>),
}

impl SendBuffer {
    pub(super) fn new(capacity: u32) -> SendBuffer {
        SendBuffer {
            content: Content::Unwritten,
            written: 0,
            released: 0,
            capacity: u64::from(capacity),
        }
    }

    pub(super) fn room(&self) -> u64 {
        self.capacity.saturating_sub(self.written - self.released)
    }

    pub(super) fn capacity(&self) -> u64 {
        self.capacity
    }

    pub(super) fn written(&self) -> u64 {
        self.written
    }

    /// Takes as many bytes as there is room for; none if a pattern was written before.
    pub(super) fn write(&mut self, bytes: &[u8]) -> usize {
        let taken = bytes
            .len()
            .min(usize::try_from(self.room()).unwrap_or(usize::MAX));
        if matches!(self.content, Content::Unwritten) {
            self.content = Content::Bytes(VecDeque::new());
        }
        let Content::Bytes(held) = &mut self.content else {
            return 0;
        };
        held.extend(&bytes[..taken]);
        self.written += taken as u64;
        taken
    }

    /// Takes as much of pattern `stream` as there is room for; none if something else was written before.
    pub(super) fn write_pattern(&mut self, stream: u32, length: u64) -> u64 {
        match self.content {
            Content::Unwritten => self.content = Content::Pattern(stream),
            Content::Pattern(written) if written == stream => {}
            _ => return 0,
        }
        let taken = length.min(self.room());
        self.written += taken;
        taken
    }

    /// The bytes from `offset` (zero is the first ever written) on.
    pub(super) fn payload(&self, offset: u64, length: u32) -> Payload {
        if length == 0 {
            return Payload::EMPTY;
        }
        match &self.content {
            Content::Unwritten => Payload::EMPTY,
            Content::Pattern(stream) => Payload::Pattern {
                stream: *stream,
                offset,
                length,
            },
            Content::Bytes(held) => {
                let first = (offset.saturating_sub(self.released) as usize).min(held.len());
                let last = (first + length as usize).min(held.len());
                Payload::Bytes(held.range(first..last).copied().collect())
            }
        }
    }

    /// Forgets what comes before `offset`.
    pub(super) fn release(&mut self, offset: u64) {
        let offset = offset.min(self.written);
        let Some(count) = offset.checked_sub(self.released) else {
            return;
        };
        if let Content::Bytes(held) = &mut self.content {
            held.drain(..(count as usize).min(held.len()));
        }
        self.released = offset;
    }
}

/// A segment that is out.
#[derive(Clone, Copy, Debug)]
pub(super) struct SentSegment {
    /// Position of its first byte (or of the FIN).
    pub(super) start: u64,
    /// Its length in sequence space: bytes, and one for a FIN.
    pub(super) length: u32,
    /// When it was last sent.
    pub(super) sent_at: Instant,
    /// The receiver has it, says SACK.
    pub(super) sacked: bool,
    /// Taken for lost.
    pub(super) lost: bool,
    /// Sent again since it was taken for lost: the copy is under way.
    pub(super) resent: bool,
    /// Sent more than once: useless for measuring the round-trip time (Karn).
    pub(super) retransmitted: bool,
}

impl SentSegment {
    pub(super) fn end(&self) -> u64 {
        self.start + u64::from(self.length)
    }

    fn is_waiting(&self) -> bool {
        self.lost && !self.sacked && !self.resent
    }

    /// This segment's share of "pipe" (RFC 6675 section 4): one for the original unless it is lost, one for
    /// the retransmission.
    fn in_pipe(&self) -> u64 {
        let copies = u64::from(!self.lost) + u64::from(self.resent);
        if self.sacked {
            0
        } else {
            copies * u64::from(self.length)
        }
    }
}

/// What a cumulative acknowledgment has taken off the queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Acknowledged {
    /// Sequence space acknowledged by this for the first time, SACKed parts left out.
    pub(super) newly: u64,
    /// Whether any of it was sent twice, so that no round-trip time follows.
    pub(super) retransmitted: bool,
    /// When the oldest segment was sent that was neither SACKed before nor cut.
    pub(super) oldest_sent_at: Option<Instant>,
}

/// Segments that are out, oldest first, with the scoreboard of RFC 6675.
#[derive(Debug, Default)]
pub(super) struct SentQueue {
    segments: VecDeque<SentSegment>,
    pipe: u64,
    sacked: u64,
    /// End of the highest segment that is SACKed.
    highest_sacked: u64,
    /// All that is not SACKed below this is marked as lost.
    lost_below: u64,
    /// Segments that are lost and wait to be resent.
    waiting: usize,
    /// None of them lies below this.
    resend_from: u64,
    /// Blocks of the latest SACK options, all of them in the scoreboard: a block that has grown is not walked
    /// from its start again.
    known_blocks: [(u64, u64); 4],
}

impl SentQueue {
    pub(super) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    pub(super) fn first(&self) -> Option<&SentSegment> {
        self.segments.front()
    }

    pub(super) fn get(&self, index: usize) -> Option<&SentSegment> {
        self.segments.get(index)
    }

    /// Bytes that RFC 6675 takes to be in the network.
    pub(super) fn pipe(&self) -> u64 {
        self.pipe
    }

    pub(super) fn sacked(&self) -> u64 {
        self.sacked
    }

    pub(super) fn memory(&self) -> usize {
        self.segments.capacity() * size_of::<SentSegment>()
    }

    /// Gives back the room of segments that are no longer out.
    pub(super) fn shrink(&mut self) {
        self.segments.shrink_to_fit();
    }

    pub(super) fn push(&mut self, start: u64, length: u32, now: Instant) {
        self.segments.push_back(SentSegment {
            start,
            length,
            sent_at: now,
            sacked: false,
            lost: false,
            resent: false,
            retransmitted: false,
        });
        self.pipe += u64::from(length);
    }

    /// Changes a segment and keeps the sums right.
    fn update(&mut self, index: usize, change: impl FnOnce(&mut SentSegment)) {
        let Some(segment) = self.segments.get_mut(index) else {
            return;
        };
        let before = *segment;
        change(segment);
        let after = *segment;
        self.pipe = self.pipe + after.in_pipe() - before.in_pipe();
        self.waiting =
            self.waiting + usize::from(after.is_waiting()) - usize::from(before.is_waiting());
        if before.sacked {
            self.sacked -= u64::from(before.length);
        }
        if after.sacked {
            self.sacked += u64::from(after.length);
        }
    }

    /// Takes off all that lies before `position`, calling `each` for whole segments that were not SACKed before.
    pub(super) fn acknowledge(
        &mut self,
        position: u64,
        mut each: impl FnMut(&SentSegment),
    ) -> Acknowledged {
        let mut result = Acknowledged::default();
        while let Some(first) = self.segments.front().copied() {
            if first.start >= position {
                break;
            }
            let covered = first.end().min(position) - first.start;
            if !first.sacked {
                result.newly += covered;
                result.retransmitted |= first.retransmitted;
            }
            if first.end() <= position {
                if !first.sacked {
                    result.oldest_sent_at.get_or_insert(first.sent_at);
                    each(&first);
                }
                self.update(0, |segment| {
                    segment.length = 0;
                    segment.lost = false;
                });
                self.segments.pop_front();
            } else {
                self.update(0, |segment| {
                    segment.start = position;
                    segment.length -= covered as u32;
                });
            }
        }
        result
    }

    /// Index of the first segment that starts at `position` or later.
    fn index_from(&self, position: u64) -> usize {
        self.segments
            .partition_point(|segment| segment.start < position)
    }

    /// Enters the blocks of a SACK option, each as start and end. Returns the bytes that were news.
    pub(super) fn mark_sacked(&mut self, blocks: &[(u64, u64)]) -> u64 {
        let before = self.sacked;
        for &(start, end) in blocks {
            let mut from = start;
            for (known_start, known_end) in self.known_blocks {
                if known_start <= from && from < known_end {
                    from = known_end;
                }
            }
            let mut index = self.index_from(from);
            while let Some(segment) = self.segments.get(index) {
                let segment_end = segment.end();
                if segment_end > end {
                    break;
                }
                if !segment.sacked {
                    self.update(index, |segment| segment.sacked = true);
                    self.highest_sacked = self.highest_sacked.max(segment_end);
                }
                index += 1;
            }
        }
        if self.sacked > before {
            let mut known = [(0, 0); 4];
            for (slot, &(start, end)) in known.iter_mut().zip(blocks) {
                // Only whole segments were entered: the last one of a block may be in part.
                let last = self.index_from(end).checked_sub(1);
                *slot = match last.and_then(|last| self.segments.get(last)) {
                    Some(last) if last.end() > end => (start, last.start),
                    _ => (start, end),
                };
            }
            self.known_blocks = known;
        }
        self.sacked - before
    }

    /// RFC 6675 section 4, "IsLost": marks every segment with `threshold` separate SACKed runs, or more than
    /// (`threshold` − 1) full segments of SACKed bytes, above it. Returns whether the oldest is lost.
    pub(super) fn mark_lost(&mut self, threshold: u32, segment_size: u32) -> bool {
        let enough = u64::from(threshold.saturating_sub(1)) * u64::from(segment_size);
        let (mut runs, mut bytes, mut in_run) = (0, 0, false);
        let mut index = self.index_from(self.highest_sacked);
        let mut edge = None;
        while index > 0 {
            index -= 1;
            let segment = &self.segments[index];
            if segment.end() <= self.lost_below {
                break;
            }
            if segment.sacked {
                runs += u32::from(!in_run);
                bytes += u64::from(segment.length);
            } else if runs >= threshold || bytes > enough {
                edge = Some(segment.end());
                break;
            }
            in_run = segment.sacked;
        }
        if let Some(edge) = edge {
            let mut index = self.index_from(self.lost_below);
            while self.segments.get(index).is_some_and(|s| s.end() <= edge) {
                self.mark_one_lost(index);
                index += 1;
            }
            self.lost_below = edge;
        }
        self.first().is_some_and(|first| first.lost)
    }

    fn mark_one_lost(&mut self, index: usize) {
        let Some(segment) = self.segments.get(index) else {
            return;
        };
        if segment.sacked || segment.lost {
            return;
        }
        self.resend_from = self.resend_from.min(segment.start);
        self.update(index, |segment| segment.lost = true);
    }

    /// Takes the oldest segment for lost, even if a retransmission of it is under way.
    pub(super) fn mark_first_lost(&mut self) {
        self.update(0, |segment| {
            segment.lost = true;
            segment.resent = false;
        });
        self.resend_from = 0;
    }

    /// After a timeout: whatever the receiver is not known to have is lost. If it had SACKed the oldest
    /// segment and does not acknowledge it, it has reneged, and the scoreboard is worth nothing (RFC 2018
    /// section 8).
    pub(super) fn mark_all_lost(&mut self) {
        let reneged = self.first().is_some_and(|first| first.sacked);
        for index in 0..self.segments.len() {
            self.update(index, |segment| {
                segment.sacked &= !reneged;
                segment.lost = true;
                segment.resent = false;
            });
        }
        if reneged {
            self.highest_sacked = 0;
            self.known_blocks = [(0, 0); 4];
        }
        self.resend_from = 0;
        self.lost_below = self.segments.back().map_or(0, SentSegment::end);
    }

    /// A smaller path MTU: what is longer than `length` was dropped on its way.
    pub(super) fn mark_longer_lost(&mut self, length: u32) {
        for index in 0..self.segments.len() {
            if self.segments[index].length > length && !self.segments[index].sacked {
                self.update(index, |segment| {
                    segment.lost = true;
                    segment.resent = false;
                });
            }
        }
        self.resend_from = 0;
    }

    /// RFC 6675 "NextSeg" rule 1: the oldest lost segment that was not sent again since.
    pub(super) fn next_lost(&mut self) -> Option<usize> {
        if self.waiting == 0 {
            return None;
        }
        let from = self.index_from(self.resend_from);
        let offset = self
            .segments
            .range(from..)
            .position(SentSegment::is_waiting)?;
        self.resend_from = self.segments[from + offset].start;
        Some(from + offset)
    }

    /// RFC 6675 "NextSeg" rule 3: the oldest segment below the highest SACKed one that was not sent again.
    pub(super) fn next_hole(&self) -> Option<usize> {
        let from = self.index_from(self.lost_below);
        self.segments
            .range(from..)
            .take_while(|segment| segment.end() <= self.highest_sacked)
            .position(|segment| !segment.sacked && !segment.resent)
            .map(|offset| from + offset)
    }

    /// RFC 6675 "NextSeg" rule 4: the last segment that is out, for the rescue retransmission.
    pub(super) fn last_missing(&self) -> Option<usize> {
        self.segments.iter().rposition(|segment| !segment.sacked)
    }

    /// Notes that a segment is sent again, cut to `length` if it is longer; the rest stays lost.
    pub(super) fn resend(&mut self, index: usize, length: u32, now: Instant) {
        let Some(segment) = self.segments.get(index).copied() else {
            return;
        };
        if length < segment.length {
            self.update(index, |segment| segment.length = length);
            let mut rest = segment;
            rest.start += u64::from(length);
            rest.length -= length;
            self.pipe += rest.in_pipe();
            self.waiting += usize::from(rest.is_waiting());
            self.segments.insert(index + 1, rest);
        }
        self.update(index, |segment| {
            segment.resent = true;
            segment.retransmitted = true;
            segment.sent_at = now;
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `count` segments of `length` bytes from position 1 on.
    fn queue(count: u64, length: u32) -> SentQueue {
        let mut queue = SentQueue::default();
        for index in 0..count {
            queue.push(1 + index * u64::from(length), length, Instant::ZERO);
        }
        queue
    }

    fn lost(queue: &SentQueue) -> Vec<u64> {
        let lost = queue.segments.iter().filter(|segment| segment.lost);
        lost.map(|segment| segment.start).collect()
    }

    #[test]
    fn three_separate_runs_above_make_a_segment_lost() {
        // RFC 6675 section 4: small segments never hold two full segments' bytes; the runs count.
        let mut queue = queue(10, 100);
        queue.mark_sacked(&[(101, 201), (301, 401)]);
        assert!(!queue.mark_lost(3, 1_000));
        queue.mark_sacked(&[(501, 601)]);
        assert!(queue.mark_lost(3, 1_000));
        assert_eq!(lost(&queue), [1]);
        queue.mark_sacked(&[(701, 801)]);
        queue.mark_lost(3, 1_000);
        assert_eq!(lost(&queue), [1, 201]);
        // One long run instead: 2 · 1000 bytes are not more than two full segments, 2001 are.
        let mut queue = self::queue(40, 100);
        queue.mark_sacked(&[(101, 2_101)]);
        assert!(!queue.mark_lost(3, 1_000));
        queue.mark_sacked(&[(101, 2_201)]);
        assert!(queue.mark_lost(3, 1_000));
    }

    #[test]
    fn the_pipe_counts_as_rfc_6675_says() {
        let mut queue = queue(5, 100);
        assert_eq!(queue.pipe(), 500);
        queue.mark_sacked(&[(201, 501)]);
        assert_eq!(queue.pipe(), 200);
        queue.mark_first_lost();
        assert_eq!(queue.pipe(), 100);
        // Lost and sent again counts once; sent again without being lost counts twice.
        queue.resend(0, 100, Instant::ZERO);
        assert_eq!(queue.pipe(), 200);
        queue.resend(1, 100, Instant::ZERO);
        assert_eq!(queue.pipe(), 300);
        let acknowledged = queue.acknowledge(151, |_| {});
        assert_eq!(
            (acknowledged.newly, acknowledged.retransmitted),
            (150, true)
        );
        assert_eq!(queue.pipe(), 100);
        queue.acknowledge(501, |_| {});
        assert_eq!(
            (queue.pipe(), queue.sacked(), queue.is_empty()),
            (0, 0, true)
        );
    }

    #[test]
    fn a_block_covers_whole_segments_only_and_may_grow_over_the_rest() {
        let mut queue = queue(5, 100);
        assert_eq!(queue.mark_sacked(&[(101, 250)]), 100);
        assert_eq!(queue.mark_sacked(&[(101, 250)]), 0);
        assert_eq!(queue.mark_sacked(&[(101, 401)]), 200);
        assert_eq!(queue.mark_sacked(&[(150, 501)]), 100);
        assert_eq!(queue.sacked(), 400);
    }

    #[test]
    fn bytes_are_kept_until_they_are_acknowledged() {
        let mut buffer = SendBuffer::new(10);
        assert_eq!(buffer.write(b"hello, world"), 10);
        assert_eq!(buffer.payload(7, 3), Payload::Bytes((*b"wor").into()));
        buffer.release(5);
        assert_eq!(buffer.room(), 5);
        assert_eq!(buffer.write(b"ld"), 2);
        assert_eq!(buffer.payload(7, 5), Payload::Bytes((*b"world").into()));
        buffer.release(3);
        assert_eq!(buffer.room(), 3, "never backwards");
    }
}
