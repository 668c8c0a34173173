//! What leaves a host: what its agents, its transports and itself want sent.

use super::agents::Step;
use super::{HOP_LIMIT, Host, InterfaceId};
use crate::packet::{BitErrors, Body, CodePoint, FlowId, IpHeader, Packet};
use crate::time::Instant;
use crate::wire::icmp::IcmpError;
use core::net::IpAddr;

impl Host {
    /// The next packet to send and where.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<(InterfaceId, Packet)> {
        if self.agents.is_some() {
            self.work_splices(now);
        }
        loop {
            if self.agents.is_some()
                && let Some(outgoing) = self.poll_agents(now)
            {
                return Some(outgoing);
            }
            let mut packet = match self.outbox.pop_front() {
                Some(packet) => packet,
                None => {
                    let Some(outgoing) = self.sockets.poll_transmit(now) else {
                        self.queue_aerotp(now)?;
                        continue;
                    };
                    let mut packet = self.packet(
                        (outgoing.local.address, outgoing.remote.address),
                        Body::Tcp(outgoing.segment.header, outgoing.segment.payload),
                        outgoing.flow,
                    );
                    packet.retransmission = outgoing.segment.retransmission;
                    match self.agents.as_ref().and_then(|agents| agents.path.as_ref()) {
                        Some(path) => path.handle_outgoing(packet),
                        None => packet,
                    }
                }
            };
            if let Some(agents) = &mut self.agents {
                match agents.handle_outgoing(now, packet) {
                    Some(addressed) => packet = addressed,
                    None => continue,
                }
            }
            match self.route_own(&packet) {
                Ok(InterfaceId::AGENT) => self.leave_to_agent(now, packet),
                Ok(interface) => return Some((interface, packet)),
                Err(error) => self.tell_own(now, packet, error),
            }
        }
    }

    /// Whether [`poll_transmit`](Self::poll_transmit) may have something again after it has given `None`: a socket to which an
    /// agent has handed a packet meanwhile answers without an event.
    pub fn may_transmit(&self) -> bool {
        !self.outbox.is_empty()
            || self.sockets.may_transmit()
            || self
                .aerotp
                .as_ref()
                .is_some_and(|aerotp| aerotp.may_transmit())
            || self
                .aerotp_gateway()
                .is_some_and(|gateway| gateway.has_work())
    }

    /// Does what this host's agents want done with packets, up to the next one that leaves.
    #[cold]
    fn poll_agents(&mut self, now: Instant) -> Option<(InterfaceId, Packet)> {
        loop {
            let (route, packet) = match self.agents.as_mut()?.poll_step()? {
                Step::Deliver(packet) => {
                    self.deliver(now, packet);
                    continue;
                }
                Step::Originate(packet) => {
                    self.outbox.push_back(packet);
                    continue;
                }
                Step::Tell(error, quoted) => {
                    self.tell(now, error, quoted);
                    continue;
                }
                // What a tunnel has brought, to another address than the home agent's.
                Step::Forward(packet) if self.is_own(packet.ip.destination) => {
                    self.offer_to_agents(now, InterfaceId::AGENT, packet);
                    continue;
                }
                // To a home link that there is not.
                Step::Send(InterfaceId::AGENT, _) => continue,
                Step::Send(interface, packet) => {
                    (self.fit(interface, packet.wire_length()), packet)
                }
                Step::Forward(packet) => (self.route_out(&packet, packet.wire_length()), packet),
            };
            // It may be this host's own home agent that says where a mobile is.
            if let Some(path) = self.path_mut() {
                path.learn_binding(&packet);
                self.tell_of_paths(now);
            }
            match route {
                Ok(InterfaceId::AGENT) => self.leave_to_agent(now, packet),
                Ok(interface) => return Some((interface, packet)),
                Err(error) => self.give_back(now, &packet, error),
            }
        }
    }

    /// Gives a packet to the mobile node, whose routes lead to its agent. A home agent's do for mobiles that have no
    /// home link: without a binding nobody knows where they are.
    pub(super) fn leave_to_agent(&mut self, now: Instant, packet: Packet) {
        let mobile = self
            .agents
            .as_mut()
            .and_then(|agents| agents.mobile.as_mut());
        match mobile {
            Some(mobile) => mobile.handle_outgoing(now, packet),
            None => {
                self.discarded.no_route += 1;
                self.send_error(&packet, IcmpError::Unreachable);
            }
        }
    }

    pub(super) fn packet(
        &mut self,
        (source, destination): (IpAddr, IpAddr),
        body: Body,
        flow: Option<FlowId>,
    ) -> Packet {
        self.identification = self.identification.wrapping_add(1);
        let code_point = self.code_point(&body, flow);
        Packet {
            ip: IpHeader {
                source,
                destination,
                hop_limit: HOP_LIMIT,
                traffic_class: code_point.traffic_class(),
                identification: self.identification,
                dont_fragment: true,
            },
            body,
            flow,
            retransmission: false,
            bit_errors: BitErrors::NONE,
        }
    }

    /// What stands in a packet's code point.
    #[inline]
    fn code_point(&self, body: &Body, flow: Option<FlowId>) -> CodePoint {
        if let Body::Aerotp(packet) = body {
            return CodePoint::class_selector(packet.header.class.number());
        }
        if self.code_points.is_empty() {
            return CodePoint::default();
        }
        let code_point = flow.and_then(|flow| self.code_points.get(&flow));
        code_point.copied().unwrap_or_default()
    }

    pub(super) fn send(&mut self, destination: IpAddr, body: Body, flow: Option<FlowId>) {
        let Some(source) = self.address_towards(destination) else {
            self.discarded.no_route += 1;
            return;
        };
        let packet = self.packet((source, destination), body, flow);
        self.outbox.push_back(packet);
    }
}
