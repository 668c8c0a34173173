//! Signalling messages that the scenario lets be lost.

use super::World;
use crate::link::{DropReason, End, Fate, Outcome};
use crate::mobility::says_buffer;
use crate::packets::PacketId;

impl World {
    /// Returns true if the scenario lets this message of a host be lost; counts the message.
    #[inline(never)]
    pub(super) fn is_to_be_lost(&mut self, id: PacketId) -> bool {
        let packet = &self.net.packets[id].packet;
        let Some(signal) = packet.signal() else {
            return false;
        };
        let buffering = says_buffer(packet);
        let now = self.now;
        let loss = self.script.losses.iter_mut().find(|loss| {
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

    /// Loses a message on the link by which its sender sends it.
    pub(super) fn lose_at_sender(&mut self, (link, from): (usize, End), id: PacketId) {
        self.leave(link, from, id);
        let fate = Fate {
            packet: id,
            from,
            at: self.now,
            outcome: Outcome::Dropped(DropReason::Scenario),
        };
        self.handle_fate(link, fate);
    }
}
