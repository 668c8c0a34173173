//! Reasons why nodes stay in one part of the world.

use super::groups::Groups;
use crate::link::config::{Access, DirectionConfig, LinkConfig, Medium};
use crate::scenario::model::{
    AttachmentPolicy, Flow, LinkIndex, LinksAtNodes, NodeIndex, Scenario, Traffic, Transport,
    nodes_behind,
};
use baton_proto::remedies::Scheme;
use baton_proto::tcp::congestion::Algorithm;
use baton_proto::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

/// Most headers around a datagram's payload: IPv6 and UDP in two tunnels.
const MOST_HEADERS: u32 = 128;
/// Names listed for one reason.
const NAMES_SHOWN: usize = 3;

/// Bonds between nodes, and the links that may be cut.
pub(super) struct Bonds<'a> {
    scenario: &'a Scenario,
    /// Nodes that are bound together.
    pub groups: Groups,
    /// Links that may be cut, each with the shorter of its delays.
    pub long: Vec<(LinkIndex, Duration)>,
    /// Names of bound nodes and links, by reason.
    pub why: Why,
    /// True if all ways between two parts have to be one link: routes follow mobiles without a protocol in no time, and what
    /// becomes of the packets of bound flows is known in their part.
    pub only_bridges: bool,
}

/// Names by the reason for which their nodes stay together.
#[derive(Clone, Debug, Default)]
pub(super) struct Why(BTreeMap<&'static str, (usize, Vec<String>)>);

impl Why {
    /// Notes a name that has a reason.
    pub fn add(&mut self, reason: &'static str, name: impl FnOnce() -> String) {
        let (count, names) = self.0.entry(reason).or_default();
        *count += 1;
        if names.len() < NAMES_SHOWN {
            names.push(name());
        }
    }

    /// Returns a line for each reason.
    pub fn lines(&self) -> Vec<String> {
        let lines = self.0.iter().map(|(reason, (count, names))| {
            let more = match count - names.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            format!("{reason}: {}{more}", names.join(", "))
        });
        lines.collect()
    }
}

impl<'a> Bonds<'a> {
    /// Finds all bonds of a scenario, and the links whose delay is `least` or longer that have none.
    pub fn new(scenario: &'a Scenario, least: Duration) -> Bonds<'a> {
        let mut bonds = Bonds {
            scenario,
            groups: Groups::new(scenario.nodes.len()),
            long: Vec::new(),
            why: Why::default(),
            only_bridges: false,
        };
        bonds.bind_radios();
        let behind = bonds.bind_mobiles();
        bonds.bind_links(least);
        bonds.bind_flows(&behind);
        bonds
    }

    fn name(&self, node: NodeIndex) -> String {
        self.scenario.nodes[node.0].clone()
    }

    fn bind(&mut self, nodes: impl IntoIterator<Item = NodeIndex>) -> bool {
        let mut nodes = nodes.into_iter();
        let Some(first) = nodes.next() else {
            return false;
        };
        nodes.fold(false, |is_new, node| {
            self.groups.join(first.0, node.0) | is_new
        })
    }

    fn bind_radios(&mut self) {
        let scenario = self.scenario;
        for radio in &scenario.radios {
            let stations = radio.stations.iter().map(|station| station.node);
            let aircraft = radio.aircraft.iter().map(|aircraft| aircraft.node);
            self.bind(stations.chain(aircraft));
            self.why.add("a radio network is one medium", || {
                radio.config.name.clone()
            });
        }
        for carrier in &scenario.carriers {
            let terminals = carrier.terminals.iter();
            let ends = terminals.flat_map(|terminal| scenario.link_ends(terminal.link));
            self.bind(ends.collect::<Vec<_>>());
        }
    }

    /// Binds mobiles to the networks behind them and, where they share more than messages, to their agents. Returns the mobile
    /// of each node behind one, and of each mobile's own.
    fn bind_mobiles(&mut self) -> BTreeMap<NodeIndex, usize> {
        let scenario = self.scenario;
        let at_nodes = LinksAtNodes::new(scenario.nodes.len(), &scenario.links);
        let agents = scenario.agents.nodes();
        let mut moved = BTreeMap::new();
        for (number, mobile) in scenario.mobiles.iter().enumerate() {
            moved.insert(mobile.node, number);
            let access = mobile.attachment.access_links(&scenario.radios);
            if mobile.is_router() {
                let behind = nodes_behind((&scenario.links, &at_nodes), mobile.node, &access);
                moved.extend(behind.iter().map(|&node| (node, number)));
                self.bind(behind.into_iter().chain([mobile.node]));
            }
            match mobile.mobility.as_deref() {
                None => self.only_bridges = true,
                Some(mobility) if !mobility.is_apart(&scenario.agents) => {
                    if self.bind(agents.iter().copied().chain([mobile.node])) {
                        let name = self.name(mobile.node);
                        self.why
                            .add("a mobile's agents share more with it than messages", || {
                                name
                            });
                    }
                }
                Some(_) => {}
            }
        }
        moved
    }

    fn bind_links(&mut self, least: Duration) {
        let scenario = self.scenario;
        let changed: BTreeSet<LinkIndex> =
            scenario.changes.iter().map(|change| change.link).collect();
        let mut of_mobiles: BTreeMap<NodeIndex, Vec<LinkIndex>> = BTreeMap::new();
        for mobile in &scenario.mobiles {
            let access = mobile.attachment.access_links(&scenario.radios);
            // Of a mobile that is no router, all links are.
            let own = if mobile.is_router() {
                access
            } else {
                Vec::new()
            };
            of_mobiles.insert(mobile.node, own);
        }
        let is_access = |link: LinkIndex, node: &NodeIndex| {
            of_mobiles
                .get(node)
                .is_some_and(|own| own.is_empty() || own.contains(&link))
        };
        for (number, spec) in scenario.links.iter().enumerate() {
            let link = LinkIndex(number);
            let delay = spec.config.down.delay.min(spec.config.up.delay);
            let reason = if spec.ends.iter().any(|node| is_access(link, node)) {
                "a mobile's access links"
            } else if changed.contains(&link) || spec.reception.is_some() {
                "links that change"
            } else if let Some(reason) = shares(&spec.config) {
                reason
            } else if delay < least {
                "links with a delay of less than a millisecond"
            } else {
                self.long.push((link, delay));
                continue;
            };
            if self.bind(spec.ends) {
                self.why.add(reason, || spec.config.name.clone());
            }
        }
    }

    fn bind_flows(&mut self, moved: &BTreeMap<NodeIndex, usize>) {
        let scenario = self.scenario;
        let links = scenario.links.iter().map(|link| link.config.mtu);
        let stations = scenario.radios.iter().flat_map(|radio| &radio.stations);
        let least_mtu = links.chain(stations.map(|station| station.link.mtu)).min();
        for flow in &scenario.flows {
            let movers = [flow.from, flow.to].map(|end| moved.get(&end).copied());
            let Some(reason) = self.bond_of(flow, movers, least_mtu.unwrap_or(u32::MAX)) else {
                continue;
            };
            self.only_bridges = true;
            let mut nodes = vec![flow.from, flow.to];
            for number in movers.into_iter().flatten() {
                let mobile = &scenario.mobiles[number];
                nodes.push(mobile.node);
                nodes.extend(
                    mobile
                        .mobility
                        .as_deref()
                        .map(|own| own.home_agent(&scenario.agents)),
                );
            }
            if self.bind(nodes) {
                self.why.add(reason, || flow.name.clone());
            }
        }
    }

    /// Returns the reason why the ends of a flow stay in one part, with its mobiles and their agents.
    fn bond_of(
        &self,
        flow: &Flow,
        movers: [Option<usize>; 2],
        least_mtu: u32,
    ) -> Option<&'static str> {
        let is_finite = match flow.traffic {
            Traffic::Bulk { bytes } | Traffic::Constant { bytes, .. } => bytes.is_some(),
            Traffic::OnOff { .. } => false,
            Traffic::Pages { count, .. } | Traffic::Ping { count, .. } => count.is_some(),
        };
        let is_stopped = flow.stop.is_some();
        if !flow.remedies.is_empty() {
            return Some("flows with remedies");
        }
        if movers != [None; 2] {
            if self.scenario.record.handovers > 0 {
                return Some(
                    "flows of mobiles whose handovers the results list (`record.handovers = 0` lists none)",
                );
            }
            if is_finite || (flow.class.is_some() && movers[1].is_none()) {
                return Some("flows of mobiles that end, or with a class and from a mobile");
            }
        }
        match (&flow.transport, flow.traffic) {
            (
                Transport::Tcp { .. },
                Traffic::Bulk { .. } | Traffic::Constant { .. } | Traffic::OnOff { .. },
            ) => is_stopped.then_some("streams that are stopped"),
            (Transport::Tcp { .. }, _) => None,
            (_, Traffic::Constant { packet_size, .. })
                if packet_size + MOST_HEADERS > least_mtu =>
            {
                Some("flows of datagrams that may have to be shortened")
            }
            (_, Traffic::OnOff { .. }) => Some("flows of datagrams with pauses or an end"),
            _ => (is_finite || is_stopped).then_some("flows of datagrams with pauses or an end"),
        }
    }
}

/// Returns the reason why a link cannot be cut, whatever its delay.
fn shares(config: &LinkConfig) -> Option<&'static str> {
    let directions = [&config.down, &config.up];
    let any = |is_so: fn(&DirectionConfig) -> bool| directions.iter().any(|one| is_so(one));
    if config.medium != Medium::FullDuplex {
        return Some("links with one medium for both directions");
    }
    if any(|one| one.trace.is_some()) {
        return Some("recorded links");
    }
    if any(|one| one.access != Access::Always) {
        return Some("links with slots");
    }
    let follows = any(|one| one.retransmission.is_some() || one.flow_control.is_some());
    if follows || config.adapts_code() || !config.regulators.is_empty() {
        return Some("links with shapers, or whose ends exchange more than packets");
    }
    any(|one| one.channel.shadowing.is_some()).then_some("links with shadows over both directions")
}

/// Returns the reasons why a world cannot be cut at all.
pub(super) fn obstacles(scenario: &Scenario) -> Vec<String> {
    let mut all = Vec::new();
    let decides = |policy: &AttachmentPolicy| matches!(policy, AttachmentPolicy::Decision(_));
    for mobile in scenario
        .mobiles
        .iter()
        .filter(|mobile| decides(&mobile.attachment))
    {
        all.push(format!(
            "a class decides for mobile {}",
            scenario.nodes[mobile.node.0]
        ));
    }
    for flow in &scenario.flows {
        if let Transport::Other(transport) = &flow.transport {
            all.push(format!(
                "flow {} asks for the rates of its whole way ({})",
                flow.name,
                transport.name()
            ));
        }
        let external = |algorithm: &Algorithm| matches!(algorithm, Algorithm::External(_));
        let is_class = matches!(&flow.transport, Transport::Tcp { sender, receiver }
            if external(&sender.congestion) || external(&receiver.congestion));
        let schemes = &flow.remedies;
        if is_class
            || schemes
                .iter()
                .any(|scheme| matches!(scheme, Scheme::External(_)))
        {
            all.push(format!("a class of Python controls flow {}", flow.name));
        }
    }
    if scenario.has_custody() {
        all.push("gateways hold the data of flows".to_owned());
    }
    if !scenario.losses.is_empty() {
        all.push("`losses` counts messages everywhere".to_owned());
    }
    all
}
