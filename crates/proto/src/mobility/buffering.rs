//! Packets kept for a mobile while it changes its point of attachment: one bounded queue that all strategies share,
//! and what a node at the edge (base station, access router, foreign agent) does with it.
//!
//! | strategy | who holds | how |
//! |---|---|---|
//! | home-agent buffering | home agent | [`PacketBuffer`] in the binding, from the modified binding update to the next regular one |
//! | home-agent bicasting | nobody | the home agent tunnels to the old and the new care-of address for a while |
//! | base-station buffering | base station | [`EdgeBuffer`]: hold, then forward to the next base station |
//! | access-router buffering | access router | [`EdgeBuffer`]: hold, then tunnel to the next router or care-of address |
//! | foreign-agent forwarding | foreign agent | [`EdgeBuffer`]: forward, holding or not before |
//! | multicast with intelligent buffering | base stations or access routers around | [`EdgeBuffer::standing_by`]: keep the last ones, hand out what the mobile has not got |

mod edge;

pub use edge::{EdgeBuffer, Via, fingerprint};

use crate::packet::{FlowId, Identity, Packet};
use crate::rate::DataRate;
use crate::time::{Duration, Instant};
use crate::wire::tcp::{TcpFlags, TcpHeader};
use core::net::IpAddr;
use std::collections::VecDeque;

/// What a buffer may hold, and how it is emptied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferPolicy {
    /// At most so many bytes of whole packets.
    pub bytes: u32,
    /// A packet that has been held for so long is dropped.
    pub age: Duration,
    /// Who goes when there is no room.
    pub overflow: Overflow,
    /// The rate at which what was held is released; without one, all at once.
    pub pace: Option<DataRate>,
    /// Whether a TCP segment that is held already is dropped. Not where IPsec hides the segments from who holds them.
    pub drop_duplicates: bool,
}

/// Who is dropped when a buffer has no room for a newcomer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// The newcomer.
    DropNewest,
    /// Those that have waited longest, until there is room.
    DropOldest,
}

/// What became of the packets that a buffer was offered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BufferCounts {
    /// Taken in.
    pub held: u64,
    /// Handed out again.
    pub released: u64,
    /// Dropped for want of room.
    pub overflowed: u64,
    /// The bytes of those.
    pub overflowed_bytes: u64,
    /// Dropped for their age.
    pub expired: u64,
    /// Dropped because the same TCP segment was held already, or the mobile had got the packet elsewhere.
    pub duplicates: u64,
    /// Most bytes that a buffer held at once.
    pub most_bytes: u32,
}

impl BufferCounts {
    /// Adds another buffer's counts.
    pub fn add(&mut self, other: BufferCounts) {
        self.held += other.held;
        self.released += other.released;
        self.overflowed += other.overflowed;
        self.overflowed_bytes += other.overflowed_bytes;
        self.expired += other.expired;
        self.duplicates += other.duplicates;
        self.most_bytes = self.most_bytes.max(other.most_bytes);
    }
}

/// A packet of a flow that a buffer has taken in or dropped: for whoever follows packets through a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Which packet.
    pub identity: Identity,
    /// Its flow.
    pub flow: FlowId,
    /// True if it was dropped, now or after it was held.
    pub dropped: bool,
}

impl Held {
    /// Of a packet that has a number. Only a simulation gives packets one, and hears of them.
    pub fn of(packet: &Packet, dropped: bool) -> Option<Held> {
        let identity = packet.identity_within();
        let flow = packet.flow.filter(|_| identity.is_some())?;
        Some(Held {
            identity,
            flow,
            dropped,
        })
    }
}

/// A queue of packets, bounded in bytes and age, that holds until it is told to release.
///
/// By choice, a TCP segment all of whose sequence space is held already is dropped (study D, section 5.7): the link
/// ahead is slow. A segment without data is never taken for a duplicate, since a sender counts duplicate acknowledgments,
/// and what shows no TCP header (IPsec, fragments, other transports) is held as it comes.
#[derive(Clone, Debug)]
pub struct PacketBuffer {
    policy: BufferPolicy,
    packets: VecDeque<(Instant, Packet)>,
    bytes: u32,
    /// When the next packet may go, while releasing.
    next_release: Option<Instant>,
    counts: BufferCounts,
    /// Packets taken in or dropped that nobody has asked about yet.
    told: Vec<Held>,
}

impl PacketBuffer {
    /// An empty one, which holds.
    pub const fn new(policy: BufferPolicy) -> PacketBuffer {
        PacketBuffer {
            policy,
            packets: VecDeque::new(),
            bytes: 0,
            next_release: None,
            counts: BufferCounts {
                held: 0,
                released: 0,
                overflowed: 0,
                overflowed_bytes: 0,
                expired: 0,
                duplicates: 0,
                most_bytes: 0,
            },
            told: Vec::new(),
        }
    }

    /// What became of the packets so far; those that are neither released nor dropped are still here.
    pub const fn counts(&self) -> BufferCounts {
        self.counts
    }

    /// Bytes held now.
    pub const fn bytes(&self) -> u32 {
        self.bytes
    }

    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Takes a packet in, or drops it or others by the policy.
    pub fn push(&mut self, now: Instant, packet: Packet) {
        self.drop_expired(now);
        if self.policy.drop_duplicates && self.holds_segment_of(&packet) {
            self.counts.duplicates += 1;
            return self.tell(&packet, true);
        }
        let length = packet.wire_length();
        let room = |bytes: u32| bytes.saturating_add(length) <= self.policy.bytes;
        if length > self.policy.bytes
            || self.policy.overflow == Overflow::DropNewest && !room(self.bytes)
        {
            return self.count_overflow(&packet);
        }
        while self.bytes.saturating_add(length) > self.policy.bytes
            && let Some(oldest) = self.pop()
        {
            self.count_overflow(&oldest);
        }
        self.bytes += length;
        self.counts.held += 1;
        self.counts.most_bytes = self.counts.most_bytes.max(self.bytes);
        self.tell(&packet, false);
        self.packets.push_back((now, packet));
    }

    fn count_overflow(&mut self, packet: &Packet) {
        self.counts.overflowed += 1;
        self.counts.overflowed_bytes += u64::from(packet.wire_length());
        self.tell(packet, true);
    }

    fn tell(&mut self, packet: &Packet, dropped: bool) {
        self.told.extend(Held::of(packet, dropped));
    }

    /// Hands out the packets taken in or dropped since this was asked last.
    pub fn take_told(&mut self) -> impl Iterator<Item = Held> {
        self.told.drain(..)
    }

    /// From now on packets are handed out, at the policy's pace.
    pub fn begin_release(&mut self, now: Instant) {
        self.next_release.get_or_insert(now);
    }

    /// From now on packets are held again.
    pub fn hold(&mut self) {
        self.next_release = None;
    }

    /// The next packet that may go.
    pub fn poll_release(&mut self, now: Instant) -> Option<Packet> {
        self.drop_expired(now);
        self.next_release.filter(|&at| at <= now)?;
        let packet = self.pop()?;
        self.counts.released += 1;
        let bits = u64::from(packet.wire_length()) * 8;
        self.next_release = Some(match self.policy.pace {
            None => now,
            Some(pace) => now + pace.transmission_time(bits).unwrap_or(Duration::MAX),
        });
        Some(packet)
    }

    /// When a packet may go or is too old.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let (since, _) = self.packets.front()?;
        let expires = *since + self.policy.age;
        Some(self.next_release.map_or(expires, |at| at.min(expires)))
    }

    /// Drops what is too old at `now`.
    pub fn drop_expired(&mut self, now: Instant) {
        while let Some(&(since, _)) = self.packets.front()
            && since + self.policy.age <= now
        {
            if let Some(packet) = self.pop() {
                self.counts.expired += 1;
                self.tell(&packet, true);
            }
        }
    }

    /// Whether it is to be released, and all has gone.
    pub fn is_released(&self) -> bool {
        self.next_release.is_some() && self.packets.is_empty()
    }

    /// Hands out all that is held at once, whatever the pace.
    pub fn release_all(&mut self, now: Instant) -> impl Iterator<Item = Packet> {
        self.drop_expired(now);
        self.counts.released += self.packets.len() as u64;
        self.bytes = 0;
        self.packets.drain(..).map(|(_, packet)| packet)
    }

    /// Drops all that is held, as too old: nobody will come for it.
    pub fn drop_all(&mut self) {
        while let Some(packet) = self.pop() {
            self.counts.expired += 1;
            self.tell(&packet, true);
        }
    }

    fn pop(&mut self) -> Option<Packet> {
        let (_, packet) = self.packets.pop_front()?;
        self.bytes -= packet.wire_length();
        Some(packet)
    }

    fn holds_segment_of(&self, packet: &Packet) -> bool {
        let Some(segment) = Segment::of(packet) else {
            return false;
        };
        let others = self.packets.iter();
        others
            .filter(|(_, held)| held.ip.destination == packet.ip.destination)
            .filter_map(|(_, held)| Segment::of(held))
            .any(|held| held.covers(&segment))
    }
}

/// The stretch of a TCP connection's sequence space that a packet carries.
struct Segment {
    addresses: (IpAddr, IpAddr),
    ports: (u16, u16),
    first: u32,
    length: u32,
}

impl Segment {
    /// Of what carries a SYN, a FIN or data, and shows it.
    fn of(packet: &Packet) -> Option<Segment> {
        let view = packet.view();
        let header: &TcpHeader = view.tcp.as_deref()?;
        let has = |flag| u32::from(header.flags.contains(flag));
        let length = view.payload_bytes + has(TcpFlags::SYN) + has(TcpFlags::FIN);
        // A reset says something else than the segment in whose place it stands.
        if length == 0 || header.flags.contains(TcpFlags::RST) {
            return None;
        }
        Some(Segment {
            addresses: (packet.ip.source, packet.ip.destination),
            ports: (header.source_port, header.destination_port),
            first: header.sequence.0,
            length,
        })
    }

    fn covers(&self, other: &Segment) -> bool {
        let ahead = other.first.wrapping_sub(self.first);
        self.addresses == other.addresses
            && self.ports == other.ports
            && ahead < self.length
            && other.length <= self.length - ahead
    }
}

#[cfg(test)]
pub(crate) mod tests;
