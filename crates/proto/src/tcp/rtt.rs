//! Round-trip time and retransmission timeout (RFC 6298), by the arithmetic of the profile.

use super::profile::{Profile, RtoArithmetic};
use crate::time::{Duration, Instant};
use crate::wire::split_context::RoundTrip;

/// Estimator of the round-trip time and the retransmission timeout.
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
    /// Timeout without backoff and bounds.
    base: Duration,
    /// Doublings since the last sample (RFC 6298 section 5.5).
    backoff: u32,
    /// The present timeout: segments ask for it more often than it changes.
    rto: Duration,
    /// INET: least position of the segment being timed.
    timed: u64,
    linux: LinuxVariation,
}

/// Linux's deviation (`tcp_rtt_estimator` of 6.18), four times RFC 6298's.
#[derive(Clone, Copy, Debug, Default)]
struct LinuxVariation {
    /// Deviation that follows every sample.
    quick: Duration,
    /// Largest deviation in this round trip, at least the floor of the timeout.
    largest: Duration,
    /// Difference of the timeout and the smoothed round-trip time: rises at once, falls once a round trip.
    held: Duration,
    /// Position whose ACK ends the round trip.
    round_end: u64,
}

impl LinuxVariation {
    fn first(&mut self, rtt: Duration, floor: Duration, next: u64) {
        self.quick = rtt.saturating_mul(2);
        self.held = self.quick.max(floor);
        self.largest = self.held;
        self.round_end = next;
    }

    /// Takes in a sample; `smoothed` is the value before it.
    fn update(&mut self, rtt: Duration, smoothed: Duration) {
        let (quick, error) = (self.quick.as_nanos(), {
            let (a, b) = (rtt.as_nanos(), smoothed.as_nanos());
            a.abs_diff(b)
        });
        // A shorter round-trip time raises the deviation eight times more slowly: it needs no longer timeout.
        let up = error.saturating_sub(quick / 4);
        let down = (quick / 4).saturating_sub(error);
        let up = if rtt < smoothed { up / 8 } else { up };
        self.quick = Duration::from_nanos(quick + up - down);
        self.largest = self.largest.max(self.quick);
        self.held = self.held.max(self.largest);
    }

    fn end_round(&mut self, floor: Duration, next: u64) {
        let excess = self.held.saturating_sub(self.largest).as_nanos();
        self.held = Duration::from_nanos(self.held.as_nanos() - excess / 4);
        self.largest = floor;
        self.round_end = next;
    }
}

impl RttEstimator {
    pub(super) fn new(profile: &Profile) -> RttEstimator {
        let mut estimator = RttEstimator {
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
            rto: Duration::ZERO,
            timed: 0,
            linux: LinuxVariation::default(),
        };
        estimator.update_rto();
        estimator
    }

    /// Returns the estimates for a message to another gateway.
    pub(super) fn context(&self) -> RoundTrip {
        RoundTrip {
            smoothed: self.smoothed,
            variation: self.variation,
            timeout: self.base,
            backoff: u8::try_from(self.backoff).unwrap_or(u8::MAX),
        }
    }

    /// Resumes another gateway's estimates. Linux's deviation is the timeout less the smoothed round-trip time. `next`
    /// is "SND.NXT".
    pub(super) fn resume(&mut self, known: &RoundTrip, next: u64) {
        self.smoothed = known.smoothed;
        self.variation = known.variation;
        self.base = known.timeout;
        self.backoff = u32::from(known.backoff);
        self.update_rto();
        self.timed = next;
        if let Some(smoothed) = known.smoothed {
            let held = known.timeout.saturating_sub(smoothed);
            self.linux = LinuxVariation {
                quick: held,
                largest: held,
                held,
                round_end: next,
            };
        }
    }

    /// Takes in a sample by Linux's rules. `acknowledged` and `next` are "SND.UNA" and "SND.NXT", which separate round
    /// trips.
    pub(super) fn sample_as_linux(&mut self, rtt: Duration, acknowledged: u64, next: u64) {
        let floor = self.minimum_rto;
        match self.smoothed {
            None => self.linux.first(rtt, floor, next),
            Some(smoothed) => {
                self.linux.update(rtt, smoothed);
                if acknowledged > self.linux.round_end {
                    self.linux.end_round(floor, next);
                }
            }
        }
        self.sample(rtt, 1);
    }

    /// Updates the shortest round-trip time; [`sample`](Self::sample) does so too.
    pub(super) fn note_minimum(&mut self, rtt: Duration) {
        self.minimum = Some(self.minimum.map_or(rtt, |minimum| minimum.min(rtt)));
    }

    pub(super) fn set_minimum(&mut self, rtt: Duration) {
        self.minimum = Some(rtt);
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

    /// Returns the time between two moments as measured by a stack with this tick: the difference of two clock readings
    /// in ticks, at least one.
    pub(super) fn measure(&self, sent: Instant, now: Instant) -> Duration {
        let tick = self.tick.as_nanos();
        if tick == 0 {
            return now.saturating_since(sent);
        }
        let ticks = (now.as_nanos() / tick).saturating_sub(sent.as_nanos() / tick);
        Duration::from_nanos(ticks.max(1).saturating_mul(tick))
    }

    /// Takes in a sample, which ends any backoff. `window_segments` is the congestion window in segments, used by the
    /// arithmetic of Linux 2.0 only.
    pub(super) fn sample(&mut self, rtt: Duration, window_segments: u32) {
        self.latest = Some(rtt);
        self.note_minimum(rtt);
        let smoothed = match self.smoothed {
            _ if self.arithmetic == RtoArithmetic::Inet => self.sample_as_inet(rtt),
            // RFC 6298 section 2.2.
            None => {
                self.variation = rtt.half();
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
        self.update_rto();
    }

    /// Takes in a sample by INET's arithmetic: both averages begin before the first sample.
    fn sample_as_inet(&mut self, rtt: Duration) -> Duration {
        const FIRST_VARIATION: Duration = Duration::from_millis(750);
        let (smoothed, variation) = match self.smoothed {
            None => (Duration::ZERO, FIRST_VARIATION),
            Some(smoothed) => (smoothed, self.variation),
        };
        let error = Duration::from_nanos(smoothed.as_nanos().abs_diff(rtt.as_nanos()));
        self.variation = weighted(variation, error, 8);
        weighted(smoothed, rtt, 8)
    }

    /// Returns true if an ACK up to `position` ends the timing of a segment. The next segment timed is the first one
    /// sent from now on, at `next`. Always true except in INET's arithmetic.
    pub(super) fn ends_timing(&mut self, position: u64, next: u64) -> bool {
        if self.arithmetic != RtoArithmetic::Inet {
            return true;
        }
        let ends = position > self.timed;
        if ends {
            self.timed = next;
        }
        ends
    }

    fn timeout_of(&self, smoothed: Duration, window_segments: u32) -> Duration {
        match self.arithmetic {
            RtoArithmetic::Inet => smoothed + self.variation.saturating_mul(4),
            RtoArithmetic::Rfc6298 => {
                let four = self.variation.saturating_mul(4);
                smoothed + four.max(self.tick)
            }
            RtoArithmetic::Linux => smoothed + self.linux.held,
            RtoArithmetic::Linux20 => {
                let sum = smoothed + self.variation.saturating_mul(4);
                let nanoseconds = sum.as_nanos();
                let burst = nanoseconds >> window_segments.saturating_sub(1).min(63);
                sum + Duration::from_nanos(nanoseconds / 4) + Duration::from_nanos(burst)
            }
        }
    }

    /// Returns the present timeout, backoff included.
    pub(super) fn rto(&self) -> Duration {
        self.rto
    }

    fn update_rto(&mut self) {
        self.rto = self.timeout(self.backoff);
    }

    /// Returns the timeout doubled `doublings` times instead.
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

    /// Doubles the timeout after an expiry.
    pub(super) fn back_off(&mut self) {
        self.backoff = self.backoff.saturating_add(1);
        self.update_rto();
    }

    /// Ends the handshake after a retransmission. Without a sample, data starts with a timeout of at least 3 s (RFC
    /// 6298 section 5.7).
    pub(super) fn handshake_retransmitted(&mut self) {
        self.backoff = 0;
        if self.smoothed.is_none() {
            self.base = self.base.max(Duration::from_secs(3));
        }
        self.update_rto();
    }
}

/// Returns the weighted average with a share of 1/`parts` for `new`.
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

    /// Worked by hand: A = 0 and D = 0.75 s; a sample of 1.6 s gives A = 0.2 s, D = 0.85625 s, A + 4 D = 3.625 s; a second
    /// one A = 0.375 s, D = 0.92421875 s, 4.071875 s.
    #[test]
    fn inet_by_hand() {
        let mut profile = Profile::rfc();
        profile.rto_arithmetic = RtoArithmetic::Inet;
        let mut rtt = RttEstimator::new(&profile);
        rtt.sample(milliseconds(1_600), 1);
        assert_eq!(rtt.rto(), milliseconds(3_625));
        rtt.sample(milliseconds(1_600), 1);
        assert_eq!(rtt.rto(), Duration::from_nanos(4_071_875_000));
        assert!(rtt.ends_timing(5, 9));
        assert!(!rtt.ends_timing(9, 12), "a segment of the same round trip");
        assert!(rtt.ends_timing(10, 13));
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

    /// Worked by hand from `tcp_rtt_estimator` of Linux 6.18: the floor of 200 ms is a lower bound of four deviations.
    #[test]
    fn linux_adds_at_least_200_ms_and_falls_once_a_round_trip() {
        let mut rtt = estimator("linux-6");
        rtt.sample_as_linux(milliseconds(50), 1, 1);
        assert_eq!(rtt.rto(), milliseconds(250), "50 + max(2 · 50, 200)");
        let mut rtt = estimator("linux-6");
        rtt.sample_as_linux(milliseconds(400), 1, 1);
        assert_eq!(rtt.rto(), milliseconds(1_200), "three times the first");
        // At a steady round-trip time, four deviations fall by a quarter with each sample, 800, 600, 450, but the
        // timeout follows only at the end of a round trip, by a quarter of the distance to the largest deviation in it.
        rtt.sample_as_linux(milliseconds(400), 1, 11);
        rtt.sample_as_linux(milliseconds(400), 1, 11);
        assert_eq!(rtt.rto(), milliseconds(1_200));
        rtt.sample_as_linux(milliseconds(400), 2, 12);
        assert_eq!(rtt.rto(), milliseconds(1_200), "800 was the largest");
        rtt.sample_as_linux(milliseconds(400), 13, 13);
        // Largest since: 3/4 of 337.5 = 253.125. 800 − (800 − 253.125) / 4 = 663.28.
        let rto = rtt.rto().as_nanos() / 1_000;
        assert_eq!(rto, 1_063_281);
        // A longer round-trip time raises it at once: 253.125 + 800 − 63.28 = 989.84; smoothed 400 + 800/8 = 500.
        rtt.sample_as_linux(milliseconds(1_200), 14, 20);
        assert_eq!(rtt.rto().as_nanos() / 1_000, 1_489_843);
    }

    /// T6: segments that took some 16 s give an RTO near 20 s; when the round-trip time falls to a few milliseconds,
    /// the RTO rises above 50 s before it falls to the floor of 200 ms.
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
