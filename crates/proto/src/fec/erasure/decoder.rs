//! The receiver's side: what is missing, out of what has arrived.

use super::{BlockError, BlockSize, LENGTH_BYTES, add_packet, check_index, check_length, factor};
use crate::fec::field::{add_scaled, inverse, multiply};

/// Source packets that were missing, each with its number in the block.
pub type Restored = Vec<(u8, Vec<u8>)>;

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
    /// Fails if its number is beyond the block, or it is longer than 65535 bytes.
    pub fn add_source(&mut self, index: u8, packet: &[u8]) -> Result<(), BlockError> {
        check_index(index, self.size.sources)?;
        check_length(packet.len(), 0, usize::from(u16::MAX))?;
        self.sources[usize::from(index)].get_or_insert_with(|| packet.to_vec());
        Ok(())
    }

    /// Takes a repair packet in; a second one with its number is ignored.
    ///
    /// # Errors
    /// Fails if its number is beyond the block, or its length is not that of the repair packets before it.
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
    /// Fails if packets contradict each other. They are checked before they come here, by their checksums; not every
    /// contradiction can be seen.
    pub fn try_restore(&mut self) -> Result<Option<Restored>, BlockError> {
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
