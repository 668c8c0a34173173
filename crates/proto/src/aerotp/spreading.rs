//! Choice of the next packet's path, and of silent paths: those without answers although other paths have them.

use super::Transmission;
use super::connection::Connection;
use super::path::PathId;
use crate::time::{Duration, Instant};

/// A path without answers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Silence {
    /// Start of the silence. An answer to a later packet ends it.
    pub since: Instant,
    /// Time of the next probe.
    ask_at: Instant,
    /// Probes so far.
    asked: u32,
}

impl Connection {
    /// Returns true if data is sent over a path: it is good, or it is up and no other is good.
    fn is_usable(&self, index: usize) -> bool {
        let path = &self.paths[index];
        path.is_good() || path.is_up && !self.is_live_without(index)
    }

    /// Returns true if there is another path that is good: up, not about to go down, and not silent.
    fn is_live_without(&self, index: usize) -> bool {
        let mut others = self.paths.iter().enumerate();
        others.any(|(other, path)| other != index && path.is_good())
    }

    /// Returns the paths for data.
    fn usable(&self) -> impl Iterator<Item = usize> {
        (0..self.paths.len()).filter(|&index| self.is_usable(index))
    }

    /// Returns true if data leaves only over links that are about to go down.
    pub(super) fn leaves_all_links(&self) -> bool {
        self.usable().all(|index| self.paths[index].is_leaving)
    }

    /// Returns the path of the next data: the first free one of those for data, and the time when it is free.
    pub(super) fn next_path(&self) -> Option<(usize, Instant)> {
        let free = self
            .usable()
            .map(|index| (index, self.paths[index].free_at));
        free.min_by_key(|&(_, free_at)| free_at)
    }

    /// Returns the path of the first packet, and the time when it is free: the one over which it arrives first, if that is
    /// known of all, or else that of data.
    pub(super) fn first_path(&self, now: Instant) -> Option<(usize, Instant)> {
        let arrival = |index: usize| {
            let path = &self.paths[index];
            path.takes.map(|takes| path.free_at.max(now) + takes)
        };
        if self.usable().any(|index| arrival(index).is_none()) {
            return self.next_path();
        }
        let first = self.usable().min_by_key(|&index| arrival(index));
        first.map(|index| (index, self.paths[index].free_at))
    }

    /// Returns the largest packet that any path takes, in bytes behind the IP header: a record that is lost on one may be
    /// retransmitted on any, in one piece.
    pub(super) fn packet_room(&self) -> u32 {
        let rooms = self.paths.iter().map(|path| path.room());
        rooms.min().unwrap_or(0)
    }

    /// Returns the time until an answer to a packet sent now is due, over any path.
    pub(super) fn answer_within(&self) -> Duration {
        let held = self.configuration.mack_delay;
        let within = |index: usize| self.paths[index].rate.answer_within(held);
        let longest = self.usable().map(within).max();
        longest.unwrap_or_else(|| within(0))
    }

    /// Returns true if a MACK is to leave now.
    pub(super) fn is_mack_due(&self, now: Instant) -> bool {
        let due = [self.mack_due, self.confirmation_due];
        due.into_iter().flatten().any(|due| due <= now)
    }

    /// Returns the path of the next MACK: with a confirmation the quickest, since whoever sent the data waits for it. Others
    /// take, of the paths that are up, the one with the most packets since its last MACK, and among equals the one of the
    /// latest packet. So the timestamp echo is for that path.
    pub(super) fn mack_path(&self, now: Instant) -> Option<usize> {
        if self.confirmation_due.is_some_and(|due| due <= now) {
            return self.quickest_path();
        }
        let up = (0..self.paths.len()).filter(|&index| self.paths[index].is_up);
        up.max_by_key(|&index| {
            let unanswered = self.paths[index].arrivals.unanswered;
            (unanswered, index == self.heard_path)
        })
    }

    /// Returns the path over which the latest packets took the shortest time, of those that are up, and good if any is. The
    /// peer's clock need not be this end's: all paths share the difference.
    pub(super) fn quickest_path(&self) -> Option<usize> {
        let base = self.paths[self.heard_path].arrivals.lag();
        let up = (0..self.paths.len()).filter(|&index| self.paths[index].is_up);
        up.min_by_key(|&index| {
            let path = &self.paths[index];
            let lag = path.arrivals.lag().zip(base);
            let longer = lag.map_or(i32::MAX, |(lag, base)| lag.wrapping_sub(base).cast_signed());
            (!path.is_good(), longer, index != self.heard_path)
        })
    }

    /// Returns the time at which a path becomes silent without an answer to its packets: twice the time of an answer
    /// after they left.
    fn silent_at(&self, index: usize) -> Option<Instant> {
        let path = &self.paths[index];
        if self.shares_links || !path.is_up || path.silent.is_some() || !self.is_live_without(index)
        {
            return None;
        }
        let &(at, _) = path.sent.front()?;
        let within = path.rate.answer_within(self.configuration.mack_delay);
        Some(at + within.saturating_mul(2))
    }

    /// Returns the time of the next probe of a silent path; `None` without data to carry.
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

    /// Leaves out paths without answers, and retransmits their data in flight over others.
    pub(super) fn note_silence(&mut self, now: Instant) {
        if self.paths.len() < 2 {
            return;
        }
        for index in 0..self.paths.len() {
            self.sender.forget_known(index, &mut self.paths[index]);
            if self.silent_at(index).is_some_and(|at| at <= now) {
                self.fall_silent(now, PathId(index as u8));
            }
        }
    }

    /// Leaves out a path without answers, and retransmits its data in flight over others.
    pub fn fall_silent(&mut self, now: Instant, path: PathId) {
        let index = usize::from(path.0);
        let Some(path) = self.paths.get_mut(index) else {
            return;
        };
        self.sender.lose_path(index, path);
        path.silent = Some(Silence {
            since: now,
            ask_at: now,
            asked: 0,
        });
    }

    /// Takes in that a silent path has answers again.
    pub fn end_silence(&mut self, path: PathId) {
        if let Some(path) = self.paths.get_mut(usize::from(path.0)) {
            path.silent = None;
        }
    }

    /// Probes a silent path; the answer takes the same path.
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

    /// Returns the pause to the next probe after so many unanswered ones, if the first answer is due within `first`.
    pub(super) fn next_question(first: Duration, asked: u32) -> Duration {
        /// The longest interval of probes, or one round trip if that is longer: so little of a contact is lost, and
        /// little is sent in vain.
        const LONGEST: Duration = Duration::from_millis(150);
        let doubled = first.saturating_mul(1 << asked.min(16));
        doubled.min(first.max(LONGEST))
    }
}
