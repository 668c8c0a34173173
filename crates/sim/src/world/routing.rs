//! Routes over the links in use: fewest hops, and among equals the link that comes first in the
//! scenario; those of aircraft come after all others.

use super::Node;
use super::handover::MobileRun;
use super::ports::BehindLink;
use super::radio::BehindCell;
use super::wires::{LeadsTo, NodeInterface, Wires};
use baton_proto::host::Places;
use baton_proto::interface::InterfaceId;
use core::net::IpAddr;
use std::collections::BTreeMap;
use std::sync::Arc;

/// An address that only the nodes of a domain route.
#[derive(Clone, Debug)]
pub(crate) struct InDomain {
    /// The address.
    pub address: IpAddr,
    /// The node that has it.
    pub node: usize,
    /// The nodes of the domain, this one included.
    pub domain: Vec<usize>,
}

/// Gives every host its routes. A host with one link in use needs only a default route; the others get a
/// route to every host. The agent of a mobile with a protocol decides about its packets. An address behind one
/// interface is reached through that interface only, whether its link is in use or not. Returns the nodes whose routes follow
/// mobiles: those that have a choice of interfaces, or may have one. Returns none if an address is at several nodes, because routes
/// to it depend on which of these can be reached.
pub fn install(
    nodes: &mut [Node],
    (wires, mobiles): (&Wires, &[MobileRun]),
    ((behind_links, behind_cells), in_domains): ((&[BehindLink], &[BehindCell]), &[InDomain]),
) -> Option<Vec<usize>> {
    let mut ways = Ways::new(nodes, wires);
    for (node, links) in nodes.iter_mut().zip(&ways.in_use) {
        let tunnel = node.host.default_tunnel();
        let routes = node.host.routes_mut();
        routes.clear();
        if tunnel.is_some() {
            routes.set_default(tunnel);
        } else if let [neighbour] = links[..] {
            routes.set_default(Some(neighbour.there));
        }
    }
    let (mut places, groups) = places(nodes, behind_links, in_domains);
    for behind in behind_cells {
        places.set_network(behind.ends, behind.far.0 as u32);
    }
    places.shrink();
    let places = Arc::new(places);
    for node in nodes.iter_mut() {
        node.host.routes_mut().share(&places);
    }
    for destination in 0..nodes.len() {
        ways.set_towards(destination, destination as u32, nodes);
    }
    for (destinations, &place) in &groups {
        for &destination in destinations {
            ways.set_towards(destination, place, nodes);
        }
    }
    // The network behind a mobile router knows no other way out.
    for mobile in (0..nodes.len())
        .filter(|&node| is_mobile(&nodes[node]))
        .collect::<Vec<_>>()
    {
        for (node, interface) in ways.search(mobile) {
            nodes[node].host.routes_mut().set_default(Some(interface));
        }
    }
    for behind in behind_links {
        let (far, interface) = behind.far;
        let routes = nodes[far].host.routes_mut();
        routes.set(behind.address, interface);
    }
    for behind in behind_cells {
        let (far, interface) = behind.far;
        let routes = nodes[far].host.routes_mut();
        routes.set_network(behind.ends, interface);
    }
    for InDomain {
        address,
        node,
        domain,
    } in in_domains
    {
        for (router, interface) in ways.search_among(*node, |node| domain.contains(&node)) {
            nodes[router].host.routes_mut().set(*address, interface);
        }
    }
    for node in nodes.iter_mut() {
        node.host.routes_mut().shrink();
    }
    let serves = serving(nodes, (wires, mobiles));
    let routers = (0..nodes.len())
        .filter(|&node| ways.chooses[node] || serves[node])
        .filter(|&node| !is_mobile(&nodes[node]));
    groups.is_empty().then(|| routers.collect())
}

/// Lets routes follow a mobile with one link in use to the node at the far end: they become the same as those to that
/// node. The result is that of [`install`], in time independent of the number of mobiles. Returns true if every node
/// has a route.
pub fn follow(nodes: &mut [Node], routers: &[usize], [far, mobile]: [NodeInterface; 2]) -> bool {
    if !nodes[far.0].forwards {
        return false;
    }
    let place = mobile.0 as u32;
    let towards = nodes[far.0].host.address();
    for &router in routers.iter().filter(|&&router| router != mobile.0) {
        let routes = nodes[router].host.routes_mut();
        let way = match router == far.0 {
            true => Some(far.1),
            false => routes.lookup(towards),
        };
        let Some(way) = way else { return false };
        routes.set_way(place, way);
    }
    let routes = nodes[mobile.0].host.routes_mut();
    routes.set_default(Some(mobile.1));
    true
}

/// Returns for each node true if mobiles may attach to it: a base station, or the far end of an access link.
fn serving(nodes: &[Node], (wires, mobiles): (&Wires, &[MobileRun])) -> Vec<bool> {
    let has_cell = |node: &Node| {
        let mut interfaces = node.interfaces.iter();
        interfaces.any(|leads_to| matches!(leads_to, LeadsTo::Cell(_)))
    };
    let mut serves: Vec<bool> = nodes.iter().map(has_cell).collect();
    for wire in wires.all_plain() {
        let mobile = wire.mobile().map(|number| mobiles[number].node.0);
        let far = wire.present_ends().map(|end| end.0);
        for node in far
            .into_iter()
            .filter(|&node| mobile.is_some_and(|mobile| mobile != node))
        {
            serves[node] = true;
        }
    }
    serves
}

/// Returns the place of each address: the number of its node. For an address behind a link it is the link's far end.
/// For an address at several nodes, each of which may be out of reach, the last reachable one counts, and these nodes
/// have a place of their own together.
/// An address of a domain has none.
fn places(
    nodes: &[Node],
    behind_links: &[BehindLink],
    in_domains: &[InDomain],
) -> (Places, BTreeMap<Vec<usize>, u32>) {
    let mut at: BTreeMap<IpAddr, Vec<usize>> = BTreeMap::new();
    let own = nodes.iter().enumerate();
    let own = own.flat_map(|(node, state)| state.host.addresses().map(move |own| (own, node)));
    let behind = behind_links
        .iter()
        .map(|behind| (behind.address, behind.far.0));
    for (address, node) in own.chain(behind) {
        let at = at.entry(address).or_default();
        at.retain(|known| *known != node);
        at.push(node);
    }
    let (mut places, mut groups) = (Places::default(), BTreeMap::new());
    for (address, at) in at {
        let place = match at[..] {
            [node] => node as u32,
            _ => {
                let next = (nodes.len() + groups.len()) as u32;
                *groups.entry(at).or_insert(next)
            }
        };
        if !in_domains.iter().any(|known| known.address == address) {
            places.set(address, place);
        }
    }
    (places, groups)
}

/// Returns true if an agent decides about packets leaving the node. An agent of Mobile IPv4 takes them before a route is looked up.
fn is_mobile(node: &Node) -> bool {
    node.host.default_tunnel().is_some()
}

/// A neighbour of a node over a link in use.
#[derive(Clone, Copy)]
struct Neighbour {
    /// The node's interface towards its neighbour.
    there: InterfaceId,
    node: usize,
    /// The neighbour's interface towards the node.
    back: InterfaceId,
}

/// Returns the neighbours of each node over links in use. Links are in the same order at both ends, so that both nodes
/// find the same one of several links first.
fn neighbours(nodes: usize, wires: &Wires) -> Vec<Vec<Neighbour>> {
    let mut all = vec![Vec::new(); nodes];
    for wire in wires.iter().filter(|wire| wire.in_use) {
        let [a, b] = wire.present_ends();
        for ((node, there), (far, back)) in [(a, b), (b, a)] {
            all[node].push(Neighbour {
                there,
                node: far,
                back,
            });
        }
    }
    all
}

/// A node and its interface towards a destination.
type Hop = (usize, InterfaceId);

/// Paths through the links in use. Thousands of hosts are attached to few routers: paths to a router are searched for
/// once, and lead to each host attached to it.
struct Ways {
    /// The neighbours of each node.
    in_use: Vec<Vec<Neighbour>>,
    forwards: Vec<bool>,
    /// True for nodes with a choice of interfaces, which need routes.
    chooses: Vec<bool>,
    /// The last search that reached each node.
    seen: Vec<u32>,
    searches: u32,
    /// The hops of nodes with a choice, by destination.
    known: BTreeMap<usize, Box<[Hop]>>,
}

impl Ways {
    fn new(nodes: &[Node], wires: &Wires) -> Ways {
        let in_use = neighbours(nodes.len(), wires);
        let chooses = |(node, links): (&Node, &Vec<Neighbour>)| links.len() > 1 || is_mobile(node);
        Ways {
            forwards: nodes.iter().map(|node| node.forwards).collect(),
            chooses: nodes.iter().zip(&in_use).map(chooses).collect(),
            seen: vec![0; nodes.len()],
            searches: 0,
            known: BTreeMap::new(),
            in_use,
        }
    }

    /// Gives every node that has a choice a route to a place at a node.
    fn set_towards(&mut self, destination: usize, place: u32, nodes: &mut [Node]) {
        let mut set =
            |(node, interface): Hop| nodes[node].host.routes_mut().set_way(place, interface);
        let [Neighbour { node, back, .. }] = self.in_use[destination][..] else {
            return self.known(destination).iter().copied().for_each(set);
        };
        // Paths to its only neighbour lead to it.
        if self.chooses[node] {
            set((node, back));
        }
        if self.forwards[node] {
            let others = self.known(node).iter().copied();
            others.filter(|hop| hop.0 != destination).for_each(set);
        }
    }

    /// Returns the hops towards a node from nodes with a choice.
    fn known(&mut self, destination: usize) -> &[Hop] {
        if !self.known.contains_key(&destination) {
            let mut hops = self.search(destination);
            hops.retain(|&(node, _)| self.chooses[node]);
            self.known.insert(destination, hops.into());
        }
        &self.known[&destination]
    }

    /// Returns the interface towards `destination` of every node that can reach it.
    fn search(&mut self, destination: usize) -> Vec<Hop> {
        self.search_among(destination, |_| true)
    }

    /// Returns the interface towards `destination` of every node that can reach it over the nodes chosen: a breadth-first
    /// search backwards.
    fn search_among(&mut self, destination: usize, is_chosen: impl Fn(usize) -> bool) -> Vec<Hop> {
        self.searches += 1;
        self.seen[destination] = self.searches;
        let mut reached = vec![destination];
        let mut hops = Vec::new();
        let mut next = 0;
        while let Some(&node) = reached.get(next) {
            next += 1;
            if node != destination && !self.forwards[node] {
                continue;
            }
            for &Neighbour { node, back, .. } in &self.in_use[node] {
                if self.seen[node] != self.searches && is_chosen(node) {
                    self.seen[node] = self.searches;
                    reached.push(node);
                    hops.push((node, back));
                }
            }
        }
        hops
    }
}
