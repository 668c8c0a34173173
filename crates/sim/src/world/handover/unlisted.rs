//! Handovers that the results count without listing them: a fleet has millions of them in hours.

use super::HandoverRecord;
use crate::world::World;
use crate::world::delays::Delays;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Handovers after those that the results list, by the class of their mobiles.
#[derive(Clone, Debug, Default)]
pub(in crate::world) struct Unlisted {
    /// Handovers that are listed.
    listed: usize,
    classes: BTreeMap<Option<Arc<str>>, Counted>,
}

/// Sums over the handovers of a class.
#[derive(Clone, Debug, Default)]
struct Counted {
    handovers: u64,
    active: u64,
    lost_packets: u64,
    /// Times from the beginning to the completion.
    durations: Delays,
}

/// Handovers of a class of mobiles that are not listed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UnlistedHandovers {
    /// Class of the mobiles in the scenario; null for those in none.
    pub mobile_class: Option<String>,
    /// Number of handovers.
    pub handovers: u64,
    /// Handovers after which the new link was taken into use.
    pub completed: u64,
    /// Handovers completed while a flow of the mobile was under way.
    pub active: u64,
    /// Packets lost with the old link or with its queue.
    pub lost_packets: u64,
    /// Mean time from the beginning to the completion, in seconds; null if none was completed.
    pub mean_s: Option<f64>,
    /// Time that half of them did not exceed, in seconds; this and the next two within 1 %.
    pub p50_s: Option<f64>,
    /// Time that 95 % of them did not exceed, in seconds.
    pub p95_s: Option<f64>,
    /// Time that 99 % of them did not exceed, in seconds.
    pub p99_s: Option<f64>,
    /// Longest time, in seconds.
    pub largest_s: Option<f64>,
}

impl Unlisted {
    /// Returns true if the next handover belongs into the list, which has `most`.
    pub(super) fn lists_another(&mut self, most: usize) -> bool {
        let has_room = self.listed < most;
        self.listed += usize::from(has_room);
        has_room
    }

    /// Adds the counts of another part of the world.
    pub(in crate::world) fn take_over(&mut self, other: Unlisted) {
        self.listed += other.listed;
        for (class, counted) in other.classes {
            let own = self.classes.entry(class).or_default();
            own.handovers += counted.handovers;
            own.active += counted.active;
            own.lost_packets += counted.lost_packets;
            own.durations.merge(&counted.durations);
        }
    }

    fn count(&mut self, class: Option<&Arc<str>>, record: &HandoverRecord) {
        let counted = self.classes.entry(class.cloned()).or_default();
        counted.handovers += 1;
        counted.active += u64::from(record.active);
        counted.lost_packets += record.lost_packets;
        if let Some(completed) = record.completed {
            let duration = completed.saturating_since(record.at);
            counted.durations.add(duration);
        }
    }
}

impl World {
    /// Counts and drops the last handover of a mobile if it is not listed. Its record has been closed.
    pub(super) fn count_unlisted(&mut self, number: usize) {
        let mobile = &mut self.net.mobiles[number];
        if let Some(record) = mobile.handovers.pop_if(|record| !record.is_listed) {
            let class = self.scenario.mobiles[number].class.as_ref();
            self.probes.unlisted.count(class, &record);
        }
    }

    /// Keeps the list of handovers at its length after all parts of the world have filled lists of their own: the first ones stay.
    pub(in crate::world) fn shorten_list(&mut self) {
        let most = self.scenario.record.handovers;
        let mobiles = self.net.mobiles.iter().enumerate();
        let listed = mobiles.flat_map(|(mobile, run)| {
            let listed = run.handovers.iter().filter(|record| record.is_listed);
            listed.map(move |record| (record.at, mobile))
        });
        let mut listed: Vec<_> = listed.collect();
        if listed.len() <= most {
            return;
        }
        listed.sort_unstable();
        // Of each mobile the last ones go, which are the last in the order of time.
        for &(_, mobile) in listed[most..].iter().rev() {
            let class = self.scenario.mobiles[mobile].class.as_ref();
            let own = &mut self.net.mobiles[mobile].handovers;
            let last = own.iter().rposition(|record| record.is_listed);
            if let Some(record) = last.map(|last| own.remove(last)) {
                self.probes.unlisted.count(class, &record);
            }
        }
    }

    /// Returns the handovers that are not listed, by class; those still under way included.
    pub(in crate::world) fn unlisted_handovers(&self) -> Vec<UnlistedHandovers> {
        let mut unlisted = self.probes.unlisted.clone();
        for (mobile, spec) in self.net.mobiles.iter().zip(&self.scenario.mobiles) {
            let last = mobile.handovers.last();
            if let Some(record) = last.filter(|record| !record.is_listed) {
                unlisted.count(spec.class.as_ref(), record);
            }
        }
        let classes = unlisted.classes.into_iter();
        let summary = classes.map(|(class, counted)| {
            let durations = counted.durations.summary();
            UnlistedHandovers {
                mobile_class: class.map(|class| class.as_ref().to_owned()),
                handovers: counted.handovers,
                completed: counted.durations.packets(),
                active: counted.active,
                lost_packets: counted.lost_packets,
                mean_s: durations.as_ref().map(|all| all.mean_s),
                p50_s: durations.as_ref().map(|all| all.p50_s),
                p95_s: durations.as_ref().map(|all| all.p95_s),
                p99_s: durations.as_ref().map(|all| all.p99_s),
                largest_s: durations.as_ref().map(|all| all.largest_s),
            }
        });
        summary.collect()
    }
}
