//! What the remedies of flows hear of a handover, and when.
//!
//! At a mobile: what the link in use says of itself, that a binding update has left, and that the handover is complete, with
//! the new link's parameters. A correspondent hears by what reaches it.

use super::World;
use super::aerotp_paths::FlowPath;
use super::flow::Role;
use super::handover::MobileRun;
use super::media::{packet_rate, parameters};
use crate::link::End;
use crate::scenario::model::{Mobility, Transport};
use baton_proto::crosslayer::{CrossLayerSignal, PathParameters};
use baton_proto::host::SocketId;
use baton_proto::interface::LinkEvent;
use baton_proto::mobility::mobile_ipv6::MobileNode;
use baton_proto::rate::DataRate;
use baton_proto::remedies::{Scheme, Side, Tells};
use core::net::IpAddr;
use std::collections::BTreeSet;

impl World {
    /// Gives a connection at one end of a flow its part of each of the flow's remedies.
    pub(super) fn install_remedies(
        &mut self,
        node: usize,
        socket: SocketId,
        flow: usize,
        role: Role,
    ) {
        let run = &self.flows[flow];
        if run.spec.remedies.is_empty() {
            return;
        }
        let sends = role == Role::Source;
        let mobile = self.mobile_at(node);
        let side = match mobile {
            Some(_) => Side::Mobile,
            None => Side::Correspondent,
        };
        let schemes = run.spec.remedies.iter();
        let parts: Vec<_> = schemes
            .filter_map(|scheme| scheme.part(side, sends))
            .collect();
        for part in parts {
            self.nodes[node].host.add_remedy(socket, part);
        }
        if let Some(number) = mobile
            && let Some(link) = self.mobiles[number].attached
        {
            let begun = CrossLayerSignal::Begun(self.path_parameters(number, link));
            self.nodes[node].host.signal_to(self.now, socket, &begun);
        }
    }

    /// What a mobile's own layers are to hear of a signal of one of its links.
    pub(super) fn tell_of_link(&mut self, number: usize, link: usize, signal: LinkEvent) {
        let mobile = &self.mobiles[number];
        if mobile.attached != Some(link) {
            return;
        }
        let under_way = mobile
            .handovers
            .last()
            .is_some_and(|last| last.completed.is_none());
        let told = match signal {
            LinkEvent::GoingDown => CrossLayerSignal::GoingDown,
            LinkEvent::Rollback => CrossLayerSignal::Rollback,
            LinkEvent::Down => CrossLayerSignal::Disconnected,
            // The end of a handover says so itself.
            LinkEvent::Up if !under_way => {
                CrossLayerSignal::Connected(self.path_parameters(number, link))
            }
            _ => return,
        };
        self.tell(number, &told);
        let (gateway, _) = self.wires.far_from(link, self.mobiles[number].node.0);
        self.tell_gateway(number, gateway, &told);
    }

    /// Tells a mobile's connections that a handover is complete; those to correspondents that still send to where the mobile
    /// was hear when their update leaves.
    pub(super) fn tell_connected(&mut self, number: usize, link: usize) {
        let connected = CrossLayerSignal::Connected(self.path_parameters(number, link));
        let (now, node) = (self.now, self.mobiles[number].node.0);
        let elsewhere = self.correspondents_of_old_places(node);
        let concerned = |peer| !elsewhere.contains(&peer);
        self.nodes[node]
            .host
            .signal_towards(now, &connected, concerned);
        self.pump(node);
        // Where a protocol is spoken, a gateway hears by its messages. Where none is, one that was left may go on serving.
        if self.mobiles[number].protocol.is_none() {
            for gateway in self.gateway_nodes(number) {
                self.tell_gateway(number, gateway, &connected);
            }
        }
        self.send_contexts_after(number);
    }

    /// A mobile's binding update to a correspondent leaves: what is sent from now on arrives after it.
    pub(super) fn tell_of_update(&mut self, number: usize, correspondent: IpAddr) {
        let mobile = &self.mobiles[number];
        let (node, attached) = (mobile.node.0, mobile.attached);
        let moved = self.correspondents_of_old_places(node);
        let Some(link) = attached.filter(|_| moved.contains(&correspondent)) else {
            return;
        };
        let connected = CrossLayerSignal::Connected(self.path_parameters(number, link));
        for signal in [CrossLayerSignal::UpdateSent, connected] {
            let host = &mut self.nodes[node].host;
            host.signal_about(self.now, correspondent, &signal);
        }
    }

    /// The peers of a mobile's connections that send to where it is no longer.
    fn correspondents_of_old_places(&self, node: usize) -> BTreeSet<IpAddr> {
        let host = &self.nodes[node].host;
        let mobile = host.layer::<MobileNode>();
        let is_moved = |peer: &IpAddr| match peer {
            IpAddr::V6(peer) => mobile.is_some_and(|it| it.is_sought_elsewhere(self.now, *peer)),
            IpAddr::V4(_) => false,
        };
        host.peers().filter(is_moved).collect()
    }

    /// Tells the connections of a mobile.
    pub(super) fn tell(&mut self, number: usize, signal: &CrossLayerSignal) {
        let node = self.mobiles[number].node.0;
        self.nodes[node].host.signal(self.now, signal);
        self.pump(node);
    }

    /// Lets the binding updates of a mobile report the link that it goes to, if one of its flows hears by them: by a remedy, or an AeroTP
    /// sender, which goes by the rate.
    pub(super) fn report_path(&mut self, number: usize, link: usize) {
        let by_update = |scheme: &Scheme| scheme.tells() == Tells::BindingUpdate;
        let mut flows = self.mobiles[number].flows.iter();
        let wanted = flows.any(|&flow| {
            let run = &self.flows[flow];
            matches!(run.spec.transport, Transport::Aerotp(_))
                || run.spec.remedies.iter().any(by_update)
        });
        let speaks = self.scenario.mobiles[number].mobility.as_ref();
        if !wanted || !matches!(speaks, Some(Mobility::Ipv6(_))) {
            return;
        }
        let path = self.path_parameters(number, link);
        let node = self.mobiles[number].node.0;
        let interface = self.interface(node, link);
        if let Some(mobile) = self.nodes[node].host.layer_mut::<MobileNode>() {
            mobile.set_path(interface, path);
        }
    }

    /// The rate of the slowest link on a flow's way, or on one of several paths, as it is now, in IP packets. Beyond a home
    /// agent that is the mobile's access link. Where no way is known, that of the slowest link of all.
    pub(super) fn slowest_on_way(&self, flow: usize, path: Option<&FlowPath>) -> DataRate {
        let run = &self.flows[flow];
        let [source, to] = path.map_or(run.addresses, |path| path.addresses);
        let (mut node, end) = (run.spec.from.0, run.spec.to.0);
        let mut slowest = None;
        // No way is longer than there are nodes.
        for _ in 0..self.nodes.len() {
            let host = &self.nodes[node].host;
            let own = host.interface_of(source);
            let link = match own.or_else(|| host.routes().lookup(to)) {
                Some(interface) if interface.is_virtual() => self.agents_link(node, flow),
                Some(interface) => self.exit(node, interface, to).map(|(link, _)| link),
                None => None,
            };
            let Some(link) = link.filter(|_| node != end) else {
                break;
            };
            let ends = self.wires.ends(link);
            // What enters a tunnel comes out at the far end of the mobile's link.
            let from = match ends.map(|(at, _)| at) {
                [a, _] if a == node => End::A,
                [_, b] if b == node => End::B,
                [a, _] if a == end => End::B,
                _ => End::A,
            };
            let rate = packet_rate(self.wires.config(link), from);
            slowest = Some(slowest.map_or(rate, |slowest: DataRate| slowest.min(rate)));
            node = ends[from.other().index()].0;
        }
        let all = self.wires.iter();
        let all = all.flat_map(|wire| {
            let config = wire.link.config();
            [End::A, End::B].map(|from| packet_rate(config, from))
        });
        slowest.or(all.min()).unwrap_or(DataRate::ZERO)
    }

    /// The access link to which an agent at a node brings a flow's packets.
    fn agents_link(&self, node: usize, flow: usize) -> Option<usize> {
        let mobiles = self.flows[flow].mobiles.into_iter().flatten();
        let mut mobiles = mobiles.map(|number| &self.mobiles[number]);
        let own =
            |mobile: &&MobileRun| (mobile.node.0 == node) == (self.flows[flow].spec.from.0 == node);
        mobiles.find(own)?.attached
    }

    /// What a mobile's link is like, as its own layers know it.
    pub(super) fn path_parameters(&self, number: usize, link: usize) -> PathParameters {
        let config = self.wires.config(link);
        let at_mobile = match self.wires.ends(link)[0].0 == self.mobiles[number].node.0 {
            true => End::A,
            false => End::B,
        };
        PathParameters::at_mobile(parameters(config, at_mobile))
    }
}
