//! Warnings of parts without effect.

use super::document::Path;
use super::error::{quoted, seconds};
use super::model::{AttachmentPolicy, Scenario};
use super::raw::RawScenario;
use super::resolve::Report;
use crate::link::config::QueueLimit;
use baton_proto::mobility::attachment::Handover;
use baton_proto::time::Instant;

/// Warns of parts without effect in an otherwise correct scenario.
pub(super) fn warn(scenario: &Scenario, raw: &RawScenario, report: &mut Report<'_>) {
    if !report.is_clean() {
        return;
    }
    // Mobility protocols and radio networks send messages even without flows.
    let speaks = scenario.has_protocols() || !scenario.radios.is_empty();
    if scenario.flows.is_empty() && !speaks {
        let message = "there is no flow, so nothing is sent; expected [[flows]]";
        report.warn(&Path::default().key("flows"), message.to_owned());
    }
    second_ways(scenario, report);
    small_queues(scenario, raw, report);
    endless_outages(scenario, report);
}

/// Warns of a second path between nodes without mobiles, and without a transport over several: routes take one of the
/// paths for the whole run.
fn second_ways(scenario: &Scenario, report: &mut Report<'_>) {
    if !scenario.mobiles.is_empty() || scenario.spreads_over_links() {
        return;
    }
    let mut islands: Vec<usize> = (0..scenario.nodes.len()).collect();
    for link in &scenario.links {
        let [a, b] = link.ends.map(|end| island(&mut islands, end.0));
        if a == b {
            let [a, b] = link.ends.map(|end| quoted(&scenario.nodes[end.0]));
            let message = format!(
                "is a second path from {a} to {b}, but no mobile chooses between the two: packets take one of them and no \
                 handover happens; expected [mobiles.NODE] for the node that moves"
            );
            let path = Path::default().key("links").key(&link.config.name);
            return report.warn(&path, message);
        }
        islands[a] = b;
    }
}

/// Returns the node that represents all nodes connected to `node`.
fn island(islands: &mut [usize], mut node: usize) -> usize {
    while islands[node] != node {
        islands[node] = islands[islands[node]];
        node = islands[node];
    }
    node
}

/// Warns of queues in bytes without room for a full packet.
fn small_queues(scenario: &Scenario, raw: &RawScenario, report: &mut Report<'_>) {
    let plain = raw
        .links
        .0
        .iter()
        .filter(|(_, link)| link.kind.settings().radio().is_none());
    for ((name, raw), link) in plain.zip(&scenario.links) {
        let (config, path) = (&link.config, Path::default().key("links").key(name));
        let directions = [
            ("down", &config.down, &raw.down),
            ("up", &config.up, &raw.up),
        ];
        for (key, direction, own) in directions {
            let QueueLimit::Bytes(bytes) = direction.queue.limit else {
                continue;
            };
            let is_own = own.queue.is_some();
            if bytes >= u64::from(config.mtu) || (key == "up" && !is_own) {
                continue;
            }
            let message = format!(
                "holds {bytes} B, less than one packet of {} B: such a packet is lost if it cannot leave at once",
                config.mtu
            );
            let path = if is_own { path.key(key) } else { path.clone() };
            report.warn(&path.key("queue"), message);
        }
    }
}

/// Warns of a handover that does not end within the run.
fn endless_outages(scenario: &Scenario, report: &mut Report<'_>) {
    let end = Instant::ZERO + scenario.duration;
    for mobile in &scenario.mobiles {
        let AttachmentPolicy::Timetable(entries) = &mobile.attachment else {
            continue;
        };
        let path = Path::default().key("mobiles");
        let path = path.key(&scenario.nodes[mobile.node.0]).key("timetable");
        for (index, entry) in entries.iter().enumerate() {
            let Handover::Hard { outage, .. } = entry.handover else {
                continue;
            };
            if entry.link.is_some() && entry.at < end && entry.at + outage >= end {
                let message = format!(
                    "lasts until the end of the run, at {}: nothing passes after the handover",
                    seconds(scenario.duration)
                );
                report.warn(&path.index(index).key("outage"), message);
            }
        }
    }
}
