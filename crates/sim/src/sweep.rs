//! One run of a sweep: with nothing recorded but the summary, and stopped from outside.
//!
//! A run gives the same results as alone, wherever it is made: a scenario does not change.

use crate::record::Quantities;
use crate::run::{Run, RunOptions};
use crate::scenario::Loaded;
use crate::world::summary::Summary;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

/// Runs a scenario with a seed, and returns its summary, or the reason in words that there is none; also if `stop`
/// becomes true meanwhile. After each slice of the run, `failure` yields an error that a congestion control from
/// outside could not report through the stack, which ends the run.
///
/// The caller's thread makes the run: a new one for each would wait for a free core, as long as a tenth of a short run.
/// Its stack has to hold a class in Python with endless recursion until Python stops it, which takes several MB.
pub fn run(
    loaded: &Loaded,
    seed: u64,
    failure: fn() -> Option<String>,
    stop: &AtomicBool,
) -> Result<Summary, String> {
    catch_unwind(AssertUnwindSafe(|| perform(loaded, seed, failure, stop)))
        .unwrap_or_else(|panic| Err(panic_words(panic.as_ref())))
}

fn perform(
    loaded: &Loaded,
    seed: u64,
    failure: fn() -> Option<String>,
    stop: &AtomicBool,
) -> Result<Summary, String> {
    let mut loaded = loaded.clone();
    loaded.scenario.seed = seed;
    loaded.scenario.record.series = Quantities::NONE;
    loaded.scenario.record.packets = false;
    let say = |error: crate::run::RunError| error.to_string();
    let mut run = Run::new(loaded, &RunOptions::default()).map_err(say)?;
    loop {
        let done = run.advance().map_err(say)?;
        if let Some(failure) = failure() {
            return Err(failure);
        }
        if done {
            return Ok(run.finish(None).map_err(say)?.summary);
        }
        if stop.load(Ordering::Relaxed) {
            return Err("the sweep was stopped".to_owned());
        }
    }
}

/// Describes a panic, which is a mistake in Baton, in a sentence.
pub fn panic_words(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied());
    format!(
        "the engine failed, which is a bug in Baton: {}",
        text.unwrap_or("no message")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    const SCENARIO: &str = r#"
        name = "two-nodes"
        duration = "3 s"
        links.lossy = { between = ["a", "b"], kind = "wired", rate = "1 Mbit/s", delay = "5 ms", queue = "10 packets", packet_error_rate = 0.02 }
        flows = [{ name = "download", from = "a", to = "b" }]
    "#;

    fn loaded(overrides: &[&str]) -> Loaded {
        let changes: Vec<_> = overrides.iter().map(|text| text.parse().unwrap()).collect();
        crate::scenario::parse(SCENARIO, "test", std::path::Path::new(""), &changes).unwrap()
    }

    fn alone(mut loaded: Loaded, seed: u64) -> String {
        loaded.scenario.seed = seed;
        let mut run = Run::new(loaded, &RunOptions::default()).unwrap();
        while !run.advance().unwrap() {}
        serde_json::to_string(&run.finish(None).unwrap().summary).unwrap()
    }

    #[test]
    fn every_run_is_the_one_made_alone_with_its_tables() {
        let points = [loaded(&[]), loaded(&["links.lossy.rate=200 kbit/s"])];
        thread::scope(|scope| {
            for (point, seed) in (0..2).flat_map(|point| (1..=4).map(move |seed| (point, seed))) {
                let scenario: &Loaded = &points[point];
                scope.spawn(move || {
                    let made = run(scenario, seed, || None, &AtomicBool::new(false));
                    let expected = alone(scenario.clone(), seed);
                    assert_eq!(serde_json::to_string(&made.unwrap()).unwrap(), expected);
                });
            }
        });
    }

    #[test]
    fn a_failure_from_outside_ends_the_run() {
        let failure = || Some("the class failed".to_owned());
        let ended = run(&loaded(&[]), 1, failure, &AtomicBool::new(false));
        assert_eq!(ended.unwrap_err(), "the class failed");
    }

    #[test]
    fn a_panic_is_the_reason_of_its_run() {
        let ended = run(
            &loaded(&[]),
            1,
            || panic!("a mistake"),
            &AtomicBool::new(false),
        );
        assert!(ended.unwrap_err().ends_with("a bug in Baton: a mistake"));
    }

    #[test]
    fn a_run_is_stopped_in_its_middle() {
        static STOP: AtomicBool = AtomicBool::new(false);
        let stop_after_a_slice = || {
            STOP.store(true, Ordering::Relaxed);
            None
        };
        // It ends long before the run would.
        let endless = loaded(&["duration=10000 s"]);
        let ended = run(&endless, 1, stop_after_a_slice, &STOP);
        assert_eq!(ended.unwrap_err(), "the sweep was stopped");
    }
}
