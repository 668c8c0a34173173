//! Erasure coding across packets: of k source packets and m repair packets, any k restore all.
//!
//! A shard is a source packet's length in two bytes (network order), its bytes, and zeros up to the longest of its
//! block. Repair j is the sum over the sources i of shard i times 1 / (i + (255 - j)), in GF(2^8): a Cauchy matrix, of
//! which every square part can be inverted. (J. Blömer et al., An XOR-Based Erasure-Resilient Coding Scheme, 1995,
//! section 3.) The factors do not depend on k and m, so a block may be closed before it is full. Source packets are
//! sent as they are, a repair packet is as long as a shard.

mod decoder;

pub use decoder::{BlockDecoder, Restored};

use super::field::{add_scaled, inverse};

/// Bytes before the source packet in a shard: its length.
const LENGTH_BYTES: usize = 2;

/// Reason why a packet does not belong in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BlockError {
    /// A block has at least one source, and 255 packets at most.
    #[error(
        "a block of {sources} source and {repairs} repair packets; 1 to 255 in all are possible"
    )]
    Size {
        /// Source packets asked for.
        sources: u8,
        /// Repair packets asked for.
        repairs: u8,
    },
    /// A packet's number is beyond the block, or the block is full.
    #[error("packet {index} of {count}")]
    Index {
        /// Its number, from 0.
        index: u8,
        /// Number of packets of its kind.
        count: u8,
    },
    /// A source packet is longer than 65535 bytes, or a repair packet has no room for a length or is not as long as others of its block.
    #[error("a packet of {actual} bytes where {least} to {most} were expected")]
    Length {
        /// Its bytes.
        actual: usize,
        /// The fewest that it may have.
        least: usize,
        /// The most that it may have.
        most: usize,
    },
    /// The restored data is no shard: a packet was damaged, or of another block.
    #[error("source packet {index} was restored to what is no packet")]
    Inconsistent {
        /// The source packet.
        index: u8,
    },
}

/// The shape of a block: how many packets of which kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockSize {
    sources: u8,
    repairs: u8,
}

impl BlockSize {
    /// A block of up to `sources` source packets and `repairs` repair packets.
    ///
    /// # Errors
    /// Fails if there is no source packet, or there are more than 255 packets in all.
    pub fn new(sources: u8, repairs: u8) -> Result<BlockSize, BlockError> {
        if sources == 0 || sources.checked_add(repairs).is_none() {
            return Err(BlockError::Size { sources, repairs });
        }
        Ok(BlockSize { sources, repairs })
    }

    /// Most source packets.
    pub fn sources(self) -> u8 {
        self.sources
    }

    /// Repair packets.
    pub fn repairs(self) -> u8 {
        self.repairs
    }
}

/// The factor of a source in a repair packet.
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

/// Makes the repair packets of one block while its source packets are sent; keeps none of those.
#[derive(Clone, Debug)]
pub struct BlockEncoder {
    size: BlockSize,
    added: u8,
    repairs: Vec<Vec<u8>>,
}

impl BlockEncoder {
    /// A block that is empty.
    pub fn new(size: BlockSize) -> BlockEncoder {
        BlockEncoder {
            size,
            added: 0,
            repairs: vec![Vec::new(); usize::from(size.repairs)],
        }
    }

    /// Takes the next source packet in, and returns its number in the block, from 0.
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

    /// Source packets so far: k for the decoder, if the block is closed now.
    pub fn sources(&self) -> u8 {
        self.added
    }

    /// The repair packet with a number, from 0, for the source packets so far.
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
