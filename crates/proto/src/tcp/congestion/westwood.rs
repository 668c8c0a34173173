//! Westwood+ (S. Mascolo, L. A. Grieco and others, "Performance evaluation and comparison of Westwood+, New Reno and
//! Vegas TCP congestion control", CCR 34(2), 2004): Reno, but with another threshold after a loss, the data that the
//! path holds: estimated bandwidth times shortest round-trip time.
//!
//! The bandwidth is measured once a round trip from the data delivered in it, in recovery as well, and smoothed: nine
//! tenths of the estimate and one tenth of the measurement. The first measurement is the first estimate.
//!
//! After a handover to a longer path, the shortest round-trip time is still the old path's, and the threshold far too
//! low. Study S section 8 proposes to reset it at the handover ([`CongestionControl::on_path_change`]), or to take the
//! minimum of the last seconds only ([`WestwoodParameters::minimum_rtt_window`]).
//!
//! [`CongestionControl::on_path_change`]: super::CongestionControl::on_path_change

use super::FeedbackSample;
use super::Parameters;
use super::frame::{Law, Window};
use crate::tcp::highest::Highest;
use crate::time::{Duration, Instant};

/// Share of the old estimate in the new one.
const MEMORY: f64 = 0.9;

/// Parameters of Westwood+.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WestwoodParameters {
    /// Time over which the shortest round-trip time is taken; `None` is since the start of the connection or the path.
    pub minimum_rtt_window: Option<Duration>,
}

/// The law of Westwood+.
#[derive(Debug)]
pub(super) struct Westwood {
    segment_size: f64,
    /// [`WestwoodParameters::minimum_rtt_window`], in nanoseconds.
    minimum_rtt_window: u64,
    /// Shortest round-trip time: the values are negated, in seconds.
    shortest: Highest,
    /// Estimated bandwidth, in bytes a second.
    bandwidth: Option<f64>,
    /// Start of the present measurement, and the bytes delivered before it.
    measured_from: Option<(Instant, u64)>,
}

impl Parameters for WestwoodParameters {
    type Law = Westwood;

    fn law(self, segment_size: u32) -> Westwood {
        Westwood::new(segment_size, self)
    }
}

impl Westwood {
    pub(super) fn new(segment_size: u32, parameters: WestwoodParameters) -> Westwood {
        let window = parameters.minimum_rtt_window;
        Westwood {
            segment_size: f64::from(segment_size),
            minimum_rtt_window: window.map_or(u64::MAX, Duration::as_nanos),
            shortest: Highest::default(),
            bandwidth: None,
            measured_from: None,
        }
    }
}

impl Law for Westwood {
    fn avoid_congestion(&mut self, window: &mut Window, acknowledged: f64) {
        window.segments += acknowledged / window.segments;
    }

    fn after_loss(&mut self, segments: f64) -> f64 {
        let shortest = -self.shortest.value();
        match self.bandwidth {
            Some(bandwidth) if shortest.is_finite() => bandwidth * shortest / self.segment_size,
            _ => segments / 2.0,
        }
    }

    fn on_feedback(&mut self, sample: &FeedbackSample) {
        if let Some(rtt) = sample.rtt {
            let (window, at) = (self.minimum_rtt_window, sample.now.as_nanos());
            self.shortest.update(window, at, -rtt.as_secs_f64());
        }
        let start = (sample.now, sample.delivered);
        let (begun, delivered) = *self.measured_from.get_or_insert(start);
        let elapsed = sample.now.saturating_since(begun);
        let round_trip = sample.rtt.or(sample.smoothed_rtt).unwrap_or(elapsed);
        if elapsed.is_zero() || elapsed < round_trip {
            return;
        }
        let bytes = sample.delivered.saturating_sub(delivered) as f64;
        let measured = bytes / elapsed.as_secs_f64();
        self.bandwidth = Some(self.bandwidth.map_or(measured, |estimate| {
            MEMORY * estimate + (1.0 - MEMORY) * measured
        }));
        self.measured_from = Some(start);
    }

    fn on_path_change(&mut self) {
        self.shortest = Highest::default();
    }

    fn on_segment_size(&mut self, segment_size: u32) {
        self.segment_size = f64::from(segment_size);
    }
}
