//! Packets that paths have brought, on their way to the node: segments of a TCP connection that came together are joined.

use super::outer::{self, Outer};
use crate::medium::Received;
use baton_linux::offload::Coalescer;
use std::collections::VecDeque;

/// Packets for the node.
#[derive(Debug, Default)]
pub struct Arrivals {
    waiting: VecDeque<Received>,
    coalescer: Coalescer,
    /// The tunnel of the packets that are gathered.
    gathered: Option<Outer>,
}

impl Arrivals {
    /// Takes a packet that came through a tunnel, in a datagram with this byte of DSCP and ECN: after the last of those that came
    /// together, call [`flush`](Self::flush). Returns false for a packet that is dropped, as it would have to be marked and
    /// cannot.
    pub fn take(&mut self, outer: Outer, carried: u8, packet: &mut [u8]) -> bool {
        if !outer::take_mark(carried, packet) {
            return false;
        }
        if self.gathered != Some(outer) {
            self.flush();
            self.gathered = Some(outer);
        }
        let waiting = &mut self.waiting;
        self.coalescer.add(packet, &mut |bytes, segmentation| {
            waiting.push_back(outer.restore((bytes, segmentation)));
        });
        true
    }

    /// Lets the node have what was gathered.
    pub fn flush(&mut self) {
        let Some(outer) = self.gathered else {
            return;
        };
        let waiting = &mut self.waiting;
        self.coalescer.flush(&mut |bytes, segmentation| {
            waiting.push_back(outer.restore((bytes, segmentation)));
        });
    }

    /// Adds a packet of its own.
    pub fn push(&mut self, received: Received) {
        self.waiting.push_back(received);
    }

    /// Takes out the first packet.
    pub fn pop(&mut self) -> Option<Received> {
        self.waiting.pop_front()
    }

    /// Returns true if there is no packet.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}
