//! Round-trip time and retransmission timeout (RFC 6298), in the arithmetic of the profile.

use super::profile::{Profile, RtoArithmetic};
use crate::time::{Duration, Instant};

/// Estimates the round-trip time and from it the retransmission timeout.
#[derive(Debug)]
pub(super) struct RttEstimator {
    arithmetic: RtoArithmetic,
    tick: Duration,
    minimum_rto: Duration,
    maximum_rto: Duration,
    smoothed: Option<Duration>,
    variation: Duration,
    minimum: Option<Duration>,
    latest: Option<Duration>,
    /// Without backoff and bounds.
    base: Duration,
    /// Doublings since the last sample (RFC 6298 section 5.5).
    backoff: u32,
}

impl RttEstimator {
    pub(super) fn new(profile: &Profile) -> RttEstimator {
        RttEstimator {
            arithmetic: profile.rto_arithmetic,
            tick: profile.tick,
            minimum_rto: profile.minimum_rto,
            maximum_rto: profile.maximum_rto,
            smoothed: None,
            variation: Duration::ZERO,
            minimum: None,
            latest: None,
            base: profile.initial_rto,
            backoff: 0,
        }
    }

    pub(super) fn smoothed(&self) -> Option<Duration> {
        self.smoothed
    }

    pub(super) fn variation(&self) -> Duration {
        self.variation
    }

    pub(super) fn minimum(&self) -> Option<Duration> {
        self.minimum
    }

    pub(super) fn latest(&self) -> Option<Duration> {
        self.latest
    }

    /// What a stack with this tick measures between two moments: the difference of two readings of a clock
    /// that counts ticks, at least one.
    pub(super) fn measure(&self, sent: Instant, now: Instant) -> Duration {
        let tick = self.tick.as_nanos();
        if tick == 0 {
            return now.saturating_since(sent);
        }
        let ticks = (now.as_nanos() / tick).saturating_sub(sent.as_nanos() / tick);
        Duration::from_nanos(ticks.max(1).saturating_mul(tick))
    }

    /// Takes a sample, which ends any backoff. `window_segments` is the congestion window in segments, which
    /// only the arithmetic of Linux 2.0 looks at.
    pub(super) fn sample(&mut self, rtt: Duration, window_segments: u32) {
        self.latest = Some(rtt);
        self.minimum = Some(self.minimum.map_or(rtt, |minimum| minimum.min(rtt)));
        let smoothed = match self.smoothed {
            // RFC 6298 section 2.2.
            None => {
                self.variation = half(rtt);
                rtt
            }
            // Section 2.3: alpha = 1/8, beta = 1/4, the variation first.
            Some(smoothed) => {
                let error = if smoothed > rtt {
                    smoothed - rtt
                } else {
                    rtt - smoothed
                };
                self.variation = weighted(self.variation, error, 4);
                weighted(smoothed, rtt, 8)
            }
        };
        self.smoothed = Some(smoothed);
        self.base = self.timeout_of(smoothed, window_segments);
        self.backoff = 0;
    }

    fn timeout_of(&self, smoothed: Duration, window_segments: u32) -> Duration {
        match self.arithmetic {
            RtoArithmetic::Rfc6298 => {
                let four = self.variation.saturating_mul(4);
                smoothed + four.max(self.tick)
            }
            RtoArithmetic::Linux20 => {
                let sum = smoothed + self.variation.saturating_mul(4);
                let nanoseconds = sum.as_nanos();
                let burst = nanoseconds >> window_segments.saturating_sub(1).min(63);
                sum + Duration::from_nanos(nanoseconds / 4) + Duration::from_nanos(burst)
            }
        }
    }

    /// The timeout in force, backoff included.
    pub(super) fn rto(&self) -> Duration {
        self.timeout(self.backoff)
    }

    /// The timeout doubled `doublings` times instead.
    pub(super) fn timeout(&self, doublings: u32) -> Duration {
        let bounded = self
            .base
            .round_up_to(self.tick)
            .max(self.minimum_rto)
            .min(self.maximum_rto);
        bounded
            .saturating_mul(1 << doublings.min(32))
            .min(self.maximum_rto)
    }

    /// The timer went off.
    pub(super) fn back_off(&mut self) {
        self.backoff = self.backoff.saturating_add(1);
    }

    /// The handshake is over. If it took a retransmission and measured nothing, data starts with at least
    /// 3 s (RFC 6298 section 5.7).
    pub(super) fn handshake_retransmitted(&mut self) {
        self.backoff = 0;
        if self.smoothed.is_none() {
            self.base = self.base.max(Duration::from_secs(3));
        }
    }
}

fn half(duration: Duration) -> Duration {
    Duration::from_nanos(duration.as_nanos() / 2)
}

/// The average that gives `new` a share of 1/`parts`.
fn weighted(old: Duration, new: Duration, parts: u64) -> Duration {
    let (old, new) = (old.as_nanos(), new.as_nanos());
    let moved = if new >= old {
        old + (new - old) / parts
    } else {
        old - (old - new) / parts
    };
    Duration::from_nanos(moved)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn milliseconds(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    fn estimator(name: &str) -> RttEstimator {
        RttEstimator::new(&Profile::named(name).unwrap())
    }

    /// Worked by hand from RFC 6298 section 2: R = 2 s gives SRTT 2 s, RTTVAR 1 s, RTO 6 s; then R' = 1 s gives
    /// RTTVAR 3/4·1 + 1/4·1 = 1 s, SRTT 7/8·2 + 1/8·1 = 1.875 s, RTO 5.875 s.
    #[test]
    fn rfc_6298_by_hand() {
        let mut rtt = estimator("rfc");
        assert_eq!(rtt.rto(), milliseconds(1_000), "before any sample");
        rtt.sample(milliseconds(2_000), 1);
        assert_eq!(rtt.rto(), milliseconds(6_000));
        rtt.sample(milliseconds(1_000), 1);
        assert_eq!(rtt.smoothed(), Some(milliseconds(1_875)));
        assert_eq!(rtt.rto(), milliseconds(5_875));
    }

    #[test]
    fn the_timeout_is_bounded_and_doubles_until_a_sample() {
        let mut rtt = estimator("rfc");
        rtt.sample(milliseconds(10), 1);
        assert_eq!(rtt.rto(), milliseconds(1_000), "RFC 6298 section 2.4");
        for seconds in [2, 4, 8, 16, 32, 60, 60] {
            rtt.back_off();
            assert_eq!(rtt.rto(), Duration::from_secs(seconds));
        }
        rtt.sample(milliseconds(10), 1);
        assert_eq!(rtt.rto(), milliseconds(1_000));
    }

    #[test]
    fn a_coarse_clock_counts_ticks() {
        let rtt = estimator("linux-2.0.36");
        let measured =
            |sent, now| rtt.measure(Instant::from_millis(sent), Instant::from_millis(now));
        assert_eq!(measured(9, 11), milliseconds(10));
        assert_eq!(measured(11, 19), milliseconds(10), "at least one tick");
        assert_eq!(measured(19, 41), milliseconds(30));
    }

    /// T6: segments that took some 16 s give an RTO near 20 s; when the time falls to a few milliseconds the
    /// RTO rises above 50 s before it comes down to the floor of 200 ms.
    #[test]
    fn linux_2_0_raises_the_timeout_when_the_round_trip_gets_shorter() {
        let mut rtt = estimator("linux-2.0.36");
        for _ in 0..40 {
            rtt.sample(milliseconds(16_000), 11);
        }
        let steady = rtt.rto();
        assert!(steady > milliseconds(18_000) && steady < milliseconds(22_000));
        let mut highest = Duration::ZERO;
        let mut samples = 0;
        while rtt.rto() > milliseconds(200) {
            rtt.sample(milliseconds(10), 11);
            highest = highest.max(rtt.rto());
            assert_eq!(rtt.rto().as_nanos() % 10_000_000, 0, "in whole ticks");
            samples += 1;
        }
        assert!(highest > milliseconds(50_000) && highest < milliseconds(60_000));
        assert!((30..80).contains(&samples), "{samples}");
    }
}
