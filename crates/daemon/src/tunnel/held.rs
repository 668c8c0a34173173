//! Packets that a router may lack: in flight on a path that has died, or arrived since.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// Maximum size of a path's packets of which copies are kept, in bytes: 100 Mbit/s for 80 ms (chosen).
pub const MOST_UNDER_WAY: usize = 1 << 20;

/// Packets inside a tunnel, in the order of arrival, bounded in bytes.
#[derive(Debug, Default)]
pub struct Held {
    packets: VecDeque<Box<[u8]>>,
    bytes: usize,
}

impl Held {
    /// Adds a packet; returns the number of older packets dropped to make room.
    pub fn push(&mut self, packet: Box<[u8]>, most_bytes: usize) -> u64 {
        self.bytes += packet.len();
        self.packets.push_back(packet);
        let mut lost = 0;
        while self.bytes > most_bytes && self.pop().is_some() {
            lost += 1;
        }
        lost
    }

    /// Removes and returns the first packet.
    pub fn pop(&mut self) -> Option<Box<[u8]>> {
        let packet = self.packets.pop_front()?;
        self.bytes -= packet.len();
        Some(packet)
    }

    /// Returns the number of packets.
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    /// Returns true if no packet is held.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }
}

impl IntoIterator for Held {
    type Item = Box<[u8]>;
    type IntoIter = std::collections::vec_deque::IntoIter<Box<[u8]>>;

    fn into_iter(self) -> Self::IntoIter {
        self.packets.into_iter()
    }
}

/// Copies of packets in flight on a path, each with its number there.
#[derive(Debug, Default)]
pub struct UnderWay {
    /// Number and length of each packet.
    packets: VecDeque<(u64, usize)>,
    /// The packets, back to back, so that a copy needs no allocation.
    bytes: VecDeque<u8>,
}

impl UnderWay {
    /// Keeps a copy of a packet; beyond the limit, drops the oldest copies, whose packets have most likely arrived.
    pub fn push(&mut self, number: u64, packet: &[u8], most_bytes: usize) {
        self.packets.push_back((number, packet.len()));
        self.bytes.extend(packet);
        while self.bytes.len() > most_bytes && self.drop_first() {}
    }

    fn drop_first(&mut self) -> bool {
        let first = self.packets.pop_front();
        self.bytes.drain(..first.map_or(0, |(_, length)| length));
        first.is_some()
    }

    /// Returns the bytes of all packets.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the number of packets.
    pub fn packets(&self) -> usize {
        self.packets.len()
    }

    /// Drops the copies of packets with numbers below `up_to`, which have arrived or are lost.
    pub fn receipted(&mut self, up_to: u64) {
        while self
            .packets
            .front()
            .is_some_and(|(number, _)| *number < up_to)
        {
            self.drop_first();
        }
    }

    /// Removes and returns all packets, in order.
    pub fn take(&mut self) -> impl Iterator<Item = Box<[u8]>> {
        let UnderWay { packets, mut bytes } = core::mem::take(self);
        packets
            .into_iter()
            .map(move |(_, length)| bytes.drain(..length).collect())
    }
}

/// Packets that were in flight on an uplink when it died, for the uplink that the router uses next.
#[derive(Clone, Debug, Default)]
pub struct Stranded(Arc<Mutex<Held>>);

impl Stranded {
    /// Adds packets, in order; returns the number of older packets dropped to make room.
    pub fn put(&self, packets: impl Iterator<Item = Box<[u8]>>) -> u64 {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        packets
            .map(|packet| held.push(packet, MOST_UNDER_WAY))
            .sum()
    }

    /// Removes and returns all packets.
    pub fn take(&self) -> Held {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        core::mem::take(&mut held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_packets_are_held_within_the_bytes() {
        let mut held = Held::default();
        assert_eq!(held.push(vec![1; 60].into(), 100), 0);
        assert_eq!(held.push(vec![2; 40].into(), 100), 0);
        assert_eq!(held.push(vec![3; 50].into(), 100), 1);
        assert_eq!(held.len(), 2);
        assert_eq!(held.pop().unwrap()[0], 2);
        assert_eq!(held.pop().unwrap()[0], 3);
        assert!(held.is_empty() && held.pop().is_none());
    }

    #[test]
    fn a_receipt_ends_the_care_for_what_went_before() {
        let mut under_way = UnderWay::default();
        for number in [4, 5, 9] {
            under_way.push(number, &[number as u8; 10], 1000);
        }
        under_way.receipted(6);
        under_way.receipted(2);
        let left: Vec<u8> = under_way.take().map(|packet| packet[0]).collect();
        assert_eq!(left, [9]);
        assert_eq!(under_way.take().count(), 0);
    }
}
