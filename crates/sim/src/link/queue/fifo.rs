//! Queues in order of arrival, for disciplines that only choose what to drop.

use super::{Arrival, Discipline, Dropped, Item, Management, Refusal, Site, Waiting};
use baton_proto::time::Instant;
use core::fmt::Debug;
use std::collections::VecDeque;

/// Packets in order of arrival, and their bytes.
#[derive(Debug, Default)]
pub(super) struct Fifo {
    items: VecDeque<Item>,
    bytes: u64,
}

impl Fifo {
    pub fn push(&mut self, item: Item) {
        self.bytes += u64::from(item.length);
        self.items.push_back(item);
    }

    pub fn pop(&mut self) -> Option<Item> {
        let item = self.items.pop_front()?;
        self.bytes -= u64::from(item.length);
        Some(item)
    }

    /// Takes out the newest packet.
    pub fn pop_back(&mut self) -> Option<Item> {
        let item = self.items.pop_back()?;
        self.bytes -= u64::from(item.length);
        Some(item)
    }

    pub fn put_back(&mut self, item: Item) {
        self.bytes += u64::from(item.length);
        self.items.push_front(item);
    }

    /// Returns the packets, the oldest first.
    pub fn items(&self) -> impl DoubleEndedIterator<Item = &Item> {
        self.items.iter()
    }

    /// Returns the number of packets and of bytes.
    pub fn waiting(&self) -> (usize, u64) {
        (self.items.len(), self.bytes)
    }

    pub fn unload(&mut self) -> Vec<Waiting> {
        self.bytes = 0;
        let unclassed = |item| Waiting { item, class: None };
        self.items.drain(..).map(unclassed).collect()
    }

    pub fn restore(&mut self, waiting: Vec<Waiting>) {
        waiting.into_iter().for_each(|one| self.push(one.item));
    }
}

/// Choice of the packets that a queue in order of arrival drops.
pub(super) trait Manager: Debug + Send {
    /// True if it may drop waiting packets when the one before them has left.
    const DROPS_AT_DEQUEUE: bool = false;

    /// Decides whether to refuse an arrival; an accepted one has room.
    fn judge(&mut self, arrival: &Arrival, fifo: &Fifo) -> Result<(), Refusal>;

    /// Takes out the next packet to serve, at `now`, and those to drop before it.
    fn dequeue(
        &mut self,
        now: Instant,
        fifo: &mut Fifo,
        dropped: &mut Vec<Dropped>,
    ) -> Option<Item>;

    /// Takes other settings and keeps its state, if they are of the same discipline; otherwise returns false.
    fn reconfigure(&mut self, management: &Management, site: &Site) -> bool;
}

/// A queue in order of arrival and its manager.
#[derive(Debug)]
pub(super) struct Managed<M> {
    fifo: Fifo,
    manager: M,
}

impl<M> Managed<M> {
    /// Returns an empty queue.
    pub fn new(manager: M) -> Managed<M> {
        let fifo = Fifo::default();
        Managed { fifo, manager }
    }
}

impl<M: Manager> Discipline for Managed<M> {
    fn enqueue(&mut self, arrival: &Arrival, _: &mut Vec<Dropped>) -> Result<(), Refusal> {
        self.manager.judge(arrival, &self.fifo)?;
        self.fifo.push(arrival.item);
        Ok(())
    }

    fn dequeue(&mut self, now: Instant, dropped: &mut Vec<Dropped>) -> Option<Item> {
        self.manager.dequeue(now, &mut self.fifo, dropped)
    }

    fn put_back(&mut self, item: Item) {
        self.fifo.put_back(item);
    }

    fn waiting(&self) -> (usize, u64) {
        self.fifo.waiting()
    }

    fn unload(&mut self) -> Vec<Waiting> {
        self.fifo.unload()
    }

    fn restore(&mut self, waiting: Vec<Waiting>) {
        self.fifo.restore(waiting);
    }

    fn reconfigure(&mut self, management: &Management, site: &Site) -> bool {
        self.manager.reconfigure(management, site)
    }

    fn drops_at_dequeue(&self) -> bool {
        M::DROPS_AT_DEQUEUE
    }
}
