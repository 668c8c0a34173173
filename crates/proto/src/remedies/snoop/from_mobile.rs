//! Data from the mobile: the gaps in what has passed, of which the mobile is told by selective acknowledgments (RFC 2018).
//!
//! The paper has negative acknowledgments there, as selective ones, for which the mobile's TCP was changed. Here any TCP that
//! takes SACK understands them:
//!
//! - The acknowledgment's number and window are the far end's last: nothing is acknowledged that it has not.
//! - The blocks tell also of what lies below the first gap and is on its way. Else a sender would take that for lost.
//! - What a block tells of has left the network for the sender, though it has not: what it had in the network it sends once more, as far as
//!   its window, which it halves, has room. So it is told when as much has passed behind the gap as is on its way before it,
//!   and of half of what has passed in all. Of more it would send more at once, of less it could not send again.
//! - But for a byte at the acknowledgment's number: a receiver that has that would acknowledge it, and Linux takes no such block. So the
//!   segment there is sent again, one in a recovery.
//!
//! A block is no promise (RFC 2018 section 8): what is lost behind the gateway after it was told of is for the sender's timeout.

use super::hop::{Hop, MOST_DOUBLINGS};
use crate::packet::{Packet, Payload};
use crate::time::Instant;
use crate::wire::sequence::SequenceNumber;
use crate::wire::tcp::{SackBlocks, TcpFlags, TcpHeader, TcpOptions, Timestamps};

/// Segments that have to pass beyond a gap before the mobile is told: what comes later than two others may be reordered. And again
/// with as many more while the gap is open. Chosen, as many as the duplicates of RFC 5681.
const TOLERANCE: u32 = 3;
/// Gaps that are known at a time, at most. Chosen.
const MOST_GAPS: usize = 64;

/// A stretch of the sequence space.
type Stretch = (SequenceNumber, SequenceNumber);

/// State of the agent for one connection's data from the mobile.
#[derive(Debug, Default)]
pub struct FromMobile {
    /// True for the mobile, and for the far end, if it takes SACK: said in a SYN, or shown by the far end's blocks.
    takes_sack: [bool; 2],
    /// From here on it is known what has passed; and the number after all that has.
    known: Option<Stretch>,
    /// Ascending.
    gaps: Vec<Gap>,
    /// New segments that have passed since the mobile was told.
    untold: u32,
    /// The longest segment, in bytes.
    longest: u32,
    /// The far end's last acknowledgment: number, window, and a packet of it.
    acknowledgment: Option<(SequenceNumber, u16, Packet)>,
    /// The number after all that the far end has sent, and its latest timestamps: with older ones the mobile would not look
    /// at an acknowledgment (RFC 7323 section 5).
    next_of_far_end: Option<SequenceNumber>,
    timestamps: Option<Timestamps>,
    hop: Hop,
    /// Time at which a SYN went to the mobile, which it answers.
    syn_at: Option<Instant>,
    /// Time at which the mobile was first told of a gap that it has not answered yet; not after a timeout, when nobody
    /// knows which time it answers (Karn).
    told_at: Option<Instant>,
    deadline: Option<Instant>,
}

/// Data that has not passed though data behind it has.
#[derive(Clone, Copy, Debug)]
struct Gap {
    start: SequenceNumber,
    /// The number after its last.
    end: SequenceNumber,
    /// New segments that have passed behind it since, as far as they count, and the number after the last of those.
    beyond: u32,
    enough: SequenceNumber,
    /// The mobile was told of it once there were enough of them.
    told: bool,
}

impl FromMobile {
    /// A SYN of the mobile's, or to it, with so many bytes of data.
    pub fn handle_syn(
        &mut self,
        now: Instant,
        (header, length): (&TcpHeader, u32),
        packet: &Packet,
        to_mobile: bool,
    ) {
        self.takes_sack[usize::from(to_mobile)] = header.options.sack_permitted;
        let length = 1 + length;
        if to_mobile {
            self.syn_at = Some(now);
            // The window of a SYN is not scaled (RFC 7323 section 2.2); in what the mobile is told it is.
            let shift = header.options.window_scale.unwrap_or(0).min(14);
            self.note_word((header, length), header.window >> shift, packet);
        } else {
            self.note_answer(now);
            let next = header.sequence + length;
            self.known = Some((next, next));
        }
    }

    /// A segment of the mobile's, which takes so much of the sequence space: its data and FIN. Gives what the mobile is to be
    /// told now.
    pub fn handle_data(
        &mut self,
        now: Instant,
        (header, length): (&TcpHeader, u32),
    ) -> Vec<Packet> {
        self.note_answer(now);
        if length == 0 {
            return Vec::new();
        }
        self.longest = self.longest.max(length);
        self.note_passed(now, (header.sequence, header.sequence + length));
        self.tell_if_due(now)
    }

    /// The mobile has answered a SYN.
    fn note_answer(&mut self, now: Instant) {
        if let Some(at) = self.syn_at.take() {
            self.hop.measure(now.saturating_since(at));
        }
    }

    /// A packet of the far end's, with a segment that takes so much of the sequence space. Gives what the mobile is to be told
    /// now.
    pub fn handle_acknowledgment(
        &mut self,
        now: Instant,
        said: (&TcpHeader, u32),
        packet: &Packet,
    ) -> Vec<Packet> {
        let (header, _) = said;
        if !header.options.sack.is_empty() {
            self.takes_sack = [true; 2];
        }
        if !self.note_word(said, header.window, packet) {
            return Vec::new();
        }
        let number = header.acknowledgment;
        self.fill(now, None, number);
        if let Some((_, next)) = self.known
            && number.is_after(next)
        {
            // It has come by another way: what else has is not known.
            self.known = None;
        }
        self.tell_if_due(now)
    }

    /// The far end has spoken, and offers this window; says whether that is news.
    fn note_word(
        &mut self,
        (header, length): (&TcpHeader, u32),
        window: u16,
        packet: &Packet,
    ) -> bool {
        let end = header.sequence + length;
        self.next_of_far_end = Some(self.next_of_far_end.map_or(end, |next| next.later(end)));
        self.timestamps = header.options.timestamps;
        let number = header.acknowledgment;
        let is_news = self
            .acknowledgment
            .as_ref()
            .is_none_or(|(last, offered, _)| {
                !last.is_after(number) && (*last, *offered) != (number, window)
            });
        if !is_news || !header.flags.contains(TcpFlags::ACK) {
            return false;
        }
        let mut said = packet.clone();
        if let Some((_, payload)) = said.segment_mut() {
            *payload = Payload::EMPTY;
        }
        self.acknowledgment = Some((number, window, said));
        true
    }

    fn note_passed(&mut self, now: Instant, (start, end): Stretch) {
        let (from, next) = *self.known.get_or_insert((start, start));
        if start.is_after(next) {
            self.gaps.push(Gap {
                start: next,
                end: start,
                beyond: 0,
                enough: end,
                told: false,
            });
        }
        if end.is_after(next) {
            self.known = Some((from, end));
            self.untold += 1;
            for gap in self.gaps.iter_mut().filter(|gap| gap.beyond < TOLERANCE) {
                gap.beyond += 1;
                gap.enough = end;
            }
            // Of what was told the answer is waited for; of the rest, more.
            if !self.gaps.iter().any(|gap| gap.told) {
                self.restart_timer(now);
            }
        }
        if next.is_after(start) {
            self.fill(now, Some(start), end);
        }
        if self.gaps.len() > MOST_GAPS {
            // More than can be told: what is behind is known anew.
            self.gaps.clear();
            self.known = self.known.map(|(_, next)| (next, next));
            self.restart_timer(now);
        }
    }

    /// Closes the gaps between these numbers, or all before `end`: the data has passed.
    fn fill(&mut self, now: Instant, start: Option<SequenceNumber>, end: SequenceNumber) {
        let is_filled = |gap: &Gap| {
            end.is_after(gap.start) && start.is_none_or(|start| gap.end.is_after(start))
        };
        let mut filled = self.gaps.iter().filter(|gap| is_filled(gap)).peekable();
        if filled.peek().is_none() {
            return;
        }
        let answers = start.is_some() && filled.any(|gap| gap.told);
        let rest = |gap: &Gap| {
            let before = start.filter(|start| start.is_after(gap.start));
            let before = before.map(|end| Gap { end, ..*gap });
            let behind = gap.end.is_after(end).then_some(Gap { start: end, ..*gap });
            [before, behind].into_iter().flatten()
        };
        let left = self.gaps.iter().flat_map(|gap| match is_filled(gap) {
            true => rest(gap).collect(),
            false => vec![*gap],
        });
        self.gaps = left.collect();
        self.hop.backoff = 0;
        if answers && let Some(at) = self.told_at.take() {
            self.hop.measure(now.saturating_since(at));
        }
        self.restart_timer(now);
    }

    fn tell_if_due(&mut self, now: Instant) -> Vec<Packet> {
        let (Some((number, ..)), Some((_, next))) = (&self.acknowledgment, self.known) else {
            return Vec::new();
        };
        let (number, again) = (*number, self.untold >= TOLERANCE);
        let is_due = |gap: &Gap| {
            let before = gap.start.distance_from(number);
            let follows = gap.beyond >= TOLERANCE && before <= next.distance_from(gap.end);
            follows && (again || !gap.told)
        };
        let due = self.gaps.iter().rfind(|gap| is_due(gap));
        let Some(enough) = due.map(|gap| gap.enough) else {
            return Vec::new();
        };
        let told = self.tell(enough.later(self.half(number, next)));
        if !told.is_empty() {
            self.untold = 0;
            self.told_at.get_or_insert(now);
            for gap in &mut self.gaps {
                gap.told |= is_due(gap);
            }
            self.restart_timer(now);
        }
        told
    }

    /// Returns the highest sequence number to report in SACK: half of the data past the cumulative ACK, plus room for
    /// the retransmissions this triggers (missing data up to `TOLERANCE` segments, the segment at the ACK, one for
    /// rounding).
    fn half(&self, number: SequenceNumber, next: SequenceNumber) -> SequenceNumber {
        let since = |end: SequenceNumber, start: SequenceNumber| {
            u32::try_from(end.distance_from(start)).unwrap_or(0)
        };
        let most = self.longest.saturating_mul(TOLERANCE);
        let missing = self.gaps.iter().fold(0, |sum: u32, gap| {
            sum.saturating_add(since(gap.end, gap.start)).min(most)
        });
        let again = missing.saturating_add(self.longest.saturating_mul(2));
        number + (since(next, number) / 2).saturating_add(again)
    }

    /// Makes the acknowledgments that tell the mobile of the data that has passed up to `limit`; none if the mobile
    /// would not understand, or if data in between is unknown.
    fn tell(&self, limit: SequenceNumber) -> Vec<Packet> {
        let (Some((number, ..)), Some((from, next))) = (&self.acknowledgment, self.known) else {
            return Vec::new();
        };
        if !self.is_understood() || from.is_after(*number) {
            return Vec::new();
        }
        let end = if limit.is_after(next) { next } else { limit };
        let passed = self.passed(*number, end);
        let Some((first, others)) = passed.split_first() else {
            return Vec::new();
        };
        // Beside timestamps there is room for three (RFC 2018 section 3).
        let room = if self.timestamps.is_some() { 3 } else { 4 };
        // The first stretch is most of what is on its way: it is in all of them, if others get lost.
        let each = others
            .chunks(room - 1)
            .chain(others.is_empty().then_some(others));
        each.filter_map(|some| self.negative_acknowledgment(*first, some))
            .collect()
    }

    fn is_understood(&self) -> bool {
        self.takes_sack == [true; 2]
    }

    /// Returns the data that has passed beyond the far end's acknowledgment, and before `end`, ascending.
    fn passed(&self, acknowledged: SequenceNumber, end: SequenceNumber) -> Vec<Stretch> {
        let mut passed = Vec::new();
        let mut from = acknowledged + 1;
        for gap in self.gaps.iter().filter(|gap| end.is_after(gap.start)) {
            if gap.start.is_after(from) {
                passed.push((from, gap.start));
            }
            from = from.later(gap.end);
        }
        if end.is_after(from) {
            passed.push((from, end));
        }
        passed
    }

    fn negative_acknowledgment(&self, first: Stretch, others: &[Stretch]) -> Option<Packet> {
        let (_, window, said) = self.acknowledgment.as_ref()?;
        let mut packet = said.clone();
        let (header, _) = packet.segment_mut()?;
        header.window = *window;
        header.sequence = self.next_of_far_end?;
        header.flags = TcpFlags::ACK;
        header.options = TcpOptions {
            timestamps: self.timestamps,
            ..TcpOptions::default()
        };
        let mut blocks = SackBlocks::default();
        for &(start, end) in [first].iter().chain(others) {
            blocks.push(start, end);
        }
        header.options.sack = blocks;
        packet.retransmission = false;
        Some(packet)
    }

    /// The timer runs while there is a gap: fewer segments may follow than are waited for, and what the mobile was told, or has
    /// sent again, may be lost. It stops when all doublings were for nothing.
    fn restart_timer(&mut self, now: Instant) {
        let may_help = self.is_understood() && self.hop.backoff <= MOST_DOUBLINGS;
        let waits = may_help && !self.gaps.is_empty();
        let timeout = self.hop.timeout().filter(|_| waits);
        self.deadline = timeout.map(|timeout| now + timeout);
    }

    /// Returns the time at which [`handle_timeout`](Self::handle_timeout) has something to do.
    pub const fn poll_timeout(&self) -> Option<Instant> {
        self.deadline
    }

    /// Gives what the mobile is to be told at `now`: all that has passed.
    pub fn handle_timeout(&mut self, now: Instant) -> Vec<Packet> {
        if self.deadline.is_none_or(|deadline| deadline > now) {
            return Vec::new();
        }
        self.hop.backoff += 1;
        self.told_at = None;
        self.restart_timer(now);
        self.known
            .map_or_else(Vec::new, |(_, next)| self.tell(next))
    }

    /// Returns true if no gap is known.
    pub const fn is_whole(&self) -> bool {
        self.gaps.is_empty()
    }
}

#[cfg(test)]
mod tests;
