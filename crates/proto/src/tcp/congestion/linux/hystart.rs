//! HyStart as in Linux's CUBIC: slow start ends when the ACKs of a round trip arrive as one long train, or when the
//! round-trip time has grown (Ha and Rhee, "Taming the elephants", 2011). Not RFC 9406's HyStart++.

use crate::tcp::congestion::FeedbackSample;
use crate::time::{Duration, Instant};

/// `hystart_low_window`, in segments.
const LOW_WINDOW: u32 = 16;
/// Largest gap between ACKs of one train: `hystart_ack_delta_us`.
const TRAIN_GAP: Duration = Duration::from_millis(2);
/// RTT samples that determine the delay of a round trip: `HYSTART_MIN_SAMPLES`.
const SAMPLES: u32 = 8;
/// Bounds of the tolerated growth of the delay, otherwise an eighth: `HYSTART_DELAY_MIN` and `_MAX`.
const LEAST_GROWTH: Duration = Duration::from_millis(4);
const MOST_GROWTH: Duration = Duration::from_millis(16);
/// Largest allowance for the length of a train, the time of four bursts of the largest size; and that size, in bytes.
const BURST_ALLOWANCE: Duration = Duration::from_millis(1);
const LARGEST_BURST: u64 = 65_536;

/// Observations of the present round trip.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HyStart {
    /// True once HyStart has ended slow start; reset by a timeout.
    found: bool,
    /// Bytes acknowledged since the start of the connection beyond which the round trip is over.
    round_end: u64,
    round_start: Instant,
    last_ack: Instant,
    samples: u32,
    shortest: Option<Duration>,
}

impl HyStart {
    /// Takes in an ACK in slow start; returns true if slow start should end. `rtt` comes with the connection's shortest
    /// round-trip time; `window` is in segments.
    pub(super) fn is_over(
        &mut self,
        sample: &FeedbackSample,
        (rtt, shortest): (Duration, Duration),
        window: u32,
    ) -> bool {
        if self.found {
            return false;
        }
        if sample.acknowledged_to > self.round_end {
            *self = HyStart {
                round_end: sample.sent_to,
                round_start: sample.now,
                last_ack: sample.now,
                ..HyStart::default()
            };
        }
        if window < LOW_WINDOW {
            return false;
        }
        let train = self.is_long_train(sample, shortest);
        self.found = self.is_slower(rtt, shortest) || train;
        self.found
    }

    fn is_long_train(&mut self, sample: &FeedbackSample, shortest: Duration) -> bool {
        if sample.now.saturating_since(self.last_ack) > TRAIN_GAP {
            return false;
        }
        self.last_ack = sample.now;
        let allowance = Self::burst_time(sample);
        let most = Duration::from_nanos((shortest + allowance).as_nanos() / 2);
        sample.now.saturating_since(self.round_start) > most
    }

    /// Returns the time of four bursts of the largest size at twice the present rate (`hystart_ack_delay` with the
    /// pacing rate of slow start).
    fn burst_time(sample: &FeedbackSample) -> Duration {
        let smoothed = sample.smoothed_rtt.unwrap_or_default().as_nanos();
        let doubled = 2 * u64::from(sample.bytes_in_flight).max(1);
        let time = (4 * LARGEST_BURST).saturating_mul(smoothed) / doubled;
        Duration::from_nanos(time).min(BURST_ALLOWANCE)
    }

    fn is_slower(&mut self, rtt: Duration, shortest: Duration) -> bool {
        let of_round = self.shortest.map_or(rtt, |shortest| shortest.min(rtt));
        self.shortest = Some(of_round);
        if self.samples < SAMPLES {
            self.samples += 1;
            return false;
        }
        let eighth = Duration::from_nanos(shortest.as_nanos() / 8);
        of_round > shortest + eighth.clamp(LEAST_GROWTH, MOST_GROWTH)
    }
}
