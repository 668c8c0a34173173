//! Remedies of flows at their connections, and the link parameters used by remedies and gateways.

use super::flow::Role;
use super::handover::MobileRun;
use super::media::{packet_rate, parameters};
use super::paths::FlowPath;
use super::{Net, World};
use crate::link::End;
use baton_proto::crosslayer::PathParameters;
use baton_proto::host::SocketId;
use baton_proto::rate::DataRate;
use baton_proto::remedies::Side;

impl World {
    /// Gives a connection at one end of a flow its part of each of the flow's remedies.
    pub(super) fn install_remedies(
        &mut self,
        node: usize,
        socket: SocketId,
        flow: usize,
        role: Role,
    ) {
        let run = &self.load.flows[flow];
        if run.spec.remedies.is_empty() {
            return;
        }
        let sends = role == Role::Source;
        let side = match self.net.mobile_at(node) {
            Some(_) => Side::Mobile,
            None => Side::Correspondent,
        };
        let schemes = run.spec.remedies.iter();
        let parts: Vec<_> = schemes
            .filter_map(|scheme| scheme.part(side, sends))
            .collect();
        let host = &mut self.net.nodes[node].host;
        host.add_remedies(self.now, socket, parts);
    }

    /// Returns the present rate of the slowest link on a flow's way, or on one of several paths, in IP packets. Beyond a home
    /// agent that is the mobile's access link. If no way is known, it is the rate of the slowest link of all.
    pub(super) fn slowest_on_way(&self, flow: usize, path: Option<&FlowPath>) -> DataRate {
        let run = &self.load.flows[flow];
        let [source, to] = path.map_or(run.addresses, |path| path.addresses);
        let (mut node, end) = (run.spec.from.0, run.spec.to.0);
        let mut slowest = None;
        // No path has more hops than there are nodes.
        for _ in 0..self.net.nodes.len() {
            let host = &self.net.nodes[node].host;
            let own = host.interface_of(source);
            let link = match own.or_else(|| host.routes().lookup(to)) {
                Some(interface) if interface.is_virtual() => self.agents_link(node, flow),
                Some(interface) => self.net.exit(node, interface, to).map(|(link, _)| link),
                None => None,
            };
            let Some(link) = link.filter(|_| node != end) else {
                break;
            };
            let ends = self.net.wires.ends(link);
            // A packet in a tunnel comes out at the far end of the mobile's link.
            let from = match ends.map(|(at, _)| at) {
                [a, _] if a == node => End::A,
                [_, b] if b == node => End::B,
                [a, _] if a == end => End::B,
                _ => End::A,
            };
            let rate = packet_rate(self.net.wires.config(link), from);
            slowest = Some(slowest.map_or(rate, |slowest: DataRate| slowest.min(rate)));
            node = ends[from.other().index()].0;
        }
        let all = self.net.wires.ends_with_configs();
        let all =
            all.flat_map(|(_, config)| [End::A, End::B].map(|from| packet_rate(config, from)));
        slowest.or(all.min()).unwrap_or(DataRate::ZERO)
    }

    /// Returns the access link to which an agent at a node brings a flow's packets.
    fn agents_link(&self, node: usize, flow: usize) -> Option<usize> {
        let mobiles = self.load.flows[flow].mobiles.into_iter().flatten();
        let mut mobiles = mobiles.map(|number| &self.net.mobiles[number]);
        let own = |mobile: &&MobileRun| {
            (mobile.node.0 == node) == (self.load.flows[flow].spec.from.0 == node)
        };
        mobiles.find(own)?.attached()
    }
}

impl Net {
    /// Returns the parameters of a mobile's link, as its own layers know them.
    pub(super) fn path_parameters(&self, number: usize, link: usize) -> PathParameters {
        let config = self.wires.config(link);
        let at_mobile = match self.wires.ends(link)[0].0 == self.mobiles[number].node.0 {
            true => End::A,
            false => End::B,
        };
        PathParameters::at_mobile(parameters(config, at_mobile))
    }
}
