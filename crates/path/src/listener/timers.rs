//! Deadlines of many paths: each path has at most one valid deadline, and keeps an earlier one when it requests a later
//! one.

use super::{Listener, PathKey};
use baton_proto::time::Instant;
use core::cmp::Reverse;
use std::collections::BinaryHeap;

#[derive(Default)]
pub(super) struct Timers {
    heap: BinaryHeap<Reverse<(Instant, u32)>>,
    /// Valid deadline, by place.
    scheduled: Vec<Option<Instant>>,
}

impl Timers {
    /// Ensures that the place is called at `deadline` or before.
    fn schedule(&mut self, place: u32, deadline: Instant) {
        if self.scheduled.len() <= place as usize {
            self.scheduled.resize(place as usize + 1, None);
        }
        if let Some(scheduled) = self.scheduled.get_mut(place as usize)
            && scheduled.is_none_or(|scheduled| deadline < scheduled)
        {
            *scheduled = Some(deadline);
            self.heap.push(Reverse((deadline, place)));
        }
    }

    fn next(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse((deadline, _))| *deadline)
    }

    /// Takes a place with a deadline not after `now`.
    fn pop(&mut self, now: Instant) -> Option<u32> {
        while self.next().is_some_and(|deadline| deadline <= now) {
            let Reverse((deadline, place)) = self.heap.pop()?;
            let scheduled = self.scheduled.get_mut(place as usize)?;
            if scheduled
                .take_if(|scheduled| *scheduled == deadline)
                .is_some()
            {
                return Some(place);
            }
        }
        None
    }
}

impl Listener {
    /// Returns the time of the next [`Listener::handle_timeout`].
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.timers.next()
    }

    /// Performs the actions due at `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some(place) = self.timers.pop(now) {
            if let Some(member) = self
                .places
                .get_mut(place as usize)
                .and_then(|at| at.member.as_mut())
            {
                member.path.handle_timeout(now);
            }
            self.touch(now, place);
        }
    }

    /// Takes over a path's events, output and deadline.
    pub(super) fn touch(&mut self, now: Instant, place: u32) {
        let Some(at) = self.places.get_mut(place as usize) else {
            return;
        };
        let key = PathKey {
            place,
            generation: at.generation,
        };
        let Some(member) = at.member.as_mut() else {
            return;
        };
        while let Some(event) = member.path.events.pop_front() {
            self.events.push_back((key, event));
        }
        if member.path.transmits(now) {
            if !core::mem::replace(&mut member.is_ready, true) {
                self.ready.push_back(place);
            }
        } else if let Some(deadline) = member.path.deadline() {
            self.timers.schedule(place, deadline);
        }
    }
}
