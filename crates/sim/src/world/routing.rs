//! Routes over the links that are in use: fewest hops, and among equals the link that stands first in the
//! scenario.

use super::ports::BehindLink;
use super::{Node, Wire};
use baton_proto::host::InterfaceId;
use core::net::IpAddr;

/// Gives every host its routes. A host with one link in use needs only a default route; the others get a
/// route to every host. What leaves a mobile with a protocol is left to its agent. An address that lies behind one
/// interface is reached through that only, whether its link is in use or not.
pub fn install(nodes: &mut [Node], wires: &[Wire], behind_links: &[BehindLink]) {
    let in_use: Vec<Vec<(usize, InterfaceId)>> =
        nodes.iter().map(|node| neighbours(node, wires)).collect();
    for (node, links) in nodes.iter_mut().zip(&in_use) {
        let is_mobile = is_mobile(node);
        let routes = node.host.routes_mut();
        routes.clear();
        if is_mobile {
            routes.set_default(Some(InterfaceId::AGENT));
        } else if let [(_, interface)] = links[..] {
            routes.set_default(Some(interface));
        }
    }
    for destination in 0..nodes.len() {
        let addresses: Vec<IpAddr> = nodes[destination].host.addresses().collect();
        set_towards(destination, &addresses, nodes, &in_use);
    }
    // The network behind a mobile router knows no other way out.
    for mobile in (0..nodes.len())
        .filter(|&node| is_mobile(&nodes[node]))
        .collect::<Vec<_>>()
    {
        for (node, interface) in towards(mobile, nodes, &in_use) {
            nodes[node].host.routes_mut().set_default(Some(interface));
        }
    }
    for behind in behind_links {
        let (far, interface) = behind.far;
        set_towards(far, &[behind.address], nodes, &in_use);
        let routes = nodes[far].host.routes_mut();
        routes.set(behind.address, interface);
    }
}

/// Gives every node with several links in use a route towards a node for these addresses.
fn set_towards(
    destination: usize,
    addresses: &[IpAddr],
    nodes: &mut [Node],
    in_use: &[Vec<(usize, InterfaceId)>],
) {
    for (node, interface) in towards(destination, nodes, in_use) {
        if in_use[node].len() > 1 || is_mobile(&nodes[node]) {
            for &address in addresses {
                nodes[node].host.routes_mut().set(address, interface);
            }
        }
    }
}

/// Whether an agent decides about what leaves the node. One of Mobile IPv4 takes it before a route is asked for.
fn is_mobile(node: &Node) -> bool {
    let agents = node.host.agents();
    agents.is_some_and(|agents| agents.mobile.is_some())
}

/// The neighbours of a node over links in use, with the interface towards each.
fn neighbours(node: &Node, wires: &[Wire]) -> Vec<(usize, InterfaceId)> {
    let joins = |(number, &(link, end)): (usize, &(usize, crate::link::End))| {
        let wire = &wires[link];
        let (far, _) = wire.ends[1 - end.index()];
        wire.in_use.then_some((far, InterfaceId(number)))
    };
    node.interfaces
        .iter()
        .enumerate()
        .filter_map(joins)
        .collect()
}

/// For every node that can reach `destination`, its interface towards it: a breadth-first search backwards.
fn towards(
    destination: usize,
    nodes: &[Node],
    in_use: &[Vec<(usize, InterfaceId)>],
) -> Vec<(usize, InterfaceId)> {
    let mut seen = vec![false; in_use.len()];
    seen[destination] = true;
    let mut reached = vec![destination];
    let mut hops = Vec::new();
    let mut next = 0;
    while let Some(&node) = reached.get(next) {
        next += 1;
        if node != destination && !nodes[node].forwards {
            continue;
        }
        for &(neighbour, _) in &in_use[node] {
            if !seen[neighbour] {
                seen[neighbour] = true;
                reached.push(neighbour);
                let back = in_use[neighbour].iter().find(|(far, _)| *far == node);
                hops.extend(back.map(|&(_, interface)| (neighbour, interface)));
            }
        }
    }
    hops
}
