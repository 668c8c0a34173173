//! A base station's part in explicit bad state notification: the node at whose end a link has failed to pass a segment on tells
//! the segment's sender.

use super::World;
use crate::link::End;
use crate::packets::PacketId;
use baton_proto::packet::Body;
use baton_proto::remedies::{Kind, Scheme};

impl World {
    /// Tells the senders of what a link has failed to get across, where a remedy of the flow listens.
    #[cold]
    pub(super) fn tell_of_failures(&mut self, link: usize) {
        while let Some((from, packet)) = self.wires[link].link.poll_failure(self.now) {
            self.tell_of_bad_state(link, from, packet);
        }
    }

    fn tell_of_bad_state(&mut self, link: usize, from: End, id: PacketId) {
        let packet = &self.packets[id].packet;
        let carries_data = matches!(&packet.body, Body::Tcp(_, payload) if payload.length() > 0);
        let hears = packet.flow.is_some_and(|flow| {
            let remedies = &self.flows[flow.0 as usize].spec.remedies;
            remedies.contains(&Scheme::Published(Kind::Ebsn))
        });
        if carries_data && hears {
            let (node, _) = self.wires[link].ends[from.index()];
            let host = &mut self.nodes[node].host;
            host.notify_of_bad_state(self.now, packet);
            self.pump(node);
        }
    }
}
