//! What waits at IP before a link that its mobile has left takes the new way: the flow control between IP and link that study T
//! asks for (section 7.2.3).

use super::super::World;
use crate::link::{DropReason, End, Fate, Outcome};
use crate::packets::PacketId;

impl World {
    /// Sends what waits at IP before the links that a mobile has left that way where the routes of the nodes at their ends lead
    /// now. The mobile's own waits on as long as its packets take the old link.
    pub(super) fn reroute(&mut self, number: usize) {
        for link in self.links_of(self.mobiles[number].node) {
            let wire = &self.wires[link];
            if wire.mobile != Some(number) || !wire.reroutes {
                continue;
            }
            let mobile = &self.mobiles[number];
            let outgoing = mobile.outgoing == Some(link);
            let moving = wire
                .present_ends()
                .map(|(node, _)| node != mobile.node.0 || !outgoing);
            self.wires[link].reroutes = outgoing;
            for end in [End::A, End::B] {
                if moving[end.index()] {
                    self.reroute_end(link, end);
                }
            }
            self.touch(link);
        }
    }

    fn reroute_end(&mut self, link: usize, end: End) {
        let (node, _) = self.wires.ends(link)[end.index()];
        for id in self.wires[link].link.take_from_ip(self.now, end) {
            let travelling = &self.packets[id];
            let host = &mut self.nodes[node].host;
            match host.route_again(self.now, &travelling.packet, travelling.length) {
                Some(interface) => self.offer(node, interface, id),
                None => self.discard_waiting((link, end), id),
            }
        }
        self.pump(node);
    }

    /// A packet that waited has no other way.
    fn discard_waiting(&mut self, (link, from): (usize, End), packet: PacketId) {
        let fate = Fate {
            packet,
            from,
            at: self.now,
            outcome: Outcome::Dropped(DropReason::Discarded),
        };
        self.handle_fate(link, fate);
    }
}
