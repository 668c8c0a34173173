//! Classes of flows: counts of the packets of all flows of a class together.

use super::World;
use super::delays::{DelaySummary, Delays};
use super::disturbed::DisturbedSummary;
use super::flow::FlowRun;
use super::packet_counts::Way;
use serde::Serialize;

/// Results of all flows of a class, from their packets with payload from `from` to `to`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassSummary {
    /// Name of the class.
    pub name: String,
    /// Number of flows of this class.
    pub flows: u64,
    /// Packets with payload that the flows' sources sent.
    pub sent_packets: u64,
    /// Packets with payload that arrived.
    pub delivered_packets: u64,
    /// Packets with payload that neither arrived nor are on a link or in a buffer at the end of the run.
    pub lost_packets: u64,
    /// Their delays; null if none arrived.
    pub delay: Option<DelaySummary>,
    /// Delays of those among them that a handover of one of their mobiles met on their way, by its kind.
    pub during_handovers: Vec<DisturbedSummary>,
}

impl World {
    /// Returns the classes of the scenario's flows, by name. Flows between real hosts are in none.
    pub(super) fn classes(&self) -> Vec<ClassSummary> {
        let flows = self
            .load
            .flows
            .iter()
            .filter(|flow| flow.observed.is_none());
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
        for flow in self.load.flows.iter().filter(|flow| is_of(flow)) {
            count += 1;
            sent += flow.data_to_sink;
            if let Some(of_flow) = flow.delays[Way::ToSink as usize].of_data() {
                delays.merge(of_flow);
            }
        }
        let mut under_way = 0;
        self.for_each_under_way(|flow, way, has_data| {
            let counts = way == Way::ToSink && has_data;
            under_way += u64::from(counts && is_of(&self.load.flows[flow.0 as usize]));
        });
        let delivered = delays.packets();
        ClassSummary {
            name: name.to_owned(),
            flows: count,
            sent_packets: sent,
            delivered_packets: delivered,
            lost_packets: sent.saturating_sub(delivered + under_way),
            delay: delays.summary(),
            during_handovers: self.probes.disturbed.of_class(name),
        }
    }
}
