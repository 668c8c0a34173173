//! Choice of the next packet's path, and of the paths that are left out for a while, since nothing that goes over them
//! is answered though other paths are.

use super::Transmission;
use super::connection::Connection;
use crate::time::{Duration, Instant};

/// A path over which nothing is answered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Silence {
    /// Since when. What left later, and is answered, ends it.
    pub since: Instant,
    /// Time of the next question.
    ask_at: Instant,
    /// Questions so far.
    asked: u32,
}

impl Connection {
    /// Returns true if data goes over a path: it is up and not silent, or no path is that and it is up.
    fn is_usable(&self, index: usize) -> bool {
        let path = &self.paths[index];
        path.is_up && (path.silent.is_none() || !self.is_live_without(index))
    }

    /// Returns true if there is another path that is up and not silent.
    fn is_live_without(&self, index: usize) -> bool {
        let mut others = self.paths.iter().enumerate();
        others.any(|(other, path)| other != index && path.is_up && path.silent.is_none())
    }

    /// The paths over which data goes.
    fn usable(&self) -> impl Iterator<Item = usize> {
        (0..self.paths.len()).filter(|&index| self.is_usable(index))
    }

    /// The path that data takes next: of those that carry any the one that is free first, and when that is.
    pub(super) fn next_path(&self) -> Option<(usize, Instant)> {
        let free = self
            .usable()
            .map(|index| (index, self.paths[index].free_at));
        free.min_by_key(|&(_, free_at)| free_at)
    }

    /// Bytes behind the IP header that a packet has at most: what all paths take, since what is lost on one may go again over
    /// any.
    pub(super) fn packet_room(&self) -> u32 {
        let rooms = self.paths.iter().map(|path| path.room());
        rooms.min().unwrap_or(0)
    }

    /// By when an answer is due to what leaves now, over whichever path.
    pub(super) fn answer_within(&self) -> Duration {
        let held = self.configuration.mack_delay;
        let within = |index: usize| self.paths[index].rate.answer_within(held);
        let longest = self.usable().map(within).max();
        longest.unwrap_or_else(|| within(0))
    }

    /// The path over which the next MACK goes: of those that are up that with the most packets since a MACK went there, and of
    /// equals that on which the peer was last heard. What it echoes then measures that path.
    pub(super) fn mack_path(&self) -> Option<usize> {
        let up = (0..self.paths.len()).filter(|&index| self.paths[index].is_up);
        up.max_by_key(|&index| {
            let unanswered = self.paths[index].arrivals.unanswered;
            (unanswered, index == self.heard_path)
        })
    }

    /// Returns the time at which a path becomes silent if nothing is heard of what it has carried: twice the time of an
    /// answer after it left.
    fn silent_at(&self, index: usize) -> Option<Instant> {
        let path = &self.paths[index];
        if !path.is_up || path.silent.is_some() || !self.is_live_without(index) {
            return None;
        }
        let &(at, _) = path.sent.front()?;
        let within = path.rate.answer_within(self.configuration.mack_delay);
        Some(at + within.saturating_mul(2))
    }

    /// Returns the time at which a silent path is asked next whether it carries anything again; as long as there is
    /// something to carry.
    fn ask_at(&self, index: usize) -> Option<Instant> {
        let path = &self.paths[index];
        let silence = path.silent.filter(|_| path.is_up)?;
        let asks = self.is_live_without(index) && self.waits_for_peer();
        asks.then_some(silence.ask_at)
    }

    /// Returns the time at which [`note_silence`](Self::note_silence) or [`ask_silent`](Self::ask_silent) has something
    /// to do.
    pub(super) fn silence_deadline(&self) -> Option<Instant> {
        if self.paths.len() < 2 {
            return None;
        }
        (0..self.paths.len())
            .flat_map(|index| [self.silent_at(index), self.ask_at(index)])
            .flatten()
            .min()
    }

    /// Leaves out the paths over which nothing is answered, and has sent again over others what is on its way there.
    pub(super) fn note_silence(&mut self, now: Instant) {
        if self.paths.len() < 2 {
            return;
        }
        for index in 0..self.paths.len() {
            self.sender.forget_known(index, &mut self.paths[index]);
            if self.silent_at(index).is_some_and(|at| at <= now) {
                self.sender.lose_path(index, &mut self.paths[index]);
                self.paths[index].silent = Some(Silence {
                    since: now,
                    ask_at: now,
                    asked: 0,
                });
            }
        }
    }

    /// Asks over a silent path for an answer, which comes over it, too.
    pub(super) fn ask_silent(&mut self, now: Instant) -> Option<Transmission> {
        let due = |&index: &usize| self.ask_at(index).is_some_and(|at| at <= now);
        let index = (0..self.paths.len()).find(due)?;
        let first = self.paths[index]
            .rate
            .answer_within(self.configuration.mack_delay);
        if let Some(silence) = &mut self.paths[index].silent {
            silence.ask_at = now + Self::next_question(first, silence.asked);
            silence.asked += 1;
        }
        self.statistics.probes += 1;
        Some(self.send_question(now, index))
    }

    /// The pause to the next question after so many without an answer, of which the first is due within `first`.
    pub(super) fn next_question(first: Duration, asked: u32) -> Duration {
        /// A peer that does not answer is asked at least this often, or once a round trip if that is longer: little of a
        /// contact is lost, and little is sent in vain.
        const LONGEST: Duration = Duration::from_millis(150);
        let doubled = first.saturating_mul(1 << asked.min(16));
        doubled.min(first.max(LONGEST))
    }
}
