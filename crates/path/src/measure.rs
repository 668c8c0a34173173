//! Measurements of a path at one of its ends: round-trip time, delay variation, loss in each direction, rates.

use crate::message::{Report, Stamp, units};
use baton_proto::time::{Duration, Instant};

/// Seconds over which loss is measured (chosen: long enough for a share of 1% at 10 packets a second).
const WINDOW_SECONDS: usize = 10;

/// Answer time of a path without a known round-trip time (RFC 6298, section 2.1).
const UNKNOWN_ANSWER: Duration = Duration::from_secs(1);
/// Longest wait for an answer (chosen: one datagram held up for a minute must not blind a path).
const LONGEST_ANSWER: Duration = Duration::from_secs(5);

/// Round-trip time and its variation by RFC 6298, section 2, without its granularity and bounds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RoundTrip {
    smoothed: Option<Duration>,
    variation: Duration,
}

impl RoundTrip {
    pub(crate) fn sample(&mut self, sample: Duration) {
        let Some(smoothed) = self.smoothed else {
            self.smoothed = Some(sample);
            self.variation = sample.half();
            return;
        };
        let off = smoothed.as_nanos().abs_diff(sample.as_nanos());
        let mix = |old: u64, new: u64, eighths: u64| {
            Duration::from_nanos(
                (old / 8).saturating_mul(8 - eighths) + (new / 8).saturating_mul(eighths),
            )
        };
        self.variation = mix(self.variation.as_nanos(), off, 2);
        self.smoothed = Some(mix(smoothed.as_nanos(), sample.as_nanos(), 1));
    }

    pub(crate) fn smoothed(&self) -> Option<Duration> {
        self.smoothed
    }

    pub(crate) fn variation(&self) -> Duration {
        self.variation
    }

    /// Returns the time within which an answer arrives: `srtt + 4 * variation`, as in RFC 6298; one second without a
    /// sample (its section 2.1), and at most five.
    pub(crate) fn answer_time(&self) -> Duration {
        let known = self
            .smoothed
            .map(|smoothed| smoothed + self.variation.saturating_mul(4));
        known.unwrap_or(UNKNOWN_ANSWER).min(LONGEST_ANSWER)
    }
}

/// Datagrams of one direction: expected and received.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Arrivals {
    /// Datagrams sent, by the sender's counters.
    pub sent: u64,
    /// Datagrams of these that were received.
    pub received: u64,
}

impl Arrivals {
    /// Returns the share of lost datagrams, from 0 to 1; 0 if none was sent.
    pub fn loss(&self) -> f64 {
        if self.sent == 0 {
            return 0.0;
        }
        self.sent.saturating_sub(self.received) as f64 / self.sent as f64
    }

    fn add(&mut self, sent: u64, received: u64) {
        self.sent = self.sent.saturating_add(sent);
        self.received = self.received.saturating_add(received);
    }
}

#[derive(Clone, Copy, Default)]
struct Second {
    outward: [u32; 2],
    inward: [u32; 2],
}

/// Measurements of a path at one of its ends.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Measured {
    /// Smoothed round-trip time, after the first sample.
    pub round_trip: Option<Duration>,
    /// Mean deviation of the round-trip time.
    pub round_trip_variation: Duration,
    /// Variation of the delay of arrivals (RFC 3550, section 6.4.1).
    pub delay_variation: Duration,
    /// Datagrams towards the peer in the last ten seconds, by its reports.
    pub outward: Arrivals,
    /// Datagrams from the peer in the last ten seconds.
    pub inward: Arrivals,
    /// Datagrams towards the peer since the creation of the path.
    pub outward_total: Arrivals,
    /// Datagrams from the peer since the creation of the path.
    pub inward_total: Arrivals,
    /// Bytes sent in the last whole second, as UDP payload.
    pub sent_bytes_per_second: u64,
    /// Bytes received in the last whole second, as UDP payload.
    pub received_bytes_per_second: u64,
}

/// The arithmetic behind [`Measured`].
pub(crate) struct Measurement {
    pub(crate) round_trip: RoundTrip,
    /// Variation in units of [`Stamp`], times 16 (RFC 3550, appendix A.8).
    variation: u32,
    last_transit: Option<i32>,
    /// The peer's last report: next counter and number received.
    reported: (u64, u32),
    seconds: [Second; WINDOW_SECONDS],
    second: u64,
    bytes: [u64; 2],
    last_bytes: [u64; 2],
    outward: Arrivals,
    inward: Arrivals,
}

impl Measurement {
    pub(crate) fn new(now: Instant) -> Measurement {
        Measurement {
            round_trip: RoundTrip::default(),
            variation: 0,
            last_transit: None,
            reported: (0, 0),
            seconds: [Second::default(); WINDOW_SECONDS],
            second: now.as_nanos() / 1_000_000_000,
            bytes: [0; 2],
            last_bytes: [0; 2],
            outward: Arrivals::default(),
            inward: Arrivals::default(),
        }
    }

    /// Restarts the evaluation of the peer's reports: they count from this counter of this end on.
    pub(crate) fn expect_reports_from(&mut self, counter: u64) {
        self.reported = (counter, 0);
        self.last_transit = None;
    }

    pub(crate) fn sent(&mut self, now: Instant, bytes: usize) {
        self.advance(now);
        self.bytes[0] += bytes as u64;
    }

    /// Takes in a datagram that raises the peer's largest counter by `progress`: zero for a reordered one.
    pub(crate) fn received(&mut self, now: Instant, bytes: usize, progress: u64, stamp: Stamp) {
        self.advance(now);
        self.bytes[1] += bytes as u64;
        self.inward.add(progress, 1);
        if let Some(second) = self.current() {
            second.inward[0] = second.inward[0].saturating_add(saturate(progress));
            second.inward[1] = second.inward[1].saturating_add(1);
        }
        if progress > 0 {
            let transit = Stamp::of(now).since(stamp);
            if let Some(last) = self.last_transit.replace(transit) {
                let off = transit.abs_diff(last).min(1 << 20);
                self.variation = self.variation + off - (self.variation + 8) / 16;
            }
        }
    }

    /// Takes in a report. A report overtaken by another gives no information about loss. Returns true if datagrams were
    /// lost.
    pub(crate) fn reported(&mut self, now: Instant, report: &Report) -> bool {
        let (next, received) = self.reported;
        let sent = report.next.saturating_sub(next);
        if sent == 0 {
            return false;
        }
        self.advance(now);
        let arrived = report.received.wrapping_sub(received);
        self.reported = (report.next, report.received);
        self.outward.add(sent, u64::from(arrived));
        if let Some(second) = self.current() {
            second.outward[0] = second.outward[0].saturating_add(saturate(sent));
            second.outward[1] = second.outward[1].saturating_add(arrived);
        }
        u64::from(arrived) < sent
    }

    pub(crate) fn measured(&mut self, now: Instant) -> Measured {
        self.advance(now);
        let sum = |of: fn(&Second) -> [u32; 2]| {
            let mut sum = Arrivals::default();
            for [sent, received] in self.seconds.iter().map(of) {
                sum.add(u64::from(sent), u64::from(received));
            }
            sum
        };
        Measured {
            round_trip: self.round_trip.smoothed(),
            round_trip_variation: self.round_trip.variation(),
            delay_variation: units(self.variation / 16),
            outward: sum(|second| second.outward),
            inward: sum(|second| second.inward),
            outward_total: self.outward,
            inward_total: self.inward,
            sent_bytes_per_second: self.last_bytes[0],
            received_bytes_per_second: self.last_bytes[1],
        }
    }

    fn current(&mut self) -> Option<&mut Second> {
        let place = (self.second % WINDOW_SECONDS as u64) as usize;
        self.seconds.get_mut(place)
    }

    /// Starts the seconds that have begun since the last call.
    fn advance(&mut self, now: Instant) {
        let second = now.as_nanos() / 1_000_000_000;
        let passed = second.saturating_sub(self.second);
        if passed == 0 {
            return;
        }
        self.last_bytes = if passed == 1 { self.bytes } else { [0; 2] };
        self.bytes = [0; 2];
        for _ in 0..passed.min(WINDOW_SECONDS as u64) {
            self.second += 1;
            if let Some(second) = self.current() {
                *second = Second::default();
            }
        }
        self.second = second;
    }
}

fn saturate(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks RFC 6298, section 2: (2.2) and (2.3) by hand, with alpha 1/8 and beta 1/4.
    #[test]
    fn round_trips_are_smoothed_as_rfc_6298_says() {
        let mut round_trip = RoundTrip::default();
        assert_eq!(round_trip.answer_time(), Duration::from_secs(1));
        round_trip.sample(Duration::from_millis(80));
        assert_eq!(round_trip.smoothed(), Some(Duration::from_millis(80)));
        assert_eq!(round_trip.variation(), Duration::from_millis(40));
        round_trip.sample(Duration::from_millis(96));
        // 3/4 * 40 + 1/4 * |80 - 96|, and 7/8 * 80 + 1/8 * 96.
        assert_eq!(round_trip.variation(), Duration::from_millis(34));
        assert_eq!(round_trip.smoothed(), Some(Duration::from_millis(82)));
        assert_eq!(round_trip.answer_time(), Duration::from_millis(218));
    }

    #[test]
    fn rates_are_those_of_the_last_whole_second() {
        let at = Instant::from_millis;
        let mut measurement = Measurement::new(at(0));
        measurement.sent(at(100), 700);
        measurement.sent(at(900), 300);
        assert_eq!(measurement.measured(at(999)).sent_bytes_per_second, 0);
        assert_eq!(measurement.measured(at(1_500)).sent_bytes_per_second, 1_000);
        assert_eq!(measurement.measured(at(2_000)).sent_bytes_per_second, 0);
    }
}
