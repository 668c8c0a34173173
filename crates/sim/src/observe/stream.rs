//! One direction of a TCP connection: what its sender has sent, and what of it has come.
//!
//! Positions are sequence numbers without their wrap-around. SYN and FIN take one each, as they do there.

use super::ranges::Received;

/// Position of the first sequence number seen; there is room before it for what comes late.
const FIRST: u64 = 1 << 32;

/// Beyond the receiver's window a segment is impossible only by so much: the largest window without scaling.
const SLACK: u64 = 1 << 16;

/// One direction.
#[derive(Clone, Debug)]
pub(super) struct Stream {
    /// The sequence number at [`FIRST`].
    first: u32,
    /// One after the highest position sent.
    pub sent: u64,
    /// Position up to which the sender has an acknowledgment.
    pub acknowledged: u64,
    received: Received,
    /// One after the last position that the receiver has ever allowed, as far as it has spoken.
    allowed: u64,
    /// Positions of SYN and FIN: they are no bytes.
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
    /// A direction of which `sequence` is the first number seen; `syn` says whether that is its SYN.
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

    /// The position that a sequence number means: the nearest to what was sent last.
    pub fn position(&self, sequence: u32) -> u64 {
        let last = self.first.wrapping_add((self.sent - FIRST) as u32);
        let distance = sequence.wrapping_sub(last) as i32;
        self.sent.saturating_add_signed(i64::from(distance))
    }

    /// The receiver allows all before a position.
    pub fn allow(&mut self, position: u64) {
        self.allowed = self.allowed.max(position);
    }

    /// Returns true if a stretch ends where a sender may send that goes by its receiver's window. A probe of a closed
    /// window, and one that the receiver has not been heard to open, go beyond it by less than [`SLACK`].
    pub fn may_reach(&self, stretch: Stretch) -> bool {
        stretch.end <= self.allowed.max(self.acknowledged) + SLACK
    }

    /// Returns true if nothing of it has come to its receiver.
    pub fn has_come_to_nothing(&self) -> bool {
        self.received.next == FIRST
    }

    /// The sender has sent a stretch; the last of it is its FIN if `fin`.
    pub fn send(&mut self, stretch: Stretch, fin: bool) {
        self.sent = self.sent.max(stretch.end);
        if fin {
            self.fin = Some(stretch.end - 1);
        }
    }

    /// An acknowledgment has come back to the sender.
    pub fn acknowledge(&mut self, position: u64) {
        if position <= self.sent {
            self.acknowledged = self.acknowledged.max(position);
        }
    }

    /// A stretch has come to the receiver. Returns the bytes that are now there in order and were not before,
    /// and whether any of the stretch is new.
    pub fn receive(&mut self, stretch: Stretch) -> (u64, bool) {
        let before = self.received.next;
        let new = self.received.take(stretch.start, stretch.end);
        (self.bytes_since(before), new)
    }

    /// The receiver acknowledges all before `position`: it has it, whatever was seen here. Returns the bytes
    /// that nobody saw coming.
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

    /// Returns true if something was sent that has not come.
    pub fn has_undelivered(&self) -> bool {
        self.received.next < self.sent
    }

    /// Returns true if something was sent that the sender does not know to have come.
    pub fn has_unacknowledged(&self) -> bool {
        self.acknowledged < self.sent
    }

    /// Returns true if the FIN has come, and with it everything.
    pub fn is_finished(&self) -> bool {
        self.fin.is_some_and(|fin| self.received.next > fin)
    }

    /// Ranges that came ahead of a gap and were too many to remember.
    pub fn forgotten(&self) -> u64 {
        self.received.forgotten
    }
}
