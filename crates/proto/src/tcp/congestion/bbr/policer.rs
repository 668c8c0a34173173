//! Policers: many losses at a steady rate, whatever is sent. BBR then keeps to that long-term rate for 48 round trips
//! (`bbr_lt_bw_sampling`; Flach et al., "An Internet-wide analysis of traffic policing", 2016). An interval begins and
//! ends with a loss, when the policer's tokens are used up, and has at least four round trips; two of like rate in a row
//! tell.

use crate::tcp::congestion::RateSample;
use crate::time::Instant;

/// Round trips of an interval, at least: `bbr_lt_intvl_min_rtts`; four times as many are too long.
const LEAST_ROUNDS: u32 = 4;
const MOST_ROUNDS: u32 = 4 * LEAST_ROUNDS;
/// Of what is delivered so much is lost, at least, in 256ths: `bbr_lt_loss_thresh`.
const LEAST_LOSS: u64 = 50;
/// Two rates are alike that differ by an eighth or by 4 kbit/s: `bbr_lt_bw_ratio`, `bbr_lt_bw_diff`.
const LIKE_RATIO: f64 = 0.125;
const LIKE_BYTES_PER_SECOND: f64 = 500.0;
/// Round trips for which the rate is kept to: `bbr_lt_bw_max_rtts`.
const KEPT_ROUNDS: u32 = 48;

/// The search for a policer, and what it has found. Rates are segments a second.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Policer {
    samples: bool,
    /// Rate of the interval before; the rate in use once `found`.
    rate: Option<f64>,
    found: bool,
    rounds: u32,
    since: Instant,
    delivered: u64,
    lost: u64,
}

impl Policer {
    /// The rate to keep to.
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

    /// A round trip of a rate that is in use has begun; returns whether it was the last.
    pub(super) fn expires(&mut self) -> bool {
        self.rounds += 1;
        let over = self.rounds >= KEPT_ROUNDS;
        if over {
            self.reset();
        }
        over
    }

    /// An acknowledgment, `round_start` if it begins a round trip, of segments of `segment_size` bytes.
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
