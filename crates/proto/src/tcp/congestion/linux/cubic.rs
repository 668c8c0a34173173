//! Linux's CUBIC (`net/ipv4/tcp_cubic.c`): RFC 9438's function in whole segments, with HyStart, and a growth that
//! is never slower than one segment for 20 acknowledged before the first loss.

use super::SegmentWindow;
use super::hystart::HyStart;
use crate::tcp::congestion::{AckSample, CongestionControl, LossSample};
use crate::time::{Duration, Instant};

/// `bic_scale` 41, in units of 1/1024: C of RFC 9438 in segments a second cubed.
const C: f64 = 410.0 / 1024.0;
/// `beta` in units of 1/1024: what is left of the window after a loss.
const BETA: u64 = 717;
const SCALE: u64 = 1024;
/// `beta_scale` / 8: windows that Reno with this β needs for one segment of growth, 15/8 = (1 + β) / (3 (1 − β)).
const RENO_EIGHTHS: u64 = 8 * (SCALE + BETA) / 3 / (SCALE - BETA);
/// The target is not computed anew within this time if the window is the same: HZ / 32.
const LEAST_INTERVAL: Duration = Duration::from_micros(31_250);

/// Window of CUBIC.
#[derive(Debug)]
pub(in crate::tcp::congestion) struct Cubic {
    window: SegmentWindow,
    hystart: Option<HyStart>,
    /// `last_max_cwnd`, in segments; zero before the first loss.
    maximum_window: u32,
    epoch: Option<Epoch>,
    /// `cnt`: segments to be acknowledged for one of growth.
    per_segment: u32,
    /// When and for which window that was computed.
    computed: (Instant, u32),
    shortest_rtt: Option<Duration>,
}

/// One stage of congestion avoidance.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    start: Instant,
    /// Seconds until the function is at `origin`: K.
    time_to_origin: f64,
    origin: u32,
    /// The window that Reno would have, and segments acknowledged since it grew.
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
            computed: (Instant::ZERO, 0),
            shortest_rtt: None,
        }
    }

    /// `cubictcp_acked`: the round-trip time, and whether it ends slow start.
    fn measure(&mut self, sample: &AckSample) {
        let young =
            |epoch: &Epoch| sample.now.saturating_since(epoch.start) < Duration::from_secs(1);
        let Some(rtt) = sample.rtt else {
            return;
        };
        if self.epoch.as_ref().is_some_and(young) {
            return; // Just after a recovery the queue says little.
        }
        let shortest = self.shortest_rtt.map_or(rtt, |shortest| shortest.min(rtt));
        self.shortest_rtt = Some(shortest);
        if let Some(hystart) = &mut self.hystart
            && self.window.in_slow_start()
            && hystart.is_over(sample, rtt, shortest, self.window.segments)
        {
            self.window.threshold = self.window.segments;
        }
    }

    fn begin_epoch(&mut self, now: Instant) -> Epoch {
        let window = self.window.segments;
        let origin = self.maximum_window.max(window);
        Epoch {
            start: now,
            time_to_origin: libm::cbrt(f64::from(origin - window) / C),
            origin,
            reno_window: window,
            reno_credit: 0,
        }
    }

    /// `bictcp_update`.
    fn update(&mut self, now: Instant, acknowledged: u32) {
        let mut epoch = match self.epoch {
            Some(epoch) => epoch,
            None => self.begin_epoch(now),
        };
        self.epoch = Some(epoch);
        epoch.reno_credit += u64::from(acknowledged);
        let window = self.window.segments;
        let (computed_at, computed_for) = self.computed;
        let recent = now.saturating_since(computed_at) <= LEAST_INTERVAL;
        if recent && computed_for == window && self.per_segment > 0 {
            self.epoch = Some(epoch);
            return;
        }
        self.computed = (now, window);
        let elapsed = now.saturating_since(epoch.start) + self.shortest_rtt.unwrap_or_default();
        let distance = elapsed.as_secs_f64() - epoch.time_to_origin;
        let target = f64::from(epoch.origin) + C * distance * distance * distance;
        let target = libm::floor(target.clamp(0.0, 1e9)) as u32;
        let mut per_segment = if target > window {
            window / (target - window)
        } else {
            window.saturating_mul(100)
        };
        if self.maximum_window == 0 {
            per_segment = per_segment.min(20);
        }
        self.per_segment = per_segment.min(epoch.friendly(window)).max(2);
        self.epoch = Some(epoch);
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
    /// Growth that is at least Reno's; `u32::MAX` if it asks for none.
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
    fn on_acknowledged(&mut self, sample: &AckSample) {
        self.measure(sample);
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
        // `bictcp_reset`: all is forgotten, the shortest round-trip time too.
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

    /// Idle time does not count for the function (`bictcp_cwnd_event`).
    fn on_transmission_start(&mut self, now: Instant, idle: Duration) {
        if let Some(epoch) = &mut self.epoch {
            epoch.start = (epoch.start + idle).min(now);
        }
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
