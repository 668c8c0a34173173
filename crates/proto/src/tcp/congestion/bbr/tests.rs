//! BBR over a path of known rate and delay, against what its authors say it does.

use super::{Bbr, Mode};
use crate::tcp::congestion::{CongestionControl, RatePhase, RateSample};
use crate::time::{Duration, Instant};

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
            bbr: Bbr::new(1000, 10_000, u32::MAX, true),
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
                lost: 0,
                newly_lost: 0,
                prior_in_flight: in_flight as u32,
                in_flight: self.in_flight as u32,
                until_departure: Duration::ZERO,
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
    let found = path.bbr.highest_rate();
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

/// A policer lets 1000 segments a second through and drops three of ten, in rounds of 100 ms, for as long as the test
/// lasts. Returns the rounds after which BBR kept to a rate, and then did so no more.
fn policed(bbr: &mut Bbr, rounds: u64, delivered_of: impl Fn(u64) -> u64) -> Vec<u64> {
    let (mut delivered, mut lost) = (0, 0);
    let mut changes = Vec::new();
    let mut keeps = false;
    for round in 1..=rounds {
        let before = delivered;
        delivered += delivered_of(round);
        lost += 30;
        bbr.on_rate_sample(&RateSample {
            now: Instant::from_secs(1) + Duration::from_millis(100 * round),
            delivered,
            // A burst that passes after a pause looks like three times the rate.
            interval: Some((before, Duration::from_millis(33))),
            application_limited: false,
            lost,
            newly_delivered: (delivered - before) as u32,
            newly_lost: 30,
            prior_in_flight: 100,
            in_flight: 100,
            until_departure: Duration::ZERO,
            rtt: Some(Duration::from_millis(100)),
            smoothed_rtt: Some(Duration::from_millis(100)),
            phase: RatePhase::Open,
        });
        let kept = bbr.policer.is_some_and(|policer| policer.rate().is_some());
        if kept != keeps {
            keeps = kept;
            changes.push(round);
        }
    }
    changes
}

/// `bbr_lt_bw_sampling`: two intervals of four rounds each of one rate, then 48 rounds of keeping to it.
#[test]
fn a_policer_is_found_by_its_steady_rate_and_kept_to_for_a_while() {
    let mut bbr = Bbr::new(1000, 10_000, u32::MAX, true);
    // Sampling begins with the first loss, whose round counts.
    assert_eq!(policed(&mut bbr, 8, |_| 100), [8]);
    let kept = bbr.pacing_rate / 0.99;
    assert!((1_000.0..1_200.0).contains(&kept), "{kept}");
    assert!(
        bbr.highest_rate() > 3_000.0,
        "what the rounds alone would say"
    );
    let mut bbr = Bbr::new(1000, 10_000, u32::MAX, true);
    let changes = policed(&mut bbr, 70, |_| 100);
    assert_eq!(changes[..2], [8, 8 + 48]);
    // A rate that is not steady is no policer's.
    let mut bbr = Bbr::new(1000, 10_000, u32::MAX, true);
    let unsteady = |round: u64| {
        if (round / 4).is_multiple_of(2) {
            50
        } else {
            100
        }
    };
    assert!(policed(&mut bbr, 30, unsteady).is_empty());
    let mut bbr = Bbr::new(1000, 10_000, u32::MAX, false);
    assert!(policed(&mut bbr, 30, |_| 100).is_empty());
}
