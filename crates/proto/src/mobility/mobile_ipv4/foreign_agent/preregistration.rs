//! Registration ahead of a handover (RFC 4881 section 3, PRE-REGISTRATION). The present agent answers a visitor's
//! solicitation for the agent at another access point with that agent's advertisement. The visitor then registers with
//! that agent through its present one, which hands it the reply.
//!
//! Chosen: an agent solicits another one when a mobile first asks for it, and caches the advertisement for its lifetime;
//! access points stand for mobiles' link-layer addresses, since links have none; and the new agent sends the reply to
//! the present one, since RFC 2003 section 4 forbids a tunnel for its own packet.

use super::visitors::NextHop;
use super::{ForeignAgent, InterfaceId, Received, ReplyTo};
use crate::time::{Duration, Instant};
use crate::wire::agent_discovery::{AgentDiscovery, RouterAdvertisement};
use crate::wire::mobile_ipv4::{Extension, PORT, Reply};
use crate::wire::neighbor_discovery::LinkLayerAddress;
use core::net::Ipv4Addr;
use std::collections::BTreeMap;

/// Other agents, and access points.
#[derive(Debug, Default)]
pub(super) struct Surroundings {
    /// Agents at other access points.
    agents: BTreeMap<LinkLayerAddress, Ipv4Addr>,
    /// This agent's own access points.
    access_points: BTreeMap<LinkLayerAddress, InterfaceId>,
    /// Advertisements of other agents, until they expire.
    advertised: BTreeMap<Ipv4Addr, (RouterAdvertisement, Instant)>,
    /// Visitors that wait for an advertisement, by home address: their links, and the access points.
    waiting: BTreeMap<Ipv4Addr, (InterfaceId, LinkLayerAddress)>,
}

impl Surroundings {
    /// Returns true for the address of an agent at another access point.
    pub fn knows(&self, agent: Ipv4Addr) -> bool {
        self.agents.values().any(|&known| known == agent)
    }

    fn advertisement(&self, now: Instant, agent: Ipv4Addr) -> Option<&RouterAdvertisement> {
        let (advertisement, expires) = self.advertised.get(&agent)?;
        (now < *expires).then_some(advertisement)
    }
}

/// Origin of a request ahead of a handover.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ahead {
    /// Link on which the mobile will be.
    pub next: NextHop,
    /// Agent with which the mobile is.
    pub present: Ipv4Addr,
}

impl ForeignAgent {
    /// Names an access point of this agent.
    pub fn set_access_point(&mut self, point: LinkLayerAddress, interface: InterfaceId) {
        self.surroundings.access_points.insert(point, interface);
    }

    /// Makes the agent at another access point known: its advertisement is given to visitors ahead of a handover.
    pub fn know(&mut self, point: LinkLayerAddress, agent: Ipv4Addr) {
        self.surroundings.agents.insert(point, agent);
    }

    /// Advertises to a visitor the agent at the access point to which it is about to move: in answer to its proxy
    /// router solicitation, or, unasked, on a trigger of the network's (a source trigger, section 3.2). Does nothing
    /// for other mobiles and unknown access points.
    pub fn advertise_next(&mut self, now: Instant, visitor: Ipv4Addr, point: LinkLayerAddress) {
        let known = self.visitors.get(&visitor);
        let Some(NextHop::Link(interface)) = known
            .filter(|known| now < known.expires)
            .map(|known| known.next)
        else {
            return;
        };
        let Some(&agent) = self.surroundings.agents.get(&point) else {
            return;
        };
        self.surroundings
            .waiting
            .insert(visitor, (interface, point));
        if self.surroundings.advertisement(now, agent).is_some() {
            return self.answer_waiting(now, agent);
        }
        let ends = [self.config.address, agent];
        self.outbox
            .send_discovery(None, ends, AgentDiscovery::Solicitation);
    }

    /// Takes in another agent's advertisement, and hands it to the visitors that wait for it.
    pub(super) fn handle_advertisement(
        &mut self,
        now: Instant,
        agent: Ipv4Addr,
        advertisement: RouterAdvertisement,
    ) {
        if self.surroundings.knows(agent) && advertisement.access_point.is_none() {
            let expires = now + Duration::from_secs(advertisement.lifetime.into());
            let known = (advertisement, expires);
            self.surroundings.advertised.insert(agent, known);
            self.answer_waiting(now, agent);
        }
    }

    fn answer_waiting(&mut self, now: Instant, agent: Ipv4Addr) {
        let Surroundings {
            agents, waiting, ..
        } = &self.surroundings;
        let answered = waiting
            .iter()
            .filter(|(_, (_, point))| agents.get(point) == Some(&agent));
        let answered: Vec<_> = answered
            .map(|(&visitor, &asked)| (visitor, asked))
            .collect();
        let Some(advertisement) = self.surroundings.advertisement(now, agent).cloned() else {
            return;
        };
        for (visitor, (interface, point)) in answered {
            self.surroundings.waiting.remove(&visitor);
            let message = AgentDiscovery::Advertisement(RouterAdvertisement {
                access_point: Some(point),
                ..advertisement.clone()
            });
            let ends = [self.config.address, visitor];
            self.outbox.send_discovery(Some(interface), ends, message);
        }
    }

    /// Returns the origin of a request ahead of a handover: `None` for any other request, an error for one to an
    /// unknown access point, or through an unknown agent.
    pub(super) fn origin_ahead(&self, received: &Received) -> Option<Result<Ahead, ()>> {
        let extensions = &received.message.extensions;
        let point = extensions.iter().find_map(|extension| match extension {
            Extension::AccessPoint(point) => Some(point),
            _ => None,
        })?;
        let present = extensions.iter().find_map(|extension| match extension {
            Extension::PresentForeignAgent(agent) => Some(*agent),
            _ => None,
        });
        let present = present.filter(|&agent| self.surroundings.knows(agent));
        let interface = self.surroundings.access_points.get(point);
        Some(match (interface, present) {
            (Some(&interface), Some(present)) => Ok(Ahead {
                next: NextHop::Link(interface),
                present,
            }),
            _ => Err(()),
        })
    }

    /// Hands a visitor the reply to a request that it has sent to another agent. Returns false for any other reply.
    pub(super) fn hand_over(&mut self, now: Instant, received: &Received, reply: &Reply) -> bool {
        let known = self.visitors.get(&reply.home_address);
        let next = known.filter(|known| now < known.expires);
        let Some(NextHop::Link(interface)) = next.map(|known| known.next) else {
            return false;
        };
        if !self.surroundings.knows(received.source) {
            return false;
        }
        let to = ReplyTo {
            interface: Some(interface),
            address: reply.home_address,
            port: PORT,
        };
        self.send(to, &received.message);
        true
    }
}
