//! One direction of a TCP connection: its data sent, and its data received.
//!
//! Positions are sequence numbers without their wrap-around. SYN and FIN take one each, as they do there.

use super::ranges::Received;

/// Position of the first sequence number seen; there is room before it for late segments.
const FIRST: u64 = 1 << 32;

/// Positions beyond the receiver's window up to which a segment is possible: the largest window without scaling.
const SLACK: u64 = 1 << 16;

/// One direction.
#[derive(Clone, Debug)]
pub(super) struct Stream {
    /// Sequence number at [`FIRST`].
    first: u32,
    /// One after the highest position sent.
    pub sent: u64,
    /// Position up to which the sender has an acknowledgment.
    pub acknowledged: u64,
    received: Received,
    /// One after the last position that the receiver has ever allowed, if it has sent anything.
    allowed: u64,
    /// Positions of SYN and FIN, which are no bytes.
    syn: Option<u64>,
    fin: Option<u64>,
}

/// A stretch of sequence numbers in a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    pub start: u64,
    pub end: u64,
}

impl Stretch {
    pub fn is_empty(self) -> bool {
        self.start >= self.end
    }
}

impl Stream {
    /// Creates a direction with `sequence` as the first number seen; `syn` is true if that is its SYN.
    pub fn new(sequence: u32, syn: bool) -> Stream {
        Stream {
            first: sequence,
            sent: FIRST,
            acknowledged: FIRST,
            received: Received::from(FIRST),
            allowed: FIRST,
            syn: syn.then_some(FIRST),
            fin: None,
        }
    }

    /// Returns true if `sequence` is the number of this direction's SYN.
    pub fn has_syn(&self, sequence: u32) -> bool {
        self.syn.is_some() && sequence == self.first
    }

    /// Returns the position of a sequence number: the nearest to the last one sent.
    pub fn position(&self, sequence: u32) -> u64 {
        let last = self.first.wrapping_add((self.sent - FIRST) as u32);
        let distance = sequence.wrapping_sub(last) as i32;
        self.sent.saturating_add_signed(i64::from(distance))
    }

    /// Notes that the receiver allows all positions before one.
    pub fn allow(&mut self, position: u64) {
        self.allowed = self.allowed.max(position);
    }

    /// Returns true if a stretch ends within its receiver's window, or at most [`SLACK`] beyond it: so do a probe of a
    /// closed window, and a segment in a window whose opening was not seen.
    pub fn may_reach(&self, stretch: Stretch) -> bool {
        stretch.end <= self.allowed.max(self.acknowledged) + SLACK
    }

    /// Returns true if none of it has arrived at its receiver.
    pub fn has_come_to_nothing(&self) -> bool {
        self.received.next == FIRST
    }

    /// Takes in a stretch sent by the sender; its last position is the FIN if `fin`.
    pub fn send(&mut self, stretch: Stretch, fin: bool) {
        self.sent = self.sent.max(stretch.end);
        if fin {
            self.fin = Some(stretch.end - 1);
        }
    }

    /// Takes in an acknowledgment that has arrived at the sender.
    pub fn acknowledge(&mut self, position: u64) {
        if position <= self.sent {
            self.acknowledged = self.acknowledged.max(position);
        }
    }

    /// Takes in a stretch that has arrived at the receiver. Returns the number of bytes newly in order, and true if any
    /// of the stretch is new.
    pub fn receive(&mut self, stretch: Stretch) -> (u64, bool) {
        let before = self.received.next;
        let new = self.received.take(stretch.start, stretch.end);
        (self.bytes_since(before), new)
    }

    /// Takes in the receiver's acknowledgment of all before `position`, whatever arrivals were seen here. Returns the
    /// bytes whose arrival was not seen.
    pub fn receiver_acknowledges(&mut self, position: u64) -> u64 {
        let before = self.received.next;
        if position <= self.sent {
            self.received.advance(position);
        }
        self.bytes_since(before)
    }

    fn bytes_since(&self, before: u64) -> u64 {
        let passed = before..self.received.next;
        let flags = [self.syn, self.fin].into_iter().flatten();
        let flags = flags.filter(|position| passed.contains(position)).count() as u64;
        passed.end - passed.start - flags
    }

    /// Returns true if a position was sent that has not arrived.
    pub fn has_undelivered(&self) -> bool {
        self.received.next < self.sent
    }

    /// Returns true if a position was sent that the sender does not know to have arrived.
    pub fn has_unacknowledged(&self) -> bool {
        self.acknowledged < self.sent
    }

    /// Returns true if the FIN has arrived, and all data before it.
    pub fn is_finished(&self) -> bool {
        self.fin.is_some_and(|fin| self.received.next > fin)
    }

    /// Returns the number of ranges ahead of a gap that were too many to remember.
    pub fn forgotten(&self) -> u64 {
        self.received.forgotten
    }
}
