//! DSDV's table and its message: entries of 12 B, each an address, a metric and a sequence number of 4 B.

use crate::time::{Duration, Instant};
use crate::wire::{DecodeError, u32_at};
use core::net::Ipv4Addr;
use std::collections::BTreeMap;

const NAME: &str = "DSDV";
const ENTRY: usize = 12;
/// Infinite metric on the wire.
const INFINITY: u32 = u32::MAX;

/// Hops to a destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Metric {
    /// So many hops.
    Hops(u32),
    /// Out of reach.
    Infinite,
}

/// Entry of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advertised {
    pub destination: Ipv4Addr,
    pub metric: Metric,
    pub sequence: u32,
}

/// Returns the message with these entries.
pub fn encode(entries: &[Advertised]) -> Vec<u8> {
    let words = |entry: &Advertised| {
        let metric = match entry.metric {
            Metric::Hops(hops) => hops,
            Metric::Infinite => INFINITY,
        };
        [entry.destination.to_bits(), metric, entry.sequence]
    };
    let words = entries.iter().flat_map(words);
    words.flat_map(u32::to_be_bytes).collect()
}

/// Decodes a message.
///
/// # Errors
/// A length that is not a multiple of 12 B.
pub fn decode(bytes: &[u8]) -> Result<Vec<Advertised>, DecodeError> {
    let rest = bytes.len() % ENTRY;
    if rest != 0 {
        return Err(DecodeError::Truncated {
            header: NAME,
            needed: bytes.len() - rest + ENTRY,
            actual: bytes.len(),
        });
    }
    let entries = bytes.chunks_exact(ENTRY).map(|entry| Advertised {
        destination: Ipv4Addr::from_bits(u32_at(entry, 0)),
        metric: match u32_at(entry, 4) {
            INFINITY => Metric::Infinite,
            hops => Metric::Hops(hops),
        },
        sequence: u32_at(entry, 8),
    });
    Ok(entries.collect())
}

/// Route to a destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Neighbour on the way; of the node itself, itself.
    pub next_hop: Ipv4Addr,
    /// Hops on the way.
    pub metric: Metric,
    /// Sequence number of the destination; odd for a broken route.
    pub sequence: u32,
    /// Time at which the change is to be advertised, or never if there is none.
    advertise_at: Instant,
    /// Time at which the first route with this sequence number came.
    first_at: Instant,
    /// Weighted average of the times by which the best route has followed the first.
    settling: Duration,
}

/// Routes of a node.
#[derive(Debug)]
pub struct Table {
    address: Ipv4Addr,
    entries: BTreeMap<Ipv4Addr, Entry>,
}

fn is_later(number: u32, than: u32) -> bool {
    number.wrapping_sub(than) as i32 > 0
}

impl Table {
    /// Creates the table of a node, with the entry of the node itself.
    pub fn new(address: Ipv4Addr, sequence: u32) -> Table {
        let own = Entry {
            next_hop: address,
            metric: Metric::Hops(0),
            sequence,
            advertise_at: Instant::NEVER,
            first_at: Instant::ZERO,
            settling: Duration::ZERO,
        };
        Table {
            address,
            entries: BTreeMap::from([(address, own)]),
        }
    }

    /// Returns the node.
    pub fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// Returns the entry of a destination.
    pub fn get(&self, destination: Ipv4Addr) -> Option<&Entry> {
        self.entries.get(&destination)
    }

    /// Returns the next hop to a destination within reach.
    pub fn next_hop(&self, destination: Ipv4Addr) -> Option<Ipv4Addr> {
        let entry = self.entries.get(&destination);
        let entry = entry.filter(|entry| entry.metric != Metric::Infinite);
        entry.map(|entry| entry.next_hop)
    }

    /// Takes in an entry of a neighbour's message.
    pub fn learn(&mut self, now: Instant, from: Ipv4Addr, told: Advertised) {
        if told.destination == self.address {
            return self.contradict(now, told);
        }
        let metric = match told.metric {
            Metric::Hops(hops) => Metric::Hops(hops.saturating_add(1)),
            Metric::Infinite => Metric::Infinite,
        };
        let Some(entry) = self.entries.get_mut(&told.destination) else {
            if metric != Metric::Infinite {
                let entry = Entry {
                    next_hop: from,
                    metric,
                    sequence: told.sequence,
                    advertise_at: now,
                    first_at: now,
                    settling: Duration::ZERO,
                };
                self.entries.insert(told.destination, entry);
            }
            return;
        };
        if metric == Metric::Infinite {
            entry.hear_broken(now, from, told.sequence);
        } else if is_later(told.sequence, entry.sequence) {
            entry.begin(now, from, metric, told.sequence);
        } else if told.sequence == entry.sequence && metric < entry.metric {
            entry.improve(now, from, metric);
        }
    }

    /// Answers a message that calls this node out of reach, or knows a later number of it, with a later even number.
    fn contradict(&mut self, now: Instant, told: Advertised) {
        if let Some(own) = self.entries.get_mut(&self.address)
            && is_later(told.sequence, own.sequence)
        {
            own.sequence = (told.sequence | 1).wrapping_add(1);
            own.advertise_at = now;
        }
    }

    /// Breaks the routes over a neighbour.
    pub fn break_link(&mut self, now: Instant, neighbour: Ipv4Addr) {
        for (&destination, entry) in &mut self.entries {
            let is_own = destination == self.address;
            if !is_own && entry.next_hop == neighbour && entry.metric != Metric::Infinite {
                entry.metric = Metric::Infinite;
                entry.sequence = entry.sequence.wrapping_add(1);
                entry.advertise_at = now;
            }
        }
    }

    /// Returns all entries, with a new number of the node itself; nothing is left to advertise.
    pub fn full(&mut self) -> Vec<Advertised> {
        if let Some(own) = self.entries.get_mut(&self.address) {
            own.sequence = own.sequence.wrapping_add(2);
        }
        let entries = self.entries.iter_mut();
        entries
            .map(|(&node, entry)| entry.advertise(node))
            .collect()
    }

    /// Returns the entries whose change is due, and that of the node itself.
    pub fn changed(&mut self, now: Instant) -> Vec<Advertised> {
        let own = self.address;
        let entries = self.entries.iter_mut();
        let due = entries.filter(|(node, entry)| **node == own || entry.advertise_at <= now);
        due.map(|(&node, entry)| entry.advertise(node)).collect()
    }

    /// Returns the time at which the next change is due, or never.
    pub fn next_change(&self) -> Instant {
        let due = self.entries.values().map(|entry| entry.advertise_at);
        due.min().unwrap_or(Instant::NEVER)
    }
}

impl Entry {
    fn advertise(&mut self, destination: Ipv4Addr) -> Advertised {
        self.advertise_at = Instant::NEVER;
        Advertised {
            destination,
            metric: self.metric,
            sequence: self.sequence,
        }
    }

    /// Takes the first route of a new number. A new metric is advertised once it has settled; a new number alone can
    /// wait for the next full update.
    fn begin(&mut self, now: Instant, from: Ipv4Addr, metric: Metric, sequence: u32) {
        if metric != self.metric {
            self.advertise_at = now + self.settling.saturating_mul(2);
        }
        self.next_hop = from;
        self.metric = metric;
        self.sequence = sequence;
        self.first_at = now;
    }

    /// Takes a shorter route of the same number. The average keeps seven eighths of its weight.
    fn improve(&mut self, now: Instant, from: Ipv4Addr, metric: Metric) {
        let sample = now.saturating_since(self.first_at);
        let nanos = (self.settling.as_nanos() / 8).saturating_mul(7) + sample.as_nanos() / 8;
        self.settling = Duration::from_nanos(nanos);
        self.advertise_at = self.advertise_at.min(now + self.settling.saturating_mul(2));
        self.next_hop = from;
        self.metric = metric;
    }

    /// Hears that a neighbour has lost the destination. With a later route of its own the node tells so at once.
    fn hear_broken(&mut self, now: Instant, from: Ipv4Addr, sequence: u32) {
        let is_reached = self.metric != Metric::Infinite;
        if is_reached && self.next_hop == from && is_later(sequence, self.sequence) {
            self.metric = Metric::Infinite;
            self.sequence = sequence;
            self.advertise_at = now;
        } else if is_reached && is_later(self.sequence, sequence) {
            self.advertise_at = now;
        }
    }
}
