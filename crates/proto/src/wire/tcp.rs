//! The TCP header and its options (RFC 9293 section 3.1, RFC 7323, RFC 2018).

use super::sequence::SequenceNumber;

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
    /// Selective acknowledgments (RFC 2018 section 3).
    pub sack: SackBlocks,
}

/// The timestamps option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamps {
    /// The sender's clock.
    pub value: u32,
    /// The clock value being echoed.
    pub echo: u32,
}

/// Up to four blocks of received sequence space, the most recent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SackBlocks {
    blocks: [(SequenceNumber, SequenceNumber); 4],
    count: u8,
}

impl SackBlocks {
    /// The blocks, each as its first sequence number and the one after its last.
    pub fn as_slice(&self) -> &[(SequenceNumber, SequenceNumber)] {
        &self.blocks[..usize::from(self.count)]
    }

    /// Adds a block; returns whether there was room.
    pub fn push(&mut self, first: SequenceNumber, after_last: SequenceNumber) -> bool {
        let Some(slot) = self.blocks.get_mut(usize::from(self.count)) else {
            return false;
        };
        *slot = (first, after_last);
        self.count += 1;
        true
    }
}

impl TcpOptions {
    /// Bytes on the wire, padded to a multiple of four; timestamps and SACK blocks are each led by two
    /// no-operations, as RFC 7323 appendix A and common practice lay them out.
    pub fn wire_length(&self) -> u32 {
        let sack = self.sack.as_slice().len() as u32;
        (if self.maximum_segment_size.is_some() {
            4
        } else {
            0
        }) + (if self.window_scale.is_some() { 4 } else { 0 })
            + (if self.sack_permitted { 4 } else { 0 })
            + (if self.timestamps.is_some() { 12 } else { 0 })
            + (if sack > 0 { 4 + 8 * sack } else { 0 })
    }
}

impl TcpHeader {
    /// Bytes on the wire, options included.
    pub fn wire_length(&self) -> u32 {
        20 + self.options.wire_length()
    }
}
