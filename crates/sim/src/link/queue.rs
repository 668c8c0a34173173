//! A queue: how much may wait, and who is dropped.

use super::DropReason;
use super::config::{QueueConfig, QueueLimit};
use crate::packets::PacketId;
use baton_proto::time::Instant;
use std::collections::VecDeque;

/// A packet that a link holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub packet: PacketId,
    /// Bytes of the IP packet.
    pub length: u32,
    /// How many packets were offered before it in its direction: the key of its random draws.
    pub number: u64,
    /// When it was offered.
    pub offered_at: Instant,
}

/// The packets that wait in one direction.
#[derive(Debug)]
pub(super) struct Queue {
    waiting: VecDeque<Item>,
    bytes: u64,
    limit: QueueLimit,
}

impl Queue {
    pub fn new(config: &QueueConfig) -> Queue {
        Queue {
            waiting: VecDeque::new(),
            bytes: 0,
            limit: config.limit,
        }
    }

    pub fn reconfigure(&mut self, config: &QueueConfig) {
        self.limit = config.limit;
    }

    /// Takes a packet in or says why not. `idle` is whether it need not wait: it will be dequeued at once,
    /// and the limit, which is one on waiting, does not concern it.
    pub fn enqueue(&mut self, item: Item, idle: bool) -> Result<(), DropReason> {
        if !idle && !self.has_room(item.length) {
            return Err(DropReason::QueueFull);
        }
        self.bytes += u64::from(item.length);
        self.waiting.push_back(item);
        Ok(())
    }

    fn has_room(&self, length: u32) -> bool {
        match self.limit {
            QueueLimit::Packets(limit) => self.waiting.len() < limit as usize,
            QueueLimit::Bytes(limit) => self.bytes + u64::from(length) <= limit,
        }
    }

    /// Takes out the packet to be sent next.
    pub fn dequeue(&mut self, _now: Instant) -> Option<Item> {
        self.pop()
    }

    /// Takes out the head of the queue, whatever the manager says.
    pub fn pop(&mut self) -> Option<Item> {
        let item = self.waiting.pop_front()?;
        self.bytes -= u64::from(item.length);
        Some(item)
    }

    /// Puts a packet back at the head, whatever the limit.
    pub fn put_back(&mut self, item: Item) {
        self.bytes += u64::from(item.length);
        self.waiting.push_front(item);
    }

    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}
