//! The agents of Mobile IPv4 in a world.

use super::{CareOfSource, MobileIpv4, PolicyRule, PrivateAddress};
use crate::addresses::{
    ACCESS_LENGTH, MOBILE, PRIVATE_AGENTS, ROUTER, access_point, on_access_link,
};
use crate::rng::Seed;
use crate::scenario::model::{CellId, LinkIndex, Mobile, Scenario};
use crate::world::World;
use crate::world::agents::{ProtocolRun, access_links};
use crate::world::ports::BehindLink;
use crate::world::radio::BehindCell;
use crate::world::routing::InDomain;
use crate::world::wires::{CellPlace, RadioPlace};
use baton_proto::host::layer::Rank;
use baton_proto::interface::InterfaceId;
use baton_proto::mobility::home_network::HomeNetwork;
use baton_proto::mobility::mobile_ipv4::{
    self, AddressServer, Advertising, CareOf, Clock, Encapsulations, ForeignAgent,
    ForeignAgentConfig, HomeAgent, HomeAgentConfig, LinkServer, MobileNode, MobileNodeConfig,
    PolicyTable,
};
use baton_proto::time::{Duration, Instant};
use baton_proto::wire::encapsulation::Encapsulation;
use baton_proto::wire::mobile_ipv4::SecurityAssociation;
use core::net::{IpAddr, Ipv4Addr};
use std::collections::{BTreeMap, BTreeSet};

/// Longest interval of advertisements (RFC 5944 section 2.3: once a second).
const ADVERTISEMENTS: Duration = Duration::from_secs(1);
/// The longest registration that foreign agents relay, in seconds: the home agent decides.
const LONGEST_RELAYED: u16 = 65_534;
/// Lease time of DHCP: a day; no standard sets it.
const LEASE: Duration = Duration::from_secs(86_400);

/// Returns the mobiles with Mobile IPv4 and their numbers.
fn mobiles(scenario: &Scenario) -> impl Iterator<Item = (usize, &Mobile, &MobileIpv4)> {
    let is_spoken = !scenario.agents.ipv4.home_agents.is_empty();
    let all = scenario.mobiles.iter().enumerate();
    let all = all.take(if is_spoken { usize::MAX } else { 0 });
    all.filter_map(|(number, mobile)| Some((number, mobile, MobileIpv4::of(mobile)?)))
}

/// Returns the encapsulations that all agents offer: those that mobiles use.
fn encapsulations(scenario: &Scenario) -> Encapsulations {
    let is_used = |wanted| {
        let mut all = mobiles(scenario);
        all.any(|(_, _, mobility)| mobility.encapsulation == wanted)
    };
    Encapsulations {
        minimal: is_used(Encapsulation::Minimal),
        generic: is_used(Encapsulation::Generic),
    }
}

/// Returns each interface once, in the order of first appearance.
fn each_once(interfaces: impl Iterator<Item = InterfaceId>) -> Vec<InterfaceId> {
    let mut known = BTreeSet::new();
    let interfaces = interfaces.filter(|&interface| known.insert(interface));
    interfaces.collect()
}

impl World {
    /// Gives hosts the agents of Mobile IPv4.
    pub(in crate::mobility) fn add_ipv4_agents(&mut self) {
        for number in 0..self.scenario.agents.ipv4.home_agents.len() {
            self.add_ipv4_home_agent(number);
        }
        for number in 0..self.scenario.mobiles.len() {
            let mobile = self.scenario.mobiles[number].clone();
            if let Some(mobility) = MobileIpv4::of(&mobile) {
                self.add_ipv4_mobile(number, &mobile, mobility);
            }
        }
        for number in 0..self.scenario.agents.ipv4.foreign_agents.len() {
            self.add_foreign_agent(number);
        }
        self.introduce_foreign_agents();
    }

    /// Returns a security association with a key that is known at both ends before the run.
    fn association(&self, mobile: usize, with: &str) -> SecurityAssociation {
        let name = &self.scenario.nodes[self.scenario.mobiles[mobile].node.0];
        let secret = format!("mobile {name} {with} key");
        SecurityAssociation {
            index: 256 + mobile as u32,
            key: Seed(self.scenario.seed).secret(&secret),
        }
    }

    fn secret(&self, node: usize, what: &str) -> [u8; 16] {
        let name = &self.scenario.nodes[node];
        Seed(self.scenario.seed).secret(&format!("{what} {name}"))
    }

    fn add_ipv4_home_agent(&mut self, number: usize) {
        let agent = self.scenario.agents.ipv4.home_agents[number].clone();
        let node = agent.node.0;
        let own: Vec<(usize, Option<LinkIndex>)> = mobiles(&self.scenario)
            .filter(|(_, _, mobility)| mobility.home_agent == number)
            .map(|(mobile, _, mobility)| (mobile, mobility.home_link))
            .collect();
        let links = own.iter().filter_map(|&(_, link)| link);
        let interfaces = links.map(|link| self.net.interface(node, link.0));
        let interfaces = each_once(interfaces);
        let cells = self.scenario.radios.iter();
        let cells: usize = cells.map(|radio| radio.stations.len()).sum();
        let config = HomeAgentConfig {
            address: agent.prefix.host(1),
            longest_lifetime: agent.longest_lifetime,
            // A mobile has at most one address per link.
            simultaneous_bindings: self.net.wires.all_plain().len() + cells,
            reverse_tunnel: true,
            encapsulations: encapsulations(&self.scenario),
            foreign_agents: BTreeMap::new(),
            advertising: Advertising {
                interfaces,
                interval: ADVERTISEMENTS,
                prefix_length: agent.prefix.length(),
            },
            clock: Clock::default(),
            secret: self.secret(node, "home agent"),
        };
        self.net.nodes[node].host.add_address(config.address.into());
        let mut home_agent = HomeAgent::new(Instant::ZERO, config);
        for (mobile, link) in own {
            let home_address = agent.prefix.host(2 + mobile as u32);
            home_agent.add_mobile(home_address, self.association(mobile, "home"));
            let towards = link.map_or(Rank::HomeNetwork.interface(), |link| {
                self.net.interface(node, link.0)
            });
            self.net.behind_links.push(BehindLink {
                address: home_address.into(),
                far: (node, towards),
            });
        }
        let host = &mut self.net.nodes[node].host;
        host.add_layer(home_agent);
        host.layers_mut().get_or_add(HomeNetwork::default);
    }

    fn add_ipv4_mobile(&mut self, number: usize, mobile: &Mobile, mobility: &MobileIpv4) {
        let node = mobile.node.0;
        let agent = &self.scenario.agents.ipv4.home_agents[mobility.home_agent];
        let (home_agent, home_node) = (agent.prefix.host(1), agent.node.0);
        let home_address = mobility.home_address(number, &self.scenario.agents.ipv4);
        let config = MobileNodeConfig {
            home_address,
            home_agent,
            home: self.association(number, "home"),
            foreign: Some(self.association(number, "foreign")),
            smooth_handoff: mobility.smooth_handoff,
            names_received: self.keeps_copies(),
            sends_at_request: mobility.sends_at_request,
            lifetime: mobility.lifetime,
            simultaneous_bindings: mobility.simultaneous_bindings,
            policy: self.policy(mobility),
            encapsulation: mobility.encapsulation,
            header_compression: mobility.header_compression,
            // No node sends broadcasts to its network.
            broadcasts: false,
            conflict_check: mobility.conflict_check,
            clock: Clock::default(),
            secret: self.secret(node, "mobile"),
        };
        let mut sources = Vec::new();
        let mut care_of = Vec::new();
        for link in access_links(&self.scenario, &mobile.attachment) {
            let interface = self.net.interface(node, link);
            if let Some(address) = self.domain_address(number, link) {
                care_of.push((link, address.into()));
                continue;
            }
            let own = on_access_link(link, MOBILE);
            let source = self.care_of_source(mobility, (node, link), [home_address, own]);
            sources.push((interface, source));
            care_of.push((link, self.care_of_address(source, (node, link))));
        }
        for radio in mobile.attachment.radios(&self.scenario.radios) {
            let present = self.net.present_in(radio, node);
            let interface = self.net.interface(node, present);
            // The cell is unknown until the mobile is there.
            sources.push((interface, CareOf::ForeignAgent));
            self.add_cell_networks(radio as u32, mobility.care_of);
        }
        let mut layer = mobile_ipv4::Mobile::new(MobileNode::new(config), sources);
        for client in self.domain_clients(number) {
            layer.add_domain(client);
        }
        self.net.nodes[node].host.add_layer(layer);
        self.net.mobiles[number].protocol = Some(ProtocolRun {
            home_agent: home_node as u32,
            care_of: care_of.into(),
            told: true,
        });
    }

    /// Adds routes to the networks of cells where mobiles have addresses of their own, and servers that assign these.
    fn add_cell_networks(&mut self, radio: u32, source: CareOfSource) {
        for cell in 0..self.scenario.radios[radio as usize].stations.len() {
            let cell = CellId(cell as u16);
            let far = self.net.wires.base_station(CellPlace { radio, cell });
            let neighbors = self.net.neighbors(radio);
            let [ends, _] = neighbors.ends(cell);
            let server = (
                neighbors.router(cell),
                neighbors.length(),
                neighbors.given(cell),
            );
            if !self.net.behind_cells.iter().any(|known| known.ends == ends) {
                self.net.behind_cells.push(BehindCell { ends, far });
            }
            let layers = self.net.nodes[far.0].host.layers_mut();
            let is_served = layers
                .all::<LinkServer>()
                .any(|server| server.interface == far.1);
            if source == CareOfSource::Acquired && !is_served {
                let (address, length, given) = server;
                layers.add(LinkServer {
                    interface: far.1,
                    server: AddressServer::new(address, length, given, LEASE),
                });
            }
        }
    }

    /// Returns the source of a mobile's care-of address in a cell.
    fn source_in_cell(&self, number: usize, mobility: &MobileIpv4, place: RadioPlace) -> CareOf {
        let (node, link) = (
            self.net.mobiles[number].node.0,
            self.net.wires.number(place),
        );
        let home_address = mobility.home_address(number, &self.scenario.agents.ipv4);
        let own = self
            .net
            .neighbors(place.radio)
            .address(place.cell, place.station);
        self.care_of_source(mobility, (node, link), [home_address, own])
    }

    /// Informs a mobile of the source of its care-of address in the cell to which an interface leads from now on.
    pub(in crate::mobility) fn describe_cell_in_ipv4(
        &mut self,
        number: usize,
        place: RadioPlace,
        interface: InterfaceId,
    ) {
        let Some(mobility) = MobileIpv4::of(&self.scenario.mobiles[number]) else {
            return;
        };
        let source = self.source_in_cell(number, mobility, place);
        let node = self.net.mobiles[number].node.0;
        if let Some(mobile) = self.net.nodes[node].host.layer_mut::<mobile_ipv4::Mobile>() {
            mobile.set_care_of(interface, source);
        }
    }

    /// Returns a mobile's care-of address in a cell, if it has one there.
    pub(in crate::mobility) fn ipv4_address_in(
        &self,
        number: usize,
        mobility: &MobileIpv4,
        place: RadioPlace,
    ) -> Option<IpAddr> {
        match self.source_in_cell(number, mobility, place) {
            CareOf::Known(address) => Some(address.into()),
            CareOf::ForeignAgent => {
                let (router, _) = self.net.wires.ends(self.net.wires.number(place))[0];
                Some(self.net.directory.ipv4(&self.scenario, router).into())
            }
            CareOf::Acquired => {
                let node = self.net.mobiles[number].node.0;
                let mobile = self.net.nodes[node].host.layer::<mobile_ipv4::Mobile>()?;
                let point = mobile.node().registered(self.now)?;
                Some(point.care_of_address.into())
            }
        }
    }

    /// Returns the policy table of a mobile: nodes by their addresses.
    fn policy(&self, mobility: &MobileIpv4) -> PolicyTable {
        let rule = |rule: &PolicyRule| {
            let to = rule
                .to
                .map(|node| self.net.directory.ipv4(&self.scenario, node.0));
            mobile_ipv4::PolicyRule {
                destination: to.unwrap_or(Ipv4Addr::UNSPECIFIED),
                prefix_length: if to.is_some() { 32 } else { 0 },
                port: rule.port,
                delivery: rule.delivery,
            }
        };
        PolicyTable::new(
            mobility.policy.iter().map(rule).collect(),
            mobility.delivery,
        )
    }

    /// Returns the source of a mobile's care-of address on an access link.
    fn care_of_source(
        &self,
        mobility: &MobileIpv4,
        (node, link): (usize, usize),
        [home_address, own]: [Ipv4Addr; 2],
    ) -> CareOf {
        let (router, _) = self.net.wires.far_from(link, node);
        let mut agents = self.scenario.agents.ipv4.foreign_agents.iter();
        let has_agent = agents.any(|agent| agent.node.0 == router);
        match (
            mobility.home_link == Some(LinkIndex(link)),
            mobility.care_of,
        ) {
            // On its home link, a mobile that discovers agents hears its home agent.
            (true, CareOfSource::ForeignAgent) => CareOf::ForeignAgent,
            (true, _) => CareOf::Known(home_address),
            (false, CareOfSource::ForeignAgent) if has_agent => CareOf::ForeignAgent,
            (false, CareOfSource::Acquired) => CareOf::Acquired,
            (false, _) => CareOf::Known(own),
        }
    }

    /// Returns the address that a mobile will have on a link; adds a route to it and, for DHCP, a server.
    fn care_of_address(&mut self, source: CareOf, (node, link): (usize, usize)) -> IpAddr {
        let (router, interface) = self.net.wires.far_from(link, node);
        let own = on_access_link(link, MOBILE);
        match source {
            CareOf::ForeignAgent => return self.net.directory.ipv4(&self.scenario, router).into(),
            // At home, with a route already.
            CareOf::Known(address) if address != own => return address.into(),
            CareOf::Known(_) => {}
            CareOf::Acquired => {
                let server = on_access_link(link, ROUTER);
                let server = AddressServer::new(server, ACCESS_LENGTH, [own, own], LEASE);
                let server = LinkServer { interface, server };
                self.net.nodes[router].host.add_layer(server);
            }
        }
        self.net.behind_links.push(BehindLink {
            address: own.into(),
            far: (router, interface),
        });
        own.into()
    }

    fn add_foreign_agent(&mut self, number: usize) {
        let agent = self.scenario.agents.ipv4.foreign_agents[number].clone();
        let node = agent.node.0;
        let mut interfaces = Vec::new();
        let mut keys = BTreeMap::new();
        for (number, mobile, mobility) in mobiles(&self.scenario) {
            let home_address = mobility.home_address(number, &self.scenario.agents.ipv4);
            keys.insert(home_address, self.association(number, "foreign"));
            for link in access_links(&self.scenario, &mobile.attachment) {
                let (router, interface) = self.net.wires.far_from(link, mobile.node.0);
                if router == node && mobility.home_link != Some(LinkIndex(link)) {
                    interfaces.push(interface);
                }
            }
            for radio in mobile.attachment.radios(&self.scenario.radios) {
                let present = self.net.present_in(radio, mobile.node.0);
                for link in self.net.wires.to_all_cells(present) {
                    let [(router, interface), _] = self.net.wires.ends(link);
                    if router == node && mobility.home_link != Some(LinkIndex(link)) {
                        interfaces.push(interface);
                    }
                }
            }
        }
        let interfaces = each_once(interfaces.into_iter());
        let address_of = |node| self.net.directory.ipv4(&self.scenario, node);
        let private = agent.private_address.as_ref();
        let config = ForeignAgentConfig {
            address: private.map_or_else(|| address_of(node), |private| private.address),
            gateways: agent
                .gateways
                .iter()
                .map(|above| address_of(above.0))
                .collect(),
            domain: private.map(|_| PRIVATE_AGENTS),
            longest_lifetime: LONGEST_RELAYED,
            most_visitors: usize::MAX,
            reverse_tunnel: true,
            encapsulations: encapsulations(&self.scenario),
            header_compression: mobiles(&self.scenario).any(|(_, _, own)| own.header_compression),
            registration_required: false,
            mobiles: keys,
            home_agents: BTreeMap::new(),
            advertising: Advertising {
                interfaces,
                interval: ADVERTISEMENTS,
                // Every agent is a network of its own.
                prefix_length: 32,
            },
            secret: self.secret(node, "foreign agent"),
        };
        let mut layer = ForeignAgent::new(Instant::ZERO, config);
        if let Some(policy) = agent.buffering {
            layer.keep_copies(policy);
        }
        let host = &mut self.net.nodes[node].host;
        host.add_layer(layer);
        if let Some(PrivateAddress { address, domain }) = agent.private_address {
            let address = address.into();
            host.add_address(address);
            let domain = domain.into_iter().map(|node| node.0).collect();
            self.net.private_addresses.push(InDomain {
                address,
                node,
                domain,
            });
        }
    }

    /// Returns true if a foreign agent keeps copies of visitors' packets.
    fn keeps_copies(&self) -> bool {
        let mut agents = self.scenario.agents.ipv4.foreign_agents.iter();
        agents.any(|agent| agent.buffering.is_some())
    }

    /// Makes the foreign agents of mobiles that register ahead known to one another, and the access points to all: those
    /// of links to different agents.
    fn introduce_foreign_agents(&mut self) {
        let all = mobiles(&self.scenario).filter(|(_, _, mobility)| mobility.preregistration);
        let all = all.map(|(_, mobile, mobility)| {
            let links = access_links(&self.scenario, &mobile.attachment).into_iter();
            let away = links.filter(|&link| mobility.home_link != Some(LinkIndex(link)));
            (mobile.node.0, away.collect::<Vec<usize>>())
        });
        for (node, links) in all.collect::<Vec<_>>() {
            let far = |link| self.net.wires.far_from(link, node);
            let places: Vec<_> = links.iter().map(|&link| (link, far(link))).collect();
            for &(link, (router, interface)) in &places {
                let others = places.iter().filter(|&&(other, _)| other != link);
                let others: Vec<usize> = others.map(|&(_, (router, _))| router).collect();
                let host = &mut self.net.nodes[router].host;
                let Some(agent) = host
                    .layer_mut::<ForeignAgent>()
                    .filter(|_| !others.contains(&router))
                else {
                    continue;
                };
                let point = access_point(link);
                agent.set_access_point(point, interface);
                let address = agent.address();
                for other in others {
                    if let Some(other) = self.net.nodes[other].host.layer_mut::<ForeignAgent>() {
                        other.know(point, address);
                    }
                }
                let own = self.net.interface(node, link);
                let host = &mut self.net.nodes[node].host;
                if let Some(mobile) = host.layer_mut::<mobile_ipv4::Mobile>() {
                    mobile.node_mut().set_access_point(own, point);
                }
            }
        }
    }
}
