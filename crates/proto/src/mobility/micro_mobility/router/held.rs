//! Packets that reach a base station after their mobile has left.

use crate::mobility::buffering::{BufferCounts, BufferPolicy, Held, Overflow, PacketBuffer};
use crate::packet::Packet;
use crate::time::{Duration, Instant};
use core::net::Ipv4Addr;
use std::collections::{BTreeMap, VecDeque};

/// Buffers for the mobiles whose links are down, each of the same size.
#[derive(Debug)]
pub(super) struct HeldPackets {
    policy: BufferPolicy,
    buffers: BTreeMap<Ipv4Addr, PacketBuffer>,
    /// Counters of buffers that are no more.
    counts: BufferCounts,
    told: VecDeque<Held>,
}

impl HeldPackets {
    /// Creates buffers of so many bytes; zero holds nothing.
    pub fn new(bytes: u32) -> HeldPackets {
        HeldPackets {
            policy: BufferPolicy {
                bytes,
                // They end with the mobile's entry.
                age: Duration::MAX,
                overflow: Overflow::DropNewest,
                pace: None,
                drop_duplicates: true,
            },
            buffers: BTreeMap::new(),
            counts: BufferCounts::default(),
            told: VecDeque::new(),
        }
    }

    /// Begins to hold a mobile's packets.
    pub fn begin(&mut self, mobile: Ipv4Addr) {
        if self.policy.bytes > 0 {
            let policy = self.policy;
            let empty = || PacketBuffer::new(policy);
            self.buffers.entry(mobile).or_insert_with(empty);
        }
    }

    /// Takes in a packet of a mobile whose packets are held; returns any other.
    pub fn take(&mut self, now: Instant, mobile: Ipv4Addr, packet: Packet) -> Option<Packet> {
        let Some(buffer) = self.buffers.get_mut(&mobile) else {
            return Some(packet);
        };
        buffer.push(now, packet);
        self.told.extend(buffer.take_told());
        None
    }

    /// Ends the holding of a mobile's packets, and returns them, oldest first.
    pub fn release(&mut self, now: Instant, mobile: Ipv4Addr) -> Vec<Packet> {
        let Some(mut buffer) = self.buffers.remove(&mobile) else {
            return Vec::new();
        };
        let packets = buffer.release_all(now).collect();
        self.counts.add(buffer.counts());
        packets
    }

    /// Drops a mobile's packets.
    pub fn drop_all(&mut self, mobile: Ipv4Addr) {
        if let Some(mut buffer) = self.buffers.remove(&mobile) {
            buffer.drop_all();
            self.told.extend(buffer.take_told());
            self.counts.add(buffer.counts());
        }
    }

    /// Returns the next report of a packet taken in or dropped.
    pub fn poll_told(&mut self) -> Option<Held> {
        crate::mobility::pop(&mut self.told)
    }

    /// Returns the counters of all buffers so far.
    pub fn counts(&self) -> BufferCounts {
        let mut all = self.counts;
        for buffer in self.buffers.values() {
            all.add(buffer.counts());
        }
        all
    }
}
