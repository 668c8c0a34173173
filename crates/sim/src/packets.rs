//! The packets of a world in a slab: links and events hold a four-byte id instead of a packet.

use crate::link::End;
use baton_proto::packet::Packet;
use baton_proto::time::Instant;

/// Where a packet lies in the slab, until it is taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PacketId(pub u32);

/// A packet under way. What every hop reads or writes stands first, near the packet's IP header.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Travelling {
    /// Running number of the packet in its world, from zero.
    pub number: u64,
    /// Bytes of the packet, which every hop asks for.
    pub length: u32,
    /// When it was offered to the link that it is on.
    pub offered: Instant,
    /// The link that it is on, by its place in the scenario, and the end at which it was offered.
    pub on: (usize, End),
    /// The mobile's access link that it has crossed, if any.
    pub access: Option<usize>,
    /// The packet.
    pub packet: Packet,
}

/// All packets under way.
#[derive(Debug, Default)]
pub struct Packets {
    slots: Vec<Option<Travelling>>,
    free: Vec<u32>,
    inserted: u64,
}

impl Packets {
    /// Puts a packet in.
    pub fn insert(&mut self, packet: Packet) -> PacketId {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() as u32 - 1
        });
        self.slots[slot as usize] = Some(Travelling {
            number: self.inserted,
            length: packet.wire_length(),
            offered: Instant::ZERO,
            on: (0, End::A),
            access: None,
            packet,
        });
        self.inserted += 1;
        PacketId(slot)
    }

    /// Takes a packet out; its id may then be given to another.
    ///
    /// # Panics
    /// If the packet has been taken out before, which is a mistake in this crate.
    pub fn remove(&mut self, id: PacketId) -> Packet {
        self.free.push(id.0);
        self.slots[id.0 as usize]
            .take()
            .expect("a packet is taken out once")
            .packet
    }

    /// The packets still under way, in the order of their places.
    pub fn iter(&self) -> impl Iterator<Item = &Travelling> {
        self.slots.iter().flatten()
    }

    /// Number of packets put in so far.
    pub fn inserted(&self) -> u64 {
        self.inserted
    }

    /// Number of packets under way.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl core::ops::Index<PacketId> for Packets {
    type Output = Travelling;
    fn index(&self, id: PacketId) -> &Travelling {
        self.slots[id.0 as usize]
            .as_ref()
            .expect("a packet under way is in the slab")
    }
}

impl core::ops::IndexMut<PacketId> for Packets {
    fn index_mut(&mut self, id: PacketId) -> &mut Travelling {
        self.slots[id.0 as usize]
            .as_mut()
            .expect("a packet under way is in the slab")
    }
}
