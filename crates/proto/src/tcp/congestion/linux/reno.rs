//! Linux's Reno: `tcp_reno_cong_avoid` and `tcp_reno_ssthresh`.

use super::SegmentWindow;
use crate::tcp::congestion::{AckSample, CongestionControl, LossSample};

/// Window of Reno.
#[derive(Debug)]
pub(in crate::tcp::congestion) struct Reno {
    window: SegmentWindow,
}

impl Reno {
    pub(in crate::tcp::congestion) fn new(segment_size: u32, window: u32, threshold: u32) -> Reno {
        Reno {
            window: SegmentWindow::new(segment_size, window, threshold),
        }
    }
}

impl CongestionControl for Reno {
    fn on_acknowledged(&mut self, sample: &AckSample) {
        if !sample.window_limited {
            return;
        }
        let mut acknowledged = sample.acknowledged_bytes / self.window.segment_size;
        if self.window.in_slow_start() {
            acknowledged = self.window.slow_start(acknowledged);
        }
        if acknowledged > 0 {
            self.window.grow(self.window.segments, acknowledged);
        }
    }

    fn on_loss(&mut self, _loss: &LossSample) {
        self.window.reduce(self.window.segments / 2);
    }

    fn on_timeout(&mut self, loss: &LossSample) {
        if !loss.repeated {
            self.window.reduce(self.window.segments / 2);
        }
        self.window.segments = 1;
        self.window.credit = 0;
    }

    fn on_idle_restart(&mut self, restart_window: u32) {
        self.set(restart_window, self.slow_start_threshold());
    }

    fn on_segment_size(&mut self, segment_size: u32) {
        self.window.segment_size = segment_size;
    }

    fn set(&mut self, window: u32, slow_start_threshold: u32) {
        self.window.set(window, slow_start_threshold);
    }

    fn window(&self) -> u32 {
        self.window.bytes()
    }

    fn slow_start_threshold(&self) -> u32 {
        self.window.threshold_bytes()
    }
}
