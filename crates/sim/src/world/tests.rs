use crate::run::{Results, Run, RunOptions};
use crate::scenario;
use std::path::Path;

/// Runs a scenario to its end, in memory.
fn run(text: &str) -> Results {
    let loaded = scenario::parse(text, "test", Path::new("."), &[]).unwrap();
    let mut run = Run::new(loaded, &RunOptions::default()).unwrap();
    while !run.advance().unwrap() {}
    run.finish(None).unwrap()
}

#[test]
fn study_t() {
    let text = std::fs::read_to_string("../../studies/T/download.toml").unwrap();
    let results = run(&text);
    println!(
        "{}",
        serde_json::to_string_pretty(&results.summary).unwrap()
    );
}
