//! Identity of a packet in its run: known only in a simulation, and not part of its bytes.

use super::Packet;
use crate::time::Instant;

/// A packet's number in its run, first time of sending, direction in its flow, and copy number.
///
/// The identity stays the same through tunnels and added headers: a tunnel packet has its inner packet's identity.
// Bytes, which need no alignment and fit beside `Packet::retransmission`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Identity([u8; 15]);

/// Offsets of the copy number and of the time.
const COPY: usize = 6;
const SENT: usize = 7;
/// Direction bit in the last byte of the number.
const BACK: u8 = 0x80;

impl Identity {
    /// Identity of a packet not yet sent.
    pub const NONE: Identity = Identity([0xFF; 15]);

    /// Creates the identity of a packet sent for the first time; only 47 bits of the number are kept.
    #[inline]
    pub fn new(number: u64, sent: Instant) -> Identity {
        let mut bytes = [0; 15];
        bytes[..COPY].copy_from_slice(&number.to_le_bytes()[..COPY]);
        bytes[COPY - 1] &= !BACK;
        bytes[SENT..].copy_from_slice(&sent.as_nanos().to_le_bytes());
        Identity(bytes)
    }

    /// Returns true if the packet was sent.
    #[inline]
    pub fn is_some(&self) -> bool {
        self.0[..COPY] != [0xFF; COPY]
    }

    /// Returns the identity with the direction from the flow's sink to its source.
    #[inline]
    pub const fn going_back(mut self) -> Identity {
        self.0[COPY - 1] |= BACK;
        self
    }

    /// Returns true if the packet goes from its flow's sink to its source.
    #[inline]
    pub const fn goes_back(&self) -> bool {
        self.0[COPY - 1] & BACK != 0
    }

    /// Returns the identity of a packet that a gateway sends in place of this one: without a number yet, with the same
    /// time.
    pub fn again(mut self) -> Identity {
        self.0[..SENT].copy_from_slice(&Identity::NONE.0[..SENT]);
        self
    }

    /// Returns the first time of sending of the packet that this one, still without a number, replaces; `None` if it
    /// replaces none.
    #[inline]
    pub fn sent_before(&self) -> Option<Instant> {
        let sent = self.sent();
        (sent != Identity::NONE.sent()).then_some(sent)
    }

    /// Returns the packet's number in its run.
    #[inline]
    pub fn number(&self) -> u64 {
        let mut bytes = [0; 8];
        bytes[..COPY].copy_from_slice(&self.0[..COPY]);
        bytes[COPY - 1] &= !BACK;
        u64::from_le_bytes(bytes)
    }

    /// Returns the time when the packet was first sent.
    #[inline]
    pub fn sent(&self) -> Instant {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&self.0[SENT..]);
        Instant::ZERO + crate::time::Duration::from_nanos(u64::from_le_bytes(bytes))
    }

    /// Returns the copy number: zero for the sender's original.
    #[inline]
    pub const fn copy(&self) -> u8 {
        self.0[COPY]
    }

    /// Returns the identity of the copy with this number.
    #[inline]
    pub const fn with_copy(mut self, copy: u8) -> Identity {
        self.0[COPY] = copy;
        self
    }
}

impl core::fmt::Debug for Identity {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.is_some() {
            true => write!(f, "{}.{}", self.number(), self.copy()),
            false => write!(f, "none"),
        }
    }
}

impl Packet {
    /// Returns the identity of this packet or, for a tunnel without one, of its inner packet.
    #[inline]
    pub fn identity_within(&self) -> Identity {
        let mut packet = self;
        while let (false, Some(inner)) = (packet.identity.is_some(), packet.body.inner()) {
            packet = inner;
        }
        packet.identity
    }

    /// Sets the identity of the packet and of the packets in its tunnels.
    #[inline]
    pub fn identify(&mut self, identity: Identity) {
        self.identity = identity;
        let mut body = &mut self.body;
        while let Some(inner) = body.inner_mut() {
            inner.identity = identity;
            body = &mut inner.body;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_says_number_time_and_copy() {
        let sent = Instant::from_millis(12_345);
        let identity = Identity::new(0x1234_5678_9ABC, sent);
        assert!(identity.is_some() && !Identity::NONE.is_some());
        assert_eq!(identity.number(), 0x1234_5678_9ABC);
        assert_eq!((identity.sent(), identity.copy()), (sent, 0));
        let copy = identity.with_copy(3);
        assert_eq!(
            (copy.number(), copy.sent(), copy.copy()),
            (identity.number(), sent, 3)
        );
        assert_eq!(format!("{copy:?}"), "20015998343868.3");
    }

    #[test]
    fn a_way_back_changes_neither_number_nor_time() {
        let sent = Instant::from_millis(7);
        let most = (1 << 47) - 2;
        for number in [0, 5, most] {
            let there = Identity::new(number, sent);
            let back = there.going_back();
            assert_eq!((there.goes_back(), back.goes_back()), (false, true));
            assert_eq!((back.number(), back.sent()), (number, sent));
            assert!(back.is_some() && back.with_copy(2).goes_back());
        }
    }

    #[test]
    fn what_is_sent_again_has_no_number_but_a_time() {
        let sent = Instant::from_millis(7);
        let again = Identity::new(5, sent).with_copy(1).again();
        assert!(!again.is_some());
        assert_eq!(again.sent_before(), Some(sent));
        assert_eq!(Identity::NONE.sent_before(), None);
    }
}
