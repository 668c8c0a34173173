//! Erasure coding across packets: of k source packets and m repair packets, any k of these restore all source packets.
//!
//! A shard is a source packet's length in two bytes (network order), its bytes, and zeros up to the longest of its
//! block. Repair j is the sum over the sources i of shard i times 1 / (i + (255 - j)), in GF(2^8): a Cauchy matrix, all
//! of whose square submatrices are invertible. (J. Blömer et al., An XOR-Based Erasure-Resilient Coding Scheme, 1995,
//! section 3.) The factors do not depend on k and m, so a block may be closed before it is full. Source packets are
//! sent unchanged; a repair packet is as long as a shard.

mod decoder;

pub use decoder::{BlockDecoder, Restored};

use super::field::{add_scaled, inverse};

/// Bytes before the source packet in a shard, for its length.
const LENGTH_BYTES: usize = 2;

/// Reason why a packet does not fit a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BlockError {
    /// A block without a source, or of more than 255 packets.
    #[error(
        "a block of {sources} source and {repairs} repair packets; 1 to 255 in all are possible"
    )]
    Size {
        /// Requested source packets.
        sources: u8,
        /// Requested repair packets.
        repairs: u8,
    },
    /// A packet's number beyond the block, or a full block.
    #[error("packet {index} of {count}")]
    Index {
        /// Number of the packet, from 0.
        index: u8,
        /// Number of packets of its kind.
        count: u8,
    },
    /// A source packet longer than 65535 bytes, or a repair packet without room for a length or of another length than
    /// others of its block.
    #[error("a packet of {actual} bytes where {least} to {most} were expected")]
    Length {
        /// Actual length, in bytes.
        actual: usize,
        /// Shortest length.
        least: usize,
        /// Longest length.
        most: usize,
    },
    /// Restored data that is no shard: a packet was damaged, or of another block.
    #[error("restored source packet {index} is not a packet")]
    Inconsistent {
        /// Number of the source packet.
        index: u8,
    },
}

/// Size of a block: its numbers of source and repair packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockSize {
    sources: u8,
    repairs: u8,
}

impl BlockSize {
    /// Returns a block of up to `sources` source packets and `repairs` repair packets.
    ///
    /// # Errors
    /// Fails if there is no source packet, or there are more than 255 packets in all.
    pub fn new(sources: u8, repairs: u8) -> Result<BlockSize, BlockError> {
        if sources == 0 || sources.checked_add(repairs).is_none() {
            return Err(BlockError::Size { sources, repairs });
        }
        Ok(BlockSize { sources, repairs })
    }

    /// Returns the largest number of source packets.
    pub fn sources(self) -> u8 {
        self.sources
    }

    /// Returns the number of repair packets.
    pub fn repairs(self) -> u8 {
        self.repairs
    }
}

/// Returns the factor of a source in a repair packet.
fn factor(source: u8, repair: u8) -> u8 {
    inverse(source ^ (255 - repair))
}

/// Adds `factor` times the shard of `packet` to a sum of shards, which grows to the longest.
fn add_packet(sum: &mut Vec<u8>, factor: u8, packet: &[u8]) {
    sum.resize(sum.len().max(LENGTH_BYTES + packet.len()), 0);
    let (length, bytes) = sum.split_at_mut(LENGTH_BYTES);
    add_scaled(length, factor, &(packet.len() as u16).to_be_bytes());
    add_scaled(bytes, factor, packet);
}

/// Encoder of one block's repair packets while its source packets are sent, which are not stored.
#[derive(Clone, Debug)]
pub struct BlockEncoder {
    size: BlockSize,
    added: u8,
    repairs: Vec<Vec<u8>>,
}

impl BlockEncoder {
    /// Creates an empty block.
    pub fn new(size: BlockSize) -> BlockEncoder {
        BlockEncoder {
            size,
            added: 0,
            repairs: vec![Vec::new(); usize::from(size.repairs)],
        }
    }

    /// Takes in the next source packet, and returns its number in the block, from 0.
    ///
    /// # Errors
    /// Fails if the block is full, or the packet longer than 65535 bytes.
    pub fn add(&mut self, packet: &[u8]) -> Result<u8, BlockError> {
        check_index(self.added, self.size.sources)?;
        check_length(packet.len(), 0, usize::from(u16::MAX))?;
        for (repair, sum) in (0..).zip(&mut self.repairs) {
            add_packet(sum, factor(self.added, repair), packet);
        }
        self.added += 1;
        Ok(self.added - 1)
    }

    /// Returns the number of source packets so far: k for the decoder, if the block is closed now.
    pub fn sources(&self) -> u8 {
        self.added
    }

    /// Returns the repair packet with a number, from 0, for the source packets so far.
    ///
    /// # Errors
    /// Fails if the block has no such repair packet.
    pub fn repair(&self, index: u8) -> Result<&[u8], BlockError> {
        check_index(index, self.size.repairs)?;
        Ok(&self.repairs[usize::from(index)])
    }
}

fn check_index(index: u8, count: u8) -> Result<(), BlockError> {
    if index < count {
        return Ok(());
    }
    Err(BlockError::Index { index, count })
}

fn check_length(actual: usize, least: usize, most: usize) -> Result<(), BlockError> {
    if (least..=most).contains(&actual) {
        return Ok(());
    }
    Err(BlockError::Length {
        actual,
        least,
        most,
    })
}

#[cfg(test)]
mod tests;
