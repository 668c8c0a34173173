//! The time after which a bundle without a custody signal is sent again.

use super::reception::SIGNAL_DELAY;
use crate::time::{Duration, Instant};

/// Smoothed time from a bundle to its custody signal, and its variation (RFC 6298 section 2). It begins with the link's
/// round-trip time, in place of the RFC's one second before the first sample.
#[derive(Clone, Copy, Debug)]
pub struct RoundTrip {
    begun: Instant,
    smoothed: Duration,
    variation: Duration,
}

impl RoundTrip {
    /// Begins at `now` with the link's round-trip time.
    pub fn begin(now: Instant, round_trip: Duration) -> RoundTrip {
        let smoothed = round_trip + SIGNAL_DELAY;
        RoundTrip {
            begun: now,
            smoothed,
            variation: smoothed.half(),
        }
    }

    /// Takes in a transmission and the time of its signal: smoothing by 1/8, the variation's by 1/4. A transmission
    /// before the beginning is no sample: the time to its signal includes an outage.
    pub fn sample(&mut self, sent: Instant, now: Instant) {
        if sent < self.begun {
            return;
        }
        let (old, new) = (
            self.smoothed.as_nanos(),
            now.saturating_since(sent).as_nanos(),
        );
        let variation = self.variation.as_nanos();
        self.variation = Duration::from_nanos(variation - variation / 4 + old.abs_diff(new) / 4);
        self.smoothed = Duration::from_nanos(old - old / 8 + new / 8);
    }

    /// Returns the time of a custody timer. The RFC's clock granularity is the delay of a signal.
    pub fn timeout(&self) -> Duration {
        let variation = self.variation.saturating_mul(4);
        self.smoothed + variation.max(SIGNAL_DELAY)
    }
}
