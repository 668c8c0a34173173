//! Mobility protocols: the agents of hosts, their addresses, and their messages.

mod directory;

use super::ports::BehindAgent;
use super::{Net, World};
use crate::scenario::model::{AttachmentPolicy, LinkIndex, Mobile, Scenario};
use baton_proto::host::layer::Neighbor;
use baton_proto::interface::InterfaceId;
use core::net::IpAddr;

pub(crate) use directory::Directory;

/// State of a mobile's protocol.
#[derive(Clone, Debug)]
pub(crate) struct ProtocolRun {
    /// Node of its home agent.
    pub home_agent: u32,
    /// Its access links except those of radio networks, each with its care-of address there; on the home link, with the
    /// home address.
    pub care_of: Box<[(usize, IpAddr)]>,
    /// True if access routers learn of its arrival.
    pub told: bool,
}

/// Returns the access links that a policy names, except those of radio networks.
pub(crate) fn access_links(scenario: &Scenario, policy: &AttachmentPolicy) -> Vec<usize> {
    let links = policy.access_links(&scenario.radios).into_iter();
    links.map(|link| link.0).collect()
}

impl World {
    /// Gives hosts the addresses and agents that the scenario's protocols need.
    pub(super) fn add_agents(&mut self) {
        self.add_protocols();
        self.introduce_aircraft();
    }

    /// Returns the address of a mobile with a protocol on a link.
    pub(super) fn care_of(&self, number: usize, link: usize) -> Option<IpAddr> {
        let protocol = self.net.mobiles[number].protocol.as_ref()?;
        if let Some(place) = self.net.wires.place(link) {
            return self.care_of_in_cell(number, place);
        }
        let found = protocol.care_of.iter().find(|(known, _)| *known == link)?;
        Some(found.1)
    }

    /// Tells mobiles of the links that they begin with.
    pub(super) fn start_agents(&mut self) {
        for number in 0..self.net.mobiles.len() {
            self.start_agent(self.net.mobiles[number].node.0);
        }
        if self.scenario.has_protocols() {
            // Routers and home agents have deadlines, too.
            (0..self.net.nodes.len()).for_each(|node| self.start_agent(node));
            self.settle();
        }
    }

    fn start_agent(&mut self, node: usize) {
        if !self.is_elsewhere(node) {
            self.pump(node);
        }
    }

    /// Describes a mobile to the router of an access link.
    pub(super) fn neighbor(&self, number: usize, link: usize) -> Neighbor {
        let node = self.net.mobiles[number].node.0;
        let own = || self.net.directory.flow_addresses(&self.scenario, [node; 2])[0];
        let address = self.care_of(number, link).unwrap_or_else(own);
        let protocol = self.net.mobiles[number].protocol.as_ref();
        let Mobile {
            mobility,
            network_prefix,
            ..
        } = &self.scenario.mobiles[number];
        match (mobility, protocol) {
            (Some(mobility), Some(protocol)) => {
                let neighbor = mobility.neighbor(address, protocol.told);
                let is_home = mobility.home_link() == Some(LinkIndex(link));
                Neighbor {
                    network: network_prefix.filter(|_| is_home),
                    ..neighbor
                }
            }
            _ => Neighbor::new(address),
        }
    }

    /// Returns the next destination and interface of a packet at `node`, for a care-of address or for the host `to`, if an agent
    /// decides there: a mobile sends to its correspondent, a home agent to its mobile's care-of address, a foreign agent to
    /// its visitor.
    pub(super) fn agents_route(
        &self,
        node: usize,
        to: usize,
        destination: IpAddr,
    ) -> Option<(IpAddr, InterfaceId)> {
        let with_protocol = |node: usize| {
            let mobile = &self.net.mobiles[self.net.mobile_at(node)?];
            Some((mobile.attached()?, mobile.protocol.as_ref()?))
        };
        if let Some((link, _)) = with_protocol(node) {
            let own = self.net.nodes[to].host.address();
            // To the network behind a mobile router routes lead.
            let route = self.net.nodes[node].host.routes().lookup(own);
            let left_to_agent = route.is_none_or(|interface| interface.is_virtual());
            return left_to_agent.then(|| (own, self.net.interface(node, link)));
        }
        let (link, protocol) = with_protocol(to)?;
        let care_of = self.care_of(self.net.mobile_at(to)?, link)?;
        let (router, interface) = self.net.wires.far_from(link, to);
        if router == node && destination == care_of {
            return Some((destination, interface));
        }
        let routes = self.net.nodes[node].host.routes();
        if destination == care_of && self.scenario.agents.route_mobiles_at(node) {
            let towards = self.net.nodes[router].host.address();
            return Some((destination, routes.lookup(towards)?));
        }
        if protocol.home_agent as usize != node || destination == care_of {
            return None;
        }
        let interface = match router == node {
            true => interface,
            false => routes.lookup(care_of)?,
        };
        Some((care_of, interface))
    }
}

impl Net {
    /// Returns a node's interface to a link that ends at it.
    pub(crate) fn interface(&self, node: usize, link: usize) -> InterfaceId {
        let [a, b] = self.wires.ends(link);
        if a.0 == node { a.1 } else { b.1 }
    }

    /// Leads routes for the addresses that a node has to a home agent, whose agent decides, and otherwise to the home link.
    pub(crate) fn put_behind_agent(&mut self, node: usize, far: (usize, InterfaceId)) {
        let addresses = self.nodes[node].host.addresses().count() as u32;
        let node = node as u32;
        self.behind_agents.push(BehindAgent {
            node,
            addresses,
            far,
        });
    }
}
