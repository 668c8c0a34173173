//! Policers: many losses at a steady rate, whatever is sent. BBR then keeps to that long-term rate for 48 round trips
//! (`bbr_lt_bw_sampling`; Flach et al., "An Internet-wide analysis of traffic policing", 2016). An interval begins and
//! ends with a loss, when the policer's tokens are used up, and has at least four round trips; two intervals in a row
//! with similar rates show a policer.

use crate::tcp::congestion::RateSample;
use crate::time::Instant;

/// Fewest round trips of an interval: `bbr_lt_intvl_min_rtts`; four times as many are too long.
const LEAST_ROUNDS: u32 = 4;
const MOST_ROUNDS: u32 = 4 * LEAST_ROUNDS;
/// Least loss in an interval, in 256ths of the segments delivered: `bbr_lt_loss_thresh`.
const LEAST_LOSS: u64 = 50;
/// Largest difference of similar rates: an eighth, or 4 kbit/s (`bbr_lt_bw_ratio`, `bbr_lt_bw_diff`).
const LIKE_RATIO: f64 = 0.125;
const LIKE_BYTES_PER_SECOND: f64 = 500.0;
/// Round trips for which BBR keeps to the rate: `bbr_lt_bw_max_rtts`.
const KEPT_ROUNDS: u32 = 48;

/// The search for a policer, and its result. Rates are in segments a second.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Policer {
    samples: bool,
    /// Rate of the previous interval; the rate in use once `found`.
    rate: Option<f64>,
    found: bool,
    rounds: u32,
    since: Instant,
    delivered: u64,
    lost: u64,
}

impl Policer {
    /// Returns the long-term rate, if it is in use.
    pub(super) fn rate(&self) -> Option<f64> {
        self.rate.filter(|_| self.found)
    }

    pub(super) fn reset(&mut self) {
        *self = Policer::default();
    }

    fn begin_interval(&mut self, sample: &RateSample) {
        self.since = sample.now;
        self.delivered = sample.delivered;
        self.lost = sample.lost;
        self.rounds = 0;
    }

    /// Takes in a new round trip at the long-term rate; returns true if it was the last.
    pub(super) fn expires(&mut self) -> bool {
        self.rounds += 1;
        let over = self.rounds >= KEPT_ROUNDS;
        if over {
            self.reset();
        }
        over
    }

    /// Takes in an ACK, with `round_start` if it begins a round trip. Segments have `segment_size` bytes.
    pub(super) fn update(&mut self, sample: &RateSample, round_start: bool, segment_size: u32) {
        if !self.samples {
            if sample.newly_lost == 0 {
                return;
            }
            self.begin_interval(sample);
            self.samples = true;
        }
        self.rounds += u32::from(round_start);
        if sample.application_limited || self.rounds > MOST_ROUNDS {
            return self.reset();
        }
        let delivered = sample.delivered - self.delivered;
        let lost = sample.lost - self.lost;
        let many = delivered > 0 && 256 * lost >= LEAST_LOSS * delivered;
        let time = sample.now.saturating_since(self.since).as_secs_f64();
        if self.rounds >= LEAST_ROUNDS && sample.newly_lost > 0 && many && time >= 0.001 {
            self.end_interval(sample, delivered as f64 / time, segment_size);
        }
    }

    fn end_interval(&mut self, sample: &RateSample, rate: f64, segment_size: u32) {
        if let Some(before) = self.rate {
            let difference = (rate - before).abs();
            let bytes = difference * f64::from(segment_size);
            if difference <= LIKE_RATIO * before || bytes <= LIKE_BYTES_PER_SECOND {
                self.rate = Some(rate.midpoint(before));
                self.found = true;
                self.rounds = 0;
                return;
            }
        }
        self.rate = Some(rate);
        self.begin_interval(sample);
    }
}
