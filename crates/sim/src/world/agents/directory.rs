//! Facts about scenarios with mobiles that every node and flow needs, computed once.

use crate::addresses::node_addresses;
use crate::mobility;
use crate::scenario::model::{LinksAtNodes, Mobile, NodeIndex, Scenario, nodes_behind};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Directory of a scenario's mobiles, of the nodes behind them, and of the addresses by which nodes are known.
#[derive(Clone, Debug)]
pub(crate) struct Directory {
    mobiles: Vec<Option<u32>>,
    /// Nodes of the network behind each mobile, for mobiles that are routers; empty if none is.
    behind: Vec<Box<[NodeIndex]>>,
    /// IPv6 address of each node, in scenarios whose mobiles have IPv6 addresses.
    ipv6: Vec<Ipv6Addr>,
}

impl Directory {
    /// Creates the directory of a scenario.
    pub fn new(scenario: &Scenario) -> Directory {
        let mut mobiles = vec![None; scenario.nodes.len()];
        for (number, mobile) in scenario.mobiles.iter().enumerate().rev() {
            mobiles[mobile.node.0] = Some(number as u32);
        }
        let mut directory = Directory {
            mobiles,
            behind: Vec::new(),
            ipv6: Vec::new(),
        };
        if scenario.has_protocols() {
            let at_nodes = LinksAtNodes::new(scenario.nodes.len(), &scenario.links);
            let behind = |mobile| nodes_behind_router(scenario, &at_nodes, mobile);
            if scenario.mobiles.iter().any(Mobile::is_router) {
                directory.behind = scenario.mobiles.iter().map(behind).collect();
            }
            directory.ipv6 = mobility::ipv6_addresses(scenario, &directory.behind);
        }
        directory
    }

    /// Returns the mobile at a node.
    pub fn mobile_at(&self, node: usize) -> Option<usize> {
        self.mobiles[node].map(|number| number as usize)
    }

    /// Returns the nodes of the network behind a mobile router; none behind another mobile.
    pub fn behind(&self, mobile: usize) -> &[NodeIndex] {
        self.behind.get(mobile).map_or(&[], |nodes| nodes)
    }

    /// Returns the IPv6 address by which flows know a node, in scenarios whose mobiles have IPv6 addresses.
    pub fn ipv6(&self, node: usize) -> Ipv6Addr {
        self.ipv6[node]
    }

    /// Returns the IPv4 address of a node: its home address, if it is a mobile with one.
    pub fn ipv4(&self, scenario: &Scenario, node: usize) -> Ipv4Addr {
        let home_address = || {
            let number = self.mobile_at(node)?;
            let mobility = scenario.mobiles[number].mobility.as_ref()?;
            mobility.ipv4_home_address(number, &scenario.agents)
        };
        home_address().unwrap_or_else(|| match node_addresses(node)[0] {
            IpAddr::V4(address) => address,
            IpAddr::V6(_) => Ipv4Addr::UNSPECIFIED,
        })
    }

    /// Returns the address of either version by which a node is known.
    pub fn address(&self, scenario: &Scenario, node: usize, v6: bool) -> IpAddr {
        match (v6, self.ipv6.get(node)) {
            (false, _) => self.ipv4(scenario, node).into(),
            (true, Some(&known)) => known.into(),
            (true, None) => node_addresses(node)[1],
        }
    }

    /// Returns the addresses by which real hosts know a node: of both versions of IP without mobility protocols, otherwise of the
    /// versions in which its mobile, or else any, is kept reachable.
    pub fn live_addresses(&self, scenario: &Scenario, node: usize) -> Vec<IpAddr> {
        let both = || [false, true].map(|v6| self.address(scenario, node, v6));
        if !scenario.has_protocols() {
            return both().to_vec();
        }
        let behind = |mobile: &usize| self.behind(*mobile).contains(&NodeIndex(node));
        let mobile = self.mobile_at(node);
        let mobile = mobile.or_else(|| (0..scenario.mobiles.len()).find(behind));
        let own = mobile.and_then(|number| scenario.mobiles[number].mobility.as_deref());
        let speaks_ipv4 = scenario.agents.speaks_ipv4();
        let ipv4 = own.map_or(speaks_ipv4, |own| !own.is_ipv6());
        let ipv6 = own.map_or(!self.ipv6.is_empty(), |own| own.is_ipv6());
        let known = both().into_iter().zip([ipv4, ipv6]);
        known
            .filter_map(|(address, is_known)| is_known.then_some(address))
            .collect()
    }

    /// Returns the addresses by which a flow's hosts know each other: IPv6 ones if mobiles have such and neither host is a mobile with an
    /// IPv4 home address.
    pub fn flow_addresses(&self, scenario: &Scenario, nodes: [usize; 2]) -> [IpAddr; 2] {
        let is_ipv4 = |&node: &usize| {
            let mobile = self.mobile_at(node).map(|number| &scenario.mobiles[number]);
            let mobility = mobile.and_then(|mobile| mobile.mobility.as_ref());
            mobility.is_some_and(|own| !own.is_ipv6())
        };
        match self.ipv6.is_empty() || nodes.iter().any(is_ipv4) {
            true => nodes.map(|node| self.ipv4(scenario, node).into()),
            false => nodes.map(|node| self.ipv6(node).into()),
        }
    }
}

fn nodes_behind_router(
    scenario: &Scenario,
    at_nodes: &LinksAtNodes,
    mobile: &Mobile,
) -> Box<[NodeIndex]> {
    if !mobile.is_router() {
        return Box::default();
    }
    let access = mobile.attachment.access_links(&scenario.radios);
    nodes_behind((&scenario.links, at_nodes), mobile.node, &access).into()
}
