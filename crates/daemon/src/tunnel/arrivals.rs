//! Received packets on their way from paths to the node: consecutive segments of a TCP connection are coalesced.

use super::outer::{self, Outer};
use crate::medium::Received;
use baton_linux::offload::Coalescer;
use std::collections::VecDeque;

/// Packets for the node.
#[derive(Debug, Default)]
pub struct Arrivals {
    waiting: VecDeque<Received>,
    coalescer: Coalescer,
    /// Tunnel of the segments being coalesced.
    gathered: Option<Outer>,
}

impl Arrivals {
    /// Takes in a packet from a tunnel, in a datagram with this byte of DSCP and ECN. After the last packet that
    /// arrived together with others, call [`flush`](Self::flush). Returns false for a dropped packet: it needed a
    /// congestion mark that its sender does not support.
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

    /// Releases the coalesced packets to the node.
    pub fn flush(&mut self) {
        let Some(outer) = self.gathered else {
            return;
        };
        let waiting = &mut self.waiting;
        self.coalescer.flush(&mut |bytes, segmentation| {
            waiting.push_back(outer.restore((bytes, segmentation)));
        });
    }

    /// Appends a packet without coalescing.
    pub fn push(&mut self, received: Received) {
        self.waiting.push_back(received);
    }

    /// Removes and returns the first packet.
    pub fn pop(&mut self) -> Option<Received> {
        self.waiting.pop_front()
    }

    /// Returns true if no packet waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}
