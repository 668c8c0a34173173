//! The laws in Reno's frame against their closed forms, and what holds for every control.

use super::super::{
    self as congestion, BicParameters, HyblaParameters, ScalableParameters, VegasParameters,
    WestwoodParameters,
};
use super::*;
use crate::tcp::profile::{Algorithm, Profile};
use crate::time::{Duration, Instant};

const SEGMENT: u32 = 1000;

/// A control on a path without losses, round trip by round trip.
struct Flow {
    control: Box<dyn CongestionControl>,
    now: Instant,
    acknowledged: u64,
}

impl Flow {
    /// Beyond slow start, with so many segments in the window.
    fn beyond_slow_start(algorithm: Algorithm, segments: u32) -> Flow {
        Flow::new(algorithm, segments, Some(segments), WindowArithmetic::Rfc)
    }

    fn new(
        algorithm: Algorithm,
        segments: u32,
        threshold: Option<u32>,
        arithmetic: WindowArithmetic,
    ) -> Flow {
        let profile = Profile {
            congestion: algorithm,
            initial_slow_start_threshold: threshold.map(|segments| segments * SEGMENT),
            window_arithmetic: arithmetic,
            ..Profile::rfc()
        };
        Flow {
            control: congestion::new(&profile, SEGMENT, segments * SEGMENT),
            now: Instant::from_secs(1),
            acknowledged: 0,
        }
    }

    fn segments(&self) -> f64 {
        f64::from(self.control.window()) / f64::from(SEGMENT)
    }

    fn threshold(&self) -> f64 {
        f64::from(self.control.slow_start_threshold()) / f64::from(SEGMENT)
    }

    /// A round trip: a window of segments is acknowledged one by one, and each acknowledgment lets out the next.
    fn round(&mut self, rtt: Duration) {
        let segments = self.segments() as u64;
        self.now += rtt;
        for _ in 0..segments {
            let sent_to = self.acknowledged + segments * u64::from(SEGMENT);
            self.acknowledge(rtt, sent_to);
        }
    }

    fn acknowledge(&mut self, rtt: Duration, sent_to: u64) {
        self.feedback(Some(rtt), sent_to);
        self.control.on_acknowledged(&AckSample {
            now: self.now,
            acknowledged_bytes: SEGMENT,
            rtt: Some(rtt),
            smoothed_rtt: Some(rtt),
            minimum_rtt: Some(rtt),
            bytes_in_flight: self.control.window(),
            window_limited: true,
        });
    }

    /// One segment more has arrived.
    fn feedback(&mut self, rtt: Option<Duration>, sent_to: u64) {
        self.acknowledged += u64::from(SEGMENT);
        self.control.on_feedback(&FeedbackSample {
            now: self.now,
            rtt,
            smoothed_rtt: rtt,
            acknowledged_to: self.acknowledged,
            sent_to,
            delivered: self.acknowledged,
            bytes_in_flight: self.control.window(),
        });
    }

    fn loss(&self, repeated: bool) -> LossSample {
        LossSample {
            now: self.now,
            bytes_in_flight: self.control.window(),
            smoothed_rtt: None,
            repeated,
        }
    }

    fn lose(&mut self) {
        self.control.on_loss(&self.loss(false));
    }

    fn time_out(&mut self) {
        self.control.on_timeout(&self.loss(false));
    }

    /// Rounds until so many segments are in the window.
    fn rounds_until(&mut self, segments: f64, rtt: Duration) -> u32 {
        (0..10_000)
            .find(|_| {
                let there = self.segments() >= segments;
                if !there {
                    self.round(rtt);
                }
                there
            })
            .unwrap()
    }
}

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn close(found: f64, expected: f64, tolerance: f64) {
    let difference = (found - expected).abs();
    assert!(difference <= tolerance, "{found}, expected {expected}");
}

fn scalable() -> Algorithm {
    Algorithm::Scalable(ScalableParameters::default())
}

/// Study S: S_min 0.25, S_max 32.
fn bic() -> Algorithm {
    Algorithm::Bic(BicParameters {
        smallest_increment: 0.25,
        ..BicParameters::default()
    })
}

fn westwood() -> Algorithm {
    Algorithm::Westwood(WestwoodParameters::default())
}

fn vegas() -> Algorithm {
    Algorithm::Vegas(VegasParameters::default())
}

fn hybla() -> Algorithm {
    Algorithm::Hybla(HyblaParameters::default())
}

fn all() -> [Algorithm; 9] {
    let [reno, newreno, cubic] = [Algorithm::Reno, Algorithm::NewReno, Algorithm::Cubic];
    let others = [westwood(), scalable(), bic(), vegas(), hybla()];
    let [a, b, c, d, e] = others;
    [reno, newreno, cubic, Algorithm::Bbr, a, b, c, d, e]
}

/// Kelly: the window is (1 + a)^n of what it was after n round trips, and 1 - b of it after a loss.
#[test]
fn scalable_grows_by_a_share_each_round_trip() {
    let mut flow = Flow::beyond_slow_start(scalable(), 1000);
    for round in 1..=50 {
        flow.round(ms(100));
        let expected = 1000.0 * 1.01_f64.powi(round);
        close(flow.segments(), expected, expected * 1e-3);
    }
    let before = flow.segments();
    flow.lose();
    close(flow.segments(), 0.875 * before, 0.001);
    // log(1 / 0.875) / log(1.01) = 13.4 round trips, whatever the window.
    assert_eq!(flow.rounds_until(before, ms(100)), 14);
}

#[test]
fn scalable_is_reno_up_to_the_legacy_window() {
    let mut flow = Flow::beyond_slow_start(scalable(), 10);
    flow.round(ms(100));
    close(flow.segments(), 11.0, 0.06);
    flow.lose();
    close(flow.segments(), 5.5, 0.03);
}

/// Study S section 7: from 45 segments on a path that holds 483, after a loss at 45, additive increase, binary search,
/// max probing and additive increase take what its closed form says (with N as a level; see REFERENCE.md, S2).
#[test]
fn bic_needs_the_round_trips_of_its_closed_form() {
    let mut flow = Flow::beyond_slow_start(bic(), 300);
    flow.lose();
    let reduced = 300.0 * 0.875;
    close(flow.segments(), reduced, 0.001);
    // Binary search: half the distance each round trip, until S_min.
    let mut distance = 300.0 - reduced;
    while distance > 1.0 {
        flow.round(ms(580));
        distance -= (distance / 2.0).min(32.0);
        close(flow.segments(), 300.0 - distance, 0.2);
    }
    // log2(32 / 0.25) = 7 round trips of probing until S_max, from the old maximum on.
    flow.rounds_until(300.0, ms(580));
    let steps = (0..12).map(|_| {
        let before = flow.segments();
        flow.round(ms(580));
        flow.segments() - before
    });
    let steps: Vec<f64> = steps.collect();
    assert!(steps[0] >= 0.24 && steps[0] <= 0.5, "{steps:?}");
    for pair in steps.windows(2) {
        let expected = (2.0 * pair[0]).min(32.0);
        close(pair[1], expected, 0.15 * expected);
    }
    close(steps[11], 32.0, 1.0);
}

#[test]
fn bic_far_below_its_maximum_adds_s_max_each_round_trip() {
    let mut flow = Flow::beyond_slow_start(bic(), 1600);
    flow.lose();
    let before = flow.segments();
    flow.round(ms(580));
    close(flow.segments(), before + 32.0, 0.1);
}

/// A flow that did not get back to its maximum aims at the middle of what it had and what is left. A loss takes an eighth
/// in the paper, a fifth in Linux's module.
#[test]
fn bic_converges_fast() {
    for decrease in [0.125, 0.2] {
        let algorithm = Algorithm::Bic(BicParameters {
            decrease,
            ..BicParameters::default()
        });
        let mut flow = Flow::beyond_slow_start(algorithm, 200);
        flow.lose(); // maximum 200
        let left = 200.0 * (1.0 - decrease);
        close(flow.segments(), left, 1e-9);
        flow.lose(); // maximum: between the window before and after
        let maximum = left * (1.0 - decrease / 2.0);
        let before = flow.segments();
        flow.round(ms(580));
        close(flow.segments(), before.midpoint(maximum), 0.1);
    }
}

#[test]
fn bic_is_reno_below_its_low_window() {
    let mut flow = Flow::beyond_slow_start(bic(), 10);
    flow.round(ms(580));
    close(flow.segments(), 11.0, 0.06);
    flow.lose();
    close(flow.segments(), 5.5, 0.03);
}

/// The threshold is bandwidth times shortest round-trip time: a path that holds 100 segments keeps them.
#[test]
fn westwood_keeps_what_the_path_delivers() {
    let mut flow = Flow::beyond_slow_start(westwood(), 100);
    flow.round(ms(100));
    for _ in 0..100 {
        // 100 segments each 200 ms, of which half waits in the queue.
        flow.now += ms(200);
        for _ in 0..100 {
            flow.feedback(Some(ms(200)), u64::MAX);
        }
    }
    flow.lose();
    close(flow.threshold(), 50.0, 1.0);
    // Growth beyond is Reno's.
    let before = flow.segments();
    flow.round(ms(100));
    close(flow.segments(), before + 1.0, 0.05);
}

/// Also in recovery, when nothing grows: the estimate follows with nine tenths of memory.
#[test]
fn westwood_measures_in_recovery() {
    let mut flow = Flow::beyond_slow_start(westwood(), 100);
    let steady = |flow: &mut Flow, rounds: u32, segments: u32| {
        for _ in 0..rounds {
            flow.now += ms(100);
            for _ in 0..segments {
                flow.feedback(Some(ms(100)), u64::MAX);
            }
        }
    };
    steady(&mut flow, 100, 100);
    flow.lose();
    close(flow.threshold(), 100.0, 1.0);
    steady(&mut flow, 10, 50);
    flow.lose();
    // The tenth is not over.
    close(flow.threshold(), 50.0 + 50.0 * 0.9_f64.powi(9), 0.1);
}

/// Study S section 8: after a handover to a longer path the old path's round-trip time makes the threshold far too low, and
/// what the handover or a window of seconds resets does not.
#[test]
fn westwood_forgets_the_old_path_if_told_or_in_time() {
    let threshold = |parameters, told: bool| {
        let mut flow = Flow::beyond_slow_start(Algorithm::Westwood(parameters), 250);
        for rtt in [20, 580] {
            if rtt == 580 && told {
                flow.control.on_path_change();
            }
            for _ in 0..60 {
                // 5 Mbit/s of 1000 B.
                flow.now += ms(rtt);
                for _ in 0..rtt * 625 / 1000 {
                    flow.feedback(Some(ms(rtt)), u64::MAX);
                }
            }
        }
        flow.lose();
        flow.threshold()
    };
    let never = WestwoodParameters::default();
    let in_time = WestwoodParameters {
        minimum_rtt_window: Some(Duration::from_secs(10)),
    };
    close(threshold(never, false), 12.5, 1.0);
    close(threshold(never, true), 362.5, 5.0);
    close(threshold(in_time, false), 362.5, 5.0);
}

/// Brakmo and Peterson: what waits, window · (1 - base / rtt), comes to lie between α and β.
#[test]
fn vegas_settles_with_alpha_to_beta_segments_waiting() {
    for begin in [20, 200] {
        let mut flow = Flow::beyond_slow_start(vegas(), 100);
        flow.round(ms(100));
        flow.control.set(begin * SEGMENT, SEGMENT);
        // A bottleneck of one segment each millisecond, 100 ms away.
        let rtt = |flow: &Flow| ms((flow.segments() as u64).max(100));
        for _ in 0..200 {
            let now = rtt(&flow);
            flow.round(now);
        }
        let waiting = flow.segments() - 100.0;
        assert!((1.0..=5.0).contains(&waiting), "{waiting}");
    }
}

/// One segment a round trip, up or down.
#[test]
fn vegas_moves_by_one_segment_each_round_trip() {
    let mut flow = Flow::beyond_slow_start(vegas(), 50);
    flow.round(ms(100));
    let before = flow.segments();
    for round in 1..=5 {
        flow.round(ms(100));
        close(flow.segments(), before + f64::from(round), 0.001);
    }
    flow.round(ms(120)); // a sixth of the window waits
    let before = flow.segments();
    for round in 1..=5 {
        flow.round(ms(120));
        close(flow.segments(), before - f64::from(round), 0.001);
    }
}

/// It doubles every other round trip, and stops when more than γ waits.
#[test]
fn vegas_slow_start_grows_every_other_round_trip() {
    let mut flow = Flow::new(vegas(), 2, None, WindowArithmetic::Rfc);
    let windows: Vec<f64> = (0..8)
        .map(|_| {
            flow.round(ms(100));
            flow.segments()
        })
        .collect();
    let doublings = windows.windows(2).filter(|pair| pair[1] > 1.5 * pair[0]);
    assert!((3..=4).contains(&doublings.count()), "{windows:?}");
    for _ in 0..4 {
        flow.round(ms(150));
    }
    assert!(
        flow.threshold() <= flow.segments() + 1.0,
        "slow start is over"
    );
}

#[test]
fn vegas_gives_up_a_quarter_after_a_loss() {
    let mut flow = Flow::beyond_slow_start(vegas(), 100);
    flow.lose();
    close(flow.segments(), 75.0, 0.001);
    flow.time_out();
    close(flow.segments(), 1.0, 0.001);
    close(flow.threshold(), 37.5, 0.001);
}

/// Caini and Firrincieli: ρ² segments a round trip, so that the rate grows in time as with RTT₀ = 25 ms; and 2^ρ a segment
/// in slow start.
#[test]
fn hybla_grows_in_time_as_the_reference_does() {
    for (rtt, ratio) in [(25, 1.0), (100, 4.0), (10, 1.0)] {
        let mut flow = Flow::beyond_slow_start(hybla(), 1000);
        flow.round(ms(rtt));
        let before = flow.segments();
        flow.round(ms(rtt));
        let expected = ratio * ratio;
        close(flow.segments() - before, expected, 0.03 * expected);
    }
    let mut flow = Flow::new(hybla(), 10, Some(1000), WindowArithmetic::Rfc);
    flow.acknowledge(ms(100), 0);
    close(flow.segments(), 10.0 + 15.0, 0.001); // 2^4 - 1
    flow.acknowledge(ms(600), 0); // the shortest counts
    close(flow.segments(), 10.0 + 30.0, 0.001);
    flow.control.on_path_change();
    flow.acknowledge(ms(600), 0);
    close(flow.segments(), 1000.0, 0.001); // as far as the threshold
    flow.lose();
    close(flow.segments(), 500.0, 0.001);
}

/// Segments in the window when a loss is found, with one after every `segments`, once that repeats itself.
fn window_at_loss(algorithm: Algorithm, rtt: Duration, segments: u32) -> f64 {
    let mut flow = Flow::beyond_slow_start(algorithm, 100);
    let windows = (0..60).map(|_| {
        for _ in 0..segments {
            flow.acknowledge(rtt, 0);
        }
        let window = flow.segments();
        flow.lose();
        window
    });
    windows.last().unwrap()
}

/// The response functions where losses can be counted, one in N segments. Additive increase by i each round trip and a half lost:
/// 3/8 W² / i = N. Scalable: a N are gained and b W lost (Kelly, section 3): W = N a / b.
#[test]
fn windows_at_equilibrium_follow_their_response_functions() {
    for segments in [2_000, 10_000] {
        let n = f64::from(segments);
        for (algorithm, rtt, increase) in [
            (Algorithm::NewReno, 100, 1.0_f64),
            (hybla(), 25, 1.0),
            (hybla(), 100, 16.0),
            (hybla(), 250, 100.0),
        ] {
            let expected = (8.0 / 3.0 * n * increase).sqrt();
            let name = algorithm.name().to_owned();
            let found = window_at_loss(algorithm, ms(rtt), segments);
            assert!(
                (found / expected - 1.0).abs() < 0.03,
                "{name}: {found}, {expected}"
            );
        }
        let expected = n * 0.01 / 0.125;
        close(
            window_at_loss(scalable(), ms(100), segments),
            expected,
            0.02 * expected,
        );
    }
}

/// Losses that can be counted, one after every `segments`, from one at a window of `begin` on; round-trip times are all `rtt`, but
/// that a shorter one was seen before. Gives the window at the last loss, and the mean of the last half in the time.
fn cycles(
    (algorithm, begin): (Algorithm, u32),
    [shortest, rtt]: [Duration; 2],
    segments: u32,
) -> [f64; 2] {
    const CYCLES: u32 = 20;
    let mut flow = Flow::beyond_slow_start(algorithm, begin);
    flow.feedback(Some(shortest), 0);
    let (mut at_loss, mut sent, mut round_trips) = (0.0, 0.0, 0.0);
    for cycle in 0..CYCLES {
        flow.lose();
        for _ in 0..segments {
            if cycle >= CYCLES / 2 {
                sent += 1.0;
                round_trips += 1.0 / flow.segments();
            }
            let apart = rtt.as_nanos() as f64 / flow.segments();
            flow.now += Duration::from_nanos(apart as u64);
            flow.acknowledge(rtt, 0);
        }
        at_loss = flow.segments();
    }
    [at_loss, sent / round_trips]
}

/// The paper's section III-D, with N segments from loss to loss and the window W at each: additive increase for
/// N₁ = ⌈βW / S_max⌉ - 2 round trips, if that is above 0, and binary search for N₂ = log₂((βW - N₁ S_max) / S_min) + 2. So many
/// segments are sent in them; gives them and the round trips.
fn of_bic(window: f64) -> (f64, f64) {
    let (smallest, largest, decrease) = (0.01, 32.0, 0.125);
    let lost = decrease * window;
    let additive = ((lost / largest).ceil() - 2.0).max(0.0);
    let search = ((lost - additive * largest) / smallest).log2() + 2.0;
    let in_additive = additive * (window - lost + (additive - 1.0) * largest / 2.0);
    let in_search = window * search - 2.0 * (lost - additive * largest) + smallest;
    (in_additive + in_search, additive + search)
}

/// Binary search alone acts if a loss takes less than S_max (a few thousand segments from loss to loss); if it takes
/// much more there is a closed form: with a = β(2 - β) / 2 S_max, b = log₂(S_max / S_min) + (2 - β) / 2 and c = S_max -
/// S_min, W = (√(b² + 4a(c + N)) - b) / 2a. The search ends flat, and a loss anywhere in that part repeats itself, so
/// that other windows, up to a sixth lower, may last, too: it begins at the paper's, and from above comes back to it.
#[test]
fn bic_at_equilibrium_follows_its_response_function() {
    let papers = || Algorithm::Bic(BicParameters::default());
    let mean = |begin: f64, n: f64| cycles((papers(), begin as u32), [ms(100); 2], n as u32)[1];
    for window in [85.0, 158.0, 227.0] {
        let (n, round_trips) = of_bic(window);
        let expected = n / round_trips;
        close(mean(window, n), expected, 0.015 * expected);
    }
    for n in [30_000.0, 60_000.0] {
        let (a, b) = (0.125 * 1.875 / 64.0, 3200_f64.log2() + 1.875 / 2.0);
        let window = ((b * b + 4.0 * a * (31.99 + n)).sqrt() - b) / (2.0 * a);
        let expected = n / of_bic(window).1;
        for begin in [window, 1.3 * window] {
            close(mean(begin, n), expected, 0.015 * expected);
        }
    }
}

/// Grieco and Mascolo's model (CCR 34(2), 2004, section 3): a loss at W leaves W q, with q = RTT_min / RTT, and each round trip
/// adds one. From loss to loss these are N = (1 - q²) W² / 2 segments, so that W = √(2N / (1 - q²)), and the mean is that of both
/// ends; for Reno q is a half. Their throughput, with p for 1/N and a loss as likely at any segment, is √((1 - p) / p) / √(RTT (RTT - RTT_min)):
/// without a queue a loss costs nothing. What is measured lags behind by the age of the estimate: nine round trips of
/// the memory, one to measure, and a half within it.
#[test]
fn westwood_at_equilibrium_follows_its_response_function() {
    for n in [10_000_u32, 40_000] {
        for rtt in [125, 200, 400] {
            let q = 100.0 / rtt as f64;
            let late = 2.0 * f64::from(n);
            // W² - q² (W - lag)² = 2N
            let of_lag = |lag: f64| {
                let (square, linear) = (1.0 - q * q, q * q * lag);
                ((linear * linear + square * (late + linear * lag)).sqrt() - linear) / square
            };
            let expected = of_lag(10.5);
            let [at_loss, mean] = cycles((westwood(), 200), [ms(100), ms(rtt)], n);
            close(at_loss, expected, 0.02 * expected);
            let both = (expected + q * (expected - 10.5)) / 2.0;
            close(mean, both, 0.02 * both);
            // Theirs has one window for all that this cycle has between its ends; where the lag is short beside it.
            if rtt == 400 {
                let model = (f64::from(n) / (1.0 - q)).sqrt();
                close(mean / model, ((1.0 + q) / 2.0).sqrt(), 0.02);
            }
        }
    }
}

/// Every control keeps these, whatever happens to it: at least a segment, never NaN, and a threshold of two segments.
#[test]
fn no_control_has_less_than_a_segment_or_more_than_it_can_say() {
    for arithmetic in [WindowArithmetic::Rfc, WindowArithmetic::Linux] {
        for algorithm in all() {
            let name = algorithm.name().to_owned();
            let mut flow = Flow::new(algorithm, 10, None, arithmetic);
            let mut draw = 1_u64;
            for _ in 0..20_000 {
                draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let chance = (draw >> 33) % 1000;
                let rtt = ms(1 + (draw >> 45) % 3000);
                flow.now += rtt;
                match chance {
                    0..20 => flow.lose(),
                    20..30 => flow.time_out(),
                    30..35 => flow.control.on_idle_restart(chance as u32),
                    35..40 => flow.control.on_timeout(&flow.loss(true)),
                    40..45 => flow.control.on_path_change(),
                    45..60 => flow.feedback(None, u64::MAX),
                    60..65 => flow.control.set(chance as u32, u32::MAX),
                    65..70 => flow.control.set(100 * SEGMENT, 50 * SEGMENT),
                    _ => flow.acknowledge(rtt, flow.acknowledged + chance * 1000),
                }
                assert!(flow.control.window() >= SEGMENT, "{name}");
                assert!(flow.control.slow_start_threshold() >= 2 * SEGMENT, "{name}");
            }
            flow.lose();
            assert!(flow.control.window() >= SEGMENT, "{name}");
        }
    }
}

/// Timeouts of the same data leave the threshold, those of others lower it.
#[test]
fn every_law_starts_over_after_a_timeout() {
    for algorithm in [westwood(), scalable(), bic(), vegas(), hybla()] {
        let name = algorithm.name().to_owned();
        let mut flow = Flow::beyond_slow_start(algorithm, 100);
        flow.time_out();
        let threshold = flow.threshold();
        assert_eq!(flow.segments(), 1.0, "{name}");
        assert!((50.0..=90.0).contains(&threshold), "{name}: {threshold}");
        flow.control.on_timeout(&flow.loss(true));
        assert_eq!(flow.threshold(), threshold, "{name}");
    }
}

/// With Linux's recovery a window that is set, as step by step in a recovery, comes back as it was set.
#[test]
fn what_recovery_sets_stays() {
    for algorithm in [westwood(), scalable(), bic(), vegas(), hybla()] {
        let mut flow = Flow::new(algorithm, 10, None, WindowArithmetic::Linux);
        flow.control.set(33 * SEGMENT, 57_123);
        assert_eq!(flow.control.window(), 33 * SEGMENT);
        assert_eq!(flow.control.slow_start_threshold(), 57_123);
        flow.control.set(57_123, u32::MAX);
        assert_eq!(flow.control.slow_start_threshold(), u32::MAX);
    }
}
