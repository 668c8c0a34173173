//! AeroTP gateways at the ends of links.

use super::World;
use crate::rng::Seed;
use crate::transport::aerotp::{AerotpGateways, GatewayRule};
use baton_proto::gateways::aerotp::{AerotpGateway, Rule};
use baton_proto::interface::InterfaceId;
use baton_proto::rate::DataRate;

impl World {
    /// Makes the ends of the links that the scenario names gateways.
    pub(super) fn add_aerotp_gateways(&mut self) {
        let seed = Seed(self.scenario.seed);
        self.net.real.meet_gateways |= !self.scenario.aerotp_gateways.is_empty();
        for gateways in &self.scenario.aerotp_gateways {
            for node in gateways.ends(&self.scenario.links) {
                let links = self.links_at(node.0, gateways);
                let rules = gateways.rules.iter().map(rule);
                let name = &self.scenario.nodes[node.0];
                let secret = seed.secret(&format!("node {name} aerotp gateway"));
                let gateway = AerotpGateway::new(&links, rules.collect(), secret);
                let host = &mut self.net.nodes[node.0].host;
                host.add_layer(gateway);
                for flow in &self.load.flows {
                    if let Some(code_point) = flow.spec.code_point {
                        host.set_code_point(flow.id, code_point);
                    }
                }
            }
        }
    }

    /// Returns a gateway's interfaces to the other one, and the rates of the links there.
    fn links_at(&self, node: usize, gateways: &AerotpGateways) -> Vec<(InterfaceId, DataRate)> {
        let ends = gateways.links.iter().flat_map(|link| {
            let wire = &self.net.wires[link.0];
            wire.present_ends()
        });
        let host = &self.net.nodes[node].host;
        let here = ends.filter(|&(at, _)| at == node);
        here.map(|(_, interface)| {
            let link = host.link_parameters(interface);
            (interface, link.map_or(DataRate::ZERO, |link| link.outgoing))
        })
        .collect()
    }
}

fn rule(given: &GatewayRule) -> Rule {
    Rule {
        selector: given.selector,
        configuration: given.configuration.clone(),
        profile: given.profile.clone(),
    }
}
