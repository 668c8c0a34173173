//! The agents of Mobile IPv6 and NEMO in a world.

use super::{AccessControl, Advertisements, HandoverServices, HomeAgent, MobileIpv6};
use crate::addresses::{access_point, access_prefix, node_addresses};
use crate::rng::Seed;
use crate::scenario::model::{CellId, LinkIndex, NodeIndex, Scenario};
use crate::world::agents::{ProtocolRun, access_links};
use crate::world::ports::BehindLink;
use crate::world::radio::BehindCell;
use crate::world::wires::{CellPlace, NodeInterface, RadioPlace};
use crate::world::{Net, World};
use baton_proto::host::layer::Rank;
use baton_proto::interface::{InterfaceId, LinkEvent};
use baton_proto::mobility::address_configuration::{ConfigurationSettings, ConfigurationTimes};
use baton_proto::mobility::binding::BindingTimes;
use baton_proto::mobility::buffering::BufferPolicy;
use baton_proto::mobility::draws::Draws;
use baton_proto::mobility::handover_service::{HandoverServiceSettings, Offload, PointOfService};
use baton_proto::mobility::home_network::HomeNetwork;
use baton_proto::mobility::mobile_ipv6::prefix_assignment::{PrefixPool, PrefixServer};
use baton_proto::mobility::mobile_ipv6::{
    self, AccessRouter, AccessRouters, AdvertisingSettings, BufferingRequest, Correspondent,
    FleetSettings, GroupMobile, HomeAgentSettings, MobileNode, MobileSettings, RouterRegistration,
    SharedKey, Subscriber,
};
use baton_proto::mobility::network_access::{AccessServer, AccessSettings, AccessUser};
use baton_proto::time::{Duration, Instant};
use baton_proto::wire::mih::{LONGEST_NAME, LinkIdentifier, MihfId, Network};
use baton_proto::wire::neighbor_discovery::ProxyRouter;
use baton_proto::wire::prefix::Ipv6Prefix;
use core::net::{IpAddr, Ipv6Addr};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Base of mobiles' interface identifiers, to which their number is added: an ICAO address for mobiles that have one.
const MOBILE_IDENTIFIERS: u64 = 0x40_0000;
/// Largest packet on the paths between agents, in bytes, until a path MTU is learnt.
pub(super) const PATH_MTU: u32 = 1500;

/// Returns the IPv6 addresses by which the world's flows know nodes; none without IPv6 mobility. `behind` has the nodes
/// behind each mobile.
pub(crate) fn addresses(scenario: &Scenario, behind: &[Box<[NodeIndex]>]) -> Vec<Ipv6Addr> {
    if scenario.agents.ipv6.is_empty() {
        return Vec::new();
    }
    let fixed = |node| match node_addresses(node)[1] {
        IpAddr::V6(address) => address,
        IpAddr::V4(address) => address.to_ipv6_mapped(),
    };
    let mut addresses: Vec<Ipv6Addr> = (0..scenario.nodes.len()).map(fixed).collect();
    // Mobiles of each home agent that are not yet counted off: prefixes are assigned in the order of the file.
    let mut before = vec![0; scenario.agents.ipv6.len()];
    for mobility in scenario.mobiles.iter().filter_map(MobileIpv6::of) {
        before[mobility.home_agent] += 1;
    }
    // A node that may belong to several mobiles belongs to the first.
    for (number, mobile) in scenario.mobiles.iter().enumerate().rev() {
        let Some(mobility) = MobileIpv6::of(mobile) else {
            continue;
        };
        if let Some(prefix) = mobile.network_prefix {
            for node in &behind[number] {
                addresses[node.0] = prefix.address_of(link_local(node.0 as u64 + 1));
            }
        }
        let agent = &scenario.agents.ipv6[mobility.home_agent];
        before[mobility.home_agent] -= 1;
        let pool = agent.prefix_pool;
        let assigned = pool.and_then(|pool| PrefixPool::nth(pool, before[mobility.home_agent]));
        addresses[mobile.node.0] = home_address(assigned, number, agent);
    }
    addresses
}

/// Returns the home address of a mobile: in the prefix that it is assigned, if there is one for each.
fn home_address(assigned: Option<Ipv6Prefix>, number: usize, agent: &HomeAgent) -> Ipv6Addr {
    // A mobile without a prefix never comes to its address.
    address_in(assigned.unwrap_or(agent.prefix), number)
}

/// Returns the settings that a mobile shares with others.
fn fleet_settings(mobility: &MobileIpv6, agents: &[HomeAgent]) -> FleetSettings {
    let agent = &agents[mobility.home_agent];
    FleetSettings {
        home_agent: agent.address(),
        lifetime: mobility.lifetime,
        is_prefix_assigned: agent.prefix_pool.is_some(),
        configuration: Arc::new(ConfigurationSettings {
            detection: mobility.detection,
            times: ConfigurationTimes::default(),
            home_prefix: Some(agent.prefix),
        }),
        binding_times: BindingTimes::default(),
        buffering: mobility
            .asks_for_buffering
            .then_some(BufferingRequest::STUDY_D),
        asks_for_bicasting: false,
        tells_routers: mobility.access_router_buffering.is_some(),
        has_group: mobility.multicast_buffering.is_some(),
        optimizes_routes: mobility.route_optimization,
        sends_before_acknowledgement: false,
        path_mtu: PATH_MTU,
        clamp_segment_size: mobility.clamp_segment_size,
    }
}

/// The access links and radio networks of a mobile.
struct Access {
    links: Vec<usize>,
    radios: Vec<usize>,
}

const fn identifier(mobile: usize) -> u64 {
    MOBILE_IDENTIFIERS + mobile as u64
}

/// Returns the mobile that has an address by its identifier.
pub(crate) fn mobile_of(address: Ipv6Addr) -> Option<usize> {
    let identifier = address.to_bits() as u64;
    usize::try_from(identifier.checked_sub(MOBILE_IDENTIFIERS)?).ok()
}

/// Returns the address that a mobile configures from a prefix.
pub(super) fn address_in(prefix: Ipv6Prefix, mobile: usize) -> Ipv6Addr {
    prefix.address_of(link_local(identifier(mobile)))
}

fn link_local(identifier: u64) -> Ipv6Addr {
    Ipv6Addr::from_bits((0xFE80 << 112) | u128::from(identifier))
}

/// Returns a secret of twenty bytes.
pub(super) fn long_secret(seed: Seed, name: &str) -> [u8; 20] {
    let mut draws = seed.stream(name);
    let words = [draws.bits(), draws.bits(), draws.bits()].map(u64::to_be_bytes);
    core::array::from_fn(|place| words[place / 8][place % 8])
}

/// Returns a name for messages of IEEE 802.21, or its number if they have no room for the name.
fn mih_name(name: &str, number: usize) -> Vec<u8> {
    match name.len() <= LONGEST_NAME {
        true => name.as_bytes().to_vec(),
        false => format!("number {number}").into_bytes(),
    }
}

impl World {
    /// Gives hosts the addresses and agents of Mobile IPv6.
    pub(in crate::mobility) fn add_ipv6_agents(&mut self) {
        if self.scenario.agents.ipv6.is_empty() {
            return;
        }
        for number in 0..self.net.nodes.len() {
            let address = self.net.directory.ipv6(number);
            self.net.nodes[number].host.add_address(address.into());
        }
        for number in 0..self.scenario.agents.ipv6.len() {
            self.add_home_agent(number);
        }
        self.add_anchor_points();
        for radio in 0..self.scenario.radios.len() {
            self.add_cell_routers(radio);
        }
        let mut fleet: Option<Arc<FleetSettings>> = None;
        for number in 0..self.scenario.mobiles.len() {
            let mobile = self.scenario.mobiles[number].clone();
            if let Some(mobility) = MobileIpv6::of(&mobile) {
                let own = fleet_settings(mobility, &self.scenario.agents.ipv6);
                let own = match fleet.take() {
                    Some(last) if *last == own => last,
                    _ => Arc::new(own),
                };
                let access = Access {
                    links: access_links(&self.scenario, &mobile.attachment),
                    radios: mobile.attachment.radios(&self.scenario.radios),
                };
                self.add_mobile_node((number, mobile.node), mobility, &access, Arc::clone(&own));
                fleet = Some(own);
            }
        }
        for agent in &self.scenario.agents.ipv6 {
            let host = &mut self.net.nodes[agent.node.0].host;
            if let Some(home_agent) = host.layer_mut::<mobile_ipv6::HomeAgent>() {
                home_agent.shrink();
            }
        }
        self.add_correspondents();
    }

    fn add_home_agent(&mut self, number: usize) {
        let agent = &self.scenario.agents.ipv6[number];
        let mobiles = self.scenario.mobiles.iter();
        let mut own = mobiles.filter_map(MobileIpv6::of);
        // With several home links, one receives the messages about home addresses.
        let home_link = own.find(|one| one.home_agent == number && one.home_link.is_some());
        let home_interface = home_link.map_or(Rank::HomeNetwork.interface(), |mobility| {
            self.net.home_interface(agent.node, mobility)
        });
        let settings = HomeAgentSettings {
            is_anchor_point: false,
            address: agent.address(),
            home_prefix: agent.prefix,
            home_interface,
            longest_lifetime: agent.longest_lifetime,
            detection: agent.detection,
            retransmission_time: ConfigurationTimes::default().retransmission_time,
            strategy: agent.strategy,
            bicast_on_request: None,
            proven_care_of: None,
            path_mtu: PATH_MTU,
            clamp_segment_size: agent.clamp_segment_size,
        };
        let mut home_agent = mobile_ipv6::HomeAgent::new(settings);
        let lifetime_s = agent.longest_lifetime.seconds();
        let pool = agent.prefix_pool;
        if let Some(pool) = pool.and_then(|pool| PrefixPool::new(pool, lifetime_s)) {
            let name = format!("home agent {number} prefixes");
            let draws = Draws::new(Seed(self.scenario.seed).secret(&name));
            home_agent.assign_prefixes(PrefixServer::new(pool, draws));
        }
        let host = &mut self.net.nodes[agent.node.0].host;
        host.add_address(agent.address().into());
        host.add_layer(home_agent);
        host.layers_mut().get_or_add(HomeNetwork::default);
    }

    /// Lends a mobile a prefix, if the home agent at `node` has a pool: it was here before the run, since flows know its
    /// address.
    fn lend_prefix(&mut self, node: usize, identifier: u64) -> Option<Ipv6Prefix> {
        let host = &mut self.net.nodes[node].host;
        let home_agent = host.layer_mut::<mobile_ipv6::HomeAgent>()?;
        home_agent
            .prefix_server_mut()?
            .lend(Instant::ZERO, identifier)
    }

    fn add_mobile_node(
        &mut self,
        (number, node): (usize, NodeIndex),
        mobility: &MobileIpv6,
        access: &Access,
        fleet: Arc<FleetSettings>,
    ) {
        let seed = Seed(self.scenario.seed);
        let name = self.scenario.nodes[node.0].clone();
        let agent = self.scenario.agents.ipv6[mobility.home_agent].clone();
        let identifier = identifier(number);
        let network_prefix = self.scenario.mobiles[number].network_prefix;
        let assigned = self.lend_prefix(agent.node.0, identifier);
        let home_address = home_address(assigned, number, &agent);
        let key = SharedKey {
            security_parameter_index: 256 + number as u32,
            key: long_secret(seed, &format!("mobile {name} home key")),
        };
        let mut care_of = Vec::with_capacity(access.links.len());
        let mut group = Vec::new();
        let member = GroupMobile {
            home_address,
            network: network_prefix,
            home_agent: agent.address(),
        };
        for &link in &access.links {
            let far = self.net.wires.far_from(link, node.0);
            let is_home = mobility.home_link == Some(LinkIndex(link));
            let prefix = match is_home {
                true => agent.prefix,
                false => access_prefix(link),
            };
            let is_frequent = mobility.advertisements == Advertisements::Frequent;
            self.advertise(far, prefix, is_frequent, is_home.then_some(&agent));
            let address = IpAddr::V6(address_in(prefix, number));
            if !is_home {
                group.extend(self.net.join(far, member, mobility));
                self.net.behind_links.push(BehindLink { address, far });
            }
            care_of.push((link, address));
        }
        let copying = mobility.multicast_buffering.is_some();
        for cell in copying.then(|| self.cells_of(access)).into_iter().flatten() {
            let far = self.net.wires.base_station(cell);
            if self.net.neighbors(cell.radio).prefix(cell.cell) != agent.prefix {
                group.extend(self.net.join(far, member, mobility));
            }
        }
        let credentials = mobility.aaa.map(|aaa| self.enrol(aaa, &name, home_address));
        let handover_service = mobility
            .mih
            .clone()
            .map(|services| self.add_handover_service((number, node.0), services, access));
        let anchors = self.enrol_at_anchor_points(number, &name);
        let settings = MobileSettings {
            home_address: match agent.prefix_pool {
                Some(_) => Ipv6Addr::UNSPECIFIED,
                None => home_address,
            },
            key: Some(key),
            anchors,
            router: network_prefix.map(|prefix| RouterRegistration {
                prefixes: Box::from([prefix.into()]),
                explicit: true,
            }),
            interface_identifier: identifier,
            access: credentials.map(Box::new),
            handover_service: handover_service.map(Box::new),
            fleet,
        };
        let interfaces = self.net.nodes[node.0].interfaces.len();
        let secret = seed.secret(&format!("mobile {name} protocol"));
        let host = &mut self.net.nodes[node.0].host;
        host.add_layer(MobileNode::new(settings, interfaces, secret));
        if let Some(policy) = mobility
            .access_router_buffering
            .filter(|_| mobility.predicts_handovers)
        {
            self.introduce_routers(node, &access.links, policy);
        }
        if mobility.predictive_binding_updates {
            self.tabulate_links(node, mobility, &access.links);
        }
        let subscriber = Subscriber {
            home_address,
            key: Some(key),
            prefixes: network_prefix.map(|prefix| Box::from([prefix.into()])),
        };
        let host = &mut self.net.nodes[agent.node.0].host;
        if let Some(home_agent) = host.layer_mut::<mobile_ipv6::HomeAgent>() {
            match home_agent.prefix_server_mut() {
                Some(server) => server.enrol(subscriber),
                None => home_agent.subscribe(subscriber),
            }
            if !group.is_empty() {
                home_agent.form_group(home_address, &group);
            }
        }
        self.net.mobiles[number].protocol = Some(ProtocolRun {
            home_agent: agent.node.0 as u32,
            care_of: care_of.into(),
            told: mobility.advertisements == Advertisements::AtLinkUp,
        });
        let far = (agent.node.0, self.net.home_interface(agent.node, mobility));
        self.net.put_behind_agent(node.0, far);
        for inner in self.net.directory.behind(number).to_vec() {
            self.net.put_behind_agent(inner.0, far);
        }
    }

    /// Enters a mobile's foreign access links into its table of next links.
    fn tabulate_links(&mut self, node: NodeIndex, mobility: &MobileIpv6, links: &[usize]) {
        for &link in links {
            if mobility.home_link == Some(LinkIndex(link)) {
                continue;
            }
            let interface = self.net.interface(node.0, link);
            let host = &mut self.net.nodes[node.0].host;
            if let Some(mobile) = host.layer_mut::<MobileNode>() {
                mobile.know_router(interface, access_prefix(link));
            }
        }
    }

    /// Makes the routers of a mobile's access links known to one another, and their access points to the mobile.
    fn introduce_routers(&mut self, mobile: NodeIndex, links: &[usize], policy: BufferPolicy) {
        let places: Vec<NodeInterface> = links
            .iter()
            .map(|&link| self.net.wires.far_from(link, mobile.0))
            .collect();
        for (&link, &(other, at)) in links.iter().zip(&places) {
            let point = access_point(link);
            let interface = self.net.interface(mobile.0, link);
            let host = &mut self.net.nodes[mobile.0].host;
            if let Some(node) = host.layer_mut::<MobileNode>() {
                node.set_access_point(interface, point);
            }
            let routers = self.net.nodes[other].host.layer::<AccessRouters>();
            let Some(settings) = routers.and_then(|routers| routers.at(at)) else {
                continue;
            };
            let router = ProxyRouter {
                address: settings.settings().address,
                prefix: settings.settings().prefix,
            };
            for &(own, interface) in places.iter().filter(|&&place| place != (other, at)) {
                if let Some(routers) = self.net.nodes[own].host.layer_mut::<AccessRouters>() {
                    routers.know(interface, point, router, policy);
                }
            }
        }
    }

    /// Returns the cells of a mobile's radio networks.
    fn cells_of(&self, access: &Access) -> Vec<CellPlace> {
        let radios = access.radios.iter();
        let cells = radios.flat_map(|&radio| {
            let cells = 0..self.scenario.radios[radio].stations.len();
            cells.map(move |cell| CellPlace {
                radio: radio as u32,
                cell: CellId(cell as u16),
            })
        });
        cells.collect()
    }

    /// Lets the base stations of a radio network advertise themselves in their cells, if a mobile with Mobile IPv6 may
    /// come there. A cell that is a mobile's home link has the home prefix.
    fn add_cell_routers(&mut self, radio: usize) {
        let mut homes: BTreeMap<CellId, HomeAgent> = BTreeMap::new();
        let (mut is_spoken, mut is_frequent) = (false, false);
        let network = &self.scenario.radios[radio];
        for aircraft in &network.aircraft {
            let number = self.net.directory.mobile_at(aircraft.node.0);
            let mobile = number.map(|number| &self.scenario.mobiles[number]);
            let Some(mobility) = mobile.and_then(MobileIpv6::of) else {
                continue;
            };
            is_spoken = true;
            is_frequent |= mobility.advertisements == Advertisements::Frequent;
            if let Some((_, cell)) = mobility.home_link.and_then(|link| network.ends(link)) {
                let agent = &self.scenario.agents.ipv6[mobility.home_agent];
                homes.entry(cell).or_insert_with(|| agent.clone());
            }
        }
        let cells = if is_spoken { network.stations.len() } else { 0 };
        for cell in (0..cells).map(|cell| CellId(cell as u16)) {
            let place = CellPlace {
                radio: radio as u32,
                cell,
            };
            let (home, far) = (homes.get(&cell), self.net.wires.base_station(place));
            if let Some(agent) = home {
                self.net
                    .neighbors_mut(place.radio)
                    .set_prefix(cell, agent.prefix);
            }
            let neighbors = self.net.neighbors(place.radio);
            let (prefix, [_, ends]) = (neighbors.prefix(cell), neighbors.ends(cell));
            self.net.behind_cells.push(BehindCell { ends, far });
            self.advertise(far, prefix, is_frequent, home);
        }
    }

    /// Registers a mobile with an AAA server, by its home address; returns the mobile's settings for that server.
    fn enrol(&mut self, aaa: AccessControl, name: &str, home_address: Ipv6Addr) -> AccessSettings {
        let server = self.net.directory.ipv6(aaa.server.0);
        let secret = Seed(self.scenario.seed).secret(&format!("mobile {name} access"));
        let user_name = home_address.to_string().into_bytes().into_boxed_slice();
        let user = AccessUser {
            secret,
            welcome: true,
            processing: aaa.processing,
        };
        let layers = self.net.nodes[aaa.server.0].host.layers_mut();
        layers
            .get_or_add(|| AccessServer::new(server))
            .enrol(&user_name, user);
        AccessSettings {
            server,
            user_name,
            secret,
        }
    }

    /// Registers a mobile with a point of service, and lets the gateways of its access links answer that; returns the
    /// mobile's settings for them.
    fn add_handover_service(
        &mut self,
        (number, node): (usize, usize),
        services: HandoverServices,
        access: &Access,
    ) -> HandoverServiceSettings {
        let service = services.point_of_service.0;
        let identifier = self.mih_identifier(node);
        self.point_of_service(service).enrol(identifier.clone());
        // Links other than access links are prepared nowhere.
        let mut links = vec![LinkIdentifier::new(0, b""); self.net.nodes[node].interfaces.len()];
        let radios = access.radios.iter();
        let present = radios.map(|&radio| self.net.present_in(radio, node));
        let present: Vec<usize> = access.links.iter().copied().chain(present).collect();
        for link in present {
            for link in self.net.wires.to_all_cells(link) {
                let known = self.link_identifier(link);
                let (router, _) = self.net.wires.far_from(link, node);
                let gateway = self.point_of_service(router);
                let in_charge = (gateway.identifier().clone(), gateway.address());
                gateway.add_link(known.clone(), in_charge.clone());
                let network = self.network(link, known.clone(), router);
                let own = self.point_of_service(service);
                own.add_link(known, in_charge);
                own.add_network(network);
            }
            links[self.net.interface(node, link).0] = self.link_identifier(link);
            self.watch_access_link(service, node, link);
        }
        self.add_network_handovers(&identifier, &services);
        let remote = self.scenario.remote_links(&self.scenario.mobiles[number]);
        let remote_links = remote.into_iter().map(|LinkIndex(link)| {
            let known = self.link_identifier(link);
            let interface = self.net.interface(service, link);
            let parameters = self.net.nodes[service].host.link_parameters(interface);
            let own = self.point_of_service(service);
            own.add_own_link(interface, known.clone());
            if let Some(parameters) = parameters {
                own.handle_link(Instant::ZERO, interface, LinkEvent::Parameters(parameters));
            }
            known
        });
        let remote_links = remote_links.collect();
        HandoverServiceSettings {
            point_of_service: self.net.directory.ipv6(service),
            service_identifier: self.mih_identifier(service),
            identifier,
            links,
            signalling: services.signalling,
            information: services.information,
            remote_links,
            rate_threshold: services.rate_threshold,
            obeys: !services.network_handovers.is_empty(),
            services_until: services.services_until,
        }
    }

    /// Lets a point of service watch an access link that ends at its node.
    fn watch_access_link(&mut self, service: usize, mobile: usize, link: usize) {
        let (router, interface) = self.net.wires.far_from(link, mobile);
        if router == service && self.net.wires.place(link).is_none() {
            let known = self.link_identifier(link);
            self.point_of_service(service)
                .add_access_link(interface, known);
        }
    }

    /// Gives a mobile's point of service the rules for handovers that it begins.
    fn add_network_handovers(&mut self, mobile: &MihfId, services: &HandoverServices) {
        let service = services.point_of_service.0;
        for rule in &services.network_handovers {
            let interface = self.net.interface(service, rule.from.0);
            let offload = Offload {
                mobile: mobile.clone(),
                from: self.link_identifier(rule.from.0),
                to: self.link_identifier(rule.to.0),
                after: rule.overloaded_for,
                powers_down: rule.powers_down,
            };
            self.point_of_service(service)
                .add_offload(interface, offload);
        }
    }

    /// Returns the information service's description of an access link or cell, whose operator is its router.
    fn network(&self, link: usize, known: LinkIdentifier, router: usize) -> Network {
        let rate = self.net.packet_rate(link).bits_per_second() / 1000;
        let (operator, address) = (
            &self.scenario.nodes[router],
            self.net.directory.ipv6(router),
        );
        let rate = u32::try_from(rate).unwrap_or(u32::MAX);
        let mut network = Network::new(known, operator.as_bytes(), rate, address);
        let along = self
            .scenario
            .links
            .get(link)
            .and_then(|spec| spec.reception.as_ref());
        network.channel = along
            .and_then(|along| along.reception.frequency_khz())
            .map(|at| [at; 2]);
        network
    }

    /// Returns the point of service at a node, creating it if needed.
    fn point_of_service(&mut self, node: usize) -> &mut PointOfService {
        let (identifier, address) = (self.mih_identifier(node), self.net.directory.ipv6(node));
        let layers = self.net.nodes[node].host.layers_mut();
        layers.get_or_add(|| PointOfService::new(identifier, address))
    }

    /// Informs a mobile with a table of next links of the cell to which an interface will lead next.
    pub(in crate::mobility) fn describe_next_cell_in_ipv6(
        &mut self,
        number: usize,
        place: RadioPlace,
        interface: InterfaceId,
    ) {
        let mobility = MobileIpv6::of(&self.scenario.mobiles[number]);
        if !mobility.is_some_and(|own| own.predictive_binding_updates) {
            return;
        }
        let prefix = self.net.neighbors(place.radio).prefix(place.cell);
        let node = self.net.mobiles[number].node.0;
        if let Some(mobile) = self.net.nodes[node].host.layer_mut::<MobileNode>() {
            mobile.know_router(interface, prefix);
        }
    }

    /// Informs a mobile with a point of service of the cell to which an interface leads from now on.
    pub(in crate::mobility) fn describe_cell_in_ipv6(
        &mut self,
        number: usize,
        place: RadioPlace,
        interface: InterfaceId,
    ) {
        let mobility = MobileIpv6::of(&self.scenario.mobiles[number]);
        if mobility.is_none_or(|own| own.mih.is_none()) {
            return;
        }
        let known = self.link_identifier(self.net.wires.number(place));
        let node = self.net.mobiles[number].node.0;
        if let Some(mobile) = self.net.nodes[node].host.layer_mut::<MobileNode>() {
            mobile.set_link(interface, known);
        }
    }

    /// Returns a node's identifier in IEEE 802.21.
    fn mih_identifier(&self, node: usize) -> MihfId {
        MihfId::new(&mih_name(&self.scenario.nodes[node], node))
    }

    /// Returns the IEEE 802.21 identifier of an access link or cell: of type IEEE 802.11 or of another.
    fn link_identifier(&self, link: usize) -> LinkIdentifier {
        let config = self.net.wires.config(link);
        let name = match self.net.wires.place(link) {
            None => mih_name(&config.name, link),
            Some(RadioPlace { radio, cell, .. }) => {
                let (radio, cell) = (&self.scenario.radios[radio as usize], usize::from(cell.0));
                let name = format!("{}.{}", radio.config.name, radio.config.cells[cell].name);
                mih_name(&name, radio.first_cell + cell)
            }
        };
        LinkIdentifier::new(config.medium.link_type(), &name)
    }

    /// Informs the correspondents of mobiles of the mobiles' locations, for mobiles with route optimization.
    fn add_correspondents(&mut self) {
        for number in 0..self.scenario.flows.len() {
            let ends = [
                self.scenario.flows[number].from,
                self.scenario.flows[number].to,
            ];
            for (node, peer) in [(ends[0], ends[1]), (ends[1], ends[0])] {
                let mobile = self.net.mobile_at(peer.0);
                let mobile = mobile.map(|number| &self.scenario.mobiles[number]);
                if mobile
                    .and_then(MobileIpv6::of)
                    .is_some_and(|own| own.route_optimization)
                {
                    self.add_correspondent(node);
                }
            }
        }
    }

    fn add_correspondent(&mut self, node: NodeIndex) {
        let seed = Seed(self.scenario.seed);
        let name = self.scenario.nodes[node.0].clone();
        let address = self.net.directory.ipv6(node.0);
        let host = &mut self.net.nodes[node.0].host;
        let has_agent = host.layer::<MobileNode>().is_some()
            || host.layer::<mobile_ipv6::HomeAgent>().is_some()
            || host.layer::<Correspondent>().is_some();
        if !has_agent {
            let node_key = long_secret(seed, &format!("node {name} node key"));
            let nonces = seed.secret(&format!("node {name} nonces"));
            host.add_layer(Correspondent::new(address, node_key, nonces));
        }
    }

    /// Lets a router advertise a prefix at an interface, as a home agent does its own.
    fn advertise(
        &mut self,
        (router, interface): NodeInterface,
        prefix: Ipv6Prefix,
        is_frequent: bool,
        agent: Option<&HomeAgent>,
    ) {
        let name = format!("router {router} interface {}", interface.0);
        let draws = Draws::new(Seed(self.scenario.seed).secret(&name));
        let identifier = 0x1000 * (router as u64 + 1) + interface.0 as u64;
        let mut settings = AdvertisingSettings::standard(interface, link_local(identifier), prefix);
        if is_frequent {
            settings.shortest_interval = Duration::from_millis(30);
            settings.longest_interval = Duration::from_millis(70);
            settings.shortest_spacing = Duration::from_millis(30);
            settings.says_interval = true;
        }
        if let Some(agent) = agent {
            settings.home_agent = true;
            settings.address = agent.address();
        }
        settings.anchor_points = self.advertised_at(router);
        settings.path_mtu = PATH_MTU;
        let host = &mut self.net.nodes[router].host;
        // Departed mobiles send to it.
        if !host.has_address(settings.address.into()) {
            host.add_address(settings.address.into());
        }
        host.layers_mut()
            .get_or_add(AccessRouters::default)
            .push(AccessRouter::new(Instant::ZERO, settings, draws));
    }
}

impl Net {
    /// Returns the interface of a home agent to a mobile's home link; the agent's own if there is no such link.
    fn home_interface(&self, agent: NodeIndex, mobility: &MobileIpv6) -> InterfaceId {
        let link = mobility.home_link;
        link.map_or(Rank::HomeNetwork.interface(), |link| {
            self.interface(agent.0, link.0)
        })
    }

    /// Returns a mobile's care-of address in a cell.
    pub(in crate::mobility) fn ipv6_address_in(&self, number: usize, place: RadioPlace) -> IpAddr {
        let prefix = self.neighbors(place.radio).prefix(place.cell);
        address_in(prefix, number).into()
    }

    /// Lets the router at an interface keep copies for a mobile, if the policy says so; returns their destination.
    fn join(
        &mut self,
        (router, interface): NodeInterface,
        mobile: GroupMobile,
        mobility: &MobileIpv6,
    ) -> Option<Ipv6Addr> {
        let policy = mobility.multicast_buffering?;
        let routers = self.nodes[router].host.layer_mut::<AccessRouters>()?;
        routers.join(interface, mobile, policy);
        Some(routers.at(interface)?.settings().address)
    }
}
