//! Reno's window in Linux 2.0.36: whole segments, and growth by the acknowledgment, not by the byte.
//!
//! *Slow start*, as long as the window is not above the threshold: one segment for each ACK of new data, whether or not
//! the window limits the sender. *Congestion avoidance*: one segment after one ACK more than the window has segments.
//! A timeout sets the threshold to half the window, rounded down and without a floor, so that timeouts in a row leave
//! zero, and the window to one segment; a fast retransmit sets both to half the window, at least two segments.

use super::{AckSample, CongestionControl, LossSample};

/// Largest window that still grows, in segments.
const LARGEST: u32 = 2048;

/// Window of Reno, in segments.
#[derive(Debug)]
pub(super) struct Reno {
    segment_size: u32,
    window: u32,
    /// `u32::MAX` while it is arbitrarily high.
    slow_start_threshold: u32,
    /// ACKs in congestion avoidance since the window last grew.
    acknowledgments: u32,
}

impl Reno {
    /// Creates a window; sizes are in bytes.
    pub(super) fn new(segment_size: u32, window: u32, slow_start_threshold: u32) -> Reno {
        let mut reno = Reno {
            segment_size,
            window: 1,
            slow_start_threshold: u32::MAX,
            acknowledgments: 0,
        };
        reno.set(window, slow_start_threshold);
        reno
    }
}

impl CongestionControl for Reno {
    fn on_acknowledged(&mut self, _: &AckSample) {
        if self.window >= LARGEST {
            return;
        }
        if self.window <= self.slow_start_threshold {
            self.window += 1;
        } else if self.acknowledgments >= self.window {
            self.window += 1;
            self.acknowledgments = 0;
        } else {
            self.acknowledgments += 1;
        }
    }

    fn on_loss(&mut self, _: &LossSample) {
        self.slow_start_threshold = (self.window / 2).max(2);
        self.window = self.slow_start_threshold;
    }

    fn on_timeout(&mut self, _: &LossSample) {
        self.slow_start_threshold = self.window / 2;
        self.window = 1;
        self.acknowledgments = 0;
    }

    fn on_idle_restart(&mut self, restart_window: u32) {
        self.window = self.window.min((restart_window / self.segment_size).max(1));
    }

    fn on_segment_size(&mut self, segment_size: u32) {
        self.segment_size = segment_size;
    }

    fn set(&mut self, window: u32, slow_start_threshold: u32) {
        self.window = (window / self.segment_size).max(1);
        self.slow_start_threshold = match slow_start_threshold {
            u32::MAX => u32::MAX,
            bytes => bytes / self.segment_size,
        };
    }

    fn window(&self) -> u32 {
        self.window.saturating_mul(self.segment_size)
    }

    fn slow_start_threshold(&self) -> u32 {
        self.slow_start_threshold.saturating_mul(self.segment_size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Instant;

    const SEGMENT: u32 = 1000;

    fn acknowledge(reno: &mut Reno, times: u32) {
        for _ in 0..times {
            reno.on_acknowledged(&AckSample {
                now: Instant::ZERO,
                acknowledged_bytes: SEGMENT,
                rtt: None,
                smoothed_rtt: None,
                minimum_rtt: None,
                bytes_in_flight: SEGMENT,
                window_limited: false,
            });
        }
    }

    fn loss() -> LossSample {
        LossSample {
            now: Instant::ZERO,
            bytes_in_flight: SEGMENT,
            smoothed_rtt: None,
            repeated: false,
        }
    }

    /// By hand: 12 segments, timeouts to (6, 1) and (0, 1); then congestion avoidance needs 2, 3 and 4 ACKs a segment.
    #[test]
    fn timeouts_in_a_row_leave_no_threshold() {
        let mut reno = Reno::new(SEGMENT, SEGMENT, u32::MAX);
        acknowledge(&mut reno, 11);
        assert_eq!(reno.window(), 12 * SEGMENT);
        reno.on_timeout(&loss());
        assert_eq!(reno.slow_start_threshold(), 6 * SEGMENT);
        reno.on_timeout(&loss());
        assert_eq!((reno.window(), reno.slow_start_threshold()), (SEGMENT, 0));
        for (acks, segments) in [(1, 1), (1, 2), (2, 2), (1, 3), (3, 3), (1, 4)] {
            acknowledge(&mut reno, acks);
            assert_eq!(reno.window(), segments * SEGMENT);
        }
    }

    /// By hand: the window passes the threshold by one in slow start; a loss halves, but not below two.
    #[test]
    fn slow_start_goes_beyond_the_threshold_by_one() {
        let mut reno = Reno::new(SEGMENT, SEGMENT, 3 * SEGMENT);
        acknowledge(&mut reno, 3);
        assert_eq!(reno.window(), 4 * SEGMENT);
        acknowledge(&mut reno, 4);
        assert_eq!(reno.window(), 4 * SEGMENT);
        acknowledge(&mut reno, 1);
        assert_eq!(reno.window(), 5 * SEGMENT);
        reno.on_loss(&loss());
        assert_eq!(reno.window(), 2 * SEGMENT);
        reno.on_loss(&loss());
        assert_eq!(reno.window(), 2 * SEGMENT);
    }
}
