//! The threads that run the parts of a world through their [`Windows`].
//!
//! All are equal: each takes a part that can begin a window, runs it, and reports what came of it.

use super::windows::{Done, Outcome, Task, Windows};
use crate::world::World;
use crate::world::part::Crossing;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Threads and the parts that they run.
pub(super) struct Crew<'a> {
    worlds: Vec<Mutex<&'a mut World>>,
    work: Mutex<Work>,
    woken: Condvar,
}

/// Work that is left.
struct Work {
    windows: Windows,
    /// Number of threads that sleep.
    asleep: usize,
    panic: Option<Box<dyn Any + Send>>,
}

impl<'a> Crew<'a> {
    /// Prepares the work of threads.
    pub fn new(worlds: &'a mut [World], windows: Windows) -> Crew<'a> {
        Crew {
            worlds: worlds.iter_mut().map(Mutex::new).collect(),
            work: Mutex::new(Work {
                windows,
                asleep: 0,
                panic: None,
            }),
            woken: Condvar::new(),
        }
    }

    /// Runs parts with the other threads until all windows are over.
    pub fn work(&self) {
        let mut work = locked(&self.work);
        while !work.is_over() {
            let Some(part) = work.windows.next_part() else {
                work.asleep += 1;
                work = self
                    .woken
                    .wait(work)
                    .unwrap_or_else(PoisonError::into_inner);
                work.asleep -= 1;
                continue;
            };
            let task = work.windows.begin(part);
            let is_more = work.asleep > 0 && work.windows.next_part().is_some();
            drop(work);
            if is_more {
                self.woken.notify_one();
            }
            let done = catch_unwind(AssertUnwindSafe(|| self.run(task)));
            work = locked(&self.work);
            match done {
                Ok(done) => work.windows.end(done),
                Err(panic) => work.panic = Some(panic),
            }
        }
        drop(work);
        self.woken.notify_all();
    }

    /// Runs a part through a window.
    fn run(&self, mut task: Task) -> Done {
        let mut world = locked(&self.worlds[task.part]);
        let before = world.events();
        task.packets.iter_mut().for_each(|sent| world.receive(sent));
        world.run_until(task.limit, u64::MAX);
        let mut sent: Vec<Vec<Crossing>> = self.worlds.iter().map(|_| Vec::new()).collect();
        Done {
            part: task.part,
            coming: world.send_over(&mut sent),
            sent,
            events: world.events() - before,
        }
    }

    /// Returns the outcome. A panic in a part goes on here.
    pub fn outcome(self) -> Outcome {
        let work = self
            .work
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(panic) = work.panic {
            resume_unwind(panic);
        }
        work.windows.outcome()
    }
}

impl Work {
    fn is_over(&self) -> bool {
        self.windows.are_over() || self.panic.is_some()
    }
}

/// Returns what a lock guards: a thread that has panicked ends the run anyway.
pub(super) fn locked<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `work` on this thread and on others beside it.
pub(super) fn on_threads(threads: usize, work: impl Fn() + Sync) {
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(&work);
        }
        work();
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cut::Cut;
    use crate::cut::parts::Parts;
    use crate::record::{RecordNames, RecordSettings, Recorder, Sink, Tables};
    use crate::scenario::{self, model::Scenario};
    use baton_proto::time::Instant;
    use std::num::NonZeroUsize;
    use std::path::Path;

    /// Four sites. Many of their packets arrive at the hub at the same moments, where the queue holds only some of them.
    const SITES: &str = r#"
        name = "sites"
        duration = "1 s"
        record = { packets = true }
        links.one = { between = ["a", "hub"], kind = "wired", rate = "10 Mbit/s", delay = "4 ms" }
        links.two = { between = ["b", "hub"], kind = "wired", rate = "10 Mbit/s", delay = "4 ms" }
        links.three = { between = ["c", "hub"], kind = "wired", rate = "10 Mbit/s", delay = "4 ms" }
        links.four = { between = ["d", "hub"], kind = "wired", rate = "10 Mbit/s", delay = "8 ms" }
        links.out = { between = ["hub", "sink"], kind = "wired", rate = "2 Mbit/s", delay = "10 us", queue = "5 packets" }
        flows = [
            { name = "a", from = "a", to = "sink", transport = "udp", traffic = { kind = "constant", rate = "4 Mbit/s", packet_size = "500 B" } },
            { name = "b", from = "b", to = "sink", transport = "udp", traffic = { kind = "constant", rate = "2 Mbit/s", packet_size = "500 B" } },
            { name = "c", from = "c", to = "sink", transport = "udp", traffic = { kind = "constant", rate = "1 Mbit/s", packet_size = "500 B" } },
            { name = "d", from = "d", to = "sink", transport = "udp", traffic = { kind = "constant", rate = "500 kbit/s", packet_size = "500 B" } },
        ]
    "#;

    fn recorder(scenario: &Scenario) -> Recorder {
        let settings = RecordSettings {
            series: scenario.record.series,
            packets: true,
            signals: false,
        };
        let links = scenario.links.iter();
        let names = RecordNames {
            links: links.map(|link| link.config.name.clone()).collect(),
            flows: scenario
                .flows
                .iter()
                .map(|flow| flow.name.clone())
                .collect(),
            nodes: scenario.nodes.clone(),
            ..RecordNames::default()
        };
        Recorder::new(settings, names, Sink::Memory).unwrap()
    }

    /// Runs the sites in slices. Returns the summary and the tables, as text.
    fn run(work: impl Fn(&Crew<'_>)) -> String {
        let scenario = scenario::parse(SITES, "sites", Path::new("."), &[]).unwrap();
        let scenario = scenario.scenario;
        let cut = Cut::of(&scenario).cut.unwrap();
        let mut parts = Parts::new(&scenario, &cut, recorder(&scenario), NonZeroUsize::MIN);
        assert_eq!(parts.count(), 5);
        while !parts.run_windows(Instant::from_secs(1), 3_000, &work) {}
        let (summary, Tables { packets, .. }) = parts.finish().unwrap();
        format!("{}\n{packets:?}", serde_json::to_string(&summary).unwrap())
    }

    /// Runs the parts in any order that the windows allow, several at once.
    fn run_at_random(crew: &Crew<'_>, mut draw: impl FnMut(usize) -> usize) {
        let mut begun = Vec::new();
        loop {
            let mut work = locked(&crew.work);
            if work.is_over() {
                return;
            }
            let ready: Vec<usize> = work.windows.ready().collect();
            let choice = draw(ready.len() + begun.len());
            if let Some(&part) = ready.get(choice) {
                begun.push(work.windows.begin(part));
            } else {
                let task = begun.swap_remove(choice - ready.len());
                work.windows.end(crew.run(task));
            }
        }
    }

    #[test]
    fn the_order_in_which_parts_run_does_not_change_results() {
        let one = run(|crew| crew.work());
        assert!(one.contains("queue"), "packets were dropped: {one}");
        for seed in 0..20_u64 {
            // Knuth's MMIX.
            let state = std::cell::Cell::new(seed);
            let draw = |bound: usize| {
                let next = state.get().wrapping_mul(6_364_136_223_846_793_005);
                state.set(next.wrapping_add(1_442_695_040_888_963_407));
                (state.get() >> 33) as usize % bound
            };
            assert_eq!(one, run(|crew| run_at_random(crew, draw)), "seed {seed}");
        }
    }
}
