//! Captures: the packets of one interface as a pcapng file (draft-ietf-opsawg-pcapng) that other tools read.
//!
//! One section with one interface of raw IP packets. Times are nanoseconds, and the file says so
//! (`if_tsresol`): crate `pcap-file` writes the nanoseconds of a time whatever resolution the interface
//! declares, so that without the option, or with another, every reader would be wrong by a power of ten.
//! The run starts at 1970-01-01 00:00:00 UTC. Byte order is little-endian on every machine, for the same bytes everywhere.

use baton_proto::packet::Packet;
use baton_proto::time::Instant;
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::{DataLink, Endianness, PcapError};
use std::borrow::Cow;
use std::io::{self, Write};
use std::num::NonZeroU32;
use std::time::Duration;

/// `if_tsresol`: times are multiples of 10^-9 seconds.
const NANOSECONDS: u8 = 9;
/// `snaplen` where packets are kept whole.
const NO_LIMIT: u32 = 0;

/// Direction in which a packet passed the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the link to the node.
    Inbound,
    /// From the node to the link.
    Outbound,
}

/// A capture being written.
pub struct Capture<W: Write> {
    writer: PcapNgWriter<W>,
    /// The packet's bytes, kept so that each packet need not allocate anew.
    bytes: Vec<u8>,
    /// Bytes that are kept of each packet.
    snap_length: usize,
}

impl<W: Write> Capture<W> {
    /// Begins a capture of the interface `name`; `comment` describes the file (Wireshark shows it in the
    /// file's properties). Of each packet the first `snap_length` bytes are kept, without one all. Many small writes
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
        let section = SectionHeaderBlock {
            endianness: Endianness::Little,
            options: vec![
                SectionHeaderOption::Comment(Cow::Owned(fitting(comment))),
                SectionHeaderOption::UserApplication(Cow::Borrowed(concat!(
                    "baton ",
                    env!("CARGO_PKG_VERSION")
                ))),
            ],
            ..SectionHeaderBlock::default()
        };
        let interface = InterfaceDescriptionBlock {
            linktype: DataLink::RAW,
            snaplen: snap_length.map_or(NO_LIMIT, NonZeroU32::get),
            options: vec![
                InterfaceDescriptionOption::IfName(Cow::Owned(fitting(name))),
                InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
            ],
        };
        let mut writer = PcapNgWriter::with_section_header(out, section).map_err(io_error)?;
        writer.write_pcapng_block(interface).map_err(io_error)?;
        Ok(Capture {
            writer,
            bytes: Vec::new(),
            snap_length: snap_length.map_or(usize::MAX, |length| length.get() as usize),
        })
    }

    /// Writes a packet as the interface saw it at `at`, bit errors included, and how long it was. Packets stand in the file in the
    /// order of the calls.
    ///
    /// # Errors
    /// Errors of the file, whose last packet may then be cut off.
    pub fn write(&mut self, at: Instant, direction: Direction, packet: &Packet) -> io::Result<()> {
        self.bytes.clear();
        packet.encode_damaged(&mut self.bytes);
        // The two lowest bits of epb_flags: 01 is inbound, 10 outbound.
        let flags = match direction {
            Direction::Inbound => 1,
            Direction::Outbound => 2,
        };
        let block = EnhancedPacketBlock {
            interface_id: 0,
            timestamp: Duration::from_nanos(at.as_nanos()),
            original_len: self.bytes.len() as u32,
            data: Cow::Borrowed(&self.bytes[..self.bytes.len().min(self.snap_length)]),
            options: vec![EnhancedPacketOption::Flags(flags)],
        };
        self.writer.write_pcapng_block(block).map_err(io_error)?;
        Ok(())
    }

    /// Ends the capture: flushes it and gives back what it was written to.
    ///
    /// # Errors
    /// Errors of the file.
    pub fn finish(self) -> io::Result<W> {
        let mut out = self.writer.into_inner();
        out.flush()?;
        Ok(out)
    }
}

/// As much of a text as an option's 16-bit length can say.
fn fitting(text: &str) -> String {
    let mut end = text.len().min(usize::from(u16::MAX));
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}

fn io_error(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::other(other),
    }
}

#[cfg(test)]
mod tests;
