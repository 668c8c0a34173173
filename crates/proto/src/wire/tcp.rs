//! The TCP header and its options (RFC 9293 section 3.1, RFC 7323, RFC 2018, CCSDS 714.0-B-2, RFC 1644).

use super::checksum::Checksum;
use super::sequence::SequenceNumber;
use super::{DecodeError, expect_length, protocol, u16_at, u32_at};
use crate::crosslayer::HandoverNotice;
use crate::packet::IpHeader;
use core::num::NonZeroU8;

/// One TCP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpHeader {
    /// Sender's port.
    pub source_port: u16,
    /// Receiver's port.
    pub destination_port: u16,
    /// Sequence number of the first byte, or of the SYN.
    pub sequence: SequenceNumber,
    /// Next sequence number expected; means something only with [`TcpFlags::ACK`].
    pub acknowledgment: SequenceNumber,
    /// Control bits.
    pub flags: TcpFlags,
    /// Receive window as it stands in the header, before scaling.
    pub window: u16,
    /// Options.
    pub options: TcpOptions,
}

/// Control bits of a TCP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct TcpFlags(pub u8);

impl TcpFlags {
    /// No bit.
    pub const NONE: TcpFlags = TcpFlags(0);
    /// No more data from the sender.
    pub const FIN: TcpFlags = TcpFlags(0x01);
    /// Synchronise sequence numbers.
    pub const SYN: TcpFlags = TcpFlags(0x02);
    /// Reset the connection.
    pub const RST: TcpFlags = TcpFlags(0x04);
    /// Push.
    pub const PSH: TcpFlags = TcpFlags(0x08);
    /// The acknowledgment field holds.
    pub const ACK: TcpFlags = TcpFlags(0x10);
    /// The urgent pointer holds; read and otherwise ignored here.
    pub const URG: TcpFlags = TcpFlags(0x20);
    /// ECN echo (RFC 3168); never agreed to here.
    pub const ECE: TcpFlags = TcpFlags(0x40);
    /// Congestion window reduced (RFC 3168); never agreed to here.
    pub const CWR: TcpFlags = TcpFlags(0x80);

    /// Whether all bits of `other` are set.
    pub const fn contains(self, other: TcpFlags) -> bool {
        self.0 & other.0 == other.0
    }

    /// All bits but those of `other`.
    pub const fn without(self, other: TcpFlags) -> TcpFlags {
        TcpFlags(self.0 & !other.0)
    }

    /// The bits of both.
    pub const fn with(self, other: TcpFlags) -> TcpFlags {
        TcpFlags(self.0 | other.0)
    }
}

/// Options of a TCP header; unknown ones are skipped when decoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct TcpOptions {
    /// Largest segment that the sender of this header takes, in bytes (RFC 9293 section 3.7.1); only on a SYN.
    pub maximum_segment_size: Option<u16>,
    /// Shift of the window field, 0 to 14 (RFC 7323 section 2); only on a SYN.
    pub window_scale: Option<u8>,
    /// Selective acknowledgments are welcome (RFC 2018); only on a SYN.
    pub sack_permitted: bool,
    /// Timestamps (RFC 7323 section 3).
    pub timestamps: Option<Timestamps>,
    /// Selective acknowledgments (RFC 2018 section 3), or a negative one.
    pub sack: SackBlocks,
    /// A notice of a handover.
    pub notice: Option<HandoverNotice>,
    /// Selective negative acknowledgments of one hole are welcome: a bit of SCPS-TP's capabilities (CCSDS 714.0-B-2);
    /// only on a SYN.
    pub snack_permitted: bool,
}

/// A hole in what was received, in units of the maximum segment size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snack {
    /// From the acknowledgment to its beginning.
    pub offset: u16,
    /// How large it is.
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

/// T/TCP's connection counts (RFC 1644 section 3.2): zero is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionCount {
    /// CC: the sender's count.
    Count(u32),
    /// CC.new: the same, on a SYN whose count says nothing about those before it.
    New(u32),
    /// CC and CC.echo, on a SYN-ACK.
    Echo {
        /// The sender's count.
        own: u32,
        /// The count of the SYN that is answered.
        echo: u32,
    },
}

/// Up to four blocks of received sequence space, the most recent first. An end that sends SNACKs sends no such blocks: their
/// place holds the one it sends, so that a header is no larger for it. Connection counts, beside which two blocks fit, stand
/// in the place of the third and fourth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SackBlocks {
    /// Those behind the last one are empty: a count would make every packet four bytes longer.
    blocks: [(SequenceNumber, SequenceNumber); 4],
}

impl SackBlocks {
    /// A selective negative acknowledgment (CCSDS 714.0-B-2). It stands behind an empty first block.
    pub fn negative(snack: Snack) -> SackBlocks {
        let hole = u32::from(snack.offset) << 16 | u32::from(snack.size);
        let mut sack = SackBlocks::default();
        sack.blocks[1] = (SequenceNumber(hole), SequenceNumber(!hole));
        sack
    }

    /// The selective negative acknowledgment, if it is one.
    pub fn snack(&self) -> Option<Snack> {
        let (hole, end) = self.blocks[1];
        (self.is_empty() && hole != end).then_some(Snack {
            offset: (hole.0 >> 16) as u16,
            size: hole.0 as u16,
        })
    }

    /// T/TCP's connection counts. The third block is empty then, and its number the one that is echoed; how far apart the
    /// numbers of the fourth are says which option it is.
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

    /// Adds connection counts, before which a third and a fourth block give way.
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

    /// The blocks, each as its first sequence number and the one after its last.
    pub fn as_slice(&self) -> &[(SequenceNumber, SequenceNumber)] {
        let empty = |block: &(SequenceNumber, SequenceNumber)| block.0 == block.1;
        let count = self.blocks.iter().position(empty);
        &self.blocks[..count.unwrap_or(self.blocks.len())]
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.blocks[0].0 == self.blocks[0].1
    }

    /// Adds a block; returns whether there was room. One of no length says nothing, and is left out.
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
    /// For experiments (RFC 4727), told apart by an identifier (RFC 6994).
    pub const EXPERIMENT: u8 = 253;
    pub const SCPS_CAPABILITIES: u8 = 20;
    pub const SNACK: u8 = 21;
}

/// Of SCPS-TP's capabilities: SNACKs of one hole are welcome.
const SNACK_CAPABILITY: u8 = 0x40;

/// "If a Window Scale option is received with a shift.cnt value larger than 14, the TCP SHOULD log the error
/// but MUST use 14 instead of the specified value" (RFC 7323 section 2.3).
const LARGEST_WINDOW_SCALE: u8 = 14;
/// Bytes of options at most: a header takes 60, 20 of which are fixed.
pub const LONGEST_OPTIONS: u32 = 40;
/// The experiment's identifier (RFC 6994 section 3) of a notice of a handover, not registered: "BT". After it stand the
/// notice's number, a byte of zero, and how many segments are outstanding, in two bytes.
const NOTICE: u16 = 0x4254;
const NOTICE_LENGTH: u8 = 8;
/// Bytes of a SNACK option with its padding.
pub const SNACK_LENGTH: u32 = 8;
/// Bytes of a connection count with its padding.
pub const CONNECTION_COUNT_LENGTH: u32 = 8;

impl TcpOptions {
    /// Bytes on the wire, padded to a multiple of four; timestamps and SACK blocks are each led by two
    /// no-operations, as RFC 7323 appendix A and common practice lay them out. On a SYN, "SACK permitted" stands in the place of those
    /// before timestamps.
    #[inline]
    pub fn wire_length(&self) -> u32 {
        // Asked for several times a packet, and most segments carry nothing where blocks stand.
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

    /// The connection counts that are written: beside a notice and all that a SYN may have there is no room for two.
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

    /// The SNACK that is written: beside everything else that a header may have there is no room.
    fn snack_that_fits(&self) -> Option<Snack> {
        let snack = self.sack.snack()?;
        (self.length_without_sack() + SNACK_LENGTH <= LONGEST_OPTIONS).then_some(snack)
    }

    /// The blocks that are written: three beside timestamps, four without (RFC 2018 section 3).
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

    /// Takes over one option; `body` is what follows its kind and length.
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
            // Of another experiment, or another layout of it: as an option that is not known.
            (kind::EXPERIMENT, 6) if u16_at(body, 0) == NOTICE => {
                let number = NonZeroU8::new(body[2]);
                self.notice = number.map(|number| HandoverNotice {
                    number,
                    outstanding: u16_at(body, 4),
                });
            }
            // Capabilities of missions may follow.
            (kind::SCPS_CAPABILITIES, 2..) => {
                self.snack_permitted = body[0] & SNACK_CAPABILITY != 0;
            }
            // The long form goes on with a bit vector of further holes.
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

    /// CC and CC.echo come one after the other.
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
    /// Bytes on the wire, options included.
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

    /// Reads a segment from what `ip` carries: the header, and the payload. The reserved bits and the urgent
    /// pointer are not kept, and unknown options are skipped.
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

    /// As [`decode`](Self::decode), whatever the checksum.
    ///
    /// # Errors
    /// Those of `decode` but the checksum.
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

/// Bytes of the header, options included, at the beginning of a segment, which are there.
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
