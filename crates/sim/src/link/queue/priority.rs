//! Strict priority: waiting packets are served by precedence, in order of arrival among equals.

use super::fifo::Fifo;
use super::{Arrival, Discipline, Dropped, Item, Management, Refusal, Settings, Site, Waiting};
use super::{Class, QueueLimit};
use baton_proto::time::Instant;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Precedences: the first three bits of the traffic class (RFC 2474 section 4.2.2).
const PRECEDENCES: usize = 8;

/// By the first three bits of the code point, the highest first; a full queue drops the youngest of the lowest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Priority {}

impl Settings for Priority {
    const KEEPS_ORDER: bool = false;

    fn build(&self, _: &Site) -> Box<dyn Discipline> {
        Box::new(PriorityQueue::default())
    }
}

/// Waiting packets by precedence.
#[derive(Debug, Default)]
struct PriorityQueue {
    /// Returned packets, which go before all others.
    foremost: Fifo,
    by_precedence: [Fifo; PRECEDENCES],
}

impl PriorityQueue {
    /// Returns the queues in the order of service.
    fn in_order(&mut self) -> impl Iterator<Item = (Option<Class>, &mut Fifo)> {
        let class = |precedence: usize| Class {
            precedence: precedence as u8,
            flow_hash: 0,
        };
        let classed = self.by_precedence.iter_mut().enumerate().rev();
        let classed = classed.map(move |(precedence, fifo)| (Some(class(precedence)), fifo));
        core::iter::once((None, &mut self.foremost)).chain(classed)
    }

    /// Drops the last waiting packets of lower precedence until the new packet has room; drops none if that would not
    /// suffice. Returns true if there is room now.
    fn push_out(&mut self, arrival: &Arrival, dropped: &mut Vec<Dropped>) -> bool {
        let (mut packets, mut bytes) = self.waiting();
        let has_room =
            |limit: QueueLimit, packets, bytes| limit.has_room(packets, bytes, arrival.item.length);
        let lower = &mut self.by_precedence[..level(arrival.class)];
        let mut out = 0;
        for item in lower.iter().flat_map(|fifo| fifo.items().rev()) {
            packets -= 1;
            bytes -= u64::from(item.length);
            out += 1;
            if has_room(arrival.limit, packets, bytes) {
                break;
            }
        }
        if !has_room(arrival.limit, packets, bytes) {
            return false;
        }
        for fifo in lower {
            while out > 0
                && let Some(item) = fifo.pop_back()
            {
                out -= 1;
                dropped.push(Dropped {
                    packet: item.packet,
                    why: Refusal::Full,
                });
            }
        }
        true
    }
}

impl Discipline for PriorityQueue {
    fn enqueue(&mut self, arrival: &Arrival, dropped: &mut Vec<Dropped>) -> Result<(), Refusal> {
        if !arrival.has_room && !self.push_out(arrival, dropped) {
            return Err(Refusal::Full);
        }
        self.by_precedence[level(arrival.class)].push(arrival.item);
        Ok(())
    }

    fn dequeue(&mut self, _: Instant, _: &mut Vec<Dropped>) -> Option<Item> {
        self.in_order().find_map(|(_, fifo)| fifo.pop())
    }

    fn put_back(&mut self, item: Item) {
        self.foremost.put_back(item);
    }

    fn waiting(&self) -> (usize, u64) {
        let all = self.by_precedence.iter().map(Fifo::waiting);
        all.fold(self.foremost.waiting(), |(packets, bytes), more| {
            (packets + more.0, bytes + more.1)
        })
    }

    fn unload(&mut self) -> Vec<Waiting> {
        let mut all = Vec::new();
        for (class, fifo) in self.in_order() {
            let unloaded = fifo.unload().into_iter();
            all.extend(unloaded.map(|waiting| Waiting { class, ..waiting }));
        }
        all
    }

    fn restore(&mut self, waiting: Vec<Waiting>) {
        for Waiting { item, class } in waiting {
            match class {
                None => self.foremost.push(item),
                Some(class) => self.by_precedence[level(class)].push(item),
            }
        }
    }

    fn reconfigure(&mut self, management: &Management, _: &Site) -> bool {
        matches!(management, Management::Priority(_))
    }
}

fn level(class: Class) -> usize {
    usize::from(class.precedence).min(PRECEDENCES - 1)
}
