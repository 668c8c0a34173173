//! The agents of Mobile IPv4 as layers of a node.

mod domains;

use super::{
    AddressServer, CareOf, Dropped, ForeignAgent, HomeAgent, MobileNode, MobileNodeEvent, Transmit,
    words,
};
use crate::crosslayer::Signal;
use crate::host::Discarded;
use crate::host::RouteTable;
use crate::host::layer::{Around, Arrival, Counters, Ended, Layer, Look, Rank, Step, Told};
use crate::interface::{InterfaceId, LinkEvent};
use crate::mobility::buffering::Held;
use crate::mobility::micro_mobility;
use crate::packet::{Body, IpHeader, Packet, Wording};
use crate::time::Instant;
use crate::wire::prefix::Prefix;
use core::net::{IpAddr, Ipv4Addr};
use domains::{DomainEvent, Domains};

/// A mobile node, with the source of its care-of address on each link.
#[derive(Debug)]
pub struct Mobile {
    node: MobileNode,
    care_of: Vec<(InterfaceId, CareOf)>,
    /// The link in use, or of the coming handover.
    preferred: Option<InterfaceId>,
    /// Interfaces whose links are up.
    up: Vec<InterfaceId>,
    domains: Domains,
    told: Told,
}

impl Mobile {
    /// Creates a mobile with these access links.
    pub fn new(node: MobileNode, care_of: Vec<(InterfaceId, CareOf)>) -> Mobile {
        Mobile {
            node,
            care_of,
            preferred: None,
            up: Vec::new(),
            domains: Domains::default(),
            told: Told::default(),
        }
    }

    /// Adds a micro-mobility domain, in which the mobile keeps one co-located care-of address.
    pub fn add_domain(&mut self, client: micro_mobility::Client) {
        self.domains.add(client);
    }

    /// Sets the source of the care-of address of an interface from now on, such as for another cell's link.
    pub fn set_care_of(&mut self, interface: InterfaceId, source: CareOf) {
        let mut known = self.care_of.iter_mut();
        if let Some((_, known)) = known.find(|(known, _)| *known == interface) {
            *known = source;
        }
    }

    fn attach(
        &mut self,
        now: Instant,
        interface: InterfaceId,
        attach: fn(&mut MobileNode, Instant, InterfaceId, CareOf),
    ) {
        if let Some(address) = self.domains.attach(now, interface) {
            // The registration follows at once, so that both ways pass as soon as the path allows; a new one waits for
            // the path.
            self.node.follow(now, interface, address);
            return;
        }
        let mut known = self.care_of.iter();
        if let Some(&(_, care_of)) = known.find(|(known, _)| *known == interface) {
            attach(&mut self.node, now, interface, care_of);
        }
    }

    /// Returns the mobile node, to change it.
    pub fn node_mut(&mut self) -> &mut MobileNode {
        &mut self.node
    }

    /// Returns the mobile node.
    pub fn node(&self) -> &MobileNode {
        &self.node
    }

    /// Registers over a path that has been set up, or reports that the mobile kept its registration.
    fn handle_domains(&mut self, now: Instant) {
        while let Some(event) = self.domains.poll_event() {
            let news = match event {
                DomainEvent::Prepared => Signal::HandoverPrepared,
                DomainEvent::Ready(interface, address) => {
                    let point = self.node.registered(now);
                    if point.is_none_or(|point| point.interface != interface) {
                        self.node.attach(now, interface, CareOf::Known(address));
                        continue;
                    }
                    Signal::Registered(interface)
                }
            };
            self.told.add(Some(news), None);
        }
    }

    fn take_events_apart(&mut self) {
        while let Some(event) = self.node.poll_event() {
            let news = match &event {
                MobileNodeEvent::Registered { point, .. } => {
                    Some(Signal::Registered(point.interface))
                }
                MobileNodeEvent::AtHome { interface } => Some(Signal::Registered(*interface)),
                MobileNodeEvent::Preregistered { .. } => Some(Signal::HandoverPrepared),
                MobileNodeEvent::AddressReady { interface, address } => {
                    Some(Signal::AddressAcquired(*interface, (*address).into()))
                }
                _ => None,
            };
            self.told.add(news, Some(words::of_mobile(&event)));
        }
    }
}

impl Layer for Mobile {
    fn rank(&self) -> Rank {
        Rank::MobileNodeIpv4
    }

    fn takes(&self, ip: &IpHeader) -> bool {
        is_for_all(ip) || self.has_address(ip.destination)
    }

    fn has_address(&self, address: IpAddr) -> bool {
        self.node.is_own(address) || self.domains.have(address)
    }

    fn input(&mut self, now: Instant, arrival: Arrival, packet: Packet) -> Option<Packet> {
        if !packet.ip.destination.is_ipv4() || !(arrival.is_own || self.takes(&packet.ip)) {
            return Some(packet);
        }
        let other = self.domains.handle_packet(now, packet);
        self.handle_domains(now);
        self.node.handle_packet(now, arrival.interface, other?)
    }

    fn output(&mut self, now: Instant, packet: Packet) -> Option<Packet> {
        match packet.ip.destination.is_ipv4() {
            true => {
                self.domains.be_active(now);
                self.node.send(now, packet)
            }
            false => Some(packet),
        }
    }

    fn redirect(&mut self, now: Instant, packet: &mut Packet) -> Option<InterfaceId> {
        self.node.redirect(now, packet)
    }

    // The link to use may be announced before or after it is up. A link that is going down changes nothing: a handover
    // is prepared when its destination is known.
    fn handle_signal(&mut self, now: Instant, signal: &Signal) {
        let (interface, event) = match *signal {
            Signal::Link(interface, event) => (interface, event),
            Signal::HandoverForeseen(interface) => {
                self.node.prepare_handover(now, interface);
                self.domains.prepare(now, interface);
                return self.handle_domains(now);
            }
            _ => return,
        };
        match event {
            LinkEvent::HandoverImminent => {
                // A radio network in use announces its next cell while the present one is up.
                let before = self.preferred.replace(interface);
                if before != Some(interface) && self.up.contains(&interface) {
                    self.attach(now, interface, MobileNode::return_to);
                }
            }
            LinkEvent::Up => {
                if !self.up.contains(&interface) {
                    self.up.push(interface);
                }
                if self.preferred == Some(interface) {
                    self.attach(now, interface, MobileNode::attach);
                } else {
                    // Perhaps at another router.
                    self.node.detach(interface);
                }
            }
            LinkEvent::Down => {
                self.up.retain(|&up| up != interface);
                self.domains.detach(interface);
                self.node.detach(interface);
            }
            LinkEvent::Rollback if self.preferred == Some(interface) => {
                self.node.stay(now);
                self.domains.stay();
            }
            _ => {}
        }
        self.handle_domains(now);
    }

    fn source_towards(&self, remote: IpAddr, port: u16) -> Option<IpAddr> {
        match remote {
            IpAddr::V4(remote) => Some(self.node.source_address(remote, Some(port)).into()),
            IpAddr::V6(_) => None,
        }
    }

    fn poll_step(&mut self) -> Option<Step> {
        if let Some((kind, quoted)) = self.node.poll_error() {
            return Some(Step::Tell(kind, quoted));
        }
        if let Some((interface, packet)) = self.domains.poll_transmit() {
            return Some(Step::Send(interface, packet));
        }
        self.node.poll_transmit().map(Step::from)
    }

    fn poll_signal(&mut self) -> Option<Signal> {
        self.take_events_apart();
        self.told.poll_signal()
    }

    fn poll_event(&mut self) -> Option<Wording> {
        self.take_events_apart();
        self.told.poll_words()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let timeouts = [self.node.poll_timeout(), self.domains.poll_timeout()];
        timeouts.into_iter().flatten().min()
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.node.handle_timeout(now);
        self.domains.handle_timeout(now);
        self.handle_domains(now);
    }

    fn counters(&self) -> Counters {
        let mut dropped = self.node.dropped();
        dropped.malformed += self.domains.refused();
        Counters::from(dropped)
    }
}

impl Layer for HomeAgent {
    fn rank(&self) -> Rank {
        Rank::HomeAgentIpv4
    }

    fn takes(&self, ip: &IpHeader) -> bool {
        let is_of_mobile = |to| matches!(to, IpAddr::V4(address) if self.intercepts(address));
        is_for_all(ip) || is_of_mobile(ip.destination)
    }

    fn input(&mut self, now: Instant, arrival: Arrival, packet: Packet) -> Option<Packet> {
        let Some((is_here, for_us)) = concerns(&packet.ip, arrival, self.address()) else {
            return Some(packet);
        };
        match is_here {
            true if for_us || self.is_on(arrival.interface) => {
                self.handle_packet(now, arrival.interface, packet)
            }
            true => Some(packet),
            false => self.tunnel(now, packet),
        }
    }

    fn output(&mut self, now: Instant, packet: Packet) -> Option<Packet> {
        match packet.ip.destination.is_ipv4() {
            true => self.tunnel(now, packet),
            false => Some(packet),
        }
    }

    fn redirect(&mut self, now: Instant, packet: &mut Packet) -> Option<InterfaceId> {
        HomeAgent::redirect(self, now, packet);
        None
    }

    fn poll_step(&mut self) -> Option<Step> {
        if let Some((kind, quoted)) = self.poll_error() {
            return Some(Step::Tell(kind, quoted));
        }
        self.poll_transmit().map(Step::from)
    }

    fn poll_signal(&mut self) -> Option<Signal> {
        let home_address = self.poll_bound()?;
        Some(Signal::Bound(Prefix::single(home_address.into())))
    }

    fn poll_event(&mut self) -> Option<Wording> {
        HomeAgent::poll_event(self).map(|event| words::of_home_agent(&event))
    }

    fn poll_timeout(&self) -> Option<Instant> {
        HomeAgent::poll_timeout(self)
    }

    fn handle_timeout(&mut self, now: Instant) {
        HomeAgent::handle_timeout(self, now);
    }

    fn counters(&self) -> Counters {
        Counters::from(self.dropped())
    }
}

impl Layer for ForeignAgent {
    fn rank(&self) -> Rank {
        Rank::ForeignAgent
    }

    fn inspects(&self) -> bool {
        self.compresses()
    }

    fn inspect(
        &mut self,
        _now: Instant,
        interface: InterfaceId,
        _routes: &RouteTable,
        packet: &mut Packet,
    ) -> Look {
        self.look_at(interface, packet)
    }

    fn end(
        &mut self,
        now: Instant,
        _around: &mut Around<'_>,
        _interface: InterfaceId,
        packet: Packet,
    ) -> Ended {
        if !matches!(packet.body, Body::Compressed(_)) {
            return Ended::No(packet);
        }
        match self.send_on(now, packet) {
            true => Ended::Taken,
            false => Ended::Refused,
        }
    }

    fn takes(&self, ip: &IpHeader) -> bool {
        let is_of_visitor = |from| matches!(from, IpAddr::V4(address) if self.forwards(address));
        ip.destination.is_ipv4() && (is_for_all(ip) || is_of_visitor(ip.source))
    }

    fn input(&mut self, now: Instant, arrival: Arrival, packet: Packet) -> Option<Packet> {
        let Some((is_here, for_us)) = concerns(&packet.ip, arrival, self.address()) else {
            return Some(packet);
        };
        match is_here {
            true if for_us || self.is_on(arrival.interface) => {
                self.handle_packet(now, arrival.interface, packet)
            }
            true => Some(packet),
            false => self.forward(now, arrival.interface, packet),
        }
    }

    fn poll_step(&mut self) -> Option<Step> {
        if let Some((kind, quoted)) = self.poll_error() {
            return Some(Step::Tell(kind, quoted));
        }
        self.poll_transmit().map(Step::from)
    }

    fn poll_event(&mut self) -> Option<Wording> {
        ForeignAgent::poll_event(self).map(|event| words::of_foreign_agent(&event))
    }

    fn poll_held(&mut self) -> Option<Held> {
        ForeignAgent::poll_held(self)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        ForeignAgent::poll_timeout(self)
    }

    fn handle_timeout(&mut self, now: Instant) {
        ForeignAgent::handle_timeout(self, now);
    }

    fn counters(&self) -> Counters {
        Counters {
            buffered: self.buffered(),
            ..Counters::from(self.dropped())
        }
    }
}

/// A DHCP server on one link.
#[derive(Debug)]
pub struct LinkServer {
    /// Interface to the link.
    pub interface: InterfaceId,
    /// The server.
    pub server: AddressServer,
}

impl Layer for LinkServer {
    fn rank(&self) -> Rank {
        Rank::AddressServer
    }

    fn takes(&self, ip: &IpHeader) -> bool {
        is_for_all(ip)
    }

    fn input(&mut self, now: Instant, arrival: Arrival, packet: Packet) -> Option<Packet> {
        let is_here = packet.ip.destination.is_ipv4() && (arrival.is_own || is_for_all(&packet.ip));
        match is_here && arrival.interface == self.interface {
            true => self.server.handle_packet(now, arrival.interface, packet),
            false => Some(packet),
        }
    }

    fn poll_step(&mut self) -> Option<Step> {
        self.server.poll_transmit().map(Step::from)
    }
}

/// Classifies a packet: `None` unless it is IPv4 and concerns an agent. The first flag is true for a packet to this
/// node or to all on a link, the second for one to `address`.
fn concerns(ip: &IpHeader, arrival: Arrival, address: Ipv4Addr) -> Option<(bool, bool)> {
    let destination = match ip.destination {
        IpAddr::V4(destination) => destination,
        IpAddr::V6(_) => return None,
    };
    let for_all = is_for_all(ip);
    let for_us = destination == address;
    // Another address of this node does not concern the agent.
    if arrival.is_own && !for_us && !for_all {
        return None;
    }
    Some((arrival.is_own || for_all, for_us))
}

/// Returns true for an IPv4 multicast or broadcast destination.
fn is_for_all(ip: &IpHeader) -> bool {
    match ip.destination {
        IpAddr::V4(address) => address.is_multicast() || address.is_broadcast(),
        IpAddr::V6(_) => false,
    }
}

impl From<Transmit> for Step {
    fn from(transmit: Transmit) -> Step {
        match transmit.interface {
            Some(interface) => Step::Send(interface, transmit.packet),
            None => Step::Forward(transmit.packet),
        }
    }
}

impl From<Dropped> for Counters {
    fn from(dropped: Dropped) -> Counters {
        let discarded = Discarded {
            messages: dropped.malformed + dropped.not_authentic,
            tunnelled: dropped.unexpected_tunnel + dropped.looping,
            hop_limit: dropped.hop_limit,
            too_big: dropped.too_big,
            damaged: dropped.compressed,
            ..Discarded::default()
        };
        Counters {
            discarded,
            ..Counters::default()
        }
    }
}
