//! Against the closed forms of RFC 9438, worked out by hand with C = 0.4 and β = 0.7.

use super::*;

const SEGMENT: u32 = 1000;

/// A sender that always fills its window, over a path with a fixed round-trip time.
struct Path {
    cubic: Cubic,
    now: Instant,
    rtt: Duration,
}

impl Path {
    fn new(segments: u32, rtt: Duration) -> Path {
        Path {
            cubic: Cubic::new(SEGMENT, segments * SEGMENT, u32::MAX),
            now: Instant::from_secs(10),
            rtt,
        }
    }

    fn segments(&self) -> f64 {
        f64::from(self.cubic.window()) / f64::from(SEGMENT)
    }

    fn loss(&self) -> LossSample {
        LossSample {
            now: self.now,
            bytes_in_flight: self.cubic.window(),
            smoothed_rtt: Some(self.rtt),
            repeated: false,
        }
    }

    fn lose(&mut self) {
        let loss = self.loss();
        self.cubic.on_loss(&loss);
    }

    fn acknowledge(&mut self, segments: u32, bytes_in_flight: u32, window_limited: bool) {
        self.cubic.on_acknowledged(&AckSample {
            now: self.now,
            acknowledged_bytes: segments * SEGMENT,
            rtt: Some(self.rtt),
            smoothed_rtt: Some(self.rtt),
            minimum_rtt: Some(self.rtt),
            bytes_in_flight,
            window_limited,
        });
    }

    /// Acknowledgments of one segment each, spread evenly over the round trip, for `time`.
    fn run(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            self.acknowledge(1, self.cubic.window(), true);
            let spacing = self.rtt.as_secs_f64() / self.segments();
            self.now += Duration::from_secs_f64(spacing);
        }
    }
}

fn close(measured: f64, expected: f64, tolerance: f64) {
    assert!(
        (measured - expected).abs() <= tolerance,
        "{measured} is not within {tolerance} of {expected}"
    );
}

#[test]
fn a_loss_leaves_seven_tenths() {
    let mut path = Path::new(100, Duration::from_millis(100));
    path.lose();
    assert_eq!(path.cubic.window(), 70 * SEGMENT);
    assert_eq!(path.cubic.slow_start_threshold(), 70 * SEGMENT);
    // The data in flight counts, not the window.
    let mut path = Path::new(100, Duration::from_millis(100));
    path.cubic.on_loss(&LossSample {
        bytes_in_flight: 50 * SEGMENT,
        ..path.loss()
    });
    assert_eq!(path.cubic.window(), 35 * SEGMENT);
    // Never below two segments.
    path.cubic.on_loss(&LossSample {
        bytes_in_flight: SEGMENT,
        ..path.loss()
    });
    assert_eq!(path.cubic.window(), 2 * SEGMENT);
}

#[test]
fn the_window_follows_the_cubic_function() {
    // W_max = 1000, K = cbrt(1000 × 0.3 / 0.4) = cbrt(750) = 9.0856 s; and
    // W(t) = 0.4 (t − 9.0856)³ + 1000 at 2, 5, K, 12 and 15 s.
    let mut path = Path::new(1000, Duration::from_millis(50));
    path.lose();
    let mut elapsed = 0.0;
    for (at, expected) in [
        (2.0, 857.705),
        (5.0, 972.721),
        (9.0856, 1000.0),
        (12.0, 1009.901),
        (15.0, 1082.754),
    ] {
        path.run(Duration::from_secs_f64(at - elapsed));
        elapsed = at;
        // One segment of slack: the target looks one round trip ahead and is approached in steps.
        close(path.segments(), expected, 1.5);
    }
    let stage = path.cubic.stage.expect("in congestion avoidance");
    close(stage.time_to_maximum, 9.085_603, 1e-6);
}

#[test]
fn fast_convergence_gives_up_a_part() {
    let mut path = Path::new(100, Duration::from_millis(100));
    path.lose();
    assert_eq!(path.cubic.maximum_window, Some(100.0));
    // Lost again at 70, below 100: W_max = 70 × 1.7 / 2 = 59.5.
    path.lose();
    close(path.cubic.maximum_window.unwrap_or(0.0), 59.5, 1e-9);
    close(path.segments(), 49.0, 1e-9);
    // Beyond the last maximum it is the window itself.
    path.run(Duration::from_secs(20));
    let reached = path.cubic.window;
    assert!(reached > 59.5);
    path.lose();
    assert_eq!(path.cubic.maximum_window, Some(reached));
}

#[test]
fn on_a_short_path_it_grows_as_reno_would() {
    // At 10 ms the cubic function is nearly flat from one round trip to the next, and Reno's line with
    // α = 3 × 0.3 / 1.7 = 0.5294 segments a round trip is above it: 14, 14.53, 15.06, …
    let mut path = Path::new(20, Duration::from_millis(10));
    path.lose();
    path.run(Duration::from_millis(10));
    close(path.segments(), 14.0 + 0.5294, 0.05);
    path.run(Duration::from_millis(90));
    close(path.segments(), 14.0 + 10.0 * 0.5294, 0.3);
    // From cwnd_prior = 20 on, α = 1: after (20 − 14) / 0.5294 = 11.3 round trips, so that 50 more add 50.
    path.run(Duration::from_millis(20));
    let before = path.segments();
    assert!(before > 20.0);
    path.run(Duration::from_millis(500));
    close(path.segments() - before, 50.0, 1.0);
}

#[test]
fn slow_start_doubles_and_its_end_without_loss_starts_on_the_flat() {
    let mut path = Path::new(2, Duration::from_millis(100));
    path.cubic.slow_start_threshold = 64 * SEGMENT;
    for expected in [4.0, 8.0, 16.0, 32.0, 64.0] {
        for _ in 0..path.cubic.window() / SEGMENT {
            path.acknowledge(1, path.cubic.window(), true);
        }
        assert_eq!(path.segments(), expected);
    }
    path.acknowledge(1, path.cubic.window(), true);
    let stage = path.cubic.stage.expect("in congestion avoidance");
    assert_eq!((stage.time_to_maximum, stage.maximum_window), (0.0, 64.0));
}

#[test]
fn a_timeout_starts_over_with_the_threshold_at_seven_tenths() {
    let mut path = Path::new(100, Duration::from_millis(100));
    let mut loss = path.loss();
    path.cubic.on_timeout(&loss);
    assert_eq!(path.cubic.window(), SEGMENT);
    assert_eq!(path.cubic.slow_start_threshold(), 70 * SEGMENT);
    loss.repeated = true;
    loss.bytes_in_flight = SEGMENT;
    path.cubic.on_timeout(&loss);
    assert_eq!(path.cubic.slow_start_threshold(), 70 * SEGMENT);
    // Slow start to 70 takes 7 round trips; congestion avoidance then begins with K = 0 and W_max = cwnd.
    path.run(Duration::from_millis(750));
    let stage = path.cubic.stage.expect("in congestion avoidance");
    assert_eq!(stage.time_to_maximum, 0.0);
    close(stage.maximum_window, 70.0, 0.001);
}

#[test]
fn growth_never_exceeds_half_the_window_in_a_round_trip() {
    // Far out on the convex branch with a round trip of 2 s the function would more than double.
    let mut path = Path::new(10, Duration::from_secs(2));
    path.lose();
    path.run(Duration::from_secs(4));
    for _ in 0..10 {
        let before = path.cubic.window;
        for _ in 0..before as u32 {
            path.acknowledge(1, path.cubic.window(), true);
        }
        // Compounded in the steps of one round trip: at most e^0.5.
        assert!(path.cubic.window <= before * 1.649);
        path.now += path.rtt;
    }
}

#[test]
fn time_without_use_of_the_window_does_not_count() {
    let rtt = Duration::from_millis(50);
    let mut steady = Path::new(1000, rtt);
    steady.lose();
    steady.run(Duration::from_secs(3));
    let before = steady.segments();
    steady.run(Duration::from_secs(1));

    // The same with ten seconds of a slow application in between.
    let mut slow = Path::new(1000, rtt);
    slow.lose();
    slow.run(Duration::from_secs(3));
    for _ in 0..10 {
        slow.now += Duration::from_secs(1);
        slow.acknowledge(1, SEGMENT, false);
    }
    assert_eq!(slow.segments(), before);
    slow.run(Duration::from_secs(1));
    close(slow.segments(), steady.segments(), 0.5);

    // The same with ten seconds of silence, after which a whole window is sent at once.
    let mut idle = Path::new(1000, rtt);
    idle.lose();
    idle.run(Duration::from_secs(3));
    idle.acknowledge(1, SEGMENT, true);
    idle.now += Duration::from_secs(10) + rtt;
    idle.run(Duration::from_secs(1));
    close(idle.segments(), steady.segments(), 2.0);
}

#[test]
fn an_idle_restart_keeps_the_threshold_and_lowers_the_window() {
    let mut path = Path::new(100, Duration::from_millis(100));
    path.lose();
    path.run(Duration::from_secs(1));
    path.cubic.on_idle_restart(10 * SEGMENT);
    assert_eq!(path.cubic.window(), 10 * SEGMENT);
    assert_eq!(path.cubic.slow_start_threshold(), 70 * SEGMENT);
    path.cubic.on_idle_restart(50 * SEGMENT);
    assert_eq!(path.cubic.window(), 10 * SEGMENT);
}
