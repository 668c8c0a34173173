//! What is learnt of conversations between real hosts from their packets.

use super::World;
use baton_proto::packet::Packet;

impl World {
    /// A real host has sent a packet, which no link has yet: sets its flow, and whether it was sent before.
    pub(super) fn observe_sent(&mut self, _node: usize, _packet: &mut Packet) {}

    /// A packet has come to a real host; `number` is the same as on every link that it crossed.
    pub(super) fn observe_delivered(&mut self, _node: usize, _number: u64, _packet: &Packet) {}
}
