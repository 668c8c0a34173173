//! Mobility protocols: the agents of hosts, the addresses that they use, and what they say.

use super::World;
use super::ports::BehindLink;
use crate::rng::Seed;
use crate::scenario::model::{
    Advertisements, AttachmentPolicy, HomeAgent, LinkIndex, Mobility, NodeIndex, Scenario,
};
use baton_proto::host::{AgentEvent, InterfaceId, LinkSignal};
use baton_proto::mobility::address_configuration::ConfigurationTimes;
use baton_proto::mobility::binding::BindingTimes;
use baton_proto::mobility::draws::Draws;
use baton_proto::mobility::mobile_ipv6::{
    self, AccessRouter, AdvertisingSettings, BufferingRequest, Correspondent, HomeAgentSettings,
    MobileEvent, MobileNode, MobileSettings, Neighbor, RouterRegistration, SharedKey, Subscriber,
};
use baton_proto::time::{Duration, Instant};
use baton_proto::wire::prefix::Ipv6Prefix;
use core::net::{IpAddr, Ipv6Addr};
use std::collections::BTreeSet;

/// The first access link's prefix, of 64 bits; those of the others follow in the order of the scenario.
const ACCESS_PREFIXES: u128 = 0xfd62_6174_6f6e_8000_0000_0000_0000_0000;
/// The interface identifier of mobiles is this and their number: an ICAO address for those that have one.
const MOBILE_IDENTIFIERS: u64 = 0x40_0000;
/// Largest packet on the ways between agents, in bytes, until something is learned of them.
const PATH_MTU: u32 = 1500;

/// What the world knows of a mobile with a protocol.
#[derive(Clone, Debug)]
pub(super) struct ProtocolRun {
    /// Its access links, and the address that it makes of each one's prefix.
    pub care_of: Vec<(usize, Ipv6Addr)>,
    /// Whether access routers are told when it comes.
    pub told: bool,
    /// The access links that it was told are up.
    pub up: BTreeSet<usize>,
}

impl ProtocolRun {
    /// The address that a mobile has on a link.
    pub fn care_of(&self, link: usize) -> Option<Ipv6Addr> {
        let found = self.care_of.iter().find(|(known, _)| *known == link)?;
        Some(found.1)
    }
}

/// The address by which the world's flows know a node where protocols are spoken.
pub(super) fn address(scenario: &Scenario, node: usize) -> Ipv6Addr {
    for (number, mobile) in scenario.mobiles.iter().enumerate() {
        let Some(mobility) = &mobile.mobility else {
            continue;
        };
        if mobile.node.0 == node {
            let agent = &scenario.home_agents[mobility.home_agent];
            return agent.prefix.address_of(link_local(identifier(number)));
        }
        if let Some(prefix) = mobility.network_prefix
            && inner_nodes(
                scenario,
                mobile.node,
                &access_links(scenario, &mobile.attachment),
            )
            .contains(&node)
        {
            return prefix.address_of(link_local(node as u64 + 1));
        }
    }
    match super::ports::node_addresses(node)[1] {
        IpAddr::V6(address) => address,
        IpAddr::V4(address) => address.to_ipv6_mapped(),
    }
}

/// The nodes of the network behind a mobile: those that its links lead to, but for its access links.
fn inner_nodes(scenario: &Scenario, mobile: NodeIndex, access: &[usize]) -> Vec<usize> {
    let mut reached = vec![mobile.0];
    let mut next = 0;
    while let Some(&node) = reached.get(next) {
        next += 1;
        for (number, link) in scenario.links.iter().enumerate() {
            let [a, b] = link.ends.map(|end| end.0);
            let far = if a == node { b } else { a };
            if (a == node || b == node) && !access.contains(&number) && !reached.contains(&far) {
                reached.push(far);
            }
        }
    }
    reached.split_off(1)
}

const fn identifier(mobile: usize) -> u64 {
    MOBILE_IDENTIFIERS + mobile as u64
}

/// The access links that a policy speaks of.
pub(super) fn access_links(scenario: &Scenario, policy: &AttachmentPolicy) -> Vec<usize> {
    let links: Vec<LinkIndex> = match policy {
        AttachmentPolicy::Timetable(entries) => {
            entries.iter().filter_map(|entry| entry.link).collect()
        }
        AttachmentPolicy::Failback(failback) => failback.prefer.clone(),
    };
    let links = links.into_iter();
    let mut links: Vec<usize> = links.flat_map(|link| scenario.access_links(link)).collect();
    links.sort_unstable();
    links.dedup();
    links
}

/// The prefix that the router of an access link advertises there.
fn access_prefix(home: Option<LinkIndex>, agent: &HomeAgent, link: usize) -> Option<Ipv6Prefix> {
    if home == Some(LinkIndex(link)) {
        return Some(agent.prefix);
    }
    let address = ACCESS_PREFIXES + ((link as u128) << 64);
    Ipv6Prefix::new(Ipv6Addr::from_bits(address), 64)
}

fn link_local(identifier: u64) -> Ipv6Addr {
    Ipv6Addr::from_bits((0xFE80 << 112) | u128::from(identifier))
}

/// A secret of twenty bytes.
fn long_secret(seed: Seed, name: &str) -> [u8; 20] {
    let mut draws = seed.stream(name);
    let words = [draws.bits(), draws.bits(), draws.bits()].map(u64::to_be_bytes);
    core::array::from_fn(|place| words[place / 8][place % 8])
}

impl World {
    /// Whether any mobile has a protocol.
    pub(super) fn has_protocols(&self) -> bool {
        !self.scenario.home_agents.is_empty()
    }

    /// Gives hosts the addresses and agents that the scenario's protocols need.
    pub(super) fn add_agents(&mut self) {
        if !self.has_protocols() {
            return;
        }
        for number in 0..self.nodes.len() {
            let address = address(&self.scenario, number);
            self.nodes[number].host.add_address(address.into());
        }
        for number in 0..self.scenario.home_agents.len() {
            self.add_home_agent(number);
        }
        for number in 0..self.scenario.mobiles.len() {
            let mobile = self.scenario.mobiles[number].clone();
            if let Some(mobility) = &mobile.mobility {
                let access = access_links(&self.scenario, &mobile.attachment);
                self.add_mobile_node(number, mobile.node, mobility, &access);
            }
        }
        self.add_correspondents();
    }

    fn add_home_agent(&mut self, number: usize) {
        let agent = &self.scenario.home_agents[number];
        let mobiles = self.scenario.mobiles.iter();
        let mut own = mobiles.filter_map(|mobile| mobile.mobility.as_ref());
        // Of several home links one hears what is asked and said of home addresses.
        let home_link = own.find(|one| one.home_agent == number && one.home_link.is_some());
        let home_interface = home_link.map_or(InterfaceId::AGENT, |mobility| {
            self.home_interface(agent.node, mobility)
        });
        let settings = HomeAgentSettings {
            address: agent.address(),
            home_prefix: agent.prefix,
            home_interface: home_interface.0,
            longest_lifetime: agent.longest_lifetime,
            detection: agent.detection,
            retransmission_time: ConfigurationTimes::default().retransmission_time,
            strategy: agent.strategy,
            path_mtu: PATH_MTU,
            clamp_segment_size: agent.clamp_segment_size,
        };
        let host = &mut self.nodes[agent.node.0].host;
        host.add_address(agent.address().into());
        host.agents_mut().home_agent = Some(mobile_ipv6::HomeAgent::new(settings));
    }

    /// The interface of a home agent to a mobile's home link; the agent where there is no such link.
    fn home_interface(&self, agent: NodeIndex, mobility: &Mobility) -> InterfaceId {
        let link = mobility.home_link;
        link.map_or(InterfaceId::AGENT, |link| self.interface(agent.0, link.0))
    }

    /// A node's interface to a link that ends at it.
    fn interface(&self, node: usize, link: usize) -> InterfaceId {
        let [a, b] = self.wires[link].ends;
        if a.0 == node { a.1 } else { b.1 }
    }

    fn add_mobile_node(
        &mut self,
        number: usize,
        node: NodeIndex,
        mobility: &Mobility,
        access: &[usize],
    ) {
        let seed = Seed(self.scenario.seed);
        let name = self.scenario.nodes[node.0].clone();
        let agent = self.scenario.home_agents[mobility.home_agent].clone();
        let identifier = identifier(number);
        let home_address = agent.prefix.address_of(link_local(identifier));
        let key = SharedKey {
            security_parameter_index: 256 + number as u32,
            key: long_secret(seed, &format!("mobile {name} home key")),
        };
        let mut care_of = Vec::new();
        for &link in access {
            let Some(prefix) = access_prefix(mobility.home_link, &agent, link) else {
                continue;
            };
            let (router, interface) = self.wires[link].far_from(node.0);
            self.advertise((router, interface), prefix, mobility, &agent);
            let address = prefix.address_of(link_local(identifier));
            if mobility.home_link != Some(LinkIndex(link)) {
                let far = (router, interface);
                let address = IpAddr::V6(address);
                self.behind_links.push(BehindLink { address, far });
            }
            care_of.push((link, address));
        }
        let settings = MobileSettings {
            home_address,
            home_prefix: agent.prefix,
            home_agent: agent.address(),
            lifetime: mobility.lifetime,
            key: Some(key),
            router: mobility.network_prefix.map(|prefix| RouterRegistration {
                prefixes: vec![prefix],
                explicit: true,
            }),
            interface_identifier: identifier,
            detection: mobility.detection,
            configuration_times: ConfigurationTimes::default(),
            binding_times: BindingTimes::default(),
            buffering: mobility
                .asks_for_buffering
                .then_some(BufferingRequest::STUDY_D),
            tells_routers: mobility.access_router_buffering.is_some(),
            optimizes_routes: mobility.route_optimization,
            path_mtu: PATH_MTU,
            clamp_segment_size: mobility.clamp_segment_size,
        };
        let interfaces = self.nodes[node.0].interfaces.len();
        let secret = seed.secret(&format!("mobile {name} protocol"));
        let host = &mut self.nodes[node.0].host;
        host.agents_mut().mobile = Some(MobileNode::new(settings, interfaces, secret));
        let subscriber = Subscriber {
            home_address,
            key: Some(key),
            prefixes: mobility.network_prefix.map(|prefix| Box::from([prefix])),
        };
        let agents = self.nodes[agent.node.0].host.agents_mut();
        if let Some(home_agent) = &mut agents.home_agent {
            home_agent.subscribe(subscriber);
        }
        self.mobiles[number].protocol = Some(ProtocolRun {
            care_of,
            told: mobility.advertisements == Advertisements::AtLinkUp,
            up: BTreeSet::new(),
        });
        let far = (agent.node.0, self.home_interface(agent.node, mobility));
        let own = self.nodes[node.0].host.addresses();
        let own: Vec<IpAddr> = own.collect();
        self.put_behind_agent(&own, far);
        let behind = mobility.network_prefix.is_some();
        for inner in inner_nodes(&self.scenario, node, access)
            .into_iter()
            .filter(|_| behind)
        {
            let own: Vec<IpAddr> = self.nodes[inner].host.addresses().collect();
            self.put_behind_agent(&own, far);
        }
    }

    /// Leads routes for addresses to a home agent, whose agent decides, and otherwise to the home link.
    fn put_behind_agent(&mut self, addresses: &[IpAddr], far: (usize, InterfaceId)) {
        let behind = addresses.iter().map(|&address| BehindLink { address, far });
        self.behind_links.extend(behind);
    }

    /// Lets the nodes that mobiles exchange flows with know where those are, if the mobiles want it.
    fn add_correspondents(&mut self) {
        for number in 0..self.scenario.flows.len() {
            let ends = [
                self.scenario.flows[number].from,
                self.scenario.flows[number].to,
            ];
            for (node, peer) in [(ends[0], ends[1]), (ends[1], ends[0])] {
                let mobiles = self.scenario.mobiles.iter();
                let wanted = mobiles.filter(|mobile| mobile.node == peer).any(|mobile| {
                    mobile
                        .mobility
                        .as_ref()
                        .is_some_and(|own| own.route_optimization)
                });
                if wanted {
                    self.add_correspondent(node);
                }
            }
        }
    }

    fn add_correspondent(&mut self, node: NodeIndex) {
        let seed = Seed(self.scenario.seed);
        let name = self.scenario.nodes[node.0].clone();
        let address = address(&self.scenario, node.0);
        let agents = self.nodes[node.0].host.agents_mut();
        if agents.correspondent.is_none() && agents.mobile.is_none() && agents.home_agent.is_none()
        {
            let node_key = long_secret(seed, &format!("node {name} node key"));
            let nonces = seed.secret(&format!("node {name} nonces"));
            agents.correspondent = Some(Correspondent::new(address, node_key, nonces));
        }
    }

    /// Tells mobiles of the links that they begin with.
    pub(super) fn start_agents(&mut self) {
        for number in 0..self.mobiles.len() {
            self.take_down_unused(number);
            if let Some(link) = self.mobiles[number].attached {
                self.signal(number, link, LinkSignal::HandoverImminent);
                self.signal_up(number, link);
            }
        }
        if self.has_protocols() {
            // Routers and home agents have deadlines, too.
            (0..self.nodes.len()).for_each(|node| self.pump(node));
            self.settle();
        }
    }

    /// Tells the ends of a mobile's access link that it is up, unless its radio network does so itself.
    pub(super) fn signal_up(&mut self, number: usize, link: usize) {
        if self.wires[link].radio.is_none() {
            self.signal(number, link, LinkSignal::Up);
        }
    }

    /// Takes down the access links of a mobile with a protocol to which it is not attached: what is sent there, as to a
    /// home link, does not come to it.
    fn take_down_unused(&mut self, number: usize) {
        let mobile = &self.mobiles[number];
        let (has_protocol, attached) = (mobile.protocol.is_some(), mobile.attached);
        for (link, wire) in self.wires.iter_mut().enumerate() {
            let own = wire.mobile == Some(number) && wire.radio.is_none();
            if has_protocol && own && attached != Some(link) {
                wire.broken = true;
                wire.link.set_down(self.now, false);
            }
        }
    }

    /// Tells the ends of a mobile's access link what the link says, and lets them answer.
    pub(super) fn signal(&mut self, number: usize, link: usize, signal: LinkSignal) {
        let mobile = &mut self.mobiles[number];
        let Some(protocol) = &mut mobile.protocol else {
            return;
        };
        match signal {
            // Again, where it is perhaps another point of attachment.
            LinkSignal::Up => {
                protocol.up.insert(link);
            }
            LinkSignal::Down if !protocol.up.remove(&link) => return,
            LinkSignal::GoingDown if !protocol.up.contains(&link) => return,
            _ => {}
        }
        let node = mobile.node.0;
        let told = protocol.told || signal != LinkSignal::Up;
        let mobility = self.scenario.mobiles[number].mobility.as_ref();
        let neighbor = protocol.care_of(link).map(|address| Neighbor {
            address,
            network: mobility
                .filter(|own| own.home_link == Some(LinkIndex(link)))
                .and_then(|own| own.network_prefix),
        });
        let (router, at_router) = self.wires[link].far_from(node);
        let at_mobile = self.interface(node, link);
        self.record_link_signal(node, link, signal);
        self.nodes[node]
            .host
            .handle_link(self.now, at_mobile, signal);
        self.pump(node);
        if let Some(neighbor) = neighbor {
            let said = (signal, neighbor);
            self.nodes[router]
                .host
                .handle_neighbor(self.now, at_router, said);
            self.pump(router);
        }
        if told {
            self.record_link_signal(router, link, signal);
            self.nodes[router]
                .host
                .handle_link(self.now, at_router, signal);
            self.pump(router);
        }
    }

    /// Where an agent at `node` sends what is for the host `to`, and by which interface: of a mobile, to its home
    /// agent; of a home agent, to its mobile.
    pub(super) fn agents_route(&self, node: usize, to: usize) -> Option<(IpAddr, InterfaceId)> {
        let mobile = |node: usize| self.mobiles.iter().find(|mobile| mobile.node.0 == node);
        if let Some(mobile) = mobile(node) {
            let interface = self.interface(node, mobile.attached?);
            return Some((self.nodes[to].host.address(), interface));
        }
        let mobile = mobile(to)?;
        let care_of = IpAddr::V6(mobile.protocol.as_ref()?.care_of(mobile.attached?)?);
        let interface = self.nodes[node].host.routes().lookup(care_of)?;
        (interface != InterfaceId::AGENT).then_some((care_of, interface))
    }

    /// An agent of a host has something to say.
    pub(super) fn handle_agent_event(&mut self, node: usize, event: AgentEvent) {
        self.record_agent_event(node, &event);
        let Some(number) = self.mobiles.iter().position(|mobile| mobile.node.0 == node) else {
            return;
        };
        let mobile = &self.mobiles[number];
        let Some(record) = mobile.handovers.last() else {
            return;
        };
        let link = mobile.attached;
        let here = link.and_then(|link| mobile.protocol.as_ref()?.care_of(link));
        // The answer about an older place says nothing of this one.
        let arrived = match event {
            AgentEvent::Mobile(MobileEvent::Registered(care_of)) => here == Some(care_of),
            AgentEvent::Mobile(MobileEvent::Deregistered) => true,
            AgentEvent::Mobile(_) | AgentEvent::HomeAgent(_) => false,
        };
        if arrived && record.completed.is_none() {
            self.complete_last_record(number, link);
        }
    }

    /// Lets a router advertise a prefix at an interface.
    fn advertise(
        &mut self,
        (router, interface): (usize, InterfaceId),
        prefix: Ipv6Prefix,
        mobility: &Mobility,
        agent: &HomeAgent,
    ) {
        let name = format!("router {router} interface {}", interface.0);
        let draws = Draws::new(Seed(self.scenario.seed).secret(&name));
        let identifier = 0x1000 * (router as u64 + 1) + interface.0 as u64;
        let mut settings =
            AdvertisingSettings::standard(interface.0, link_local(identifier), prefix);
        if mobility.advertisements == Advertisements::Frequent {
            settings.shortest_interval = Duration::from_millis(30);
            settings.longest_interval = Duration::from_millis(70);
            settings.shortest_spacing = Duration::from_millis(30);
            settings.says_interval = true;
        }
        if prefix == agent.prefix {
            settings.home_agent = true;
            settings.address = agent.address();
        }
        settings.buffering = mobility.access_router_buffering;
        settings.path_mtu = PATH_MTU;
        let host = &mut self.nodes[router].host;
        // Mobiles that have left write to it.
        if host.addresses().all(|own| own != settings.address) {
            host.add_address(settings.address.into());
        }
        host.agents_mut()
            .routers
            .push(AccessRouter::new(Instant::ZERO, settings, draws));
    }
}
