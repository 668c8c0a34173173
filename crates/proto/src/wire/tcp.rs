//! The TCP header and its options (RFC 9293 section 3.1, RFC 7323, RFC 2018, CCSDS 714.0-B-2, RFC 1644).

use super::checksum::Checksum;
use super::sequence::SequenceNumber;
use super::{DecodeError, expect_length, protocol, u16_at, u32_at};
use crate::crosslayer::HandoverNotice;
use crate::packet::IpHeader;
use core::num::NonZeroU8;

/// A TCP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpHeader {
    /// Sender's port.
    pub source_port: u16,
    /// Receiver's port.
    pub destination_port: u16,
    /// Sequence number of the first byte, or of the SYN.
    pub sequence: SequenceNumber,
    /// Next sequence number expected; valid only with [`TcpFlags::ACK`].
    pub acknowledgment: SequenceNumber,
    /// Control bits.
    pub flags: TcpFlags,
    /// Window field, before scaling.
    pub window: u16,
    /// Options.
    pub options: TcpOptions,
}

/// Control bits of a TCP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct TcpFlags(pub u8);

impl TcpFlags {
    /// No flag.
    pub const NONE: TcpFlags = TcpFlags(0);
    /// No more data from the sender.
    pub const FIN: TcpFlags = TcpFlags(0x01);
    /// Synchronise sequence numbers.
    pub const SYN: TcpFlags = TcpFlags(0x02);
    /// Reset the connection.
    pub const RST: TcpFlags = TcpFlags(0x04);
    /// Push.
    pub const PSH: TcpFlags = TcpFlags(0x08);
    /// The acknowledgment field is valid.
    pub const ACK: TcpFlags = TcpFlags(0x10);
    /// The urgent pointer is valid; decoded and otherwise ignored.
    pub const URG: TcpFlags = TcpFlags(0x20);
    /// ECN echo (RFC 3168); never negotiated here.
    pub const ECE: TcpFlags = TcpFlags(0x40);
    /// Congestion window reduced (RFC 3168); never negotiated here.
    pub const CWR: TcpFlags = TcpFlags(0x80);

    /// Returns true if all flags of `other` are set.
    pub const fn contains(self, other: TcpFlags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the flags without those of `other`.
    pub const fn without(self, other: TcpFlags) -> TcpFlags {
        TcpFlags(self.0 & !other.0)
    }

    /// Returns the union of the flags.
    pub const fn with(self, other: TcpFlags) -> TcpFlags {
        TcpFlags(self.0 | other.0)
    }
}

/// Options of a TCP header; unknown ones are skipped when decoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct TcpOptions {
    /// Maximum segment size that the sender of this header accepts, in bytes (RFC 9293 section 3.7.1); only on a SYN.
    pub maximum_segment_size: Option<u16>,
    /// Window scale shift, 0 to 14 (RFC 7323 section 2); only on a SYN.
    pub window_scale: Option<u8>,
    /// SACK permitted (RFC 2018); only on a SYN.
    pub sack_permitted: bool,
    /// Timestamps (RFC 7323 section 3).
    pub timestamps: Option<Timestamps>,
    /// Selective acknowledgments (RFC 2018 section 3), or a selective negative one.
    pub sack: SackBlocks,
    /// A notice of a handover.
    pub notice: Option<HandoverNotice>,
    /// SNACKs of one hole permitted: a bit of SCPS-TP's capabilities (CCSDS 714.0-B-2); only on a SYN.
    pub snack_permitted: bool,
}

/// A selective negative acknowledgment: a hole in the received data, in units of the maximum segment size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snack {
    /// Distance from the acknowledgment to the hole.
    pub offset: u16,
    /// Size of the hole.
    pub size: u16,
}

/// The timestamps option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamps {
    /// The sender's clock.
    pub value: u32,
    /// The clock value being echoed.
    pub echo: u32,
}

/// T/TCP's connection counts (RFC 1644 section 3.2); zero means none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionCount {
    /// CC: the sender's count.
    Count(u32),
    /// CC.new: the sender's count, on a SYN exempt from comparison with earlier counts.
    New(u32),
    /// CC and CC.echo, on a SYN-ACK.
    Echo {
        /// The sender's count.
        own: u32,
        /// Count of the SYN being answered.
        echo: u32,
    },
}

/// Up to four SACK blocks, the most recent first. A SNACK, which is never combined with blocks, and T/TCP's connection
/// counts, which leave room for two blocks, are stored in place of blocks, to keep headers small in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SackBlocks {
    /// Unused blocks at the end are empty: a count would make every packet four bytes longer.
    blocks: [(SequenceNumber, SequenceNumber); 4],
}

impl SackBlocks {
    /// Creates a SNACK (CCSDS 714.0-B-2), stored after an empty first block.
    pub fn negative(snack: Snack) -> SackBlocks {
        let hole = u32::from(snack.offset) << 16 | u32::from(snack.size);
        let mut sack = SackBlocks::default();
        sack.blocks[1] = (SequenceNumber(hole), SequenceNumber(!hole));
        sack
    }

    /// Returns the SNACK, if this is one.
    pub fn snack(&self) -> Option<Snack> {
        let (hole, end) = self.blocks[1];
        (self.is_empty() && hole != end).then_some(Snack {
            offset: (hole.0 >> 16) as u16,
            size: hole.0 as u16,
        })
    }

    /// Returns T/TCP's connection counts. They are stored in the third block, which is empty and holds the echoed
    /// count, and in the fourth, whose length denotes the option.
    pub fn connection_count(&self) -> Option<ConnectionCount> {
        let [_, _, (echo, end), (own, tagged)] = self.blocks;
        match tagged.distance_from(own) {
            1 if echo == end => Some(ConnectionCount::Count(own.0)),
            2 if echo == end => Some(ConnectionCount::New(own.0)),
            3 if echo == end => Some(ConnectionCount::Echo {
                own: own.0,
                echo: echo.0,
            }),
            _ => None,
        }
    }

    /// Sets connection counts, which replace the third and fourth block.
    pub fn set_connection_count(&mut self, count: ConnectionCount) {
        let (own, echo, tag) = match count {
            ConnectionCount::Count(own) => (own, 0, 1),
            ConnectionCount::New(own) => (own, 0, 2),
            ConnectionCount::Echo { own, echo } => (own, echo, 3),
        };
        let (own, echo) = (SequenceNumber(own), SequenceNumber(echo));
        self.blocks[2] = (echo, echo);
        self.blocks[3] = (own, own + tag);
    }

    /// Returns the blocks, each as its first sequence number and the one after its last.
    pub fn as_slice(&self) -> &[(SequenceNumber, SequenceNumber)] {
        let empty = |block: &(SequenceNumber, SequenceNumber)| block.0 == block.1;
        let count = self.blocks.iter().position(empty);
        &self.blocks[..count.unwrap_or(self.blocks.len())]
    }

    /// Returns true if there are no blocks.
    pub fn is_empty(&self) -> bool {
        self.blocks[0].0 == self.blocks[0].1
    }

    /// Adds a block; returns false if there was no room. An empty block is left out.
    pub fn push(&mut self, first: SequenceNumber, after_last: SequenceNumber) -> bool {
        let most = match self.connection_count() {
            Some(_) => 2,
            None => self.blocks.len(),
        };
        let (count, is_negative) = (self.as_slice().len(), self.snack().is_some());
        let mut slots = self.blocks[..most].iter_mut();
        let Some(slot) = slots.nth(count).filter(|_| !is_negative) else {
            return false;
        };
        *slot = (first, after_last);
        true
    }
}

/// Option kinds (IANA, "TCP Option Kind Numbers").
mod kind {
    pub const END: u8 = 0;
    pub const NO_OPERATION: u8 = 1;
    pub const MAXIMUM_SEGMENT_SIZE: u8 = 2;
    pub const WINDOW_SCALE: u8 = 3;
    pub const SACK_PERMITTED: u8 = 4;
    pub const SACK: u8 = 5;
    pub const TIMESTAMPS: u8 = 8;
    pub const CC: u8 = 11;
    pub const CC_NEW: u8 = 12;
    pub const CC_ECHO: u8 = 13;
    /// Experiments (RFC 4727), distinguished by an identifier (RFC 6994).
    pub const EXPERIMENT: u8 = 253;
    pub const SCPS_CAPABILITIES: u8 = 20;
    pub const SNACK: u8 = 21;
}

/// SCPS-TP capability bit: SNACKs of one hole permitted.
const SNACK_CAPABILITY: u8 = 0x40;

/// "If a Window Scale option is received with a shift.cnt value larger than 14, the TCP SHOULD log the error
/// but MUST use 14 instead of the specified value" (RFC 7323 section 2.3).
const LARGEST_WINDOW_SCALE: u8 = 14;
/// Maximum length of the options in bytes: the header's maximum of 60, less 20 fixed ones.
pub const LONGEST_OPTIONS: u32 = 40;
/// Experiment identifier (RFC 6994 section 3) of a handover notice, not registered: "BT". The notice's number, a zero
/// byte, and the number of outstanding segments in two bytes follow.
const NOTICE: u16 = 0x4254;
const NOTICE_LENGTH: u8 = 8;
/// Length of a SNACK option with padding, in bytes.
pub const SNACK_LENGTH: u32 = 8;
/// Length of a connection count with padding, in bytes.
pub const CONNECTION_COUNT_LENGTH: u32 = 8;

/// Negotiated options of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Negotiated {
    /// Timestamps (RFC 7323).
    pub timestamps: bool,
    /// Selective acknowledgments (RFC 2018).
    pub sack: bool,
    /// Shifts of sent and received windows, if both ends scale.
    pub window_shifts: Option<(u8, u8)>,
    /// Unit of SCPS-TP's SNACK, if both ends support it and not SACK: the MSS of this end's SYN, in bytes.
    pub snack_unit: Option<u16>,
    /// The peer's MSS option, or its default, in bytes.
    pub peer_segment_size: u16,
}

impl TcpOptions {
    /// Returns the length on the wire in bytes, padded to a multiple of four. Two no-operations precede timestamps and
    /// SACK blocks, as in RFC 7323 appendix A and common practice; on a SYN, "SACK permitted" replaces those before
    /// timestamps.
    #[inline]
    pub fn wire_length(&self) -> u32 {
        // Called several times for each packet; most segments have no blocks.
        if self.sack == SackBlocks::default() {
            return self.length_without_counts();
        }
        self.length_with_blocks()
    }

    fn length_with_blocks(&self) -> u32 {
        let selective = match (self.sack.is_empty(), self.snack_that_fits()) {
            (true, None) => 0,
            (true, Some(_)) => SNACK_LENGTH,
            (false, _) => match self.blocks_that_fit().len() as u32 {
                0 => 0,
                blocks => 4 + 8 * blocks,
            },
        };
        self.length_without_sack() + selective
    }

    fn length_without_sack(&self) -> u32 {
        let counts = match self.counts_that_fit() {
            None => 0,
            Some(ConnectionCount::Echo { .. }) => 2 * CONNECTION_COUNT_LENGTH,
            Some(_) => CONNECTION_COUNT_LENGTH,
        };
        self.length_without_counts() + counts
    }

    /// Returns the connection counts to write: a notice and all options of a SYN leave no room for two.
    fn counts_that_fit(&self) -> Option<ConnectionCount> {
        let count = self.sack.connection_count()?;
        let length = match count {
            ConnectionCount::Echo { .. } => 2 * CONNECTION_COUNT_LENGTH,
            _ => CONNECTION_COUNT_LENGTH,
        };
        (self.length_without_counts() + length <= LONGEST_OPTIONS).then_some(count)
    }

    #[inline]
    fn length_without_counts(&self) -> u32 {
        let four = u32::from(self.maximum_segment_size.is_some())
            + u32::from(self.window_scale.is_some())
            + u32::from(self.sack_permitted && self.timestamps.is_none())
            + u32::from(self.snack_permitted);
        let notice = self.notice.map_or(0, |_| u32::from(NOTICE_LENGTH));
        4 * four + notice + if self.timestamps.is_some() { 12 } else { 0 }
    }

    /// Returns the SNACK to write: all other options together leave no room for it.
    fn snack_that_fits(&self) -> Option<Snack> {
        let snack = self.sack.snack()?;
        (self.length_without_sack() + SNACK_LENGTH <= LONGEST_OPTIONS).then_some(snack)
    }

    /// Returns the blocks to write: three with timestamps, four without (RFC 2018 section 3).
    fn blocks_that_fit(&self) -> &[(SequenceNumber, SequenceNumber)] {
        let room = (LONGEST_OPTIONS - self.length_without_sack()).saturating_sub(4) / 8;
        let blocks = self.sack.as_slice();
        &blocks[..blocks.len().min(room as usize)]
    }

    fn encode(&self, out: &mut Vec<u8>) {
        if let Some(size) = self.maximum_segment_size {
            out.extend_from_slice(&[kind::MAXIMUM_SEGMENT_SIZE, 4]);
            out.extend_from_slice(&size.to_be_bytes());
        }
        let padding = kind::NO_OPERATION;
        let permitted = match self.sack_permitted {
            true => [kind::SACK_PERMITTED, 2],
            false => [padding; 2],
        };
        if let Some(timestamps) = self.timestamps {
            out.extend_from_slice(&permitted);
            out.extend_from_slice(&[kind::TIMESTAMPS, 10]);
            out.extend_from_slice(&timestamps.value.to_be_bytes());
            out.extend_from_slice(&timestamps.echo.to_be_bytes());
        } else if self.sack_permitted {
            out.extend_from_slice(&[padding; 2]);
            out.extend_from_slice(&permitted);
        }
        if let Some(shift) = self.window_scale {
            let shift = shift.min(LARGEST_WINDOW_SCALE);
            out.extend_from_slice(&[padding, kind::WINDOW_SCALE, 3, shift]);
        }
        if let Some(notice) = self.notice {
            out.extend_from_slice(&[kind::EXPERIMENT, NOTICE_LENGTH]);
            out.extend_from_slice(&NOTICE.to_be_bytes());
            out.extend_from_slice(&[notice.number.get(), 0]);
            out.extend_from_slice(&notice.outstanding.to_be_bytes());
        }
        if self.snack_permitted {
            out.extend_from_slice(&[kind::SCPS_CAPABILITIES, 4, SNACK_CAPABILITY, 0]);
        }
        let mut count = |kind, count: u32| {
            out.extend_from_slice(&[padding, padding, kind, 6]);
            out.extend_from_slice(&count.to_be_bytes());
        };
        match self.counts_that_fit() {
            None => {}
            Some(ConnectionCount::Count(own)) => count(kind::CC, own),
            Some(ConnectionCount::New(own)) => count(kind::CC_NEW, own),
            Some(ConnectionCount::Echo { own, echo }) => {
                count(kind::CC, own);
                count(kind::CC_ECHO, echo);
            }
        }
        if let Some(snack) = self.snack_that_fits() {
            out.extend_from_slice(&[padding, padding, kind::SNACK, 6]);
            out.extend_from_slice(&snack.offset.to_be_bytes());
            out.extend_from_slice(&snack.size.to_be_bytes());
        }
        let blocks = self.blocks_that_fit();
        if !blocks.is_empty() {
            let length = 2 + 8 * blocks.len() as u8;
            out.extend_from_slice(&[padding, padding, kind::SACK, length]);
            for (first, after_last) in blocks {
                out.extend_from_slice(&first.0.to_be_bytes());
                out.extend_from_slice(&after_last.0.to_be_bytes());
            }
        }
    }

    fn decode(mut bytes: &[u8]) -> Result<TcpOptions, DecodeError> {
        let mut options = TcpOptions::default();
        while let Some((&kind, rest)) = bytes.split_first() {
            match kind {
                kind::END => break,
                kind::NO_OPERATION => bytes = rest,
                _ => {
                    let length = usize::from(rest.first().copied().unwrap_or(0));
                    let Some(body) = bytes.get(2..length) else {
                        return Err(option_length(length));
                    };
                    options.take(kind, body)?;
                    bytes = &bytes[length..];
                }
            }
        }
        Ok(options)
    }

    /// Stores an option; `body` is its data after kind and length.
    fn take(&mut self, kind: u8, body: &[u8]) -> Result<(), DecodeError> {
        match (kind, body.len()) {
            (kind::MAXIMUM_SEGMENT_SIZE, 2) => self.maximum_segment_size = Some(u16_at(body, 0)),
            (kind::WINDOW_SCALE, 1) => {
                self.window_scale = Some(body[0].min(LARGEST_WINDOW_SCALE));
            }
            (kind::SACK_PERMITTED, 0) => self.sack_permitted = true,
            (kind::SACK, 8 | 16 | 24 | 32) => {
                for block in body.chunks_exact(8) {
                    let (first, after_last) = (u32_at(block, 0), u32_at(block, 4));
                    self.sack
                        .push(SequenceNumber(first), SequenceNumber(after_last));
                }
            }
            (kind::TIMESTAMPS, 8) => {
                self.timestamps = Some(Timestamps {
                    value: u32_at(body, 0),
                    echo: u32_at(body, 4),
                });
            }
            // Another experiment, or another layout of this one, counts as an unknown option.
            (kind::EXPERIMENT, 6) if u16_at(body, 0) == NOTICE => {
                let number = NonZeroU8::new(body[2]);
                self.notice = number.map(|number| HandoverNotice {
                    number,
                    outstanding: u16_at(body, 4),
                });
            }
            // Mission-specific capabilities may follow.
            (kind::SCPS_CAPABILITIES, 2..) => {
                self.snack_permitted = body[0] & SNACK_CAPABILITY != 0;
            }
            // The long form continues with a bit vector of further holes.
            (kind::SNACK, 4..) => {
                let count = self.sack.connection_count();
                self.sack = SackBlocks::negative(Snack {
                    offset: u16_at(body, 0),
                    size: u16_at(body, 2),
                });
                if let Some(count) = count {
                    self.sack.set_connection_count(count);
                }
            }
            (kind::CC | kind::CC_NEW | kind::CC_ECHO, 4) => self.take_count(kind, u32_at(body, 0)),
            (
                kind::MAXIMUM_SEGMENT_SIZE
                | kind::WINDOW_SCALE
                | kind::SACK_PERMITTED
                | kind::SACK
                | kind::TIMESTAMPS
                | kind::SCPS_CAPABILITIES
                | kind::SNACK
                | kind::CC
                | kind::CC_NEW
                | kind::CC_ECHO,
                length,
            ) => return Err(option_length(length + 2)),
            _ => {}
        }
        Ok(())
    }

    /// Stores one of CC, CC.new and CC.echo; CC.echo comes beside CC.
    fn take_count(&mut self, kind: u8, count: u32) {
        let (own, echoed) = match self.sack.connection_count() {
            None => (0, None),
            Some(ConnectionCount::Count(own) | ConnectionCount::New(own)) => (own, None),
            Some(ConnectionCount::Echo { own, echo }) => (own, Some(echo)),
        };
        self.sack.set_connection_count(match (kind, echoed) {
            (kind::CC_NEW, _) => ConnectionCount::New(count),
            (kind::CC_ECHO, _) => ConnectionCount::Echo { own, echo: count },
            (_, Some(echo)) => ConnectionCount::Echo { own: count, echo },
            _ => ConnectionCount::Count(count),
        });
    }
}

fn option_length(length: usize) -> DecodeError {
    DecodeError::Field {
        header: "TCP",
        field: "option length",
        value: length as u32,
    }
}

impl TcpHeader {
    /// Returns the length on the wire in bytes, options included.
    #[inline]
    pub fn wire_length(&self) -> u32 {
        20 + self.options.wire_length()
    }

    /// Appends the header, with a checksum and an urgent pointer of zero.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.source_port.to_be_bytes());
        out.extend_from_slice(&self.destination_port.to_be_bytes());
        out.extend_from_slice(&self.sequence.0.to_be_bytes());
        out.extend_from_slice(&self.acknowledgment.0.to_be_bytes());
        out.extend_from_slice(&[(self.wire_length() as u8 / 4) << 4, self.flags.0]);
        out.extend_from_slice(&self.window.to_be_bytes());
        out.extend_from_slice(&[0; 4]);
        self.options.encode(out);
    }

    /// Decodes the segment that `ip` carries. Returns the header and the payload. Drops the reserved bits and the
    /// urgent pointer, and skips unknown options.
    ///
    /// # Errors
    /// Too few bytes, a data offset below five, an option of impossible length, or a wrong checksum.
    pub fn decode<'a>(
        ip: &IpHeader,
        bytes: &'a [u8],
    ) -> Result<(TcpHeader, &'a [u8]), DecodeError> {
        header_length(bytes)?;
        let mut checksum = Checksum::pseudo_header(ip, protocol::TCP, bytes.len());
        checksum.add(bytes);
        if checksum.finish() != 0 {
            return Err(DecodeError::Checksum { header: "TCP" });
        }
        TcpHeader::read(bytes)
    }

    /// Decodes like [`decode`](Self::decode), but without verifying the checksum.
    ///
    /// # Errors
    /// The errors of `decode` other than the checksum.
    pub fn read(bytes: &[u8]) -> Result<(TcpHeader, &[u8]), DecodeError> {
        let header_length = header_length(bytes)?;
        let header = TcpHeader {
            source_port: u16_at(bytes, 0),
            destination_port: u16_at(bytes, 2),
            sequence: SequenceNumber(u32_at(bytes, 4)),
            acknowledgment: SequenceNumber(u32_at(bytes, 8)),
            flags: TcpFlags(bytes[13]),
            window: u16_at(bytes, 14),
            options: TcpOptions::decode(&bytes[20..header_length])?,
        };
        Ok((header, &bytes[header_length..]))
    }
}

/// Returns the header length of a segment in bytes, options included, after checking that as many bytes exist.
fn header_length(bytes: &[u8]) -> Result<usize, DecodeError> {
    expect_length("TCP", bytes, 20)?;
    let data_offset = bytes[12] >> 4;
    if data_offset < 5 {
        return Err(DecodeError::Field {
            header: "TCP",
            field: "data offset",
            value: u32::from(data_offset),
        });
    }
    let length = usize::from(data_offset) * 4;
    expect_length("TCP", bytes, length)?;
    Ok(length)
}
