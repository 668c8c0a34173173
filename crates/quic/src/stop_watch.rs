//! The standard library's time, for `quinn-proto`.

use baton_proto::time::Instant;
use core::time::Duration;

/// Conversion between the host's time and the standard library's, in which only differences count.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StopWatch {
    /// Equivalent of the host's time zero.
    zero: std::time::Instant,
}

impl StopWatch {
    /// Maps the host's time zero to this moment: the standard library has no other way to create a time, and only
    /// differences are used.
    pub fn new() -> StopWatch {
        StopWatch {
            zero: std::time::Instant::now(),
        }
    }

    /// Converts a time to the standard library's.
    pub fn outside(&self, at: Instant) -> std::time::Instant {
        self.zero + Duration::from_nanos(at.as_nanos())
    }

    /// Converts a time from the standard library's.
    pub fn inside(&self, at: std::time::Instant) -> Instant {
        let since = at.saturating_duration_since(self.zero).as_nanos();
        Instant::from_nanos(u64::try_from(since).unwrap_or(u64::MAX))
    }
}
