//! Invariants of queues: none is longer than its limit, and in peace they all run empty.

use super::generate::END_S;
use super::rows::Row;
use super::{Verdict, batches, ensure};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type};
use baton_proto::mobility::attachment::{Handover, OldQueue};
use baton_proto::time::Duration;
use baton_sim::link::config::{LinkConfig, QueueLimit};
use baton_sim::run::Results;
use baton_sim::scenario::model::{AttachmentPolicy, Scenario};
use std::collections::BTreeMap;

/// Seconds before the end by which all packets sent have met their fate.
const PEACE_S: u64 = 1_000;

/// Checks both.
pub fn check(scenario: &Scenario, results: &Results, rows: &[Row]) -> Verdict {
    let keeping = keeping(scenario);
    let limits = limits(scenario, &keeping);
    for batch in batches(results.tables.series.clone()) {
        let column = |name: &str| batch.column_by_name(name).expect("the column is there");
        let words = ["subject", "series"].map(|name| column(name).as_dictionary::<Int32Type>());
        let values = column("value").as_primitive::<Float64Type>();
        for (row, &value) in values.values().iter().enumerate() {
            let word = |index: usize| {
                let key = words[index].keys().value(row) as usize;
                words[index].values().as_string::<i32>().value(key)
            };
            let (subject, series) = (word(0), word(1));
            if let Some((bounded, most)) = limits.get(subject) {
                ensure!(
                    series != *bounded || value <= *most,
                    "longer than its limit: {subject}, {series} {value} of {most}"
                );
            }
        }
    }
    let peace = Duration::from_secs(END_S - PEACE_S).as_nanos() as i64;
    let stuck = rows.iter().find(|row| {
        let kept = scenario.links[row.link].config.name.as_str();
        &*row.fate == "under way" && row.sent < peace && !keeping.contains(&kept)
    });
    ensure!(
        stuck.is_none() || scenario.duration != Duration::from_secs(END_S),
        "under way for ever: {stuck:?}"
    );
    Ok(())
}

/// Returns links that keep their packets while their mobile is away: those in flight go back into the queue, limit or
/// not. A break concerns all links that the mobile has used, including an old one that still delivers.
fn keeping(scenario: &Scenario) -> Vec<&str> {
    let mut keeping = Vec::new();
    for mobile in &scenario.mobiles {
        let AttachmentPolicy::Timetable(entries) = &mobile.attachment else {
            continue;
        };
        for (place, entry) in entries.iter().enumerate() {
            if let Handover::Hard {
                old_queue: OldQueue::Stays,
                ..
            } = entry.handover
            {
                let used = entries[..place].iter().filter_map(|before| before.link);
                keeping.extend(used.map(|link| scenario.links[link.0].config.name.as_str()));
            }
        }
    }
    keeping
}

/// Returns the bound of each direction, by its subject: the series and its largest value. A direction that has had
/// limits of both kinds, or that keeps packets in flight, has no bound.
fn limits(scenario: &Scenario, keeping: &[&str]) -> BTreeMap<String, (&'static str, f64)> {
    let mut limits = BTreeMap::new();
    for (index, link) in scenario.links.iter().enumerate() {
        let name = link.config.name.as_str();
        // The series includes packets waiting at a shaper.
        if keeping.contains(&name) || !link.config.regulators.is_empty() {
            continue;
        }
        let changes = scenario
            .changes
            .iter()
            .filter(|change| change.link.0 == index);
        let configs: Vec<&LinkConfig> = [&*link.config]
            .into_iter()
            .chain(changes.map(|change| &*change.config))
            .collect();
        for direction in 0..2 {
            let bounds: Vec<(&str, f64)> = configs
                .iter()
                .map(|config| bound([&config.down, &config.up][direction].queue.limit))
                .collect();
            if bounds.iter().all(|bound| bound.0 == bounds[0].0) {
                let most = bounds.iter().map(|bound| bound.1).fold(0.0, f64::max);
                let subject = format!("link {name} {}", ["down", "up"][direction]);
                limits.insert(subject, (bounds[0].0, most));
            }
        }
    }
    limits
}

fn bound(limit: QueueLimit) -> (&'static str, f64) {
    match limit {
        QueueLimit::Packets(packets) => ("queue packets", packets.into()),
        QueueLimit::Bytes(bytes) => ("queue bytes", bytes as f64),
    }
}
