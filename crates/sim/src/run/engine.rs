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
    Whole(Box<World>),
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

    pub fn parts(&self) -> Option<usize> {
        match self {
            Engine::Whole(_) => None,
            Engine::Cut(parts) => Some(parts.count()),
        }
    }

    pub fn world(&self) -> &World {
        match self {
            Engine::Whole(world) => world,
            Engine::Cut(parts) => parts.first(),
        }
    }

    pub fn world_mut(&mut self) -> &mut World {
        match self {
            Engine::Whole(world) => world,
            Engine::Cut(parts) => parts.first_mut(),
        }
    }

    pub fn run_until(&mut self, limit: Instant, most_events: u64) -> bool {
        match self {
            Engine::Whole(world) => world.run_until(limit, most_events),
            Engine::Cut(parts) => {
                parts.run_until(limit, most_events.saturating_mul(SLICES_OF_PARTS))
            }
        }
    }

    pub fn events(&self) -> u64 {
        match self {
            Engine::Whole(world) => world.events(),
            Engine::Cut(parts) => parts.events(),
        }
    }

    pub fn check_record(&self) -> Result<(), RecordError> {
        match self {
            Engine::Whole(world) => world.check_record(),
            Engine::Cut(parts) => parts.check_record(),
        }
    }

    pub fn packets_under_way(&self) -> usize {
        match self {
            Engine::Whole(world) => world.packets_under_way(),
            Engine::Cut(parts) => parts.packets_under_way(),
        }
    }

    pub fn next_time(&mut self) -> Option<Instant> {
        match self {
            Engine::Whole(world) => world.next_time(),
            Engine::Cut(parts) => Some(parts.next_time()),
        }
    }

    pub fn finish(self) -> Result<(Summary, Tables), RecordError> {
        match self {
            Engine::Whole(world) => world.finish(),
            Engine::Cut(parts) => parts.finish(),
        }
    }
}
