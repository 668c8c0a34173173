//! Mobility protocols: the agents of hosts, the addresses that they use, and what they say.

mod directory;
mod ipv4;
mod ipv6;

use super::World;
use super::ports::BehindLink;
use crate::scenario::model::{AttachmentPolicy, LinkIndex, Scenario};
use baton_proto::crosslayer::CrossLayerSignal;
use baton_proto::host::layer::{LayerEvent, Neighbor, News};
use baton_proto::interface::{InterfaceId, LinkEvent};
use core::net::IpAddr;
use std::collections::BTreeSet;

pub(super) use directory::Directory;

/// What the world knows of a mobile with a protocol.
#[derive(Clone, Debug)]
pub(super) struct ProtocolRun {
    /// Its home agent's node.
    pub home_agent: usize,
    /// Its access links, and the care-of address that it has on each one; the home address on its home link.
    pub care_of: Vec<(usize, IpAddr)>,
    /// Whether access routers are told when it comes.
    pub told: bool,
    /// The access links that it was told are up.
    pub up: BTreeSet<usize>,
}

impl ProtocolRun {
    /// The address that a mobile has on a link.
    pub fn care_of(&self, link: usize) -> Option<IpAddr> {
        let found = self.care_of.iter().find(|(known, _)| *known == link)?;
        Some(found.1)
    }
}

/// The access links that a policy speaks of.
pub(super) fn access_links(scenario: &Scenario, policy: &AttachmentPolicy) -> Vec<usize> {
    let links = policy.access_links(&scenario.radios).into_iter();
    links.map(|link| link.0).collect()
}

impl World {
    /// Gives hosts the addresses and agents that the scenario's protocols need.
    pub(super) fn add_agents(&mut self) {
        self.add_ipv6_agents();
        self.add_ipv4_agents();
    }

    /// A node's interface to a link that ends at it.
    pub(super) fn interface(&self, node: usize, link: usize) -> InterfaceId {
        let [a, b] = self.wires[link].ends;
        if a.0 == node { a.1 } else { b.1 }
    }

    /// Leads routes for addresses to a home agent, whose agent decides, and otherwise to the home link.
    fn put_behind_agent(&mut self, addresses: &[IpAddr], far: (usize, InterfaceId)) {
        let behind = addresses.iter().map(|&address| BehindLink { address, far });
        self.behind_links.extend(behind);
    }

    /// Tells mobiles of the links that they begin with.
    pub(super) fn start_agents(&mut self) {
        for number in 0..self.mobiles.len() {
            self.take_down_unused(number);
            if let Some(link) = self.mobiles[number].attached {
                self.signal(number, link, LinkEvent::HandoverImminent);
                self.signal_up(number, link);
            }
        }
        if self.scenario.has_protocols() {
            // Routers and home agents have deadlines, too.
            (0..self.nodes.len()).for_each(|node| self.pump(node));
            self.settle();
        }
    }

    /// Tells the ends of a mobile's access link that it is up, unless its radio network does so itself, or it will be so later.
    pub(super) fn signal_up(&mut self, number: usize, link: usize) {
        if self.wires[link].radio.is_none() && self.wires[link].works {
            self.signal(number, link, LinkEvent::Up);
        }
    }

    /// Takes down the access links of a mobile with a protocol to which it is not attached: what is sent there, as to a
    /// home link, does not come to it.
    fn take_down_unused(&mut self, number: usize) {
        let mobile = &self.mobiles[number];
        let (has_protocol, attached) = (mobile.protocol.is_some(), mobile.attached);
        for link in self.links_of(self.mobiles[number].node) {
            let wire = &mut self.wires[link];
            let own = wire.mobile == Some(number) && wire.radio.is_none();
            if has_protocol && own && attached != Some(link) {
                wire.broken = true;
                wire.link.set_down(self.now, false);
            }
        }
    }

    /// Tells the ends of a mobile's access link what the link says, and lets them answer.
    pub(super) fn signal(&mut self, number: usize, link: usize, signal: LinkEvent) {
        self.tell_of_link(number, link, signal);
        let mobile = &mut self.mobiles[number];
        let Some(protocol) = &mut mobile.protocol else {
            return;
        };
        match signal {
            // Again, where it is perhaps another point of attachment.
            LinkEvent::Up => {
                protocol.up.insert(link);
            }
            LinkEvent::Down if !protocol.up.remove(&link) => return,
            LinkEvent::GoingDown if !protocol.up.contains(&link) => return,
            _ => {}
        }
        let node = mobile.node.0;
        let told = protocol.told || signal != LinkEvent::Up;
        let neighbor = self.neighbor(number, link);
        let (router, at_router) = self.wires[link].far_from(node);
        let at_network = self.wires[link].end_across(node);
        self.record_link_signal(node, link, signal);
        self.tell_end(link, at_network.other(), signal);
        if let Some(neighbor) = neighbor {
            let said = (signal, neighbor);
            self.nodes[router]
                .host
                .handle_neighbor(self.now, at_router, said);
            self.pump(router);
        }
        if told {
            self.record_link_signal(router, link, signal);
            self.tell_end(link, at_network, signal);
        }
    }

    /// What the router of an access link calls a mobile of Mobile IPv6 on it.
    fn neighbor(&self, number: usize, link: usize) -> Option<Neighbor> {
        let protocol = self.mobiles[number].protocol.as_ref()?;
        let IpAddr::V6(address) = protocol.care_of(link)? else {
            return None;
        };
        let mobility = self.scenario.mobiles[number].ipv6()?;
        let network = mobility.network_prefix;
        let at_home = mobility.home_link == Some(LinkIndex(link));
        Some(Neighbor {
            address,
            network: network.filter(|_| at_home),
        })
    }

    /// Where a packet for a care-of address or for the host `to` goes on from `node` if an agent decides there: what it is for
    /// then, and by which interface. Of a mobile, to its correspondent; of a home agent, to its mobile's care-of address; of
    /// a foreign agent, to its visitor.
    pub(super) fn agents_route(
        &self,
        node: usize,
        to: usize,
        destination: IpAddr,
    ) -> Option<(IpAddr, InterfaceId)> {
        let with_protocol = |node: usize| {
            let mobile = &self.mobiles[self.mobile_at(node)?];
            Some((mobile.attached?, mobile.protocol.as_ref()?))
        };
        if let Some((link, _)) = with_protocol(node) {
            let own = self.nodes[to].host.address();
            // To the network behind a mobile router routes lead.
            let route = self.nodes[node].host.routes().lookup(own);
            let left_to_agent = route.is_none_or(|interface| interface.is_virtual());
            return left_to_agent.then(|| (own, self.interface(node, link)));
        }
        let (link, protocol) = with_protocol(to)?;
        let care_of = protocol.care_of(link)?;
        let (router, interface) = self.wires[link].far_from(to);
        if router == node && destination == care_of {
            return Some((destination, interface));
        }
        if protocol.home_agent != node || destination == care_of {
            return None;
        }
        let interface = match router == node {
            true => interface,
            false => self.nodes[node].host.routes().lookup(care_of)?,
        };
        Some((care_of, interface))
    }

    /// Records an event of a node's layer, and goes on with the handover of a mobile there.
    pub(super) fn handle_layer_event(&mut self, node: usize, event: LayerEvent) {
        let LayerEvent { news, signal } = event;
        self.record_layer_signal(node, signal);
        let (Some(number), Some(news)) = (self.mobile_at(node), news) else {
            return;
        };
        match news {
            News::BindingSent(to) => self.tell_of_update(number, to),
            News::HandoverPrepared => self.end_preparation(number),
            _ => {}
        }
        let mobile = &self.mobiles[number];
        let Some(record) = mobile.handovers.last() else {
            return;
        };
        let link = mobile.attached;
        let under_way = record.completed.is_none();
        if under_way && matches!(news, News::BindingSent(_)) {
            let signal = CrossLayerSignal::UpdateSent;
            return self.nodes[node].host.signal(self.now, &signal);
        }
        // The answer about an older place says nothing of this one.
        let arrived = match news {
            News::Registered(interface) => {
                link.is_some_and(|link| self.interface(node, link) == interface)
            }
            News::Deregistered => true,
            _ => false,
        };
        if arrived && under_way {
            self.complete_last_record(number, link);
        }
    }
}
