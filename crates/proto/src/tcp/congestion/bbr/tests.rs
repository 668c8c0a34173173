//! BBR over a path of known rate and delay, against what its authors say it does.

use super::filter::MaximumOfRounds;
use super::{Bbr, Mode};
use crate::tcp::congestion::{CongestionControl, RatePhase, RateSample};
use crate::time::{Duration, Instant};

#[test]
fn the_maximum_is_that_of_ten_rounds() {
    let mut filter = MaximumOfRounds::default();
    filter.update(1, 100.0);
    for round in 2..=11 {
        filter.update(round, 50.0 + round as f64 / 100.0);
        assert_eq!(filter.maximum(), 100.0, "{round}");
    }
    filter.update(12, 50.0);
    assert!((50.0..51.0).contains(&filter.maximum()));
}

/// A path of `rate` segments a second and `delay`; each step of 10 ms what it delivers is acknowledged.
struct Path {
    bbr: Bbr,
    now: Instant,
    delivered: f64,
    in_flight: f64,
    rate: f64,
    delay: Duration,
}

const STEP: Duration = Duration::from_millis(10);

impl Path {
    fn new(rate: f64, milliseconds: u64) -> Path {
        Path {
            bbr: Bbr::new(1000, 10_000, u32::MAX),
            now: Instant::from_secs(1),
            delivered: 0.0,
            in_flight: 0.0,
            rate,
            delay: Duration::from_millis(milliseconds),
        }
    }

    /// In flight is what pacing and window have let out and the path has not delivered.
    fn run(&mut self, seconds: f64) {
        let end = self.now + Duration::from_secs_f64(seconds);
        while self.now < end {
            let capacity = self.rate * self.delay.as_secs_f64();
            let window = f64::from(self.bbr.window() / 1000);
            let paced = self.bbr.pacing_rate * STEP.as_secs_f64();
            self.in_flight += paced.min((window - self.in_flight).max(0.0));
            let in_flight = self.in_flight;
            let rate = (in_flight / self.delay.as_secs_f64()).min(self.rate);
            let before = self.delivered;
            self.delivered += rate * STEP.as_secs_f64();
            self.in_flight -= rate * STEP.as_secs_f64();
            let queue = (in_flight - capacity).max(0.0) / self.rate;
            let rtt = self.delay + Duration::from_secs_f64(queue);
            let then = (self.delivered - rate * rtt.as_secs_f64()).max(0.0);
            self.now += STEP;
            self.bbr.on_rate_sample(&RateSample {
                now: self.now,
                delivered: self.delivered as u64,
                interval: Some((then as u64, rtt)),
                application_limited: false,
                newly_delivered: (self.delivered as u64 - before as u64) as u32,
                newly_lost: 0,
                prior_in_flight: in_flight as u32,
                in_flight: self.in_flight as u32,
                rtt: Some(rtt),
                smoothed_rtt: Some(rtt),
                phase: RatePhase::Open,
            });
        }
    }
}

#[test]
fn it_finds_the_rate_drains_its_queue_and_cruises() {
    let mut path = Path::new(1_000.0, 100);
    path.run(0.2);
    assert_eq!(path.bbr.mode, Mode::Startup);
    path.run(3.0);
    assert_eq!(path.bbr.mode, Mode::ProbeBandwidth);
    let found = path.bbr.bandwidth.maximum();
    assert!((found - 1_000.0).abs() < 50.0, "{found}");
    // Twice the capacity of 100 segments, and three bursts of two.
    let window = path.bbr.window() / 1000;
    assert!((200..=230).contains(&window), "{window}");
    // A cycle of eight phases: one above, one below.
    let mut gains = Vec::new();
    for _ in 0..300 {
        path.run(0.01);
        if gains.last() != Some(&path.bbr.pacing_gain) {
            gains.push(path.bbr.pacing_gain);
        }
    }
    assert!(gains.contains(&1.25) && gains.contains(&0.75), "{gains:?}");
}

#[test]
fn every_ten_seconds_the_window_falls_to_four() {
    let mut path = Path::new(1_000.0, 100);
    path.run(5.0);
    let mut least = u32::MAX;
    for _ in 0..1_000 {
        path.run(0.01);
        least = least.min(path.bbr.window() / 1000);
    }
    assert_eq!(least, 4);
    path.run(1.0);
    assert!(path.bbr.window() / 1000 >= 200, "and comes back");
}
