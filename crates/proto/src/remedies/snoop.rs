//! Snoop (Balakrishnan, Seshan, Amir and Katz, MobiCom 1995): a router before the last hop keeps copies of what goes to the
//! mobile, sends again what that hop loses, and keeps the duplicate acknowledgments of it from the sender. Of what comes from the
//! mobile it notes the gaps, and tells the mobile of them (`from_mobile.rs`).
//!
//! Beyond the paper, since it is older than SACK:
//!
//! - Blocks tell of all holes at once, and what was sent before something that has arrived is lost: the hop keeps the order. So
//!   several holes are repaired in a round trip of the hop.
//! - Blocks that tell of a hole for which there is a copy are taken out of acknowledgments, since a sender that reads them
//!   repairs it itself.
//!
//! And since one packet a timeout would not get on after a handover that has lost a whole window: after a timeout, what had
//! been sent counts as lost. Each acknowledgment has two copies sent again, as in slow start.
//!
//! A drop by the router's own queue is congestion, of which the sender is to hear: the copy goes, too.
//!
mod copies;
mod from_mobile;
mod hop;

pub use from_mobile::FromMobile;

use crate::packet::Packet;
use crate::time::Instant;
use crate::wire::sequence::SequenceNumber;
use crate::wire::tcp::{TcpFlags, TcpHeader, Timestamps};
use copies::Copies;
use hop::Hop;

/// Copies that are sent again for each acknowledgment: slow start.
const RESENT_BY_ACKNOWLEDGMENT: usize = 2;

/// Treatment of a packet.
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

/// State of the agent for one connection's data to the mobile.
#[derive(Debug, Default)]
pub struct Snoop {
    copies: Copies,
    /// The next number that the sender would send if nothing got lost before.
    next: Option<SequenceNumber>,
    /// The last acknowledgment: its number and window.
    acknowledged: Option<(SequenceNumber, u16)>,
    hop: Hop,
    deadline: Option<Instant>,
    /// The sender's latest timestamps. With older ones the mobile would take a copy for an old duplicate (RFC 7323 section
    /// 5) once the sender has sent something again itself.
    timestamps: Option<Timestamps>,
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
        self.timestamps = header.options.timestamps;
        let next = *self.next.get_or_insert(start);
        if let Some((acknowledged, _)) = self.acknowledged
            && end.distance_from(acknowledged) <= 0
        {
            // The mobile has it: its acknowledgment was lost behind here.
            return Watched::Acknowledge;
        }
        if end.distance_from(next) > 0 {
            self.next = Some(end);
        }
        let by_sender = start.distance_from(next) < 0;
        let kept = self.copies.keep(now, (start, end), packet, by_sender);
        if kept && self.deadline.is_none() {
            self.restart_timer(now);
        }
        Watched::Pass
    }

    /// The router's own queue has lost a segment that begins with this number: the sender is to hear of it, and to repair it.
    pub fn handle_drop(&mut self, now: Instant, start: SequenceNumber) {
        if self.copies.remove(start) {
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
        let is_duplicate =
            ahead == 0 && is_bare && header.window > 0 && before == self.acknowledged;
        if ahead > 0 {
            self.release(now, number);
        }
        self.copies
            .take_blocks(number, header.options.sack.as_slice());
        if is_duplicate {
            self.copies.doubt_first(number);
        }
        let resent = self.repair(now);
        (self.as_seen(header, is_duplicate), resent)
    }

    /// Returns true if no acknowledgment of the mobile's has said more than this number.
    pub fn is_newest(&self, number: SequenceNumber) -> bool {
        self.acknowledged
            .is_some_and(|(newest, _)| newest == number)
    }

    /// Returns the acknowledgment as the sender may see it: without a hole that is repaired here.
    fn as_seen(&self, header: &TcpHeader, is_duplicate: bool) -> Watched {
        if !self.copies.repairs(header.acknowledgment) {
            return Watched::Pass;
        }
        match header.options.sack.as_slice() {
            _ if is_duplicate => Watched::Drop,
            [] => Watched::Pass,
            _ => Watched::WithoutBlocks,
        }
    }

    /// Sends again of what is lost as much as an acknowledgment makes room for.
    fn repair(&mut self, now: Instant) -> Vec<Packet> {
        let mut resent = Vec::new();
        while resent.len() < RESENT_BY_ACKNOWLEDGMENT
            && let Some(packet) = self.copies.resend_lost(now)
        {
            resent.push(self.renewed(packet));
        }
        if !resent.is_empty() {
            self.restart_timer(now);
        }
        resent
    }

    /// The mobile has all before `number`.
    fn release(&mut self, now: Instant, number: SequenceNumber) {
        if let Some(released) = self.copies.release(number) {
            self.hop.backoff = 0;
            if let Some(sent_at) = released.timed_from {
                self.hop.measure(now.saturating_since(sent_at));
            }
        }
        self.restart_timer(now);
    }

    /// The timer runs while the mobile waits for a copy: of what is behind a hole of the sender's nobody knows.
    fn restart_timer(&mut self, now: Instant) {
        let acknowledged = self.acknowledged.map(|(number, _)| number);
        let waits = self.copies.is_next(acknowledged);
        let timeout = self.hop.timeout().filter(|_| waits);
        self.deadline = timeout.map(|timeout| now + timeout);
    }

    /// A copy as it is sent again.
    fn renewed(&self, mut packet: Packet) -> Packet {
        packet.retransmission = true;
        if let Some((header, _)) = packet.segment_mut() {
            header.options.timestamps = header.options.timestamps.and(self.timestamps);
        }
        packet
    }

    /// Returns the time at which [`handle_timeout`](Self::handle_timeout) has something to do.
    pub const fn poll_timeout(&self) -> Option<Instant> {
        self.deadline
    }

    /// Gives what is to be sent again at `now`.
    pub fn handle_timeout(&mut self, now: Instant) -> Option<Packet> {
        if self.deadline.is_none_or(|deadline| deadline > now) {
            return None;
        }
        self.hop.backoff += 1;
        self.copies.all_lost();
        let packet = self.copies.resend_lost(now);
        self.restart_timer(now);
        packet.map(|packet| self.renewed(packet))
    }

    /// Bytes of packets of which there are copies.
    pub const fn bytes(&self) -> u32 {
        self.copies.bytes()
    }
}

#[cfg(test)]
mod tests;
