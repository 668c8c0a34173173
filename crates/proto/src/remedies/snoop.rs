//! Snoop (Balakrishnan, Seshan, Amir and Katz, MobiCom 1995): a router before the last hop keeps copies of packets to
//! the mobile, retransmits those lost on that hop, and hides the duplicate ACKs for them from the sender. It also
//! detects gaps in the data from the mobile, and reports them to the mobile (`from_mobile.rs`).
//!
//! Beyond the paper, which is older than SACK:
//!
//! - SACK blocks report all holes at once, and packets sent before one that has arrived are lost: the hop keeps the
//!   order. So several holes are repaired in one round trip of the hop.
//! - Blocks that report a hole for which there is a copy are removed from ACKs, since a sender that reads them would
//!   repair it itself.
//!
//! One packet a timeout would be too slow after a handover that has lost a whole window. So after a timeout, all
//! packets sent before count as lost, and each ACK triggers two retransmissions, as in slow start.
//!
//! A drop by the router's own queue is congestion, of which the sender is to learn: the copy is dropped, too.
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

/// Retransmissions for each ACK: slow start.
const RESENT_BY_ACKNOWLEDGMENT: usize = 2;

/// Treatment of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watched {
    /// Passes.
    Pass,
    /// Stops here.
    Drop,
    /// Passes without its SACK blocks.
    WithoutBlocks,
    /// Stops here, and the mobile's last ACK is sent once more.
    Acknowledge,
}

/// State of the agent for one connection's data to the mobile.
#[derive(Debug, Default)]
pub struct Snoop {
    copies: Copies,
    /// The next sequence number of the sender if nothing was lost before the router.
    next: Option<SequenceNumber>,
    /// The last ACK: its number and window.
    acknowledged: Option<(SequenceNumber, u16)>,
    hop: Hop,
    deadline: Option<Instant>,
    /// The sender's latest timestamps. With older ones the mobile would take a copy for an old duplicate (RFC 7323
    /// section 5) once the sender has retransmitted something itself.
    timestamps: Option<Timestamps>,
}

impl Snoop {
    /// Takes in a segment to the mobile, in this packet, with its length in sequence space: its data and FIN.
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
            // The mobile has it: its ACK was lost beyond this router.
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

    /// Notes that the router's own queue has dropped a segment that begins with this number: the sender is to learn of
    /// it, and to repair it.
    pub fn handle_drop(&mut self, now: Instant, start: SequenceNumber) {
        if self.copies.remove(start) {
            self.restart_timer(now);
        }
    }

    /// Takes in an ACK of the mobile with so many bytes of data. Returns its fate, and the packets to retransmit.
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

    /// Returns true if no ACK of the mobile was beyond this number.
    pub fn is_newest(&self, number: SequenceNumber) -> bool {
        self.acknowledged
            .is_some_and(|(newest, _)| newest == number)
    }

    /// Returns the ACK as the sender may see it: without a hole that is repaired here.
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

    /// Retransmits as many lost packets as an ACK allows.
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

    /// Notes that the mobile has all data before `number`.
    fn release(&mut self, now: Instant, number: SequenceNumber) {
        if let Some(released) = self.copies.release(number) {
            self.hop.backoff = 0;
            if let Some(sent_at) = released.timed_from {
                self.hop.measure(now.saturating_since(sent_at));
            }
        }
        self.restart_timer(now);
    }

    /// Restarts the timer, which runs while the mobile waits for a copy. Beyond a hole that the sender has to repair,
    /// arrivals are unknown.
    fn restart_timer(&mut self, now: Instant) {
        let acknowledged = self.acknowledged.map(|(number, _)| number);
        let waits = self.copies.is_next(acknowledged);
        let timeout = self.hop.timeout().filter(|_| waits);
        self.deadline = timeout.map(|timeout| now + timeout);
    }

    /// Returns a copy as it is retransmitted.
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

    /// Returns the packets to retransmit at `now`.
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

    /// Returns the length of all copied packets, in bytes.
    pub const fn bytes(&self) -> u32 {
        self.copies.bytes()
    }
}

#[cfg(test)]
mod tests;
