//! BBR version 1 as in Linux (`net/ipv4/tcp_bbr.c` of 6.18; Cardwell et al., "BBR: congestion-based congestion
//! control", 2016): the window and the rate follow a model of the path, the highest delivery rate of ten round trips and
//! the shortest round-trip time of ten seconds. Counts are segments, rates segments a second.
//!
//! The start of a cycle of probing is not drawn at random but follows from the time.

mod aggregation;
mod policer;
#[cfg(test)]
mod tests;

use super::{AckSample, CongestionControl, LossSample, RatePhase, RateSample};
use crate::rate::DataRate;
use crate::tcp::highest::Highest;
use crate::time::{Duration, Instant};
use aggregation::Aggregation;
use policer::Policer;

/// `bbr_high_gain`, 2/ln 2: the least that doubles the rate each round trip.
const HIGH_GAIN: f64 = 739.0 / 256.0;
/// Its inverse: the queue of the start drains in one round trip.
const DRAIN_GAIN: f64 = 88.0 / 256.0;
/// Gains of the eight phases of probing: more, then what makes room, then six of cruising.
const PACING_GAINS: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// Window in units of the path's capacity, for delayed and compressed acknowledgments.
const WINDOW_GAIN: f64 = 2.0;
/// Factor by which the rate is set below the estimate: `bbr_pacing_margin_percent`.
const PACING_MARGIN: f64 = 0.99;
/// Round trips that a delivery rate stands for: `bbr_bw_rtts`.
const BANDWIDTH_ROUNDS: u64 = 10;
/// The pipe is full when three round trips have not brought a quarter more.
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;
/// The shortest round-trip time is measured anew after this, for so long, with a window of so many segments.
const SHORTEST_VALID: Duration = Duration::from_secs(10);
const PROBE_TIME: Duration = Duration::from_millis(200);
const LEAST_WINDOW: u32 = 4;
const INITIAL_WINDOW: u32 = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBandwidth,
    ProbeRtt,
}

/// Window and rate of BBR.
#[derive(Debug)]
pub(super) struct Bbr {
    segment_size: u32,
    window: u32,
    threshold: u32,
    mode: Mode,
    /// Segments a second, of the last rounds.
    bandwidth: Highest,
    rounds: u64,
    round_end: u64,
    round_start: bool,
    shortest_rtt: Option<(Duration, Instant)>,
    /// Segments a second.
    pacing_rate: f64,
    has_seen_rtt: bool,
    pacing_gain: f64,
    window_gain: f64,
    full_bandwidth: f64,
    full_rounds: u32,
    full: bool,
    cycle: usize,
    cycle_start: Instant,
    prior_window: u32,
    phase: RatePhase,
    conserves: bool,
    /// End of the measurement of the shortest round-trip time, and true if a round trip has passed in it.
    probe_end: Option<Instant>,
    probe_round_done: bool,
    idle_restart: bool,
    aggregation: Aggregation,
    /// `None` unless a policer is searched for.
    policer: Option<Policer>,
}

impl Bbr {
    /// Sizes in bytes; `finds_policers` if it keeps to a long-term rate.
    pub(super) fn new(segment_size: u32, window: u32, threshold: u32, finds_policers: bool) -> Bbr {
        let segments = (window / segment_size).max(1);
        Bbr {
            segment_size,
            window: segments,
            threshold,
            mode: Mode::Startup,
            bandwidth: Highest::default(),
            rounds: 0,
            round_end: 0,
            round_start: false,
            shortest_rtt: None,
            // Before a round-trip time is known, as if it were a millisecond.
            pacing_rate: f64::from(segments) * 1000.0 * HIGH_GAIN * PACING_MARGIN,
            has_seen_rtt: false,
            pacing_gain: HIGH_GAIN,
            window_gain: HIGH_GAIN,
            full_bandwidth: 0.0,
            full_rounds: 0,
            full: false,
            cycle: 0,
            cycle_start: Instant::ZERO,
            prior_window: 0,
            phase: RatePhase::Open,
            conserves: false,
            probe_end: None,
            probe_round_done: false,
            idle_restart: false,
            aggregation: Aggregation::default(),
            policer: finds_policers.then(Policer::default),
        }
    }

    /// Returns the highest delivery rate, in segments a second.
    fn highest_rate(&self) -> f64 {
        self.bandwidth.value().max(0.0)
    }

    /// Returns the rate in segments a second: the long-term rate if a policer was found, otherwise the highest.
    fn rate(&self) -> f64 {
        let policed = self.policer.and_then(|policer| policer.rate());
        policed.unwrap_or(self.highest_rate())
    }

    fn update_bandwidth(&mut self, sample: &RateSample) {
        self.round_start = false;
        let Some((before, interval)) = sample.interval.filter(|(_, time)| !time.is_zero()) else {
            return;
        };
        if before >= self.round_end {
            self.begin_round(sample);
            self.rounds += 1;
            self.round_start = true;
            self.conserves = false;
        }
        self.look_for_policer(sample);
        let rate = (sample.delivered - before) as f64 / interval.as_secs_f64();
        if !sample.application_limited || rate >= self.highest_rate() {
            self.bandwidth.update(BANDWIDTH_ROUNDS, self.rounds, rate);
        }
    }

    fn look_for_policer(&mut self, sample: &RateSample) {
        let Some(policer) = &mut self.policer else {
            return;
        };
        if policer.rate().is_none() {
            policer.update(sample, self.round_start, self.segment_size);
        } else if self.mode == Mode::ProbeBandwidth && self.round_start && policer.expires() {
            self.probe_bandwidth(sample.now);
        }
    }

    fn begin_round(&mut self, sample: &RateSample) {
        self.round_end = sample.delivered;
    }

    /// Returns the number of segments that fill the path `gain` times, with room for bursts.
    fn target(&self, gain: f64) -> u32 {
        self.with_room(self.capacity(self.highest_rate(), gain))
    }

    fn with_room(&self, segments: u32) -> u32 {
        let segments = (segments + 3 * self.burst()).div_ceil(2) * 2;
        if self.mode == Mode::ProbeBandwidth && self.cycle == 0 {
            segments + 2
        } else {
            segments
        }
    }

    fn capacity(&self, rate: f64, gain: f64) -> u32 {
        match self.shortest_rtt {
            None => INITIAL_WINDOW,
            Some((rtt, _)) => {
                let product = rate * rtt.as_secs_f64() * gain;
                libm::ceil(product.min(1e8)) as u32
            }
        }
    }

    /// Returns the number of segments in a millisecond at the rate: `bbr_tso_segs_goal`.
    fn burst(&self) -> u32 {
        let bytes = self.pacing_rate * f64::from(self.segment_size);
        let least = if bytes < 150_000.0 { 1 } else { 2 };
        ((bytes / 1024.0).min(65_000.0) as u32 / self.segment_size).clamp(least, 127)
    }

    /// Returns the segments of `in_flight` that are left when pacing releases the next ones, including these if more
    /// than the rate is sent: `bbr_packets_in_net_at_edt`.
    fn at_departure(&self, in_flight: u32, sample: &RateSample) -> u32 {
        let leaving = if self.pacing_gain > 1.0 {
            self.burst()
        } else {
            0
        };
        let delivered = self.rate() * sample.until_departure.as_secs_f64();
        (in_flight + leaving).saturating_sub(delivered as u32)
    }

    fn update_cycle(&mut self, sample: &RateSample) {
        if self.mode != Mode::ProbeBandwidth {
            return;
        }
        let shortest = self.shortest_rtt.map_or(Duration::ZERO, |(rtt, _)| rtt);
        let full_length = sample.now.saturating_since(self.cycle_start) > shortest;
        let next = if self.pacing_gain > 1.0 {
            let in_flight = self.at_departure(sample.prior_in_flight, sample);
            full_length && (sample.newly_lost > 0 || in_flight >= self.target(self.pacing_gain))
        } else if self.pacing_gain < 1.0 {
            full_length || self.at_departure(sample.prior_in_flight, sample) <= self.target(1.0)
        } else {
            full_length
        };
        if next {
            self.advance_cycle(sample.now);
        }
    }

    fn advance_cycle(&mut self, now: Instant) {
        self.cycle = (self.cycle + 1) % PACING_GAINS.len();
        self.cycle_start = now;
    }

    fn check_full(&mut self, sample: &RateSample) {
        if self.full || !self.round_start || sample.application_limited {
            return;
        }
        if self.highest_rate() >= self.full_bandwidth * FULL_GROWTH {
            self.full_bandwidth = self.highest_rate();
            self.full_rounds = 0;
            return;
        }
        self.full_rounds += 1;
        self.full = self.full_rounds >= FULL_ROUNDS;
    }

    fn check_drain(&mut self, sample: &RateSample) {
        if self.mode == Mode::Startup && self.full {
            self.mode = Mode::Drain;
            self.threshold = self.target(1.0).saturating_mul(self.segment_size);
        }
        if self.mode == Mode::Drain
            && self.at_departure(sample.in_flight, sample) <= self.target(1.0)
        {
            self.probe_bandwidth(sample.now);
        }
    }

    fn probe_bandwidth(&mut self, now: Instant) {
        self.mode = Mode::ProbeBandwidth;
        // Any phase but the one that makes room.
        self.cycle = PACING_GAINS.len() - 1 - (now.as_nanos() % 7) as usize;
        self.advance_cycle(now);
    }

    fn update_shortest(&mut self, sample: &RateSample) {
        let expired = self
            .shortest_rtt
            .is_some_and(|(_, since)| sample.now > since + SHORTEST_VALID);
        if let Some(rtt) = sample.rtt
            && (expired || self.shortest_rtt.is_none_or(|(shortest, _)| rtt < shortest))
        {
            self.shortest_rtt = Some((rtt, sample.now));
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_window();
            self.probe_end = None;
        }
        if self.mode == Mode::ProbeRtt {
            self.probe_rtt(sample);
        }
        if sample.interval.is_some() && sample.newly_delivered > 0 {
            self.idle_restart = false;
        }
    }

    fn probe_rtt(&mut self, sample: &RateSample) {
        match self.probe_end {
            None if sample.in_flight <= LEAST_WINDOW => {
                self.probe_end = Some(sample.now + PROBE_TIME);
                self.probe_round_done = false;
                self.begin_round(sample);
            }
            None => {}
            Some(_) => {
                self.probe_round_done |= self.round_start;
                if self.probe_round_done {
                    self.check_probe_done(sample.now);
                }
            }
        }
    }

    fn check_probe_done(&mut self, now: Instant) {
        if self.probe_end.is_none_or(|end| now <= end) {
            return;
        }
        if let Some((_, since)) = &mut self.shortest_rtt {
            *since = now;
        }
        self.window = self.window.max(self.prior_window);
        if self.full {
            self.probe_bandwidth(now);
        } else {
            self.mode = Mode::Startup;
        }
    }

    fn save_window(&mut self) {
        let before = self.phase == RatePhase::Open && self.mode != Mode::ProbeRtt;
        self.prior_window = if before {
            self.window
        } else {
            self.prior_window.max(self.window)
        };
    }

    fn update_gains(&mut self) {
        (self.pacing_gain, self.window_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBandwidth
                if self.policer.is_some_and(|policer| policer.rate().is_some()) =>
            {
                (1.0, WINDOW_GAIN)
            }
            Mode::ProbeBandwidth => (PACING_GAINS[self.cycle], WINDOW_GAIN),
            Mode::ProbeRtt => (1.0, 1.0),
        };
    }

    fn set_rate(&mut self, gain: f64, smoothed_rtt: Option<Duration>) {
        if let Some(rtt) = smoothed_rtt.filter(|rtt| !rtt.is_zero() && !self.has_seen_rtt) {
            self.has_seen_rtt = true;
            let rate = f64::from(self.window) / rtt.as_secs_f64();
            self.pacing_rate = rate * HIGH_GAIN * PACING_MARGIN;
        }
        let rate = self.rate() * gain * PACING_MARGIN;
        if self.full || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    fn set_window(&mut self, sample: &RateSample) {
        let delivered = sample.newly_delivered;
        if delivered > 0 && !self.recovers(sample) {
            let rate = self.rate();
            let mut target = self.capacity(rate, self.window_gain);
            if self.full {
                target += self.aggregation.allowance(rate);
            }
            let target = self.with_room(target);
            if self.full {
                self.window = (self.window + delivered).min(target);
            } else if self.window < target || sample.delivered < u64::from(INITIAL_WINDOW) {
                self.window += delivered;
            }
            self.window = self.window.max(LEAST_WINDOW);
        }
        if self.mode == Mode::ProbeRtt {
            self.window = self.window.min(LEAST_WINDOW);
        }
    }

    /// Sets the window in recovery: in the first round trip a segment leaves for each one delivered; afterwards the
    /// window is as before. Returns true if this determines the window.
    fn recovers(&mut self, sample: &RateSample) -> bool {
        self.window = self.window.saturating_sub(sample.newly_lost).max(1);
        let conserved = sample.in_flight + sample.newly_delivered;
        if sample.phase == RatePhase::Recovery && self.phase != RatePhase::Recovery {
            self.conserves = true;
            self.begin_round(sample);
            self.window = conserved;
        } else if self.phase != RatePhase::Open && sample.phase == RatePhase::Open {
            self.window = self.window.max(self.prior_window);
            self.conserves = false;
        }
        self.phase = sample.phase;
        if self.conserves {
            self.window = self.window.max(conserved);
        }
        self.conserves
    }
}

impl CongestionControl for Bbr {
    fn is_rate_based(&self) -> bool {
        true
    }

    fn on_rate_sample(&mut self, sample: &RateSample) {
        self.update_bandwidth(sample);
        let rate = self.rate();
        self.aggregation
            .update(sample, self.round_start, rate, self.window);
        self.update_cycle(sample);
        self.check_full(sample);
        self.check_drain(sample);
        self.update_shortest(sample);
        self.update_gains();
        self.set_rate(self.pacing_gain, sample.smoothed_rtt);
        self.set_window(sample);
    }

    fn on_acknowledged(&mut self, _sample: &AckSample) {}

    fn on_established(&mut self, now: Instant, rtt: Option<Duration>) {
        self.shortest_rtt = rtt.map(|rtt| (rtt, now));
        self.set_rate(HIGH_GAIN, rtt);
    }

    fn on_loss(&mut self, _loss: &LossSample) {
        self.save_window();
    }

    fn on_timeout(&mut self, loss: &LossSample) {
        if !loss.repeated {
            self.save_window();
        }
        self.phase = RatePhase::Loss;
        self.full_bandwidth = 0.0;
        self.round_start = true;
        self.window = 1;
    }

    fn on_idle_restart(&mut self, _restart_window: u32) {}

    fn on_transmission_start(&mut self, now: Instant, _idle: Duration) {
        self.idle_restart = true;
        match self.mode {
            Mode::ProbeBandwidth => self.set_rate(1.0, None),
            Mode::ProbeRtt => self.check_probe_done(now),
            _ => {}
        }
    }

    fn on_undo(&mut self, _window: u32, _slow_start_threshold: u32) {
        self.full_bandwidth = 0.0;
        self.full_rounds = 0;
        if let Some(policer) = &mut self.policer {
            policer.reset();
        }
    }

    fn on_segment_size(&mut self, segment_size: u32) {
        self.segment_size = segment_size;
    }

    fn set(&mut self, window: u32, _slow_start_threshold: u32) {
        self.window = (window / self.segment_size).max(1);
    }

    /// Begins again with start-up, at a rate that fills the window in a round trip as soon as one is measured.
    fn on_path_change(&mut self) {
        let (window, finds_policers) = (self.window(), self.policer.is_some());
        let fresh = Bbr::new(self.segment_size, window, self.threshold, finds_policers);
        *self = Bbr {
            rounds: self.rounds,
            round_end: self.round_end,
            pacing_rate: self.pacing_rate,
            ..fresh
        };
    }

    fn window(&self) -> u32 {
        self.window.saturating_mul(self.segment_size)
    }

    fn slow_start_threshold(&self) -> u32 {
        self.threshold
    }

    fn holds_back(&self) -> bool {
        self.mode == Mode::ProbeRtt
    }

    fn pacing_rate(&self) -> Option<DataRate> {
        let bits = self.pacing_rate * f64::from(self.segment_size) * 8.0;
        Some(DataRate::from_bits_per_second((bits as u64).max(1)))
    }
}
