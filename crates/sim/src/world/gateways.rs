//! Agents on the path at gateways: the nodes at the network's end of a mobile's access links.

use super::build::node_secret;
use super::{Net, World};
use crate::scenario::model::{Flow, NodeIndex, Transport};
use baton_proto::gateways::path::{PathAgents, Served, Service, Split};
use baton_proto::interface::InterfaceId;
use baton_proto::packet::FlowId;
use baton_proto::remedies::{GatewayPart, Kind, Scheme};
use baton_proto::tcp::profile::Profile;
use core::net::IpAddr;
use std::collections::BTreeSet;

/// TCP connections that gateways serve: those of a flow, or of the programs that speak in its place.
struct Connections {
    spec: Flow,
    /// Addresses of the flow's source and sink.
    ends: [IpAddr; 2],
    /// Port at which one of the two listens; any, of programs.
    port: Option<u16>,
    /// The flow, unless programs speak in its place.
    id: Option<FlowId>,
}

impl World {
    /// Gives gateways the agents that the flows of their mobiles name, also those in whose place programs speak.
    pub(super) fn add_path_agents(&mut self) {
        let flows = self.load.flows.iter();
        let flows = flows.filter(|run| part(&run.spec).is_some());
        let flows = flows.map(|run| Connections {
            spec: (*run.spec).clone(),
            ends: run.addresses,
            port: Some(run.port),
            id: Some(run.id),
        });
        let replaced = self.scenario.live.replaced.iter();
        let replaced = replaced.filter(|flow| part(flow).is_some());
        let of_programs = replaced.flat_map(|flow| self.of_programs(flow));
        let all: Vec<Connections> = flows.chain(of_programs).collect();
        for connections in all {
            self.serve(&connections);
        }
    }

    /// Returns the connections of programs in place of a flow between real hosts, one for each version of IP.
    fn of_programs(&self, flow: &Flow) -> Vec<Connections> {
        let own = |node: NodeIndex| {
            let directory = &self.net.directory;
            directory.live_addresses(&self.scenario, node.0)
        };
        let (from, to) = (own(flow.from), own(flow.to));
        let pairs = from.into_iter().filter_map(|from| {
            let mut to = to.iter();
            let to = to.find(|to| to.is_ipv4() == from.is_ipv4())?;
            Some([from, *to])
        });
        pairs
            .map(|ends| Connections {
                spec: flow.clone(),
                ends,
                port: None,
                id: None,
            })
            .collect()
    }

    /// Lets the gateways of a mobile serve connections.
    fn serve(&mut self, connections: &Connections) {
        let spec = &connections.spec;
        let mobiles = [spec.from, spec.to].map(|end| self.net.mobile_at(end.0));
        let Some(number) = mobiles.into_iter().flatten().min() else {
            return;
        };
        let sends = self.net.mobiles[number].node == spec.from;
        for (node, interface) in self.net.gateways(number) {
            let Some((served, service)) = connections.service(sends) else {
                continue;
            };
            if let (Some(id), Some(code_point)) = (connections.id, spec.code_point) {
                let host = &mut self.net.nodes[node].host;
                host.set_code_point(id, code_point);
            }
            let secret = node_secret(&self.scenario, node);
            let layers = self.net.nodes[node].host.layers_mut();
            let agents = layers.get_or_add(|| PathAgents::new(secret));
            agents.add_access(served.mobile, interface);
            agents.serve(served, service);
            self.net.real.meet_gateways = true;
        }
        if connections.remedies().any(Kind::transfers_context) {
            self.net.introduce_gateways(number);
        }
    }
}

impl Connections {
    fn remedies(&self) -> impl Iterator<Item = Kind> {
        self.spec.remedies.iter().filter_map(Scheme::published)
    }

    /// Returns the connections that a gateway serves, and the service; none without TCP. `sends` is true if the mobile
    /// is the source.
    fn service(&self, sends: bool) -> Option<(Served, Service)> {
        let [mobile, correspondent] = match sends {
            true => self.ends,
            false => [self.ends[1], self.ends[0]],
        };
        let served = Served {
            mobile,
            correspondent,
            port: self.port,
        };
        let Transport::Tcp { sender, receiver } = &self.spec.transport else {
            return None;
        };
        let of_mobile: &Profile = if sends { sender } else { receiver };
        let service = match part(&self.spec)? {
            GatewayPart::Watch => Service::Watch,
            GatewayPart::Split => {
                let towards_mobile = self.spec.gateway.as_ref().unwrap_or(of_mobile);
                let split = Split::new(
                    towards_mobile.clone(),
                    of_mobile.clone(),
                    self.remedies().collect(),
                );
                Service::Split(Box::new(split))
            }
        };
        Some((served, service))
    }
}

/// Returns the part at a gateway that a flow names.
fn part(flow: &Flow) -> Option<GatewayPart> {
    let mut remedies = flow.remedies.iter();
    remedies.find_map(Scheme::at_gateway)
}

impl Net {
    /// Informs the gateways of a mobile of each other.
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
        let own = own.filter(|&link| self.wires[link].mobile() == Some(number));
        let own = own.flat_map(|link| self.wires.to_all_cells(link));
        own.map(|link| self.wires.far_from(link, node.0)).collect()
    }
}
