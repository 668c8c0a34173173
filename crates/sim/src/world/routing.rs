//! Routes over the links that are in use: fewest hops, and among equals the link that stands first in the
//! scenario.

use super::ports::BehindLink;
use super::{Node, Wire};
use baton_proto::host::Places;
use baton_proto::interface::InterfaceId;
use core::net::IpAddr;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Gives every host its routes. A host with one link in use needs only a default route; the others get a
/// route to every host. What leaves a mobile with a protocol is left to its agent. An address that lies behind one
/// interface is reached through that only, whether its link is in use or not.
pub fn install(nodes: &mut [Node], wires: &[Wire], behind_links: &[BehindLink]) {
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
    let (places, groups) = places(nodes, behind_links);
    let places = Arc::new(places);
    for node in nodes.iter_mut() {
        node.host.routes_mut().share(&places);
    }
    for destination in 0..nodes.len() {
        ways.set_towards(destination, destination as u32, nodes);
    }
    for (destinations, place) in groups {
        for destination in destinations {
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
}

/// The place of each address: the number of its node. What lies behind a link is where that leads to; of an address that is at
/// several nodes, each of which may be out of reach, the last that can be reached counts, and it has a place of its own with
/// these.
fn places(nodes: &[Node], behind_links: &[BehindLink]) -> (Places, BTreeMap<Vec<usize>, u32>) {
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
        places.set(address, place);
    }
    (places, groups)
}

/// Whether an agent decides about what leaves the node. One of Mobile IPv4 takes it before a route is asked for.
fn is_mobile(node: &Node) -> bool {
    node.host.default_tunnel().is_some()
}

/// A neighbour of a node over a link in use.
#[derive(Clone, Copy)]
struct Neighbour {
    /// The node's interface towards it.
    there: InterfaceId,
    node: usize,
    /// The neighbour's towards the node.
    back: InterfaceId,
}

/// The neighbours of a node over links in use. Links stand in the same order at both ends, so that of several between two
/// nodes both find the same one first.
fn neighbours(node: &Node, wires: &[Wire]) -> Vec<Neighbour> {
    let joins = |(number, &(link, end)): (usize, &(usize, crate::link::End))| {
        let wire = &wires[link];
        let (far, back) = wire.ends[1 - end.index()];
        wire.in_use.then_some(Neighbour {
            there: InterfaceId(number),
            node: far,
            back,
        })
    };
    node.interfaces
        .iter()
        .enumerate()
        .filter_map(joins)
        .collect()
}

/// A node and its interface towards a destination.
type Hop = (usize, InterfaceId);

/// The ways through the links in use. Thousands of hosts hang on few routers: what leads to a router is searched for once, and
/// leads to each host that hangs on it.
struct Ways {
    /// The neighbours of each node.
    in_use: Vec<Vec<Neighbour>>,
    forwards: Vec<bool>,
    /// Whether a node has a choice, so that it needs routes.
    chooses: Vec<bool>,
    /// By which search each node was seen last.
    seen: Vec<u32>,
    searches: u32,
    /// The hops of nodes that choose, by where they lead.
    known: BTreeMap<usize, Box<[Hop]>>,
}

impl Ways {
    fn new(nodes: &[Node], wires: &[Wire]) -> Ways {
        let in_use: Vec<Vec<Neighbour>> =
            nodes.iter().map(|node| neighbours(node, wires)).collect();
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

    /// Gives every node that has a choice a route to a place, which is at a node.
    fn set_towards(&mut self, destination: usize, place: u32, nodes: &mut [Node]) {
        let mut set =
            |(node, interface): Hop| nodes[node].host.routes_mut().set_way(place, interface);
        let [Neighbour { node, back, .. }] = self.in_use[destination][..] else {
            return self.known(destination).iter().copied().for_each(set);
        };
        // What leads to its only neighbour leads to it.
        if self.chooses[node] {
            set((node, back));
        }
        if self.forwards[node] {
            let others = self.known(node).iter().copied();
            others.filter(|hop| hop.0 != destination).for_each(set);
        }
    }

    /// The hops towards a node of those that choose.
    fn known(&mut self, destination: usize) -> &[Hop] {
        if !self.known.contains_key(&destination) {
            let mut hops = self.search(destination);
            hops.retain(|&(node, _)| self.chooses[node]);
            self.known.insert(destination, hops.into());
        }
        &self.known[&destination]
    }

    /// For every node that can reach `destination`, its interface towards it: a breadth-first search backwards.
    fn search(&mut self, destination: usize) -> Vec<Hop> {
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
                if self.seen[node] != self.searches {
                    self.seen[node] = self.searches;
                    reached.push(node);
                    hops.push((node, back));
                }
            }
        }
        hops
    }
}
