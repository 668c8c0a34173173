//! Reno's window (RFC 5681), also NewReno's: RFC 6582 changes only the end of recovery.
//!
//! *Slow start*: each ACK adds the bytes that it acknowledges, at most one segment: RFC 5681 equation (2), which is RFC
//! 3465 with L = 1. *Congestion avoidance*: one segment for each window of acknowledged bytes, as RFC 5681 section 3.1
//! recommends; unlike the older sum of SMSS²/cwnd for each ACK, this does not slow down with delayed ACKs. A window
//! that did not limit the sender does not grow, since it gives no information about the path (RFC 2861 section 3.2, RFC
//! 7661).

use super::{AckSample, CongestionControl, LossSample};

/// Window of Reno and NewReno.
#[derive(Debug)]
pub(super) struct Reno {
    segment_size: u32,
    window: u32,
    slow_start_threshold: u32,
    /// Bytes acknowledged in congestion avoidance since the window last grew.
    acknowledged: u32,
}

impl Reno {
    pub(super) fn new(segment_size: u32, window: u32, slow_start_threshold: u32) -> Reno {
        Reno {
            segment_size,
            window: window.max(segment_size),
            slow_start_threshold,
            acknowledged: 0,
        }
    }

    /// Sets ssthresh = max(FlightSize / 2, 2 * SMSS), RFC 5681 equation (4).
    fn halve_threshold(&mut self, bytes_in_flight: u32) {
        self.slow_start_threshold = (bytes_in_flight / 2).max(self.segment_size.saturating_mul(2));
    }
}

impl CongestionControl for Reno {
    fn on_acknowledged(&mut self, sample: &AckSample) {
        if !sample.window_limited {
            return;
        }
        if self.window < self.slow_start_threshold {
            let growth = sample.acknowledged_bytes.min(self.segment_size);
            self.window = self.window.saturating_add(growth);
            return;
        }
        self.acknowledged = self.acknowledged.saturating_add(sample.acknowledged_bytes);
        if self.acknowledged >= self.window {
            self.acknowledged -= self.window;
            self.window = self.window.saturating_add(self.segment_size);
        }
    }

    fn on_loss(&mut self, loss: &LossSample) {
        self.halve_threshold(loss.bytes_in_flight);
        self.window = self.slow_start_threshold;
        self.acknowledged = 0;
    }

    fn on_timeout(&mut self, loss: &LossSample) {
        if !loss.repeated {
            // In recovery more is outstanding than the window allows in the network: SACKed data counts as in flight
            // (RFC 5681 section 2), but gives no information about the path.
            self.halve_threshold(loss.bytes_in_flight.min(self.window));
        }
        // "cwnd MUST be set to no more than the loss window, LW, which equals 1 full-sized segment".
        self.window = self.segment_size;
        self.acknowledged = 0;
    }

    fn on_idle_restart(&mut self, restart_window: u32) {
        self.window = self.window.min(restart_window.max(self.segment_size));
        self.acknowledged = 0;
    }

    fn on_segment_size(&mut self, segment_size: u32) {
        self.segment_size = segment_size;
    }

    fn set(&mut self, window: u32, slow_start_threshold: u32) {
        self.window = window.max(self.segment_size);
        self.slow_start_threshold = slow_start_threshold;
        self.acknowledged = 0;
    }

    fn window(&self) -> u32 {
        self.window
    }

    fn slow_start_threshold(&self) -> u32 {
        self.slow_start_threshold
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::{Duration, Instant};

    const SEGMENT: u32 = 1000;

    fn acknowledge(reno: &mut Reno, bytes: u32) {
        reno.on_acknowledged(&AckSample {
            now: Instant::ZERO,
            acknowledged_bytes: bytes,
            rtt: None,
            smoothed_rtt: None,
            minimum_rtt: None,
            bytes_in_flight: reno.window(),
            window_limited: true,
        });
    }

    /// Takes in one round trip: ACKs for a whole window, `segments` segments at a time.
    fn round_trip(reno: &mut Reno, segments: u32) {
        for _ in 0..reno.window() / (SEGMENT * segments) {
            acknowledge(reno, SEGMENT * segments);
        }
    }

    fn loss(bytes_in_flight: u32, repeated: bool) -> LossSample {
        LossSample {
            now: Instant::ZERO,
            bytes_in_flight,
            smoothed_rtt: Some(Duration::from_millis(100)),
            repeated,
        }
    }

    #[test]
    fn slow_start_doubles_each_round_trip() {
        let mut reno = Reno::new(SEGMENT, 2 * SEGMENT, u32::MAX);
        for expected in [4, 8, 16, 32, 64] {
            round_trip(&mut reno, 1);
            assert_eq!(reno.window(), expected * SEGMENT);
        }
        // An ACK of two segments counts as one: each round trip adds half of the window.
        round_trip(&mut reno, 2);
        assert_eq!(reno.window(), 96 * SEGMENT);
        // A small ACK adds only the bytes that it acknowledges.
        acknowledge(&mut reno, 1);
        assert_eq!(reno.window(), 96 * SEGMENT + 1);
    }

    #[test]
    fn congestion_avoidance_adds_a_segment_each_round_trip() {
        let mut reno = Reno::new(SEGMENT, 10 * SEGMENT, 10 * SEGMENT);
        for expected in 11..=20 {
            round_trip(&mut reno, 1);
            assert_eq!(reno.window(), expected * SEGMENT);
        }
        // Delayed ACKs do not slow it down.
        round_trip(&mut reno, 2);
        assert_eq!(reno.window(), 21 * SEGMENT);
    }

    #[test]
    fn a_loss_halves_what_is_in_flight() {
        let mut reno = Reno::new(SEGMENT, 40 * SEGMENT, u32::MAX);
        reno.on_loss(&loss(30 * SEGMENT, false));
        assert_eq!(reno.slow_start_threshold(), 15 * SEGMENT);
        assert_eq!(reno.window(), 15 * SEGMENT);
        reno.on_loss(&loss(3 * SEGMENT, false));
        assert_eq!(reno.slow_start_threshold(), 2 * SEGMENT, "the floor");
    }

    #[test]
    fn a_timeout_starts_over_and_a_repeated_one_leaves_the_threshold() {
        let mut reno = Reno::new(SEGMENT, 40 * SEGMENT, u32::MAX);
        reno.on_timeout(&loss(40 * SEGMENT, false));
        assert_eq!(reno.window(), SEGMENT);
        assert_eq!(reno.slow_start_threshold(), 20 * SEGMENT);
        reno.on_timeout(&loss(SEGMENT, true));
        assert_eq!(reno.slow_start_threshold(), 20 * SEGMENT);
        // Slow start up to the threshold, one segment a round trip beyond it.
        for expected in [2, 4, 8, 16, 20, 21] {
            round_trip(&mut reno, 1);
            assert_eq!(reno.window(), expected * SEGMENT);
        }
    }

    #[test]
    fn a_window_that_is_not_used_does_not_grow() {
        let mut reno = Reno::new(SEGMENT, 10 * SEGMENT, u32::MAX);
        reno.on_acknowledged(&AckSample {
            now: Instant::ZERO,
            acknowledged_bytes: SEGMENT,
            rtt: None,
            smoothed_rtt: None,
            minimum_rtt: None,
            bytes_in_flight: SEGMENT,
            window_limited: false,
        });
        assert_eq!(reno.window(), 10 * SEGMENT);
    }

    #[test]
    fn an_idle_restart_only_lowers_the_window() {
        let mut reno = Reno::new(SEGMENT, 40 * SEGMENT, 20 * SEGMENT);
        reno.on_idle_restart(10 * SEGMENT);
        assert_eq!(
            (reno.window(), reno.slow_start_threshold()),
            (10 * SEGMENT, 20 * SEGMENT)
        );
        reno.on_idle_restart(30 * SEGMENT);
        assert_eq!(reno.window(), 10 * SEGMENT);
    }
}
