//! The erasure code across packets: each block of packets with data is followed by repair packets, over all paths
//! alike.
//!
//! The coded part of a packet is its sequence number, two of its flags, and its data, so that a restored packet is
//! processed like a received one.

use super::configuration::Blocks;
use super::redundancy::{Fates, LossMeter, Plan};
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
    plan: Plan,
    loss: LossMeter,
    /// The open block, with its largest size.
    open: Option<(BlockSize, BlockEncoder)>,
    number: u16,
    /// Time at which the open block is closed, full or not.
    closes_at: Option<Instant>,
    /// True if the open block is closed with its next packet.
    is_overdue: bool,
    repairs: VecDeque<(BlockPlace, Payload)>,
}

impl BlockSender {
    pub fn new(blocks: Blocks) -> BlockSender {
        BlockSender {
            plan: Plan::new(blocks),
            loss: LossMeter::default(),
            open: None,
            number: 0,
            closes_at: None,
            is_overdue: false,
            repairs: VecDeque::new(),
        }
    }

    /// Takes in packets whose fate has become known.
    pub fn note(&mut self, fates: Fates) {
        self.loss.note(fates);
        self.plan.set_loss(self.loss.rate());
    }

    /// Sets the loss by the caller's own measurement.
    pub fn set_loss(&mut self, loss: f64) {
        self.plan.set_loss(loss);
    }

    /// Returns the place of the next packet with data, over links that are about to go down if `is_leaving`; `None` if it
    /// needs no block.
    pub fn place(&mut self, is_leaving: bool) -> Option<BlockPlace> {
        self.plan.set_leaving(is_leaving);
        let begun = self.open.take();
        let begun = begun.filter(|(_, encoder)| encoder.sources() > 0);
        let new = || self.plan.size().map(|size| (size, BlockEncoder::new(size)));
        self.open = begun.or_else(new);
        let (size, encoder) = self.open.as_ref()?;
        Some(BlockPlace {
            block: self.number,
            index: encoder.sources(),
            sources: size.sources(),
            repairs: size.repairs(),
        })
    }

    /// Takes in a packet with data, sent at that place, at a path's round-trip time if it is known.
    pub fn add(
        &mut self,
        now: Instant,
        shard: &Shard,
        (reordering_wait, rtt): (Duration, Option<Duration>),
    ) {
        let Some((size, encoder)) = &mut self.open else {
            return;
        };
        // No packet is longer than the encoder takes, and no block fuller.
        if encoder.add(&shard.encode()).is_err() {
            return;
        }
        let is_full = encoder.sources() == size.sources();
        if is_full || self.is_overdue {
            self.close();
        } else {
            let patience = self.plan.patience(reordering_wait, rtt);
            self.closes_at.get_or_insert(now + patience);
        }
    }

    pub fn poll_timeout(&self) -> Option<Instant> {
        self.closes_at
    }

    /// Closes an overdue block; `is_ready` if more data can be sent.
    pub fn handle_timeout(&mut self, now: Instant, is_ready: bool) {
        if self.closes_at.is_none_or(|at| at > now) {
            return;
        }
        let sources = self.open.as_ref().map_or(0, |(_, open)| open.sources());
        if self.plan.waits_for_more(sources, is_ready) {
            self.closes_at = None;
            self.is_overdue = true;
        } else {
            self.close();
        }
    }

    fn close(&mut self) {
        self.closes_at = None;
        self.is_overdue = false;
        let Some((size, encoder)) = self.open.take() else {
            return;
        };
        let sources = encoder.sources();
        let repairs = self.plan.repairs_at_close(size, sources);
        for index in 0..repairs {
            if let Ok(bytes) = encoder.repair(index) {
                let place = BlockPlace {
                    block: self.number,
                    index: sources + index,
                    sources,
                    repairs,
                };
                self.repairs.push_back((place, Payload::from_slice(bytes)));
            }
        }
        self.number = self.number.wrapping_add(1);
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
    /// Packets restored.
    restored: u32,
    /// Blocks forgotten before they were whole.
    failed: u64,
}

impl BlockReceiver {
    /// Creates a store of up to `memory` bytes of packets. Packets of a complete block are not held.
    pub fn new(memory: u32) -> BlockReceiver {
        BlockReceiver {
            open: VecDeque::new(),
            kept: 0,
            most: memory as usize,
            restored: 0,
            failed: 0,
        }
    }

    /// Returns the number of packets restored.
    pub fn restored(&self) -> u32 {
        self.restored
    }

    /// Returns the number of blocks that lack packets, of all but the newest.
    pub fn failed(&self) -> u64 {
        let older = self.open.iter().rev().skip(1);
        self.failed + older.filter(|open| !open.is_whole).count() as u64
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
        self.restored = self.restored.saturating_add(restored.len() as u32);
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
        self.failed += u64::from(oldest.as_ref().is_some_and(|open| !open.is_whole));
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
