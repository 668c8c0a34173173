//! FQ-CoDel: flows have separate queues, which are served in turn by bytes and each managed by CoDel (RFC 8290).

use super::codel::{CoDel, ControlLaw};
use super::fifo::{Fifo, Manager};
use super::{
    Arrival, Class, Discipline, Dropped, Item, Management, Refusal, Settings, Site, Waiting,
};
use crate::rng::Keyed;
use crate::scenario::units::{PositiveTime, Size};
use baton_proto::time::{Duration, Instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// Most packets that an overflow drops from the longest queue at once (RFC 8290 section 4.1).
const DROP_BATCH: usize = 64;

/// A queue for each flow, served in turn by bytes, with CoDel in each (RFC 8290); a full queue drops from the head of the longest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FqCodel {
    /// Number of queues, among which flows are distributed by a hash of addresses, protocol and ports.
    #[schemars(range(min = 1, max = 65_536))]
    pub flows: u32,
    /// Bytes that a queue may send in its turn.
    pub quantum: Size,
    /// Acceptable standing delay in a queue.
    pub target: PositiveTime,
    /// Time in which an excess must persist.
    pub interval: PositiveTime,
}

/// RFC 8290, sections 5.2.1 to 5.2.4.
impl Default for FqCodel {
    fn default() -> FqCodel {
        FqCodel {
            flows: 1024,
            quantum: Size(1514),
            target: PositiveTime(Duration::from_millis(5)),
            interval: PositiveTime(Duration::from_millis(100)),
        }
    }
}

impl FqCodel {
    fn codel(&self) -> CoDel {
        CoDel {
            target: self.target,
            interval: self.interval,
        }
    }

    fn quantum(&self) -> i64 {
        i64::try_from(self.quantum.0).unwrap_or(i64::MAX)
    }
}

impl Settings for FqCodel {
    const KEEPS_ORDER: bool = false;

    fn check(&self, wrong: &mut dyn FnMut(&str, String)) {
        if self.quantum.0 == 0 {
            let message = "0 B lets no queue send; expected a size above 0";
            wrong("quantum", message.to_owned());
        }
    }

    fn build(&self, site: &Site) -> Box<dyn Discipline> {
        Box::new(FlowQueues {
            settings: *self,
            draws: site.draws,
            foremost: Fifo::default(),
            queues: BTreeMap::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            packets: 0,
            bytes: 0,
        })
    }
}

/// Queues of flows. A queue with packets, or with CoDel state, is listed once, as new or as old.
#[derive(Debug)]
struct FlowQueues {
    settings: FqCodel,
    draws: Keyed,
    /// Returned packets, which go before all others.
    foremost: Fifo,
    /// Queues used so far, by number.
    queues: BTreeMap<u32, FlowQueue>,
    /// Queues that have become active since their last service.
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    /// Packets in the queues.
    packets: usize,
    /// Bytes in the queues.
    bytes: u64,
}

/// Queue of the flows with one hash.
#[derive(Debug)]
struct FlowQueue {
    fifo: Fifo,
    /// Hash of one of its flows, by which packets taken out return here.
    flow_hash: u32,
    law: ControlLaw,
    /// Bytes that it may still send in its turn.
    credits: i64,
    is_listed: bool,
}

impl FlowQueues {
    /// Returns the number of a flow's queue: the hash is perturbed by the seed (RFC 8290 section 5.2.5).
    fn place(&self, flow_hash: u32) -> u32 {
        let share = self.draws.uniform(u64::from(flow_hash));
        (share * f64::from(self.settings.flows)) as u32
    }

    fn push(&mut self, item: Item, flow_hash: u32) {
        let place = self.place(flow_hash);
        let (codel, quantum) = (self.settings.codel(), self.settings.quantum());
        let queue = self.queues.entry(place).or_insert_with(|| FlowQueue {
            fifo: Fifo::default(),
            flow_hash,
            law: ControlLaw::new(codel),
            credits: 0,
            is_listed: false,
        });
        queue.fifo.push(item);
        if !queue.is_listed {
            queue.is_listed = true;
            queue.credits = quantum;
            self.new.push_back(place);
        }
        self.packets += 1;
        self.bytes += u64::from(item.length);
    }

    /// Drops from the head of the queue with the most bytes: half of its packets, at most 64, and at least one.
    fn drop_from_longest(&mut self, dropped: &mut Vec<Dropped>) {
        let longest = self
            .queues
            .values_mut()
            .max_by_key(|queue| queue.fifo.waiting().1);
        let Some(queue) = longest else { return };
        let half = (queue.fifo.waiting().0 / 2).clamp(1, DROP_BATCH);
        for item in (0..half).map_while(|_| queue.fifo.pop()) {
            self.packets -= 1;
            self.bytes -= u64::from(item.length);
            dropped.push(Dropped {
                packet: item.packet,
                why: Refusal::Full,
            });
        }
    }

    /// Returns the next packet in turn and its hash (RFC 8290 section 4.2). With `dropped` CoDel judges the heads of
    /// queues.
    fn next(
        &mut self,
        now: Instant,
        mut dropped: Option<&mut Vec<Dropped>>,
    ) -> Option<(Item, u32)> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let place = *list.front()?;
            let queue = self.queues.get_mut(&place)?;
            if queue.credits <= 0 {
                queue.credits = queue.credits.saturating_add(self.settings.quantum());
                list.pop_front();
                self.old.push_back(place);
                continue;
            }
            let before = queue.fifo.waiting();
            let item = match &mut dropped {
                Some(dropped) => queue.law.dequeue(now, &mut queue.fifo, dropped),
                None => queue.fifo.pop(),
            };
            let after = queue.fifo.waiting();
            self.packets -= before.0 - after.0;
            self.bytes -= before.1 - after.1;
            if let Some(item) = item {
                queue.credits -= i64::from(item.length);
                return Some((item, queue.flow_hash));
            }
            list.pop_front();
            // A new queue passes through the old ones once, so that it cannot be new again at once.
            if is_new {
                self.old.push_back(place);
            } else {
                queue.is_listed = false;
            }
        }
    }
}

impl Discipline for FlowQueues {
    fn enqueue(&mut self, arrival: &Arrival, dropped: &mut Vec<Dropped>) -> Result<(), Refusal> {
        self.push(arrival.item, arrival.class.flow_hash);
        let limit = arrival.limit;
        let mut has_room = arrival.has_room;
        while !has_room && self.packets > 0 {
            self.drop_from_longest(dropped);
            let (packets, bytes) = self.waiting();
            // At most the limit: with one packet less there is room for a packet without bytes.
            has_room = limit.has_room(packets.saturating_sub(1), bytes, 0);
        }
        Ok(())
    }

    fn dequeue(&mut self, now: Instant, dropped: &mut Vec<Dropped>) -> Option<Item> {
        let first = self.foremost.pop();
        first.or_else(|| Some(self.next(now, Some(dropped))?.0))
    }

    fn put_back(&mut self, item: Item) {
        self.foremost.put_back(item);
    }

    fn waiting(&self) -> (usize, u64) {
        let (packets, bytes) = self.foremost.waiting();
        (packets + self.packets, bytes + self.bytes)
    }

    fn unload(&mut self) -> Vec<Waiting> {
        let mut all = self.foremost.unload();
        while let Some((item, flow_hash)) = self.next(Instant::ZERO, None) {
            let class = Some(Class {
                precedence: 0,
                flow_hash,
            });
            all.push(Waiting { item, class });
        }
        all
    }

    fn restore(&mut self, waiting: Vec<Waiting>) {
        for Waiting { item, class } in waiting {
            match class {
                None => self.foremost.push(item),
                Some(class) => self.push(item, class.flow_hash),
            }
        }
    }

    fn reconfigure(&mut self, management: &Management, _: &Site) -> bool {
        let Management::FqCodel(settings) = management else {
            return false;
        };
        // Flows would be in other queues.
        if settings.flows != self.settings.flows {
            return false;
        }
        self.settings = *settings;
        for queue in self.queues.values_mut() {
            queue.law.settings = settings.codel();
        }
        true
    }

    fn drops_at_dequeue(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
