//! Snoop at a gateway: watched connections, their deadlines, and retransmissions.

use super::Served;
use crate::host::layer::Look;
use crate::host::table::Pair;
use crate::packet::{Packet, Payload};
use crate::remedies::snoop::{FromMobile, Snoop, Watched};
use crate::time::Instant;
use crate::wire::sequence::SequenceNumber;
use crate::wire::tcp::{TcpFlags, TcpHeader};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Maximum number of watched connections; others pass unwatched.
const MOST_CONNECTIONS: usize = 4096;

/// Watched connections, the mobile's end first.
#[derive(Debug, Default)]
pub(super) struct Snooping {
    connections: BTreeMap<Pair, Watching>,
    deadlines: BTreeSet<(Instant, Pair)>,
    outbox: VecDeque<Packet>,
}

#[derive(Debug, Default)]
struct Watching {
    snoop: Snoop,
    from_mobile: FromMobile,
    /// Deadline of its entry in the list.
    queued: Option<Instant>,
    last_acknowledgment: Option<Packet>,
    /// The sequence number after all data of the mobile, used in an ACK without data. The sender would ignore an ACK
    /// with an older one (RFC 9293 section 3.10.7.4).
    next_of_mobile: Option<SequenceNumber>,
    /// True once the mobile, and the correspondent, has sent its FIN.
    closed: [bool; 2],
}

impl Watching {
    /// Takes in a packet for the mobile, with its segment's length in sequence space.
    fn take_for_mobile(
        &mut self,
        now: Instant,
        said: (&TcpHeader, u32),
        packet: &Packet,
    ) -> (Watched, Vec<Packet>) {
        let packet = one_hop_on(packet);
        let told = self.from_mobile.handle_acknowledgment(now, said, &packet);
        let watched = match said.1 {
            0 => Watched::Pass,
            _ => self.snoop.handle_data(now, said, &packet),
        };
        (watched, told)
    }

    /// Takes in a packet from the mobile with an ACK, with its segment's length in bytes of data and in sequence space.
    fn take_from_mobile(
        &mut self,
        now: Instant,
        (header, length, occupied): (&TcpHeader, u32, u32),
        packet: &Packet,
    ) -> (Watched, Vec<Packet>) {
        let mut sent = self.from_mobile.handle_data(now, (header, occupied));
        self.note_sent(header.sequence + occupied);
        let said = (header, length);
        let (watched, resent) = self.snoop.handle_acknowledgment(now, said);
        sent.extend(resent);
        // A late ACK, such as one with a retransmitted FIN, has older information than an ACK that has already passed.
        if watched != Watched::Drop && self.snoop.is_newest(header.acknowledgment) {
            self.last_acknowledgment = Some(one_hop_on(packet));
        }
        (watched, sent)
    }

    /// Returns the time of the next [`handle_timeout`](Self::handle_timeout).
    fn poll_timeout(&self) -> Option<Instant> {
        let deadlines = [self.snoop.poll_timeout(), self.from_mobile.poll_timeout()];
        deadlines.into_iter().flatten().min()
    }

    /// Returns the packets to send at `now`.
    fn handle_timeout(&mut self, now: Instant) -> Vec<Packet> {
        let mut sent = self.from_mobile.handle_timeout(now);
        sent.extend(self.snoop.handle_timeout(now));
        sent
    }

    /// Returns true if both ends have closed, and no work is left.
    fn is_over(&self) -> bool {
        self.closed == [true; 2] && self.snoop.bytes() == 0 && self.from_mobile.is_whole()
    }

    /// Notes that the mobile has sent the data before `end`.
    fn note_sent(&mut self, end: SequenceNumber) {
        if self
            .next_of_mobile
            .is_none_or(|next| end.distance_from(next) > 0)
        {
            self.next_of_mobile = Some(end);
        }
    }

    /// Returns the mobile's last ACK, without its data or FIN.
    fn acknowledgment_again(&self) -> Option<Packet> {
        let mut packet = self.last_acknowledgment.clone()?;
        let (header, payload) = packet.segment_mut()?;
        header.sequence = self.next_of_mobile?;
        header.flags = TcpFlags::ACK;
        *payload = Payload::EMPTY;
        Some(packet)
    }
}

impl Snooping {
    /// Inspects a packet of a connection; `pair` has the packet's destination first.
    pub fn look(&mut self, now: Instant, packet: &Packet, served: &Served, pair: &Pair) -> Look {
        let Some(segment) = packet.segment_within() else {
            return Look::Pass;
        };
        let to_mobile = pair.0.address == served.mobile;
        let key = if to_mobile { *pair } else { (pair.1, pair.0) };
        let (header, length) = (segment.header, segment.payload.length());
        let flag = |bit| header.flags.contains(bit);
        let opens = flag(TcpFlags::SYN) && !flag(TcpFlags::ACK);
        if opens || flag(TcpFlags::RST) {
            self.forget(&key);
        }
        if flag(TcpFlags::RST) {
            return Look::Pass;
        }
        let occupied = length + u32::from(flag(TcpFlags::FIN));
        // A FIN that the mobile retransmits after the connection's end needs no watching.
        let begins = opens || if to_mobile { occupied } else { length } > 0;
        if begins && self.connections.len() < MOST_CONNECTIONS {
            self.connections.entry(key).or_default();
        }
        let Some(watching) = self.connections.get_mut(&key) else {
            return Look::Pass;
        };
        if flag(TcpFlags::SYN) {
            let said = (header, occupied);
            let packet = one_hop_on(packet);
            watching
                .from_mobile
                .handle_syn(now, said, &packet, to_mobile);
            return Look::Pass;
        }
        watching.closed[usize::from(to_mobile)] |= flag(TcpFlags::FIN);
        let (watched, sent) = if to_mobile {
            watching.take_for_mobile(now, (header, occupied), packet)
        } else if flag(TcpFlags::ACK) {
            watching.take_from_mobile(now, (header, length, occupied), packet)
        } else {
            (Watched::Pass, Vec::new())
        };
        self.outbox.extend(sent.into_iter().map(again));
        let look = match watched {
            Watched::Pass => Look::Pass,
            Watched::Drop => Look::Absorb,
            Watched::WithoutBlocks => {
                self.outbox.extend(without_blocks(one_hop_on(packet)));
                Look::Absorb
            }
            Watched::Acknowledge => {
                let acknowledgment = watching.acknowledgment_again();
                self.outbox.extend(acknowledgment.map(again));
                Look::Absorb
            }
        };
        match watching.is_over() {
            true => self.forget(&key),
            false => self.queue(&key),
        }
        look
    }

    /// Notes that this router's own queue dropped a packet; `pair` has the packet's destination first.
    pub fn handle_drop(&mut self, now: Instant, packet: &Packet, pair: &Pair) {
        if let Some(watching) = self.connections.get_mut(pair)
            && let Some(segment) = packet.segment_within()
        {
            watching.snoop.handle_drop(now, segment.header.sequence);
            self.queue(pair);
        }
    }

    fn forget(&mut self, key: &Pair) {
        if let Some(watching) = self.connections.remove(key)
            && let Some(at) = watching.queued
        {
            self.deadlines.remove(&(at, *key));
        }
    }

    /// Puts a connection's deadline into the list.
    fn queue(&mut self, key: &Pair) {
        let Some(watching) = self.connections.get_mut(key) else {
            return;
        };
        let deadline = watching.poll_timeout();
        let before = core::mem::replace(&mut watching.queued, deadline);
        if before != deadline {
            before.map(|at| self.deadlines.remove(&(at, *key)));
            self.deadlines.extend(deadline.map(|at| (at, *key)));
        }
    }

    pub fn poll_timeout(&self) -> Option<Instant> {
        self.deadlines.first().map(|&(at, _)| at)
    }

    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some(&(at, key)) = self.deadlines.first()
            && at <= now
        {
            if let Some(watching) = self.connections.get_mut(&key) {
                let sent = watching.handle_timeout(now);
                self.outbox.extend(sent.into_iter().map(again));
            }
            self.queue(&key);
        }
    }

    /// Returns the next packet to send.
    pub fn poll_transmit(&mut self) -> Option<Packet> {
        self.outbox.pop_front()
    }
}

/// Returns a packet with its hop limit decremented, as a router forwards it.
fn one_hop_on(packet: &Packet) -> Packet {
    let mut packet = packet.clone();
    packet.ip.hop_limit = packet.ip.hop_limit.saturating_sub(1);
    packet
}

/// Turns a copy into a new packet, since the original was forwarded.
fn again(mut copy: Packet) -> Packet {
    copy.identify(copy.identity_within().again());
    copy
}

/// Returns an ACK without its SACK blocks.
fn without_blocks(mut packet: Packet) -> Option<Packet> {
    packet.segment_mut()?.0.options.sack = Default::default();
    Some(packet)
}
