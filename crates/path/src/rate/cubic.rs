//! Window next to other flows: that of CUBIC (RFC 9438), so that the finder takes what a TCP connection would take.

use super::DATAGRAM;
use baton_proto::time::Instant;

/// `beta_cubic` (RFC 9438, section 4.6).
const DECREASE: f64 = 0.7;
/// `C` (RFC 9438, section 5.1), in bytes a cubic second for full datagrams.
const SCALE: f64 = 0.4 * DATAGRAM;
/// `alpha_cubic` for this decrease (RFC 9438, section 4.3): the growth of Reno's window, in datagrams a round trip. Of it
/// two thirds (chosen), because a full queue drops fewer of paced datagrams than of a connection's bursts.
const RENO_GROWTH: f64 = 3.0 * (1.0 - DECREASE) / (1.0 + DECREASE) * 2.0 / 3.0;
/// Smallest window in bytes.
const LEAST: f64 = 4.0 * DATAGRAM;

/// Window in bytes, and the curve that it follows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cubic {
    window: f64,
    /// Window before the last decrease, or less for fast convergence (RFC 9438, section 4.7).
    most: f64,
    /// Window at which the last decrease counts as made up for.
    goal: f64,
    start: f64,
    epoch: Instant,
    /// Seconds from the epoch until `most` is reached again.
    plateau: f64,
    grown_at: Instant,
}

impl Cubic {
    /// Begins with this window, as after slow start.
    pub(super) fn new(now: Instant, window: f64) -> Cubic {
        let window = window.max(LEAST);
        Cubic {
            window,
            most: window,
            goal: window,
            start: window,
            epoch: now,
            plateau: 0.0,
            grown_at: now,
        }
    }

    pub(super) fn window(&self) -> f64 {
        self.window
    }

    /// Returns true if the last decrease is made up for.
    pub(super) fn has_recovered(&self) -> bool {
        self.window >= self.goal
    }

    /// Grows until `now` (RFC 9438, section 4.2 to 4.5). A window that the caller does not use does not grow.
    pub(super) fn grow(&mut self, now: Instant, round_trip: f64, is_used: bool) {
        let passed = now.saturating_since(self.grown_at);
        self.grown_at = now;
        if !is_used {
            self.epoch += passed;
            return;
        }
        let time = now.saturating_since(self.epoch).as_secs_f64();
        let ahead = time + round_trip - self.plateau;
        let curve = SCALE * ahead * ahead * ahead + self.most;
        let reno = self.start + RENO_GROWTH * DATAGRAM * time / round_trip;
        // In a round trip at most by half, and by the way to the goal.
        let share = (passed.as_secs_f64() / round_trip).min(1.0);
        let goal = curve.min(1.5 * self.window);
        let grown = self.window + (goal - self.window).max(0.0) * share;
        self.window = grown.max(reno);
    }

    /// Takes in congestion (RFC 9438, sections 4.6 and 4.7). A path that `makes_room` converges as fast as a connection that
    /// has lost some of its window, and leaves others the time to grow into the room before the decrease is made up for.
    pub(super) fn cut(&mut self, now: Instant, makes_room: bool) {
        let released = self.window * (1.0 + DECREASE) / 2.0;
        let has_lost = self.window < self.most;
        self.most = match has_lost || makes_room {
            true => released,
            false => self.window,
        };
        self.goal = match makes_room {
            true => self.window,
            false => self.most,
        };
        self.window = (self.window * DECREASE).max(LEAST);
        self.start = self.window;
        self.epoch = now;
        self.grown_at = now;
        self.plateau = libm::cbrt((self.most - self.window).max(0.0) / SCALE);
    }

    /// Resumes after a time in which it was not used.
    pub(super) fn resume(&mut self, now: Instant) {
        let passed = now.saturating_since(self.grown_at);
        self.epoch += passed;
        self.grown_at = now;
    }
}
