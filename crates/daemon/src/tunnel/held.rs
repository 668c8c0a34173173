//! Packets that a router may not have: under way on a path that has died, or come since.

use std::collections::VecDeque;

/// Packets inside a tunnel, in the order in which they came, within a number of bytes.
#[derive(Debug, Default)]
pub struct Held {
    packets: VecDeque<Box<[u8]>>,
    bytes: usize,
}

impl Held {
    /// Adds a packet; returns the number of older ones that are given up for it.
    pub fn push(&mut self, packet: Box<[u8]>, most_bytes: usize) -> u64 {
        self.bytes += packet.len();
        self.packets.push_back(packet);
        let mut lost = 0;
        while self.bytes > most_bytes && self.pop().is_some() {
            lost += 1;
        }
        lost
    }

    /// Takes out the first packet.
    pub fn pop(&mut self) -> Option<Box<[u8]>> {
        let packet = self.packets.pop_front()?;
        self.bytes -= packet.len();
        Some(packet)
    }

    /// Returns the number of packets.
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    /// Returns true if there is no packet.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }
}

/// Copies of packets that are under way on a path, each with its number there.
#[derive(Debug, Default)]
pub struct UnderWay {
    copies: VecDeque<(u64, Box<[u8]>)>,
    bytes: usize,
}

impl UnderWay {
    /// Keeps a copy of a packet; of too many bytes the oldest copies are dropped, which most likely have arrived.
    pub fn push(&mut self, number: u64, packet: &[u8], most_bytes: usize) {
        self.bytes += packet.len();
        self.copies.push_back((number, packet.into()));
        while self.bytes > most_bytes && self.drop_first() {}
    }

    fn drop_first(&mut self) -> bool {
        let first = self.copies.pop_front();
        self.bytes -= first.as_ref().map_or(0, |(_, packet)| packet.len());
        first.is_some()
    }

    /// Drops the copies of packets with numbers below `up_to`, which have arrived or never will.
    pub fn receipted(&mut self, up_to: u64) {
        while self
            .copies
            .front()
            .is_some_and(|(number, _)| *number < up_to)
        {
            self.drop_first();
        }
    }

    /// Takes out all packets, in their order.
    pub fn take(&mut self) -> impl Iterator<Item = Box<[u8]>> {
        let copies = core::mem::take(self).copies;
        copies.into_iter().map(|(_, packet)| packet)
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
