//! Classes of flows: what became of the packets of all flows of a class together.

use super::World;
use super::delays::{DelaySummary, Delays, brings_data};
use super::flow::FlowRun;
use baton_proto::packet::{Identity, Packet};
use serde::Serialize;

/// The results of all flows of a class: of their packets with payload from `from` to `to`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassSummary {
    /// Its name.
    pub name: String,
    /// How many flows are of this class.
    pub flows: u64,
    /// Packets with payload that the flows' sources sent.
    pub sent_packets: u64,
    /// Those that arrived.
    pub delivered_packets: u64,
    /// Those that neither arrived nor are on a link at the end of the run.
    pub lost_packets: u64,
    /// Their delays; null if none arrived.
    pub delay: Option<DelaySummary>,
}

impl World {
    /// A flow's packet is sent for the first time, at a node.
    #[inline]
    pub(super) fn count_sent(&mut self, node: usize, flow: usize, packet: &Packet) {
        let flow = &mut self.flows[flow];
        flow.sent_packets += 1;
        if node == flow.nodes[0] && brings_data(packet) {
            flow.sent_to_sink += 1;
        }
    }

    /// A packet has come to the node that it is for: counts its delay if that is its flow's sink. Of several copies the
    /// first counts.
    #[inline]
    pub(super) fn count_delay(&mut self, node: usize, packet: &Packet) {
        let Some(flow) = packet.flow else { return };
        let flow = &mut self.flows[flow.0 as usize];
        let identity: Identity = packet.identity_within();
        if node != flow.nodes[1] || !brings_data(packet) || !self.copies.is_first(identity) {
            return;
        }
        let delay = self.now.saturating_since(identity.sent());
        flow.delays.get_or_insert_default().add(delay);
    }

    /// The classes of the scenario's flows, by name. Flows between real hosts are in none.
    pub(super) fn classes(&self) -> Vec<ClassSummary> {
        let flows = self.flows.iter().filter(|flow| flow.observed.is_none());
        let mut names: Vec<&str> = flows
            .filter_map(|flow| flow.spec.class.as_deref())
            .collect();
        names.sort_unstable();
        names.dedup();
        names.into_iter().map(|name| self.class(name)).collect()
    }

    fn class(&self, name: &str) -> ClassSummary {
        let is_of =
            |flow: &FlowRun| flow.observed.is_none() && flow.spec.class.as_deref() == Some(name);
        let mut delays = Delays::default();
        let (mut count, mut sent) = (0, 0);
        for flow in self.flows.iter().filter(|flow| is_of(flow)) {
            count += 1;
            sent += flow.sent_to_sink;
            if let Some(of_flow) = &flow.delays {
                delays.merge(of_flow);
            }
        }
        let under_way = self.packets.iter().filter(|travelling| {
            let packet = &travelling.packet;
            let flow = packet.flow.map(|flow| &self.flows[flow.0 as usize]);
            flow.is_some_and(|flow| is_of(flow) && flow.goes_to_sink(packet)) && brings_data(packet)
        });
        let delivered = delays.packets();
        ClassSummary {
            name: name.to_owned(),
            flows: count,
            sent_packets: sent,
            delivered_packets: delivered,
            lost_packets: sent.saturating_sub(delivered + under_way.count() as u64),
            delay: delays.summary(),
        }
    }
}
