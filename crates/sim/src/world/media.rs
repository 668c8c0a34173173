//! What media say to the nodes at their ends, and how it gets there.

use super::World;
use crate::link::End;
use crate::link::config::{LinkConfig, QueueLimit};
use baton_proto::interface::{LinkEvent, LinkParameters};
use baton_proto::rate::DataRate;
use baton_proto::time::Duration;

/// A full packet, where no smaller one fits the link.
const FULL_PACKET: u32 = 1500;

impl World {
    /// Delivers what a medium says to the node at one of its ends, and lets that answer.
    pub(super) fn tell_end(&mut self, link: usize, end: End, event: LinkEvent) {
        let (node, interface) = self.wires[link].ends[end.index()];
        let host = &mut self.nodes[node].host;
        host.handle_link(self.now, interface, event);
        self.pump(node);
    }

    /// Lets each medium say at both ends what it carries, before anything happens.
    pub(super) fn introduce_links(&mut self) {
        for wire in &self.wires {
            let at_a = parameters(wire.link.config(), End::A);
            for ((node, interface), said) in
                wire.ends.into_iter().zip([at_a, at_a.from_other_end()])
            {
                let host = &mut self.nodes[node].host;
                host.handle_link(self.now, interface, LinkEvent::Parameters(said));
            }
        }
    }

    /// A link carries something else now, and says so at both ends.
    pub(super) fn report_parameters(&mut self, link: usize) {
        for end in End::ALL {
            let said = parameters(self.wires[link].link.config(), end);
            self.tell_end(link, end, LinkEvent::Parameters(said));
        }
    }

    /// A change has turned a link, or has given it other parameters: it says at both ends whether packets pass. Mobiles and their
    /// access links have signals of their own ([`signal`](Self::signal)).
    pub(super) fn report_state(&mut self, link: usize) {
        let wire = &self.wires[link];
        let event = match wire.works {
            true => LinkEvent::Up,
            false => LinkEvent::Down,
        };
        let ends = wire.ends;
        if wire.mobile.is_some() {
            return;
        }
        for end in End::ALL {
            if self.mobile_at(ends[end.index()].0).is_none() {
                self.tell_end(link, end, event);
            }
        }
    }
}

/// What a link carries, seen from an end.
pub(super) fn parameters(config: &LinkConfig, end: End) -> LinkParameters {
    LinkParameters {
        outgoing: packet_rate(config, end),
        incoming: packet_rate(config, end.other()),
        round_trip: config.round_trip_delay(),
        outgoing_queue: Some(queue_packets(config, end)),
        incoming_queue: Some(queue_packets(config, end.other())),
        mtu: config.mtu,
    }
}

/// Full packets that wait at most where they enter at an end.
fn queue_packets(config: &LinkConfig, from: End) -> u32 {
    match config.direction(from.index()).queue.limit {
        QueueLimit::Packets(packets) => packets,
        QueueLimit::Bytes(bytes) => {
            let packets = bytes / u64::from(FULL_PACKET.min(config.mtu));
            u32::try_from(packets).unwrap_or(u32::MAX)
        }
    }
}

/// Rate of full packets that enter at an end, what the link adds to them included in their time.
pub(super) fn packet_rate(config: &LinkConfig, from: End) -> DataRate {
    let length = FULL_PACKET.min(config.mtu);
    let time = config.service_time(from, length).unwrap_or(Duration::MAX);
    let bits = u128::from(length) * 8 * 1_000_000_000;
    let rate = bits / u128::from(time.as_nanos().max(1));
    DataRate::from_bits_per_second(u64::try_from(rate).unwrap_or(u64::MAX))
}
