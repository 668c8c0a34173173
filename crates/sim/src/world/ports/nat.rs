//! Translators of addresses at the network's end of a real mobile's access links.

use crate::link::End;
use crate::packets::PacketId;
use crate::world::World;
use baton_proto::nat::{Nat, Refused};

/// A translator on an access link. It costs no hop: what its node sends over the link passes it at once.
#[derive(Debug)]
pub(in super::super) struct AccessNat {
    pub nat: Nat,
    /// The link's end in the network.
    pub end: End,
}

impl World {
    /// Packets that translators have refused so far, all together.
    pub fn refused_by_nat(&self) -> Refused {
        let mut sum = Refused::default();
        for translator in self.net.wires.iter().filter_map(|wire| wire.nat.as_ref()) {
            let refused = translator.nat.refused();
            sum.unmapped += refused.unmapped;
            sum.hairpin += refused.hairpin;
            sum.unsupported += refused.unsupported;
            sum.out_of_ports += refused.out_of_ports;
        }
        sum
    }

    /// Lets a link's translator, if it has one, see a packet that is offered at `end`; says whether the packet
    /// goes on.
    pub(in super::super) fn translate_offered(
        &mut self,
        link: usize,
        end: End,
        id: PacketId,
    ) -> bool {
        match &mut self.net.wires[link].nat {
            Some(translator) if translator.end == end => {
                let packet = &mut self.net.packets[id].packet;
                translator.nat.translate_in(self.now, packet)
            }
            _ => true,
        }
    }

    /// The same with a packet that has come over the link from `end`.
    pub(in super::super) fn translate_delivered(
        &mut self,
        link: usize,
        end: End,
        id: PacketId,
    ) -> bool {
        match &mut self.net.wires[link].nat {
            Some(translator) if translator.end != end => {
                let packet = &mut self.net.packets[id].packet;
                translator.nat.translate_out(self.now, packet)
            }
            _ => true,
        }
    }
}
