//! Thousands of random scenarios, and the invariants of every one of them. A scenario that breaks an invariant is made
//! as small as possible and printed: save it, and `baton run` repeats it.
//!
//! `BATON_STRESS_COUNT` and `BATON_STRESS_FIRST` give their number, and the first seed (`make stress`).

mod check;
mod counts;
mod generate;
mod moving;
mod patience;
mod queues;
mod rows;
mod shrink;
mod tcp;

use baton_sim::record::Table;
use baton_sim::run::{Results, Run, RunOptions};
use baton_sim::scenario::{self, model::Scenario};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// Scenarios of an ordinary test run.
const COUNT: u64 = 1_000;
/// Events, far more than any of these scenarios needs: a run with more is in an endless loop.
const MOST_EVENTS: u64 = 3_000_000;
/// Scenarios with mobility protocols and gateways of an ordinary test run.
const MOVING: u64 = 300;
/// Number of scenarios of which one is run twice.
const TWICE: u64 = 8;
/// Folder of the recordings that scenarios name.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stress");

/// Result of a check: the mistake found.
type Verdict = Result<(), String>;

/// Fails with a message unless a condition holds.
macro_rules! ensure {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err(format!($($message)+));
        }
    };
}
pub(crate) use ensure;

fn setting(name: &str, default: u64) -> u64 {
    let value = std::env::var(name).ok();
    value.map_or(default, |text| {
        text.parse()
            .unwrap_or_else(|_| panic!("{name}={text} is not a number"))
    })
}

#[test]
fn random_scenarios_keep_all_invariants() {
    let first = setting("BATON_STRESS_FIRST", 1);
    let count = setting("BATON_STRESS_COUNT", COUNT);
    for seed in first..first + count {
        if seed > first && (seed - first).is_multiple_of(1_000) {
            println!("{} of {count} scenarios", seed - first);
        }
        let twice = seed.is_multiple_of(TWICE);
        try_out(seed, generate::scenario(seed), |text| {
            let (scenario, results) = run(text)?;
            check::check(&scenario, &results)?;
            if twice {
                compare(&results, &run(text)?.1)?;
            }
            Ok(())
        });
    }
}

#[test]
fn packets_add_up_through_tunnels_buffers_and_gateways() {
    let first = setting("BATON_STRESS_FIRST", 1);
    let count = setting("BATON_STRESS_COUNT", MOVING);
    for seed in first..first + count {
        try_out(seed, moving::scenario(seed), |text| {
            let (scenario, results) = run(text)?;
            moving::check(&scenario, &results)
        });
    }
}

/// Tries a scenario; one that fails is shrunk.
fn try_out(seed: u64, text: String, check: impl Fn(&str) -> Verdict) {
    let Err(reason) = attempt(&text, &check) else {
        return;
    };
    let (text, reason) = shrink::smallest(text, reason, |text| attempt(text, &check).err());
    panic!(
        "seed {seed} breaks an invariant: {reason}\nTo repeat it, save this in {FOLDER} and `baton run` it:\n\n{text}"
    );
}

/// Runs a scenario and checks it. A panic is a breach too.
fn attempt(text: &str, check: &impl Fn(&str) -> Verdict) -> Verdict {
    catch_unwind(AssertUnwindSafe(|| check(text))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(format!("panic: {}", text.unwrap_or_default()))
    })
}

fn run(text: &str) -> Result<(Scenario, Results), String> {
    let loaded = scenario::parse(text, "stress.toml", Path::new(FOLDER), &[])
        .map_err(|error| format!("not accepted: {error}"))?;
    let scenario = loaded.scenario.clone();
    let mut run = Run::new(loaded, &RunOptions::default()).map_err(|error| error.to_string())?;
    let end = run.end();
    let mut before = run.world().now();
    while !run.world_mut().run_until(end, 20_000) {
        let world = run.world();
        ensure!(
            world.now() >= before,
            "time runs backwards: {} after {before}",
            world.now()
        );
        ensure!(
            world.now() <= end,
            "it runs beyond its end: {}",
            world.now()
        );
        ensure!(
            world.events() < MOST_EVENTS,
            "no end of events, at {}",
            world.now()
        );
        before = world.now();
    }
    let results = run.finish(None).map_err(|error| error.to_string())?;
    Ok((scenario, results))
}

/// Checks that the same seed gives the same bytes.
fn compare(first: &Results, second: &Results) -> Verdict {
    let tables = |results: &Results| {
        [
            results.tables.series.clone(),
            results.tables.packets.clone(),
        ]
        .map(batches)
    };
    ensure!(
        tables(first) == tables(second),
        "a second run has other tables"
    );
    let summary = |results: &Results| serde_json::to_string(&results.summary).unwrap_or_default();
    ensure!(
        summary(first) == summary(second),
        "a second run has another summary"
    );
    Ok(())
}

fn batches(table: Option<Table>) -> Vec<arrow_array::RecordBatch> {
    match table {
        Some(Table::Batches { batches, .. }) => batches,
        _ => Vec::new(),
    }
}
