//! The mobility agents of a host, and the order in which they hear of things. Those of Mobile IPv4 hear of IPv4's
//! packets ([`Ipv4Agents`]); of those of Mobile IPv6:
//!
//! What arrives is offered to the access routers, which may be told of mobiles by it, to the AAA server and the point of
//! service, to the home agent, to the access
//! routers again, which keep what is for mobiles that have left or may come, then to the mobile node, then to the
//! correspondent; what none of them keeps is for the transports. What transports send is offered to the correspondent, to the
//! home agent and then, where the route leads to [`InterfaceId::AGENT`], to the mobile node. Signals of links go to the mobile node and to
//! the access router of that interface.

mod ipv4;
mod routers;
mod unresolved;

pub use ipv4::{Ipv4Agents, Ipv4Mobile};
pub use routers::AccessRouters;

use self::unresolved::Unresolved;
use super::{AerotpGateway, Discarded, InterfaceId, LinkEvent, PathAgents};
use crate::crosslayer::PeerMoved;
use crate::mobility::buffering::Held;
use crate::mobility::handover_service::PointOfService;
use crate::mobility::mobile_ipv4;
use crate::mobility::mobile_ipv6::{
    AccessRouter, Correspondent, HomeAgent, HomeAgentEvent, MobileEvent, MobileNode, Neighbor,
    Received, Towards,
};
use crate::mobility::network_access::AccessServer;
use crate::mobility::tunnel::Refused;
use crate::packet::{Body, IpHeader, Packet};
use crate::tcp::Endpoint;
use crate::time::Instant;
use crate::wire::icmp::{IcmpError, QuotedPacket};
use core::net::IpAddr;

/// What an agent has to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentEvent {
    /// A mobile node.
    Mobile(MobileEvent),
    /// A home agent.
    HomeAgent(HomeAgentEvent),
    /// A mobile node of Mobile IPv4.
    Ipv4Mobile(mobile_ipv4::MobileNodeEvent),
    /// A home agent of Mobile IPv4.
    Ipv4HomeAgent(mobile_ipv4::HomeAgentEvent),
    /// A foreign agent.
    ForeignAgent(mobile_ipv4::ForeignAgentEvent),
}

/// The agents of one host; most hosts have none.
#[derive(Debug, Default)]
pub struct Agents {
    /// It keeps the bindings of mobiles.
    pub home_agent: Option<HomeAgent>,
    /// It is a mobile itself.
    pub mobile: Option<MobileNode>,
    /// It speaks with mobiles that optimise their routes.
    pub correspondent: Option<Correspondent>,
    /// It advertises prefixes: one for each interface to an access link.
    pub routers: AccessRouters,
    /// It says who may come into visited networks.
    pub access_server: Option<AccessServer>,
    /// It helps mobiles, or other points of service, with handovers.
    pub point_of_service: Option<PointOfService>,
    /// Those of Mobile IPv4.
    pub ipv4: Option<Box<Ipv4Agents>>,
    /// What serves connections of others that pass.
    pub path: Option<Box<PathAgents>>,
    /// It carries connections of others across a link by AeroTP.
    pub gateway: Option<Box<AerotpGateway>>,
    /// Packets for mobiles without a binding.
    unresolved: Unresolved,
}

/// What an agent wants done with a packet.
pub(super) enum Step {
    /// It is for this host's transports.
    Deliver(Packet),
    /// It leaves by this interface.
    Send(InterfaceId, Packet),
    /// It goes wherever routes lead.
    Forward(Packet),
    /// It leaves as this host's own do.
    Originate(Packet),
    /// Its source is to be told what became of it.
    Tell(IcmpError, QuotedPacket),
    /// Its receiver is nowhere, as its source is to be told.
    GiveBack(Packet),
}

impl From<(Towards, Packet)> for Step {
    fn from((towards, packet): (Towards, Packet)) -> Step {
        match towards {
            Towards::Interface(interface) => Step::Send(InterfaceId(interface), packet),
            Towards::Network => Step::Forward(packet),
        }
    }
}

impl Agents {
    /// The agents of Mobile IPv4, to give the host some.
    pub fn ipv4_mut(&mut self) -> &mut Ipv4Agents {
        self.ipv4.get_or_insert_default()
    }

    /// What serves connections of others that pass, to give the host some of it.
    pub fn path_mut(&mut self) -> &mut PathAgents {
        self.path.get_or_insert_default()
    }

    /// Whether one of them looks at packets that pass.
    #[inline]
    pub(super) fn look_at_all(&self) -> bool {
        self.path.is_some() || self.gateway.is_some()
    }

    /// Whether a packet that is for none of this host's own addresses is to be handed to
    /// [`handle_packet`](Self::handle_packet). Packets to groups are: those that agents send mean nothing beyond a link
    /// (RFC 4291 section 2.7, RFC 1112), and nobody else sends any.
    pub fn takes(&self, ip: &IpHeader) -> bool {
        let of_mobile = |mobile: &MobileNode| match ip.destination {
            IpAddr::V6(address) => mobile.takes(address),
            IpAddr::V4(_) => false,
        };
        ip.destination.is_multicast()
            || self
                .home_agent
                .as_ref()
                .is_some_and(|agent| agent.intercepts(ip.destination))
            || self.mobile.as_ref().is_some_and(of_mobile)
            || self.routers.takes(ip.destination)
            || self.ipv4.as_ref().is_some_and(|ipv4| ipv4.takes(ip))
    }

    /// A link says something of itself.
    pub fn handle_link(&mut self, now: Instant, interface: InterfaceId, signal: LinkEvent) {
        if let Some(ipv4) = &mut self.ipv4 {
            ipv4.handle_link(now, interface, signal);
        }
        if let Some(mobile) = &mut self.mobile {
            match signal {
                LinkEvent::Up => mobile.link_up(now, interface.0),
                LinkEvent::GoingDown => mobile.link_going_down(now, interface.0),
                LinkEvent::Rollback => mobile.link_rollback(now, interface.0),
                LinkEvent::Down => mobile.link_down(now, interface.0),
                LinkEvent::HandoverImminent => mobile.prefer(now, interface.0),
                _ => {}
            }
        }
        self.routers.tell(interface.0, |router| match signal {
            LinkEvent::Up => router.handle_link_up(),
            LinkEvent::Down => router.handle_link_down(),
            _ => {}
        });
    }

    /// A link says something of one of its routers' neighbours at the other end.
    pub fn handle_neighbor(
        &mut self,
        now: Instant,
        interface: InterfaceId,
        (signal, neighbor): (LinkEvent, Neighbor),
    ) {
        self.routers.tell(interface.0, |router| match signal {
            LinkEvent::GoingDown => router.handle_departure(now, neighbor),
            LinkEvent::Down => {
                router.handle_loss(neighbor.address);
                router.handle_departure(now, neighbor);
            }
            LinkEvent::Up | LinkEvent::Rollback => router.handle_return(now, neighbor.address),
            _ => {}
        });
    }

    /// Takes in what came over an interface, for an address of this host (`is_own`) or because the agents take it. What is
    /// for the host's transports comes back, or later as a step.
    pub fn handle_packet(
        &mut self,
        now: Instant,
        interface: InterfaceId,
        mut packet: Packet,
        is_own: bool,
    ) -> Option<Packet> {
        if let Some(ipv4) = &mut self.ipv4
            && packet.ip.destination.is_ipv4()
        {
            return ipv4.handle_packet(now, interface, packet, is_own);
        }
        if matches!(packet.body, Body::Icmp(_)) {
            let hear = |router: &mut AccessRouter| router.handle_packet(now, &packet);
            self.routers.tell(interface.0, hear);
        }
        if let Some(server) = &mut self.access_server {
            packet = server.handle_packet(now, packet)?;
        }
        if let Some(service) = &mut self.point_of_service {
            packet = service.handle_packet(packet)?;
        }
        let take = |router: &mut AccessRouter, packet| router.take_update(now, packet);
        packet = self.routers.offer(packet, take)?;
        if let Some(agent) = &mut self.home_agent {
            packet = agent.handle_packet(now, packet)?;
        }
        let take = |router: &mut AccessRouter, packet| router.take(now, packet);
        packet = self.routers.offer(packet, take)?;
        if let Some(mobile) = &mut self.mobile {
            return mobile.handle_packet(now, interface.0, packet);
        }
        match &mut self.correspondent {
            Some(correspondent) => correspondent.handle_packet(now, packet),
            None => Some(packet),
        }
    }

    /// A packet of this host's own, before a route is looked up for it: as it is to be sent, or nothing if an agent sends
    /// it.
    pub fn handle_outgoing(&mut self, now: Instant, mut packet: Packet) -> Option<Packet> {
        if let Some(ipv4) = &mut self.ipv4
            && packet.ip.destination.is_ipv4()
        {
            return ipv4.handle_outgoing(now, packet);
        }
        if let Some(correspondent) = &mut self.correspondent {
            packet = correspondent.handle_outgoing(now, packet);
        }
        match &mut self.home_agent {
            Some(agent) => agent.handle_outgoing(now, packet),
            None => Some(packet),
        }
    }

    /// The address from which a connection to `remote` is to speak, if an agent minds.
    pub fn source_towards(&self, remote: Endpoint) -> Option<IpAddr> {
        self.ipv4.as_ref()?.source_towards(remote)
    }

    /// Lets a packet wait for a mobile that has no binding.
    pub(super) fn hold_unresolved(&mut self, now: Instant, packet: Packet) {
        self.unresolved.hold(now, packet);
    }

    /// Sends the packets that waited for mobiles which have a binding now.
    pub(super) fn send_resolved(&mut self, now: Instant) {
        while let Some(prefix) = self.home_agent.as_mut().and_then(HomeAgent::poll_bound) {
            let reached = |address| match address {
                IpAddr::V6(address) => prefix.contains(address),
                IpAddr::V4(_) => false,
            };
            let waiting = (self.unresolved).waiting_from(prefix.address().into(), reached);
            for address in waiting {
                self.send_to_resolved(now, address);
            }
        }
        while let Some(home) = self.ipv4.as_mut().and_then(|ipv4| ipv4.poll_bound()) {
            self.send_to_resolved(now, home.into());
        }
    }

    fn send_to_resolved(&mut self, now: Instant, address: IpAddr) {
        for packet in self.unresolved.take(now, address) {
            // A binding that has gone again lets it wait anew.
            if let Some(packet) = self.handle_outgoing(now, packet) {
                self.unresolved.hold(now, packet);
            }
        }
    }

    /// What is to be done next.
    pub(super) fn poll_step(&mut self) -> Option<Step> {
        if let Some(packet) = self.unresolved.poll_failed() {
            return Some(Step::GiveBack(packet));
        }
        if let Some(ipv4) = &mut self.ipv4
            && let Some(step) = ipv4.poll_step()
        {
            return Some(step);
        }
        if let Some(packet) = self.path.as_mut().and_then(|path| path.poll_transmit()) {
            return Some(Step::Originate(packet));
        }
        if let Some(mobile) = &mut self.mobile {
            match mobile.poll_received() {
                Some(Received::Local(packet)) => return Some(Step::Deliver(packet)),
                Some(Received::Behind(packet)) => return Some(Step::Forward(packet)),
                None => {}
            }
        }
        // One after the other, not all in one expression: each choice between two would copy the packet.
        if let Some(sent) = self.mobile.as_mut().and_then(MobileNode::poll_transmit) {
            return Some(Step::from(sent));
        }
        if let Some(sent) = self.home_agent.as_mut().and_then(HomeAgent::poll_transmit) {
            return Some(Step::from(sent));
        }
        if let Some(sent) = self.routers.poll_transmit() {
            return Some(Step::from(sent));
        }
        let server = self.access_server.as_mut();
        let service = self.point_of_service.as_mut();
        let correspondent = self.correspondent.as_mut();
        let packet = server
            .and_then(AccessServer::poll_transmit)
            .or_else(|| service.and_then(PointOfService::poll_transmit))
            .or_else(|| correspondent.and_then(Correspondent::poll_transmit))?;
        Some(Step::Forward(packet))
    }

    /// The address of a mobile that has moved, and what its binding update says of the new path.
    pub(super) fn poll_moved(&mut self) -> Option<(IpAddr, PeerMoved)> {
        let agent = self.home_agent.as_mut().and_then(HomeAgent::poll_moved);
        let correspondent = self.correspondent.as_mut();
        let moved = agent.or_else(|| correspondent.and_then(Correspondent::poll_moved))?;
        Some((moved.0.into(), moved.1))
    }

    /// What has happened.
    #[inline]
    pub(super) fn poll_event(&mut self) -> Option<AgentEvent> {
        if let Some(ipv4) = &mut self.ipv4
            && let Some(event) = ipv4.poll_event()
        {
            return Some(event);
        }
        if let Some(event) = self.mobile.as_mut().and_then(MobileNode::poll_event) {
            return Some(AgentEvent::Mobile(event));
        }
        let event = self.home_agent.as_mut()?.poll_event()?;
        Some(AgentEvent::HomeAgent(event))
    }

    /// A packet that a buffer has taken in or dropped.
    pub(super) fn poll_held(&mut self) -> Option<Held> {
        let agent = self.home_agent.as_mut().and_then(HomeAgent::poll_held);
        agent
            .or_else(|| self.routers.poll_held())
            .or_else(|| self.unresolved.poll_held())
    }

    /// Adds what the agents gave up.
    pub(super) fn add_discarded(&self, sum: &mut Discarded) {
        let add_tunnels = |sum: &mut Discarded, refused: Refused| {
            sum.tunnelled += refused.loops + refused.too_deep;
            sum.hop_limit += refused.hop_limit;
            sum.too_big += refused.too_big;
        };
        if let Some(counts) = self.home_agent.as_ref().map(HomeAgent::counts) {
            sum.messages += counts.refused_updates + counts.unexpected;
            sum.tunnelled += counts.strangers + counts.turned_back;
            add_tunnels(sum, counts.tunnels);
        }
        if let Some(counts) = self.mobile.as_ref().map(MobileNode::counts) {
            sum.no_route += counts.unreachable;
            sum.messages += counts.unexpected;
            sum.tunnelled += counts.unregistered + counts.misdirected + counts.turned_back;
            add_tunnels(sum, counts.tunnels);
        }
        if let Some(counts) = self.correspondent.as_ref().map(Correspondent::counts) {
            sum.messages += counts.unauthenticated + counts.refused + counts.unexpected;
            sum.tunnelled += counts.unbound;
        }
        if let Some(counts) = self.access_server.as_ref().map(AccessServer::counts) {
            sum.messages += counts.unproved + counts.unexpected;
        }
        if let Some(counts) = self.point_of_service.as_ref().map(PointOfService::counts) {
            sum.messages += counts.unexpected;
        }
        if let Some(ipv4) = &self.ipv4 {
            ipv4.add_discarded(sum);
        }
        sum.no_route += self.unresolved.discarded();
    }

    /// When [`handle_timeout`](Self::handle_timeout) has something to do.
    pub fn poll_timeout(&self) -> Option<Instant> {
        // Only those that are there are asked: a host with agents asks after each packet.
        let mut earliest = None;
        let mut ask = |deadline: Option<Instant>| {
            if let Some(deadline) = deadline {
                earliest = Some(earliest.map_or(deadline, |least: Instant| least.min(deadline)));
            }
        };
        if let Some(agent) = &self.home_agent {
            ask(agent.poll_timeout());
        }
        if let Some(mobile) = &self.mobile {
            ask(mobile.poll_timeout());
        }
        if let Some(correspondent) = &self.correspondent {
            ask(correspondent.poll_timeout());
        }
        ask(self.routers.poll_timeout());
        if let Some(server) = &self.access_server {
            ask(server.poll_timeout());
        }
        if let Some(ipv4) = &self.ipv4 {
            ask(ipv4.poll_timeout());
        }
        if let Some(path) = &self.path {
            ask(path.poll_timeout());
        }
        if let Some(gateway) = &self.gateway {
            ask(gateway.poll_timeout());
        }
        ask(self.unresolved.poll_timeout());
        earliest
    }

    /// Does what is due at `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        if let Some(agent) = &mut self.home_agent {
            agent.handle_timeout(now);
        }
        if let Some(mobile) = &mut self.mobile {
            mobile.handle_timeout(now);
        }
        if let Some(correspondent) = &mut self.correspondent {
            correspondent.handle_timeout(now);
        }
        self.routers.handle_timeout(now);
        if let Some(server) = &mut self.access_server {
            server.handle_timeout(now);
        }
        if let Some(ipv4) = &mut self.ipv4 {
            ipv4.handle_timeout(now);
        }
        if let Some(path) = &mut self.path {
            path.handle_timeout(now);
        }
        if let Some(gateway) = &mut self.gateway {
            gateway.handle_timeout(now);
        }
        self.unresolved.handle_timeout(now);
    }
}
