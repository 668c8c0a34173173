//! The receiver's side: recovery of missing packets from the received ones.

use super::{BlockError, BlockSize, LENGTH_BYTES, add_packet, check_index, check_length, factor};
use crate::fec::field::{add_scaled, inverse, multiply};

/// Restored source packets, each with its number in the block.
pub type Restored = Vec<(u8, Vec<u8>)>;

/// Decoder of one block, which collects received packets and restores missing ones.
#[derive(Clone, Debug)]
pub struct BlockDecoder {
    size: BlockSize,
    sources: Vec<Option<Vec<u8>>>,
    repairs: Vec<Option<Vec<u8>>>,
}

impl BlockDecoder {
    /// Creates a block without received packets. `size` has as many sources as the encoder took in.
    pub fn new(size: BlockSize) -> BlockDecoder {
        BlockDecoder {
            size,
            sources: vec![None; usize::from(size.sources)],
            repairs: vec![None; usize::from(size.repairs)],
        }
    }

    /// Takes in a source packet; a second one with its number is ignored.
    ///
    /// # Errors
    /// Fails if its number is beyond the block, or it is longer than 65535 bytes.
    pub fn add_source(&mut self, index: u8, packet: &[u8]) -> Result<(), BlockError> {
        check_index(index, self.size.sources)?;
        check_length(packet.len(), 0, usize::from(u16::MAX))?;
        self.sources[usize::from(index)].get_or_insert_with(|| packet.to_vec());
        Ok(())
    }

    /// Takes in a repair packet; a second one with its number is ignored.
    ///
    /// # Errors
    /// Fails if its number is beyond the block, or its length differs from that of earlier repair packets.
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

    /// Returns the missing source packets, with their numbers, which count as received from now on; `None` while some
    /// are missing and fewer packets were received than the block has sources.
    ///
    /// # Errors
    /// Fails if packets contradict each other. Verify their checksums before; not every contradiction is detectable.
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

    /// Returns the `used` repair packets without the contributions of the received sources.
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

/// Solves for the missing shards in place, by Gauss–Jordan elimination. No pivot is zero, since each is a quotient of
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

/// Returns the packet in a shard, if its length is possible and zeros follow.
fn packet_of(shard: &[u8]) -> Option<&[u8]> {
    let (length, bytes) = shard.split_first_chunk::<LENGTH_BYTES>()?;
    let (packet, padding) = bytes.split_at_checked(usize::from(u16::from_be_bytes(*length)))?;
    padding.iter().all(|byte| *byte == 0).then_some(packet)
}
