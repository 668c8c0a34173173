//! Data from the mobile: detection of its gaps, and reports to the mobile by selective acknowledgments (RFC 2018).
//!
//! The paper uses selective negative acknowledgments, which needed a changed TCP at the mobile. Here any TCP with SACK
//! understands the reports:
//!
//! - The ACK has the number and window of the far end's last ACK: nothing is acknowledged that the far end does not
//!   have.
//! - The blocks also cover data below the first gap that is still in flight. Otherwise the sender would take that data
//!   for lost.
//! - A SACKed segment no longer counts as in flight at the sender, although it still is. The sender then sends more
//!   data on top of it, as far as its halved window allows. So a gap is reported once as much data has passed beyond it
//!   as is in flight before it, and the blocks cover half of all data that has passed. With more, the sender would send
//!   too much at once; with less, it could not retransmit.
//! - The blocks leave out the byte at the ACK's number: a receiver that has it would acknowledge it, and Linux rejects
//!   a block with it. So the segment there is retransmitted, once in a recovery.
//!
//! A SACK block is no promise (RFC 2018 section 8): if data is lost beyond the gateway after it was reported, the
//! sender's timeout repairs the loss.

use super::hop::{Hop, MOST_DOUBLINGS};
use crate::packet::{Packet, Payload};
use crate::time::Instant;
use crate::wire::sequence::SequenceNumber;
use crate::wire::tcp::{SackBlocks, TcpFlags, TcpHeader, TcpOptions, Timestamps};

/// Segments that pass beyond a gap before it is reported, as fewer may be reordering. The report is repeated after each
/// further so many while the gap is open. Chosen, as many as the duplicates of RFC 5681.
const TOLERANCE: u32 = 3;
/// Most gaps known at a time. Chosen.
const MOST_GAPS: usize = 64;

/// A range of sequence numbers.
type Stretch = (SequenceNumber, SequenceNumber);

/// State of the agent for one connection's data from the mobile.
#[derive(Debug, Default)]
pub struct FromMobile {
    /// True for the mobile, and for the far end, if it takes SACK: by its SYN, or by the far end's blocks.
    takes_sack: [bool; 2],
    /// The sequence number from which passed data is known, and the one after all passed data.
    known: Option<Stretch>,
    /// Ascending.
    gaps: Vec<Gap>,
    /// New segments that have passed since the last report to the mobile.
    unreported: u32,
    /// The longest segment, in bytes.
    longest: u32,
    /// The far end's last ACK: number, window, and a packet of it.
    acknowledgment: Option<(SequenceNumber, u16, Packet)>,
    /// The sequence number after all data of the far end, and its latest timestamps: the mobile would ignore an ACK
    /// with older ones (RFC 7323 section 5).
    next_of_far_end: Option<SequenceNumber>,
    timestamps: Option<Timestamps>,
    hop: Hop,
    /// Time of a SYN to the mobile that is not yet answered.
    syn_at: Option<Instant>,
    /// Time of the first report of a gap that the mobile has not answered yet; `None` after a timeout, when it is
    /// unknown which report an answer is for (Karn).
    told_at: Option<Instant>,
    deadline: Option<Instant>,
}

/// Data that has not passed although data beyond it has.
#[derive(Clone, Copy, Debug)]
struct Gap {
    start: SequenceNumber,
    /// The sequence number after its last.
    end: SequenceNumber,
    /// New segments that have passed beyond it since, as far as they count, and the sequence number after the last of
    /// those.
    beyond: u32,
    enough: SequenceNumber,
    /// True once it was reported to the mobile, after enough of them.
    told: bool,
}

impl FromMobile {
    /// Takes in a SYN of the mobile or to it, with so many bytes of data.
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
            // The window of a SYN is not scaled (RFC 7323 section 2.2); that of a report to the mobile is.
            let shift = header.options.window_scale.unwrap_or(0).min(14);
            self.note_word((header, length), header.window >> shift, packet);
        } else {
            self.note_answer(now);
            let next = header.sequence + length;
            self.known = Some((next, next));
        }
    }

    /// Takes in a segment of the mobile with its length in sequence space: its data and FIN. Returns the reports to
    /// send to the mobile now.
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

    /// Notes that the mobile has answered a SYN.
    fn note_answer(&mut self, now: Instant) {
        if let Some(at) = self.syn_at.take() {
            self.hop.measure(now.saturating_since(at));
        }
    }

    /// Takes in a packet of the far end, with the length of its segment in sequence space. Returns the reports to send
    /// to the mobile now.
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
            // This data has taken another path: what else has is unknown.
            self.known = None;
        }
        self.tell_if_due(now)
    }

    /// Notes that the far end has sent a packet, and offers this window; returns true if that is new.
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
            self.unreported += 1;
            for gap in self.gaps.iter_mut().filter(|gap| gap.beyond < TOLERANCE) {
                gap.beyond += 1;
                gap.enough = end;
            }
            // An answer is expected to reported gaps; the others need further segments.
            if !self.gaps.iter().any(|gap| gap.told) {
                self.restart_timer(now);
            }
        }
        if next.is_after(start) {
            self.fill(now, Some(start), end);
        }
        if self.gaps.len() > MOST_GAPS {
            // More gaps than can be reported: start anew beyond them.
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
        let (number, again) = (*number, self.unreported >= TOLERANCE);
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
            self.unreported = 0;
            self.told_at.get_or_insert(now);
            for gap in &mut self.gaps {
                gap.told |= is_due(gap);
            }
            self.restart_timer(now);
        }
        told
    }

    /// Returns the highest sequence number to report by SACK: half of the data past the cumulative ACK, plus room for
    /// the retransmissions that the report triggers (missing data up to `TOLERANCE` segments, the segment at the ACK,
    /// one for rounding).
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

    /// Makes the ACKs that report data that has passed, up to `limit`; none if the mobile would not understand them, or
    /// if data in between is unknown.
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
        // Timestamps leave room for three blocks (RFC 2018 section 3).
        let room = if self.timestamps.is_some() { 3 } else { 4 };
        // The first range is most of the data in flight: it is in every ACK, as some may be lost.
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

    /// Restarts the timer, which runs while there is a gap. Fewer segments may follow than are needed for a report, and
    /// a report or a retransmission may be lost. The timer stops when all doublings were in vain.
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

    /// Returns the reports to send to the mobile at `now`: all data that has passed.
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
