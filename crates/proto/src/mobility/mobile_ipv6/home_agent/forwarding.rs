//! Packets at a home agent: interception, encapsulation and decapsulation (RFC 6275 section 10.4, RFC 3963 section 6.3
//! on).

use super::{HomeAgent, Stage};
use crate::mobility::mobile_ipv6::{Towards, addresses_v6};
use crate::mobility::tunnel::{DUMMY_ADDRESS, Refusal, error_about, fragments, take_back};
use crate::mobility::{datagram, message_bytes};
use crate::packet::{Body, Packet};
use crate::time::Instant;
use crate::wire::icmp::{IcmpError, IcmpMessage};
use crate::wire::ikev2;
use crate::wire::mobility_header::{BindingStatus, MobilityMessage};
use crate::wire::neighbor_discovery::{ALL_NODES, HOP_LIMIT, NeighborDiscovery};
use core::net::{IpAddr, Ipv6Addr};

impl HomeAgent {
    /// Takes in a packet for an address that this agent [intercepts](Self::intercepts), or a Neighbor Discovery message
    /// from the home link. Returns it if it is for the node itself.
    pub fn handle_packet(&mut self, now: Instant, packet: Packet) -> Option<Packet> {
        let Some((source, destination)) = addresses_v6(&packet) else {
            // This agent has no IPv4 address: at most the packet is for a network behind a mobile.
            return self.handle_outgoing(now, packet);
        };
        if let Body::Icmp(IcmpMessage::NeighborDiscovery(message)) = &packet.body {
            if packet.ip.hop_limit == HOP_LIMIT {
                self.handle_discovery(now, source, message);
            }
            return Some(packet);
        }
        if destination != self.settings.address {
            return self.handle_outgoing(now, packet);
        }
        if is_for_router(&packet) {
            return Some(packet);
        }
        if let Some(server) = &mut self.prefix_server
            && let Some(bytes) = message_bytes(&packet, source, ikev2::PORT)
        {
            let answer = server.handle_message(now, source, destination, bytes);
            self.outbox.extend(answer.map(|answer| {
                let packet = datagram((destination, source), ikev2::PORT, answer.encode());
                (Towards::Network, packet)
            }));
            self.subscribe_assigned();
            return None;
        }
        match packet.body {
            Body::Tunnel(_) => self.handle_tunnelled(now, source, packet),
            Body::Mobility(message) => {
                self.handle_message(now, (source, source), *message);
                None
            }
            Body::Extended(extended) => {
                let home = extended.home_address.unwrap_or(source);
                if let Body::Mobility(message) = extended.body {
                    self.handle_message(now, (home, source), *message);
                } else {
                    self.counts.unexpected += 1;
                }
                None
            }
            Body::Icmp(IcmpMessage::Error {
                kind: IcmpError::PacketTooBig { mtu },
                quoted,
            }) if quoted.source == IpAddr::V6(self.settings.address) => {
                if let Some((error, inner)) = self.tunnels.handle_too_big(now, quoted, mtu) {
                    let error = error_about(self.settings.address, error, inner);
                    self.forward(now, error, None);
                }
                None
            }
            _ => Some(packet),
        }
    }

    /// Forwards a packet of this node itself if it is for a mobile that is away (RFC 6275 section 10.4.1). Returns any
    /// other.
    pub fn handle_outgoing(&mut self, now: Instant, packet: Packet) -> Option<Packet> {
        match self.mobile_of(packet.ip.destination) {
            Some(home) => {
                self.forward_home(now, packet, home);
                None
            }
            None => Some(packet),
        }
    }

    /// Serves the mobiles that were assigned a prefix.
    fn subscribe_assigned(&mut self) {
        while let Some(server) = &mut self.prefix_server
            && let Some(subscriber) = server.poll_assigned()
        {
            self.subscribe(subscriber);
        }
    }

    fn handle_message(
        &mut self,
        now: Instant,
        addresses: (Ipv6Addr, Ipv6Addr),
        message: MobilityMessage,
    ) {
        match message {
            MobilityMessage::BindingUpdate(update) => self.handle_update(now, addresses, update),
            _ => self.counts.unexpected += 1,
        }
    }

    /// Redirects a waiting tunnel packet of this agent to the mobile's present care-of address, unless copies go to the
    /// packet's own. For a mobile that is back at home, takes it out of the tunnel.
    pub fn redirect(&self, now: Instant, packet: &mut Packet) {
        let Body::Tunnel(inner) = &packet.body else {
            return;
        };
        if packet.ip.source != IpAddr::V6(self.settings.address) {
            return;
        }
        let Some(home) = self.mobile_of(inner.ip.destination) else {
            return take_back(packet, true);
        };
        let Some(binding) = self.bindings.get(&home.to_bits()) else {
            return;
        };
        let copied = binding.former.filter(|former| former.copied_until > now);
        let is_copy = copied.is_some_and(|to| packet.ip.destination == IpAddr::V6(to.care_of));
        if !is_copy && !self.groups.contains_key(&home) {
            packet.ip.destination = binding.care_of.into();
        }
    }

    /// Takes in a reverse-tunnelled packet: only from the mobile's location, and only with the mobile's source address
    /// (RFC 6275 section 10.4.5). Packets from its previous location may still arrive for a moment; that location was
    /// proved too.
    fn handle_tunnelled(
        &mut self,
        now: Instant,
        outer: Ipv6Addr,
        packet: Packet,
    ) -> Option<Packet> {
        let mut inner = packet.decapsulate()?;
        let has_returned = || match inner.ip.source {
            IpAddr::V6(home) => self.bindings.contains_key(&home.to_bits()).then_some(home),
            IpAddr::V4(_) => None,
        };
        let mobile = self.mobile_of(inner.ip.source).or_else(has_returned);
        let is_there = |home: &Ipv6Addr| {
            self.bindings.get(&home.to_bits()).is_some_and(|binding| {
                let former = binding.former.filter(|former| former.taken_until > now);
                let former = former.map(|former| former.care_of);
                let is_known = binding.care_of == outer || former == Some(outer);
                !matches!(binding.stage, Stage::Detecting(_))
                    && (is_known || self.is_proven(outer, *home))
            })
        };
        let Some(mobile) = mobile.filter(is_there) else {
            self.counts.strangers += 1;
            return None;
        };
        if inner.ip.destination == IpAddr::V6(self.settings.address) {
            return self.handle_packet(now, inner);
        }
        // Forwarding decrements the hop limit: here, or at the entry of another mobile's tunnel.
        if !self.intercepts(inner.ip.destination) {
            if inner.ip.hop_limit <= 1 {
                self.counts.turned_back += 1;
                return None;
            }
            inner.ip.hop_limit -= 1;
        }
        self.forward(now, inner, Some(mobile));
        None
    }

    /// Returns true if the link proves that a mobile is at a care-of address.
    fn is_proven(&self, care_of: Ipv6Addr, home: Ipv6Addr) -> bool {
        let proven = self.settings.proven_care_of;
        let ends_alike = care_of.to_bits() as u64 == home.to_bits() as u64;
        ends_alike && proven.is_some_and(|prefix| prefix.contains(care_of))
    }

    /// Forwards a packet, through a tunnel if it is for a mobile that is away. `from`: the mobile whose tunnel it came
    /// out of.
    pub(super) fn forward(&mut self, now: Instant, packet: Packet, from: Option<Ipv6Addr>) {
        match self.mobile_of(packet.ip.destination) {
            None => self.outbox.push_back((Towards::Network, packet)),
            Some(home) if from == Some(home) => self.counts.turned_back += 1,
            Some(home) => self.forward_home(now, packet, home),
        }
    }

    fn forward_home(&mut self, now: Instant, packet: Packet, home: Ipv6Addr) {
        if let Some(binding) = self.bindings.get_mut(&home.to_bits())
            && let Stage::Buffering(buffer) = &mut binding.stage
        {
            buffer.push(now, packet);
            return self.schedule(home);
        }
        self.send_to_mobile(now, home, packet);
    }

    /// Releases the packets of a mobile's buffer that are due.
    pub(super) fn release(&mut self, now: Instant, home: Ipv6Addr) {
        loop {
            let Some(binding) = self.bindings.get_mut(&home.to_bits()) else {
                return;
            };
            let Stage::Buffering(buffer) = &mut binding.stage else {
                return;
            };
            match buffer.poll_release(now) {
                Some(packet) => self.send_to_mobile(now, home, packet),
                None => {
                    if buffer.is_released() {
                        self.held.extend(buffer.take_told());
                        self.counts.buffered.add(buffer.counts());
                        binding.stage = Stage::Bound;
                    }
                    return;
                }
            }
        }
    }

    fn send_to_mobile(&mut self, now: Instant, home: Ipv6Addr, packet: Packet) {
        if let Some(group) = self.groups.get(&home).cloned() {
            return self.send_to_group(now, &group, &packet);
        }
        let Some(binding) = self.bindings.get(&home.to_bits()) else {
            return;
        };
        let care_of = binding.care_of;
        let former = binding.former.filter(|former| former.copied_until > now);
        if let Some(former) = former {
            self.counts.copies += 1;
            if former.care_of == home {
                let towards = Towards::Interface(self.settings.home_interface);
                self.outbox.push_back((towards, packet.clone()));
            } else {
                self.tunnel(now, former.care_of, packet.clone());
            }
        }
        self.tunnel(now, care_of, packet);
    }

    /// Tunnels a packet to each member, in place of multicast routing.
    fn send_to_group(&mut self, now: Instant, group: &[Ipv6Addr], packet: &Packet) {
        for (place, &member) in group.iter().enumerate() {
            self.counts.copies += u64::from(place > 0);
            self.tunnel(now, member, packet.clone());
        }
    }

    /// Puts a packet, or its fragments, into the tunnel to a care-of address.
    fn tunnel(&mut self, now: Instant, care_of: Ipv6Addr, packet: Packet) {
        match fragments(&packet, self.tunnels.mtu(now, care_of.into())) {
            None => self.tunnel_whole(now, care_of, packet),
            Some(fragments) => fragments
                .into_iter()
                .for_each(|fragment| self.tunnel_whole(now, care_of, fragment)),
        }
    }

    fn tunnel_whole(&mut self, now: Instant, care_of: Ipv6Addr, packet: Packet) {
        let address = self.settings.address;
        let own = packet.ip.source == address || packet.ip.source == DUMMY_ADDRESS;
        let ends = (address.into(), care_of.into());
        match self.tunnels.encapsulate(now, packet, ends, !own) {
            // The care-of address may itself be behind a mobile of this agent; the nesting limit ends this.
            Ok(outer) => self.forward(now, outer, None),
            Err(Refusal::TooBig {
                mtu,
                quoted: Some(quoted),
            }) => {
                let kind = IcmpError::PacketTooBig { mtu };
                self.forward(now, error_about(address, kind, quoted), None);
            }
            Err(_) => {}
        }
    }

    /// Takes in a Neighbor Discovery message on the home link about a mobile's address.
    fn handle_discovery(&mut self, now: Instant, source: Ipv6Addr, message: &NeighborDiscovery) {
        let (target, asks) = match message {
            NeighborDiscovery::NeighborSolicitation(solicitation) => (solicitation.target, true),
            NeighborDiscovery::NeighborAdvertisement(claim) => (claim.target, false),
            _ => return,
        };
        let Some(binding) = self.bindings.get(&target.to_bits()) else {
            return;
        };
        match binding.stage {
            // RFC 4862 section 5.4.3: a solicitation with a source address is address resolution, not detection.
            Stage::Detecting(_) if !asks || source.is_unspecified() => {
                let status = BindingStatus::DUPLICATE_ADDRESS_DETECTION_FAILED;
                self.finish_detection(now, target, status);
            }
            Stage::Bound | Stage::Buffering(_) if asks => {
                let to = if source.is_unspecified() {
                    ALL_NODES
                } else {
                    source
                };
                self.defend(target, to);
            }
            _ => {}
        }
    }
}

/// Returns true for a mobile's update to an access router, which may have the same address.
fn is_for_router(packet: &Packet) -> bool {
    let Body::Extended(extended) = &packet.body else {
        return false;
    };
    match &extended.body {
        Body::Mobility(message) => match &**message {
            MobilityMessage::FastBindingUpdate(_) => true,
            MobilityMessage::BindingUpdate(update) => {
                !update.home_registration && !update.anchor_registration
            }
            _ => false,
        },
        _ => false,
    }
}
