//! Linux's CUBIC (`net/ipv4/tcp_cubic.c`): RFC 9438's function in whole segments, with HyStart, and growth by at least
//! one segment for 20 acknowledged before the first loss.

use super::SegmentWindow;
use super::hystart::HyStart;
use crate::tcp::congestion::{AckSample, CongestionControl, FeedbackSample, LossSample};
use crate::time::{Duration, Instant};

/// `bic_scale` 41, in units of 1/1024: C of RFC 9438 in segments a second cubed.
const C: f64 = 410.0 / 1024.0;
/// `beta` in units of 1/1024: the share of the window that remains after a loss.
const BETA: u64 = 717;
const SCALE: u64 = 1024;
/// `beta_scale` / 8: windows of ACKs that Reno with this β needs to grow by one segment, 15/8 = (1 + β) / (3 (1 − β)).
const RENO_EIGHTHS: u64 = 8 * (SCALE + BETA) / 3 / (SCALE - BETA);
/// Linux's clock ticks: `CONFIG_HZ` 250.
const HZ: u64 = 250;
/// Ticks within which the target is not computed again for the same window.
const LEAST_INTERVAL: u64 = HZ / 32;
/// Parts of a second in which the function counts time: 2 to the power of `BICTCP_HZ`.
const TIME_PARTS: u64 = 1024;
/// Nanoseconds of a tick.
const TICK: u64 = 1_000_000_000 / HZ;

fn tick(at: Instant) -> u64 {
    at.as_nanos() / TICK
}

/// Window of CUBIC.
#[derive(Debug)]
pub(in crate::tcp::congestion) struct Cubic {
    window: SegmentWindow,
    hystart: Option<HyStart>,
    /// `last_max_cwnd`, in segments; zero before the first loss.
    maximum_window: u32,
    epoch: Option<Epoch>,
    /// `cnt`: segments to acknowledge for one segment of growth.
    per_segment: u32,
    /// Tick and window of the last computation of `per_segment`.
    computed: (u64, u32),
    shortest_rtt: Option<Duration>,
}

/// One stage of congestion avoidance.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    start: Instant,
    /// `K`: parts of a second until the function reaches `origin`.
    time_to_origin: u64,
    origin: u32,
    /// The window that Reno would have, and segments acknowledged since it last grew.
    reno_window: u32,
    reno_credit: u64,
}

impl Cubic {
    pub(in crate::tcp::congestion) fn new(
        segment_size: u32,
        window: u32,
        threshold: u32,
        hystart: bool,
    ) -> Cubic {
        Cubic {
            window: SegmentWindow::new(segment_size, window, threshold),
            hystart: hystart.then(HyStart::default),
            maximum_window: 0,
            epoch: None,
            per_segment: 0,
            computed: (0, 0),
            shortest_rtt: None,
        }
    }

    fn begin_epoch(&mut self, now: Instant) -> Epoch {
        let window = self.window.segments;
        let origin = self.maximum_window.max(window);
        Epoch {
            start: now,
            time_to_origin: (libm::cbrt(f64::from(origin - window) / C) * TIME_PARTS as f64) as u64,
            origin,
            reno_window: window,
            reno_credit: 0,
        }
    }

    /// Updates the growth: `bictcp_update`.
    fn update(&mut self, now: Instant, acknowledged: u32) {
        let begun = self.epoch.is_some();
        let mut epoch = match self.epoch {
            Some(epoch) => epoch,
            None => self.begin_epoch(now),
        };
        epoch.reno_credit += u64::from(acknowledged);
        let window = self.window.segments;
        let (at, (computed_at, computed_for)) = (tick(now), self.computed);
        let recent = at.saturating_sub(computed_at) <= LEAST_INTERVAL;
        if !(recent && computed_for == window && self.per_segment > 0) {
            // At most once a tick; Reno's growth with each ACK.
            if !begun || at != computed_at {
                self.computed = (at, window);
                self.per_segment = self.by_function(&epoch, at);
            }
            self.per_segment = self.per_segment.min(epoch.friendly(window)).max(2);
        }
        self.epoch = Some(epoch);
    }

    /// Returns the segments to acknowledge for one segment of growth by the cubic function.
    fn by_function(&self, epoch: &Epoch, at: u64) -> u32 {
        let window = self.window.segments;
        let shortest = self.shortest_rtt.unwrap_or_default().as_nanos();
        let elapsed = at.saturating_sub(tick(epoch.start)) + shortest.div_ceil(TICK);
        let elapsed = elapsed * TIME_PARTS / HZ;
        let distance = elapsed.abs_diff(epoch.time_to_origin) as f64 / TIME_PARTS as f64;
        let gap = libm::floor((C * distance * distance * distance).min(1e9)) as u32;
        let target = if elapsed < epoch.time_to_origin {
            epoch.origin.saturating_sub(gap)
        } else {
            epoch.origin.saturating_add(gap)
        };
        let per_segment = match target.checked_sub(window) {
            Some(ahead @ 1..) => window / ahead,
            _ => window.saturating_mul(100),
        };
        if self.maximum_window == 0 {
            per_segment.min(20)
        } else {
            per_segment
        }
    }

    fn lower(&mut self) {
        let window = self.window.segments;
        // Fast convergence.
        self.maximum_window = if window < self.maximum_window {
            (u64::from(window) * (SCALE + BETA) / (2 * SCALE)) as u32
        } else {
            window
        };
        self.epoch = None;
        self.window
            .reduce((u64::from(window) * BETA / SCALE) as u32);
    }
}

impl Epoch {
    /// Returns the segments to acknowledge for growth at least as fast as Reno's; `u32::MAX` if Reno sets no limit.
    fn friendly(&mut self, window: u32) -> u32 {
        let each = (u64::from(window) * RENO_EIGHTHS / 8).max(1);
        while self.reno_credit > each {
            self.reno_credit -= each;
            self.reno_window += 1;
        }
        match self.reno_window.checked_sub(window) {
            Some(ahead @ 1..) => window / ahead,
            _ => u32::MAX,
        }
    }
}

impl CongestionControl for Cubic {
    /// Takes in an ACK, also in recovery: `cubictcp_acked`.
    fn on_feedback(&mut self, sample: &FeedbackSample) {
        let Some(rtt) = sample.rtt else {
            return;
        };
        let young =
            |epoch: &Epoch| sample.now.saturating_since(epoch.start) < Duration::from_secs(1);
        if self.epoch.as_ref().is_some_and(young) {
            return; // Just after a recovery the queue tells little.
        }
        let shortest = self.shortest_rtt.map_or(rtt, |shortest| shortest.min(rtt));
        self.shortest_rtt = Some(shortest);
        if let Some(hystart) = &mut self.hystart
            && self.window.in_slow_start()
            && hystart.is_over(sample, (rtt, shortest), self.window.segments)
        {
            self.window.threshold = self.window.segments;
        }
    }

    fn on_acknowledged(&mut self, sample: &AckSample) {
        if !sample.window_limited {
            return;
        }
        let mut acknowledged = sample.acknowledged_bytes / self.window.segment_size;
        if self.window.in_slow_start() {
            acknowledged = self.window.slow_start(acknowledged);
        }
        if acknowledged > 0 {
            self.update(sample.now, acknowledged);
            self.window.grow(self.per_segment, acknowledged);
        }
    }

    fn on_loss(&mut self, _loss: &LossSample) {
        self.lower();
    }

    fn on_timeout(&mut self, loss: &LossSample) {
        if !loss.repeated {
            self.lower();
        }
        // `bictcp_reset` forgets everything, the shortest round-trip time too.
        self.maximum_window = 0;
        self.epoch = None;
        self.per_segment = 0;
        self.shortest_rtt = None;
        self.hystart = self.hystart.as_ref().map(|_| HyStart::default());
        self.window.segments = 1;
        self.window.credit = 0;
    }

    fn on_idle_restart(&mut self, restart_window: u32) {
        self.set(restart_window, self.slow_start_threshold());
    }

    /// Excludes idle time from the function (`bictcp_cwnd_event`).
    fn on_transmission_start(&mut self, now: Instant, idle: Duration) {
        if let Some(epoch) = &mut self.epoch {
            epoch.start = (epoch.start + idle).min(now);
        }
    }

    fn on_segment_size(&mut self, segment_size: u32) {
        self.window.segment_size = segment_size;
    }

    fn set(&mut self, window: u32, slow_start_threshold: u32) {
        self.window.set(window, slow_start_threshold);
    }

    fn on_path_change(&mut self) {
        let (size, hystart) = (self.window.segment_size, self.hystart.is_some());
        let (window, threshold) = (self.window(), self.slow_start_threshold());
        *self = Cubic::new(size, window, threshold, hystart);
    }

    fn window(&self) -> u32 {
        self.window.bytes()
    }

    fn slow_start_threshold(&self) -> u32 {
        self.window.threshold_bytes()
    }
}
