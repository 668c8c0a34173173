//! The standard library's time for `quinn-proto`.

use baton_proto::time::Instant;
use core::time::Duration;

/// Conversion between the host's time and the standard library's, in which only differences count.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StopWatch {
    /// Stands for the host's time zero.
    zero: std::time::Instant,
}

impl StopWatch {
    /// Begins at any moment: there is no way to make one but to ask the clock.
    #[allow(
        clippy::disallowed_methods,
        reason = "only differences to this moment are used"
    )]
    pub fn new() -> StopWatch {
        StopWatch {
            zero: std::time::Instant::now(),
        }
    }

    /// Returns the standard library's name of a moment.
    pub fn outside(&self, at: Instant) -> std::time::Instant {
        self.zero + Duration::from_nanos(at.as_nanos())
    }

    /// Returns the host's name of a moment.
    pub fn inside(&self, at: std::time::Instant) -> Instant {
        let since = at.saturating_duration_since(self.zero).as_nanos();
        Instant::from_nanos(u64::try_from(since).unwrap_or(u64::MAX))
    }
}
