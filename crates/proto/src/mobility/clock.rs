//! The clock behind the timestamps of Mobile IPv4 and of micro-mobility, and the replay protection by them (RFC 5944
//! section 5.7.1).

use crate::time::{Duration, Instant};

/// Maximum difference between a request's timestamp and the agent's time (RFC 5944 section 5.7.1's default).
pub const REPLAY_TOLERANCE: Duration = Duration::from_secs(7);

/// Seconds from the NTP epoch (1900) to the start of a run. Chosen: the beginning of 2020, so that captures show a
/// time.
const START: i64 = 3_786_825_600;

/// A node's time of day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    /// Seconds by which it is ahead of the run's time; negative if behind.
    pub ahead_seconds: i64,
}

impl Clock {
    /// Returns the time in NTP's format: seconds in the upper 32 bits, units of 2⁻³² seconds in the lower.
    pub fn timestamp(self, now: Instant) -> u64 {
        let nanoseconds = now.as_nanos();
        let seconds = (nanoseconds / 1_000_000_000) as i64;
        let seconds = START.wrapping_add(seconds).wrapping_add(self.ahead_seconds);
        let fraction = ((nanoseconds % 1_000_000_000) << 32) / 1_000_000_000;
        (u64::from(seconds as u32) << 32) | fraction
    }

    /// Returns true if a timestamp differs from this clock by at most [`REPLAY_TOLERANCE`].
    pub fn is_near(self, timestamp: u64, now: Instant) -> bool {
        let tolerance = (REPLAY_TOLERANCE.as_nanos() / 1_000_000_000) << 32;
        self.timestamp(now).abs_diff(timestamp) <= tolerance
    }

    /// Adopts the seconds of another clock's timestamp.
    pub fn synchronise(&mut self, now: Instant, timestamp: u64) {
        let ours = self.timestamp(now) >> 32;
        let difference = (timestamp >> 32) as i64 - ours as i64;
        self.ahead_seconds = self.ahead_seconds.wrapping_add(difference);
    }
}
