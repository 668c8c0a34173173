//! The work of several threads on the parts of a world, window after window.
//!
//! In a round each part is given to one thread, which lets it take in the packets that were sent to it in the round before,
//! runs it up to the round's limit, and takes out the packets that it sends. Then the threads meet. All of them compute the
//! next limit from the same numbers, so no thread leads the others. What a round writes is read in the next one, so packets
//! and numbers have two places, for even and for odd rounds.

use crate::world::World;
use crate::world::part::Crossing;
use baton_proto::time::{Duration, Instant};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex, MutexGuard, PoisonError};

/// Packets on cut links, by the receiving part and then by the sending one.
pub(super) type Waiting = Vec<Vec<Vec<Crossing>>>;

/// Rounds of the parts of a world.
pub(super) struct Rounds<'a> {
    worlds: Vec<Mutex<&'a mut World>>,
    /// Packets sent in the rounds before the even and before the odd ones, for each receiving part.
    sent: [Vec<Mutex<Vec<Vec<Crossing>>>>; 2],
    /// Events of each part before these rounds.
    events: Vec<u64>,
    /// Each part before the even and before the odd rounds.
    after: [Vec<AfterRound>; 2],
    /// Number of parts given to threads, by the number of the round modulo three.
    given: [AtomicUsize; 3],
    threads: Barrier,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    window: Duration,
    limit: Instant,
    most_events: u64,
    ran: Mutex<Ran>,
}

/// State of a part after a round.
#[derive(Debug, Default)]
struct AfterRound {
    /// Earliest time of what comes next of its own, in nanoseconds.
    coming: AtomicU64,
    /// Events that it has handled.
    events: AtomicU64,
}

/// Rounds that were run.
#[derive(Clone, Copy, Debug, Default)]
struct Ran {
    done: bool,
    windows: u64,
    longest: u64,
    coming: Instant,
}

/// Outcome of rounds.
pub(super) struct Outcome {
    /// True if all parts have reached the limit.
    pub done: bool,
    /// Number of rounds.
    pub windows: u64,
    /// Sum over the rounds of the events of the part with the most.
    pub longest: u64,
    /// Earliest time of what comes next.
    pub coming: Instant,
    /// Packets that wait for the next round.
    pub waiting: Waiting,
}

impl<'a> Rounds<'a> {
    /// Prepares rounds of so many threads up to and including `limit`, or until all parts have handled `most_events`.
    pub fn new(
        worlds: &'a mut [World],
        waiting: Waiting,
        (window, limit): (Duration, Instant),
        (threads, most_events): (usize, u64),
    ) -> Rounds<'a> {
        let count = worlds.len();
        let empty = || (0..count).map(|_| Vec::new()).collect();
        let after = || (0..count).map(|_| AfterRound::default()).collect();
        Rounds {
            sent: [
                waiting.into_iter().map(Mutex::new).collect(),
                (0..count).map(|_| Mutex::new(empty())).collect(),
            ],
            events: worlds.iter().map(World::events).collect(),
            after: [after(), after()],
            given: Default::default(),
            threads: Barrier::new(threads),
            panic: Mutex::new(None),
            window,
            limit,
            most_events,
            ran: Mutex::default(),
            worlds: worlds.iter_mut().map(Mutex::new).collect(),
        }
    }

    /// Runs rounds with the other threads. `coming` is the time of the first event.
    pub fn work(&self, mut coming: Instant) {
        let mut events = self.events.clone();
        let enough = events.iter().sum::<u64>().saturating_add(self.most_events);
        let (mut round, mut ran) = (0, Ran::default());
        loop {
            // A packet that leaves at the first event or later arrives after this limit.
            let safe = (coming + self.window).saturating_since(Instant::from_nanos(1));
            let limit = self.limit.min(Instant::ZERO + safe);
            self.run_parts(round, limit);
            if self.threads.wait().is_leader() {
                // That of the round before, which the next but one uses again.
                self.given[(round + 2) % 3].store(0, Ordering::Relaxed);
            }
            round += 1;
            let after = &self.after[round % 2];
            let mut busiest = 0;
            for (known, after) in events.iter_mut().zip(after) {
                let present = load(&after.events);
                busiest = busiest.max(present - *known);
                *known = present;
            }
            ran.longest += busiest;
            ran.windows += 1;
            ran.done = limit == self.limit;
            let earliest = after.iter().map(|after| load(&after.coming)).min();
            coming = Instant::from_nanos(earliest.unwrap_or(u64::MAX));
            ran.coming = coming;
            let is_enough = events.iter().sum::<u64>() >= enough;
            if ran.done || is_enough || locked(&self.panic).is_some() {
                break;
            }
        }
        *locked(&self.ran) = ran;
    }

    /// Runs parts that no other thread runs in this round.
    fn run_parts(&self, round: usize, limit: Instant) {
        loop {
            let part = self.given[round % 3].fetch_add(1, Ordering::Relaxed);
            if part >= self.worlds.len() {
                return;
            }
            let run = AssertUnwindSafe(|| self.run_part(part, round, limit));
            if let Err(panic) = catch_unwind(run) {
                // The other threads must not wait for this one.
                locked(&self.panic).get_or_insert(panic);
            }
        }
    }

    fn run_part(&self, part: usize, round: usize, limit: Instant) {
        let mut world = locked(&self.worlds[part]);
        let [own, next] = [round % 2, (round + 1) % 2];
        for sent in locked(&self.sent[own][part]).iter_mut() {
            world.receive(sent);
        }
        world.run_until(limit, u64::MAX);
        let mut sent: Vec<Vec<Crossing>> = self.worlds.iter().map(|_| Vec::new()).collect();
        let coming = world.send_over(&mut sent);
        for (to, crossings) in sent.into_iter().enumerate() {
            if !crossings.is_empty() {
                locked(&self.sent[next][to])[part] = crossings;
            }
        }
        let after = &self.after[next][part];
        after.coming.store(coming.as_nanos(), Ordering::Relaxed);
        after.events.store(world.events(), Ordering::Relaxed);
    }

    /// Ends the rounds. A panic in a part goes on here.
    pub fn end(self) -> Outcome {
        if let Some(panic) = self
            .panic
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
        {
            resume_unwind(panic);
        }
        let ran = self
            .ran
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let [even, odd] = self.sent;
        let waiting = match ran.windows % 2 {
            0 => even,
            _ => odd,
        };
        let waiting = waiting.into_iter();
        Outcome {
            done: ran.done,
            windows: ran.windows,
            longest: ran.longest,
            coming: ran.coming,
            waiting: waiting
                .map(|sent| sent.into_inner().unwrap_or_else(PoisonError::into_inner))
                .collect(),
        }
    }
}

fn load(number: &AtomicU64) -> u64 {
    number.load(Ordering::Relaxed)
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
