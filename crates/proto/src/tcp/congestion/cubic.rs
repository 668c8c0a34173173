//! CUBIC (RFC 9438): the window grows by a cubic function of the time since the last reduction.
//!
//! Not here: HyStart++ (section 4.10 recommends it; plain slow start is used) and undoing a reduction after a spurious
//! loss event (section 4.9), which the connection does not report yet.

use super::{AckSample, CongestionControl, LossSample};
use crate::time::{Duration, Instant};

/// Steepness of the cubic function, in segments a second cubed: "C SHOULD be set to 0.4" (section 5.1).
const C: f64 = 0.4;
/// Share of the window that remains after a loss: "beta_cubic SHOULD be set to 0.7" (section 4.6).
const BETA: f64 = 0.7;
/// Growth of the Reno estimate, in segments a window of acknowledgments, that gives the average rate of Reno
/// with its halving: 3 (1 − β) / (1 + β) (section 4.3).
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// Window of CUBIC. Windows are in segments, as in the RFC, with their fractions.
#[derive(Debug)]
pub(super) struct Cubic {
    segment_size: u32,
    window: f64,
    /// Slow-start threshold, in bytes.
    slow_start_threshold: u32,
    /// `W_max`, around which the cubic function is flat. `None` before the first loss and after a timeout: the next
    /// stage of congestion avoidance then starts on the flat part (sections 4.8 and 4.10).
    maximum_window: Option<f64>,
    /// `cwnd_prior`: the window when the threshold was last set; `None` before the first loss.
    prior_window: Option<f64>,
    /// The current stage of congestion avoidance; begins with its first ACK.
    stage: Option<Stage>,
    /// Time of the last ACK for new data, and true if data was still outstanding then.
    last_acknowledged: Option<(Instant, bool)>,
}

/// One stage of congestion avoidance.
#[derive(Clone, Copy, Debug)]
struct Stage {
    /// Start of the stage (`t_epoch`), moved forward by times in which the window was not used.
    start: Instant,
    /// `W_max` of this stage.
    maximum_window: f64,
    /// `K`: seconds from the start until the function reaches `W_max`.
    time_to_maximum: f64,
    /// `W_est`: the window that Reno would have.
    reno_window: f64,
    /// Window at which the Reno estimate has recovered from the reduction.
    prior_window: f64,
}

impl Stage {
    /// Returns `W_cubic(t) = C (t − K)³ + W_max`, equation (1) of section 4.2.
    fn cubic_window(&self, seconds: f64) -> f64 {
        let distance = seconds - self.time_to_maximum;
        C * distance * distance * distance + self.maximum_window
    }
}

impl Cubic {
    pub(super) fn new(segment_size: u32, window: u32, slow_start_threshold: u32) -> Cubic {
        Cubic {
            segment_size,
            window: (f64::from(window) / f64::from(segment_size)).max(1.0),
            slow_start_threshold,
            maximum_window: None,
            prior_window: None,
            stage: None,
            last_acknowledged: None,
        }
    }

    /// Begins a stage, with `K = cbrt((W_max − cwnd_epoch) / C)`, equation (2) of section 4.2.
    fn begin_stage(&mut self, now: Instant) -> Stage {
        // A window already beyond W_max starts on the flat part.
        let maximum_window = self.maximum_window.unwrap_or(0.0).max(self.window);
        self.maximum_window = Some(maximum_window);
        Stage {
            start: now,
            maximum_window,
            time_to_maximum: libm::cbrt((maximum_window - self.window) / C),
            reno_window: self.window,
            prior_window: self.prior_window.unwrap_or(self.window),
        }
    }

    /// Excludes times in which the window was not used from the cubic function, "otherwise W_cubic(t) might be very
    /// high after restarting" (section 5.8).
    fn skip_unused_time(&mut self, sample: &AckSample) {
        let left = sample
            .bytes_in_flight
            .saturating_sub(sample.acknowledged_bytes);
        let last = self.last_acknowledged.replace((sample.now, left > 0));
        let (Some((before, outstanding)), Some(stage)) = (last, &mut self.stage) else {
            return;
        };
        let gap = sample.now.saturating_since(before);
        stage.start += if !sample.window_limited {
            gap
        } else if outstanding {
            Duration::ZERO
        } else {
            // With nothing outstanding, the newly acknowledged data was sent one round trip ago; the sender was idle
            // until then.
            gap - sample.rtt.or(sample.smoothed_rtt).unwrap_or(gap)
        };
    }

    /// Grows the window in congestion avoidance (sections 4.3 to 4.5).
    fn avoid_congestion(&mut self, sample: &AckSample, acknowledged: f64) {
        let mut stage = match self.stage {
            Some(stage) => stage,
            None => self.begin_stage(sample.now),
        };
        let alpha = if stage.reno_window < stage.prior_window {
            ALPHA
        } else {
            1.0
        };
        stage.reno_window += alpha * acknowledged / self.window;
        self.stage = Some(stage);

        let elapsed = sample.now.saturating_since(stage.start);
        if stage.cubic_window(elapsed.as_secs_f64()) < stage.reno_window {
            // The larger of the two: the concave growth may already be slightly ahead of the estimate, and an ACK is no
            // reason to shrink.
            self.window = self.window.max(stage.reno_window);
            return;
        }
        let rtt = sample.smoothed_rtt.unwrap_or(Duration::ZERO);
        let target = stage
            .cubic_window((elapsed + rtt).as_secs_f64())
            .clamp(self.window, 1.5 * self.window);
        // The RFC's step is for an ACK of one segment. It is applied for each segment, so that the window reaches the
        // target in one round trip with delayed ACKs, too.
        let step = (target - self.window) / self.window * acknowledged;
        self.window = (self.window + step).min(target);
    }

    /// Lowers the threshold, and notes the window before the reduction (section 4.6); the window stays.
    fn lower_threshold(&mut self, bytes_in_flight: u32) {
        self.prior_window = Some(self.window);
        let floor = self.segment_size.saturating_mul(2);
        self.slow_start_threshold = ((f64::from(bytes_in_flight) * BETA) as u32).max(floor);
        self.stage = None;
    }
}

impl CongestionControl for Cubic {
    fn on_acknowledged(&mut self, sample: &AckSample) {
        self.skip_unused_time(sample);
        if !sample.window_limited {
            return;
        }
        let acknowledged = f64::from(sample.acknowledged_bytes) / f64::from(self.segment_size);
        if self.window() < self.slow_start_threshold {
            // RFC 5681 equation (2), as in Reno.
            self.window += acknowledged.min(1.0);
        } else {
            self.avoid_congestion(sample, acknowledged);
        }
        self.window = self
            .window
            .min(f64::from(u32::MAX) / f64::from(self.segment_size));
    }

    fn on_loss(&mut self, loss: &LossSample) {
        // Fast convergence (section 4.7): a flow that did not reach its previous maximum makes room for others.
        self.maximum_window = Some(match self.maximum_window {
            Some(maximum) if self.window < maximum => self.window * (1.0 + BETA) / 2.0,
            _ => self.window,
        });
        self.lower_threshold(loss.bytes_in_flight);
        self.window = f64::from(self.slow_start_threshold) / f64::from(self.segment_size);
    }

    fn on_timeout(&mut self, loss: &LossSample) {
        if !loss.repeated {
            // As in Reno: the data outstanding in recovery may be far more than the window.
            self.lower_threshold(loss.bytes_in_flight.min(self.window()));
        }
        self.maximum_window = None;
        self.window = 1.0;
        self.stage = None;
    }

    fn on_idle_restart(&mut self, restart_window: u32) {
        let restart_window = f64::from(restart_window) / f64::from(self.segment_size);
        if restart_window < self.window {
            self.window = restart_window.max(1.0);
            self.stage = None;
        }
    }

    fn on_segment_size(&mut self, segment_size: u32) {
        self.segment_size = segment_size;
    }

    fn set(&mut self, window: u32, slow_start_threshold: u32) {
        self.window = (f64::from(window) / f64::from(self.segment_size)).max(1.0);
        self.slow_start_threshold = slow_start_threshold;
    }

    fn on_path_change(&mut self) {
        *self = Cubic::new(self.segment_size, self.window(), self.slow_start_threshold);
    }

    fn window(&self) -> u32 {
        // Rounded to the nearest byte, so that a threshold divided into segments converts back exactly.
        libm::round(self.window * f64::from(self.segment_size)) as u32
    }

    fn slow_start_threshold(&self) -> u32 {
        self.slow_start_threshold
    }
}

#[cfg(test)]
mod tests;
