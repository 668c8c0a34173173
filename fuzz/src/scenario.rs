//! Scenario files: every mistake has a place, and an accepted scenario can be written, read again and run.

use baton_proto::time::Instant;
use baton_sim::run::{Run, RunOptions};
use baton_sim::scenario::{self, Diagnostic, Override, ScenarioError};
use std::path::Path;

/// Recordings that a scenario may name.
const TRACES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/traces");
/// Number of events: enough for handshakes and first losses; the rest is for the stress test.
const EVENTS: u64 = 2_000;

/// Parses the scenario, and after a zero byte a line for each `--set`.
pub fn check(data: &[u8]) {
    let Ok(text) = core::str::from_utf8(data) else {
        return;
    };
    // Other files of this machine must not be read.
    if text.contains("\"/") || text.contains("'/") || text.contains("..") || text.contains("\\") {
        return;
    }
    let (text, changes) = text.split_once('\0').unwrap_or((text, ""));
    let mut overrides: Vec<Override> = Vec::new();
    for line in changes.lines() {
        match line.parse() {
            Ok(change) => overrides.push(change),
            Err(error) => return check_error(text, &error),
        }
    }
    let directory = Path::new(TRACES);
    let loaded = match scenario::parse(text, "file", directory, &overrides) {
        Ok(loaded) => loaded,
        Err(error) => return check_error(text, &error),
    };
    for warning in &loaded.warnings {
        check_place(text, warning);
    }
    let again = scenario::parse(&loaded.resolved, "file", directory, &[]);
    let again = again.unwrap_or_else(|error| panic!("{error}\n{}", loaded.resolved));
    assert_eq!(again.scenario, loaded.scenario, "{}", loaded.resolved);
    run(loaded);
}

fn check_error(text: &str, error: &ScenarioError) {
    assert!(!error.diagnostics.is_empty(), "refused without a word");
    for diagnostic in &error.diagnostics {
        check_place(text, diagnostic);
    }
}

fn check_place(text: &str, diagnostic: &Diagnostic) {
    let place = &diagnostic.place;
    assert!(!diagnostic.message.is_empty(), "{diagnostic}");
    match place.position {
        None => assert!(place.origin.starts_with("--set "), "no place: {diagnostic}"),
        Some((line, column)) => {
            assert_eq!(place.origin, "file");
            // The end of a text is in the line after its last newline.
            assert!(
                (1..=text.lines().count() + 1).contains(&line),
                "{diagnostic}"
            );
            let length = text
                .lines()
                .nth(line - 1)
                .map_or(0, |line| line.chars().count());
            assert!((1..=length + 2).contains(&column), "{diagnostic}");
        }
    }
}

fn run(loaded: scenario::Loaded) {
    let end = Instant::ZERO + loaded.scenario.duration;
    let mut run = Run::new(loaded, &RunOptions::default()).expect("nothing is written");
    let mut before = Instant::ZERO;
    for _ in 0..10 {
        let done = run.world_mut().run_until(end, EVENTS / 10);
        let now = run.world().now();
        assert!(before <= now && now <= end, "{now} after {before}");
        before = now;
        if done {
            break;
        }
    }
    run.finish(None).expect("nothing is written");
}
