//! Deadlines of many paths: each has at most one that counts, and a path that asks for a later one keeps the earlier.

use super::{Listener, PathKey};
use baton_proto::time::Instant;
use core::cmp::Reverse;
use std::collections::BinaryHeap;

#[derive(Default)]
pub(super) struct Timers {
    heap: BinaryHeap<Reverse<(Instant, u32)>>,
    /// The deadline that counts, by place.
    scheduled: Vec<Option<Instant>>,
}

impl Timers {
    /// Sees to it that the place is called at `deadline` or before.
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

    /// Takes a place whose deadline is not after `now`.
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
    /// The moment of the next [`Listener::handle_timeout`].
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.timers.next()
    }

    /// Does what is due at `now`.
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

    /// Takes over what a path has to tell, to send, and to wait for.
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
