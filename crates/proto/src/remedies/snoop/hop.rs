//! The last hop's round-trip time, and the timeout that follows it.

use crate::time::Duration;

/// Shortest timeout, as in Berkeley's code in ns-2 (`SNOOP_MIN_TIMO`).
const SHORTEST_TIMEOUT: Duration = Duration::from_millis(100);
/// Most doublings of the timeout. Chosen: as many as retransmissions of a packet.
pub(super) const MOST_DOUBLINGS: u32 = 10;

/// Round-trip time of the last hop, as far as it is known.
#[derive(Debug, Default)]
pub(super) struct Hop {
    /// Smoothed round-trip time, and its variation (RFC 6298).
    round_trip: Option<(Duration, Duration)>,
    /// Timeouts since the last progress.
    pub backoff: u32,
}

impl Hop {
    /// Takes in an RTT sample.
    pub fn measure(&mut self, sample: Duration) {
        let part = |time: Duration, parts: u64| Duration::from_nanos(time.as_nanos() / parts);
        self.round_trip = Some(match self.round_trip {
            None => (sample, part(sample, 2)),
            Some((smoothed, variation)) => {
                let error = smoothed.max(sample) - smoothed.min(sample);
                let variation = part(variation.saturating_mul(3) + error, 4);
                (part(smoothed.saturating_mul(7) + sample, 8), variation)
            }
        });
    }

    /// Returns the time to wait; `None` before the round-trip time is known: on a slow link a guess would take packets
    /// for lost that are still in flight, and until then the sender's own timer guards.
    pub fn timeout(&self) -> Option<Duration> {
        let doubled = 1 << self.backoff.min(MOST_DOUBLINGS);
        self.round_trip.map(|(smoothed, variation)| {
            let timeout = smoothed + variation.saturating_mul(4);
            timeout.max(SHORTEST_TIMEOUT).saturating_mul(doubled)
        })
    }
}
