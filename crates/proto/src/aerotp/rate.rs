//! The rate of a path: what the layer below says at the start, and less where routers or the receiver say that it is too much.
//!
//! Losses say nothing here: error control is apart from rate control (study A, section III-A).

use crate::rate::DataRate;
use crate::time::{Duration, Instant};

/// After a router has spoken, the rate stays so long before it grows again.
const OBEYED: Duration = Duration::from_secs(1);
/// Then it grows by a twentieth in so long.
const STEP: Duration = Duration::from_millis(100);
/// A round-trip time longer than the shortest by this much stands in a queue.
const QUEUE: Duration = Duration::from_millis(100);
/// The shortest round-trip time is forgotten after so long, since paths change.
const REMEMBERED: Duration = Duration::from_secs(30);

/// The rate of one path.
#[derive(Clone, Copy, Debug)]
pub(super) struct RateControl {
    rate: DataRate,
    /// Limit of the layer below.
    limit: DataRate,
    /// Earliest time at which the rate grows.
    grows_at: Instant,
    smoothed: Option<Duration>,
    variation: Duration,
    shortest: Duration,
    shortest_at: Instant,
}

impl RateControl {
    pub(super) fn new(limit: DataRate) -> RateControl {
        RateControl {
            rate: limit,
            limit,
            grows_at: Instant::ZERO,
            smoothed: None,
            variation: Duration::ZERO,
            shortest: Duration::MAX,
            shortest_at: Instant::ZERO,
        }
    }

    pub(super) fn rate(&self) -> DataRate {
        self.rate
    }

    pub(super) fn smoothed(&self) -> Option<Duration> {
        self.smoothed
    }

    /// By when an answer to a packet sent now is due, if the peer holds it back for no longer than `held`.
    pub(super) fn answer_within(&self, held: Duration) -> Duration {
        /// Before anything was measured; near the round trip over a geostationary satellite, chosen.
        const UNKNOWN: Duration = Duration::from_millis(500);
        const LEAST: Duration = Duration::from_millis(10);
        match self.smoothed {
            None => UNKNOWN,
            Some(smoothed) => smoothed + self.variation.saturating_mul(4).max(LEAST) + held,
        }
    }

    /// The layer below gives the path so much now: it is a new one.
    pub(super) fn set_limit(&mut self, limit: DataRate) {
        *self = RateControl::new(limit);
    }

    /// A router's queue fills: it can pass on so much of this.
    pub(super) fn backpressure(&mut self, now: Instant, rate: DataRate) {
        self.rate = rate.min(self.limit);
        self.grows_at = now + OBEYED;
    }

    /// An answer came after `rtt`; the receiver says at which rate packets arrive.
    pub(super) fn measured(&mut self, now: Instant, rtt: Duration, arrival_rate: DataRate) {
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

    /// Sends no more than arrives, and a little less, while the round-trip time shows a queue that no router reports:
    /// so the queue drains.
    fn adjust(&mut self, now: Instant, rtt: Duration, arrival_rate: DataRate) {
        if now < self.grows_at {
            return;
        }
        let bits = self.rate.bits_per_second();
        if rtt > self.shortest + QUEUE && arrival_rate > DataRate::ZERO {
            let drained = arrival_rate.bits_per_second() / 10 * 9;
            self.rate = DataRate::from_bits_per_second(bits.min(drained.max(bits / 2)));
            self.grows_at = now + self.smoothed.unwrap_or(STEP);
        } else {
            self.grow(now);
        }
    }

    /// Time passes without complaints.
    pub(super) fn grow(&mut self, now: Instant) {
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
