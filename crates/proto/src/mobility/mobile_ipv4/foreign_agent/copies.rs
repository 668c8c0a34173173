//! Copies of visitors' packets (Perkins and Wang, "Optimized Smooth Handoffs in Mobile IP", ISCC 1999): the agent keeps a
//! copy of each packet that it delivers. A mobile that has left names packets that it has received, by source and IP
//! identification, in its previous foreign agent notification, and the agent forwards the others.
//!
//! Chosen, as the paper's format was not found: the names are those of the latest packets, as many as fit an extension,
//! and copies older than all of them are not forwarded.

use super::ForeignAgent;
use crate::mobility::buffering::{BufferCounts, BufferPolicy, EdgeBuffer, Held};
use crate::packet::{Packet, PacketName};
use crate::time::Instant;
use crate::wire::encapsulation::Encapsulation;
use core::net::Ipv4Addr;
use std::collections::{BTreeMap, VecDeque};

/// Copies for all mobiles of an agent, by home address.
#[derive(Debug)]
pub(super) struct Copies {
    policy: BufferPolicy,
    /// Copies for visitors.
    kept: BTreeMap<Ipv4Addr, EdgeBuffer>,
    /// Copies and late packets for departed mobiles.
    forwarded: BTreeMap<Ipv4Addr, EdgeBuffer>,
    /// Counters of buffers that are gone.
    counts: BufferCounts,
    told: VecDeque<Held>,
}

impl Copies {
    pub fn new(policy: BufferPolicy) -> Copies {
        Copies {
            policy,
            kept: BTreeMap::new(),
            forwarded: BTreeMap::new(),
            counts: BufferCounts::default(),
            told: VecDeque::new(),
        }
    }

    pub fn counts(&self) -> BufferCounts {
        let mut counts = self.counts;
        let present = self.kept.values().chain(self.forwarded.values());
        present.for_each(|buffer| counts.add(buffer.counts()));
        counts
    }

    pub fn poll_held(&mut self) -> Option<Held> {
        self.told.pop_front()
    }

    /// Returns the time of the next release. Copies for visitors are dropped for their age when the next one comes.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let all = self.forwarded.values();
        all.filter_map(EdgeBuffer::poll_timeout).min()
    }

    /// Keeps a copy of a visitor's packet.
    pub fn keep(&mut self, now: Instant, home_address: Ipv4Addr, packet: &Packet) {
        let policy = self.policy;
        let new = || EdgeBuffer::standing_by(policy);
        let buffer = self.kept.entry(home_address).or_insert_with(new);
        buffer.keep(now, packet);
        self.told.extend(buffer.take_told());
    }

    /// Begins to forward the copies that a departed mobile lacks.
    fn forward(
        &mut self,
        now: Instant,
        (home_address, care_of_address): (Ipv4Addr, Ipv4Addr),
        received: &[PacketName],
    ) {
        if let Some(buffer) = self.kept.remove(&home_address) {
            self.forwarded.insert(home_address, buffer);
        }
        if let Some(buffer) = self.forwarded.get_mut(&home_address) {
            buffer.forward_missing(now, care_of_address.into(), received);
            self.told.extend(buffer.take_told());
        }
    }

    /// Takes in a late packet for a departed mobile. Returns it unless it waits behind copies.
    fn offer(&mut self, now: Instant, home_address: Ipv4Addr, packet: Packet) -> Option<Packet> {
        let Some(buffer) = self.forwarded.get_mut(&home_address) else {
            return Some(packet);
        };
        let sent = buffer.offer(now, packet).map(|(_, packet)| packet);
        self.told.extend(buffer.take_told());
        sent
    }

    /// Returns the next packet that is due, with the mobile.
    fn poll_release(&mut self, now: Instant) -> Option<(Ipv4Addr, Packet)> {
        for (&home_address, buffer) in &mut self.forwarded {
            let due = buffer.poll_transmit(now);
            self.told.extend(buffer.take_told());
            if let Some((_, packet)) = due {
                return Some((home_address, packet));
            }
        }
        None
    }

    /// Ends the forwarding for a mobile that is back: returns its packets.
    pub fn take_back(&mut self, now: Instant, home_address: Ipv4Addr) -> Vec<Packet> {
        let Some(mut buffer) = self.forwarded.remove(&home_address) else {
            return Vec::new();
        };
        let packets = buffer.release_all(now).collect();
        self.told.extend(buffer.take_told());
        self.counts.add(buffer.counts());
        packets
    }

    /// Drops the copies for a mobile that is gone.
    pub fn forget(&mut self, home_address: Ipv4Addr) {
        let gone = [&mut self.kept, &mut self.forwarded].map(|all| all.remove(&home_address));
        for mut buffer in gone.into_iter().flatten() {
            buffer.drop_all();
            self.told.extend(buffer.take_told());
            self.counts.add(buffer.counts());
        }
    }
}

impl ForeignAgent {
    /// Keeps copies of visitors' packets from now on. A policy that drops the oldest packets and no duplicate segments
    /// keeps what the mobile may lack.
    pub fn keep_copies(&mut self, policy: BufferPolicy) {
        self.copies = Some(Copies::new(policy));
    }

    /// Returns the counters of the copies.
    pub fn buffered(&self) -> BufferCounts {
        self.copies
            .as_ref()
            .map_or_else(BufferCounts::default, Copies::counts)
    }

    /// Returns the next report of a packet that the agent has copied, taken in or dropped.
    pub fn poll_held(&mut self) -> Option<Held> {
        self.copies.as_mut()?.poll_held()
    }

    /// Forwards the copies that a departed mobile lacks.
    pub(super) fn forward_copies(
        &mut self,
        now: Instant,
        ends: (Ipv4Addr, Ipv4Addr),
        received: &[PacketName],
    ) {
        if let Some(copies) = &mut self.copies {
            copies.forward(now, ends, received);
        }
        self.release_copies(now);
    }

    /// Sends a late packet to a departed mobile, after its copies.
    pub(super) fn send_to_departed(
        &mut self,
        now: Instant,
        (home_address, care_of_address): (Ipv4Addr, Ipv4Addr),
        packet: Packet,
    ) {
        let sent = match &mut self.copies {
            Some(copies) => copies.offer(now, home_address, packet),
            None => Some(packet),
        };
        if let Some(packet) = sent {
            // The new agent may support no other.
            let end = (care_of_address, Encapsulation::IpInIp);
            self.send_into_tunnel(now, end, packet);
        }
    }

    /// Forwards the copies that are due.
    pub(super) fn release_copies(&mut self, now: Instant) {
        while let Some((home_address, packet)) = self
            .copies
            .as_mut()
            .and_then(|copies| copies.poll_release(now))
        {
            if let Some(departed) = self.departed.get(&home_address) {
                let end = (departed.care_of_address, Encapsulation::IpInIp);
                self.send_into_tunnel(now, end, packet);
            }
        }
    }

    /// Drops the copies for a mobile that is gone.
    pub(super) fn forget_copies(&mut self, home_address: Ipv4Addr) {
        if let Some(copies) = &mut self.copies {
            copies.forget(home_address);
        }
    }
}
