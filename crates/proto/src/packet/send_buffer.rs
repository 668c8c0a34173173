//! Data written by the application and not yet acknowledged by the peer.
//!
//! Positions are 64-bit offsets from the initial sequence number: 0 is the SYN, 1 the first byte. They do not wrap;
//! only headers do.

use super::{Payload, pattern_byte};
use std::collections::VecDeque;

/// Data that was written and is not yet acknowledged.
#[derive(Debug)]
pub(crate) struct SendBuffer {
    content: Content,
    /// Number of bytes ever written.
    written: u64,
    /// Number of bytes acknowledged and forgotten.
    released: u64,
    capacity: u64,
}

#[derive(Debug)]
enum Content {
    Unwritten,
    Pattern(u32),
    Bytes(VecDeque<u8>),
}

impl SendBuffer {
    pub(crate) fn new(capacity: u32) -> SendBuffer {
        SendBuffer {
            content: Content::Unwritten,
            written: 0,
            released: 0,
            capacity: u64::from(capacity),
        }
    }

    pub(crate) fn room(&self) -> u64 {
        self.capacity.saturating_sub(self.written - self.released)
    }

    pub(crate) fn held(&self) -> u64 {
        self.written - self.released
    }

    pub(crate) fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Sets the capacity. Data already held stays, even beyond it.
    pub(crate) fn resize(&mut self, capacity: u64) {
        self.capacity = capacity;
    }

    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// Writes bytes, as far as there is room; none after a pattern. Returns the number written.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> usize {
        let taken = bytes
            .len()
            .min(usize::try_from(self.room()).unwrap_or(usize::MAX));
        if matches!(self.content, Content::Unwritten) {
            self.content = Content::Bytes(VecDeque::new());
        }
        let Content::Bytes(held) = &mut self.content else {
            return 0;
        };
        held.extend(&bytes[..taken]);
        self.written += taken as u64;
        taken
    }

    /// Writes from pattern `stream`, as far as there is room; nothing after other data. Returns the number of bytes
    /// written.
    pub(crate) fn write_pattern(&mut self, stream: u32, length: u64) -> u64 {
        match self.content {
            Content::Unwritten => self.content = Content::Pattern(stream),
            Content::Pattern(written) if written == stream => {}
            _ => return 0,
        }
        let taken = length.min(self.room());
        self.written += taken;
        taken
    }

    /// Writes a payload, as far as there is room; returns the number of bytes written. A pattern that continues the
    /// data stays a pattern; anything else is held as bytes, together with the data before it.
    pub(crate) fn write_payload(&mut self, payload: &Payload) -> u64 {
        let length = u64::from(payload.length());
        if let Payload::Pattern { stream, offset, .. } = *payload
            && offset == self.written
            && !matches!(self.content, Content::Bytes(_))
        {
            let taken = self.write_pattern(stream, length);
            if taken > 0 {
                return taken;
            }
        }
        if let Content::Pattern(stream) = self.content {
            let held = self.released..self.written;
            let bytes = held.map(|position| pattern_byte(stream, position));
            self.content = Content::Bytes(bytes.collect());
        }
        let mut bytes = Vec::new();
        payload.copy_into(&mut bytes);
        self.write(&bytes) as u64
    }

    /// Returns the contents, as few payloads.
    pub(crate) fn runs(&self) -> Vec<Payload> {
        let mut runs = Vec::new();
        let mut offset = self.released;
        while offset < self.written {
            let length = u32::try_from(self.written - offset).unwrap_or(u32::MAX);
            runs.push(self.payload(offset, length));
            offset += u64::from(length);
        }
        runs
    }

    /// Creates a buffer with `written` bytes written, of which the last ones are in `runs` and the others acknowledged.
    pub(crate) fn resume(capacity: u32, written: u64, runs: &[Payload]) -> SendBuffer {
        let held: u64 = runs.iter().map(|run| u64::from(run.length())).sum();
        let released = written.saturating_sub(held);
        let mut buffer = SendBuffer {
            content: Content::Unwritten,
            written: released,
            released,
            capacity: u64::MAX,
        };
        for run in runs {
            buffer.write_payload(run);
        }
        buffer.capacity = u64::from(capacity);
        buffer
    }

    /// Returns `length` bytes from `offset` (zero is the first ever written).
    pub(crate) fn payload(&self, offset: u64, length: u32) -> Payload {
        if length == 0 {
            return Payload::EMPTY;
        }
        match &self.content {
            Content::Unwritten => Payload::EMPTY,
            Content::Pattern(stream) => Payload::Pattern {
                stream: *stream,
                offset,
                length,
            },
            Content::Bytes(held) => {
                let first = (offset.saturating_sub(self.released) as usize).min(held.len());
                let last = (first + length as usize).min(held.len());
                Payload::Bytes(held.range(first..last).copied().collect())
            }
        }
    }

    /// Forgets data before `offset`.
    pub(crate) fn release(&mut self, offset: u64) {
        let offset = offset.min(self.written);
        let Some(count) = offset.checked_sub(self.released) else {
            return;
        };
        if let Content::Bytes(held) = &mut self.content {
            held.drain(..(count as usize).min(held.len()));
            free_if_idle(held);
        }
        self.released = offset;
    }
}

/// Frees the memory of an empty queue that has been long, so that idle connections are small.
pub(crate) fn free_if_idle<T>(queue: &mut VecDeque<T>) {
    /// Bytes that an empty queue may keep.
    const KEPT: usize = 512;
    if queue.is_empty() && queue.capacity() * size_of::<T>() > KEPT {
        *queue = VecDeque::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_kept_until_they_are_acknowledged() {
        let mut buffer = SendBuffer::new(10);
        assert_eq!(buffer.write(b"hello, world"), 10);
        assert_eq!(buffer.payload(7, 3), Payload::Bytes((*b"wor").into()));
        buffer.release(5);
        assert_eq!(buffer.room(), 5);
        assert_eq!(buffer.write(b"ld"), 2);
        assert_eq!(buffer.payload(7, 5), Payload::Bytes((*b"world").into()));
        buffer.release(3);
        assert_eq!(buffer.room(), 3, "never backwards");
    }

    #[test]
    fn a_pattern_that_is_relayed_stays_one_and_becomes_bytes_before_others() {
        let pattern = |stream, offset, length| Payload::Pattern {
            stream,
            offset,
            length,
        };
        let mut buffer = SendBuffer::new(10);
        assert_eq!(buffer.write_payload(&pattern(3, 0, 4)), 4);
        assert_eq!(buffer.write_payload(&pattern(3, 4, 2)), 2);
        assert_eq!(buffer.payload(1, 5), pattern(3, 1, 5));
        buffer.release(2);
        let other = pattern(5, 100, 9);
        assert_eq!(buffer.write_payload(&other), 6, "as there is room");
        let mut expected = Vec::new();
        pattern(3, 2, 4).copy_into(&mut expected);
        pattern(5, 100, 6).copy_into(&mut expected);
        assert_eq!(buffer.payload(2, 10), Payload::Bytes(expected.into()));
        assert_eq!(buffer.write_payload(&other), 0);
    }
}
