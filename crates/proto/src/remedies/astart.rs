//! ASTART (Wang, Pau, Yamada, Sanadidi and Gerla, INFOCOM 2004), named by study S as the other way to set a threshold
//! after a handover (section 6). Told by the binding update, the sender estimates the delivery rate of the new path.
//! While that rate times the shortest round-trip time is above the slow-start threshold, the threshold follows it. The
//! window grows exponentially while the estimate allows it, and otherwise linearly, until three duplicate ACKs signal a
//! loss.
//!
//! The estimate is the eligible rate of Westwood's authors: the rate of a train of ACKs while the path is empty, and of
//! a whole round trip while it is full. In between, the interval grows with the share of the round-trip time that is
//! spent in queues. Only the paper's rule for the threshold was at hand. Chosen: a train is ten ACKs, and each sample
//! has the weight of a tenth in the estimate, as in Westwood+. The shortest round-trip time is twice the update's
//! delay.

use crate::crosslayer::{Acknowledgment, Control, CrossLayerSignal, Remedy, TransportView};
use crate::time::{Duration, Instant};
use std::collections::VecDeque;

/// Share of the old estimate in the new one.
const MEMORY: f64 = 0.9;
/// Least number of ACKs in a rate sample.
const TRAIN: usize = 10;
/// Most ACKs kept of a round trip; more would not improve the estimate.
const MOST_KEPT: usize = 4096;

/// The part at the sender, the only one.
#[derive(Debug, Default)]
pub(super) struct Astart {
    path: Option<NewPath>,
}

/// The path of the last update.
#[derive(Debug)]
struct NewPath {
    shortest: Duration,
    /// The threshold as last seen: a loss lowers it.
    threshold: u32,
    /// Times of acknowledgments within a round trip, and the bytes of each.
    acknowledged: VecDeque<(Instant, u64)>,
    /// In bytes a second.
    eligible: Option<f64>,
}

impl NewPath {
    fn new(shortest: Duration, threshold: u32) -> NewPath {
        NewPath {
            shortest,
            threshold,
            acknowledged: VecDeque::new(),
            eligible: None,
        }
    }

    /// Takes in an ACK of so many bytes; returns the estimated capacity of the path, in bytes.
    fn take(&mut self, now: Instant, bytes: u64, smoothed_rtt: Option<Duration>) -> u32 {
        let shortest = self.shortest.as_secs_f64();
        let smoothed = smoothed_rtt.map_or(0.0, Duration::as_secs_f64);
        let round_trip = smoothed.max(shortest);
        self.acknowledged.push_back((now, bytes));
        let age = |at: Instant| now.saturating_since(at).as_secs_f64();
        while self.acknowledged.len() > TRAIN
            && (self.acknowledged.len() > MOST_KEPT || age(self.acknowledged[0].0) >= round_trip)
        {
            self.acknowledged.pop_front();
        }
        let Some(before) = self.acknowledged.len().checked_sub(TRAIN) else {
            return 0;
        };
        let span = (round_trip - shortest).max(age(self.acknowledged[before].0));
        if span > 0.0 {
            let recent = self.acknowledged.iter().filter(|(at, _)| age(*at) < span);
            let sample = recent.map(|(_, bytes)| *bytes as f64).sum::<f64>() / span;
            let smoothed = |rate| MEMORY * rate + (1.0 - MEMORY) * sample;
            self.eligible = Some(self.eligible.map_or(sample, smoothed));
        }
        (self.eligible.unwrap_or(0.0) * shortest) as u32
    }
}

impl Astart {
    fn follow(&mut self, now: Instant, bytes: u64, transport: &TransportView) -> Vec<Control> {
        let Some(path) = &mut self.path else {
            return vec![];
        };
        // After a timeout the window is one segment, and slow start goes on.
        let lowered = transport.slow_start_threshold < path.threshold;
        if lowered && transport.congestion_window > transport.segment_size {
            self.path = None;
            return vec![];
        }
        let held = path.take(now, bytes, transport.smoothed_rtt);
        path.threshold = transport.slow_start_threshold.max(held);
        match held > transport.slow_start_threshold {
            true => vec![Control::RaiseThreshold(held)],
            false => vec![],
        }
    }
}

impl Remedy for Astart {
    fn on_signal(&mut self, signal: &CrossLayerSignal, transport: &TransportView) -> Vec<Control> {
        match signal {
            CrossLayerSignal::PeerMoved(moved) => {
                let shortest = moved.round_trip().max(Duration::from_nanos(1));
                self.path = Some(NewPath::new(shortest, transport.slow_start_threshold));
                vec![]
            }
            _ => vec![],
        }
    }

    fn on_acknowledged(
        &mut self,
        acknowledgment: &Acknowledgment,
        transport: &TransportView,
    ) -> Vec<Control> {
        self.follow(acknowledgment.at, acknowledgment.bytes, transport)
    }
}
