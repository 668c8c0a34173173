//! Copies of a connection's packets, kept by a router until the mobile has them, and their losses.

use crate::packet::Packet;
use crate::time::Instant;
use crate::wire::sequence::SequenceNumber;
use std::collections::VecDeque;

/// Most bytes of copies for one connection: more than the bandwidth-delay product and the queue of a satellite link.
/// Chosen; Berkeley's code had room for 100 packets.
const MOST_BYTES: u32 = 1 << 20;
/// Most retransmissions of a packet here: as in Berkeley's code in ns-2 (`SNOOP_MAX_RXMIT`).
const MOST_RESENDS: u32 = 10;

/// Copies of one connection.
#[derive(Debug, Default)]
pub(super) struct Copies {
    /// Ascending, each with another beginning.
    copies: VecDeque<Copied>,
    bytes: u32,
    /// Packets sent to the mobile, retransmissions included.
    sent: u64,
    /// The last of them that is known to have arrived. For a retransmitted packet it is unknown which transmission did
    /// (Karn).
    arrived: u64,
    /// True if the mobile reports data beyond a hole.
    has_blocks: bool,
    /// True if any may be lost.
    any_lost: bool,
}

/// A packet that the mobile may not have.
#[derive(Debug)]
pub(super) struct Copied {
    start: SequenceNumber,
    /// The sequence number after its last.
    end: SequenceNumber,
    packet: Packet,
    sent_at: Instant,
    /// The number of its last transmission among all transmissions.
    order: u64,
    resent: u32,
    /// True if its sender has retransmitted it, and needs to see its ACKs.
    by_sender: bool,
    /// True if a block has reported it.
    arrived: bool,
    /// True if it counts as lost, and was not retransmitted since.
    lost: bool,
}

impl Copied {
    /// Returns true if it was sent to the mobile only once.
    fn is_first(&self) -> bool {
        self.resent == 0 && !self.by_sender
    }

    fn fate(&self) -> Fate {
        Fate {
            order: self.order,
            is_first: self.is_first(),
            lost: self.lost,
        }
    }
}

/// Facts about a copy that has arrived.
struct Fate {
    order: u64,
    is_first: bool,
    lost: bool,
}

/// Copies dropped because the mobile has them.
pub(super) struct Released {
    /// Transmission time of the last of them, if it gives an RTT sample: it was sent once, and no hole has delayed its
    /// ACK.
    pub timed_from: Option<Instant>,
}

impl Copies {
    /// Keeps a packet to the mobile, with its first sequence number and the one after its last; returns true if there
    /// was room.
    pub fn keep(
        &mut self,
        now: Instant,
        (start, end): (SequenceNumber, SequenceNumber),
        packet: &Packet,
        by_sender: bool,
    ) -> bool {
        let place = self.place(start);
        let there = self.copies.get(place).filter(|copy| copy.start == start);
        let replaced = there.map(|copy| copy.packet.wire_length());
        let bytes = (self.bytes - replaced.unwrap_or(0)).saturating_add(packet.wire_length());
        if bytes > MOST_BYTES {
            return false;
        }
        self.bytes = bytes;
        self.sent += 1;
        let copy = Copied {
            start,
            end,
            packet: packet.clone(),
            sent_at: now,
            order: self.sent,
            resent: 0,
            by_sender,
            arrived: false,
            lost: false,
        };
        match replaced {
            Some(_) => self.copies[place] = copy,
            None => self.copies.insert(place, copy),
        }
        true
    }

    /// Returns the place of the first copy that begins here or beyond.
    fn place(&self, start: SequenceNumber) -> usize {
        self.copies
            .partition_point(|copy| copy.start.distance_from(start) < 0)
    }

    /// Drops the copy that begins here; returns true if it was the first one.
    pub fn remove(&mut self, start: SequenceNumber) -> bool {
        let place = self.place(start);
        if self
            .copies
            .get(place)
            .is_none_or(|copy| copy.start != start)
        {
            return false;
        }
        if let Some(copy) = self.copies.remove(place) {
            self.bytes -= copy.packet.wire_length();
        }
        place == 0
    }

    /// Drops the copies that the mobile has, all before `number`; `None` if there are none.
    pub fn release(&mut self, number: SequenceNumber) -> Option<Released> {
        let mut newest = None;
        while let Some(copy) = self.copies.front()
            && copy.end.distance_from(number) <= 0
        {
            let copy = self.copies.pop_front()?;
            self.bytes -= copy.packet.wire_length();
            if !copy.arrived {
                self.note_arrival(&copy.fate());
            }
            newest = Some(copy);
        }
        let is_timely = |copy: &Copied| copy.is_first() && !copy.arrived;
        newest.map(|copy| Released {
            timed_from: is_timely(&copy).then_some(copy.sent_at),
        })
    }

    fn note_arrival(&mut self, fate: &Fate) {
        if fate.is_first {
            self.arrived = self.arrived.max(fate.order);
        }
        if fate.lost {
            self.none_lost();
        }
    }

    /// Takes in an ACK of `number` with these blocks: packets sent before one that has arrived, and not in the blocks,
    /// are lost.
    pub fn take_blocks(
        &mut self,
        number: SequenceNumber,
        blocks: &[(SequenceNumber, SequenceNumber)],
    ) {
        for &(start, end) in blocks {
            if end.distance_from(number) <= 0 {
                // A duplicate arrival (RFC 2883): the retransmitted packet was not lost.
                self.none_lost();
                continue;
            }
            self.has_blocks = true;
            let mut place = self.place(start);
            while let Some(copy) = self.copies.get_mut(place)
                && copy.end.distance_from(end) <= 0
            {
                let fate = copy.fate();
                if !core::mem::replace(&mut copy.arrived, true) {
                    self.note_arrival(&fate);
                }
                place += 1;
            }
        }
        self.find_lost();
    }

    fn find_lost(&mut self) {
        let known = if self.has_blocks { usize::MAX } else { 1 };
        for copy in self.copies.iter_mut().take(known) {
            if copy.order > self.arrived && copy.is_first() {
                break; // All behind it was sent later.
            }
            copy.lost |= copy.order < self.arrived && !copy.arrived && !copy.by_sender;
            self.any_lost |= copy.lost;
        }
    }

    /// Takes in a duplicate ACK of `number` without blocks: a packet beyond it has arrived.
    pub fn doubt_first(&mut self, number: SequenceNumber) {
        let first = self.copies.front_mut();
        if let Some(copy) = first.filter(|copy| copy.start == number) {
            copy.lost |= copy.is_first();
            self.any_lost |= copy.lost;
        }
    }

    /// Takes in a timeout: all packets not known to have arrived are lost.
    pub fn all_lost(&mut self) {
        for (place, copy) in self.copies.iter_mut().enumerate() {
            copy.lost = place == 0 || !copy.arrived;
        }
        self.any_lost = true;
    }

    /// Clears all marks of loss: the packet in question has arrived without a retransmission.
    fn none_lost(&mut self) {
        if core::mem::take(&mut self.any_lost) {
            self.copies.iter_mut().for_each(|copy| copy.lost = false);
        }
    }

    /// Returns the first lost packet, which is now retransmitted.
    pub fn resend_lost(&mut self, now: Instant) -> Option<Packet> {
        if !self.any_lost {
            return None;
        }
        let mut copies = self.copies.iter_mut();
        let Some(copy) = copies.find(|copy| copy.lost && copy.resent <= MOST_RESENDS) else {
            self.any_lost = false;
            return None;
        };
        self.sent += 1;
        (copy.lost, copy.order, copy.sent_at) = (false, self.sent, now);
        copy.resent += 1;
        Some(copy.packet.clone())
    }

    /// Returns true if a hole that begins here is repaired from a copy, so that the sender is not to learn of it.
    pub fn repairs(&self, number: SequenceNumber) -> bool {
        self.is_next(Some(number)) && self.copies.front().is_some_and(|copy| !copy.by_sender)
    }

    /// Returns true if the mobile, which has all data before `number`, if that is known, waits for a copy that may be
    /// retransmitted.
    pub fn is_next(&self, number: Option<SequenceNumber>) -> bool {
        let waits = |copy: &Copied| number.is_none_or(|number| copy.start == number);
        self.copies
            .front()
            .is_some_and(|copy| waits(copy) && copy.resent <= MOST_RESENDS)
    }

    /// Returns the length of all copied packets, in bytes.
    pub const fn bytes(&self) -> u32 {
        self.bytes
    }
}
