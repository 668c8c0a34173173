//! Events of media and their delivery to the nodes at their ends.

use super::{Net, World};
use crate::link::End;
use crate::link::config::{LinkConfig, QueueLimit};
use crate::link::regulator::Waiting;
use crate::packets::PacketId;
use baton_proto::interface::{LinkEvent, LinkParameters, QueueStatus, TransmitStatus};
use baton_proto::packet::Wording;
use baton_proto::rate::DataRate;
use baton_proto::time::Duration;

/// A full packet, on links with no smaller MTU.
const FULL_PACKET: u32 = 1500;

impl World {
    /// Delivers a medium's event to the node at one of its ends, and lets the node answer.
    pub(super) fn tell_end(&mut self, link: usize, end: End, event: LinkEvent) {
        let (node, interface) = self.net.wires.ends(link)[end.index()];
        let host = &mut self.net.nodes[node].host;
        host.handle_link(self.now, interface, event);
        self.pump(node);
    }

    /// Lets access links report their events to the network's ends.
    pub(super) fn tell_networks(&mut self) {
        for (link, event) in core::mem::take(&mut self.net.to_tell) {
            self.tell_network(link, event);
        }
    }

    /// Reports an event that concerns the mobile to the network's end of an access link: at a base station, as an event of one of the hosts
    /// in its cell. The departure of a mobile that has not arrived is not reported.
    pub(super) fn tell_network(&mut self, link: usize, event: LinkEvent) {
        let Some(number) = self.net.wires[link].mobile() else {
            return;
        };
        let event = match event {
            LinkEvent::CellGoingDown => LinkEvent::GoingDown,
            event => event,
        };
        let told_up = &mut self.net.wires[link].told_up;
        let is_news = match event {
            LinkEvent::Up => {
                *told_up = true;
                true
            }
            LinkEvent::Down => core::mem::take(told_up),
            LinkEvent::GoingDown | LinkEvent::Rollback => *told_up,
            _ => false,
        };
        if !is_news {
            return;
        }
        let node = self.net.mobiles[number].node.0;
        let (router, interface) = self.net.wires.far_from(link, node);
        let protocol = self.net.mobiles[number].protocol.as_ref();
        if protocol.is_some_and(|own| own.told || event != LinkEvent::Up) {
            self.record_link_signal(router, link, event);
        }
        let neighbor = self.neighbor(number, link);
        let host = &mut self.net.nodes[router].host;
        host.handle_neighbor(self.now, interface, event, neighbor);
        match self.net.wires.place(link) {
            Some(_) => self.pump(router),
            None => self.tell_end(link, self.net.wires.end_across(link, node), event),
        }
    }

    /// Delivers the status of a packet to the node that has given it to a medium.
    pub(super) fn tell_status(
        &mut self,
        link: usize,
        end: End,
        id: PacketId,
        status: TransmitStatus,
    ) {
        let (node, interface) = self.net.wires.ends(link)[end.index()];
        let packet = &self.net.packets[id].packet;
        let host = &mut self.net.nodes[node].host;
        if host.handle_transmit_status(self.now, interface, packet, status) {
            self.pump(node);
        }
    }

    /// Reports a packet offered to a link, with the rate at which the link's queue is served if that is more than half full.
    #[cold]
    pub(super) fn tell_queued(&mut self, link: usize, end: End, id: PacketId) {
        self.net.touch(link);
        let link_state = &mut self.net.wires.plain_mut(link).link;
        link_state.catch_up(self.now);
        let config = link_state.config();
        let (packets, bytes) = link_state.queue(end);
        let limit = config.direction(end.index()).queue.limit;
        let is_half_full = limit.is_half_full(packets, bytes);
        let pressure = is_half_full.then(|| packet_rate(config, end));
        self.tell_status(link, end, id, TransmitStatus::Queued { pressure });
    }

    /// Reports the failed attempts of a link with retransmission.
    #[cold]
    pub(super) fn tell_failures(&mut self, link: usize) {
        while let Some((from, packet)) = self.net.wires.plain_mut(link).link.poll_failure(self.now)
        {
            if self.net.wires[link].interests[from.index()].failed_attempts {
                self.tell_status(link, from, packet, TransmitStatus::AttemptFailed);
            }
        }
    }

    /// Reports the new state of a queue at a link's entrance to the node that feeds the link, and records it.
    fn tell_queue(&mut self, link: usize, waiting: &Waiting) {
        let config = self.net.wires.config(link);
        let status = QueueStatus {
            queue: waiting.number,
            packets: waiting.packets,
            capacity_packets: full_packets(waiting.limit, config.mtu),
            round_trip: config.round_trip_delay(),
        };
        let (node, interface) = self.net.wires.ends(link)[waiting.from.index()];
        let details = format!(
            "QID {}, {} of {} packets",
            status.queue, status.packets, status.capacity_packets
        );
        for &flow in &waiting.flows {
            let event = LinkEvent::QueueStatus(flow, status);
            let host = &mut self.net.nodes[node].host;
            host.handle_link(self.now, interface, event);
        }
        self.record_link(node, link, Wording::new("SI-C-QUEUE_STATUS", details));
        self.pump(node);
    }

    /// Reports the queues at a link's entrance that have new states.
    #[cold]
    pub(super) fn tell_queues(&mut self, link: usize) {
        while let Some(waiting) = self.net.wires.plain_mut(link).link.poll_queue_report() {
            self.tell_queue(link, &waiting);
        }
    }

    /// Lets each medium report its parameters at both ends, before anything happens.
    pub(super) fn introduce_links(&mut self) {
        let between_nodes = self.net.wires.ends_with_configs();
        let between_nodes = between_nodes.flat_map(|(ends, config)| {
            let at_a = parameters(config, End::A);
            ends.into_iter().zip([at_a, at_a.from_other_end()])
        });
        let at_base_stations = self.net.wires.cells();
        let at_base_stations =
            at_base_stations.map(|(end, config)| (end, parameters(config, End::A)));
        for ((node, interface), said) in between_nodes.chain(at_base_stations) {
            let host = &mut self.net.nodes[node].host;
            host.handle_link(self.now, interface, LinkEvent::Parameters(said));
        }
    }

    /// Reports the parameters of a cell to an aircraft that comes into it.
    pub(super) fn report_cell(&mut self, link: usize) {
        let said = parameters(self.net.wires.config(link), End::B);
        let [_, (node, interface)] = self.net.wires.ends(link);
        let host = &mut self.net.nodes[node].host;
        host.handle_link(self.now, interface, LinkEvent::Parameters(said));
    }

    /// Reports a link's new parameters at both ends.
    pub(super) fn report_parameters(&mut self, link: usize) {
        for end in End::ALL {
            let said = parameters(self.net.wires.config(link), end);
            self.tell_end(link, end, LinkEvent::Parameters(said));
        }
    }

    /// Reports at both ends of a link whether packets pass, after a change of its state or its parameters. Mobiles and their
    /// access links have signals of their own ([`signal`](Self::signal)).
    pub(super) fn report_state(&mut self, link: usize) {
        let wire = &self.net.wires[link];
        let event = match wire.works {
            true => LinkEvent::Up,
            false => LinkEvent::Down,
        };
        let ends = wire.present_ends();
        if wire.mobile().is_some() {
            return;
        }
        for end in End::ALL {
            if self.net.mobile_at(ends[end.index()].0).is_none() {
                self.tell_end(link, end, event);
            }
        }
    }
}

/// Returns the parameters of a link, seen from an end.
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

/// Returns the capacity of the queue at an end in full packets.
fn queue_packets(config: &LinkConfig, from: End) -> u32 {
    full_packets(config.direction(from.index()).queue.limit, config.mtu)
}

/// Returns the number of full packets that a queue holds.
fn full_packets(limit: QueueLimit, mtu: u32) -> u32 {
    match limit {
        QueueLimit::Packets(packets) => packets,
        QueueLimit::Bytes(bytes) => {
            let packets = bytes / u64::from(FULL_PACKET.min(mtu));
            u32::try_from(packets).unwrap_or(u32::MAX)
        }
    }
}

/// Returns the rate of full packets that enter at an end, with the link's overhead included in their time.
pub(super) fn packet_rate(config: &LinkConfig, from: End) -> DataRate {
    let length = FULL_PACKET.min(config.mtu);
    let time = config.service_time(from, length).unwrap_or(Duration::MAX);
    let bits = u128::from(length) * 8 * 1_000_000_000;
    let rate = bits / u128::from(time.as_nanos().max(1));
    DataRate::from_bits_per_second(u64::try_from(rate).unwrap_or(u64::MAX))
}

impl Net {
    /// Returns the rate of full packets over a link, the lower one of both directions.
    pub(crate) fn packet_rate(&self, link: usize) -> DataRate {
        let config = self.wires.config(link);
        let rates = End::ALL.map(|from| packet_rate(config, from));
        rates[0].min(rates[1])
    }

    /// Lets an access link report an event of the mobile to the network's end after all that the mobile's node does now.
    pub(super) fn tell_network_later(&mut self, link: usize, event: LinkEvent) {
        self.to_tell.push((link, event));
    }

    /// Notes at each end of each link which statuses the node there asks for.
    pub(super) fn subscribe_to_media(&mut self) {
        for wire in self.wires.all_plain_mut() {
            let nodes = &self.nodes;
            let ask = |(node, _): (usize, _)| nodes[node].host.status_interests();
            wire.interests = wire.present_ends().map(ask);
        }
    }
}
