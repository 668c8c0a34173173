//! Relaying between two connections, for a gateway that ends a connection and opens its own.

use super::Connection;
use crate::packet::Payload;

impl Connection {
    /// Moves the readable data of `other` into this connection's send buffer, as far as there is room; returns the
    /// number of bytes moved. Data that does not fit remains and keeps the window of `other` small;
    /// [`Event::Writable`](super::Event::Writable) then follows here.
    pub fn take_from(&mut self, other: &mut Connection) -> u64 {
        if !self.may_write() || other.readable() == 0 {
            return 0;
        }
        self.sender.before_write();
        let flow = &mut self.sender.flow;
        let mut moved = 0;
        while let Some(piece) = other.receiving.data.take(flow.space.buffer.room()) {
            moved += flow.space.buffer.write_payload(&piece);
        }
        flow.room.note_write(other.readable() > 0);
        if moved > 0 {
            other.after_reading();
        }
        moved
    }

    /// Takes the next data to read, at most so many bytes, to pass on unchanged.
    pub fn take(&mut self, at_most: u64) -> Option<Payload> {
        let piece = self.receiving.data.take(at_most)?;
        self.after_reading();
        Some(piece)
    }

    /// Writes payloads from another connection: `take` returns the next one, of at most so many bytes, and is called
    /// only while there is room. Before a write the room may shrink, since the buffer tunes itself.
    /// [`Event::Writable`](super::Event::Writable) follows when there is room again.
    pub fn put_all(&mut self, mut take: impl FnMut(u64) -> Option<Payload>) {
        if !self.may_write() {
            return;
        }
        self.sender.before_write();
        let flow = &mut self.sender.flow;
        while flow.space.buffer.room() > 0
            && let Some(payload) = take(flow.space.buffer.room())
        {
            flow.space.buffer.write_payload(&payload);
        }
        flow.room.note_write(flow.space.buffer.room() == 0);
    }

    /// Holds ACKs from now on until [`release_acknowledgments`](Self::release_acknowledgments) allows them: for a
    /// gateway that confirms only data confirmed by the far end.
    pub fn hold_acknowledgments(&mut self) {
        self.receiving.hold_acknowledgments();
    }

    /// Releases ACKs for so many bytes in all, and for the peer's FIN if `with_end`.
    pub fn release_acknowledgments(&mut self, bytes: u64, with_end: bool) {
        let position = 1 + bytes + u64::from(with_end);
        self.receiving.release_acknowledgments(position);
    }
}
