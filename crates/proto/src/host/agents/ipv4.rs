//! The Mobile IPv4 agents of a host.
//!
//! What arrives for a mobile is its mobile node's. What arrives for another host, or for all on a link, is offered to the server
//! of addresses, the home agent and the foreign agent; what none of them keeps is for the transports. What is for somebody
//! else comes here if the home agent intercepts it or the foreign agent tunnels it back, and goes on if neither wants it after
//! all. What transports send is offered to the mobile node, or to the home agent, whose mobile it may be for.

use super::{AgentEvent, Discarded, InterfaceId, LinkEvent, Step};
use crate::mobility::mobile_ipv4::{
    AddressServer, CareOf, ForeignAgent, HomeAgent, Interface, MobileNode, Transmit,
};
use crate::packet::{IpHeader, Packet};
use crate::tcp::Endpoint;
use crate::time::Instant;
use core::net::{IpAddr, Ipv4Addr};
use std::collections::VecDeque;

/// A mobile node and its links.
#[derive(Debug)]
pub struct Ipv4Mobile {
    node: MobileNode,
    /// Where its care-of address comes from on each interface.
    care_of: Vec<(InterfaceId, CareOf)>,
    /// The link to use from now on.
    preferred: Option<InterfaceId>,
}

impl Ipv4Mobile {
    /// A mobile with these access links.
    pub fn new(node: MobileNode, care_of: Vec<(InterfaceId, CareOf)>) -> Ipv4Mobile {
        Ipv4Mobile {
            node,
            care_of,
            preferred: None,
        }
    }

    /// The agent.
    pub fn node(&self) -> &MobileNode {
        &self.node
    }

    /// Which link to use is told before the link says that it is up. That a link will go down changes nothing: Mobile IPv4
    /// knows no preparation.
    fn handle_link(&mut self, now: Instant, interface: InterfaceId, signal: LinkEvent) {
        let here = Interface(interface.0);
        match signal {
            LinkEvent::HandoverImminent => self.preferred = Some(interface),
            LinkEvent::Up if self.preferred == Some(interface) => {
                let mut known = self.care_of.iter();
                if let Some(&(_, care_of)) = known.find(|(known, _)| *known == interface) {
                    self.node.attach(now, here, care_of);
                }
            }
            LinkEvent::Down => self.node.detach(here),
            _ => {}
        }
    }
}

/// The agents of Mobile IPv4 of one host.
#[derive(Debug, Default)]
pub struct Ipv4Agents {
    /// It is a mobile itself.
    pub mobile: Option<Ipv4Mobile>,
    /// It keeps the bindings of mobiles.
    pub home_agent: Option<HomeAgent>,
    /// It takes visitors in, or stands above agents that do.
    pub foreign_agent: Option<ForeignAgent>,
    /// It gives out care-of addresses, on each of these interfaces those of one network.
    pub address_servers: Vec<(InterfaceId, AddressServer)>,
    /// What no agent wanted after all.
    passed_on: VecDeque<Packet>,
}

impl Ipv4Agents {
    /// Whether a packet that is for none of this host's own addresses is the agents' all the same.
    pub fn takes(&self, ip: &IpHeader) -> bool {
        let (IpAddr::V4(source), IpAddr::V4(destination)) = (ip.source, ip.destination) else {
            return false;
        };
        let mobile = self.mobile.as_ref();
        let home_agent = self.home_agent.as_ref();
        let foreign_agent = self.foreign_agent.as_ref();
        is_for_all(destination)
            || mobile.is_some_and(|mobile| mobile.node.is_own(ip.destination))
            || home_agent.is_some_and(|agent| agent.intercepts(destination))
            || foreign_agent.is_some_and(|agent| agent.forwards(source))
    }

    pub(super) fn handle_link(&mut self, now: Instant, interface: InterfaceId, signal: LinkEvent) {
        if let Some(mobile) = &mut self.mobile {
            mobile.handle_link(now, interface, signal);
        }
    }

    pub(super) fn handle_packet(
        &mut self,
        now: Instant,
        interface: InterfaceId,
        packet: Packet,
        is_own: bool,
    ) -> Option<Packet> {
        let IpAddr::V4(destination) = packet.ip.destination else {
            return Some(packet);
        };
        let here = Interface(interface.0);
        let for_all = is_for_all(destination);
        if let Some(mobile) = &mut self.mobile
            && (is_own || for_all || mobile.node.is_own(packet.ip.destination))
        {
            return mobile.node.handle_packet(now, here, packet);
        }
        if !is_own && !for_all {
            let packet = self.pass_on(now, here, packet);
            self.passed_on.extend(packet);
            return None;
        }
        let mut servers = self.address_servers.iter_mut();
        let packet = match servers.find(|(at, _)| *at == interface) {
            Some((_, server)) => server.handle_packet(now, here, packet)?,
            None => packet,
        };
        let packet = match &mut self.home_agent {
            Some(agent) if destination == agent.address() || for_all && agent.is_on(here) => {
                agent.handle_packet(now, here, packet)?
            }
            _ => packet,
        };
        match &mut self.foreign_agent {
            Some(agent) if destination == agent.address() || for_all && agent.is_on(here) => {
                agent.handle_packet(now, here, packet)
            }
            _ => Some(packet),
        }
    }

    /// A packet for somebody else; comes back if it is to go on as any other.
    fn pass_on(&mut self, now: Instant, here: Interface, packet: Packet) -> Option<Packet> {
        let packet = match &mut self.home_agent {
            Some(agent) => agent.tunnel(now, packet)?,
            None => packet,
        };
        match &mut self.foreign_agent {
            Some(agent) => agent.forward(now, here, packet),
            None => Some(packet),
        }
    }

    pub(super) fn handle_outgoing(&mut self, now: Instant, packet: Packet) -> Option<Packet> {
        let packet = match &mut self.mobile {
            Some(mobile) => mobile.node.send(now, packet)?,
            None => packet,
        };
        match &mut self.home_agent {
            Some(agent) => agent.tunnel(now, packet),
            None => Some(packet),
        }
    }

    pub(super) fn source_towards(&self, remote: Endpoint) -> Option<IpAddr> {
        let IpAddr::V4(destination) = remote.address else {
            return None;
        };
        let mobile = self.mobile.as_ref()?;
        let source = mobile.node.source_address(destination, Some(remote.port));
        Some(source.into())
    }

    pub(super) fn poll_step(&mut self) -> Option<Step> {
        let mobile = self.mobile.as_mut().map(|mobile| &mut mobile.node);
        let error = match mobile {
            Some(mobile) => mobile.poll_error(),
            None => None,
        };
        let error = error
            .or_else(|| self.home_agent.as_mut()?.poll_error())
            .or_else(|| self.foreign_agent.as_mut()?.poll_error());
        if let Some((kind, quoted)) = error {
            return Some(Step::Tell(kind, quoted));
        }
        let mobile = self.mobile.as_mut();
        let transmit = mobile.and_then(|mobile| mobile.node.poll_transmit());
        let transmit = transmit
            .or_else(|| self.home_agent.as_mut()?.poll_transmit())
            .or_else(|| self.foreign_agent.as_mut()?.poll_transmit())
            .or_else(|| {
                let mut servers = self.address_servers.iter_mut();
                servers.find_map(|(_, server)| server.poll_transmit())
            });
        match transmit {
            Some(Transmit {
                interface: Some(Interface(interface)),
                packet,
            }) => Some(Step::Send(InterfaceId(interface), packet)),
            Some(Transmit { packet, .. }) => Some(Step::Forward(packet)),
            None => self.passed_on.pop_front().map(Step::Forward),
        }
    }

    /// A mobile, by its home address, that has registered where it is.
    pub(super) fn poll_bound(&mut self) -> Option<Ipv4Addr> {
        self.home_agent.as_mut()?.poll_bound()
    }

    pub(super) fn poll_event(&mut self) -> Option<AgentEvent> {
        let mobile = self.mobile.as_mut();
        let event = mobile.and_then(|mobile| mobile.node.poll_event());
        if let Some(event) = event {
            return Some(AgentEvent::Ipv4Mobile(event));
        }
        let home_agent = self.home_agent.as_mut();
        if let Some(event) = home_agent.and_then(HomeAgent::poll_event) {
            return Some(AgentEvent::Ipv4HomeAgent(event));
        }
        let event = self.foreign_agent.as_mut()?.poll_event()?;
        Some(AgentEvent::ForeignAgent(event))
    }

    pub(super) fn add_discarded(&self, sum: &mut Discarded) {
        let mobile = self.mobile.as_ref().map(|mobile| mobile.node.dropped());
        let home = self.home_agent.as_ref().map(HomeAgent::dropped);
        let foreign = self.foreign_agent.as_ref().map(ForeignAgent::dropped);
        for dropped in [mobile, home, foreign].into_iter().flatten() {
            sum.messages += dropped.malformed + dropped.not_authentic;
            sum.tunnelled += dropped.unexpected_tunnel + dropped.looping;
            sum.hop_limit += dropped.hop_limit;
            sum.too_big += dropped.too_big;
        }
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        let mobile = self.mobile.as_ref();
        [
            mobile.and_then(|mobile| mobile.node.poll_timeout()),
            self.home_agent.as_ref().and_then(HomeAgent::poll_timeout),
            self.foreign_agent
                .as_ref()
                .and_then(ForeignAgent::poll_timeout),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        if let Some(mobile) = &mut self.mobile {
            mobile.node.handle_timeout(now);
        }
        if let Some(agent) = &mut self.home_agent {
            agent.handle_timeout(now);
        }
        if let Some(agent) = &mut self.foreign_agent {
            agent.handle_timeout(now);
        }
    }
}

/// Whether all on a link are meant, or all of a kind.
fn is_for_all(address: Ipv4Addr) -> bool {
    address.is_multicast() || address.is_broadcast()
}
