//! What a node at the edge does with the packets for one mobile that comes and goes.

use super::{BufferCounts, BufferPolicy, Held, PacketBuffer};
use crate::packet::Packet;
use crate::time::Instant;
use core::hash::Hasher;
use core::net::IpAddr;
use siphasher::sip::SipHasher13;

/// Where a packet for the mobile goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    /// Over this node's own link, to the mobile.
    Link,
    /// To the node where the mobile now is, or to its new care-of address: through a tunnel between routers, as it
    /// is between base stations.
    Other(IpAddr),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stance {
    /// What comes is sent, behind what is still held.
    Send(Via),
    /// What comes is held.
    Hold,
}

/// Base station, access router or foreign agent, as far as it concerns one mobile. It hears of the mobile by
/// link-layer signals or by signalling; the caller translates.
///
/// ```text
/// base station, access router: hold (Link_Going_Down), forward to the next one (its request), or deliver (back here)
/// foreign agent:               forward (previous foreign agent notification)
/// multicast member:            standing by; take_over when the mobile comes, stand_by when it goes
/// ```
#[derive(Clone, Debug)]
pub struct EdgeBuffer {
    stance: Stance,
    buffer: PacketBuffer,
}

impl EdgeBuffer {
    /// With the mobile on this node's link.
    pub const fn delivering(policy: BufferPolicy) -> EdgeBuffer {
        EdgeBuffer {
            stance: Stance::Send(Via::Link),
            buffer: PacketBuffer::new(policy),
        }
    }

    /// With the mobile elsewhere, and copies of its packets sent here in case it comes: a policy of
    /// [`Overflow::DropOldest`](super::Overflow::DropOldest) keeps the last ones.
    pub const fn standing_by(policy: BufferPolicy) -> EdgeBuffer {
        EdgeBuffer {
            stance: Stance::Hold,
            buffer: PacketBuffer::new(policy),
        }
    }

    /// The mobile leaves, or another member serves it now: what comes is held.
    pub fn hold(&mut self) {
        self.stance = Stance::Hold;
        self.buffer.hold();
    }

    /// The mobile is at another node: what is held and what comes goes there.
    pub fn forward(&mut self, now: Instant, to: IpAddr) {
        self.send(now, Via::Other(to));
    }

    /// The mobile is here: what is held and what comes goes over the link.
    pub fn deliver(&mut self, now: Instant) {
        self.send(now, Via::Link);
    }

    /// The mobile is here and says which packet it got last, by its [`fingerprint`]: of what is held, only what
    /// came after it goes over the link. A packet that is not held says nothing, and all goes.
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
                    self.buffer.tell(&packet, true);
                }
            }
        }
        self.deliver(now);
    }

    /// A packet for the mobile: where it goes at once, or nothing if it is held or dropped.
    pub fn offer(&mut self, now: Instant, packet: Packet) -> Option<(Via, Packet)> {
        match self.stance {
            Stance::Send(via) if self.buffer.is_empty() => Some((via, packet)),
            _ => {
                self.buffer.push(now, packet);
                None
            }
        }
    }

    /// The next packet of those that were held.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<(Via, Packet)> {
        let Stance::Send(via) = self.stance else {
            self.buffer.drop_expired(now);
            return None;
        };
        Some((via, self.buffer.poll_release(now)?))
    }

    /// When to call [`poll_transmit`](Self::poll_transmit) again.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.buffer.poll_timeout()
    }

    /// Whether the mobile is here and nothing is held for it any more.
    pub fn is_at_rest(&self) -> bool {
        self.stance == Stance::Send(Via::Link) && self.buffer.is_empty()
    }

    /// Drops all that is held, as too old.
    pub fn drop_all(&mut self) {
        self.buffer.drop_all();
    }

    /// Hands out the packets taken in or dropped since this was asked last.
    pub fn take_told(&mut self) -> impl Iterator<Item = Held> {
        self.buffer.take_told()
    }

    /// What became of the packets that were held.
    pub const fn counts(&self) -> BufferCounts {
        self.buffer.counts()
    }

    fn send(&mut self, now: Instant, via: Via) {
        self.stance = Stance::Send(via);
        self.buffer.begin_release(now);
    }
}

/// A number by which two nodes speak of the same packet: a hash of its bytes but for the fields that change on the
/// way (the hop limit, and the traffic class, where queues mark congestion).
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
