//! Proposal of study T for a timeout that decreases too slowly (section 7.2.2): "if the RTT suddenly decreases
//! significantly and several RTT measurements show the same value, the RTO should be decreased to a value close to the
//! new RTT, instead of adding the variance". The round-trip time is then initialised with the last measurement, and the
//! timeout is three times that (RFC 6298 section 2.2). The sender needs no notification of a handover.
//!
//! The study gives no numbers. Chosen: *significantly* is below half of the smoothed round-trip time, *several* is
//! three in a row, as TCP needs three duplicates, and *the same* is within a factor of two, the effect of queues on
//! short times.

use crate::crosslayer::{Acknowledgment, Control, CrossLayerSignal, Remedy, TransportView};
use crate::time::Duration;

/// Measurements in a row that count as evidence.
const SEVERAL: u32 = 3;

/// The part at the sender, the only one.
#[derive(Debug, Default)]
pub(super) struct FasterTimeoutDecrease {
    /// Number of short measurements in a row, and the shortest and the longest of them.
    row: u32,
    shortest: Duration,
    longest: Duration,
}

impl FasterTimeoutDecrease {
    fn measure(&mut self, rtt: Duration, smoothed: Duration) -> Vec<Control> {
        if rtt.saturating_mul(2) >= smoothed {
            self.row = 0;
            return vec![];
        }
        if self.row == 0 {
            (self.shortest, self.longest) = (rtt, rtt);
        }
        self.shortest = self.shortest.min(rtt);
        self.longest = self.longest.max(rtt);
        self.row += 1;
        if self.longest > self.shortest.saturating_mul(2) {
            (self.row, self.shortest, self.longest) = (1, rtt, rtt);
        }
        if self.row < SEVERAL {
            return vec![];
        }
        self.row = 0;
        vec![Control::RestartTiming(Some(rtt))]
    }
}

impl Remedy for FasterTimeoutDecrease {
    fn on_signal(&mut self, _: &CrossLayerSignal, _: &TransportView) -> Vec<Control> {
        vec![]
    }

    fn on_acknowledged(
        &mut self,
        acknowledgment: &Acknowledgment,
        transport: &TransportView,
    ) -> Vec<Control> {
        match (acknowledgment.rtt, transport.smoothed_rtt) {
            (Some(rtt), Some(smoothed)) => self.measure(rtt, smoothed),
            _ => vec![],
        }
    }
}
