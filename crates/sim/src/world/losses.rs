//! Signalling messages that the scenario lets be lost.

use super::World;
use crate::link::{DropReason, Fate, Outcome};
use crate::packets::PacketId;
use baton_proto::host::InterfaceId;

impl World {
    /// Whether the scenario lets this message, which a host sends, be lost; it then counts as one of those.
    #[inline(never)]
    pub(super) fn is_to_be_lost(&mut self, id: PacketId) -> bool {
        let Some(signal) = self.packets[id].packet.signal() else {
            return false;
        };
        let buffering = signal.details.split(", ").any(|detail| detail == "buffer");
        let now = self.now;
        let loss = self.losses.iter_mut().find(|loss| {
            loss.message == signal.name
                && loss.buffering.is_none_or(|asked| asked == buffering)
                && loss.after <= now
                && loss.left != Some(0)
        });
        if let Some(loss) = loss {
            loss.left = loss.left.map(|left| left - 1);
            return true;
        }
        false
    }

    /// A message is lost on the link behind its sender's interface.
    pub(super) fn lose_at_sender(&mut self, node: usize, interface: InterfaceId, id: PacketId) {
        let (link, from) = self.nodes[node].interfaces[interface.0];
        let travelling = &mut self.packets[id];
        travelling.offered = self.now;
        travelling.link = link as u32;
        travelling.from = from;
        if let Some(captures) = &mut self.captures {
            captures.sent(self.now, link, from, &travelling.packet);
        }
        let fate = Fate {
            packet: id,
            from,
            at: self.now,
            outcome: Outcome::Dropped(DropReason::Scenario),
        };
        self.handle_fate(link, fate);
    }
}
