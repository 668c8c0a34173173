//! Vegas (L. S. Brakmo and L. L. Peterson, "TCP Vegas: end to end congestion avoidance on a global Internet", JSAC 13(8),
//! 1995): keeps a few segments of its own in queues, of which round-trip times tell.
//!
//! Once a round trip it compares the rate that it would have without queues, window / shortest round-trip time, with the
//! one that it has, window / round-trip time. Their difference times the shortest round-trip time is what waits in
//! queues: below α segments the window grows by one, above β it shrinks by one. Slow start grows every other round
//! trip and is over when more than γ wait. A loss takes a quarter of the window.
//!
//! The round-trip time of a round is its shortest, which delayed acknowledgments do not lengthen. The paper's finer
//! retransmission timer is not here: when something is sent again is the recovery's.

use super::FeedbackSample;
use super::Parameters;
use super::frame::{Law, Window};
use crate::time::Duration;

/// Parameters of Vegas, in segments that wait in queues.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VegasParameters {
    /// Fewer let the window grow: the paper's α.
    pub alpha: f64,
    /// More let it shrink: the paper's β; at least `alpha`.
    pub beta: f64,
    /// More end slow start: the paper's γ.
    pub gamma: f64,
}

impl Default for VegasParameters {
    fn default() -> VegasParameters {
        VegasParameters {
            alpha: 2.0,
            beta: 4.0,
            gamma: 1.0,
        }
    }
}

/// The law of Vegas.
#[derive(Debug)]
pub(super) struct Vegas {
    parameters: VegasParameters,
    /// "BaseRTT".
    base: Option<Duration>,
    /// The shortest round-trip time of this round.
    shortest: Option<Duration>,
    /// The round is over when more bytes than these are acknowledged, from the start of the connection.
    round_end: u64,
    /// Excess of the last round's time over the base, as a share of it: the part of the window that waited. `None` once
    /// it is taken account of.
    waiting: Option<f64>,
    /// Slow start grows in this round.
    grows: bool,
}

impl Parameters for VegasParameters {
    type Law = Vegas;

    fn law(self, _: u32) -> Vegas {
        Vegas::new(self)
    }
}

impl Vegas {
    pub(super) fn new(parameters: VegasParameters) -> Vegas {
        Vegas {
            parameters,
            base: None,
            shortest: None,
            round_end: 0,
            waiting: None,
            grows: true,
        }
    }
}

impl Law for Vegas {
    fn slow_start(&mut self, window: &mut Window, acknowledged: f64) {
        if let Some(share) = self.waiting.take() {
            // A window that grew in the round says nothing: the queue was its own burst.
            if !self.grows && share * window.segments > self.parameters.gamma {
                window.threshold = window.segments;
                return;
            }
            self.grows = !self.grows;
        }
        if self.grows {
            window.grow_to_threshold(acknowledged);
        }
    }

    fn avoid_congestion(&mut self, window: &mut Window, _acknowledged: f64) {
        let Some(share) = self.waiting.take() else {
            return;
        };
        let waiting = share * window.segments;
        if waiting < self.parameters.alpha {
            window.segments += 1.0;
        } else if waiting > self.parameters.beta {
            // Not into slow start: the threshold goes along.
            window.segments = (window.segments - 1.0).max(2.0);
            window.threshold = window.threshold.min(window.segments);
        }
    }

    fn after_loss(&mut self, segments: f64) -> f64 {
        self.waiting = None;
        self.shortest = None;
        segments * 0.75
    }

    fn after_timeout(&mut self, segments: f64) -> f64 {
        self.after_loss(segments);
        self.grows = true;
        segments / 2.0
    }

    fn on_feedback(&mut self, sample: &FeedbackSample) {
        if let Some(rtt) = sample.rtt {
            let least = |known: Option<Duration>| Some(known.map_or(rtt, |known| known.min(rtt)));
            self.base = least(self.base);
            self.shortest = least(self.shortest);
        }
        if sample.acknowledged_to <= self.round_end {
            return;
        }
        self.round_end = sample.sent_to;
        if let (Some(base), Some(rtt)) = (self.base, self.shortest.take())
            && !rtt.is_zero()
        {
            self.waiting = Some((rtt - base).as_secs_f64() / rtt.as_secs_f64());
        }
    }

    fn on_path_change(&mut self) {
        self.base = None;
        self.shortest = None;
        self.waiting = None;
    }
}
