//! A queue: how much may wait, and who is dropped.

use super::DropReason;
use super::codel::CoDel;
use super::config::{DirectionConfig, QueueLimit, QueueManagement};
use super::red::Red;
use crate::packets::PacketId;
use crate::rng::Keyed;
use baton_proto::time::{Duration, Instant};
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
    manager: Manager,
}

/// Who is dropped besides those who find the queue full.
#[derive(Debug)]
enum Manager {
    DropTail,
    Red(Box<Red>),
    CoDel(Box<CoDel>),
}

impl Queue {
    /// An empty queue without a manager.
    pub fn new(limit: QueueLimit) -> Queue {
        Queue {
            waiting: VecDeque::new(),
            bytes: 0,
            limit,
            manager: Manager::DropTail,
        }
    }

    /// Takes other parameters; a manager that stays keeps its state. `draws` decide on random drops by
    /// packet number.
    pub fn reconfigure(&mut self, config: &DirectionConfig, draws: Keyed) {
        self.limit = config.queue.limit;
        match (&mut self.manager, &config.queue.management) {
            (manager, QueueManagement::DropTail) => *manager = Manager::DropTail,
            (Manager::Red(red), QueueManagement::Red(config_of_red)) => {
                red.config = *config_of_red;
                red.packet_time = typical_time(config);
            }
            (manager, QueueManagement::Red(config_of_red)) => {
                let red = Red::new(*config_of_red, typical_time(config), draws);
                *manager = Manager::Red(Box::new(red));
            }
            (Manager::CoDel(codel), QueueManagement::CoDel(config)) => codel.config = *config,
            (manager, QueueManagement::CoDel(config)) => {
                *manager = Manager::CoDel(Box::new(CoDel::new(*config)));
            }
        }
    }

    /// Takes a packet in or says why not. `idle` is whether it need not wait: it will be dequeued at once,
    /// and the limit, which is one on waiting, does not concern it.
    pub fn enqueue(&mut self, now: Instant, item: Item, idle: bool) -> Result<(), DropReason> {
        let has_room = idle || self.has_room(item.length);
        if let Manager::Red(red) = &mut self.manager {
            if red.drops(now, item.number, self.waiting.len()) {
                return Err(DropReason::QueueManagement);
            }
            if !has_room {
                red.overflowed();
            }
        }
        if !has_room {
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

    /// Takes out the packet to be sent next; `drop` hears of those that the manager drops before it.
    pub fn dequeue(&mut self, now: Instant, mut drop: impl FnMut(PacketId)) -> Option<Item> {
        loop {
            let head = self.pop();
            match &mut self.manager {
                Manager::DropTail => return head,
                Manager::Red(red) => {
                    if head.is_none() {
                        red.idle(now);
                    }
                    return head;
                }
                Manager::CoDel(codel) => {
                    if !codel.drops(now, head.as_ref(), self.bytes) {
                        return head;
                    }
                }
            }
            if let Some(item) = head {
                drop(item.packet);
            }
        }
    }

    /// Whether the next dequeuing may drop packets.
    pub fn drops_at_dequeue(&self) -> bool {
        matches!(self.manager, Manager::CoDel(_)) && !self.waiting.is_empty()
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

/// Time that RED takes for a small packet's: 500 B, ns-2's mean packet size. Zero where the rate is zero.
fn typical_time(config: &DirectionConfig) -> Duration {
    let recorded = config.trace.as_ref().and_then(|trace| trace.mean_rate());
    recorded
        .unwrap_or(config.rate)
        .transmission_time(config.framing.bits(500))
        .unwrap_or(Duration::ZERO)
}
