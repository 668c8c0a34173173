//! Captures as pcapng files (draft-ietf-opsawg-pcapng), for other tools.
//!
//! A file has one section with interfaces of raw IP packets. Times are in nanoseconds, as the option `if_tsresol`
//! declares: crate `pcap-file` writes the nanoseconds of a time whatever resolution the interface declares, so that
//! without the option, or with another, every reader would be wrong by a power of ten. Byte order is little-endian on
//! every machine, for the same bytes everywhere.

use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::interface_statistics::{
    InterfaceStatisticsBlock, InterfaceStatisticsOption,
};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::{DataLink, Endianness, PcapError};
use std::borrow::Cow;
use std::io::{self, Write};
use std::num::NonZeroU32;
use std::time::Duration;

/// `if_tsresol`: times are multiples of 10^-9 seconds.
const NANOSECONDS: u8 = 9;
/// `snaplen` of packets kept whole.
const NO_LIMIT: u32 = 0;
/// Head of a journal's frames, which selects the dissector of the rest (wsutil/exported_pdu_tlvs.h: tag 12 names
/// Wireshark's dissector, tag 0 is the last; lengths in bytes).
const SHOWN_AS_SYSLOG: &[u8] = b"\x00\x0C\x00\x08syslog\x00\x00\x00\x00\x00\x00";

/// Direction of a packet at the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the link to the node.
    Inbound,
    /// From the node to the link.
    Outbound,
}

/// An interface of the capture, by its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interface(u32);

/// A packet at an interface.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Time since 1970-01-01 00:00:00 UTC.
    pub at: Duration,
    /// The direction.
    pub direction: Direction,
    /// Length of the whole packet, in bytes.
    pub length: usize,
    /// Bytes kept of it, from its IP header on.
    pub bytes: &'a [u8],
}

/// A capture being written.
pub struct Capture<W: Write> {
    writer: PcapNgWriter<W>,
    interfaces: u32,
}

impl<W: Write> Capture<W> {
    /// Begins a capture; `comment` describes the file (Wireshark shows it in the file's properties). Many small writes follow:
    /// `out` should be buffered.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn new(out: W, comment: &str) -> io::Result<Capture<W>> {
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
        let writer = PcapNgWriter::with_section_header(out, section).map_err(io_error)?;
        Ok(Capture {
            writer,
            interfaces: 0,
        })
    }

    /// Adds an interface of raw IP packets. At most `snap_length` bytes of each packet are kept, all of them if it is
    /// `None`.
    ///
    /// # Errors
    /// Errors of the file.
    pub fn add_interface(
        &mut self,
        name: &str,
        snap_length: Option<NonZeroU32>,
    ) -> io::Result<Interface> {
        let snap_length = snap_length.map_or(NO_LIMIT, NonZeroU32::get);
        self.add(name, DataLink::RAW, snap_length)
    }

    /// Adds an interface for [`write_words`](Self::write_words).
    ///
    /// # Errors
    /// Errors of the file.
    pub fn add_journal(&mut self, name: &str) -> io::Result<Interface> {
        self.add(name, DataLink::WIRESHARK_UPPER_PDU, NO_LIMIT)
    }

    fn add(&mut self, name: &str, kind: DataLink, snap_length: u32) -> io::Result<Interface> {
        self.write_block(InterfaceDescriptionBlock {
            linktype: kind,
            snaplen: snap_length,
            options: vec![
                InterfaceDescriptionOption::IfName(Cow::Owned(fitting(name))),
                InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
            ],
        })?;
        self.interfaces += 1;
        Ok(Interface(self.interfaces - 1))
    }

    /// Writes a packet. The file has the packets in the order of the calls.
    ///
    /// # Errors
    /// Errors of the file, whose last packet may then be cut off.
    pub fn write(&mut self, interface: Interface, frame: Frame<'_>) -> io::Result<()> {
        // The two lowest bits of epb_flags: 01 is inbound, 10 outbound.
        let flags = match frame.direction {
            Direction::Inbound => 1,
            Direction::Outbound => 2,
        };
        self.write_block(EnhancedPacketBlock {
            interface_id: interface.0,
            timestamp: frame.at,
            original_len: frame.length as u32,
            data: Cow::Borrowed(frame.bytes),
            options: vec![EnhancedPacketOption::Flags(flags)],
        })
    }

    /// Writes a note about an event at a time since 1970, as a comment. Its frame contains the text, too, because lists
    /// of packets do not show comments.
    ///
    /// # Errors
    /// Errors of [`write`](Self::write).
    pub fn write_words(&mut self, journal: Interface, at: Duration, words: &str) -> io::Result<()> {
        let words = fitting(words);
        let data = [SHOWN_AS_SYSLOG, words.as_bytes()].concat();
        self.write_block(EnhancedPacketBlock {
            interface_id: journal.0,
            timestamp: at,
            original_len: data.len() as u32,
            data: Cow::Owned(data),
            options: vec![EnhancedPacketOption::Comment(Cow::Owned(words))],
        })
    }

    /// Writes the number of packets of an interface until a time since 1970, and of those missing from the file.
    ///
    /// # Errors
    /// Errors of the file.
    pub fn write_statistics(
        &mut self,
        interface: Interface,
        at: Duration,
        (received, dropped): (u64, u64),
    ) -> io::Result<()> {
        self.write_block(InterfaceStatisticsBlock {
            interface_id: interface.0,
            // The upper half of a time comes first in either byte order; `pcap-file` 2.0 writes this one as a single
            // number.
            timestamp: (at.as_nanos() as u64).rotate_left(32),
            options: vec![
                InterfaceStatisticsOption::IsbIfRecv(received),
                InterfaceStatisticsOption::IsbIfDrop(dropped),
            ],
        })
    }

    fn write_block<'a, B: pcap_file::pcapng::PcapNgBlock<'a>>(
        &mut self,
        block: B,
    ) -> io::Result<()> {
        let written = self.writer.write_pcapng_block(block);
        written.map(|_| ()).map_err(io_error)
    }

    /// Flushes the data written so far.
    ///
    /// # Errors
    /// Errors of the file.
    pub fn flush(&mut self) -> io::Result<()> {
        self.writer.get_mut().flush()
    }

    /// Ends the capture: flushes it and returns its writer.
    ///
    /// # Errors
    /// Errors of the file.
    pub fn finish(self) -> io::Result<W> {
        let mut out = self.writer.into_inner();
        out.flush()?;
        Ok(out)
    }
}

/// Returns as much of a text as an option's 16-bit length allows.
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
