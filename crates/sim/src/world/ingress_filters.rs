//! Ingress filters of routers.

use super::World;
use baton_proto::gateways::ingress_filter::IngressFilter;

impl World {
    /// Gives filters to the routers at the ends of links that ask for them: to all nodes but mobiles on their access
    /// links.
    pub(super) fn add_ingress_filters(&mut self) {
        for (link, spec) in self.scenario.links.iter().enumerate() {
            if !spec.ingress_filter {
                continue;
            }
            let mobile = self.net.wires[link].mobile();
            let mobile = mobile.map(|number| self.net.mobiles[number].node.0);
            for (node, interface) in self.net.wires.ends(link) {
                if mobile != Some(node) {
                    let layers = self.net.nodes[node].host.layers_mut();
                    layers.get_or_add(IngressFilter::default).add(interface);
                }
            }
        }
    }
}
