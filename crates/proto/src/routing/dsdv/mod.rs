//! DSDV: Destination-Sequenced Distance Vector routing (Perkins and Bhagwat, SIGCOMM 1994).
//!
//! Every node broadcasts its table from time to time, and changes at once. Each destination numbers its own routes with
//! even sequence numbers; a node that loses its next hop announces an infinite metric with the next odd number. A later
//! number wins, at equal numbers fewer hops. A new route is used at once, and advertised when it has probably settled:
//! after twice the average time by which the best route of a number has followed the first.
//!
//! The paper gives no intervals. The update interval, the weight of the average and the lifetime of a silent neighbour
//! are ns-3's; the settling time begins at zero, so that a node waits no longer than it has seen a need for. As in ns-3
//! an infinite metric is believed of the own next hop alone. No route, no buffer: the datagram is dropped.

mod table;
#[cfg(test)]
mod tests;

pub use table::{Entry, Metric};

use super::{Action, Datagram, DropReason, Frame, Router};
use crate::time::{Duration, Instant};
use core::net::Ipv4Addr;
use std::collections::{BTreeMap, VecDeque};
use table::{Advertised, Table};

/// Interval of full updates.
pub const UPDATE_INTERVAL: Duration = Duration::from_secs(15);
/// Silence after which a neighbour is gone: three updates.
pub const NEIGHBOUR_LIFETIME: Duration = Duration::from_secs(45);
/// Least time between triggered updates. Chosen, so that a change that many neighbours tell is passed on once.
pub const TRIGGER_INTERVAL: Duration = Duration::from_millis(100);

/// DSDV of one node.
#[derive(Debug)]
pub struct Dsdv<P> {
    table: Table,
    /// Neighbours, and the time after which they are gone.
    neighbours: BTreeMap<Ipv4Addr, Instant>,
    next_update: Instant,
    next_trigger: Instant,
    actions: VecDeque<Action<P>>,
}

impl<P> Dsdv<P> {
    /// Creates the router of a node that knows no other, with the sequence number of its first update at `begin`; an
    /// odd number counts as the one before.
    pub fn new(address: Ipv4Addr, sequence: u32, begin: Instant) -> Dsdv<P> {
        Dsdv {
            table: Table::new(address, sequence & !1),
            neighbours: BTreeMap::new(),
            next_update: begin,
            next_trigger: begin,
            actions: VecDeque::new(),
        }
    }

    /// Returns the entry of a destination.
    pub fn entry(&self, destination: Ipv4Addr) -> Option<&Entry> {
        self.table.get(destination)
    }

    fn broadcast(&mut self, entries: &[Advertised]) {
        let message = table::encode(entries);
        self.actions
            .push_back(Action::Send(Frame::broadcast(message)));
    }

    fn forward(&mut self, datagram: Datagram<P>) {
        let action = match self.table.next_hop(datagram.destination) {
            Some(next_hop) => Action::Send(Frame {
                receiver: Some(next_hop),
                message: Vec::new(),
                datagram: Some(datagram),
                is_damaged: false,
            }),
            None => Action::Drop(datagram, DropReason::NoRoute),
        };
        self.actions.push_back(action);
    }

    fn handle_datagram(&mut self, mut datagram: Datagram<P>) {
        if datagram.destination == self.table.address() {
            self.actions.push_back(Action::Deliver(datagram));
        } else if datagram.hop_limit <= 1 {
            self.actions
                .push_back(Action::Drop(datagram, DropReason::HopLimit));
        } else {
            datagram.hop_limit -= 1;
            self.forward(datagram);
        }
    }

    fn lose(&mut self, now: Instant, neighbour: Ipv4Addr) {
        self.neighbours.remove(&neighbour);
        self.table.break_link(now, neighbour);
    }

    /// Returns the time of the next triggered update, or never.
    fn trigger_at(&self) -> Instant {
        match self.table.next_change() {
            Instant::NEVER => Instant::NEVER,
            due => due.max(self.next_trigger),
        }
    }
}

impl<P: core::fmt::Debug> Router<P> for Dsdv<P> {
    fn send(&mut self, _: Instant, datagram: Datagram<P>) {
        self.forward(datagram);
    }

    fn handle_frame(&mut self, now: Instant, from: Ipv4Addr, frame: Frame<P>) {
        if let Some(datagram) = frame.datagram {
            return self.handle_datagram(datagram);
        }
        let Ok(entries) = table::decode(&frame.message) else {
            return;
        };
        self.neighbours.insert(from, now + NEIGHBOUR_LIFETIME);
        for entry in entries {
            self.table.learn(now, from, entry);
        }
    }

    fn handle_failure(&mut self, now: Instant, frame: Frame<P>) {
        if let Some(receiver) = frame.receiver {
            self.lose(now, receiver);
        }
        if let Some(datagram) = frame.datagram {
            self.forward(datagram);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        let silent = self.neighbours.iter().filter(|(_, until)| **until <= now);
        let silent: Vec<Ipv4Addr> = silent.map(|(&node, _)| node).collect();
        for neighbour in silent {
            self.lose(now, neighbour);
        }
        if self.next_update <= now {
            self.next_update = now + UPDATE_INTERVAL;
            let entries = self.table.full();
            self.broadcast(&entries);
        } else if self.trigger_at() <= now {
            let entries = self.table.changed(now);
            self.broadcast(&entries);
            self.next_trigger = now + TRIGGER_INTERVAL;
        }
    }

    fn next_deadline(&self) -> Instant {
        let neighbours = self.neighbours.values().min().copied();
        let neighbours = neighbours.unwrap_or(Instant::NEVER);
        self.next_update.min(self.trigger_at()).min(neighbours)
    }

    fn poll(&mut self) -> Option<Action<P>> {
        self.actions.pop_front()
    }
}
