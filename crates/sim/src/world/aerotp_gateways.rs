//! AeroTP gateways at the ends of links.

use super::World;
use crate::link::End;
use crate::rng::Seed;
use crate::transport::aerotp::GatewayRule;
use baton_proto::gateways::aerotp::{AerotpGateway, Rule};
use baton_proto::rate::DataRate;

impl World {
    /// Makes the ends of the links that the scenario names gateways.
    pub(super) fn add_aerotp_gateways(&mut self) {
        let seed = Seed(self.scenario.seed);
        self.net.real.meet_gateways |= !self.scenario.aerotp_gateways.is_empty();
        for gateways in &self.scenario.aerotp_gateways {
            let wire = &self.net.wires[gateways.link.0];
            for end in [End::A, End::B] {
                let (node, interface) = wire.present_ends()[end.index()];
                let link = self.net.nodes[node].host.link_parameters(interface);
                let rate = link.map_or(DataRate::ZERO, |link| link.outgoing);
                let rules = gateways.rules.iter().map(|given| rule(given, rate));
                let name = &self.scenario.nodes[node];
                let secret = seed.secret(&format!("node {name} aerotp gateway"));
                let gateway = AerotpGateway::new(interface, rules.collect(), secret);
                let host = &mut self.net.nodes[node].host;
                host.add_layer(gateway);
                for flow in &self.load.flows {
                    if let Some(code_point) = flow.spec.code_point {
                        host.set_code_point(flow.id, code_point);
                    }
                }
            }
        }
    }
}

fn rule(given: &GatewayRule, rate: DataRate) -> Rule {
    Rule {
        selector: given.selector,
        configuration: given.aerotp.at(rate),
        profile: given.profile.clone(),
    }
}
