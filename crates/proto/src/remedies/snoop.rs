//! Snoop (Balakrishnan, Seshan, Amir and Katz, MobiCom 1995): a router before the last hop keeps copies of what goes to the
//! mobile, sends again what that hop loses, and keeps the duplicate acknowledgments of it from the sender.
//!
//! Beyond the paper: after a timeout, what had been sent counts as lost, and each acknowledgment of more has two copies sent
//! again, as in slow start. One packet a timeout, and the sender's own timer starts anew with each, so that neither would get
//! on after a handover that has lost a whole window. And the paper is older than SACK: blocks that tell of a hole for which there is a copy are taken out of
//! acknowledgments, since a sender that reads them repairs it itself. What is said in the paper of data from the mobile
//! (negative acknowledgments, for which the mobile's TCP is changed) is not here.

use crate::packet::Packet;
use crate::time::{Duration, Instant};
use crate::wire::sequence::SequenceNumber;
use crate::wire::tcp::{TcpFlags, TcpHeader};
use std::collections::VecDeque;

/// Bytes of packets that are kept of one connection, at most: more than a satellite's pipe and queue hold. Chosen; Berkeley's
/// code had room for 100 packets.
const MOST_BYTES: u32 = 1 << 20;
/// Times that a packet is sent again here, at most: of Berkeley's code, as it went into ns-2 (`SNOOP_MAX_RXMIT`).
const MOST_RESENDS: u32 = 10;
/// The shortest timeout, from the same code (`SNOOP_MIN_TIMO`).
const SHORTEST_TIMEOUT: Duration = Duration::from_millis(100);
/// Copies that are sent again for each acknowledgment of more after a timeout: slow start.
const RESENT_BY_ACKNOWLEDGMENT: usize = 2;
/// The timeout before anything was measured, as of RFC 6298.
const FIRST_TIMEOUT: Duration = Duration::from_secs(1);

/// What is to be done with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watched {
    /// It goes on.
    Pass,
    /// It ends here.
    Drop,
    /// It goes on without its SACK blocks.
    WithoutBlocks,
    /// It ends here, and the mobile's last acknowledgment is sent once more.
    Acknowledge,
}

/// What the agent keeps of one connection.
#[derive(Debug, Default)]
pub struct Snoop {
    /// Copies, ascending and without overlap of their beginnings.
    copies: VecDeque<Copied>,
    bytes: u32,
    /// The next number that the sender would send if nothing got lost before.
    next: Option<SequenceNumber>,
    /// The last acknowledgment: its number and window.
    acknowledged: Option<(SequenceNumber, u16)>,
    /// Smoothed round-trip time of the last hop, and its variation (RFC 6298).
    round_trip: Option<(Duration, Duration)>,
    deadline: Option<Instant>,
    backoff: u32,
    /// After a timeout: from where on to where copies are still to be sent again.
    lost: Option<(SequenceNumber, SequenceNumber)>,
}

#[derive(Debug)]
struct Copied {
    start: SequenceNumber,
    /// The number after its last.
    end: SequenceNumber,
    packet: Packet,
    sent_at: Instant,
    resent: u32,
    /// Its sender sends it again, and wants to know what becomes of it.
    by_sender: bool,
}

impl Snoop {
    /// A segment on its way to the mobile, in this packet, which takes so much of the sequence space: its data and FIN.
    pub fn handle_data(
        &mut self,
        now: Instant,
        (header, length): (&TcpHeader, u32),
        packet: &Packet,
    ) -> Watched {
        let (start, end) = (header.sequence, header.sequence + length);
        let next = *self.next.get_or_insert(start);
        if let Some((acknowledged, _)) = self.acknowledged
            && end.distance_from(acknowledged) <= 0
        {
            // The mobile has it: its acknowledgment was lost behind here.
            return Watched::Acknowledge;
        }
        let is_new = start.distance_from(next) >= 0;
        if end.distance_from(next) > 0 {
            self.next = Some(end);
        }
        let place = self
            .copies
            .partition_point(|copy| copy.start.distance_from(start) < 0);
        if let Some(copy) = self
            .copies
            .get_mut(place)
            .filter(|copy| copy.start == start)
        {
            (copy.resent, copy.by_sender, copy.sent_at) = (0, true, now);
            copy.packet = packet.clone();
            self.start_timer(now);
            return Watched::Pass;
        }
        let size = packet.wire_length();
        if self.bytes.saturating_add(size) <= MOST_BYTES {
            self.bytes += size;
            let copy = Copied {
                start,
                end,
                packet: packet.clone(),
                sent_at: now,
                resent: 0,
                by_sender: !is_new,
            };
            self.copies.insert(place, copy);
            self.start_timer(now);
        }
        Watched::Pass
    }

    fn start_timer(&mut self, now: Instant) {
        if self.deadline.is_none() {
            self.restart_timer(now);
        }
    }

    /// An acknowledgment of the mobile's, with so many bytes of data. Says what is to be done with it, and what is to be
    /// sent again.
    pub fn handle_acknowledgment(
        &mut self,
        now: Instant,
        (header, length): (&TcpHeader, u32),
    ) -> (Watched, Vec<Packet>) {
        let number = header.acknowledgment;
        let is_bare = length == 0 && !header.flags.contains(TcpFlags::FIN);
        let is_of_what_went = |next: SequenceNumber| number.distance_from(next) <= 0;
        if !self.next.is_some_and(is_of_what_went) {
            return (Watched::Pass, Vec::new());
        }
        let before = self.acknowledged;
        let ahead = before.map_or(1, |(last, _)| number.distance_from(last));
        if ahead < 0 {
            let watched = if is_bare {
                Watched::Drop
            } else {
                Watched::Pass
            };
            return (watched, Vec::new());
        }
        self.acknowledged = Some((number, header.window));
        let mut resent = Vec::new();
        if ahead > 0 {
            self.release(now, number);
            resent = self.repair(now, number);
        } else if is_bare && header.window > 0 && before == self.acknowledged {
            return self.handle_duplicate(now, number);
        }
        (self.as_seen(header), resent)
    }

    /// The first duplicate has the copy sent again, the others end here until it is acknowledged.
    fn handle_duplicate(&mut self, now: Instant, number: SequenceNumber) -> (Watched, Vec<Packet>) {
        match self.missing(number) {
            Some(copy) if !copy.by_sender && copy.resent <= MOST_RESENDS => {
                let first = copy.resent == 0;
                let resent = if first { self.resend(now, 0) } else { None };
                (Watched::Drop, resent.into_iter().collect())
            }
            _ => (Watched::Pass, Vec::new()),
        }
    }

    /// What follows of what a timeout has found lost, when more is acknowledged.
    fn repair(&mut self, now: Instant, number: SequenceNumber) -> Vec<Packet> {
        let mut resent = Vec::new();
        while let Some((from, to)) = self.lost
            && resent.len() < RESENT_BY_ACKNOWLEDGMENT
        {
            let from = from.later(number);
            let place = self
                .copies
                .partition_point(|copy| copy.start.distance_from(from) < 0);
            let next = self.copies.get(place).map(|copy| (copy.start, copy.end));
            let Some((_, end)) = next.filter(|(start, _)| to.is_after(*start)) else {
                self.lost = None;
                break;
            };
            self.lost = Some((end, to));
            resent.extend(self.resend(now, place));
        }
        resent
    }

    /// The copy of what an acknowledgment asks for.
    fn missing(&self, number: SequenceNumber) -> Option<&Copied> {
        self.copies.front().filter(|copy| copy.start == number)
    }

    /// What the sender may see of an acknowledgment.
    fn as_seen(&self, header: &TcpHeader) -> Watched {
        let hole = self.missing(header.acknowledgment);
        let tells = !header.options.sack.as_slice().is_empty();
        match hole {
            Some(copy) if tells && !copy.by_sender => Watched::WithoutBlocks,
            _ => Watched::Pass,
        }
    }

    /// The mobile has all before `number`.
    fn release(&mut self, now: Instant, number: SequenceNumber) {
        let mut newest = None;
        while let Some(copy) = self.copies.front()
            && copy.end.distance_from(number) <= 0
        {
            self.bytes -= copy.packet.wire_length().min(self.bytes);
            newest = self.copies.pop_front();
        }
        if let Some(copy) = newest {
            self.backoff = 0;
            // What was sent twice tells nothing (Karn).
            if copy.resent == 0 && !copy.by_sender {
                self.measure(now.saturating_since(copy.sent_at));
            }
        }
        self.restart_timer(now);
    }

    fn measure(&mut self, sample: Duration) {
        let part = |time: Duration, parts: u64| Duration::from_nanos(time.as_nanos() / parts);
        self.round_trip = Some(match self.round_trip {
            None => (sample, part(sample, 2)),
            Some((smoothed, variation)) => {
                let error = smoothed.max(sample) - smoothed.min(sample);
                let variation = part(variation.saturating_mul(3) + error, 4);
                (part(smoothed.saturating_mul(7) + sample, 8), variation)
            }
        });
    }

    fn restart_timer(&mut self, now: Instant) {
        let given_up = |copy: &Copied| copy.resent > MOST_RESENDS;
        let waits = self.copies.front().is_some_and(|copy| !given_up(copy));
        let timeout = self
            .round_trip
            .map_or(FIRST_TIMEOUT, |(smoothed, variation)| {
                (smoothed + variation.saturating_mul(4)).max(SHORTEST_TIMEOUT)
            });
        let timeout = timeout.saturating_mul(1 << self.backoff.min(MOST_RESENDS));
        self.deadline = waits.then(|| now + timeout);
    }

    /// Sends a copy again.
    fn resend(&mut self, now: Instant, place: usize) -> Option<Packet> {
        let copy = self.copies.get_mut(place)?;
        copy.resent += 1;
        let mut packet = copy.packet.clone();
        packet.retransmission = true;
        self.restart_timer(now);
        Some(packet)
    }

    /// When [`handle_timeout`](Self::handle_timeout) has something to do.
    pub const fn poll_timeout(&self) -> Option<Instant> {
        self.deadline
    }

    /// Gives what is to be sent again at `now`.
    pub fn handle_timeout(&mut self, now: Instant) -> Option<Packet> {
        if self.deadline.is_none_or(|deadline| deadline > now) {
            return None;
        }
        self.backoff += 1;
        let first = self.copies.front()?.end;
        self.lost = self.next.map(|next| (first, next));
        self.resend(now, 0)
    }

    /// Bytes of packets of which there are copies.
    pub const fn bytes(&self) -> u32 {
        self.bytes
    }
}

#[cfg(test)]
mod tests;
