//! Proposal of study T for a timeout that comes down too slowly (section 7.2.2): "if the RTT suddenly decreases
//! significantly and several RTT measurements show the same value, the RTO should be decreased to a value close to the
//! new RTT, instead of adding the variance". Round-trip time and timeout then begin anew with the last measurement,
//! three times which the timeout is (RFC 6298 section 2.2). Nobody has to tell the sender of a handover.
//!
//! The study gives no numbers. Chosen: *significantly* is below half of the smoothed round-trip time, *several* is three in a
//! row, as TCP takes three duplicates for evidence, and *the same* is within a factor of two, which queues make of short times.

use crate::crosslayer::{Acknowledgment, Control, CrossLayerSignal, Remedy, TransportView};
use crate::time::Duration;

/// Measurements in a row that show it.
const SEVERAL: u32 = 3;

/// The sender's part, which is all of it.
#[derive(Debug, Default)]
pub(super) struct FasterTimeoutDecrease {
    /// Short measurements in a row, the shortest and the longest of them.
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
