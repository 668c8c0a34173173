//! The world of a run, whole or in parts.

use super::RunOptions;
use crate::captures::Captures;
use crate::cut::Cut;
use crate::cut::parts::Parts;
use crate::record::{RecordError, Recorder, Tables};
use crate::scenario::model::Scenario;
use crate::world::World;
use crate::world::summary::Summary;
use baton_proto::time::Instant;

/// Slices of which a world in parts makes one: its threads start with each.
const SLICES_OF_PARTS: u64 = 10;

/// The world of a run.
pub(super) enum Engine {
    /// In one piece.
    Whole(Box<World>),
    /// In parts, on threads.
    Cut(Box<Parts>),
}

impl Engine {
    /// Builds the world of a scenario, in parts if it is to run on threads and can be cut.
    pub fn new(
        scenario: Scenario,
        recorder: Recorder,
        captures: Option<Captures>,
        options: &RunOptions,
    ) -> Engine {
        if options.live {
            return Engine::Whole(Box::new(World::new_live(scenario, recorder, captures)));
        }
        if let (Some(threads), None) = (options.threads, &captures)
            && let Some(cut) = Cut::of(&scenario).cut
        {
            let parts = Parts::new(&scenario, &cut, recorder, threads);
            return Engine::Cut(Box::new(parts));
        }
        Engine::Whole(Box::new(World::new(scenario, recorder, captures)))
    }

    /// Returns the number of parts, if it is cut.
    pub fn parts(&self) -> Option<usize> {
        match self {
            Engine::Whole(_) => None,
            Engine::Cut(parts) => Some(parts.count()),
        }
    }

    /// Returns the world to observe it; of several parts, the first one.
    pub fn world(&self) -> &World {
        match self {
            Engine::Whole(world) => world,
            Engine::Cut(parts) => parts.first(),
        }
    }

    /// Returns the world to exchange packets with it; of several parts, the first one.
    pub fn world_mut(&mut self) -> &mut World {
        match self {
            Engine::Whole(world) => world,
            Engine::Cut(parts) => parts.first_mut(),
        }
    }

    /// Runs all events up to and including `limit`, or so many events, of parts ten times as many. Returns true if `limit` was reached.
    pub fn run_until(&mut self, limit: Instant, most_events: u64) -> bool {
        match self {
            Engine::Whole(world) => world.run_until(limit, most_events),
            Engine::Cut(parts) => {
                parts.run_until(limit, most_events.saturating_mul(SLICES_OF_PARTS))
            }
        }
    }

    /// Returns the number of events handled so far.
    pub fn events(&self) -> u64 {
        match self {
            Engine::Whole(world) => world.events(),
            Engine::Cut(parts) => parts.events(),
        }
    }

    /// Fails if a record could not be written.
    pub fn check_record(&self) -> Result<(), RecordError> {
        match self {
            Engine::Whole(world) => world.check_record(),
            Engine::Cut(parts) => parts.check_record(),
        }
    }

    /// Returns the number of packets under way.
    pub fn packets_under_way(&self) -> usize {
        match self {
            Engine::Whole(world) => world.packets_under_way(),
            Engine::Cut(parts) => parts.packets_under_way(),
        }
    }

    /// Returns the time of the next event.
    pub fn next_time(&mut self) -> Option<Instant> {
        match self {
            Engine::Whole(world) => world.next_time(),
            Engine::Cut(parts) => Some(parts.next_time()),
        }
    }

    /// Ends the run and closes the record.
    pub fn finish(self) -> Result<(Summary, Tables), RecordError> {
        match self {
            Engine::Whole(world) => world.finish(),
            Engine::Cut(parts) => parts.finish(),
        }
    }
}
