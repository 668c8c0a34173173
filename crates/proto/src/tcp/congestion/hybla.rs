//! Hybla (C. Caini and R. Firrincieli, "TCP Hybla: a TCP enhancement for heterogeneous networks", International Journal
//! of Satellite Communications and Networking 22, 2004): on a long path it sends as fast as Reno would on a path of the
//! reference round-trip time.
//!
//! With ρ = RTT / RTT₀, at least 1, each segment acknowledged in slow start adds 2^ρ − 1, and in congestion avoidance
//! ρ² / window: ρ² segments each round trip, so that window / RTT grows in time as on the reference path. The round-trip
//! time is the shortest of the path, as in Linux's module; queues shall not speed it up.
//!
//! Over a satellite the first acknowledgment of a slow start takes the window to the threshold: where that is
//! arbitrarily high, far beyond every buffer. The paper estimates the threshold beforehand (Hoe 1996) and paces, which is
//! not here: give the profile an initial threshold.

use super::FeedbackSample;
use super::Parameters;
use super::frame::{Law, Window};
use crate::time::Duration;

/// With this exponent, a single segment opens the window beyond all other bounds.
const LARGEST_EXPONENT: f64 = 64.0;

/// Parameters of Hybla.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HyblaParameters {
    /// The paper's RTT₀. Above zero.
    pub reference_rtt: Duration,
}

impl Default for HyblaParameters {
    fn default() -> HyblaParameters {
        HyblaParameters {
            reference_rtt: Duration::from_millis(25),
        }
    }
}

/// The law of Hybla.
#[derive(Debug)]
pub(super) struct Hybla {
    reference_rtt: Duration,
    shortest: Option<Duration>,
}

impl Parameters for HyblaParameters {
    type Law = Hybla;

    fn law(self, _: u32) -> Hybla {
        Hybla::new(self)
    }
}

impl Hybla {
    pub(super) fn new(parameters: HyblaParameters) -> Hybla {
        Hybla {
            reference_rtt: parameters.reference_rtt,
            shortest: None,
        }
    }

    /// Returns "ρ".
    fn ratio(&self) -> f64 {
        let reference = self.reference_rtt.as_secs_f64();
        self.shortest
            .map_or(1.0, |rtt| (rtt.as_secs_f64() / reference).max(1.0))
    }
}

impl Law for Hybla {
    fn slow_start(&mut self, window: &mut Window, acknowledged: f64) {
        let factor = libm::exp2(self.ratio().min(LARGEST_EXPONENT)) - 1.0;
        window.grow_to_threshold(factor * acknowledged);
    }

    fn avoid_congestion(&mut self, window: &mut Window, acknowledged: f64) {
        let ratio = self.ratio();
        window.segments += ratio * ratio * acknowledged / window.segments;
    }

    fn after_loss(&mut self, segments: f64) -> f64 {
        segments / 2.0
    }

    fn on_feedback(&mut self, sample: &FeedbackSample) {
        if let Some(rtt) = sample.rtt {
            self.shortest = Some(self.shortest.map_or(rtt, |shortest| shortest.min(rtt)));
        }
    }

    fn on_path_change(&mut self) {
        self.shortest = None;
    }
}
