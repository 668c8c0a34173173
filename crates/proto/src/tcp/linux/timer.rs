//! The single retransmission timer: for the timeout, a tail loss probe or reordering (`icsk_pending`).

use super::super::flow::Flow;
use super::super::timer::Timer;
use super::Common;
use crate::time::{Duration, Instant};

/// Purpose of the timer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Pending {
    #[default]
    Timeout,
    Probe,
    Reordering,
}

/// The timer's purpose, which is only set together with the timer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RepairTimer {
    pending: Pending,
}

impl RepairTimer {
    pub(super) fn pending(self) -> Pending {
        self.pending
    }

    pub(super) fn set(
        &mut self,
        common: &mut Common,
        pending: Pending,
        now: Instant,
        after: Duration,
    ) {
        self.pending = pending;
        common.timers.set_after(Timer::Retransmission, now, after);
    }

    /// Cancels the probe or reordering timer that has replaced the timeout.
    pub(super) fn forgo(&mut self) {
        self.pending = Pending::Timeout;
    }

    /// Restarts the timeout.
    pub(super) fn start_timeout(&mut self, flow: &Flow, common: &mut Common, now: Instant) {
        self.set(common, Pending::Timeout, now, flow.rtt.rto());
    }

    /// Restarts the timer as the timeout's (`tcp_rearm_rto`). If it replaces a probe or a reordering timer, the timeout
    /// counts from the last transmission of the oldest segment.
    pub(super) fn rearm(&mut self, flow: &Flow, common: &mut Common, now: Instant) {
        if flow.space.sent.is_empty() {
            common.timers.stop(Timer::Retransmission);
            return self.forgo();
        }
        let armed = common.timers.is_set(Timer::Retransmission);
        if armed && self.pending != Pending::Timeout {
            self.resume(flow, common, now);
        } else {
            self.start_timeout(flow, common, now);
        }
    }

    /// Restores the timeout after a timer in its place has expired; it still counts from the last transmission of the
    /// oldest segment.
    pub(super) fn resume(&mut self, flow: &Flow, common: &mut Common, now: Instant) {
        let after = until_timeout(flow, now).max(Duration::from_nanos(1));
        self.set(common, Pending::Timeout, now, after);
    }

    /// Returns the time left of the timer, or of the timeout that a probe or reordering timer has replaced.
    pub(super) fn timeout_left(
        self,
        flow: &Flow,
        common: &Common,
        now: Instant,
    ) -> Option<Duration> {
        let deadline = common.timers.deadline(Timer::Retransmission)?;
        Some(match self.pending {
            Pending::Timeout => deadline.saturating_since(now),
            _ => until_timeout(flow, now),
        })
    }
}

/// Returns the time until the timeout of the oldest segment, counted from its last transmission.
pub(super) fn until_timeout(flow: &Flow, now: Instant) -> Duration {
    let since = flow.space.sent.first().map_or(now, |first| first.sent_at);
    (since + flow.rtt.rto()).saturating_since(now)
}
