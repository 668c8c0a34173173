//! IP packets at the nodes where they enter and leave mobile ad hoc networks.

use super::World;
use crate::link::End;
use crate::link::ad_hoc::Exit;
use crate::packets::PacketId;
use baton_proto::packet::Packet;
use baton_proto::wire::aeronp::TranslatedHeader;
use core::net::Ipv4Addr;

impl World {
    /// Translates the IP header of a packet that enters a network at this end, if the link translates and this packet can be.
    pub(super) fn translated(
        &self,
        (link, from): (usize, End),
        packet: &Packet,
    ) -> Option<TranslatedHeader> {
        let translates = self.net.wires.plain(link).link.translates();
        let nodes = translates.then(|| self.way_through((link, from)))?;
        TranslatedHeader::of(packet, nodes)
    }

    /// Writes the IP header of a packet that leaves a network, as the last node does.
    #[cold]
    pub(super) fn leave_network(&mut self, (link, from): (usize, End), id: PacketId, exit: &Exit) {
        let nodes = self.way_through((link, from));
        let packet = &mut self.net.packets[id].packet;
        if let Some(translated) = exit.translated {
            packet.ip = translated.ip(nodes);
        }
        if exit.congestion {
            packet.ip.mark_congestion();
        }
        if exit.corruption {
            packet.bit_errors.indicate();
        }
    }

    /// Returns the addresses of the nodes at which packets from an end enter and leave a network.
    fn way_through(&self, (link, from): (usize, End)) -> [Ipv4Addr; 2] {
        let ends = self.net.wires.ends(link);
        [from, from.other()].map(|end| {
            let (node, _) = ends[end.index()];
            self.net.directory.ipv4(&self.scenario, node)
        })
    }
}
