//! Sending at a host: packets of its layers, of its transports and of its own.

use super::layer::{Step, Transmitted};
use super::{Host, InterfaceId, Origin, Unsent};
use crate::packet::{Body, FlowId, Packet};
use crate::time::Instant;
use crate::wire::icmp::IcmpError;
use core::net::IpAddr;

/// The virtual interface of packets out of the host's own tunnels.
pub(super) const INSIDE: InterfaceId = InterfaceId::virtual_number(u8::MAX);

impl Host {
    /// Returns the next packet to send and its interface.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<(InterfaceId, Packet)> {
        match self.inspects() {
            true => self.poll_inspected(now),
            false => self.poll_outgoing(now),
        }
    }

    /// Returns the next packet to send, at a host with layers that inspect departing packets.
    #[cold]
    fn poll_inspected(&mut self, now: Instant) -> Option<(InterfaceId, Packet)> {
        loop {
            let (interface, mut packet) = self.poll_outgoing(now)?;
            if self.depart(now, interface, &mut packet) {
                return Some((interface, packet));
            }
            self.given_up().unsent.extend(Unsent::of(&packet));
        }
    }

    /// Returns the next packet to send, before layers inspect it.
    #[inline(always)]
    fn poll_outgoing(&mut self, now: Instant) -> Option<(InterfaceId, Packet)> {
        loop {
            if self.layers.is_some() {
                self.work_layers(now);
                if let Some(outgoing) = self.poll_agents(now) {
                    return Some(outgoing);
                }
            }
            let mut packet = match self.outbox.pop_front() {
                Some(packet) => packet,
                None => {
                    let mut origin = Origin {
                        identification: &mut self.identification,
                        code_points: self.code_points.as_deref(),
                    };
                    match self.sockets.poll_transmit(now, &mut origin) {
                        Some(packet) => packet,
                        None => self.poll_transports(now)?,
                    }
                }
            };
            if let Some(layers) = &mut self.layers {
                match layers.output(now, packet) {
                    Some(addressed) => packet = addressed,
                    None => continue,
                }
            }
            match self.route_own(&packet) {
                Ok(interface) if interface.is_virtual() => {
                    if let Some(outgoing) = self.transmit_by_layer(now, interface, packet) {
                        return Some(outgoing);
                    }
                }
                Ok(interface) => return Some((interface, packet)),
                Err(error) => self.tell_own(now, packet, error),
            }
        }
    }

    /// Returns true if [`poll_transmit`](Self::poll_transmit) may return a packet again after `None`: a socket to which
    /// a layer has passed a packet meanwhile answers without an event.
    #[inline]
    pub fn may_transmit(&self) -> bool {
        !self.outbox.is_empty()
            || self.sockets.may_transmit()
            || self
                .transports
                .as_ref()
                .is_some_and(|all| all.iter().any(|transport| transport.may_transmit()))
    }

    /// Runs the remaining work of layers that end connections of other hosts.
    fn work_layers(&mut self, now: Instant) {
        if self.inspects()
            && let Some((layers, mut around)) = self.layers_around()
        {
            layers.work(now, &mut around);
        }
    }

    /// Takes the steps of this host's layers, up to the next packet that leaves.
    fn poll_agents(&mut self, now: Instant) -> Option<(InterfaceId, Packet)> {
        loop {
            self.tell_signals(now);
            let step = self.layers.as_mut()?.poll_step()?;
            if let Some(outgoing) = self.take_step(now, step) {
                return Some(outgoing);
            }
        }
    }

    /// Takes a layer's step; returns the packet that leaves, if one does.
    fn take_step(&mut self, now: Instant, step: Step) -> Option<(InterfaceId, Packet)> {
        match step {
            Step::Deliver(packet) => self.deliver(now, packet),
            Step::Originate(packet) => self.outbox.push_back(packet),
            Step::Tell(error, quoted) => self.tell(now, error, quoted),
            Step::GiveBack(packet) => {
                self.given_up().unsent.extend(Unsent::of(&packet));
                self.give_back(now, &packet, IcmpError::Unreachable);
            }
            // Out of a tunnel, to an address other than the home agent's.
            Step::Forward(packet) if self.is_own(packet.ip.destination) => {
                self.offer_to_agents(now, INSIDE, packet);
            }
            // To a missing home link.
            Step::Send(interface, _) if interface.is_virtual() => {}
            Step::Send(interface, packet) => {
                let route = self.fit(interface, packet.wire_length());
                return self.pass_on(now, route, packet);
            }
            Step::Forward(packet) => {
                let route = self.route_out(&packet, packet.wire_length());
                return self.pass_on(now, route, packet);
            }
        }
        None
    }

    /// Returns a layer's packet and the interface over which it leaves, if there is one.
    fn pass_on(
        &mut self,
        now: Instant,
        route: Result<InterfaceId, IcmpError>,
        packet: Packet,
    ) -> Option<(InterfaceId, Packet)> {
        // This host may itself be the home agent that knows the mobile's location.
        if let Some(layers) = &mut self.layers {
            layers.overhear(&packet);
        }
        match route {
            Ok(interface) if interface.is_virtual() => {
                self.transmit_by_layer(now, interface, packet)
            }
            Ok(interface) => Some((interface, packet)),
            Err(error) => {
                self.given_up().unsent.extend(Unsent::of(&packet));
                self.give_back(now, &packet, error);
                None
            }
        }
    }

    /// Passes a packet to the layer behind a virtual interface, and returns it if it leaves at once.
    fn transmit_by_layer(
        &mut self,
        now: Instant,
        interface: InterfaceId,
        packet: Packet,
    ) -> Option<(InterfaceId, Packet)> {
        let unsent = Unsent::of(&packet);
        match self.layers.as_mut()?.transmit(now, interface, packet) {
            Transmitted::Leaves(step) => self.take_step(now, step),
            Transmitted::Kept => None,
            Transmitted::GivenUp => {
                self.given_up().unsent.extend(unsent);
                None
            }
        }
    }

    /// Passes an arrived packet to the layer to which it is routed: it leaves when the host is polled.
    pub(super) fn leave_by_layer(&mut self, now: Instant, packet: Packet) {
        let interface = self.routes.lookup(packet.ip.destination);
        let Some(interface) = interface.filter(|interface| interface.is_virtual()) else {
            self.given_up().discarded.no_route += 1;
            return;
        };
        if let Some(layers) = &mut self.layers
            && let Transmitted::Leaves(step) = layers.transmit(now, interface, packet)
        {
            layers.do_later(step);
        }
    }

    pub(super) fn send(&mut self, destination: IpAddr, body: Body, flow: Option<FlowId>) {
        let Some(source) = self.address_towards(destination) else {
            self.given_up().discarded.no_route += 1;
            return;
        };
        let packet = self.origin().packet((source, destination), body, flow);
        self.outbox.push_back(packet);
    }
}
