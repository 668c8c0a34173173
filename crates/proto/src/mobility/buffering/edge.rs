//! A mobile's buffer at a node at the edge of the network.

use super::{BufferCounts, BufferPolicy, Held, Holding, PacketBuffer};
use crate::packet::{Packet, PacketName};
use crate::time::Instant;
use core::hash::Hasher;
use core::net::IpAddr;
use siphasher::sip::SipHasher13;

/// Destination of a packet for the mobile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    /// This node's own link to the mobile.
    Link,
    /// Another node that serves the mobile, or its new care-of address, through a tunnel; base stations tunnel as
    /// routers do.
    Other(IpAddr),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stance {
    /// Send arriving packets, after those still held.
    Send(Via),
    /// Hold arriving packets.
    Hold,
}

/// Buffer for one mobile at a base station, access router or foreign agent. The caller translates link events and
/// signalling into calls:
///
/// ```text
/// base station, access router: hold (Link_Going_Down), forward to the next one (its request), or deliver (back here)
/// foreign agent:               standing by, keep; forward_missing (previous foreign agent notification)
/// multicast member:            standing by; take_over when the mobile comes, stand_by when it goes
/// ```
#[derive(Clone, Debug)]
pub struct EdgeBuffer {
    stance: Stance,
    buffer: PacketBuffer,
}

impl EdgeBuffer {
    /// Creates a buffer for a mobile on this node's link.
    pub const fn delivering(policy: BufferPolicy) -> EdgeBuffer {
        EdgeBuffer {
            stance: Stance::Send(Via::Link),
            buffer: PacketBuffer::new(policy),
        }
    }

    /// Creates a buffer for a mobile on another link that may come here and whose packets are copied here. A policy of
    /// [`Overflow::DropOldest`](super::Overflow::DropOldest) keeps the latest ones.
    pub const fn standing_by(policy: BufferPolicy) -> EdgeBuffer {
        EdgeBuffer {
            stance: Stance::Hold,
            buffer: PacketBuffer::new(policy),
        }
    }

    /// Holds arriving packets: the mobile is leaving, or another member serves it.
    pub fn hold(&mut self) {
        self.stance = Stance::Hold;
        self.buffer.hold();
    }

    /// Sends held and arriving packets to the node or care-of address `to`.
    pub fn forward(&mut self, now: Instant, to: IpAddr) {
        self.send(now, Via::Other(to));
    }

    /// Keeps a copy of a packet that goes to the mobile over this node's link.
    pub fn keep(&mut self, now: Instant, packet: &Packet) {
        self.buffer.push_copy(now, packet);
    }

    /// Sends the copies that a mobile lacks, and arriving packets, to the care-of address `to`. The mobile
    /// [names](PacketBuffer::drop_received) packets that it has received.
    pub fn forward_missing(&mut self, now: Instant, to: IpAddr, received: &[PacketName]) {
        self.buffer.drop_received(received);
        self.forward(now, to);
    }

    /// Sends held and arriving packets over this node's link.
    pub fn deliver(&mut self, now: Instant) {
        self.send(now, Via::Link);
    }

    /// Delivers to a mobile that has arrived and reports the last packet it received, by its [`fingerprint`]: of the
    /// held packets, only later ones go over the link. All go if that packet is not held.
    pub fn take_over(&mut self, now: Instant, last_received: Option<u64>) {
        let packets = self.buffer.packets.iter();
        let known = last_received.and_then(|last| {
            let mut from_the_end = packets.rev();
            from_the_end.position(|(_, packet)| fingerprint(packet) == last)
        });
        if let Some(newer) = known {
            while self.buffer.packets.len() > newer {
                if let Some(packet) = self.buffer.pop() {
                    self.buffer.counts.duplicates += 1;
                    self.buffer.tell(&packet, Holding::Dropped);
                }
            }
        }
        self.deliver(now);
    }

    /// Takes in a packet for the mobile. Returns it with its destination, or `None` if it is held or dropped.
    pub fn offer(&mut self, now: Instant, packet: Packet) -> Option<(Via, Packet)> {
        match self.stance {
            Stance::Send(via) if self.buffer.is_empty() => Some((via, packet)),
            _ => {
                self.buffer.push(now, packet);
                None
            }
        }
    }

    /// Releases the next held packet that is due.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<(Via, Packet)> {
        let Stance::Send(via) = self.stance else {
            self.buffer.drop_expired(now);
            return None;
        };
        Some((via, self.buffer.poll_release(now)?))
    }

    /// Returns the time of the next call of [`poll_transmit`](Self::poll_transmit).
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.buffer.poll_timeout()
    }

    /// Returns true if the mobile is on this node's link and no packet is held.
    pub fn is_at_rest(&self) -> bool {
        self.stance == Stance::Send(Via::Link) && self.buffer.is_empty()
    }

    /// Releases all held packets at once.
    pub fn release_all(&mut self, now: Instant) -> impl Iterator<Item = Packet> {
        self.buffer.release_all(now)
    }

    /// Drops all packets and counts them as expired.
    pub fn drop_all(&mut self) {
        self.buffer.drop_all();
    }

    /// Takes the reports of packets taken in or dropped since the last call.
    pub fn take_told(&mut self) -> impl Iterator<Item = Held> {
        self.buffer.take_told()
    }

    /// Returns the counters of held packets.
    pub const fn counts(&self) -> BufferCounts {
        self.buffer.counts()
    }

    fn send(&mut self, now: Instant, via: Via) {
        self.stance = Stance::Send(via);
        self.buffer.begin_release(now);
    }
}

/// Computes an identifier by which two nodes refer to the same packet: a hash of its bytes without the hop limit and
/// the traffic class, which change on the way (queues mark congestion in the latter).
pub fn fingerprint(packet: &Packet) -> u64 {
    let mut bytes = Vec::new();
    let mut packet = packet.clone();
    packet.ip.hop_limit = 0;
    packet.ip.traffic_class = 0;
    packet.encode(&mut bytes);
    let mut hasher = SipHasher13::new();
    hasher.write(&bytes);
    hasher.finish()
}
