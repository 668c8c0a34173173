//! The time of day as registrations carry it, and what is refused for it (RFC 5944 section 5.7.1).

use crate::time::{Duration, Instant};

/// A request whose time differs by more than this from the agent's is refused (RFC 5944 section 5.7.1's default).
pub const REPLAY_TOLERANCE: Duration = Duration::from_secs(7);

/// Seconds from NTP's zero (1900) to the start of a run, which is taken to be the beginning of 2020: chosen, so that
/// captures show a time.
const START: i64 = 3_786_825_600;

/// A node's time of day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    /// Seconds by which it goes before the run's time; negative behind.
    pub ahead_seconds: i64,
}

impl Clock {
    /// The time in NTP's format: seconds above, 2⁻³² seconds below.
    pub fn timestamp(self, now: Instant) -> u64 {
        let nanoseconds = now.as_nanos();
        let seconds = (nanoseconds / 1_000_000_000) as i64;
        let seconds = START.wrapping_add(seconds).wrapping_add(self.ahead_seconds);
        let fraction = ((nanoseconds % 1_000_000_000) << 32) / 1_000_000_000;
        (u64::from(seconds as u32) << 32) | fraction
    }

    /// Whether a timestamp is near enough to this clock's.
    pub fn is_near(self, timestamp: u64, now: Instant) -> bool {
        let tolerance = (REPLAY_TOLERANCE.as_nanos() / 1_000_000_000) << 32;
        self.timestamp(now).abs_diff(timestamp) <= tolerance
    }

    /// Takes over the seconds of a timestamp that another clock answered with.
    pub fn synchronise(&mut self, now: Instant, timestamp: u64) {
        let ours = self.timestamp(now) >> 32;
        let difference = (timestamp >> 32) as i64 - ours as i64;
        self.ahead_seconds = self.ahead_seconds.wrapping_add(difference);
    }
}
