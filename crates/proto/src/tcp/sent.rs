//! Segments in flight, with the scoreboard of RFC 6675. Positions are those of `send.rs`.

use crate::time::{Duration, Instant};
use crate::wire::split_context::OutstandingSegment;
use std::collections::VecDeque;

/// A segment in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct SentSegment {
    /// Position of the first byte (or of the FIN).
    pub(super) start: u64,
    /// Length in sequence space: bytes, and one for a FIN.
    pub(super) length: u32,
    /// Time of its last transmission.
    pub(super) sent_at: Instant,
    /// True if SACKed.
    pub(super) sacked: bool,
    /// True if considered lost.
    pub(super) lost: bool,
    /// True if retransmitted since it was considered lost.
    pub(super) resent: bool,
    /// True if sent more than once, which excludes it from RTT samples (Karn).
    pub(super) retransmitted: bool,
    /// True if it ended the written data when it was first sent, or was pushed for another reason: a kernel pushes it
    /// again (`tcp_mark_push`).
    pub(super) pushed: bool,
    /// True if a kernel stores it apart from the previous one: see [`SentQueue::pieces`].
    begins_piece: bool,
}

impl SentSegment {
    pub(super) fn end(&self) -> u64 {
        self.start + u64::from(self.length)
    }

    /// Returns true if it is in flight, as far as anything is known.
    fn is_undisturbed(&self) -> bool {
        !(self.sacked || self.lost || self.resent)
    }

    fn is_waiting(&self) -> bool {
        self.lost && !self.sacked && !self.resent
    }

    /// Returns this segment's share of "pipe" (RFC 6675 section 4): one for the original unless it is lost, one for the
    /// retransmission.
    fn in_pipe(&self) -> u64 {
        let copies = u64::from(!self.lost) + u64::from(self.resent);
        if self.sacked {
            0
        } else {
            copies * u64::from(self.length)
        }
    }
}

/// Numbers of segments by mark; a SACKed segment counts in no other number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SegmentCounts {
    /// Segments delivered according to duplicate or selective ACKs.
    pub sacked: u32,
    /// Segments considered lost, retransmitted or not.
    pub lost: u32,
    /// Retransmissions in flight.
    pub resent: u32,
}

impl SegmentCounts {
    fn add(&mut self, segment: &SentSegment) {
        self.sacked += u32::from(segment.sacked);
        self.lost += u32::from(segment.lost && !segment.sacked);
        self.resent += u32::from(segment.resent && !segment.sacked);
    }

    fn remove(&mut self, segment: &SentSegment) {
        self.sacked -= u32::from(segment.sacked);
        self.lost -= u32::from(segment.lost && !segment.sacked);
        self.resent -= u32::from(segment.resent && !segment.sacked);
    }
}

/// Segments that a cumulative ACK has removed from the queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Acknowledged {
    /// Sequence space newly acknowledged, without SACKed parts.
    pub(super) newly: u64,
    /// True if any of it was sent twice, so that it gives no RTT sample.
    pub(super) retransmitted: bool,
    /// True if any of it was sent twice, SACKed parts included.
    pub(super) repeated: bool,
    /// Whole segments, SACKed ones included.
    pub(super) segments: u32,
    /// Sending time of the oldest segment that was neither SACKed before nor cut.
    pub(super) oldest_sent_at: Option<Instant>,
}

/// Segments in flight, oldest first, with the scoreboard of RFC 6675.
#[derive(Debug, Default)]
pub(super) struct SentQueue {
    segments: VecDeque<SentSegment>,
    pipe: u64,
    sacked: u64,
    /// End of the highest SACKed segment.
    highest_sacked: u64,
    /// Position below which all segments that are not SACKed are marked lost.
    lost_below: u64,
    /// Lost segments that wait for retransmission.
    waiting: usize,
    pieces: usize,
    counts: SegmentCounts,
    /// Lower bound of the positions of segments that wait.
    resend_from: u64,
    /// End of the data that may have arrived: it is not retransmitted before the next ACK.
    doubted_below: u64,
    /// Blocks of the latest SACK options, all of them in the scoreboard: a block that has grown is not processed from
    /// its start again.
    known_blocks: [(u64, u64); 4],
    by_time: ByTime,
}

/// Order of transmission, for RFC 8985: originals in the order of their positions, retransmissions apart.
#[derive(Debug, Default)]
struct ByTime {
    /// Lower bound of the positions of originals to examine.
    from: u64,
    /// Sending times of retransmissions, and their positions; some have arrived or were retransmitted since.
    copies: VecDeque<(Instant, u64)>,
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

    /// Returns the number of bytes in the network by RFC 6675.
    pub(super) fn pipe(&self) -> u64 {
        self.pipe
    }

    pub(super) fn sacked(&self) -> u64 {
        self.sacked
    }

    pub(super) fn counts(&self) -> SegmentCounts {
        self.counts
    }

    /// Returns the number of pieces of several segments each in which a kernel stores the data in flight. Adjacent
    /// SACKed pieces are merged (`tcp_shift_skb_data`), and partly SACKed ones are split (`tcp_fragment`).
    pub(super) fn pieces(&self) -> usize {
        self.pieces
    }

    /// Begins a piece with the segment at `index`.
    pub(super) fn begin_piece(&mut self, index: usize) {
        let before = self.pieces_at(index);
        if let Some(segment) = self.segments.get_mut(index) {
            segment.begins_piece = true;
        }
        self.pieces = self.pieces + self.pieces_at(index) - before;
    }

    /// Returns one if a piece begins with the segment at `index`.
    fn pieces_at(&self, index: usize) -> usize {
        let Some(segment) = self.segments.get(index) else {
            return 0;
        };
        let Some(before) = index.checked_sub(1).and_then(|i| self.segments.get(i)) else {
            return 1;
        };
        let begins = segment.sacked != before.sacked || !segment.sacked && segment.begins_piece;
        usize::from(begins)
    }

    /// Returns the number of segments in flight.
    pub(super) fn len(&self) -> usize {
        self.segments.len()
    }

    pub(super) fn highest_sacked(&self) -> u64 {
        self.highest_sacked
    }

    pub(super) fn memory(&self) -> usize {
        self.segments.capacity() * size_of::<SentSegment>()
    }

    /// Frees the memory of segments no longer in flight.
    pub(super) fn shrink(&mut self) {
        self.segments.shrink_to_fit();
    }

    pub(super) fn push(&mut self, start: u64, length: u32, now: Instant) {
        let begins_piece = self.segments.back().is_none_or(|last| last.sacked);
        self.pieces += usize::from(begins_piece);
        self.segments.push_back(SentSegment {
            start,
            length,
            sent_at: now,
            sacked: false,
            lost: false,
            resent: false,
            retransmitted: false,
            pushed: false,
            begins_piece: false,
        });
        self.pipe += u64::from(length);
    }

    /// Returns the segments in flight, for a message to another gateway.
    pub(super) fn context(&self, now: Instant) -> Vec<OutstandingSegment> {
        let told = |segment: &SentSegment| OutstandingSegment {
            length: segment.length,
            age: now.saturating_since(segment.sent_at),
            sacked: segment.sacked,
            lost: segment.lost,
            resent: segment.resent,
            retransmitted: segment.retransmitted,
        };
        self.segments.iter().map(told).collect()
    }

    /// Resumes with segments sent by another gateway, from position `start` on. `sent_at` converts a segment's age to
    /// its sending time.
    pub(super) fn resume(
        mut start: u64,
        outstanding: &[OutstandingSegment],
        sent_at: impl Fn(Duration) -> Instant,
    ) -> SentQueue {
        let mut queue = SentQueue::default();
        for (index, told) in outstanding.iter().enumerate() {
            let at = sent_at(told.age);
            queue.push(start, told.length, at);
            queue.update(index, |segment| {
                segment.sacked = told.sacked;
                segment.lost = told.lost;
                segment.resent = told.resent;
                segment.retransmitted = told.retransmitted;
            });
            if told.retransmitted && !told.sacked {
                queue.by_time.copies.push_back((at, start));
            }
            start += u64::from(told.length);
            if told.sacked {
                queue.highest_sacked = start;
            }
        }
        queue.by_time.copies.make_contiguous().sort_unstable();
        queue
    }

    /// Marks the last segment sent as pushed.
    pub(super) fn push_last(&mut self) {
        if let Some(last) = self.segments.back_mut() {
            last.pushed = true;
        }
    }

    /// Returns true if the segment at `index`, retransmitted now, is the last of several of one piece that a kernel
    /// retransmits as one, if another may follow.
    pub(super) fn ends_repairs(&self, index: usize, now: Instant, may_go_on: bool) -> bool {
        let joins = |index: usize| {
            let segment = self.segments.get(index);
            segment.filter(|segment| !segment.begins_piece)
        };
        let before = index.checked_sub(1).and_then(|i| self.segments.get(i));
        let follows = before.is_some_and(|before| before.resent && before.sent_at == now);
        let goes_on = may_go_on && joins(index + 1).is_some_and(SentSegment::is_waiting);
        follows && joins(index).is_some() && !goes_on
    }

    /// Excludes the oldest segment from RTT samples.
    pub(super) fn distrust_timing_of_first(&mut self) {
        self.update(0, |segment| segment.retransmitted = true);
    }

    /// Changes a segment and updates the sums.
    fn update(&mut self, index: usize, change: impl FnOnce(&mut SentSegment)) {
        let Some(segment) = self.segments.get_mut(index) else {
            return;
        };
        let before = *segment;
        change(segment);
        let after = *segment;
        if before.sacked != after.sacked {
            self.count_pieces_around(index, before.sacked);
        }
        self.counts.remove(&before);
        self.counts.add(&after);
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

    /// Updates the count of pieces after a change of the segment at `index`, which was SACKed before if `was_sacked`.
    fn count_pieces_around(&mut self, index: usize, was_sacked: bool) {
        let is_sacked = self.segments[index].sacked;
        let around = |queue: &SentQueue| queue.pieces_at(index) + queue.pieces_at(index + 1);
        let after = around(self);
        self.segments[index].sacked = was_sacked;
        let before = around(self);
        self.segments[index].sacked = is_sacked;
        self.pieces = self.pieces + after - before;
    }

    /// Removes the oldest segment from the queue and the sums.
    fn forget_first(&mut self) {
        // The next segment becomes the first, which begins a piece.
        self.pieces -= match self.segments.len() {
            1 => 1,
            _ => self.pieces_at(1),
        };
        let Some(segment) = &self.segments.pop_front() else {
            return;
        };
        if segment.is_undisturbed() {
            self.pipe -= u64::from(segment.length);
            return;
        }
        self.counts.remove(segment);
        self.pipe -= segment.in_pipe();
        self.waiting -= usize::from(segment.is_waiting());
        if segment.sacked {
            self.sacked -= u64::from(segment.length);
        }
    }

    /// Removes all segments before `position`, calling `each` for whole segments that were not SACKed before.
    pub(super) fn acknowledge(
        &mut self,
        position: u64,
        mut each: impl FnMut(&SentSegment),
    ) -> Acknowledged {
        let mut result = Acknowledged::default();
        self.end_doubt();
        while let Some(first) = self.segments.front() {
            if first.start >= position {
                break;
            }
            let covered = first.end().min(position) - first.start;
            result.repeated |= first.retransmitted;
            if !first.sacked {
                result.newly += covered;
                result.retransmitted |= first.retransmitted;
            }
            if first.end() <= position {
                if !first.sacked {
                    result.oldest_sent_at.get_or_insert(first.sent_at);
                    each(first);
                }
                result.segments += 1;
                self.forget_first();
            } else {
                self.update(0, |segment| {
                    segment.start = position;
                    segment.length -= covered as u32;
                });
            }
        }
        result
    }

    /// Returns the index of the first segment that starts at `position` or later.
    fn index_from(&self, position: u64) -> usize {
        self.segments
            .partition_point(|segment| segment.start < position)
    }

    /// Marks the blocks of a SACK option, each as start and end, calling `each` with every newly SACKed segment in its
    /// previous state. Returns the newly SACKed bytes.
    pub(super) fn mark_sacked(
        &mut self,
        blocks: &[(u64, u64)],
        mut each: impl FnMut(&SentSegment),
    ) -> u64 {
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
                    each(segment);
                    self.update(index, |segment| segment.sacked = true);
                    self.highest_sacked = self.highest_sacked.max(segment_end);
                }
                index += 1;
            }
        }
        if self.sacked > before {
            self.end_doubt();
            let mut known = [(0, 0); 4];
            for (slot, &(start, end)) in known.iter_mut().zip(blocks) {
                // Only whole segments were marked: the last one of a block may be partial.
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

    /// Marks every segment lost that has `threshold` separate SACKed runs, or more than (`threshold` − 1) full segments
    /// of SACKed bytes, above it (RFC 6675 section 4, "IsLost"). Returns true if the oldest is lost.
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

    /// Marks segments lost of which at least half lies in `hole`, which the receiver lacks, except those retransmitted
    /// within `patience`. Returns true if any is.
    pub(super) fn mark_hole_lost(
        &mut self,
        (start, end): (u64, u64),
        now: Instant,
        patience: Duration,
    ) -> bool {
        let mut any = false;
        let mut index = self.index_from(start);
        while let Some(segment) = self.segments.get(index).copied() {
            let middle = segment.start + u64::from(segment.length) / 2;
            if middle >= end {
                break;
            }
            let repeated = segment.resent && now.saturating_since(segment.sent_at) <= patience;
            if middle >= start && !segment.sacked && !segment.is_waiting() && !repeated {
                self.resend_from = self.resend_from.min(segment.start);
                self.update(index, |segment| {
                    segment.lost = true;
                    segment.resent = false;
                });
                any = true;
            }
            index += 1;
        }
        any
    }

    /// Marks the oldest segment lost, even if a retransmission of it is in flight.
    pub(super) fn mark_first_lost(&mut self) {
        self.update(0, |segment| {
            segment.lost = true;
            segment.resent = false;
        });
        self.resend_from = 0;
    }

    /// Marks all segments lost after a timeout, except the delivered ones. If the receiver had SACKed the oldest
    /// segment and does not acknowledge it, it has reneged, and the scoreboard is discarded (RFC 2018 section 8).
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
        (self.resend_from, self.doubted_below) = (0, 0);
        self.lost_below = self.segments.back().map_or(0, SentSegment::end);
    }

    /// Puts the loss of the oldest segments in doubt, as far as their sending times make their arrival likely. The last
    /// one is excluded, since something must elicit an ACK.
    pub(super) fn doubt_loss(&mut self, may_have_arrived: impl Fn(Instant) -> bool) {
        let lost = |segment: &&SentSegment| !may_have_arrived(segment.sent_at);
        let first_lost = self.segments.iter().find(lost);
        let first_lost = first_lost.or_else(|| self.segments.back());
        self.doubted_below = first_lost.map_or(0, |segment| segment.start);
    }

    fn end_doubt(&mut self) {
        if core::mem::take(&mut self.doubted_below) > 0 {
            self.resend_from = 0;
        }
    }

    /// Marks segments longer than `length` lost, after a reduction of the path MTU.
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

    /// Returns the oldest lost segment that was not retransmitted since (RFC 6675 "NextSeg" rule 1).
    pub(super) fn next_lost(&mut self) -> Option<usize> {
        if self.waiting == 0 {
            return None;
        }
        let from = self.index_from(self.resend_from.max(self.doubted_below));
        let offset = self
            .segments
            .range(from..)
            .position(SentSegment::is_waiting)?;
        self.resend_from = self.segments[from + offset].start;
        Some(from + offset)
    }

    /// Returns the oldest segment below the highest SACKed one that was not retransmitted (RFC 6675 "NextSeg" rule 3).
    pub(super) fn next_hole(&self) -> Option<usize> {
        let from = self.index_from(self.lost_below);
        self.segments
            .range(from..)
            .take_while(|segment| segment.end() <= self.highest_sacked)
            .position(|segment| !segment.sacked && !segment.resent)
            .map(|offset| from + offset)
    }

    /// Returns the last segment in flight, for the rescue retransmission (RFC 6675 "NextSeg" rule 4).
    pub(super) fn last_missing(&self) -> Option<usize> {
        self.segments.iter().rposition(|segment| !segment.sacked)
    }

    /// Notes the retransmission of a segment, trimmed to `length` if it is longer; the rest stays lost.
    pub(super) fn resend(&mut self, index: usize, length: u32, now: Instant) {
        self.cut(index, length);
        self.update(index, |segment| {
            segment.resent = true;
            segment.retransmitted = true;
            segment.sent_at = now;
        });
    }

    /// Splits a segment longer than `length`; the rest keeps its state.
    fn cut(&mut self, index: usize, length: u32) {
        let Some(segment) = self.segments.get(index).copied() else {
            return;
        };
        if length >= segment.length {
            return;
        }
        self.update(index, |segment| {
            segment.length = length;
            segment.pushed = false;
        });
        let mut rest = segment;
        rest.start += u64::from(length);
        rest.length -= length;
        self.counts.add(&rest);
        self.pipe += rest.in_pipe();
        self.waiting += usize::from(rest.is_waiting());
        if rest.sacked {
            self.sacked += u64::from(rest.length);
        }
        self.segments.insert(index + 1, rest);
        self.pieces += self.pieces_at(index + 1);
    }
}

/// Loss detection by time, as in RFC 8985 and Linux.
impl SentQueue {
    /// Remembers the retransmission of the segment at `start` now.
    pub(super) fn follow_copy(&mut self, start: u64, now: Instant) {
        self.by_time.copies.push_back((now, start));
    }

    /// Retransmits the last segment as a probe, which neither is lost nor repairs a loss; trimmed to `length` if it is
    /// longer.
    pub(super) fn probe_last(&mut self, length: u32, now: Instant) {
        let Some(index) = self.segments.len().checked_sub(1) else {
            return;
        };
        self.cut(index, length);
        if let Some(last) = self.segments.get_mut(index) {
            last.sent_at = now;
            last.retransmitted = true;
        }
    }

    /// Marks segments lost that were sent before `latest`, given by time and end, if `left` returns no time left for
    /// them. Returns the count, and the longest time left for another.
    pub(super) fn mark_lost_by_time(
        &mut self,
        latest: (Instant, u64),
        left: impl Fn(Instant) -> Option<Duration>,
    ) -> (u32, Option<Duration>) {
        let copies = self.mark_copies_lost(latest, &left);
        let (mut lost, mut wait) = (copies.0, copies.1);
        let mut waiting_from = None;
        let mut index = self.index_from(self.by_time.from);
        while let Some(segment) = self.segments.get(index).copied() {
            let judged = segment.sacked || segment.lost || segment.retransmitted;
            if !judged {
                if (segment.sent_at, segment.end()) >= latest {
                    break;
                }
                match left(segment.sent_at) {
                    None => {
                        self.mark_one_lost(index);
                        lost += 1;
                    }
                    some => {
                        waiting_from.get_or_insert(segment.start);
                        wait = wait.max(some);
                    }
                }
            }
            index += 1;
        }
        let reached = self.segments.get(index).map(|segment| segment.start);
        let end = self.segments.back().map_or(0, SentSegment::end);
        self.by_time.from = waiting_from.or(reached).unwrap_or(end);
        (lost, wait)
    }

    fn mark_copies_lost(
        &mut self,
        latest: (Instant, u64),
        left: &impl Fn(Instant) -> Option<Duration>,
    ) -> (u32, Option<Duration>) {
        let (mut lost, mut wait) = (0, None);
        let mut place = 0;
        while let Some(&(sent_at, start)) = self.by_time.copies.get(place) {
            let index = self.segments.partition_point(|s| s.end() <= start);
            let copy = self.segments.get(index).filter(|segment| {
                let out = segment.resent || !segment.lost;
                segment.sent_at == sent_at && segment.retransmitted && !segment.sacked && out
            });
            let Some(end) = copy.map(SentSegment::end) else {
                self.by_time.copies.remove(place);
                continue;
            };
            if (sent_at, end) >= latest {
                break;
            }
            match left(sent_at) {
                None => {
                    self.mark_again_lost(index);
                    self.by_time.copies.remove(place);
                    lost += 1;
                }
                some => {
                    wait = wait.max(some);
                    place += 1;
                }
            }
        }
        (lost, wait)
    }

    fn mark_again_lost(&mut self, index: usize) {
        self.resend_from = self.resend_from.min(self.segments[index].start);
        self.update(index, |segment| {
            segment.lost = true;
            segment.resent = false;
        });
    }

    /// Marks segments lost after a timeout: the oldest one, and all others whose sending times are `overdue`. Detects
    /// reneging as [`mark_all_lost`](Self::mark_all_lost) does. Returns the number of segments marked.
    pub(super) fn mark_timed_out(&mut self, overdue: impl Fn(Instant) -> bool) -> u32 {
        if self.first().is_some_and(|first| first.sacked) {
            self.mark_all_lost();
            return self.counts.lost;
        }
        let mut marked = 0;
        for index in 0..self.segments.len() {
            let segment = self.segments[index];
            if segment.sacked || index > 0 && !overdue(segment.sent_at) {
                continue;
            }
            marked += u32::from(!segment.lost || segment.resent);
            self.mark_again_lost(index);
        }
        marked
    }

    /// Removes all marks of loss after a spurious detection. Segments found lost by time are examined `again` or, as in
    /// Linux, only once they were retransmitted: marking removes them from the list ordered by time
    /// (`tcp_tsorted_anchor`), and nothing restores them.
    pub(super) fn unmark_lost(&mut self, again: bool) {
        for index in 0..self.segments.len() {
            self.update(index, |segment| segment.lost = false);
        }
        self.lost_below = 0;
        if again {
            self.by_time.from = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns `count` segments of `length` bytes from position 1 on.
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
        // RFC 6675 section 4: small segments never have two full segments' bytes; the runs count.
        let mut queue = queue(10, 100);
        queue.mark_sacked(&[(101, 201), (301, 401)], |_| {});
        assert!(!queue.mark_lost(3, 1_000));
        queue.mark_sacked(&[(501, 601)], |_| {});
        assert!(queue.mark_lost(3, 1_000));
        assert_eq!(lost(&queue), [1]);
        queue.mark_sacked(&[(701, 801)], |_| {});
        queue.mark_lost(3, 1_000);
        assert_eq!(lost(&queue), [1, 201]);
        // One long run instead: 2 · 1000 bytes are not more than two full segments, 2001 are.
        let mut queue = self::queue(40, 100);
        queue.mark_sacked(&[(101, 2_101)], |_| {});
        assert!(!queue.mark_lost(3, 1_000));
        queue.mark_sacked(&[(101, 2_201)], |_| {});
        assert!(queue.mark_lost(3, 1_000));
    }

    #[test]
    fn the_pipe_counts_as_rfc_6675_says() {
        let mut queue = queue(5, 100);
        assert_eq!(queue.pipe(), 500);
        queue.mark_sacked(&[(201, 501)], |_| {});
        assert_eq!(queue.pipe(), 200);
        queue.mark_first_lost();
        assert_eq!(queue.pipe(), 100);
        // A lost and retransmitted segment counts once; one retransmitted without loss counts twice.
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
        assert_eq!(queue.mark_sacked(&[(101, 250)], |_| {}), 100);
        assert_eq!(queue.mark_sacked(&[(101, 250)], |_| {}), 0);
        assert_eq!(queue.mark_sacked(&[(101, 401)], |_| {}), 200);
        assert_eq!(queue.mark_sacked(&[(150, 501)], |_| {}), 100);
        assert_eq!(queue.sacked(), 400);
    }

    /// Checks pieces of four, as in a kernel, against a count over all segments.
    #[test]
    fn pieces_are_merged_where_they_are_sacked_and_cut_where_they_are_not() {
        let mut queue = queue(16, 100);
        for index in [0, 4, 8, 12] {
            queue.begin_piece(index);
        }
        assert_eq!(queue.pieces(), 4);
        // Numbers 4 to 13 have arrived: a piece before them, theirs, and the rest of the last one.
        queue.mark_sacked(&[(401, 1401)], |_| {});
        assert_eq!(queue.pieces(), 3);
        // Every second of the first four is missing: each is a piece of its own.
        queue.mark_sacked(&[(101, 201), (301, 1401)], |_| {});
        assert_eq!(queue.pieces(), 5);
        // All but the last two.
        queue.acknowledge(1401, |_| {});
        assert_eq!(queue.pieces(), 1);
        queue.acknowledge(1601, |_| {});
        assert_eq!(queue.pieces(), 0);
    }
}
