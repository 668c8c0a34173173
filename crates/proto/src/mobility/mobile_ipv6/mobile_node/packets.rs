//! Packets of the mobile: what has come by its care-of address, and what leaves under its home address.

use super::{MobileNode, Place, Received};
use crate::mobility::address_configuration::Attachment;
use crate::mobility::message_bytes;
use crate::mobility::mobile_ipv6::{addresses_v6, extend};
use crate::mobility::tunnel::{Refusal, decapsulate, error_about};
use crate::packet::{Body, Packet};
use crate::time::Instant;
use crate::wire::icmp::{IcmpError, IcmpMessage};
use crate::wire::mobility_header::MobilityMessage;
use crate::wire::neighbor_discovery::HOP_LIMIT;
use crate::wire::{mih, radius};
use core::net::{IpAddr, Ipv6Addr};

impl MobileNode {
    /// Takes in a packet from an access link that is for this mobile ([`takes`](Self::takes)).
    pub fn handle_packet(&mut self, now: Instant, interface: usize, packet: Packet) {
        let Some((source, destination)) = addresses_v6(&packet) else {
            self.received.push_back(Received::Local(packet));
            return;
        };
        if let Some(settings) = &self.settings.access
            && let Some(bytes) = message_bytes(&packet, settings.server, radius::PORT)
        {
            return self.handle_access_answer(now, (interface, destination), bytes);
        }
        if let Some(settings) = &self.settings.handover_service
            && let Some(bytes) = message_bytes(&packet, settings.point_of_service, mih::PORT)
        {
            return self.handle_service_answer(now, bytes);
        }
        match packet.body {
            Body::Icmp(IcmpMessage::NeighborDiscovery(message)) => {
                let configuration = self.interfaces.get_mut(interface);
                if packet.ip.hop_limit == HOP_LIMIT
                    && let Some(configuration) = configuration
                {
                    let ends = (source, destination.is_multicast());
                    configuration.handle_discovery(now, ends, &message);
                    self.settle(now);
                }
            }
            _ if self.is_handed_out(interface, destination) => {
                self.group.note(&packet);
                self.handle_inner(now, packet);
            }
            Body::Tunnel(inner) if self.is_sent_after(source, destination, &inner) => {
                self.handle_packet(now, interface, *inner);
            }
            Body::Tunnel(_) => self.handle_tunnelled(now, (source, destination), packet),
            Body::Mobility(message) => self.handle_message(now, (source, destination), *message),
            Body::Extended(_) => self.handle_extended(now, (source, destination), packet),
            Body::Icmp(IcmpMessage::Error {
                kind: IcmpError::PacketTooBig { mtu },
                quoted,
            }) if quoted.destination == IpAddr::V6(self.settings.home_agent) => {
                if let Some((error, inner)) = self.tunnels.handle_too_big(now, quoted, mtu) {
                    let error = error_about(destination.into(), error, inner);
                    self.deliver(error);
                }
            }
            _ => self.deliver(packet),
        }
    }

    /// Out of the tunnel from the home agent (RFC 6275 section 11.3.2, RFC 3963 section 5.5).
    fn handle_tunnelled(
        &mut self,
        now: Instant,
        (source, destination): (Ipv6Addr, Ipv6Addr),
        packet: Packet,
    ) {
        let holds = [self.home.accepted(now), self.former].contains(&Some(destination));
        if source != self.settings.home_agent || !holds {
            self.counts.unregistered += 1;
            return;
        }
        if let Some(inner) = decapsulate(packet) {
            self.handle_inner(now, inner);
        }
    }

    /// What the home agent has sent on.
    fn handle_inner(&mut self, now: Instant, inner: Packet) {
        let Some((from, to)) = addresses_v6(&inner) else {
            self.counts.misdirected += 1;
            return;
        };
        match inner.body {
            Body::Mobility(message) if to == self.settings.home_address => {
                self.handle_message(now, (from, to), *message);
            }
            // Rule 3 of `tunnel`: what is not for here does not go back.
            _ if !self.is_own(to) => self.counts.misdirected += 1,
            _ => {
                if to == self.settings.home_address {
                    self.notice_peer(now, from);
                }
                self.deliver(inner);
            }
        }
    }

    /// Directly from a correspondent, or the home agent's answer (RFC 6275 section 6.4.4).
    fn handle_extended(
        &mut self,
        now: Instant,
        (source, destination): (Ipv6Addr, Ipv6Addr),
        mut packet: Packet,
    ) {
        let Body::Extended(extended) = packet.body else {
            return;
        };
        let home = self.settings.home_address;
        if extended.routing_home_address != Some(home) || extended.home_address.is_some() {
            self.counts.misdirected += 1;
            return;
        }
        if let Body::Mobility(message) = extended.body {
            return self.handle_message(now, (source, destination), *message);
        }
        packet.body = extended.body;
        packet.ip.destination = home.into();
        self.note_use(source);
        self.deliver(packet);
    }

    fn handle_message(
        &mut self,
        now: Instant,
        (source, destination): (Ipv6Addr, Ipv6Addr),
        message: MobilityMessage,
    ) {
        let from_home_agent = source == self.settings.home_agent;
        match message {
            MobilityMessage::BindingAcknowledgement(answer) if from_home_agent => {
                self.handle_home_answer(now, answer);
            }
            MobilityMessage::BindingRefreshRequest if from_home_agent => self.register(now),
            MobilityMessage::BindingAcknowledgement(answer) if self.group.asks(source) => {
                self.handle_member_answer(now, answer);
            }
            MobilityMessage::FastBindingAcknowledgement(answer) => {
                self.handle_router_answer(source, answer);
            }
            message => self.handle_peer_message(now, (source, destination), message),
        }
    }

    /// Hands a packet to the transports or to the network behind.
    pub(super) fn deliver(&mut self, mut packet: Packet) {
        let behind = match packet.ip.destination {
            IpAddr::V6(destination) => self.is_behind(destination),
            IpAddr::V4(_) => false,
        };
        if !behind {
            self.received.push_back(Received::Local(packet));
        } else if packet.ip.hop_limit > 1 {
            packet.ip.hop_limit -= 1;
            self.received.push_back(Received::Behind(packet));
        } else {
            self.counts.turned_back += 1;
        }
    }

    /// Takes a packet that is to leave: of the mobile's own transports, under its home address, or from behind.
    pub fn handle_outgoing(&mut self, now: Instant, packet: Packet) {
        let Some((source, destination)) = addresses_v6(&packet) else {
            self.counts.misdirected += 1;
            return;
        };
        if self.is_own(destination) {
            self.counts.turned_back += 1;
            return;
        }
        let under_care_of = self.care_of() == Some(source);
        if !self.is_own(source) && !under_care_of {
            self.counts.misdirected += 1;
            return;
        }
        match self.attachment() {
            Attachment::None => self.counts.unreachable += 1,
            Attachment::Home => self.send(packet),
            Attachment::Away(_) if under_care_of => self.send(packet),
            Attachment::Away(care_of) => {
                let own = source == self.settings.home_address;
                if own && self.is_optimized(now, destination) && packet.is_typed() {
                    self.note_use(destination);
                    self.send_directly(care_of, packet);
                } else {
                    self.send_by_binding(now, packet);
                }
            }
        }
    }

    /// Sends a packet from where the home agent knows the mobile to be.
    pub(super) fn send_by_binding(&mut self, now: Instant, packet: Packet) {
        match self.bound_place(now) {
            None => self.counts.unreachable += 1,
            Some(Place {
                interface,
                attachment: Attachment::Away(care_of),
            }) => self.send_through_tunnel(now, (interface, care_of), packet),
            Some(Place { interface, .. }) => self.send_over(interface, packet),
        }
    }

    /// Where the home agent knows the mobile to be, of the places where it is: while it registers a new one, the old
    /// one if its link is still there (make before break).
    fn bound_place(&self, now: Instant) -> Option<Place> {
        let care_of = self.care_of()?;
        let place = |attachment| {
            let interface = match attachment {
                Attachment::Away(bound) => self.interfaces.iter().position(|one| one.has(bound)),
                other => {
                    let mut all = self.interfaces.iter();
                    all.position(|one| one.attachment() == other)
                }
            };
            Some(Place {
                interface: interface?,
                attachment,
            })
        };
        let Some(bound) = self.home.accepted(now) else {
            return place(Attachment::Home);
        };
        let announced_ahead = (self.former == Some(care_of)).then_some(care_of);
        place(Attachment::Away(bound)).or_else(|| place(Attachment::Away(announced_ahead?)))
    }

    /// Section 11.3.1: under the care-of address, with the home address in an option.
    fn send_directly(&mut self, care_of: Ipv6Addr, mut packet: Packet) {
        packet.ip.source = care_of.into();
        let home = Some(self.settings.home_address);
        packet.body = extend((home, None), packet.body);
        self.send(packet);
    }

    fn send_through_tunnel(
        &mut self,
        now: Instant,
        (interface, care_of): (usize, Ipv6Addr),
        packet: Packet,
    ) {
        let forwarded = packet.ip.source != IpAddr::V6(self.settings.home_address);
        let ends = (care_of.into(), self.settings.home_agent.into());
        match self.tunnels.encapsulate(now, packet, ends, forwarded) {
            Ok(outer) => self.send_over(interface, outer),
            Err(Refusal::TooBig {
                mtu,
                quoted: Some(quoted),
            }) => {
                let kind = IcmpError::PacketTooBig { mtu };
                self.deliver(error_about(care_of.into(), kind, quoted));
            }
            Err(_) => {}
        }
    }
}
