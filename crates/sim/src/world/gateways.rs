//! Agents on the path at gateways: the nodes at the network's end of a mobile's access links.

use super::build::node_secret;
use super::flow::FlowRun;
use super::{Net, World};
use crate::scenario::model::Transport;
use baton_proto::gateways::path::{PathAgents, Served, Service, Split};
use baton_proto::interface::InterfaceId;
use baton_proto::remedies::{GatewayPart, Kind, Scheme};
use std::collections::BTreeSet;

impl World {
    /// Gives gateways the agents that the flows of their mobiles name.
    pub(super) fn add_path_agents(&mut self) {
        for flow in 0..self.load.flows.len() {
            let run = &self.load.flows[flow];
            let part = run.spec.remedies.iter().find_map(|kind| kind.at_gateway());
            let (Some(part), Some(number)) = (part, run.mobiles[0]) else {
                continue;
            };
            let sends = self.net.mobiles[number].node == run.spec.from;
            for (node, interface) in self.net.gateways(number) {
                let Some((served, service)) = service(&self.load.flows[flow], sends, part) else {
                    continue;
                };
                if let Some(code_point) = self.load.flows[flow].spec.code_point {
                    let host = &mut self.net.nodes[node].host;
                    host.set_code_point(self.load.flows[flow].id, code_point);
                }
                let secret = node_secret(&self.scenario, node);
                let layers = self.net.nodes[node].host.layers_mut();
                let agents = layers.get_or_add(|| PathAgents::new(secret));
                agents.add_access(served.mobile, interface);
                agents.serve(served, service);
                self.net.real.meet_gateways = true;
            }
            let remedies = self.load.flows[flow].spec.remedies.iter();
            let mut kinds = remedies.filter_map(Scheme::published);
            if kinds.any(Kind::transfers_context) {
                self.net.introduce_gateways(number);
            }
        }
    }
}

/// Returns the connections of a flow that a gateway serves, and the service; none for a flow without TCP.
fn service(run: &FlowRun, sends: bool, part: GatewayPart) -> Option<(Served, Service)> {
    let [mobile, correspondent] = match sends {
        true => run.addresses,
        false => [run.addresses[1], run.addresses[0]],
    };
    let served = Served {
        mobile,
        correspondent,
        port: run.port,
    };
    let Transport::Tcp { sender, receiver } = &run.spec.transport else {
        return None;
    };
    let of_mobile = if sends { sender } else { receiver };
    let service = match part {
        GatewayPart::Watch => Service::Watch,
        GatewayPart::Split => {
            let towards_mobile = run.spec.gateway.as_ref().unwrap_or(of_mobile);
            let split = Split::new(
                towards_mobile.clone(),
                of_mobile.clone(),
                run.spec
                    .remedies
                    .iter()
                    .filter_map(Scheme::published)
                    .collect(),
            );
            Service::Split(Box::new(split))
        }
    };
    Some((served, service))
}

impl Net {
    /// Tells the gateways of a mobile of each other.
    fn introduce_gateways(&mut self, number: usize) {
        let gateways: BTreeSet<usize> =
            self.gateways(number).into_iter().map(|end| end.0).collect();
        for &node in &gateways {
            let own = self.nodes[node].host.address();
            for &peer in gateways.iter().filter(|&&peer| peer != node) {
                let peer = self.nodes[peer].host.address();
                if let Some(agents) = self.nodes[node].host.layer_mut::<PathAgents>() {
                    agents.add_peer(own, peer);
                }
            }
        }
    }

    /// Returns the network's ends of a mobile's access links, including all cells of a radio network: node and interface.
    fn gateways(&self, number: usize) -> Vec<(usize, InterfaceId)> {
        let node = self.mobiles[number].node;
        let own = self.links_of(node).into_iter();
        let own = own.filter(|&link| self.wires[link].mobile == Some(number));
        let own = own.flat_map(|link| self.wires.to_all_cells(link));
        own.map(|link| self.wires.far_from(link, node.0)).collect()
    }
}
