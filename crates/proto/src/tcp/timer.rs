//! A connection's timers: an enum and a small table of deadlines.

use super::profile::Profile;
use crate::time::{Duration, Instant};

/// Purpose of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timer {
    /// Retransmission of SYN, data or FIN (RFC 6298).
    Retransmission = 0,
    /// Probe of a closed window (RFC 9293 section 3.8.6.1), or of one too small for a full segment.
    Persist = 1,
    /// End of an ACK's delay (RFC 1122 section 4.2.3.2).
    DelayedAck = 2,
    /// End of TIME-WAIT.
    TimeWait = 3,
    /// Departure of a paced sender's next burst.
    Pacing = 4,
}

/// Length of Linux's tick: `CONFIG_HZ` 250, the default of the kernel's own configuration.
const JIFFY: u64 = 4_000_000;

/// Returns the time at which Linux's timer set to `after` expires. Its wheel (`kernel/time/timer.c`) has levels of 64
/// slots, each eight times as coarse as the one below, and rounds up so that no timer is early.
fn wheel(now: Instant, after: Duration) -> Instant {
    let delay = after.as_nanos().div_ceil(JIFFY);
    let mut slot = 1;
    while slot < (1 << 24) && delay >= 63 * slot {
        slot *= 8;
    }
    let due = now.as_nanos() / JIFFY + delay;
    // A power of two: rounded by a mask.
    let due = (due + slot) & !(slot - 1);
    Instant::from_nanos(due.saturating_mul(JIFFY))
}

impl Timer {
    pub(super) const ALL: [Timer; 5] = [
        Timer::Retransmission,
        Timer::Persist,
        Timer::DelayedAck,
        Timer::TimeWait,
        Timer::Pacing,
    ];
}

/// Deadlines, and the granularity of timers.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimerTable {
    /// [`Instant::NEVER`] for a timer that is not set: the earliest deadline is found by comparisons alone.
    deadlines: [Instant; Timer::ALL.len()],
    /// Length of a tick: timers expire at whole ticks.
    tick: Duration,
    /// True if Linux's wheel replaces the tick.
    wheel: bool,
}

impl TimerTable {
    pub(super) fn new(profile: &Profile) -> TimerTable {
        TimerTable {
            deadlines: [Instant::NEVER; Timer::ALL.len()],
            tick: profile.tick,
            wheel: profile.timer_wheel,
        }
    }

    /// Sets an exact timer.
    pub(super) fn set(&mut self, timer: Timer, at: Instant) {
        self.deadlines[timer as usize] = at;
    }

    /// Sets a timer with the granularity of the stack's clock.
    pub(super) fn set_after(&mut self, timer: Timer, now: Instant, after: Duration) {
        if self.wheel {
            return self.set(timer, wheel(now, after));
        }
        let at = (now + after).as_nanos();
        let at = Duration::from_nanos(at).round_up_to(self.tick);
        self.set(timer, Instant::from_nanos(at.as_nanos()));
    }

    pub(super) fn stop(&mut self, timer: Timer) {
        self.deadlines[timer as usize] = Instant::NEVER;
    }

    pub(super) fn stop_all(&mut self) {
        self.deadlines = [Instant::NEVER; Timer::ALL.len()];
    }

    pub(super) fn is_set(&self, timer: Timer) -> bool {
        self.deadlines[timer as usize] != Instant::NEVER
    }

    pub(super) fn deadline(&self, timer: Timer) -> Option<Instant> {
        let at = self.deadlines[timer as usize];
        (at != Instant::NEVER).then_some(at)
    }

    /// Returns the earliest deadline.
    pub(super) fn next(&self) -> Option<Instant> {
        let next = self
            .deadlines
            .iter()
            .copied()
            .fold(Instant::NEVER, Instant::min);
        (next != Instant::NEVER).then_some(next)
    }

    /// Returns true if `timer` is due, and stops it in that case.
    pub(super) fn take_due(&mut self, timer: Timer, now: Instant) -> bool {
        let due = self.deadlines[timer as usize] <= now;
        if due {
            self.stop(timer);
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the table at the head of Linux's `kernel/time/timer.c` for HZ 250: 4 ms up to 255 ms, 32 ms up to 2 s,
    /// 256 ms up to 16 s, 2 s up to 131 s.
    #[test]
    fn long_timers_are_coarse_and_never_early() {
        for (after, granularity) in [
            (40, 4),
            (248, 4),
            (300, 32),
            (1_000, 32),
            (2_480, 256),
            (20_000, 2_048),
        ] {
            for now in [0, 1, 3, 4, 1_000, 12_345] {
                let now = Instant::from_millis(now);
                let after = Duration::from_millis(after);
                let late = wheel(now, after).saturating_since(now + after);
                assert!(
                    !late.is_zero() && late <= Duration::from_millis(granularity + 4),
                    "{after:?} {late:?}"
                );
                let due = wheel(now, after).as_nanos();
                assert_eq!(due % (granularity * 1_000_000), 0);
            }
        }
    }
}
