//! Applications at both ends: each writes its own pattern, and the other compares what it reads.

use crate::bench::{Bench, Side};
use crate::seen::Carried;
use baton_proto::host::SocketEvent;
use baton_proto::packet::pattern_byte;
use baton_proto::time::{Duration, Instant};

/// Bytes of one write or read.
const CHUNK: usize = 64 * 1024;
/// Lead of a writer without end over the reader.
const AHEAD: u64 = 256 * 1024;

impl Bench {
    /// Writes on `from` until it has written so many bytes in all, as far as its stack takes them.
    pub fn write(&mut self, from: Side, in_all: u64) {
        let Carried { written, .. } = self.carried[from as usize];
        let left = in_all.saturating_sub(written);
        if left == 0 {
            return;
        }
        let taken = match from {
            Side::Ours => self.connection().write_pattern(from as u32, left),
            Side::Kernel => {
                let bytes: Vec<u8> = (written..written + left.min(CHUNK as u64))
                    .map(|position| pattern_byte(from as u32, position))
                    .collect();
                self.kernel.write(&bytes) as u64
            }
        };
        self.carried[from as usize].written += taken;
    }

    /// Reads at the side across from `from` all that has come, and compares.
    pub fn read(&mut self, from: Side) {
        let mut buffer = vec![0; CHUNK];
        loop {
            let count = match from {
                Side::Ours => self.kernel.read(&mut buffer),
                Side::Kernel => self.connection().read(&mut buffer),
            };
            if count == 0 {
                return;
            }
            let carried = &mut self.carried[from as usize];
            for (byte, position) in buffer[..count].iter().zip(carried.read..) {
                let expected = pattern_byte(from as u32, position);
                assert_eq!(*byte, expected, "byte {position} from {from:?}");
            }
            carried.read += count as u64;
        }
    }

    /// Carries so many further bytes from `from`, to the last.
    pub fn carry(&mut self, from: Side, bytes: u64) {
        let in_all = self.carried[from as usize].written + bytes;
        self.until(&format!("carried from {from:?}"), |bench| {
            bench.write(from, in_all);
            bench.read(from);
            bench.carried[from as usize].read == in_all
        });
    }

    /// Carries so many further bytes both ways at the same time.
    pub fn exchange(&mut self, bytes: u64) {
        let in_all = self.carried.map(|carried| carried.written + bytes);
        self.until("exchanged", |bench| {
            for from in Side::BOTH {
                bench.write(from, in_all[from as usize]);
                bench.read(from);
            }
            bench.carried.map(|carried| carried.read) == in_all
        });
    }

    /// Carries from `from` as fast as it goes until the world's time is `until`, and `bytes` more.
    pub fn carry_until(&mut self, from: Side, until: Instant, bytes: u64) {
        self.until("at that time", |bench| {
            let in_all = bench.carried[from as usize].read + AHEAD;
            bench.write(from, in_all);
            bench.read(from);
            bench.now() >= until
        });
        let Carried { written, read } = self.carried[from as usize];
        self.until("empty", |bench| {
            bench.read(from);
            bench.carried[from as usize].read == written
        });
        assert!(read > 0, "nothing came from {from:?} before {until:?}");
        self.carry(from, bytes);
    }

    /// Waits until neither side has anything outstanding.
    pub fn settle(&mut self) {
        self.until("settled", |bench| {
            bench.connection().bytes_in_flight() == 0 && bench.kernel.info().tcpi_unacked == 0
        });
    }

    /// Waits for half a second, in which what a stack has held back leaves: an acknowledgment, or the window that reading opened.
    pub fn quieten(&mut self) {
        let free = self.now() + Duration::from_millis(500);
        self.until("rested", |bench| bench.now() >= free);
    }

    /// Closes both ends in good order, `first` first; before the second closes it still sends `bytes`.
    pub fn close(&mut self, first: Side, bytes: u64) {
        self.finish(first);
        self.until("closed one way", |bench| {
            bench.read(first);
            bench.has_ended(first)
        });
        self.carry(first.other(), bytes);
        self.finish(first.other());
        self.until("closed", |bench| {
            bench.read(first.other());
            bench.has_ended(first.other()) && bench.events.contains(&SocketEvent::Closed)
        });
        assert_eq!(self.kernel.error, None);
        let unwanted = [
            SocketEvent::Reset,
            SocketEvent::TimedOut,
            SocketEvent::Refused,
        ];
        assert!(!self.events.iter().any(|event| unwanted.contains(event)));
    }

    fn finish(&mut self, side: Side) {
        match side {
            Side::Ours => self.connection().close(),
            Side::Kernel => self.kernel.finish(),
        }
    }

    /// Returns true if the side across from `from` knows that no more comes from there.
    fn has_ended(&self, from: Side) -> bool {
        match from {
            Side::Ours => self.kernel.ended,
            Side::Kernel => self.events.contains(&SocketEvent::PeerClosed),
        }
    }
}
