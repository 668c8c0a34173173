//! A queue: how much may wait, who is dropped, and who is served first.

use super::codel::CoDel;
use super::config::{DirectionConfig, QueueLimit, QueueManagement};
use super::priority::Priority;
use super::red::Red;
use crate::packets::PacketId;
use crate::rng::Keyed;
use baton_proto::time::{Duration, Instant};

/// A packet that comes to a queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offered {
    pub packet: PacketId,
    /// Bytes of the IP packet.
    pub length: u32,
    /// 0 to 7, the highest first; only a priority queue asks.
    pub precedence: u8,
}

/// A packet that a link holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub packet: PacketId,
    /// Bytes of the IP packet.
    pub length: u32,
    /// Number of packets offered before it in its direction: the key of its random draws.
    pub number: u64,
    /// Time at which it was offered.
    pub offered_at: Instant,
}

impl QueueLimit {
    /// Returns true if one more packet of `length` bytes may wait beside so many packets and bytes.
    #[inline]
    pub(super) fn has_room(self, packets: usize, bytes: u64, length: u32) -> bool {
        match self {
            QueueLimit::Packets(limit) => packets < limit as usize,
            QueueLimit::Bytes(limit) => bytes + u64::from(length) <= limit,
        }
    }
}

/// Choice of packets to drop besides those that find the queue full, and order of service.
#[derive(Debug)]
pub(super) enum Manager {
    DropTail,
    Red(Box<Red>),
    CoDel(Box<CoDel>),
    Priority(Box<Priority>),
}

impl Manager {
    /// Takes other parameters while so many wait; a manager that stays keeps its state. `draws` decide on random drops
    /// by packet number.
    pub fn reconfigure(&mut self, config: &DirectionConfig, draws: Keyed, waiting: usize) {
        match (self, &config.queue.management) {
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
            (Manager::Priority(_), QueueManagement::Priority) => {}
            (manager, QueueManagement::Priority) => {
                *manager = Manager::Priority(Box::new(Priority::new(waiting)));
            }
        }
    }

    /// Decides whether to drop packet `number`, which comes while so many wait and there is room for it or not.
    pub fn refuses(&mut self, now: Instant, number: u64, waiting: usize, has_room: bool) -> bool {
        let Manager::Red(red) = self else {
            return false;
        };
        if red.drops(now, number, waiting) {
            return true;
        }
        if !has_room {
            red.overflowed();
        }
        false
    }

    /// Judges the head of the queue, which is to be served at `now` and leaves `bytes` behind it: whether to
    /// drop it and judge the next. To be called with `None` when nothing waits.
    pub fn drops_head(&mut self, now: Instant, head: Option<&Item>, bytes: u64) -> bool {
        match self {
            Manager::DropTail | Manager::Priority(_) => false,
            Manager::Red(red) => {
                if head.is_none() {
                    red.idle(now);
                }
                false
            }
            Manager::CoDel(codel) => codel.drops(now, head, bytes) && head.is_some(),
        }
    }

    /// Its numbers of who waits, if it serves by precedence.
    pub fn priority(&mut self) -> Option<&mut Priority> {
        match self {
            Manager::Priority(priority) => Some(priority),
            Manager::DropTail | Manager::Red(_) | Manager::CoDel(_) => None,
        }
    }

    /// Returns true if it may drop packets that have waited, when the one before them has left.
    pub fn drops_at_dequeue(&self) -> bool {
        matches!(self, Manager::CoDel(_))
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
