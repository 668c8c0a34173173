//! The erasure code across packets: each block of packets with data is followed by repair packets, over all paths
//! alike.
//!
//! The coded part of a packet is its sequence number, two of its flags, and its data, so that a restored packet is
//! processed like a received one.

use crate::fec::erasure::{BlockDecoder, BlockEncoder, BlockSize};
use crate::packet::Payload;
use crate::time::{Duration, Instant};
use crate::wire::aerotp::{AerotpHeader, BlockPlace};
use crate::wire::sequence::SequenceNumber;
use std::collections::VecDeque;

/// Bytes of a repair packet's payload beyond those of the longest data in its block: length, sequence number, flags.
pub(super) const REPAIR_OVERHEAD: u32 = 7;
/// Most blocks whose packet counts the receiver remembers: with paths of different delays many are open at once.
const MOST_BLOCKS: usize = 1024;

/// A packet's data in coded form.
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
    /// Time at which the open block is closed, full or not.
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

    /// Returns the place of the next packet with data.
    pub fn place(&self) -> BlockPlace {
        BlockPlace {
            block: self.number,
            index: self.encoder.sources(),
            sources: self.size.sources(),
            repairs: self.size.repairs(),
        }
    }

    /// Takes in a packet with data, sent at that place. A block that does not fill is closed `patience` after its first
    /// packet.
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

/// Received packets of one block.
#[derive(Debug)]
struct Open {
    number: u16,
    sources: Vec<(u8, Vec<u8>)>,
    repairs: Vec<(BlockPlace, Vec<u8>)>,
    /// True once no packet is missing.
    is_whole: bool,
}

impl Open {
    /// Returns the length of the packets held, in bytes.
    fn bytes(&self) -> usize {
        let sources = self.sources.iter().map(|(_, bytes)| bytes.len());
        let repairs = self.repairs.iter().map(|(_, bytes)| bytes.len());
        sources.chain(repairs).sum()
    }
}

/// The receiver's blocks, in the order of their first arrivals.
#[derive(Debug)]
pub(super) struct BlockReceiver {
    open: VecDeque<Open>,
    /// Bytes of packets held, and their limit.
    kept: usize,
    most: usize,
}

impl BlockReceiver {
    /// Creates a store of up to `memory` bytes of packets. Packets of a complete block are not held.
    pub fn new(memory: u32) -> BlockReceiver {
        BlockReceiver {
            open: VecDeque::new(),
            kept: 0,
            most: memory as usize,
        }
    }

    /// Takes in a packet with data.
    pub fn add_source(&mut self, place: BlockPlace, shard: &Shard) -> Vec<Shard> {
        self.change(place.block, |open| {
            if open.sources.iter().all(|&(index, _)| index != place.index) {
                open.sources.push((place.index, shard.encode()));
            }
            if open.sources.len() == usize::from(place.sources) {
                open.end();
            }
        })
    }

    /// Takes in a repair packet.
    pub fn add_repair(&mut self, place: BlockPlace, payload: &Payload) -> Vec<Shard> {
        self.change(place.block, |open| {
            let mut repairs = open.repairs.iter();
            if repairs.all(|(known, _)| known.index != place.index) {
                let mut bytes = Vec::new();
                payload.copy_into(&mut bytes);
                open.repairs.push((place, bytes));
            }
        })
    }

    /// Changes an incomplete block, and restores its packets once that is possible.
    fn change(&mut self, number: u16, change: impl FnOnce(&mut Open)) -> Vec<Shard> {
        // Most likely the newest block.
        let place = self.open.iter().rposition(|open| open.number == number);
        let place = place.unwrap_or_else(|| self.begin(number));
        let open = &mut self.open[place];
        if open.is_whole {
            return Vec::new();
        }
        let before = open.bytes();
        change(open);
        let restored = open.restore();
        self.kept = self.kept + open.bytes() - before;
        while self.kept > self.most {
            self.forget_oldest();
        }
        restored
    }

    fn begin(&mut self, number: u16) -> usize {
        if self.open.len() == MOST_BLOCKS {
            self.forget_oldest();
        }
        self.open.push_back(Open {
            number,
            sources: Vec::new(),
            repairs: Vec::new(),
            is_whole: false,
        });
        self.open.len() - 1
    }

    fn forget_oldest(&mut self) {
        let oldest = self.open.pop_front();
        self.kept -= oldest.map_or(self.kept, |open| open.bytes());
    }
}

impl Open {
    /// Returns the missing packets, once there are enough to restore them. Packets that contradict each other restore
    /// nothing.
    fn restore(&mut self) -> Vec<Shard> {
        let Some(&(place, _)) = self.repairs.first() else {
            return Vec::new();
        };
        let there = self.sources.len() + self.repairs.len();
        if self.is_whole || there < usize::from(place.sources) {
            return Vec::new();
        }
        let restored = self.decode(place).unwrap_or_default();
        self.end();
        restored
    }

    /// Drops the packets, and keeps only the fact that the block existed.
    fn end(&mut self) {
        self.is_whole = true;
        self.sources = Vec::new();
        self.repairs = Vec::new();
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
