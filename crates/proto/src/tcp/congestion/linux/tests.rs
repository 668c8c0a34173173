//! Linux's windows, segment by segment, against its rules and what the kernel was seen to do.

use super::{Cubic, Reno};
use crate::tcp::congestion::{AckSample, CongestionControl, FeedbackSample, LossSample};
use crate::time::{Duration, Instant};

const SEGMENT: u32 = 1000;

fn sample(
    control: &dyn CongestionControl,
    now: Instant,
    segments: u32,
    rtt: Duration,
) -> AckSample {
    AckSample {
        now,
        acknowledged_bytes: segments * SEGMENT,
        rtt: Some(rtt),
        smoothed_rtt: Some(rtt),
        minimum_rtt: Some(rtt),
        bytes_in_flight: control.window(),
        window_limited: true,
    }
}

fn loss(repeated: bool) -> LossSample {
    LossSample {
        now: Instant::ZERO,
        bytes_in_flight: 0,
        smoothed_rtt: None,
        repeated,
    }
}

fn window(control: &dyn CongestionControl) -> u32 {
    control.window() / SEGMENT
}

const RTT: Duration = Duration::from_millis(100);

#[test]
fn slow_start_adds_every_segment_and_spends_the_rest_beyond_the_threshold() {
    let mut reno = Reno::new(SEGMENT, 10 * SEGMENT, 14 * SEGMENT);
    // An acknowledgment of two segments adds two (RFC 5681 would add one).
    let two = sample(&reno, Instant::ZERO, 2, RTT);
    reno.on_acknowledged(&two);
    assert_eq!(window(&reno), 12);
    // Five: two up to the threshold, three of the fourteen that the next segment takes.
    let five = sample(&reno, Instant::ZERO, 5, RTT);
    reno.on_acknowledged(&five);
    assert_eq!(window(&reno), 14);
    let ten = sample(&reno, Instant::ZERO, 10, RTT);
    reno.on_acknowledged(&ten);
    assert_eq!(window(&reno), 14);
    let one = sample(&reno, Instant::ZERO, 1, RTT);
    reno.on_acknowledged(&one);
    assert_eq!(window(&reno), 15);
}

#[test]
fn reno_halves_the_window_in_whole_segments() {
    let mut reno = Reno::new(SEGMENT, 15 * SEGMENT, u32::MAX);
    assert_eq!(reno.slow_start_threshold(), u32::MAX);
    reno.on_loss(&loss(false));
    assert_eq!(
        (window(&reno), reno.slow_start_threshold()),
        (7, 7 * SEGMENT)
    );
    reno.on_timeout(&loss(true));
    assert_eq!(
        (window(&reno), reno.slow_start_threshold()),
        (1, 7 * SEGMENT)
    );
}

#[test]
fn what_was_wrong_is_taken_back() {
    let mut cubic = Cubic::new(SEGMENT, 100 * SEGMENT, u32::MAX, false);
    cubic.on_loss(&loss(false));
    // beta = 717/1024.
    assert_eq!(cubic.slow_start_threshold(), 70 * SEGMENT);
    cubic.on_undo(100 * SEGMENT, u32::MAX);
    assert_eq!(
        (window(&cubic), cubic.slow_start_threshold()),
        (100, u32::MAX)
    );
}

/// Until the first loss is known, congestion avoidance adds a segment for at most 20 acknowledged: 5 % a round trip.
#[test]
fn cubic_grows_by_a_twentieth_while_the_path_is_unknown() {
    let mut cubic = Cubic::new(SEGMENT, 100 * SEGMENT, 100 * SEGMENT, false);
    let mut now = Instant::ZERO;
    for _ in 0..100 {
        let one = sample(&cubic, now, 1, RTT);
        cubic.on_acknowledged(&one);
        now += Duration::from_millis(1);
    }
    assert_eq!(window(&cubic), 105);
}

/// After a loss at 1000 segments K = cbrt(1000 · 0.3 / 0.4) = 9.09 s, and 995 are reached cbrt(5 / 0.4) = 2.32 s before.
#[test]
fn cubic_returns_to_its_maximum_by_the_function() {
    let mut cubic = Cubic::new(SEGMENT, 1000 * SEGMENT, u32::MAX, false);
    cubic.on_loss(&loss(false));
    assert_eq!(window(&cubic), 700);
    let mut reached = None;
    let mut now = Instant::from_secs(1);
    while reached.is_none() {
        for _ in 0..window(&cubic) {
            let one = sample(&cubic, now, 1, RTT);
            cubic.on_acknowledged(&one);
            now += Duration::from_nanos(RTT.as_nanos() / u64::from(window(&cubic)));
        }
        reached = (window(&cubic) >= 995).then_some(now);
    }
    let seconds = reached.unwrap().as_secs_f64() - 1.0;
    assert!((seconds - 6.77).abs() < 0.2, "{seconds}");
}

/// A CUBIC with HyStart in slow start, whose acknowledgments come one by one.
struct SlowStart {
    cubic: Cubic,
    now: Instant,
    acknowledged: u64,
}

impl SlowStart {
    fn new() -> SlowStart {
        SlowStart {
            cubic: Cubic::new(SEGMENT, 32 * SEGMENT, u32::MAX, true),
            now: Instant::from_secs(1),
            acknowledged: 0,
        }
    }

    /// The round-trip time that the next acknowledgment measures.
    fn measure(&mut self, rtt: Duration) {
        let flight = self.cubic.window();
        let sent_to = self.acknowledged + u64::from(flight);
        self.acknowledged += u64::from(SEGMENT);
        self.cubic.on_feedback(&FeedbackSample {
            now: self.now,
            rtt: Some(rtt),
            smoothed_rtt: Some(rtt),
            acknowledged_to: self.acknowledged,
            sent_to,
            delivered: self.acknowledged,
            bytes_in_flight: flight,
        });
    }

    /// Acknowledgments of one round trip, `spacing` apart.
    fn round(&mut self, spacing: Duration, rtt: Duration) {
        for _ in 0..window(&self.cubic) {
            self.measure(rtt);
            let one = sample(&self.cubic, self.now, 1, rtt);
            self.cubic.on_acknowledged(&one);
            self.now += spacing;
        }
    }

    fn threshold(&self) -> u32 {
        self.cubic.slow_start_threshold()
    }
}

/// Ha and Rhee: when the acknowledgments of one round trip last as long as half the round trip, the pipe is full.
#[test]
fn hystart_ends_slow_start_at_a_long_train() {
    let mut flow = SlowStart::new();
    let spacing = Duration::from_micros(500);
    // 32 · 0.5 ms = 16 ms, 32 ms: far from 50 ms.
    for _ in 0..2 {
        flow.round(spacing, RTT);
        flow.now += RTT;
        assert_eq!(flow.threshold(), u32::MAX);
    }
    // 128 · 0.5 ms = 64 ms: found at about half of 100 ms, with some 128 + 100 segments.
    flow.round(spacing, RTT);
    let found = flow.threshold() / SEGMENT;
    assert!((220..=240).contains(&found), "{found}");
}

#[test]
fn hystart_ends_slow_start_when_the_round_trip_gets_longer() {
    let mut flow = SlowStart::new();
    let spacing = Duration::from_millis(3);
    flow.round(spacing, RTT);
    // An eighth of 100 ms, 12.5 ms, is tolerated.
    flow.round(spacing, RTT + Duration::from_millis(12));
    assert_eq!(flow.threshold(), u32::MAX);
    flow.round(spacing, RTT + Duration::from_millis(13));
    assert!(flow.threshold() < u32::MAX);
}

/// `ca->found`: once, until a timeout; what recovery or an undo opens again is not its.
#[test]
fn hystart_ends_slow_start_once() {
    let mut flow = SlowStart::new();
    let spacing = Duration::from_millis(3);
    flow.round(spacing, RTT);
    let queued = RTT + Duration::from_millis(20);
    flow.round(spacing, queued);
    assert!(flow.threshold() < u32::MAX);
    for (timeout, found) in [(false, false), (true, true)] {
        if timeout {
            flow.cubic.on_timeout(&loss(false));
        }
        flow.cubic.set(64 * SEGMENT, u32::MAX);
        flow.round(spacing, RTT);
        flow.round(spacing, queued);
        assert_eq!(flow.threshold() < u32::MAX, found);
    }
}

/// `cubictcp_acked` hears of every round trip: HyStart may end the slow start that a recovery's small window is in.
#[test]
fn hystart_listens_in_recovery() {
    let mut flow = SlowStart::new();
    flow.round(Duration::from_millis(3), RTT);
    flow.cubic.on_loss(&loss(false));
    let threshold = flow.threshold();
    flow.cubic.set(threshold - 10 * SEGMENT, threshold);
    for _ in 0..window(&flow.cubic) * 2 {
        flow.now += Duration::from_millis(3);
        flow.measure(RTT + Duration::from_millis(20));
    }
    assert_eq!(flow.threshold(), threshold - 10 * SEGMENT);
}
