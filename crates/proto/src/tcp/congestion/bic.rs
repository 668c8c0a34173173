//! BIC (L. Xu, K. Harfoush and I. Rhee, "Binary increase congestion control for fast long-distance networks", INFOCOM
//! 2004): a binary search between the window of the last loss and the present one.
//!
//! Each round trip the window grows by half the distance to the window of the last loss, at most by S_max (*additive
//! increase*, then *binary search*) and at least by S_min. Beyond that window it grows by the distance from it, within
//! the same bounds: S_min, then twice as much each round trip (*max probing*), then S_max. A loss takes β of the
//! window, 1/8 in the paper; after a loss below the window of the previous one, the next target is lower (*fast
//! convergence*). Windows below 14 segments follow Reno.
//!
//! The paper recomputes the target at each acknowledgment in its pseudocode and each round trip in its text; this
//! implementation follows the text, whose growth has the closed form of study S section 7. Probing starts from S_min,
//! as in the study; in the paper from one segment a round trip.

use super::Parameters;
use super::frame::{Law, Window};

/// "low_window", in segments.
const LOW_WINDOW: f64 = 14.0;

/// Parameters of BIC.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BicParameters {
    /// "S_min": least growth in a round trip, in segments. Above 0.
    pub smallest_increment: f64,
    /// "S_max": most growth in a round trip, in segments. At least `smallest_increment`.
    pub largest_increment: f64,
    /// "β": share of the window that a loss takes. Between 0 and 1; Linux's module has 0.2.
    pub decrease: f64,
}

impl Default for BicParameters {
    fn default() -> BicParameters {
        BicParameters {
            smallest_increment: 0.01,
            largest_increment: 32.0,
            decrease: 0.125,
        }
    }
}

/// The law of BIC.
#[derive(Debug)]
pub(super) struct Bic {
    parameters: BicParameters,
    /// "max_win": the window at the last loss, or less by fast convergence. `None` before the first loss and after a
    /// timeout: the search then begins at the present window.
    maximum: Option<f64>,
    /// Growth for each segment acknowledged in this round trip, and segments to acknowledge until it ends.
    per_segment: f64,
    left: f64,
}

impl Parameters for BicParameters {
    type Law = Bic;

    fn law(self, _: u32) -> Bic {
        Bic::new(self)
    }
}

impl Bic {
    pub(super) fn new(parameters: BicParameters) -> Bic {
        Bic {
            parameters,
            maximum: None,
            per_segment: 0.0,
            left: 0.0,
        }
    }

    /// Returns the growth in a round trip that begins with so many segments.
    fn increment(&mut self, segments: f64) -> f64 {
        let maximum = *self.maximum.get_or_insert(segments);
        let distance = if segments < maximum {
            (maximum - segments) / 2.0
        } else {
            segments - maximum
        };
        distance
            .max(self.parameters.smallest_increment)
            .min(self.parameters.largest_increment)
    }
}

impl Law for Bic {
    fn avoid_congestion(&mut self, window: &mut Window, acknowledged: f64) {
        if window.segments < LOW_WINDOW {
            window.segments += acknowledged / window.segments;
            return;
        }
        if self.left <= 0.0 {
            self.per_segment = self.increment(window.segments) / window.segments;
            self.left += window.segments;
        }
        self.left -= acknowledged;
        window.segments += self.per_segment * acknowledged;
    }

    fn after_loss(&mut self, segments: f64) -> f64 {
        self.left = 0.0;
        if segments < LOW_WINDOW {
            return segments / 2.0;
        }
        let reduced = segments * (1.0 - self.parameters.decrease);
        self.maximum = Some(match self.maximum {
            Some(maximum) if segments < maximum => segments.midpoint(reduced),
            _ => segments,
        });
        reduced
    }

    fn after_timeout(&mut self, segments: f64) -> f64 {
        let threshold = self.after_loss(segments);
        self.maximum = None;
        threshold
    }
}

#[cfg(test)]
mod tests;
