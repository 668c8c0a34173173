//! Mobility protocols in the laboratory: a folder each, with its keys in a scenario, their resolution and the set-up of
//! its agents. Other modules use a mobile's [`Mobility`] or the [`Agents`], or call the functions here.

mod buffering;
pub mod micro_mobility;
pub mod mobile_ipv4;
pub mod mobile_ipv6;
mod resolve;

use crate::scenario::document::Path;
use crate::scenario::model::{Flow, LinkIndex, Mobile, NodeIndex};
use crate::scenario::raw::RawScenario;
use crate::scenario::resolve::{Report, node};
use crate::scenario::resolve_links::Links;
use crate::scenario::tagged::{self, Kind, Tag};
use crate::scenario::units::{HomePrefix, PositiveTime, home_prefix, prefix};
use crate::world::World;
use crate::world::wires::RadioPlace;
use baton_proto::host::layer::Neighbor;
use baton_proto::interface::InterfaceId;
use baton_proto::mobility::handover_service::Signalling;
use baton_proto::mobility::mobile_ipv6::Strategy;
use baton_proto::wire::prefix::Ipv6Prefix;
use core::net::{IpAddr, Ipv4Addr};
use resolve::HomeAgents;
use schemars::{JsonSchema, Schema};

pub use micro_mobility::RawDomain;
pub use mobile_ipv4::RawForeignAgent;
pub use mobile_ipv6::RawAnchorPoint;
pub(crate) use mobile_ipv6::{
    addresses as ipv6_addresses, check_anchor_points, check_network_handovers, check_tunnels,
    mobile_of, says_buffer,
};
pub(crate) use resolve::Surroundings;

/// The protocol that keeps a mobile reachable, with all its messages.
#[derive(Clone, Debug, serde::Deserialize, JsonSchema)]
#[schemars(transform = add_protocols)]
pub struct RawMobility {
    /// The protocol, with its own keys.
    #[serde(flatten)]
    #[schemars(skip)]
    pub protocol: RawProtocol,
    /// Its home agent: a node of `home_agents`.
    pub home_agent: String,
    /// The access link, to the home agent's node, on which the mobile is at home; a radio network's cell as
    /// "network.cell". Default: none, it is always away.
    pub home_link: Option<String>,
    /// Lifetime of a binding; Mobile IPv4 counts in seconds, up to "65534 s". Default "1 h".
    pub lifetime: Option<PositiveTime>,
}

fn add_protocols(schema: &mut Schema) {
    let protocol = Tag {
        key: "protocol",
        about: "The protocol.",
        default: None,
    };
    let kinds = [
        Kind::of::<mobile_ipv4::RawMobileNode>("mobile-ipv4"),
        Kind::of::<mobile_ipv6::RawMobileNode>("mobile-ipv6"),
        Kind::of::<mobile_ipv6::RawMobileRouter>("nemo"),
    ];
    tagged::add_to(schema, protocol, &kinds);
}

impl RawMobility {
    /// Returns the names of its nodes, except the home agent's.
    pub(crate) fn nodes_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let rules = match &mut self.protocol {
            RawProtocol::MobileIpv4(own) => own.policy.as_mut_slice(),
            RawProtocol::MobileIpv6(_) | RawProtocol::Nemo(_) => &mut [],
        };
        rules.iter_mut().flat_map(|rule| &mut rule.to)
    }

    /// Returns the prefix of the network behind a mobile router, as written.
    pub(crate) fn network_prefix(&self) -> Option<&str> {
        match &self.protocol {
            RawProtocol::Nemo(own) => Some(&own.network_prefix),
            RawProtocol::MobileIpv4(_) | RawProtocol::MobileIpv6(_) => None,
        }
    }

    /// Returns the prefix of the network behind a mobile router, to change it.
    pub(crate) fn network_prefix_mut(&mut self) -> Option<&mut String> {
        match &mut self.protocol {
            RawProtocol::Nemo(own) => Some(&mut own.network_prefix),
            RawProtocol::MobileIpv4(_) | RawProtocol::MobileIpv6(_) => None,
        }
    }
}

/// A mobility protocol.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(tag = "protocol", rename_all = "kebab-case")]
pub enum RawProtocol {
    /// Mobile IPv4.
    MobileIpv4(mobile_ipv4::RawMobileNode),
    /// Mobile IPv6.
    MobileIpv6(mobile_ipv6::RawMobileNode),
    /// Network mobility.
    Nemo(mobile_ipv6::RawMobileRouter),
}

/// A home agent: keeps the bindings of mobiles and forwards their packets to them.
#[derive(Clone, Debug, serde::Deserialize, JsonSchema)]
pub struct RawHomeAgent {
    /// The prefix of its home network, like "2001:db8:1::/64" or, for Mobile IPv4, "192.0.2.0/24": it contains mobiles'
    /// home addresses, and its first address is the agent's own.
    #[schemars(extend("format" = "ip-prefix"))]
    pub prefix: String,
    /// Mobile IPv6's own keys.
    #[serde(flatten)]
    pub ipv6: mobile_ipv6::RawHomeAgentKeys,
    /// The longest lifetime of a binding that it grants. Default "18 h".
    pub longest_lifetime: Option<PositiveTime>,
    /// Mobile IPv6's own keys of its tunnels.
    #[serde(flatten)]
    pub ipv6_tunnels: mobile_ipv6::RawTunnels,
}

/// A protocol at a mobile.
#[derive(Clone, Debug, PartialEq)]
pub enum Mobility {
    /// Mobile IPv6 or NEMO.
    Ipv6(mobile_ipv6::MobileIpv6),
    /// Mobile IPv4.
    Ipv4(mobile_ipv4::MobileIpv4),
}

/// Agents of a scenario that are not on mobiles.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Agents {
    /// Home agents of Mobile IPv6, in the order of the file.
    ipv6: Vec<mobile_ipv6::HomeAgent>,
    /// Mobility anchor points of Mobile IPv6, in the order of the file.
    anchor_points: Vec<mobile_ipv6::AnchorPoint>,
    /// Agents of Mobile IPv4.
    ipv4: mobile_ipv4::Ipv4Agents,
    /// Micro-mobility domains, in the order of the file.
    domains: Vec<micro_mobility::Domain>,
}

impl Agents {
    /// Resolves all agents.
    pub(crate) fn resolve(raw: &RawScenario, links: &Links, report: &mut Report<'_>) -> Agents {
        let mut agents = Agents::default();
        let top = Path::default().key("home_agents");
        for (name, raw) in &raw.home_agents.0 {
            let path = top.key(name);
            let (Some(node), Ok(prefix)) =
                (node(name, &path, links, report), home_prefix(&raw.prefix))
            else {
                continue;
            };
            match prefix {
                HomePrefix::Ipv6(prefix) => {
                    let around = (links, agents.ipv6.as_slice());
                    let agent = mobile_ipv6::home_agent(raw, (node, prefix), &path, around, report);
                    agents.ipv6.push(agent);
                }
                HomePrefix::Ipv4(prefix) => {
                    let others = [raw.ipv6.written(), raw.ipv6_tunnels.written()].concat();
                    let own = ["prefix", "longest_lifetime"];
                    report.misplaced(&path, &others, &own, "an IPv4 prefix");
                    let around = (links, agents.ipv4.home_agents.as_slice());
                    let agent = mobile_ipv4::home_agent(raw, (node, prefix), &path, around, report);
                    agents.ipv4.home_agents.push(agent);
                }
            }
        }
        agents.anchor_points = mobile_ipv6::anchor_points(raw, &agents.ipv6, links, report);
        agents.ipv4.foreign_agents =
            mobile_ipv4::foreign_agents(raw, links, &agents.ipv4.home_agents, report);
        agents.domains = micro_mobility::domains(&raw.micro_mobility, links, report);
        agents
    }

    /// Returns true if a domain prepares the handovers of mobiles.
    fn prepare_handovers(&self) -> bool {
        let mut domains = self.domains.iter();
        domains.any(micro_mobility::Domain::prepares_handovers)
    }

    /// Returns the nodes of all agents.
    pub(crate) fn nodes(&self) -> Vec<NodeIndex> {
        let home = self.ipv6.iter().map(|agent| agent.node);
        let anchors = self
            .anchor_points
            .iter()
            .flat_map(mobile_ipv6::AnchorPoint::nodes);
        let ipv4 = self.ipv4.home_agents.iter().map(|agent| agent.node);
        let foreign = self.ipv4.foreign_agents.iter();
        let foreign = foreign.map(|agent| agent.node);
        let domains = self.domains.iter().flat_map(|domain| {
            let routers = domain.routers.iter().copied();
            routers.chain([domain.root])
        });
        let nodes = home.chain(anchors).chain(ipv4);
        nodes.chain(foreign).chain(domains).collect()
    }

    /// Returns true for a node with routes for single mobiles.
    pub(crate) fn route_mobiles_at(&self, node: usize) -> bool {
        self.domains
            .iter()
            .any(|domain| domain.has(NodeIndex(node)))
    }

    /// Returns true if there is an agent of Mobile IPv4.
    pub fn speaks_ipv4(&self) -> bool {
        !self.ipv4.is_empty()
    }

    /// Returns true if there are no agents.
    pub fn is_empty(&self) -> bool {
        self.ipv6.is_empty() && self.ipv4.is_empty()
    }
}

impl Mobility {
    /// Resolves the protocol of the mobile at `node`, and the prefix of the network behind it.
    pub(crate) fn resolve(
        raw: &RawMobility,
        node: NodeIndex,
        path: &Path,
        around: &Surroundings<'_>,
        report: &mut Report<'_>,
    ) -> Option<(Mobility, Option<Ipv6Prefix>)> {
        let home_agent = home_agent(raw, &path.key("home_agent"), around, report)?;
        let ends = (node, home_agent);
        let (own, network) = match &raw.protocol {
            RawProtocol::MobileIpv4(own) => {
                let mobility = mobile_ipv4::mobility((raw, own), ends, path, around, report);
                return Some((Mobility::Ipv4(mobility), None));
            }
            RawProtocol::MobileIpv6(own) => (own, None),
            RawProtocol::Nemo(router) => (&router.node, prefix(&router.network_prefix).ok()),
        };
        if let Some(network) = network {
            mobile_ipv6::check_network(network, &path.key("network_prefix"), around, report);
        }
        let mobility = mobile_ipv6::mobility((raw, own), ends, path, around, report);
        Some((Mobility::Ipv6(mobility), network))
    }

    /// Returns true if the mobile has a home address of IPv6.
    pub fn is_ipv6(&self) -> bool {
        matches!(self, Mobility::Ipv6(_))
    }

    /// Returns the node of the mobile's home agent.
    pub fn home_agent(&self, agents: &Agents) -> NodeIndex {
        match self {
            Mobility::Ipv6(own) => agents.ipv6[own.home_agent].node,
            Mobility::Ipv4(own) => agents.ipv4.home_agents[own.home_agent].node,
        }
    }

    /// Returns the access link on which the mobile is at home.
    pub fn home_link(&self) -> Option<LinkIndex> {
        match self {
            Mobility::Ipv6(own) => own.home_link,
            Mobility::Ipv4(own) => own.home_link,
        }
    }

    /// Returns true if the mobile and its agents have nothing in common but messages and tunnels, each packet in one.
    pub(crate) fn is_apart(&self, agents: &Agents) -> bool {
        match self {
            Mobility::Ipv6(own) => {
                let home_agent = &agents.ipv6[own.home_agent];
                own.mih.is_none()
                    && own.multicast_buffering.is_none()
                    && agents.anchor_points.is_empty()
                    && !matches!(home_agent.strategy, Strategy::Bicast { .. })
            }
            Mobility::Ipv4(_) => false,
        }
    }

    /// Returns the home address of IPv4 of a mobile, by its number.
    pub fn ipv4_home_address(&self, mobile: usize, agents: &Agents) -> Option<Ipv4Addr> {
        match self {
            Mobility::Ipv6(_) => None,
            Mobility::Ipv4(own) => Some(own.home_address(mobile, &agents.ipv4)),
        }
    }

    /// Returns true if packets of the mobile leave from its care-of address.
    pub fn sends_from_care_of_address(&self) -> bool {
        match self {
            Mobility::Ipv6(_) => false,
            Mobility::Ipv4(own) => own.sends_from_care_of_address(),
        }
    }

    /// Returns the link that carries the messages before a handover, if handovers are prepared: with a point of service,
    /// between routers or agents, with the home agent, or in a domain.
    pub fn signalling(&self) -> Option<Signalling> {
        match self {
            Mobility::Ipv6(own) => own.signalling(),
            Mobility::Ipv4(own) => own.prepares_handovers().then_some(Signalling::Backward),
        }
    }

    /// Returns the node whose links' events the mobile subscribes to, if it does.
    pub fn source_of_events(&self) -> Option<NodeIndex> {
        match self {
            Mobility::Ipv6(own) => own.source_of_events(),
            Mobility::Ipv4(_) => None,
        }
    }

    /// Returns true if its binding updates can report the parameters of the link in use.
    pub fn reports_paths(&self) -> bool {
        self.is_ipv6()
    }

    /// Describes a mobile with an address on an access link to the router there.
    pub fn neighbor(&self, address: IpAddr, is_told: bool) -> Neighbor {
        match self {
            Mobility::Ipv6(own) => own.neighbor(address, is_told),
            Mobility::Ipv4(_) => Neighbor::new(address),
        }
    }

    /// Returns an error, with the expectation, if a gateway cannot follow the mobile's packets.
    pub(crate) fn check_gateways(&self) -> Result<(), String> {
        match self {
            Mobility::Ipv6(_) => Ok(()),
            Mobility::Ipv4(_) => Err(mobile_ipv4::HIDDEN_FROM_GATEWAYS.to_owned()),
        }
    }
}

/// Returns an error, with the expectation, if no binding update tells a correspondent a mobile's location.
pub(crate) fn check_binding_updates(
    mobility: Option<&Mobility>,
    correspondent: NodeIndex,
    agents: &Agents,
) -> Result<(), String> {
    match mobility {
        Some(Mobility::Ipv6(own)) => own.check_binding_updates(correspondent, &agents.ipv6),
        Some(Mobility::Ipv4(_)) | None => Err(mobile_ipv6::NOT_SPOKEN.to_owned()),
    }
}

/// Reports domains that no mobile can visit.
pub(crate) fn check_domains(
    agents: &Agents,
    mobiles: &[Mobile],
    links: &Links,
    report: &mut Report<'_>,
) {
    micro_mobility::check_mobiles(&agents.domains, mobiles, links, report);
}

/// Reports flows between mobiles with home addresses of different versions of IP.
pub(crate) fn check_flows(
    raw: &RawScenario,
    flows: &[Flow],
    mobiles: &[Mobile],
    report: &mut Report<'_>,
) {
    let at = |node: NodeIndex| mobiles.iter().find(|mobile| mobile.node == node);
    for flow in flows {
        let ends = [flow.from, flow.to].map(|node| at(node)?.mobility.as_ref());
        let speaks = |ipv6: bool| ends.iter().flatten().any(|end| end.is_ipv6() == ipv6);
        if speaks(true) && speaks(false) {
            let place = raw.flows.iter().position(|raw| raw.name == flow.name);
            let path = Path::default().key("flows").index(place.unwrap_or(0));
            let message = "joins a mobile with Mobile IPv4 to one with Mobile IPv6; expected both ends to have the same version of IP";
            report.wrong(&path, message.to_owned());
        }
    }
}

/// Finds the home agent of a mobile, by its place among those of its protocol.
fn home_agent(
    raw: &RawMobility,
    path: &Path,
    around: &Surroundings<'_>,
    report: &mut Report<'_>,
) -> Option<usize> {
    let Agents { ipv6, ipv4, .. } = around.agents;
    let name_of = |node: NodeIndex| around.links.nodes[node.0].as_str();
    let ipv6 = HomeAgents {
        version: "IPv6",
        names: ipv6.iter().map(|agent| name_of(agent.node)).collect(),
    };
    let ipv4 = HomeAgents {
        version: "IPv4",
        names: ipv4
            .home_agents
            .iter()
            .map(|agent| name_of(agent.node))
            .collect(),
    };
    match raw.protocol {
        RawProtocol::MobileIpv4(_) => ipv4.find(&raw.home_agent, &ipv6, path, report),
        RawProtocol::MobileIpv6(_) | RawProtocol::Nemo(_) => {
            ipv6.find(&raw.home_agent, &ipv4, path, report)
        }
    }
}

impl World {
    /// Gives hosts the addresses and agents that the scenario's protocols need.
    pub(crate) fn add_protocols(&mut self) {
        self.add_ipv6_agents();
        self.add_ipv4_agents();
        self.add_domain_routers();
    }

    /// Returns a mobile's care-of address in a cell, if it has one there.
    pub(crate) fn care_of_in_cell(&self, number: usize, place: RadioPlace) -> Option<IpAddr> {
        match self.scenario.mobiles[number].mobility.as_deref()? {
            Mobility::Ipv6(_) => Some(self.net.ipv6_address_in(number, place)),
            Mobility::Ipv4(own) => self.ipv4_address_in(number, own, place),
        }
    }

    /// Informs a mobile's agents of the cell to which an interface will lead next.
    pub(crate) fn describe_next_cell(
        &mut self,
        number: usize,
        place: RadioPlace,
        interface: InterfaceId,
    ) {
        if let Some(Mobility::Ipv6(_)) = self.scenario.mobiles[number].mobility.as_deref() {
            self.describe_next_cell_in_ipv6(number, place, interface);
        }
    }

    /// Informs a mobile's agents of the cell to which an interface leads from now on.
    pub(crate) fn describe_cell(
        &mut self,
        number: usize,
        place: RadioPlace,
        interface: InterfaceId,
    ) {
        match self.scenario.mobiles[number].mobility.as_deref() {
            Some(Mobility::Ipv6(_)) => self.describe_cell_in_ipv6(number, place, interface),
            Some(Mobility::Ipv4(_)) => self.describe_cell_in_ipv4(number, place, interface),
            None => {}
        }
    }
}
