//! UDP across the link: without state, or as records of a connection.

use super::{Near, Pair, Splice, end};
use crate::aerotp::{self, Coding};
use crate::host::{AerotpDatagram, Host, mtu_towards};
use crate::packet::{Body, FlowId, Packet, Payload};
use crate::time::Instant;
use crate::wire::aerotp::{AerotpPacket, Condition, Mode, Protection};
use crate::wire::udp::UdpHeader;
use core::net::IpAddr;

impl Host {
    /// A datagram from this side.
    pub(super) fn take_datagram(&mut self, now: Instant, packet: Packet) {
        let (source, destination, flow) = (packet.ip.source, packet.ip.destination, packet.flow);
        let Body::Udp(header, payload) = &packet.body else {
            return;
        };
        let ends = (
            end(source, header.source_port),
            end(destination, header.destination_port),
        );
        let mtu = mtu_towards(&self.routes, &self.interface_mtus, destination);
        let Some(gateway) = self.aerotp_gateway_mut() else {
            return;
        };
        if !gateway.splices.contains_key(&ends) {
            let Some(rule) = gateway.rule(&packet, header.destination_port) else {
                return;
            };
            let configuration = gateway.rules[rule].configuration.clone();
            if configuration.mode == Mode::UnreliableDatagram {
                let across = AerotpDatagram {
                    source_port: header.source_port,
                    to: ends.1,
                    class: configuration.class,
                    // Nobody answers, so nobody says what the channel does.
                    protection: match configuration.coding {
                        Coding::Fixed(protection) => protection,
                        Coding::Adaptive => Protection::default(),
                    },
                    payload: payload.clone(),
                };
                let body = Body::Aerotp(Box::new(across.into_packet(now)));
                let packet = self.packet((source, destination), body, flow);
                self.outbox.push_back(packet);
                return;
            }
            let identity = gateway.identity(now, &ends);
            let addresses = (source, destination);
            let aerotp = aerotp::Connection::connect(now, configuration, identity, addresses, mtu);
            self.add_splice(ends, Splice::new(now, aerotp, Near::Udp, (rule, flow)));
        }
        let Some(gateway) = self.aerotp_gateway_mut() else {
            return;
        };
        let Some(splice) = gateway.splices.get_mut(&ends) else {
            return;
        };
        splice.last_datagram = now;
        let has_room = splice.aerotp.write_record(payload);
        gateway.discards.datagrams += u64::from(!has_room);
        gateway.touched.insert(ends);
        self.accepted = has_room;
    }

    /// A datagram without state, from the other gateway.
    pub(super) fn pass_datagram(
        &mut self,
        packet: AerotpPacket,
        (source, destination): (IpAddr, IpAddr),
        flow: Option<FlowId>,
    ) {
        if matches!(packet.condition, Condition::Damaged(_)) {
            return self.count_damaged();
        }
        let from = end(source, packet.header.source_port);
        let to = end(destination, packet.header.destination_port);
        self.send_datagram((from, to), packet.payload, flow);
    }

    /// Sends a datagram in the name of another.
    pub(super) fn send_datagram(
        &mut self,
        (from, to): Pair,
        payload: Payload,
        flow: Option<FlowId>,
    ) {
        let header = UdpHeader {
            source_port: from.port,
            destination_port: to.port,
        };
        let body = Body::Udp(header, payload);
        let packet = self.packet((from.address, to.address), body, flow);
        self.outbox.push_back(packet);
    }
}
