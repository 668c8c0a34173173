//! Bytes that go from one connection into another, as a gateway's do that ends a connection and opens its own.

use super::Connection;
use crate::packet::Payload;

impl Connection {
    /// Moves what can be read of `other` into this connection's send buffer, as far as there is room; returns how many
    /// bytes. What does not fit stays where it is and keeps the window of `other` small;
    /// [`Event::Writable`](super::Event::Writable) then follows here.
    pub fn take_from(&mut self, other: &mut Connection) -> u64 {
        if !self.may_write() || other.readable() == 0 {
            return 0;
        }
        self.fit_send_buffer();
        self.before_write();
        let mut moved = 0;
        while let Some(piece) = other.receive.take(self.send.room()) {
            moved += self.send.write_payload(&piece);
        }
        self.write_blocked |= other.readable() > 0;
        if moved > 0 {
            other.after_reading();
        }
        moved
    }

    /// Takes the next data to read, of at most so many bytes, to be handed on as it came.
    pub fn take(&mut self, at_most: u64) -> Option<Payload> {
        let piece = self.receive.take(at_most)?;
        self.after_reading();
        Some(piece)
    }

    /// Writes a payload that came from elsewhere, as far as there is room; returns how many bytes.
    pub fn put(&mut self, payload: &Payload) -> u64 {
        if !self.may_write() {
            return 0;
        }
        self.fit_send_buffer();
        self.before_write();
        self.send.write_payload(payload)
    }

    /// From now on the peer is told only of what [`release_acknowledgments`](Self::release_acknowledgments) allows: a gateway's,
    /// that confirms nothing that the far end has not.
    pub fn hold_acknowledgments(&mut self) {
        self.told_up_to = 1;
    }

    /// The peer may be told of so many bytes in all, and of its FIN if `with_end`.
    pub fn release_acknowledgments(&mut self, bytes: u64, with_end: bool) {
        if self.told_up_to == u64::MAX {
            return;
        }
        let position = 1 + bytes + u64::from(with_end);
        if position > self.told_up_to {
            let before = self.told();
            self.told_up_to = position;
            self.ack_due |= self.told() > before;
        }
    }

    /// The next position that the peer is told to be expected.
    pub(super) fn told(&self) -> u64 {
        self.receive.next().min(self.told_up_to)
    }

    /// A window field counted from there: what is held back of acknowledgments is still the peer's to have sent.
    pub(super) fn window_from_told(&self, field: u16, shift: u8) -> u16 {
        let held_back = (self.receive.next() - self.told()) >> shift;
        u16::try_from(u64::from(field) + held_back).unwrap_or(u16::MAX)
    }

    /// Bytes that this connection holds: written and not acknowledged, and received and not read, those beyond gaps too.
    pub fn held(&self) -> u64 {
        self.send.held() + self.receive.held()
    }
}
