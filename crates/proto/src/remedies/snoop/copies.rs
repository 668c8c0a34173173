//! The packets that a router keeps of a connection until the mobile has them, and which of them are lost.

use crate::packet::Packet;
use crate::time::Instant;
use crate::wire::sequence::SequenceNumber;
use std::collections::VecDeque;

/// Bytes of packets that are kept of one connection, at most: more than a satellite's pipe and queue hold. Chosen; Berkeley's
/// code had room for 100 packets.
const MOST_BYTES: u32 = 1 << 20;
/// Times that a packet is sent again here, at most: of Berkeley's code, as it went into ns-2 (`SNOOP_MAX_RXMIT`).
const MOST_RESENDS: u32 = 10;

/// Copies of one connection.
#[derive(Debug, Default)]
pub(super) struct Copies {
    /// Ascending and without overlap of their beginnings.
    copies: VecDeque<Copied>,
    bytes: u32,
    /// Packets that went to the mobile, with those that were sent again.
    sent: u64,
    /// The last of them that is known to have arrived. Of what was sent twice nobody knows which one it was (Karn).
    arrived: u64,
    /// True if the mobile tells what it has beyond a hole.
    has_blocks: bool,
    /// True if any may be lost.
    any_lost: bool,
}

/// A packet that the mobile may not have.
#[derive(Debug)]
pub(super) struct Copied {
    start: SequenceNumber,
    /// The number after its last.
    end: SequenceNumber,
    packet: Packet,
    sent_at: Instant,
    /// Its number among all packets that were sent, the last time.
    order: u64,
    resent: u32,
    /// Its sender sends it again, and wants to know what becomes of it.
    by_sender: bool,
    /// A block has told of it.
    arrived: bool,
    /// It is taken for lost, and was not sent again since.
    lost: bool,
}

impl Copied {
    /// Returns true if it went to the mobile once only.
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

/// Copies that went because the mobile has them.
pub(super) struct Released {
    /// Sending time of the last of them, if it tells a round-trip time: it was sent once, and no hole has kept its
    /// acknowledgment back.
    pub timed_from: Option<Instant>,
}

impl Copies {
    /// Keeps a packet that goes to the mobile, with the number of its first byte and the one after its last; says whether there
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

    /// The place of the first copy that begins here or behind.
    fn place(&self, start: SequenceNumber) -> usize {
        self.copies
            .partition_point(|copy| copy.start.distance_from(start) < 0)
    }

    /// Forgets the copy that begins here; says whether it was the first one.
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

    /// Lets go what the mobile has, all before `number`; `None` if that is nothing.
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

    /// An acknowledgment of `number` has told of these blocks: what was sent before something that has arrived, and is not
    /// among them, is lost.
    pub fn take_blocks(
        &mut self,
        number: SequenceNumber,
        blocks: &[(SequenceNumber, SequenceNumber)],
    ) {
        for &(start, end) in blocks {
            if end.distance_from(number) <= 0 {
                // It has come twice (RFC 2883): what was sent again was not lost.
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

    /// A duplicate acknowledgment of `number` says, without blocks, that something behind it has arrived.
    pub fn doubt_first(&mut self, number: SequenceNumber) {
        let first = self.copies.front_mut();
        if let Some(copy) = first.filter(|copy| copy.start == number) {
            copy.lost |= copy.is_first();
            self.any_lost |= copy.lost;
        }
    }

    /// A timeout: all that is not known to have arrived is lost.
    pub fn all_lost(&mut self) {
        for (place, copy) in self.copies.iter_mut().enumerate() {
            copy.lost = place == 0 || !copy.arrived;
        }
        self.any_lost = true;
    }

    /// Clears all marks of loss: the packet in question has arrived by itself.
    fn none_lost(&mut self) {
        if core::mem::take(&mut self.any_lost) {
            self.copies.iter_mut().for_each(|copy| copy.lost = false);
        }
    }

    /// Gives the first packet that is lost, which is sent again now.
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

    /// Returns true if a hole that begins here is repaired from a copy, so that the sender is not to hear of it.
    pub fn repairs(&self, number: SequenceNumber) -> bool {
        self.is_next(Some(number)) && self.copies.front().is_some_and(|copy| !copy.by_sender)
    }

    /// Returns true if the mobile, which has all before `number`, if it has said so, waits for a copy that may be sent
    /// again.
    pub fn is_next(&self, number: Option<SequenceNumber>) -> bool {
        let waits = |copy: &Copied| number.is_none_or(|number| copy.start == number);
        self.copies
            .front()
            .is_some_and(|copy| waits(copy) && copy.resent <= MOST_RESENDS)
    }

    /// Bytes of all packets.
    pub const fn bytes(&self) -> u32 {
        self.bytes
    }
}
