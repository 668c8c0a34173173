//! The retransmission timeout: RFC 6298, since nothing is known of TP++'s.

use crate::time::Duration;

/// Timeout before the first sample, and the least one (RFC 6298 sections 2.1 and 2.4).
const LEAST: Duration = Duration::from_secs(1);
/// The longest timeout (RFC 6298 section 2.5).
const LONGEST: Duration = Duration::from_secs(60);

/// Smoothed round-trip time and its variation.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Timeout {
    smoothed: Option<Duration>,
    variation: Duration,
}

impl Timeout {
    /// Takes in the round-trip time of a TPDU that was sent once (RFC 6298 sections 2.2, 2.3 and 3).
    pub fn sample(&mut self, round_trip: Duration) {
        let Some(smoothed) = self.smoothed else {
            self.smoothed = Some(round_trip);
            self.variation = round_trip.half();
            return;
        };
        let (old, new) = (smoothed.as_nanos(), round_trip.as_nanos());
        let variation = self.variation.as_nanos();
        self.variation = Duration::from_nanos(variation - variation / 4 + old.abs_diff(new) / 4);
        self.smoothed = Some(Duration::from_nanos(old - old / 8 + new / 8));
    }

    pub fn smoothed(&self) -> Option<Duration> {
        self.smoothed
    }

    /// Returns the timeout after so many timeouts in a row, doubled by each (RFC 6298 section 5.5).
    pub fn value(&self, earlier: u32) -> Duration {
        let first = match self.smoothed {
            Some(smoothed) => (smoothed + self.variation.saturating_mul(4)).max(LEAST),
            None => LEAST,
        };
        first.saturating_mul(1 << earlier.min(6)).min(LONGEST)
    }
}
