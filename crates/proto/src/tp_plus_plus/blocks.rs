//! The erasure code across TPDUs, in the place of A. McAuley's burst erasure code (SIGCOMM 1990): any k of the k + m
//! packets of a block restore it.
//!
//! The coded part of a TPDU is its check and its chunks, so that a restored one is verified like a received one.

use crate::fec::erasure::{BlockDecoder, BlockEncoder, BlockSize};
use crate::time::Instant;
use crate::wire::tp_plus_plus::{Repair, Tpdu, WeightedSum};
use std::collections::{BTreeMap, VecDeque};

/// Bytes of a repair symbol beyond the longest chunks of its block: length and check.
pub(super) const SYMBOL_OVERHEAD: u32 = 2 + 8;
/// Most incomplete blocks that a receiver keeps; with paths of different delays many are open at once.
const MOST_BLOCKS: usize = 64;

/// Returns the coded part of a TPDU.
fn symbol(tpdu: &Tpdu) -> Vec<u8> {
    let mut bytes = tpdu.check.to_bytes().to_vec();
    tpdu.encode_chunks(&mut bytes);
    bytes
}

/// The sender's open block.
#[derive(Debug)]
pub(super) struct BlockSender {
    size: BlockSize,
    encoder: BlockEncoder,
    first: u32,
    /// Time at which the block is closed, full or not.
    pub closes_at: Option<Instant>,
    pub repairs: VecDeque<Repair>,
}

impl BlockSender {
    pub fn new(size: BlockSize) -> BlockSender {
        BlockSender {
            size,
            encoder: BlockEncoder::new(size),
            first: 0,
            closes_at: None,
            repairs: VecDeque::new(),
        }
    }

    /// Adds the next TPDU, and gives it its place; the block is closed by `closes_at` at the latest.
    pub fn add(&mut self, tpdu: &mut Tpdu, closes_at: Instant) {
        // No TPDU is longer than the encoder takes, and no block fuller.
        let Ok(place) = self.encoder.add(&symbol(tpdu)) else {
            return;
        };
        tpdu.place = Some(place);
        if place == 0 {
            self.first = tpdu.number;
            self.closes_at = Some(closes_at);
        }
        if self.encoder.sources() == self.size.sources() {
            self.close();
        }
    }

    /// Closes the block: its repair symbols follow.
    pub fn close(&mut self) {
        self.closes_at = None;
        let encoder = core::mem::replace(&mut self.encoder, BlockEncoder::new(self.size));
        if encoder.sources() == 0 {
            return;
        }
        for index in 0..self.size.repairs() {
            if let Ok(symbol) = encoder.repair(index) {
                self.repairs.push_back(Repair {
                    first: self.first,
                    sources: encoder.sources(),
                    repairs: self.size.repairs(),
                    index,
                    symbol: symbol.into(),
                });
            }
        }
    }
}

/// An incomplete block.
#[derive(Debug, Default)]
struct Block {
    /// Known once a repair symbol has arrived.
    size: Option<BlockSize>,
    sources: BTreeMap<u8, Vec<u8>>,
    repairs: BTreeMap<u8, Box<[u8]>>,
}

/// The receiver's incomplete blocks, by their first TPDU's number.
#[derive(Debug, Default)]
pub(super) struct BlockReceiver {
    blocks: BTreeMap<u32, Block>,
}

impl BlockReceiver {
    /// Takes in a whole TPDU; returns those that are restored by it.
    pub fn take(&mut self, tpdu: &Tpdu) -> Vec<Tpdu> {
        let Some(place) = tpdu.place else {
            return Vec::new();
        };
        let Some(first) = tpdu.number.checked_sub(place.into()) else {
            return Vec::new();
        };
        let block = self.blocks.entry(first).or_default();
        block.sources.insert(place, symbol(tpdu));
        self.restore(first)
    }

    /// Takes in a repair symbol; returns the TPDUs that are restored by it.
    pub fn take_repair(&mut self, repair: Repair) -> Vec<Tpdu> {
        let Ok(size) = BlockSize::new(repair.sources, repair.repairs) else {
            return Vec::new();
        };
        let block = self.blocks.entry(repair.first).or_default();
        // Symbols of another size are not of this block.
        if *block.size.get_or_insert(size) == size {
            block.repairs.insert(repair.index, repair.symbol);
        }
        self.restore(repair.first)
    }

    fn restore(&mut self, first: u32) -> Vec<Tpdu> {
        let restored = self.blocks.get(&first).and_then(Block::restore);
        if restored.is_some() {
            self.blocks.remove(&first);
        } else if self.blocks.len() > MOST_BLOCKS {
            self.blocks.pop_first();
        }
        let shards = restored.unwrap_or_default().into_iter();
        let tpdus = shards.filter_map(|(place, shard)| {
            let (check, chunks) = shard.split_first_chunk::<8>()?;
            Some(Tpdu {
                number: first.checked_add(place.into())?,
                place: None,
                check: WeightedSum::from(*check),
                chunks: Tpdu::decode_chunks(chunks).ok()?,
            })
        });
        tpdus.collect()
    }
}

impl Block {
    /// Returns the missing TPDUs' coded parts, once enough packets have arrived; they are none if no TPDU is missing.
    fn restore(&self) -> Option<Vec<(u8, Vec<u8>)>> {
        let size = self.size?;
        if self.sources.len() + self.repairs.len() < usize::from(size.sources()) {
            return None;
        }
        let mut decoder = BlockDecoder::new(size);
        for (&place, symbol) in &self.sources {
            decoder.add_source(place, symbol).ok()?;
        }
        for (&index, symbol) in &self.repairs {
            decoder.add_repair(index, symbol).ok()?;
        }
        decoder.try_restore().ok()?
    }
}
