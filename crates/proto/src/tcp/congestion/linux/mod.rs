//! Reno and CUBIC as in Linux (6.18): windows are whole segments, slow start adds every acknowledged segment, and a
//! count of segments replaces fractions.

mod cubic;
mod hystart;
mod reno;
#[cfg(test)]
mod tests;

pub(super) use cubic::Cubic;
pub(super) use reno::Reno;

/// Least threshold after a loss, in segments.
const LEAST_THRESHOLD: u32 = 2;

/// A congestion window in segments: `tcp_slow_start` and `tcp_cong_avoid_ai`.
#[derive(Clone, Copy, Debug)]
struct SegmentWindow {
    segment_size: u32,
    segments: u32,
    /// Slow-start threshold, in segments; `u32::MAX` is arbitrarily high.
    threshold: u32,
    /// Segments acknowledged since the window last grew.
    credit: u32,
}

impl SegmentWindow {
    fn new(segment_size: u32, window: u32, threshold: u32) -> SegmentWindow {
        let mut new = SegmentWindow {
            segment_size,
            segments: 1,
            threshold: u32::MAX,
            credit: 0,
        };
        new.set(window, threshold);
        new
    }

    fn set(&mut self, window: u32, threshold: u32) {
        self.segments = (window / self.segment_size).max(1);
        self.threshold = match threshold {
            u32::MAX => u32::MAX,
            bytes => bytes / self.segment_size,
        };
    }

    fn in_slow_start(&self) -> bool {
        self.segments < self.threshold
    }

    /// Grows the window in slow start; returns the acknowledged segments left beyond the threshold.
    fn slow_start(&mut self, acknowledged: u32) -> u32 {
        let window = (self.segments.saturating_add(acknowledged)).min(self.threshold);
        let used = window - self.segments;
        self.segments = window;
        acknowledged - used
    }

    /// Grows the window by one segment for every `per_segment` acknowledged.
    fn grow(&mut self, per_segment: u32, acknowledged: u32) {
        let per_segment = per_segment.max(1);
        if self.credit >= per_segment {
            self.credit = 0;
            self.segments += 1;
        }
        self.credit += acknowledged;
        if self.credit >= per_segment {
            self.segments = self.segments.saturating_add(self.credit / per_segment);
            self.credit %= per_segment;
        }
    }

    fn reduce(&mut self, threshold: u32) {
        self.threshold = threshold.max(LEAST_THRESHOLD);
        self.segments = self.threshold;
        self.credit = 0;
    }

    fn bytes(&self) -> u32 {
        self.segments.saturating_mul(self.segment_size)
    }

    fn threshold_bytes(&self) -> u32 {
        self.threshold.saturating_mul(self.segment_size)
    }
}
