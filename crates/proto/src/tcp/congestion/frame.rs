//! Reno's frame (RFC 5681 section 3.1), into which other laws of the window fit: slow start up to a threshold, the
//! law's growth beyond it, a threshold by the law after a loss, and one segment after a timeout.
//!
//! Windows are segments with fractions. A stack that reduces the window step by step, or takes a reduction back, sets
//! both from outside ([`CongestionControl::set`]): so the same law works with classic recovery and with Linux's.

use super::{AckSample, CongestionControl, FeedbackSample, LossSample};
use crate::tcp::profile::WindowArithmetic;
use core::fmt::Debug;

/// Least threshold after a loss, in segments (RFC 5681 equation 4).
const LEAST_THRESHOLD: f64 = 2.0;

/// A congestion window and its slow-start threshold, in segments with fractions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Window {
    pub(super) segments: f64,
    /// Infinite while it is "arbitrarily high".
    pub(super) threshold: f64,
}

impl Window {
    /// Grows in slow start, which ends at the threshold.
    pub(super) fn grow_to_threshold(&mut self, segments: f64) {
        self.segments = (self.segments + segments).min(self.threshold);
    }
}

/// Differences of a congestion control from Reno.
pub(super) trait Law: Debug + Send {
    /// Takes in so many segments acknowledged in slow start, and grows the window up to the threshold.
    fn slow_start(&mut self, window: &mut Window, acknowledged: f64) {
        window.grow_to_threshold(acknowledged);
    }

    /// Takes in so many segments acknowledged beyond the threshold.
    fn avoid_congestion(&mut self, window: &mut Window, acknowledged: f64);

    /// Returns the new threshold after a loss with so many segments in the window.
    fn after_loss(&mut self, segments: f64) -> f64;

    /// Returns the new threshold after the first timeout of some data; the window is one segment then.
    fn after_timeout(&mut self, segments: f64) -> f64 {
        self.after_loss(segments)
    }

    /// Takes in an ACK in any phase.
    fn on_feedback(&mut self, _sample: &FeedbackSample) {}

    /// Takes in a change of path.
    fn on_path_change(&mut self) {}

    /// Sets the size of full segments, in bytes.
    fn on_segment_size(&mut self, _segment_size: u32) {}
}

/// A law in Reno's frame.
#[derive(Debug)]
pub(super) struct Framed<L> {
    segment_size: u32,
    arithmetic: WindowArithmetic,
    window: Window,
    law: L,
}

/// Initial values of a control in the common frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    /// Bytes of a full segment.
    pub segment_size: u32,
    /// Initial window in bytes.
    pub window: u32,
    /// Initial slow-start threshold in bytes.
    pub threshold: u32,
    pub arithmetic: WindowArithmetic,
}

impl Frame {
    /// Returns the control of a law.
    pub(super) fn around<L: Law>(&self, law: L) -> Framed<L> {
        Framed::new(
            self.segment_size,
            self.window,
            self.threshold,
            self.arithmetic,
            law,
        )
    }
}

impl<L: Law> Framed<L> {
    /// Creates a control. `window` and `threshold` are in bytes; `arithmetic` determines how much an ACK counts in slow
    /// start, and what a loss reduces.
    pub(super) fn new(
        segment_size: u32,
        window: u32,
        threshold: u32,
        arithmetic: WindowArithmetic,
        law: L,
    ) -> Framed<L> {
        let mut new = Framed {
            segment_size,
            arithmetic,
            window: Window {
                segments: 1.0,
                threshold: f64::INFINITY,
            },
            law,
        };
        new.set(window, threshold);
        new
    }

    fn in_segments(&self, bytes: u32) -> f64 {
        f64::from(bytes) / f64::from(self.segment_size)
    }

    /// Converts segments to bytes, rounded to the nearest one, so that a number of bytes divided into segments comes
    /// back exactly.
    fn in_bytes(&self, segments: f64) -> u32 {
        libm::round(segments * f64::from(self.segment_size)) as u32
    }

    /// Returns the amount that a loss reduces: the data outstanding (RFC 5681 equation 4), but at most the window,
    /// which a repair may exceed; with Linux, which excludes data that has arrived or is lost, the window itself.
    fn base(&self, loss: &LossSample) -> f64 {
        match self.arithmetic {
            WindowArithmetic::Rfc | WindowArithmetic::Linux20 => {
                let in_flight = self.in_segments(loss.bytes_in_flight);
                in_flight.min(self.window.segments)
            }
            WindowArithmetic::Linux => self.window.segments,
        }
    }
}

impl<L: Law> CongestionControl for Framed<L> {
    fn on_acknowledged(&mut self, sample: &AckSample) {
        if !sample.window_limited {
            return;
        }
        let acknowledged = self.in_segments(sample.acknowledged_bytes);
        if self.window.segments < self.window.threshold {
            let counted = match self.arithmetic {
                WindowArithmetic::Rfc | WindowArithmetic::Linux20 => acknowledged.min(1.0),
                WindowArithmetic::Linux => acknowledged,
            };
            self.law.slow_start(&mut self.window, counted);
        } else {
            self.law.avoid_congestion(&mut self.window, acknowledged);
        }
        let largest = self.in_segments(u32::MAX);
        self.window.segments = self.window.segments.max(1.0).min(largest);
    }

    fn on_loss(&mut self, loss: &LossSample) {
        let threshold = self.law.after_loss(self.base(loss));
        self.window.threshold = threshold.max(LEAST_THRESHOLD);
        self.window.segments = self.window.segments.min(self.window.threshold);
    }

    fn on_timeout(&mut self, loss: &LossSample) {
        if !loss.repeated {
            let threshold = self.law.after_timeout(self.base(loss));
            self.window.threshold = threshold.max(LEAST_THRESHOLD);
        }
        self.window.segments = 1.0;
    }

    fn on_idle_restart(&mut self, restart_window: u32) {
        let restart = self.in_segments(restart_window).max(1.0);
        self.window.segments = self.window.segments.min(restart);
    }

    fn on_feedback(&mut self, sample: &FeedbackSample) {
        self.law.on_feedback(sample);
    }

    fn on_path_change(&mut self) {
        self.law.on_path_change();
    }

    fn on_segment_size(&mut self, segment_size: u32) {
        self.segment_size = segment_size;
        self.law.on_segment_size(segment_size);
    }

    fn set(&mut self, window: u32, slow_start_threshold: u32) {
        self.window = Window {
            segments: self.in_segments(window).max(1.0),
            threshold: match slow_start_threshold {
                u32::MAX => f64::INFINITY,
                bytes => self.in_segments(bytes),
            },
        };
    }

    fn window(&self) -> u32 {
        self.in_bytes(self.window.segments)
    }

    fn slow_start_threshold(&self) -> u32 {
        self.in_bytes(self.window.threshold)
    }
}

#[cfg(test)]
mod tests;
