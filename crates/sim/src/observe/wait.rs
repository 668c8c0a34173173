//! Stalls of one direction.

use crate::world::progress::Progress;
use baton_proto::time::{Duration, Instant};

/// Time after an arrival within which a packet sent by an end responds to it.
pub const TURNAROUND: Duration = Duration::from_millis(10);

/// Progress of one direction, and its waits.
#[derive(Clone, Debug, Default)]
pub(super) struct Wait {
    pub progress: Progress,
    /// Time since which nothing has been outstanding.
    quiet_since: Option<Instant>,
}

impl Wait {
    /// Notes that something is outstanding from now on; `answers` is true if its sender has just received something.
    pub fn begin(&mut self, now: Instant, answers: bool) {
        if let Some(since) = self.quiet_since.take()
            && !(answers && now.saturating_since(since) <= TURNAROUND)
        {
            self.progress.stop_waiting();
        }
        self.progress.start_waiting(now);
    }

    /// Notes the arrival of new bytes; returns the length of the wait for them. [`Wait::rest`] follows if nothing is
    /// outstanding now.
    pub fn deliver(&mut self, now: Instant, bytes: u64) -> Duration {
        self.end_rest();
        self.progress.deliver(now, bytes, true)
    }

    /// Notes a delivery of the other direction, which separates the wait until now from the one that follows.
    pub fn start_anew(&mut self, now: Instant) {
        self.end_rest();
        self.progress.wait_anew(now);
    }

    /// Notes that nothing is outstanding any more.
    pub fn rest(&mut self, now: Instant) {
        self.quiet_since.get_or_insert(now);
    }

    /// Returns the length of the present wait.
    pub fn current(&self, now: Instant) -> Duration {
        match self.quiet_since {
            Some(_) => Duration::ZERO,
            None => self.progress.current_stall(now),
        }
    }

    fn end_rest(&mut self) {
        if self.quiet_since.take().is_some() {
            self.progress.stop_waiting();
        }
    }
}
