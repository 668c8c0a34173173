//! Runs the parts of a cut world, on as many threads as wanted.
//!
//! The parts run through [`windows`](super::windows) of time, each on whichever thread of the [`crew`](super::crew) is free.

use super::Cut;
use super::crew::{Crew, locked, on_threads};
use super::windows::{Waiting, Windows};
use crate::record::parts::Subjects;
use crate::record::{RecordError, Recorder, Tables};
use crate::scenario::model::Scenario;
use crate::world::World;
use crate::world::part::{Crossing, Part};
use crate::world::summary::Summary;
use baton_proto::time::{Duration, Instant};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Parts of a world under way.
pub(crate) struct Parts {
    worlds: Vec<World>,
    /// Packets that wait to be taken in, by the receiving part and then by the sending one.
    waiting: Waiting,
    /// The shortest delay of a cut link.
    delay: Duration,
    threads: usize,
    recorder: Recorder,
    subjects: Subjects,
    /// Earliest time of what comes next.
    coming: Instant,
    /// Windows run so far.
    windows: u64,
    /// Events of the longest chain of runs of parts: what even the most threads run one after another.
    longest: u64,
}

impl Parts {
    /// Builds the parts of a scenario's world, each on a thread of its own as far as there are so many.
    pub fn new(scenario: &Scenario, cut: &Cut, recorder: Recorder, threads: NonZeroUsize) -> Parts {
        let count = cut.parts.len();
        let cut_links: Arc<[u32]> = cut.links.iter().map(|link| link.0 as u32).collect();
        let threads = threads.get().min(count);
        let part = |number: usize| Part {
            number: number as u16,
            count: count as u16,
            of_nodes: cut.of_nodes.clone(),
            cut_links: cut_links.clone(),
        };
        let recorders: Vec<Mutex<Option<Recorder>>> = (0..count)
            .map(|_| Mutex::new(Some(recorder.of_part())))
            .collect();
        let built: Vec<Mutex<Option<World>>> = (0..count).map(|_| Mutex::new(None)).collect();
        let next = AtomicUsize::new(0);
        on_threads(threads, || {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some(recorder) = recorders.get(number).and_then(|own| locked(own).take())
                else {
                    return;
                };
                let world = World::new_part(scenario.clone(), recorder, part(number));
                *locked(&built[number]) = Some(world);
            }
        });
        let worlds = built
            .into_iter()
            .filter_map(|world| world.into_inner().unwrap_or_else(PoisonError::into_inner));
        let mut parts = Parts {
            worlds: worlds.collect(),
            waiting: Vec::new(),
            delay: cut.delay,
            threads,
            recorder,
            subjects: Subjects::default(),
            coming: Instant::NEVER,
            windows: 0,
            longest: 0,
        };
        let empty = || (0..count).map(|_| Vec::new()).collect();
        parts.waiting = (0..count).map(|_| empty()).collect();
        parts.exchange();
        parts
    }

    /// Moves the packets that have left over cut links so far.
    fn exchange(&mut self) {
        for (number, world) in self.worlds.iter_mut().enumerate() {
            let mut sent: Vec<Vec<Crossing>> = self.waiting.iter().map(|_| Vec::new()).collect();
            self.coming = self.coming.min(world.send_over(&mut sent));
            for (to, crossings) in sent.into_iter().enumerate() {
                self.waiting[to][number].extend(crossings);
            }
        }
    }

    /// Returns the number of parts.
    pub fn count(&self) -> usize {
        self.worlds.len()
    }

    /// Returns a part, the one with the most nodes' load.
    pub fn first(&self) -> &World {
        &self.worlds[0]
    }

    /// Returns a part to change it, the one with the most load.
    pub fn first_mut(&mut self) -> &mut World {
        &mut self.worlds[0]
    }

    /// Returns the number of packets under way in all parts, those on cut links included.
    pub fn packets_under_way(&self) -> usize {
        let within: usize = self.worlds.iter().map(World::packets_under_way).sum();
        let between: usize = self.waiting.iter().flatten().map(Vec::len).sum();
        within + between
    }

    /// Returns the number of events that all parts have handled.
    pub fn events(&self) -> u64 {
        self.worlds.iter().map(World::events).sum()
    }

    /// Fails if a row could not be written.
    pub fn check_record(&self) -> Result<(), RecordError> {
        self.recorder.check()
    }

    /// Returns the earliest time at which anything happens in any part, or never.
    pub fn next_time(&self) -> Instant {
        self.coming
    }

    /// Runs all parts up to and including `limit`, or until they have handled `most_events`, and all stand at one time. Returns
    /// true if that is `limit`.
    pub fn run_until(&mut self, limit: Instant, most_events: u64) -> bool {
        let threads = self.threads;
        self.run_windows(limit, most_events, |crew| {
            on_threads(threads, || crew.work())
        })
    }

    /// Runs all parts up to a limit as `work` lets a crew run them.
    pub(super) fn run_windows(
        &mut self,
        limit: Instant,
        most_events: u64,
        work: impl FnOnce(&Crew<'_>),
    ) -> bool {
        let waiting = core::mem::take(&mut self.waiting);
        let windows = Windows::new(waiting, self.delay, (self.coming, limit), most_events);
        let crew = Crew::new(&mut self.worlds, windows);
        work(&crew);
        let ran = crew.outcome();
        self.waiting = ran.waiting;
        self.coming = ran.coming;
        self.windows += ran.windows;
        self.longest += ran.longest;
        let recorders = self.worlds.iter_mut().map(World::recorder_mut);
        self.recorder.take_in(recorders, &mut self.subjects);
        ran.done
    }

    /// Ends the run: unites the parts and sums up.
    pub fn finish(mut self) -> Result<(Summary, Tables), RecordError> {
        // Packets on cut links are under way where they arrive.
        for (world, waiting) in self.worlds.iter_mut().zip(&mut self.waiting) {
            waiting.iter_mut().for_each(|sent| world.receive(sent));
        }
        self.worlds.iter_mut().for_each(World::record_end);
        let recorders = self.worlds.iter_mut().map(World::recorder_mut);
        self.recorder.take_in(recorders, &mut self.subjects);
        let events = self.events();
        let mut worlds = self.worlds.into_iter();
        let Some(mut whole) = worlds.next() else {
            return Err(RecordError::WriterLost);
        };
        let count = worlds.len() + 1;
        whole.unite(worlds);
        let mut summary = whole.summary();
        summary.cut = Some(CutSummary {
            parts: count,
            window_s: self.delay.half().as_secs_f64(),
            windows: self.windows,
            most_speed_up: events as f64 / self.longest.max(1) as f64,
        });
        Ok((summary, self.recorder.finish()?))
    }
}

/// Facts about the parts of a run on several threads.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct CutSummary {
    /// Number of parts.
    pub parts: usize,
    /// Time that a part runs between two exchanges, in seconds: half of the shortest delay of a cut link.
    pub window_s: f64,
    /// Number of windows of that length.
    pub windows: u64,
    /// Events of all parts, divided by those of the longest chain of windows in which each has to wait for the one before: how
    /// many times faster than one thread any number of threads can be.
    pub most_speed_up: f64,
}
