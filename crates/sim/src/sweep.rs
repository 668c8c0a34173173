//! Many runs at once: a pool of threads takes points and seeds and returns summaries as they are ready.
//!
//! Only the summary is recorded, whatever the scenario says. A run gives the same results as alone: threads share only
//! the scenarios, which do not change.

use crate::run::{Run, RunOptions};
use crate::scenario::Loaded;
use crate::world::summary::Summary;
use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Stack of a thread, in bytes; only the used part takes memory. A congestion control in Python with endless recursion
/// needs several MB until Python stops it; a thread's usual 2 MB would end the program before.
const STACK: usize = 64 << 20;

/// A run to perform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// Place of the scenario among those of the pool, from 0.
    pub point: usize,
    /// Seed of the run.
    pub seed: u64,
}

/// A finished run.
#[derive(Debug)]
pub struct Outcome {
    /// The task.
    pub task: Task,
    /// Summary of the run, or the reason that there is none, in words.
    pub result: Result<Summary, String>,
}

/// Threads that run scenarios. Dropping the pool ends the runs under way without their results.
///
/// Call [`Pool::submit`] at any time, and [`Pool::next`] for the outcomes, in the order in which runs end.
#[derive(Debug)]
pub struct Pool {
    shared: Arc<Shared>,
    outcomes: Receiver<Outcome>,
    under_way: usize,
    workers: Vec<JoinHandle<()>>,
}

/// State shared by the threads.
#[derive(Debug)]
struct Shared {
    scenarios: Vec<Loaded>,
    tasks: Mutex<VecDeque<Task>>,
    /// Signalled when a task is added, or the pool stops.
    changed: Condvar,
    stopping: AtomicBool,
    failure: fn() -> Option<String>,
}

impl Pool {
    /// Starts `workers` threads, at least one. After each slice of a run its thread takes from `failure` an error that
    /// a congestion control from outside could not report through the stack, which ends the run.
    ///
    /// # Errors
    /// Error of the system when it grants no further thread.
    pub fn new(
        mut scenarios: Vec<Loaded>,
        workers: usize,
        failure: fn() -> Option<String>,
    ) -> std::io::Result<Pool> {
        for loaded in &mut scenarios {
            loaded.scenario.record.series = false;
            loaded.scenario.record.packets = false;
        }
        let shared = Arc::new(Shared {
            scenarios,
            tasks: Mutex::default(),
            changed: Condvar::new(),
            stopping: AtomicBool::new(false),
            failure,
        });
        let (sender, outcomes) = mpsc::channel();
        let mut pool = Pool {
            shared,
            outcomes,
            under_way: 0,
            workers: Vec::new(),
        };
        for number in 0..workers.max(1) {
            let (shared, sender) = (pool.shared.clone(), sender.clone());
            let worker = thread::Builder::new()
                .name(format!("sweep-{number}"))
                .stack_size(STACK)
                .spawn(move || shared.work(&sender))?;
            pool.workers.push(worker);
        }
        Ok(pool)
    }

    /// Adds a run. A point that does not exist is returned as an error.
    pub fn submit(&mut self, task: Task) {
        self.under_way += 1;
        self.shared.tasks().push_back(task);
        self.shared.changed.notify_one();
    }

    /// Returns the number of runs submitted and not yet returned.
    pub fn under_way(&self) -> usize {
        self.under_way
    }

    /// Returns the next outcome; `None` if none arrives within `patience`.
    pub fn next(&mut self, patience: Duration) -> Option<Outcome> {
        match self.outcomes.recv_timeout(patience) {
            Ok(outcome) => {
                self.under_way -= 1;
                Some(outcome)
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => None,
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::Relaxed);
        // With the lock held, so that no worker misses the signal between its check and its wait.
        drop(self.shared.tasks());
        self.shared.changed.notify_all();
        for worker in self.workers.drain(..) {
            // Its panics were caught; there are no other errors.
            let _ = worker.join();
        }
    }
}

impl Shared {
    fn tasks(&self) -> MutexGuard<'_, VecDeque<Task>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stops(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// Does a thread's work: runs until the pool stops.
    fn work(&self, outcomes: &Sender<Outcome>) {
        while let Some(task) = self.next_task() {
            let made = catch_unwind(AssertUnwindSafe(|| self.run(task)));
            let result = made.unwrap_or_else(|panic| Err(panic_words(panic.as_ref())));
            if self.stops() || outcomes.send(Outcome { task, result }).is_err() {
                return;
            }
        }
    }

    fn next_task(&self) -> Option<Task> {
        let mut tasks = self.tasks();
        while !self.stops() {
            if let Some(task) = tasks.pop_front() {
                return Some(task);
            }
            tasks = self
                .changed
                .wait(tasks)
                .unwrap_or_else(PoisonError::into_inner);
        }
        None
    }

    /// Performs one run, unless the pool stops meanwhile.
    fn run(&self, task: Task) -> Result<Summary, String> {
        let Some(loaded) = self.scenarios.get(task.point) else {
            return Err(format!("there is no point {}", task.point));
        };
        let mut loaded = loaded.clone();
        loaded.scenario.seed = task.seed;
        let say = |error: crate::run::RunError| error.to_string();
        // A failure that an earlier run left is cleared.
        (self.failure)();
        let mut run = Run::new(loaded, &RunOptions::default()).map_err(say)?;
        loop {
            let done = run.advance().map_err(say)?;
            if let Some(failure) = (self.failure)() {
                return Err(failure);
            }
            if done {
                break;
            }
            if self.stops() {
                return Err("the sweep was stopped".to_owned());
            }
        }
        Ok(run.finish(None).map_err(say)?.summary)
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

    fn outcome(pool: &mut Pool) -> Outcome {
        pool.next(Duration::from_secs(60)).expect("a run in time")
    }

    #[test]
    fn every_run_is_the_one_made_alone_with_its_tables() {
        let points = [loaded(&[]), loaded(&["links.lossy.rate=200 kbit/s"])];
        let mut pool = Pool::new(points.to_vec(), 3, || None).unwrap();
        for seed in 1..=4 {
            for point in 0..2 {
                pool.submit(Task { point, seed });
            }
        }
        let mut seen = Vec::new();
        while pool.under_way() > 0 {
            let Outcome { task, result } = outcome(&mut pool);
            let expected = alone(points[task.point].clone(), task.seed);
            assert_eq!(serde_json::to_string(&result.unwrap()).unwrap(), expected);
            seen.push((task.point, task.seed));
        }
        seen.sort_unstable();
        let all = (0..2).flat_map(|point| (1..=4).map(move |seed| (point, seed)));
        assert_eq!(seen, all.collect::<Vec<_>>());
    }

    #[test]
    fn a_run_that_cannot_be_made_does_not_stop_the_others() {
        let mut pool = Pool::new(vec![loaded(&[])], 1, || None).unwrap();
        pool.submit(Task { point: 7, seed: 1 });
        pool.submit(Task { point: 0, seed: 1 });
        assert!(outcome(&mut pool).result.unwrap_err().contains("point 7"));
        assert!(outcome(&mut pool).result.is_ok());
    }

    #[test]
    fn a_pool_ends_in_the_middle_of_a_run() {
        let mut pool = Pool::new(vec![loaded(&["duration=10000 s"])], 2, || None).unwrap();
        pool.submit(Task { point: 0, seed: 1 });
        assert!(pool.next(Duration::from_millis(1)).is_none());
        drop(pool); // returns, and long before the run would
    }
}
