//! A network of routers for tests: nodes that hear each other or not, and frames that take a millisecond.

use super::{Action, Datagram, DropReason, Frame, HOP_LIMIT, Router};
use crate::time::{Duration, Instant};
use core::net::Ipv4Addr;
use std::collections::BTreeSet;

/// Time that a frame takes.
pub const HOP: Duration = Duration::from_millis(1);

/// Routers of nodes 0, 1, and so on, and the links between them.
#[derive(Debug)]
pub struct Lab<R> {
    pub routers: Vec<R>,
    pub links: BTreeSet<(usize, usize)>,
    pub now: Instant,
    /// Frames on the air, in order of time.
    air: Vec<(Instant, usize, Frame<u32>)>,
    /// Bodies of the delivered datagrams, with the node and the hops left.
    pub delivered: Vec<(usize, u32, u8)>,
    pub dropped: Vec<(usize, u32, DropReason)>,
    /// Routing messages sent, each with its node and time.
    pub messages: Vec<(Instant, usize, Vec<u8>)>,
}

/// Returns the address of a node.
pub fn address(node: usize) -> Ipv4Addr {
    Ipv4Addr::from_bits(0x0a00_0001 + node as u32)
}

/// Returns the node of an address.
pub fn node(address: Ipv4Addr) -> usize {
    (address.to_bits() - 0x0a00_0001) as usize
}

impl<R: Router<u32>> Lab<R> {
    pub fn new(routers: Vec<R>) -> Lab<R> {
        Lab {
            routers,
            links: BTreeSet::new(),
            now: Instant::ZERO,
            air: Vec::new(),
            delivered: Vec::new(),
            dropped: Vec::new(),
            messages: Vec::new(),
        }
    }

    /// Lets two nodes hear each other, or no longer.
    pub fn link(&mut self, a: usize, b: usize, is_up: bool) {
        for pair in [(a, b), (b, a)] {
            if is_up {
                self.links.insert(pair);
            } else {
                self.links.remove(&pair);
            }
        }
    }

    pub fn send(&mut self, from: usize, to: usize, body: u32) {
        let datagram = Datagram {
            source: address(from),
            destination: address(to),
            hop_limit: HOP_LIMIT,
            congestion: false,
            corruption: false,
            translated: None,
            body,
        };
        self.routers[from].send(self.now, datagram);
        self.collect(from);
    }

    /// Runs until a moment, and calls `check` after every event.
    pub fn run_checked(&mut self, until: Instant, mut check: impl FnMut(&Lab<R>)) {
        loop {
            let timers = self.routers.iter().map(Router::next_deadline);
            let (index, deadline) = timers
                .enumerate()
                .min_by_key(|&(_, at)| at)
                .unwrap_or((0, Instant::NEVER));
            let arrival = self.air.first().map_or(Instant::NEVER, |(at, ..)| *at);
            let next = deadline.min(arrival);
            if next > until {
                self.now = until;
                return;
            }
            self.now = self.now.max(next);
            if arrival <= deadline {
                let (_, from, frame) = self.air.remove(0);
                self.arrive(from, frame);
            } else {
                self.routers[index].handle_timeout(self.now);
                self.collect(index);
            }
            check(self);
        }
    }

    pub fn run(&mut self, until: Instant) {
        self.run_checked(until, |_| {});
    }

    fn arrive(&mut self, from: usize, frame: Frame<u32>) {
        let hearers: Vec<usize> = (0..self.routers.len())
            .filter(|&to| self.links.contains(&(from, to)))
            .collect();
        if let Some(receiver) = frame.receiver {
            if hearers.contains(&node(receiver)) {
                self.routers[node(receiver)].handle_frame(self.now, address(from), frame);
                self.collect(node(receiver));
            } else {
                self.routers[from].handle_failure(self.now, frame);
                self.collect(from);
            }
            return;
        }
        for to in hearers {
            self.routers[to].handle_frame(self.now, address(from), frame.clone());
            self.collect(to);
        }
    }

    fn collect(&mut self, node: usize) {
        while let Some(action) = self.routers[node].poll() {
            match action {
                Action::Send(frame) => {
                    if frame.datagram.is_none() {
                        self.messages.push((self.now, node, frame.message.clone()));
                    }
                    self.air.push((self.now + HOP, node, frame));
                }
                Action::Deliver(datagram) => {
                    self.delivered
                        .push((node, datagram.body, datagram.hop_limit));
                }
                Action::Drop(datagram, reason) => self.dropped.push((node, datagram.body, reason)),
            }
        }
    }
}

/// Fails if a chain of next hops to any destination comes back to one of its nodes.
pub fn assert_no_loop(nodes: usize, next_hop: impl Fn(usize, Ipv4Addr) -> Option<Ipv4Addr>) {
    for destination in 0..nodes {
        for start in (0..nodes).filter(|&start| start != destination) {
            let mut chain = vec![start];
            let mut here = start;
            while let Some(next) = next_hop(here, address(destination)) {
                here = node(next);
                if here == destination {
                    break;
                }
                assert!(
                    !chain.contains(&here),
                    "loop to {destination}: {chain:?} and {here}"
                );
                chain.push(here);
            }
        }
    }
}
