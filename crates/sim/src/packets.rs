//! The packets of a world in a slab: links and events hold a four-byte id instead of a packet.

use baton_proto::packet::Packet;

/// Where a packet lies in the slab, until it is taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PacketId(u32);

/// All packets under way.
#[derive(Debug, Default)]
pub struct Packets {
    slots: Vec<Option<Packet>>,
    free: Vec<u32>,
}

impl Packets {
    /// Puts a packet in.
    pub fn insert(&mut self, packet: Packet) -> PacketId {
        match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = Some(packet);
                PacketId(slot)
            }
            None => {
                self.slots.push(Some(packet));
                PacketId(self.slots.len() as u32 - 1)
            }
        }
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
    }

    /// Number of packets in the slab.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl core::ops::Index<PacketId> for Packets {
    type Output = Packet;
    fn index(&self, id: PacketId) -> &Packet {
        self.slots[id.0 as usize]
            .as_ref()
            .expect("a packet under way is in the slab")
    }
}

impl core::ops::IndexMut<PacketId> for Packets {
    fn index_mut(&mut self, id: PacketId) -> &mut Packet {
        self.slots[id.0 as usize]
            .as_mut()
            .expect("a packet under way is in the slab")
    }
}
