//! `batond`: the laboratory's hosts and links under a real clock.
//!
//! `batond world SCENARIO` runs a scenario in real time and prints its summary, with how late it was.



use baton_sim::run::{Run, RunOptions};
use baton_sim::scenario;
use baton_live::clock::{Lateness, RealClock};
use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "usage: batond world SCENARIO";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["world", path] => world(Path::new(path)),
        ["--version"] => {
            println!("batond {}", env!("CARGO_PKG_VERSION"));
            Ok(())
        }
        _ => Err((2, USAGE.to_owned())),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err((status, message)) => {
            eprintln!("{message}");
            ExitCode::from(status)
        }
    }
}

/// Runs a scenario in real time; fails with an exit status and a message.
fn world(path: &Path) -> Result<(), (u8, String)> {
    let loaded = scenario::load(path, &[]).map_err(|error| (2, error.to_string()))?;
    let mut run =
        Run::new(loaded, &RunOptions::default()).map_err(|error| (1, error.to_string()))?;
    let clock = RealClock::start();
    let mut lateness = Lateness::default();
    while let Some(due) = run.next_time() {
        clock.sleep_until(due);
        lateness.note(clock.now().saturating_since(due));
        run.advance_to(clock.now())
            .map_err(|error| (1, error.to_string()))?;
    }
    clock.sleep_until(run.end());
    run.advance_to(run.end())
        .map_err(|error| (1, error.to_string()))?;
    let results = run
        .finish(Some(clock.now().as_secs_f64()))
        .map_err(|error| (1, error.to_string()))?;
    let report = serde_json::json!({ "summary": results.summary, "lateness": lateness.summary() });
    println!("{report:#}");
    Ok(())
}
