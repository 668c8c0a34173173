//! Layers that report media's packet statuses to sources.

use super::World;
use super::flow::FlowRun;
use crate::scenario::model::Flow;
use baton_proto::host::{Backpressure, BadStateNotifier, Conversation};
use baton_proto::remedies::{Kind, Scheme};
use std::collections::BTreeSet;

impl World {
    /// Gives backpressure to the nodes of a scenario with transports that follow links, and explicit bad state notification to the ends of links
    /// with retransmission, for the flows with that remedy.
    pub(super) fn add_notifiers(&mut self) {
        let mut flows = self.scenario.flows.iter();
        let follows = |flow: &Flow| {
            let transport = flow.transport.other();
            transport.is_some_and(|transport| transport.follows_links())
        };
        if !self.scenario.aerotp_gateways.is_empty() || flows.any(follows) {
            for node in &mut self.net.nodes {
                node.host.add_layer(Backpressure::default());
            }
        }
        let listens = |run: &&FlowRun| {
            let remedies = &run.spec.remedies;
            remedies.contains(&Scheme::Published(Kind::Ebsn))
        };
        let told: Vec<Conversation> = self
            .load
            .flows
            .iter()
            .filter(listens)
            .map(conversation)
            .collect();
        if told.is_empty() {
            return;
        }
        for node in self.ends_of_repeating_links() {
            let layers = self.net.nodes[node].host.layers_mut();
            let notifier = layers.get_or_add(BadStateNotifier::default);
            told.iter().for_each(|&one| notifier.serve(one));
        }
    }

    /// Returns the nodes at the ends of links with link-layer retransmission, now or after a change.
    fn ends_of_repeating_links(&self) -> BTreeSet<usize> {
        let from_start = self.net.wires.all_plain().iter().enumerate();
        let from_start = from_start.filter(|(_, wire)| wire.link.config().repeats());
        let changes = self.scenario.changes.iter();
        let later = changes.filter(|change| change.config.repeats());
        let links = from_start.map(|(link, _)| link);
        let links = links.chain(later.map(|change| change.link.0));
        links
            .flat_map(|link| self.net.wires.ends(link))
            .map(|(node, _)| node)
            .collect()
    }
}

/// Returns the TCP connections of a flow.
fn conversation(run: &FlowRun) -> Conversation {
    let opener = run.opener;
    Conversation {
        listener: run.addresses[opener.other() as usize],
        port: run.port,
        opener: run.addresses[opener as usize],
    }
}
