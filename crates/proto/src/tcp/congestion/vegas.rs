//! Vegas (L. S. Brakmo and L. L. Peterson, "TCP Vegas: end to end congestion avoidance on a global Internet", JSAC
//! 13(8), 1995): keeps a few segments of its own in queues, measured by round-trip times.
//!
//! Once a round trip it compares the expected rate without queues, window / shortest round-trip time, with the actual
//! rate, window / round-trip time. Their difference times the shortest round-trip time is the backlog in queues: below
//! α segments the window grows by one, above β it shrinks by one. Slow start grows every other round trip and ends when
//! the backlog exceeds γ. A loss takes a quarter of the window.
//!
//! The round-trip time of a round is its shortest, which delayed acknowledgments do not lengthen. The paper's finer
//! retransmission timer is left out: loss recovery decides about retransmissions.

use super::FeedbackSample;
use super::Parameters;
use super::frame::{Law, Window};
use crate::time::Duration;

/// Parameters of Vegas, in segments of backlog.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VegasParameters {
    /// Backlog below which the window grows: the paper's α.
    pub alpha: f64,
    /// Backlog above which the window shrinks: the paper's β; at least `alpha`.
    pub beta: f64,
    /// Backlog that ends slow start: the paper's γ.
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
    /// "BaseRTT": the shortest round-trip time.
    base: Option<Duration>,
    /// The shortest round-trip time of this round.
    shortest: Option<Duration>,
    /// Bytes acknowledged since the start of the connection beyond which the round is over.
    round_end: u64,
    /// Share of the window that waited in queues: the excess of the last round's time over the base. `None` once it has
    /// been used.
    waiting: Option<f64>,
    /// True if slow start grows in this round.
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
            // A window that grew in the round gives no information: the queue was its own burst.
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
            // The threshold follows, so as not to return to slow start.
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
