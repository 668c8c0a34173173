//! The erasure code across packets: of each block of packets with data, some more that repair, over all paths alike.
//!
//! What is coded of a packet is its sequence number, two of its flags, and its data, so that a restored one is taken in as if it
//! had come.

use crate::fec::erasure::{BlockDecoder, BlockEncoder, BlockSize};
use crate::packet::Payload;
use crate::time::{Duration, Instant};
use crate::wire::aerotp::{AerotpHeader, BlockPlace};
use crate::wire::sequence::SequenceNumber;
use std::collections::VecDeque;

/// Bytes of a repair packet's payload beyond those of the longest data in its block: length, sequence number, flags.
pub(super) const REPAIR_OVERHEAD: u32 = 7;
/// Blocks of which packets are kept at the receiver.
const OPEN_BLOCKS: usize = 8;

/// A packet's data as it is coded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shard {
    pub sequence: SequenceNumber,
    pub is_final: bool,
    pub ends_record: bool,
    pub payload: Payload,
}

impl Shard {
    pub fn of(header: &AerotpHeader, payload: &Payload) -> Shard {
        Shard {
            sequence: header.sequence,
            is_final: header.is_final,
            ends_record: header.ends_record,
            payload: payload.clone(),
        }
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = self.sequence.0.to_be_bytes().to_vec();
        bytes.push(u8::from(self.is_final) << 1 | u8::from(self.ends_record));
        self.payload.copy_into(&mut bytes);
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Shard> {
        let (head, payload) = bytes.split_at_checked(5)?;
        if head[4] > 0b11 {
            return None;
        }
        Some(Shard {
            sequence: SequenceNumber(u32::from_be_bytes([head[0], head[1], head[2], head[3]])),
            is_final: head[4] & 0b10 != 0,
            ends_record: head[4] & 0b01 != 0,
            payload: Payload::from_slice(payload),
        })
    }
}

/// The sender's blocks.
#[derive(Debug)]
pub(super) struct BlockSender {
    size: BlockSize,
    encoder: BlockEncoder,
    number: u16,
    /// When the open block is closed, full or not.
    closes_at: Option<Instant>,
    repairs: VecDeque<(BlockPlace, Payload)>,
}

impl BlockSender {
    pub fn new(size: BlockSize) -> BlockSender {
        BlockSender {
            size,
            encoder: BlockEncoder::new(size),
            number: 0,
            closes_at: None,
            repairs: VecDeque::new(),
        }
    }

    /// The place of the next packet with data.
    pub fn place(&self) -> BlockPlace {
        BlockPlace {
            block: self.number,
            index: self.encoder.sources(),
            sources: self.size.sources(),
            repairs: self.size.repairs(),
        }
    }

    /// A packet with data has left at that place. A block that does not fill is closed `patience` after its first packet.
    pub fn add(&mut self, now: Instant, shard: &Shard, patience: Duration) {
        // No packet is longer than the encoder takes, and no block fuller.
        if self.encoder.add(&shard.encode()).is_err() {
            return;
        }
        self.closes_at.get_or_insert(now + patience);
        if self.encoder.sources() == self.size.sources() {
            self.close();
        }
    }

    pub fn poll_timeout(&self) -> Option<Instant> {
        self.closes_at
    }

    pub fn handle_timeout(&mut self, now: Instant) {
        if self.closes_at.is_some_and(|at| at <= now) {
            self.close();
        }
    }

    fn close(&mut self) {
        let sources = self.encoder.sources();
        for index in 0..self.size.repairs() {
            if let Ok(bytes) = self.encoder.repair(index) {
                let place = BlockPlace {
                    block: self.number,
                    index: sources + index,
                    sources,
                    repairs: self.size.repairs(),
                };
                self.repairs.push_back((place, Payload::from_slice(bytes)));
            }
        }
        self.encoder = BlockEncoder::new(self.size);
        self.number = self.number.wrapping_add(1);
        self.closes_at = None;
    }

    pub fn has_repairs(&self) -> bool {
        !self.repairs.is_empty()
    }

    pub fn take_repair(&mut self) -> Option<(BlockPlace, Payload)> {
        self.repairs.pop_front()
    }
}

/// What has come of one block.
#[derive(Debug)]
struct Open {
    number: u16,
    sources: Vec<(u8, Vec<u8>)>,
    repairs: Vec<(BlockPlace, Vec<u8>)>,
    /// Nothing is missing any more.
    is_whole: bool,
}

/// The receiver's blocks.
#[derive(Debug, Default)]
pub(super) struct BlockReceiver {
    open: VecDeque<Open>,
}

impl BlockReceiver {
    /// A packet with data has come.
    pub fn add_source(&mut self, place: BlockPlace, shard: &Shard) -> Vec<Shard> {
        let open = self.block(place.block);
        if !open.is_whole && open.sources.iter().all(|&(index, _)| index != place.index) {
            open.sources.push((place.index, shard.encode()));
        }
        open.restore()
    }

    /// One that repairs has come.
    pub fn add_repair(&mut self, place: BlockPlace, payload: &Payload) -> Vec<Shard> {
        let mut bytes = Vec::new();
        payload.copy_into(&mut bytes);
        let open = self.block(place.block);
        if !open.is_whole
            && open
                .repairs
                .iter()
                .all(|(known, _)| known.index != place.index)
        {
            open.repairs.push((place, bytes));
        }
        open.restore()
    }

    fn block(&mut self, number: u16) -> &mut Open {
        if let Some(index) = self.open.iter().position(|open| open.number == number) {
            return &mut self.open[index];
        }
        if self.open.len() == OPEN_BLOCKS {
            self.open.pop_front();
        }
        self.open.push_back(Open {
            number,
            sources: Vec::new(),
            repairs: Vec::new(),
            is_whole: false,
        });
        let last = self.open.len() - 1;
        &mut self.open[last]
    }
}

impl Open {
    /// What was missing, once there is enough. Packets that contradict each other restore nothing.
    fn restore(&mut self) -> Vec<Shard> {
        let Some(&(place, _)) = self.repairs.first() else {
            return Vec::new();
        };
        let there = self.sources.len() + self.repairs.len();
        if self.is_whole || there < usize::from(place.sources) {
            return Vec::new();
        }
        self.is_whole = true;
        let restored = self.decode(place).unwrap_or_default();
        self.sources.clear();
        self.repairs.clear();
        restored
    }

    fn decode(&self, place: BlockPlace) -> Option<Vec<Shard>> {
        let size = BlockSize::new(place.sources, place.repairs).ok()?;
        let mut decoder = BlockDecoder::new(size);
        for (index, bytes) in &self.sources {
            decoder.add_source(*index, bytes).ok()?;
        }
        for (repair, bytes) in &self.repairs {
            decoder
                .add_repair(repair.index.checked_sub(place.sources)?, bytes)
                .ok()?;
        }
        let restored = decoder.try_restore().ok()??;
        restored
            .iter()
            .map(|(_, bytes)| Shard::decode(bytes))
            .collect()
    }
}
