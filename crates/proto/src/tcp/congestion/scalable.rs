//! Scalable TCP (T. Kelly, "Scalable TCP: improving performance in highspeed wide area networks", 2003): each
//! acknowledged segment adds a constant, and a loss takes a constant share, so that the time between losses is a
//! number of round trips that does not depend on the rate: log(1 / (1 − b)) / log(1 + a), about 13.
//!
//! Windows up to the legacy window follow Reno, as in the paper; Linux's module does so up to 100 segments, where both
//! grow alike.

use super::Parameters;
use super::frame::{Law, Window};

/// The paper's "lwnd", in segments.
const LEGACY_WINDOW: f64 = 16.0;

/// Parameters of Scalable TCP, which define its law completely.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScalableParameters {
    /// Growth for each acknowledged segment, in segments: the paper's a. Above 0.
    pub increase: f64,
    /// Share of the window that a loss takes: the paper's b. Above 0, below 1.
    pub decrease: f64,
}

impl Default for ScalableParameters {
    fn default() -> ScalableParameters {
        ScalableParameters {
            increase: 0.01,
            decrease: 0.125,
        }
    }
}

impl Parameters for ScalableParameters {
    type Law = ScalableParameters;

    fn law(self, _: u32) -> ScalableParameters {
        self
    }
}

impl Law for ScalableParameters {
    fn avoid_congestion(&mut self, window: &mut Window, acknowledged: f64) {
        window.segments += if window.segments > LEGACY_WINDOW {
            self.increase * acknowledged
        } else {
            acknowledged / window.segments
        };
    }

    fn after_loss(&mut self, segments: f64) -> f64 {
        if segments > LEGACY_WINDOW {
            segments * (1.0 - self.decrease)
        } else {
            segments / 2.0
        }
    }
}
