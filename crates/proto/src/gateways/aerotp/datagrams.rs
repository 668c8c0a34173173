//! UDP across the link: without state, or as records of a connection.

use super::{AerotpGateway, Near, Pair, Splice, end};
use crate::aerotp::{Coding, Configuration};
use crate::host::AerotpDatagram;
use crate::host::layer::{Around, Step};
use crate::packet::{Body, FlowId, Packet, Payload};
use crate::time::Instant;
use crate::wire::aerotp::{AerotpPacket, Condition, Mode, Protection};
use crate::wire::udp::UdpHeader;
use core::net::IpAddr;

impl AerotpGateway {
    /// Takes in a datagram from this side; returns false if there is no room for it.
    pub(super) fn take_datagram(
        &mut self,
        now: Instant,
        around: &mut Around<'_>,
        packet: Packet,
    ) -> bool {
        let (source, destination, flow) = (packet.ip.source, packet.ip.destination, packet.flow);
        let Body::Udp(header, payload) = &packet.body else {
            return false;
        };
        let ends = (
            end(source, header.source_port),
            end(destination, header.destination_port),
        );
        if !self.splices.contains_key(&ends) {
            let Some(rule) = self.rule(&packet, header.destination_port) else {
                return true;
            };
            let configuration = self.rules[rule].configuration.clone();
            if configuration.mode == Mode::UnreliableDatagram {
                return self.queue_datagram(now, around, &configuration, packet);
            }
            let aerotp = self.connection(now, around, &ends, configuration, true);
            let rule = self.rules[rule].clone();
            let splice = Splice::new(now, ends, aerotp, Near::Udp, rule, flow);
            self.add_splice(now, around, splice);
        }
        let Some(splice) = self.splices.get_mut(&ends) else {
            return true;
        };
        splice.last_datagram = now;
        splice.near_spoke = true;
        let has_room = splice.write_datagram(payload, self.links.longest_queue());
        self.discards.datagrams += u64::from(!has_room);
        self.touched.insert(ends);
        has_room
    }

    /// Adds a datagram without a connection to those that wait for a link; returns false if there is no room for it.
    fn queue_datagram(
        &mut self,
        now: Instant,
        around: &mut Around<'_>,
        configuration: &Configuration,
        packet: Packet,
    ) -> bool {
        let (source, destination) = (packet.ip.source, packet.ip.destination);
        let Body::Udp(header, payload) = packet.body else {
            return false;
        };
        let across = AerotpDatagram {
            source_port: header.source_port,
            to: end(destination, header.destination_port),
            class: configuration.class,
            // In this mode no report of the channel's state arrives.
            protection: match configuration.coding {
                Coding::Fixed(protection) => protection,
                Coding::Adaptive => Protection::default(),
            },
            payload,
        };
        let body = Body::Aerotp(Box::new(across.into_packet(now)));
        let packet = around
            .origin
            .packet((source, destination), body, packet.flow);
        self.wait(now);
        let has_room = self.turns.add_datagram(configuration.class, packet);
        self.discards.datagrams += u64::from(!has_room);
        has_room
    }

    /// Passes on a stateless datagram from the other gateway; returns false if it is damaged.
    pub(super) fn pass_datagram(
        &mut self,
        around: &mut Around<'_>,
        packet: AerotpPacket,
        (source, destination): (IpAddr, IpAddr),
        flow: Option<FlowId>,
    ) -> bool {
        if matches!(packet.condition, Condition::Damaged(_)) {
            self.discarded.damaged += 1;
            return false;
        }
        let from = end(source, packet.header.source_port);
        let to = end(destination, packet.header.destination_port);
        self.send_datagram(around, (from, to), packet.payload, flow);
        true
    }

    /// Sends a datagram in another host's name.
    pub(super) fn send_datagram(
        &mut self,
        around: &mut Around<'_>,
        (from, to): Pair,
        payload: Payload,
        flow: Option<FlowId>,
    ) {
        let header = UdpHeader {
            source_port: from.port,
            destination_port: to.port,
        };
        let body = Body::Udp(header, payload);
        let packet = around.origin.packet((from.address, to.address), body, flow);
        self.outbox.push_back(Step::Originate(packet));
    }
}
