//! A connection's timers: an enum and a small table of deadlines.

use crate::time::Instant;

/// What a deadline is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timer {
    /// Something unacknowledged is to be sent again: SYN, data or FIN (RFC 6298).
    Retransmission = 0,
    /// The peer's window has stopped us (RFC 9293 section 3.8.6.1), or keeps us from sending a full segment.
    Persist = 1,
    /// An acknowledgment has waited long enough (RFC 1122 section 4.2.3.2).
    DelayedAck = 2,
    /// TIME-WAIT is over.
    TimeWait = 3,
}

impl Timer {
    pub(super) const ALL: [Timer; 4] = [
        Timer::Retransmission,
        Timer::Persist,
        Timer::DelayedAck,
        Timer::TimeWait,
    ];
}

/// Deadlines, one for each timer that is set.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TimerTable {
    deadlines: [Option<Instant>; Timer::ALL.len()],
}

impl TimerTable {
    pub(super) fn set(&mut self, timer: Timer, at: Instant) {
        self.deadlines[timer as usize] = Some(at);
    }

    pub(super) fn stop(&mut self, timer: Timer) {
        self.deadlines[timer as usize] = None;
    }

    pub(super) fn stop_all(&mut self) {
        self.deadlines = Default::default();
    }

    pub(super) fn is_set(&self, timer: Timer) -> bool {
        self.deadlines[timer as usize].is_some()
    }

    /// The first deadline of all.
    pub(super) fn next(&self) -> Option<Instant> {
        self.deadlines.iter().flatten().min().copied()
    }

    /// Whether `timer` is due; it is stopped if so.
    pub(super) fn take_due(&mut self, timer: Timer, now: Instant) -> bool {
        let due = self.deadlines[timer as usize].is_some_and(|at| at <= now);
        if due {
            self.stop(timer);
        }
        due
    }
}
