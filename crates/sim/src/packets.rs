//! The packets of a world in a slab: links and events hold a four-byte id instead of a packet.

use crate::link::End;
use crate::link::number::LinkNumber;
use crate::world::packet_counts::Way;
use baton_proto::packet::{BitErrors, Body, Identity, IpHeader, Packet, Payload};
use baton_proto::time::Instant;
use baton_proto::wire::udp::UdpHeader;
use core::net::{IpAddr, Ipv4Addr};

/// Place of a packet in the slab, until it is taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PacketId(pub u32);

/// A packet under way: three cache lines (of 64 bytes), of which a hop reads and writes only the first, with the parts
/// of the IP header that routers read.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Travelling {
    /// Time at which it was offered to its present link.
    pub offered: Instant,
    /// Bytes of the packet, which every hop reads. Zero in a free slot of the slab: an option around the packet would
    /// be stored in another cache line.
    pub length: u32,
    /// Its present link.
    pub link: LinkNumber,
    /// The mobile's access link that it has crossed, if any.
    access: Option<LinkNumber>,
    /// End of the link at which it was offered.
    pub from: End,
    /// The packet.
    pub packet: Packet,
}

impl Travelling {
    /// Returns the running number of the packet in its world, from zero: the same on every link, in tunnels too.
    pub fn number(&self) -> u64 {
        self.packet.identity.number()
    }

    /// Returns the mobile's access link that it has crossed, if any.
    pub fn access(&self) -> Option<usize> {
        self.access.map(LinkNumber::get)
    }

    /// Notes that it has crossed a mobile's access link.
    pub fn cross_access(&mut self, link: usize) {
        self.access = Some(LinkNumber::new(link));
    }
}

const _: () = assert!(size_of::<Travelling>() == 192, "three cache lines");

/// All packets under way.
#[derive(Debug)]
pub struct Packets {
    slots: Vec<Travelling>,
    free: Vec<u32>,
    /// Slots that are not refilled, since the slab is to shrink.
    retired: Option<Retired>,
    /// Number of removals before the next check of the slab's size.
    until_trim: usize,
    numbers: Numbers,
}

/// Numbers that packets get: of a world in parts, each part gives numbers of its own.
#[derive(Clone, Copy, Debug)]
struct Numbers {
    given: u64,
    next: u64,
    step: u64,
}

impl Numbers {
    /// Gives a packet never sent before the next number, and this way.
    #[inline(always)]
    fn identify(&mut self, now: Instant, packet: &mut Packet, way: Way) {
        let mut identity = packet.identity_within();
        if !identity.is_some() {
            let sent = identity.sent_before().unwrap_or(now);
            identity = Identity::new(self.next, sent);
            if way == Way::ToSource {
                identity = identity.going_back();
            }
            self.next += self.step;
            self.given += 1;
        }
        packet.identify(identity);
    }
}

impl Default for Packets {
    fn default() -> Packets {
        Packets::of_part(0, 1)
    }
}

/// Slots at the end of a slab that is to shrink.
#[derive(Clone, Copy, Debug)]
struct Retired {
    first: u32,
    /// Number of empty ones, which are on no list.
    empty: usize,
}

/// Least size to which a slab shrinks, in slots.
const KEPT: usize = 1024;

impl Packets {
    /// Creates the slab of a part of a world that has so many parts.
    pub fn of_part(part: u64, parts: u64) -> Packets {
        Packets {
            slots: Vec::new(),
            free: Vec::new(),
            retired: None,
            until_trim: 0,
            numbers: Numbers {
                given: 0,
                next: part,
                step: parts,
            },
        }
    }

    /// Inserts a packet.
    // Each packet is written once, directly into its slot: built elsewhere, it would be copied twice.
    #[inline(always)]
    pub fn insert(&mut self, packet: Packet) -> PacketId {
        let slot = self.free.pop().unwrap_or_else(|| self.find());
        let travelling = &mut self.slots[slot as usize];
        travelling.access = None;
        // A free slot needs no drop.
        core::mem::forget(core::mem::replace(&mut travelling.packet, packet));
        travelling.length = travelling.packet.wire_length();
        PacketId(slot)
    }

    /// Gives a packet that leaves `now` the next number and this way, unless it was sent before.
    #[inline]
    pub fn identify(&mut self, id: PacketId, now: Instant, way: Way) {
        let packet = &mut self.slots[id.0 as usize].packet;
        self.numbers.identify(now, packet, way);
    }

    /// Takes in a packet from another part of its world, as it was there.
    pub fn arrive(&mut self, travelling: Travelling) -> PacketId {
        let slot = self.free.pop().unwrap_or_else(|| self.find());
        // A free slot needs no drop.
        core::mem::forget(core::mem::replace(
            &mut self.slots[slot as usize],
            travelling,
        ));
        PacketId(slot)
    }

    /// Removes a packet that goes on in another part of its world.
    pub fn depart(&mut self, id: PacketId) -> Travelling {
        let (offered, link, access) = (self[id].offered, self[id].link, self[id].access);
        let (length, from) = (self[id].length, self[id].from);
        Travelling {
            offered,
            link,
            access,
            length,
            from,
            packet: self.remove(id),
        }
    }

    /// Takes over the packets of another part of the same world.
    pub fn take_over(&mut self, other: Packets) {
        let travelling = other.slots.into_iter().filter(|slot| slot.length != 0);
        self.slots.extend(travelling);
        self.numbers.given += other.numbers.given;
    }

    /// Gives a packet on no link yet the next number and this way, unless it was sent before.
    pub fn number(&mut self, now: Instant, packet: &mut Packet, way: Way) {
        self.numbers.identify(now, packet, way);
    }

    /// Makes room for a quarter more: doubling would leave half of the slab empty.
    fn grow(&mut self) {
        self.slots.reserve_exact(16.max(self.slots.len() / 4));
    }

    /// Removes a packet; its id may then be reused.
    ///
    /// # Panics
    /// Panics if the packet was removed before, which is a mistake in this crate.
    // Runs once per packet: an out-of-line call would cost half a percent of all instructions.
    #[inline(always)]
    pub fn remove(&mut self, id: PacketId) -> Packet {
        let travelling = &mut self[id];
        travelling.length = 0;
        let left = &mut travelling.packet;
        let packet = Packet {
            ip: left.ip,
            flow: left.flow,
            retransmission: left.retransmission,
            identity: left.identity,
            bit_errors: core::mem::take(&mut left.bit_errors),
            body: core::mem::replace(&mut left.body, FREE.packet.body),
        };
        match self.retired.is_some() {
            true => self.retire(id),
            false => self.free.push(id.0),
        }
        match self.until_trim.checked_sub(1) {
            Some(left) => self.until_trim = left,
            None => self.trim(),
        }
        packet
    }

    /// Takes back a slot of a shrinking slab.
    #[cold]
    fn retire(&mut self, id: PacketId) {
        match &mut self.retired {
            Some(retired) if retired.first <= id.0 => {
                retired.empty += 1;
                self.drop_retired();
            }
            _ => self.free.push(id.0),
        }
    }

    /// Shrinks a slab that is three quarters empty, as after all of a fleet have registered, to twice its contents: the
    /// slots beyond are not refilled, and go when the last of them is empty.
    #[cold]
    fn trim(&mut self) {
        let used = self.len();
        if self.slots.len() > KEPT.max(used * 4) && self.retired.is_none() {
            let first = KEPT.max(used * 2) as u32;
            let listed = self.free.len();
            self.free.retain(|&slot| slot < first);
            self.free.shrink_to_fit();
            self.retired = Some(Retired {
                first,
                empty: listed - self.free.len(),
            });
            self.drop_retired();
        }
        self.until_trim = self.slots.len().max(KEPT) / 8;
    }

    /// Drops retired slots when all of them are empty.
    fn drop_retired(&mut self) {
        if let Some(Retired { first, empty }) = self.retired
            && first as usize + empty == self.slots.len()
        {
            self.slots.truncate(first as usize);
            self.slots.shrink_to_fit();
            self.retired = None;
        }
    }

    /// Finds a slot when none is free: among the retired ones, or at the end.
    #[cold]
    fn find(&mut self) -> u32 {
        if let Some(Retired { first, .. }) = self.retired.take() {
            let retired = self.slots.iter().enumerate().skip(first as usize);
            let empty = retired.filter(|(_, slot)| slot.length == 0);
            self.free.extend(empty.map(|(slot, _)| slot as u32).rev());
        }
        self.free.pop().unwrap_or_else(|| {
            if self.slots.len() == self.slots.capacity() {
                self.grow();
            }
            self.slots.push(FREE);
            self.slots.len() as u32 - 1
        })
    }

    /// Frees the capacity reserved for more packets.
    pub fn shrink(&mut self) {
        self.slots.shrink_to_fit();
    }

    /// Returns the packets still under way, in the order of their places.
    pub fn iter(&self) -> impl Iterator<Item = &Travelling> {
        self.slots.iter().filter(|slot| slot.length != 0)
    }

    /// Returns the number of packets inserted so far; a packet inserted again, as behind a tunnel, counts once.
    pub fn numbered(&self) -> u64 {
        self.numbers.given
    }

    /// Returns the number of packets under way.
    pub fn len(&self) -> usize {
        let retired = self.retired.map_or(0, |retired| retired.empty);
        self.slots.len() - self.free.len() - retired
    }

    /// Returns true if no packet is under way.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl core::ops::Index<PacketId> for Packets {
    type Output = Travelling;
    #[inline]
    fn index(&self, id: PacketId) -> &Travelling {
        let travelling = &self.slots[id.0 as usize];
        assert!(travelling.length != 0, "a packet under way is in the slab");
        travelling
    }
}

impl core::ops::IndexMut<PacketId> for Packets {
    #[inline]
    fn index_mut(&mut self, id: PacketId) -> &mut Travelling {
        let travelling = &mut self.slots[id.0 as usize];
        assert!(travelling.length != 0, "a packet under way is in the slab");
        travelling
    }
}

/// A free slot.
const FREE: Travelling = Travelling {
    offered: Instant::ZERO,
    link: LinkNumber::new(0),
    access: None,
    length: 0,
    from: End::A,
    packet: Packet {
        ip: IpHeader {
            source: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            destination: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            hop_limit: 0,
            traffic_class: 0,
            identification: 0,
            dont_fragment: false,
        },
        flow: None,
        retransmission: false,
        bit_errors: BitErrors::NONE,
        identity: Identity::NONE,
        body: Body::Udp(
            UdpHeader {
                source_port: 0,
                destination_port: 0,
            },
            Payload::EMPTY,
        ),
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    fn packet() -> Packet {
        FREE.packet.clone()
    }

    fn insert(packets: &mut Packets) -> PacketId {
        let id = packets.insert(packet());
        packets.identify(id, Instant::ZERO, Way::ToSink);
        id
    }

    /// Returns the number of its slots twenty thousand packets later.
    fn slots_after(packets: &mut Packets, under_way: usize) -> usize {
        let mut ids: Vec<PacketId> = (0..under_way).map(|_| insert(packets)).collect();
        for _ in 0..20_000 {
            packets.remove(ids.remove(0));
            ids.push(insert(packets));
        }
        let slots = packets.slots.len();
        assert_eq!(packets.len(), packets.iter().count());
        ids.into_iter().for_each(|id| drop(packets.remove(id)));
        slots
    }

    #[test]
    fn a_slab_that_was_full_once_becomes_small_again_and_grows_again() {
        let mut packets = Packets::default();
        for _ in 0..2 {
            let all: Vec<PacketId> = (0..30_000).map(|_| insert(&mut packets)).collect();
            assert!(packets.slots.len() >= 30_000);
            // The packets that stay longest are at the end.
            all.into_iter().for_each(|id| drop(packets.remove(id)));
            assert!(packets.is_empty());
            let slots = slots_after(&mut packets, 1000);
            assert!((1000..=8000).contains(&slots), "{slots}");
        }
        assert_eq!(packets.numbered(), 2 * 51_000);
    }

    #[test]
    fn slots_that_are_to_go_are_filled_again_before_the_slab_grows() {
        let mut packets = Packets::default();
        let all: Vec<PacketId> = (0..10_000).map(|_| insert(&mut packets)).collect();
        let (first, last) = all.split_at(9_999);
        first.iter().for_each(|&id| drop(packets.remove(id)));
        assert!(packets.retired.is_some(), "the last one is still there");
        let again: Vec<PacketId> = (0..9_999).map(|_| insert(&mut packets)).collect();
        assert_eq!((packets.slots.len(), packets.len()), (10_000, 10_000));
        let mut places: Vec<PacketId> = again.into_iter().chain([last[0]]).collect();
        places.sort();
        places.dedup();
        assert_eq!(places.len(), 10_000, "each has a slot of its own");
    }
}
