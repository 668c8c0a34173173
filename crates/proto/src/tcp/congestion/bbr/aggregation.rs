//! Number of segments that are acknowledged together beyond those that the rate explains: the window grants as many
//! more, so that compressed acknowledgments do not stop the sender (`bbr_update_ack_aggregation`).

use crate::tcp::congestion::RateSample;
use crate::time::Instant;

/// Round trips of one half of the window of the maximum: `bbr_extra_acked_win_rtts`.
const ROUNDS: u32 = 5;
/// Segments after which an epoch ends.
const LONGEST_EPOCH: u64 = 1 << 20;
/// Longest allowance, in time at the rate: `bbr_extra_acked_max_us`.
const MOST_SECONDS: f64 = 0.1;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Aggregation {
    epoch_start: Instant,
    acknowledged: u64,
    extra: [u32; 2],
    half: usize,
    rounds: u32,
}

impl Aggregation {
    pub(super) fn update(
        &mut self,
        sample: &RateSample,
        round_start: bool,
        bandwidth: f64,
        window: u32,
    ) {
        let delivered = u64::from(sample.newly_delivered);
        if delivered == 0 || sample.interval.is_none() {
            return;
        }
        if round_start {
            self.rounds += 1;
            if self.rounds >= ROUNDS {
                self.rounds = 0;
                self.half = 1 - self.half;
                self.extra[self.half] = 0;
            }
        }
        let seconds = sample.now.saturating_since(self.epoch_start).as_secs_f64();
        let mut expected = (bandwidth * seconds) as u64;
        if self.acknowledged <= expected || self.acknowledged + delivered >= LONGEST_EPOCH {
            self.acknowledged = 0;
            self.epoch_start = sample.now;
            expected = 0;
        }
        self.acknowledged += delivered;
        let extra = self.acknowledged.saturating_sub(expected);
        let extra = extra.min(u64::from(window)) as u32;
        self.extra[self.half] = self.extra[self.half].max(extra);
    }

    /// Returns the allowance, in segments.
    pub(super) fn allowance(&self, bandwidth: f64) -> u32 {
        let most = (bandwidth * MOST_SECONDS).min(1e8) as u32;
        self.extra[0].max(self.extra[1]).min(most)
    }
}
