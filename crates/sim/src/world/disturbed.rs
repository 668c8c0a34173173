//! Delays of packets that a handover has met on their way, by the class of their flow and the kind of the handover.

use super::delays::{DelaySummary, Delays};
use super::flow::FlowRun;
use super::handover::{HandoverRecord, MobileRun};
use baton_proto::mobility::attachment::Kind;
use baton_proto::time::{Duration, Instant};
use serde::Serialize;
use std::collections::BTreeMap;

/// Delays of a class's packets that were under way during handovers of one kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DisturbedSummary {
    /// Kind of the handovers: "entry" without an old link, "lost" if the old link had failed, else "soft" or "hard",
    /// after "announced-" if the old link announced that it would go down.
    pub name: &'static str,
    /// One-way delays of the packets that arrived.
    pub delay: DelaySummary,
}

/// Histograms of the delays of disturbed packets, by class.
#[derive(Debug, Default)]
pub(super) struct Disturbed(BTreeMap<String, BTreeMap<&'static str, Delays>>);

impl Disturbed {
    /// Counts a flow's packet, sent at `sent`, that has arrived after `delay`, if it was under way during the last handover
    /// of one of the flow's mobiles.
    pub fn note(&mut self, flow: &FlowRun, mobiles: &[MobileRun], sent: Instant, delay: Duration) {
        let Some(class) = flow.spec.class.as_deref() else {
            return;
        };
        for &mobile in &flow.movers {
            let Some(last) = mobiles[mobile].handovers.last() else {
                continue;
            };
            if last.completed.is_some_and(|completed| completed < sent) {
                continue;
            }
            // A class's name is copied for its first such packet only.
            if !self.0.contains_key(class) {
                self.0.insert(class.to_owned(), BTreeMap::new());
            }
            if let Some(of_class) = self.0.get_mut(class) {
                of_class.entry(kind_of(last)).or_default().add(delay);
            }
        }
    }

    /// Takes over the delays of another part of the world.
    pub fn take_over(&mut self, other: Disturbed) {
        for (class, kinds) in other.0 {
            let own = self.0.entry(class).or_default();
            for (kind, delays) in kinds {
                own.entry(kind).or_default().merge(&delays);
            }
        }
    }

    /// Returns the delays of a class, by kind of handover.
    pub fn of_class(&self, class: &str) -> Vec<DisturbedSummary> {
        let kinds = self.0.get(class).into_iter().flatten();
        let summaries = kinds.filter_map(|(&name, delays)| {
            let delay = delays.summary()?;
            Some(DisturbedSummary { name, delay })
        });
        summaries.collect()
    }
}

fn kind_of(record: &HandoverRecord) -> &'static str {
    match (record.links[0], record.announced, record.kind) {
        (None, ..) => "entry",
        (Some(_), ..) if record.after_loss => "lost",
        (Some(_), Some(_), Kind::Soft) => "announced-soft",
        (Some(_), Some(_), Kind::Hard) => "announced-hard",
        (Some(_), None, kind) => kind.name(),
    }
}
