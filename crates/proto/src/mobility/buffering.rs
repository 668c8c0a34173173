//! Buffering for a mobile during a handover: one bounded queue that all strategies share, and its use by a node at the
//! edge (base station, access router, foreign agent).
//!
//! | strategy | buffer at | mechanism |
//! |---|---|---|
//! | home-agent buffering | home agent | [`PacketBuffer`] in the binding, from the modified binding update to the next regular one |
//! | home-agent bicasting | nobody | the home agent tunnels to the old and the new care-of address for a while |
//! | base-station buffering | base station | [`EdgeBuffer`]: hold, then forward to the next base station |
//! | access-router buffering | access router | [`EdgeBuffer`]: hold, then tunnel to the next router or care-of address |
//! | foreign-agent buffering | foreign agent | [`EdgeBuffer::standing_by`]: keep copies of the latest packets, forward those that the mobile lacks |
//! | multicast with intelligent buffering | neighbouring base stations or access routers | [`EdgeBuffer::standing_by`]: keep the latest packets, deliver those that the mobile lacks |

mod edge;

pub use edge::{EdgeBuffer, Via, fingerprint};

use crate::packet::{FlowId, Identity, Packet, PacketName};
use crate::rate::DataRate;
use crate::time::{Duration, Instant};
use crate::wire::tcp::{TcpFlags, TcpHeader};
use core::net::IpAddr;
use std::collections::VecDeque;

/// Limits of a buffer, and its release rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferPolicy {
    /// Maximum size in bytes, counted in whole packets with headers.
    pub bytes: u32,
    /// Maximum age; an older packet is dropped.
    pub age: Duration,
    /// Choice of the packet to drop when the buffer is full.
    pub overflow: Overflow,
    /// Release rate; without one, all packets leave at once.
    pub pace: Option<DataRate>,
    /// True to drop a TCP segment that is already held. Not possible where IPsec hides the TCP header.
    pub drop_duplicates: bool,
}

/// Choice of the packet to drop when a buffer is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// The arriving packet.
    DropNewest,
    /// The oldest packets, until there is room.
    DropOldest,
}

/// Counters of a buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BufferCounts {
    /// Packets taken in.
    pub held: u64,
    /// Packets released.
    pub released: u64,
    /// Packets dropped because the buffer was full.
    pub overflowed: u64,
    /// Bytes of the packets dropped because the buffer was full.
    pub overflowed_bytes: u64,
    /// Packets dropped for their age.
    pub expired: u64,
    /// Packets dropped because the same TCP segment was already held, or the mobile had already received the packet.
    pub duplicates: u64,
    /// Peak occupancy in bytes.
    pub most_bytes: u32,
}

impl BufferCounts {
    /// Adds the counters of `other`; the peak becomes the larger of the two.
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

/// Fate of a packet at a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holding {
    /// The packet was taken in.
    TakenIn,
    /// A copy was taken in; the packet itself goes on.
    Copied,
    /// The packet, or the copy, was dropped, on arrival or later.
    Dropped,
}

/// Report that a buffer took in or dropped a packet of a flow, for tracing packets through a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// The packet.
    pub identity: Identity,
    /// Its flow.
    pub flow: FlowId,
    /// Its fate.
    pub holding: Holding,
}

impl Held {
    /// Reports on a packet that has an identity and a flow; only a simulation assigns them.
    pub fn of(packet: &Packet, holding: Holding) -> Option<Held> {
        let identity = packet.identity_within();
        let flow = packet.flow.filter(|_| identity.is_some())?;
        Some(Held {
            identity,
            flow,
            holding,
        })
    }
}

/// A packet queue, bounded in bytes and age, that holds until it is told to release.
///
/// By choice, a TCP segment whose whole sequence space is already held is dropped (study D, section 5.7), because the
/// link ahead is slow. A segment without data is never a duplicate, since senders count duplicate ACKs. Packets without
/// a visible TCP header (IPsec, fragments, other transports) are never compared.
#[derive(Clone, Debug)]
pub struct PacketBuffer {
    policy: BufferPolicy,
    packets: VecDeque<(Instant, Packet)>,
    bytes: u32,
    /// Earliest time of the next release; `None` while holding.
    next_release: Option<Instant>,
    counts: BufferCounts,
    /// Reports not yet taken by [`PacketBuffer::take_told`].
    told: Vec<Held>,
}

impl PacketBuffer {
    /// Creates an empty buffer that holds.
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

    /// Returns the counters. A packet neither released nor dropped is still held.
    pub const fn counts(&self) -> BufferCounts {
        self.counts
    }

    /// Returns the bytes held.
    pub const fn bytes(&self) -> u32 {
        self.bytes
    }

    /// Returns true if no packet is held.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Takes in a packet, or drops it or older ones according to the policy.
    pub fn push(&mut self, now: Instant, packet: Packet) {
        self.drop_expired(now);
        if self.policy.drop_duplicates && self.holds_segment_of(&packet) {
            return self.count_duplicate(&packet);
        }
        match self.make_room(&packet) {
            true => self.insert(now, packet, Holding::TakenIn),
            false => self.count_overflow(&packet),
        }
    }

    /// Takes in a copy of a packet that goes on, unless there is no room for it.
    pub fn push_copy(&mut self, now: Instant, packet: &Packet) {
        self.drop_expired(now);
        if self.make_room(packet) {
            self.insert(now, packet.clone(), Holding::Copied);
        }
    }

    /// Makes room for a packet as the policy says; returns false if there is none.
    fn make_room(&mut self, packet: &Packet) -> bool {
        let length = packet.wire_length();
        let room = |bytes: u32| bytes.saturating_add(length) <= self.policy.bytes;
        if length > self.policy.bytes
            || self.policy.overflow == Overflow::DropNewest && !room(self.bytes)
        {
            return false;
        }
        while self.bytes.saturating_add(length) > self.policy.bytes
            && let Some(oldest) = self.pop()
        {
            self.count_overflow(&oldest);
        }
        true
    }

    fn insert(&mut self, now: Instant, packet: Packet, holding: Holding) {
        self.bytes += packet.wire_length();
        self.counts.held += 1;
        self.counts.most_bytes = self.counts.most_bytes.max(self.bytes);
        self.tell(&packet, holding);
        self.packets.push_back((now, packet));
    }

    fn count_overflow(&mut self, packet: &Packet) {
        self.counts.overflowed += 1;
        self.counts.overflowed_bytes += u64::from(packet.wire_length());
        self.tell(packet, Holding::Dropped);
    }

    fn count_duplicate(&mut self, packet: &Packet) {
        self.counts.duplicates += 1;
        self.tell(packet, Holding::Dropped);
    }

    fn tell(&mut self, packet: &Packet, holding: Holding) {
        self.told.extend(Held::of(packet, holding));
    }

    /// Takes the reports of packets taken in or dropped since the last call.
    pub fn take_told(&mut self) -> impl Iterator<Item = Held> {
        self.told.drain(..)
    }

    /// Starts the release, at the policy's pace.
    pub fn begin_release(&mut self, now: Instant) {
        self.next_release.get_or_insert(now);
    }

    /// Stops the release.
    pub fn hold(&mut self) {
        self.next_release = None;
    }

    /// Releases the next packet that is due.
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

    /// Returns the time of the next release or expiry.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let (since, _) = self.packets.front()?;
        let expires = *since + self.policy.age;
        Some(self.next_release.map_or(expires, |at| at.min(expires)))
    }

    /// Drops packets that have reached the maximum age at `now`.
    pub fn drop_expired(&mut self, now: Instant) {
        while let Some(&(since, _)) = self.packets.front()
            && since + self.policy.age <= now
        {
            if let Some(packet) = self.pop() {
                self.counts.expired += 1;
                self.tell(&packet, Holding::Dropped);
            }
        }
    }

    /// Drops the packets that the mobile names as received, and those before the first of these: they took the same
    /// link, which keeps the order, so the mobile has them or lost them long ago. Drops none if it names none.
    pub fn drop_received(&mut self, received: &[PacketName]) {
        let mut names = received.to_vec();
        // Packets that are not named, the newest first, and the number of those after the first one named.
        let (mut others, mut later) = (Vec::new(), None);
        // From the newest on, since a source's identifications repeat.
        while !names.is_empty()
            && let Some((since, packet)) = self.packets.pop_back()
        {
            let name = PacketName::of(&packet);
            match names.iter().position(|received| Some(*received) == name) {
                Some(place) => {
                    names.swap_remove(place);
                    self.bytes -= packet.wire_length();
                    self.count_duplicate(&packet);
                    later = Some(others.len());
                }
                None => others.push((since, packet)),
            }
        }
        if let Some(later) = later {
            let earlier = others.drain(later..).chain(self.packets.drain(..));
            for (_, packet) in Vec::from_iter(earlier) {
                self.bytes -= packet.wire_length();
                self.count_duplicate(&packet);
            }
        }
        self.packets.extend(others.into_iter().rev());
    }

    /// Returns true if the release has begun and no packet is left.
    pub fn is_released(&self) -> bool {
        self.next_release.is_some() && self.packets.is_empty()
    }

    /// Releases all packets at once, regardless of the pace.
    pub fn release_all(&mut self, now: Instant) -> impl Iterator<Item = Packet> {
        self.drop_expired(now);
        self.counts.released += self.packets.len() as u64;
        self.bytes = 0;
        self.packets.drain(..).map(|(_, packet)| packet)
    }

    /// Drops all packets and counts them as expired: the mobile will not return for them.
    pub fn drop_all(&mut self) {
        while let Some(packet) = self.pop() {
            self.counts.expired += 1;
            self.tell(&packet, Holding::Dropped);
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

/// The part of a TCP connection's sequence space that a packet carries.
struct Segment {
    addresses: (IpAddr, IpAddr),
    ports: (u16, u16),
    first: u32,
    length: u32,
}

impl Segment {
    /// Returns the segment of a packet that visibly carries a SYN, a FIN or data.
    fn of(packet: &Packet) -> Option<Segment> {
        let view = packet.view();
        let header: &TcpHeader = view.tcp.as_deref()?;
        let has = |flag| u32::from(header.flags.contains(flag));
        let length = view.payload_bytes + has(TcpFlags::SYN) + has(TcpFlags::FIN);
        // A reset differs from the segment with the same sequence number.
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
