//! Gateways that carry TCP in bundles.

use super::World;
use crate::rng::Seed;
use baton_proto::dtn::Configuration;
use baton_proto::gateways::dtn::BundleGateway;

/// DTN time at the beginning of a run: the beginning of the year 2026. Chosen: creation times then have their present
/// length, nine bytes.
const EPOCH_MS: u64 = 9_497 * 86_400_000;

impl World {
    /// Makes the nodes that the scenario names gateways.
    pub(super) fn add_dtn_gateways(&mut self) {
        let seed = Seed(self.scenario.seed);
        self.net.real.meet_gateways |= !self.scenario.dtn_gateways.is_empty();
        for gateways in &self.scenario.dtn_gateways {
            let [one, other] = gateways.nodes.map(|node| node.0);
            for [own, peer] in [[one, other], [other, one]] {
                let addresses = [own, peer].map(|node| self.net.nodes[node].host.address());
                let configuration = Configuration {
                    // Node 0 of the scheme ipn is the null endpoint.
                    node: own as u64 + 1,
                    peer: peer as u64 + 1,
                    epoch_ms: EPOCH_MS,
                    lifetime: gateways.lifetime,
                    storage: gateways.storage,
                };
                let names = [own, peer].map(|node| &self.scenario.nodes[node]);
                let secret = seed.secret(&format!("node {} dtn gateway to {}", names[0], names[1]));
                let profile = gateways.profile.clone();
                let gateway = BundleGateway::new(addresses, configuration, profile, secret);
                let host = &mut self.net.nodes[own].host;
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
