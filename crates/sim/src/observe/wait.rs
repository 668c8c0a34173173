//! One direction's stalls.

use crate::world::progress::Progress;
use baton_proto::time::{Duration, Instant};

/// An end that sends so soon after something came to it was waiting for that.
pub const TURNAROUND: Duration = Duration::from_millis(10);

/// Progress of one direction, and its waits.
#[derive(Clone, Debug, Default)]
pub(super) struct Wait {
    pub progress: Progress,
    /// Since when nothing has been outstanding.
    quiet_since: Option<Instant>,
}

impl Wait {
    /// Something is outstanding from now on; `answers` says whether its sender has just received something.
    pub fn begin(&mut self, now: Instant, answers: bool) {
        if let Some(since) = self.quiet_since.take()
            && !(answers && now.saturating_since(since) <= TURNAROUND)
        {
            self.progress.stop_waiting();
        }
        self.progress.start_waiting(now);
    }

    /// New bytes have come; returns how long they were waited for. [`Wait::rest`] follows if nothing is
    /// outstanding now.
    pub fn deliver(&mut self, now: Instant, bytes: u64) -> Duration {
        self.end_rest();
        self.progress.deliver(now, bytes, true)
    }

    /// The other direction has delivered: what was waited for until now and what will be from now on are two
    /// waits.
    pub fn start_anew(&mut self, now: Instant) {
        self.end_rest();
        self.progress.wait_anew(now);
    }

    /// Nothing is outstanding any more.
    pub fn rest(&mut self, now: Instant) {
        self.quiet_since.get_or_insert(now);
    }

    /// Returns the time for which something has been waited for.
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
