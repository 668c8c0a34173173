//! Packets of the mobile: received at its care-of address, and sent from its home address.

use super::{MobileNode, Place, Received, Towards};
use crate::interface::InterfaceId;
use crate::mobility::address_configuration::Attachment;
use crate::mobility::message_bytes;
use crate::mobility::mobile_ipv6::{addresses_v6, extend};
use crate::mobility::tunnel::{Refusal, error_about, fragments, take_back};
use crate::packet::{Body, Packet};
use crate::time::Instant;
use crate::wire::icmp::{IcmpError, IcmpMessage, QuotedPacket};
use crate::wire::mobility_header::MobilityMessage;
use crate::wire::neighbor_discovery::{HOP_LIMIT, NeighborDiscovery};
use crate::wire::{ikev2, mih, radius};
use core::net::{IpAddr, Ipv6Addr};

impl MobileNode {
    /// Takes in a packet from an access link for this mobile ([`takes`](Self::takes)). Returns it if it is for the
    /// mobile's own transports, with the home address as destination.
    pub fn handle_packet(
        &mut self,
        now: Instant,
        interface: InterfaceId,
        packet: Packet,
    ) -> Option<Packet> {
        let Some((source, destination)) = addresses_v6(&packet) else {
            return self.deliver(packet);
        };
        if let Some(settings) = &self.settings.access
            && let Some(bytes) = message_bytes(&packet, settings.server, radius::PORT)
        {
            self.handle_access_answer(now, (interface, destination), bytes);
            return None;
        }
        if let Some(settings) = &self.settings.handover_service
            && let Some(bytes) = message_bytes(&packet, settings.point_of_service, mih::PORT)
        {
            self.handle_service_message(now, (interface, destination), bytes);
            return None;
        }
        if self.extras.prefix().is_some()
            && let Some(bytes) = message_bytes(&packet, self.settings.fleet.home_agent, ikev2::PORT)
        {
            self.handle_prefix_answer(now, bytes);
            return None;
        }
        match packet.body {
            Body::Icmp(IcmpMessage::NeighborDiscovery(message)) => {
                let configuration = self.interfaces.get_mut(interface, &self.settings);
                if packet.ip.hop_limit != HOP_LIMIT {
                    return None;
                }
                if let NeighborDiscovery::ProxyAdvertisement(answer) = &*message {
                    self.handle_proxy_advertisement(now, answer);
                } else if let Some(configuration) = configuration {
                    let ends = (source, destination.is_multicast());
                    configuration.handle_discovery(now, ends, &message);
                    self.settle(now);
                }
                None
            }
            _ if self.is_handed_out(interface, destination) => {
                if let Some(group) = self.extras.group_mut() {
                    group.note(&packet);
                }
                self.handle_inner(now, packet)
            }
            Body::Tunnel(inner)
                if self.is_sent_after(source, destination, &inner)
                    || self.is_from_anchor((source, destination), &inner) =>
            {
                self.handle_packet(now, interface, *inner)
            }
            Body::Tunnel(_) => self.handle_tunnelled(now, (source, destination), packet),
            Body::Mobility(message) => {
                self.handle_message(now, (source, destination), *message);
                None
            }
            Body::Extended(_) => self.handle_extended(now, (source, destination), packet),
            Body::Icmp(IcmpMessage::Error {
                kind: IcmpError::PacketTooBig { mtu },
                quoted,
            }) if self.tunnels_to(quoted.destination) => {
                self.handle_too_big(now, destination, (quoted, mtu))
            }
            _ => self.deliver(packet),
        }
    }

    /// Takes in a packet from the home agent's tunnel (RFC 6275 section 11.3.2, RFC 3963 section 5.5).
    fn handle_tunnelled(
        &mut self,
        now: Instant,
        (source, destination): (Ipv6Addr, Ipv6Addr),
        packet: Packet,
    ) -> Option<Packet> {
        let holds = [self.home.accepted(now), self.former].contains(&Some(destination));
        if source != self.settings.fleet.home_agent || !holds {
            self.counts_mut().unregistered += 1;
            return None;
        }
        self.handle_inner(now, packet.decapsulate()?)
    }

    /// Takes in a packet that the home agent has forwarded.
    fn handle_inner(&mut self, now: Instant, inner: Packet) -> Option<Packet> {
        // Rule 3 of `tunnel`: a packet that is not for this mobile does not go back.
        if !self.is_own(inner.ip.destination) {
            self.counts_mut().misdirected += 1;
            return None;
        }
        if let Some((from, to)) = addresses_v6(&inner)
            && to == self.settings.home_address
        {
            if let Body::Mobility(message) = inner.body {
                self.handle_message(now, (from, to), *message);
                return None;
            }
            self.notice_peer(now, from);
        }
        self.deliver(inner)
    }

    /// Returns true for the home agent and the anchor points.
    pub(super) fn tunnels_to(&self, exit: IpAddr) -> bool {
        exit == self.settings.fleet.home_agent || self.is_anchor(exit)
    }

    /// Takes in an error about a packet in the mobile's tunnels; returns the error for the packet inside.
    pub(super) fn handle_too_big(
        &mut self,
        now: Instant,
        here: Ipv6Addr,
        (quoted, mtu): (QuotedPacket, u32),
    ) -> Option<Packet> {
        let (kind, inner) = self.tunnels.handle_too_big(now, quoted, mtu)?;
        match kind {
            IcmpError::PacketTooBig { mtu } if self.tunnels_to(inner.destination) => {
                self.handle_too_big(now, here, (inner, mtu))
            }
            _ => self.deliver(error_about(here, kind, inner)),
        }
    }

    /// Takes in a packet with a routing header, from a correspondent or the home agent (RFC 6275 section 6.4.4).
    fn handle_extended(
        &mut self,
        now: Instant,
        (source, destination): (Ipv6Addr, Ipv6Addr),
        mut packet: Packet,
    ) -> Option<Packet> {
        let Body::Extended(extended) = packet.body else {
            return None;
        };
        let home = self.settings.home_address;
        if self.handle_anchor_message(now, source, &extended) {
            return None;
        }
        if extended.routing_home_address != Some(home) || extended.home_address.is_some() {
            self.counts_mut().misdirected += 1;
            return None;
        }
        if let Body::Mobility(message) = extended.body {
            self.handle_message(now, (source, destination), *message);
            return None;
        }
        packet.body = extended.body;
        packet.ip.destination = home.into();
        self.note_use(source);
        self.deliver(packet)
    }

    fn handle_message(
        &mut self,
        now: Instant,
        (source, destination): (Ipv6Addr, Ipv6Addr),
        message: MobilityMessage,
    ) {
        let from_home_agent = source == self.settings.fleet.home_agent;
        match message {
            MobilityMessage::BindingAcknowledgement(answer) if from_home_agent => {
                self.handle_home_answer(now, answer);
            }
            MobilityMessage::BindingRefreshRequest if from_home_agent => self.register(now),
            MobilityMessage::BindingAcknowledgement(answer)
                if self.extras.group().is_some_and(|group| group.asks(source)) =>
            {
                self.handle_member_answer(now, answer);
            }
            MobilityMessage::FastBindingAcknowledgement(answer) => {
                self.handle_router_answer(source, answer);
            }
            message => self.handle_peer_message(now, (source, destination), message),
        }
    }

    /// Returns a packet for the transports; queues one for the network behind.
    pub(super) fn deliver(&mut self, mut packet: Packet) -> Option<Packet> {
        if !self.is_behind(packet.ip.destination) {
            return Some(packet);
        }
        if packet.ip.hop_limit > 1 {
            packet.ip.hop_limit -= 1;
            self.received.push_back(Received::Behind(packet));
        } else {
            self.counts_mut().turned_back += 1;
        }
        None
    }

    /// Sends a packet of the mobile's own transports, from its home address, or from behind, through
    /// [`poll_transmit`](Self::poll_transmit).
    pub fn handle_outgoing(&mut self, now: Instant, packet: Packet) {
        let sent = self.address_outgoing(now, packet);
        self.outbox.extend(sent);
    }

    /// Addresses a packet like [`handle_outgoing`](Self::handle_outgoing), but returns it instead of queueing it.
    pub fn address_outgoing(&mut self, now: Instant, packet: Packet) -> Option<(Towards, Packet)> {
        let (source, destination) = (packet.ip.source, packet.ip.destination);
        if self.is_own(destination) {
            self.counts_mut().turned_back += 1;
            return None;
        }
        let own_places = [self.on_link_care_of(), self.care_of()];
        let under_care_of = own_places.into_iter().flatten().any(|own| source == own);
        if !self.is_own(source) && !under_care_of {
            self.counts_mut().misdirected += 1;
            return None;
        }
        match self.attachment() {
            Attachment::None => {
                self.counts_mut().unreachable += 1;
                None
            }
            Attachment::Home => self.over_place(now, packet),
            Attachment::Away(_) if under_care_of => self.over_place(now, packet),
            Attachment::Away(_) => {
                let own = source == self.settings.home_address;
                match (destination, self.care_of()) {
                    (IpAddr::V6(peer), Some(care_of))
                        if own && self.is_optimized(now, peer) && packet.is_typed() =>
                    {
                        self.note_use(peer);
                        self.directly(now, care_of, packet)
                    }
                    _ => self.by_binding(now, packet),
                }
            }
        }
    }

    /// Addresses a waiting data packet of the mobile anew, and returns the interface by which it now leaves. A message
    /// from the old place goes nowhere.
    pub fn redirect(&mut self, now: Instant, packet: &mut Packet) -> Option<InterfaceId> {
        let mut own = packet.clone();
        if self.is_anchor(own.ip.destination) {
            take_back(&mut own, false);
        }
        match own.body.clone() {
            Body::Tunnel(inner) => {
                let forwarded = inner.ip.source != IpAddr::V6(self.settings.home_address);
                take_back(&mut own, forwarded);
            }
            Body::Extended(extended) if !matches!(extended.body, Body::Mobility(_)) => {
                own.ip = own.upper_ip();
                own.body = extended.body;
            }
            _ => {}
        }
        match self.address_outgoing(now, own)? {
            (Towards::Interface(interface), addressed) => {
                *packet = addressed;
                Some(interface)
            }
            (Towards::Network, _) => None,
        }
    }

    /// Addresses a packet to leave from the place that the home agent knows.
    pub(super) fn by_binding(&mut self, now: Instant, packet: Packet) -> Option<(Towards, Packet)> {
        let early = self.settings.fleet.sends_before_acknowledgement;
        let bound = self.bound_place(now);
        match bound.or_else(|| self.place.filter(|_| early)) {
            None => {
                self.counts_mut().unreachable += 1;
                None
            }
            Some(Place {
                interface,
                attachment: Attachment::Away(care_of),
            }) => self.through_tunnel(now, (interface, care_of), packet),
            Some(Place { interface, .. }) => Some((Towards::Interface(interface), packet)),
        }
    }

    /// Returns the place that the home agent knows and where the mobile still is: during a registration the old one, if
    /// its link is up (make before break).
    fn bound_place(&self, now: Instant) -> Option<Place> {
        self.on_link_care_of()?;
        let place = |attachment| {
            let interface = match attachment {
                Attachment::Away(bound) => self.interface_with(bound),
                other => self.interfaces.position(|one| one.attachment() == other),
            };
            Some(Place {
                interface: interface?,
                attachment,
            })
        };
        let Some(bound) = self.home.accepted(now) else {
            return place(Attachment::Home);
        };
        let announced_ahead = self.care_of().filter(|&here| self.former == Some(here));
        place(Attachment::Away(bound)).or_else(|| place(Attachment::Away(announced_ahead?)))
    }

    /// Addresses a packet from the care-of address, with a home address option (section 11.3.1).
    fn directly(
        &mut self,
        now: Instant,
        care_of: Ipv6Addr,
        mut packet: Packet,
    ) -> Option<(Towards, Packet)> {
        packet.ip.source = care_of.into();
        let home = Some(self.settings.home_address);
        packet.body = extend((home, None), packet.body);
        self.over_place(now, packet)
    }

    /// Puts a packet into the tunnel to the home agent. Of fragments, returns the first and queues the others.
    fn through_tunnel(
        &mut self,
        now: Instant,
        place: (InterfaceId, Ipv6Addr),
        packet: Packet,
    ) -> Option<(Towards, Packet)> {
        let home_agent = self.settings.fleet.home_agent;
        let Some(fragments) = fragments(&packet, self.tunnels.mtu(now, home_agent.into())) else {
            return self.whole_through_tunnel(now, place, packet);
        };
        let mut fragments = fragments.into_iter();
        let first = self.whole_through_tunnel(now, place, fragments.next()?);
        for fragment in fragments {
            let sent = self.whole_through_tunnel(now, place, fragment);
            self.outbox.extend(sent);
        }
        first
    }

    fn whole_through_tunnel(
        &mut self,
        now: Instant,
        (interface, care_of): (InterfaceId, Ipv6Addr),
        packet: Packet,
    ) -> Option<(Towards, Packet)> {
        let forwarded = packet.ip.source != IpAddr::V6(self.settings.home_address);
        let ends = (care_of.into(), self.settings.fleet.home_agent.into());
        match self.tunnels.encapsulate(now, packet, ends, forwarded) {
            Ok(outer) => self.leave(now, interface, outer),
            Err(Refusal::TooBig {
                mtu,
                quoted: Some(quoted),
            }) => {
                let kind = IcmpError::PacketTooBig { mtu };
                let error = self.deliver(error_about(care_of, kind, quoted));
                self.received.extend(error.map(Received::Local));
                None
            }
            Err(_) => None,
        }
    }
}
