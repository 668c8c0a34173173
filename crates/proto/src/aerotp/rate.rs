//! The rate of a path: initially that of the layer below, and less when routers or the receiver report that it is too
//! high, or marks of packets do.
//!
//! Losses do not change the rate: error control is separate from rate control (study A, section III-A).

use crate::rate::DataRate;
use crate::time::{Duration, Instant};

/// Time after a router's report before the rate grows again.
const OBEYED: Duration = Duration::from_secs(1);
/// Interval in which it then grows by a twentieth.
const STEP: Duration = Duration::from_millis(100);
/// Excess of a round-trip time over the shortest one that shows a queue.
const QUEUE: Duration = Duration::from_millis(100);
/// Age at which the shortest round-trip time is discarded, since paths change.
const REMEMBERED: Duration = Duration::from_secs(30);

/// The rate of one path, or of a link that the paths of several connections share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RateControl {
    rate: DataRate,
    /// Limit of the layer below.
    limit: DataRate,
    /// Earliest time at which the rate grows.
    grows_at: Instant,
    /// Earliest time at which marks of packets count: once in a round trip.
    marks_at: Instant,
    smoothed: Option<Duration>,
    variation: Duration,
    shortest: Duration,
    shortest_at: Instant,
}

impl RateControl {
    pub(crate) fn new(limit: DataRate) -> RateControl {
        RateControl {
            rate: limit,
            limit,
            grows_at: Instant::ZERO,
            marks_at: Instant::ZERO,
            smoothed: None,
            variation: Duration::ZERO,
            shortest: Duration::MAX,
            shortest_at: Instant::ZERO,
        }
    }

    pub(crate) fn rate(&self) -> DataRate {
        self.rate
    }

    pub(crate) fn limit(&self) -> DataRate {
        self.limit
    }

    pub(crate) fn smoothed(&self) -> Option<Duration> {
        self.smoothed
    }

    /// Returns the time until an answer to a packet sent now is due, if the peer delays it by at most `held`.
    pub(crate) fn answer_within(&self, held: Duration) -> Duration {
        /// Before the first sample; near the round trip over a geostationary satellite, chosen.
        const UNKNOWN: Duration = Duration::from_millis(500);
        const LEAST: Duration = Duration::from_millis(10);
        match self.smoothed {
            None => UNKNOWN,
            Some(smoothed) => smoothed + self.variation.saturating_mul(4).max(LEAST) + held,
        }
    }

    /// Takes in the layer below's rate for a new path.
    pub(crate) fn set_limit(&mut self, limit: DataRate) {
        *self = RateControl::new(limit);
    }

    /// Takes in a new rate of the layer below for the same path.
    pub(crate) fn follow(&mut self, limit: DataRate) {
        self.limit = limit;
        self.rate = limit;
    }

    /// Takes in a router's report: its queue fills, and it can forward so much of this.
    pub(crate) fn backpressure(&mut self, now: Instant, rate: DataRate) {
        self.rate = rate.min(self.limit);
        self.grows_at = now + OBEYED;
    }

    /// Takes in a round-trip time sample, with the receiver's report of the arrival rate.
    pub(crate) fn measured(&mut self, now: Instant, rtt: Duration, arrival_rate: DataRate) {
        let smoothed = match self.smoothed {
            None => {
                self.variation = Duration::from_nanos(rtt.as_nanos() / 2);
                rtt
            }
            Some(smoothed) => {
                let [new, old] = [rtt.as_nanos(), smoothed.as_nanos()];
                let variation = (3 * self.variation.as_nanos() + old.abs_diff(new)) / 4;
                self.variation = Duration::from_nanos(variation);
                Duration::from_nanos((7 * old + new) / 8)
            }
        };
        self.smoothed = Some(smoothed);
        let old = now.saturating_since(self.shortest_at) > REMEMBERED;
        if rtt <= self.shortest || old {
            self.shortest = rtt;
            self.shortest_at = now;
        }
        self.adjust(now, rtt, arrival_rate);
    }

    /// Takes in that packets have met a congested queue on the way.
    pub(crate) fn congested(&mut self, now: Instant, arrival_rate: DataRate) {
        if now >= self.marks_at && arrival_rate > DataRate::ZERO {
            self.drain(now, arrival_rate);
            self.marks_at = self.grows_at;
        }
    }

    /// Lowers the rate while the round-trip time shows a queue that no router reports, and lets it grow otherwise.
    fn adjust(&mut self, now: Instant, rtt: Duration, arrival_rate: DataRate) {
        if now < self.grows_at {
            return;
        }
        if rtt > self.shortest + QUEUE && arrival_rate > DataRate::ZERO {
            self.drain(now, arrival_rate);
        } else {
            self.grow(now);
        }
    }

    /// Lowers the rate slightly below the arrival rate, so that a queue drains.
    fn drain(&mut self, now: Instant, arrival_rate: DataRate) {
        let bits = self.rate.bits_per_second();
        let drained = arrival_rate.bits_per_second() / 10 * 9;
        self.rate = DataRate::from_bits_per_second(bits.min(drained.max(bits / 2)));
        self.grows_at = now + self.smoothed.unwrap_or(STEP);
    }

    /// Takes in time without reports.
    pub(crate) fn grow(&mut self, now: Instant) {
        if now < self.grows_at || self.rate >= self.limit {
            return;
        }
        let bits = self.rate.bits_per_second();
        // From nothing, too.
        let step = (bits / 20).max(self.limit.bits_per_second() / 100);
        self.rate = DataRate::from_bits_per_second(bits + step).min(self.limit);
        self.grows_at = now + STEP;
    }
}
