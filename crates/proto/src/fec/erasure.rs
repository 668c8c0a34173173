//! Erasure coding across packets: of k source packets and m repair packets, any k restore all.
//!
//! A shard is a source packet's length in two bytes (network order), its bytes, and zeros up to the longest of its
//! block. Repair j is the sum over the sources i of shard i times 1 / (i + (255 - j)), in GF(2^8): a Cauchy matrix, of
//! which every square part can be inverted. (J. Blömer et al., An XOR-Based Erasure-Resilient Coding Scheme, 1995,
//! section 3.) The factors do not depend on k and m, so a block may be closed before it is full. Source packets are
//! sent as they are, a repair packet is as long as a shard.

use super::field::{add_scaled, inverse, multiply};

/// Most packets of a block, source and repair.
pub const MOST_PACKETS: usize = 255;
/// Bytes before the source packet in a shard: its length.
const LENGTH_BYTES: usize = 2;

/// Why a packet does not belong in a block.
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
        /// How many there are of its kind.
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
    /// What was restored is no shard: a packet was damaged, or of another block.
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
    /// If there is no source packet, or there are more than 255 packets in all.
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
    /// If the block is full, or the packet longer than 65535 bytes.
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
    /// If the block has no such repair packet.
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

/// Collects what arrives of one block, and restores what does not.
#[derive(Clone, Debug)]
pub struct BlockDecoder {
    size: BlockSize,
    sources: Vec<Option<Vec<u8>>>,
    repairs: Vec<Option<Vec<u8>>>,
}

impl BlockDecoder {
    /// A block of which nothing has arrived. `size` has as many sources as the encoder took in.
    pub fn new(size: BlockSize) -> BlockDecoder {
        BlockDecoder {
            size,
            sources: vec![None; usize::from(size.sources)],
            repairs: vec![None; usize::from(size.repairs)],
        }
    }

    /// Takes a source packet in; a second one with its number is ignored.
    ///
    /// # Errors
    /// If its number is beyond the block, or it is longer than 65535 bytes.
    pub fn add_source(&mut self, index: u8, packet: &[u8]) -> Result<(), BlockError> {
        check_index(index, self.size.sources)?;
        check_length(packet.len(), 0, usize::from(u16::MAX))?;
        self.sources[usize::from(index)].get_or_insert_with(|| packet.to_vec());
        Ok(())
    }

    /// Takes a repair packet in; a second one with its number is ignored.
    ///
    /// # Errors
    /// If its number is beyond the block, or its length is not that of the repair packets before it.
    pub fn add_repair(&mut self, index: u8, packet: &[u8]) -> Result<(), BlockError> {
        check_index(index, self.size.repairs)?;
        let known = self.repairs.iter().flatten().next().map(Vec::len);
        let (least, most) = match known {
            Some(length) => (length, length),
            None => (LENGTH_BYTES, LENGTH_BYTES + usize::from(u16::MAX)),
        };
        check_length(packet.len(), least, most)?;
        self.repairs[usize::from(index)].get_or_insert_with(|| packet.to_vec());
        Ok(())
    }

    /// The source packets that were missing, with their numbers; they count as arrived from now on. `None` while fewer
    /// packets have arrived than the block has sources, and something is missing.
    ///
    /// # Errors
    /// If packets contradict each other. They are checked before they come here, by their checksums; not every contradiction
    /// can be seen.
    pub fn try_restore(&mut self) -> Result<Option<Vec<(u8, Vec<u8>)>>, BlockError> {
        let numbers = |packets: &[Option<Vec<u8>>], there: bool| -> Vec<u8> {
            let numbered = (0..).zip(packets);
            let wanted = numbered.filter(|(_, packet)| packet.is_some() == there);
            wanted.map(|(index, _)| index).collect()
        };
        let missing = numbers(&self.sources, false);
        let mut used = numbers(&self.repairs, true);
        if used.len() < missing.len() {
            return Ok(None);
        }
        used.truncate(missing.len());
        let mut sums = self.without_sources(&used)?;
        eliminate(&missing, &used, &mut sums);
        let mut restored = Vec::with_capacity(missing.len());
        for (index, shard) in missing.into_iter().zip(&sums) {
            let packet = packet_of(shard).ok_or(BlockError::Inconsistent { index })?;
            restored.push((index, packet.to_vec()));
        }
        for (index, packet) in &restored {
            self.sources[usize::from(*index)] = Some(packet.clone());
        }
        Ok(Some(restored))
    }

    /// The repair packets that are `used` without what the sources that are there have added to them.
    fn without_sources(&self, used: &[u8]) -> Result<Vec<Vec<u8>>, BlockError> {
        let mut sums = Vec::with_capacity(used.len());
        for repair in used {
            let mut sum = self.repairs[usize::from(*repair)]
                .clone()
                .unwrap_or_default();
            let shard = sum.len();
            for (source, packet) in (0..).zip(&self.sources) {
                if let Some(packet) = packet {
                    check_length(packet.len(), 0, shard - LENGTH_BYTES)?;
                    add_packet(&mut sum, factor(source, *repair), packet);
                }
            }
            sums.push(sum);
        }
        Ok(sums)
    }
}

/// Solves for the missing shards, in place: Gauss and Jordan's elimination. No pivot is zero, since each is a quotient of
/// minors of a Cauchy matrix.
fn eliminate(missing: &[u8], used: &[u8], sums: &mut [Vec<u8>]) {
    let row = |repair: &u8| -> Vec<u8> {
        missing
            .iter()
            .map(|source| factor(*source, *repair))
            .collect()
    };
    let mut matrix: Vec<Vec<u8>> = used.iter().map(row).collect();
    for pivot in 0..matrix.len() {
        let scale = inverse(matrix[pivot][pivot]);
        for value in matrix[pivot].iter_mut().chain(&mut sums[pivot]) {
            *value = multiply(scale, *value);
        }
        let (pivot_row, pivot_sum) = (matrix[pivot].clone(), core::mem::take(&mut sums[pivot]));
        for other in (0..matrix.len()).filter(|other| *other != pivot) {
            let factor = matrix[other][pivot];
            add_scaled(&mut matrix[other], factor, &pivot_row);
            add_scaled(&mut sums[other], factor, &pivot_sum);
        }
        sums[pivot] = pivot_sum;
    }
}

/// The packet in a shard, if its length is possible and zeros follow.
fn packet_of(shard: &[u8]) -> Option<&[u8]> {
    let (length, bytes) = shard.split_first_chunk::<LENGTH_BYTES>()?;
    let (packet, padding) = bytes.split_at_checked(usize::from(u16::from_be_bytes(*length)))?;
    padding.iter().all(|byte| *byte == 0).then_some(packet)
}

#[cfg(test)]
mod tests;
