//! Captures: the packets of one interface as a pcapng file. The run starts at 1970-01-01 00:00:00 UTC.

use baton_pcapng::{Frame, Interface};
use baton_proto::packet::Packet;
use baton_proto::time::Instant;
use std::io::{self, Write};
use std::num::NonZeroU32;
use std::time::Duration;

pub use baton_pcapng::Direction;

/// A capture being written.
pub struct Capture<W: Write> {
    file: baton_pcapng::Capture<W>,
    interface: Interface,
    /// Buffer for a packet's bytes, which saves an allocation per packet.
    bytes: Vec<u8>,
    /// Captured bytes of each packet.
    snap_length: usize,
}

impl<W: Write> Capture<W> {
    /// Begins a capture of the interface `name`; `comment` describes the file (Wireshark shows it in the file's
    /// properties). The first `snap_length` bytes of each packet are captured, without one all. Many small writes
    /// follow: `out` should be buffered.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn new(
        out: W,
        name: &str,
        comment: &str,
        snap_length: Option<NonZeroU32>,
    ) -> io::Result<Capture<W>> {
        let mut file = baton_pcapng::Capture::new(out, comment)?;
        let interface = file.add_interface(name, snap_length)?;
        Ok(Capture {
            file,
            interface,
            bytes: Vec::new(),
            snap_length: snap_length.map_or(usize::MAX, |length| length.get() as usize),
        })
    }

    /// Writes a packet as the interface saw it at `at`, bit errors included, with its original length. Packets are in
    /// the file in the order of the calls.
    ///
    /// # Errors
    /// Errors of the file, whose last packet may then be cut off.
    pub fn write(&mut self, at: Instant, direction: Direction, packet: &Packet) -> io::Result<()> {
        self.bytes.clear();
        packet.encode_damaged(&mut self.bytes);
        let frame = Frame {
            at: Duration::from_nanos(at.as_nanos()),
            direction,
            length: self.bytes.len(),
            bytes: &self.bytes[..self.bytes.len().min(self.snap_length)],
        };
        self.file.write(self.interface, frame)
    }

    /// Ends the capture: flushes it and returns its writer.
    ///
    /// # Errors
    /// Errors of the file.
    pub fn finish(self) -> io::Result<W> {
        self.file.finish()
    }
}

#[cfg(test)]
mod tests;
