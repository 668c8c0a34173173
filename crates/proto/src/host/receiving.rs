//! Receiving at a host: a packet goes to layers first, then to transports.

use super::layer::{Arrival, Ended, Step};
use super::{Host, HostEvent, InterfaceId, mtu_towards, sockets};
use crate::packet::{Body, FlowId, IpHeader, Packet, Payload};
use crate::tcp::Endpoint;
use crate::time::Instant;
use crate::wire::icmp::{IcmpError, IcmpMessage, QuotedPacket};
use core::net::{IpAddr, Ipv4Addr};

impl Host {
    /// Takes in a packet from an interface for which [`route`](Self::route) returned
    /// [`Verdict::Local`](super::Verdict::Local).
    pub fn handle_packet(&mut self, now: Instant, interface: InterfaceId, packet: Packet) {
        // A kernel decodes a kernel's packets.
        let is_final = packet.is_typed() || self.has_kernel || packet.segmentation().is_some();
        if is_final && packet.bit_errors.is_empty() {
            return self.take_in(now, interface, packet);
        }
        let ip = packet.ip;
        let (protocol, _) = packet.body.protocol(&ip);
        let bytes = packet.wire_length().saturating_sub(ip.wire_length());
        let is_indicated = packet.bit_errors.is_indicated();
        let is_here = |host: &Host, read: &Packet| {
            read.ip.destination == ip.destination
                || host.takes(&read.ip)
                || host.ends_in_layer(read)
        };
        match packet.apply_bit_errors() {
            // The bit error may be in the address: then this host would not have accepted the packet.
            Ok(decoded) if is_here(self, &decoded) => self.take_in(now, interface, decoded),
            _ => {
                self.count_damaged();
                if is_indicated {
                    self.tell_corruption(protocol, &ip, bytes);
                }
            }
        }
    }

    /// Tells transports and layers what the network says of a packet that arrived damaged beyond reading.
    fn tell_corruption(&mut self, protocol: u8, ip: &IpHeader, bytes: u32) {
        let transports = self.transports.iter_mut().flat_map(|all| all.iter_mut());
        transports.for_each(|transport| transport.handle_corruption(protocol, ip, bytes));
        if let Some(layers) = &mut self.layers {
            layers.handle_corruption(protocol, ip, bytes);
        }
    }

    fn take_in(&mut self, now: Instant, interface: InterfaceId, packet: Packet) {
        if self.layers.is_some() {
            self.offer_to_agents(now, interface, packet);
        } else {
            self.deliver(now, packet);
        }
    }

    /// Offers a packet to the layers that end connections of other hosts, and then to all layers.
    pub(super) fn offer_to_agents(&mut self, now: Instant, interface: InterfaceId, packet: Packet) {
        if !self.inspects() {
            return self.offer_to_others(now, interface, packet);
        }
        let Some((layers, mut around)) = self.layers_around() else {
            return;
        };
        match layers.end(now, &mut around, interface, packet) {
            Ended::No(packet) => self.offer_to_others(now, interface, packet),
            Ended::Taken => self.accepted = true,
            Ended::Refused => {}
        }
    }

    fn offer_to_others(&mut self, now: Instant, interface: InterfaceId, packet: Packet) {
        let is_own = self.is_own(packet.ip.destination);
        let arrival = Arrival { interface, is_own };
        let Some(layers) = &mut self.layers else {
            return;
        };
        if !is_own && !layers.takes(&packet.ip) {
            // From the network behind a mobile router, or for a mobile without a location.
            self.leave_by_layer(now, packet);
        } else if let Some(packet) = layers.input(now, arrival, packet) {
            let to = packet.ip.destination;
            let for_others = !is_own && !is_for_all(to) && !layers.have_address(to);
            match for_others {
                true => layers.do_later(Step::Forward(packet)),
                false => self.deliver(now, packet),
            }
        }
        self.tell_signals(now);
    }

    /// Returns true for a packet that a layer ends here.
    fn ends_in_layer(&self, packet: &Packet) -> bool {
        let layers = self.layers.as_ref();
        layers.is_some_and(|layers| layers.end_here(&self.routes, packet))
    }

    /// Passes a packet to this host's transports.
    pub(super) fn deliver(&mut self, now: Instant, packet: Packet) {
        if self.has_kernel {
            return self.deliver_to_kernel(now, packet);
        }
        self.accepted = true;
        let ip = packet.ip;
        match packet.body {
            Body::Tcp(header, payload) => {
                let local = Endpoint {
                    address: ip.destination,
                    port: header.destination_port,
                };
                let remote = Endpoint {
                    address: ip.source,
                    port: header.source_port,
                };
                let (routes, mtus) = (&self.routes, &self.interface_mtus);
                let mtu = || mtu_towards(routes, mtus, remote.address);
                match self
                    .sockets
                    .deliver(now, (local, remote), &header, payload, mtu)
                {
                    sockets::Delivery::Taken => {}
                    sockets::Delivery::Accepted(socket) => {
                        self.events.push_back(HostEvent::Accepted {
                            socket,
                            port: local.port,
                        });
                    }
                    sockets::Delivery::Nobody(reset) => {
                        self.count_unreceived();
                        if let Some(reset) = reset {
                            self.send(
                                remote.address,
                                Body::Tcp(reset, Payload::EMPTY),
                                packet.flow,
                            );
                        }
                    }
                }
            }
            Body::Udp(header, payload) => {
                let port = header.destination_port;
                if self.sockets.is_bound(port) {
                    let from = Endpoint {
                        address: ip.source,
                        port: header.source_port,
                    };
                    self.events.push_back(HostEvent::Datagram {
                        port,
                        from,
                        payload,
                    });
                    return;
                }
                let body = Body::Udp(header, payload);
                if let Some(body) = self.deliver_to_transports(now, &ip, body, packet.flow) {
                    self.count_unreceived();
                    let unheard = Packet { body, ..packet };
                    self.send_error(&unheard, IcmpError::PortUnreachable);
                }
            }
            Body::Icmp(message) => self.handle_icmp(now, ip.source, message, packet.flow),
            body => {
                if let Some(_unheard) = self.deliver_to_transports(now, &ip, body, packet.flow) {
                    self.count_unreceived();
                }
            }
        }
    }

    /// Passes a packet to the kernel that replaces the transports, unless it is an error about a layer's packet.
    #[cold]
    fn deliver_to_kernel(&mut self, now: Instant, packet: Packet) {
        if let Body::Icmp(IcmpMessage::Error { kind, quoted }) = &packet.body
            && let Some(layers) = &mut self.layers
            && layers.handle_icmp(now, *kind, quoted)
        {
            self.accepted = true;
            return;
        }
        self.events
            .push_back(HostEvent::ForKernel(Box::new(packet)));
    }

    /// Counts a packet without a receiver here.
    pub(super) fn count_unreceived(&mut self) {
        self.accepted = false;
        self.given_up().discarded.no_receiver += 1;
    }

    /// Counts a packet damaged beyond its checksums.
    pub(super) fn count_damaged(&mut self) {
        self.accepted = false;
        self.given_up().discarded.damaged += 1;
    }

    fn handle_icmp(
        &mut self,
        now: Instant,
        source: IpAddr,
        message: IcmpMessage,
        flow: Option<FlowId>,
    ) {
        match message {
            IcmpMessage::EchoRequest(echo) => {
                self.send(source, Body::Icmp(IcmpMessage::EchoReply(echo)), flow);
            }
            IcmpMessage::EchoReply(echo) => self.events.push_back(HostEvent::EchoReply { echo }),
            IcmpMessage::Error { kind, quoted } => self.handle_error(now, kind, quoted),
            IcmpMessage::NeighborDiscovery(_)
            | IcmpMessage::MulticastListenerReport(_)
            | IcmpMessage::AgentDiscovery(_) => self.count_unreceived(),
        }
    }

    pub(super) fn handle_error(&mut self, now: Instant, error: IcmpError, quoted: QuotedPacket) {
        if let Some(layers) = &mut self.layers
            && layers.handle_icmp(now, error, &quoted)
        {
            return;
        }
        let mut others = self.transports.iter_mut().flat_map(|all| all.iter_mut());
        let is_taken = others.any(|transport| transport.handle_icmp(now, error, &quoted));
        if !is_taken && !self.sockets.handle_icmp(now, error, &quoted) {
            self.events
                .push_back(HostEvent::Undelivered { error, quoted });
        }
    }
}

/// Returns true for a multicast or broadcast address.
fn is_for_all(address: IpAddr) -> bool {
    address.is_multicast() || address == IpAddr::V4(Ipv4Addr::BROADCAST)
}
