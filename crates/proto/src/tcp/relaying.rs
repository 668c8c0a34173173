//! Bytes that go from one connection into another, as a gateway's do that ends a connection and opens its own.

use super::Connection;

impl Connection {
    /// Moves what can be read of `other` into this connection's send buffer, as far as there is room; returns how many
    /// bytes. What does not fit stays where it is and keeps the window of `other` small;
    /// [`Event::Writable`](super::Event::Writable) then follows here.
    pub fn take_from(&mut self, other: &mut Connection) -> u64 {
        if !self.may_write() || other.readable() == 0 {
            return 0;
        }
        self.fit_send_buffer();
        self.rate_before_write();
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

    /// Bytes that this connection holds: written and not acknowledged, and received and not read, those beyond gaps too.
    pub fn held(&self) -> u64 {
        self.send.held() + self.receive.held()
    }
}
