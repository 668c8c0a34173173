//! Study C's scheme at the correspondent (study S, Table 2, "cwnd control at VHO"): told by the binding update, the sender
//! closes its window with each acknowledgment. When all is acknowledged it begins with one segment, and the pipe of the new
//! path, by the update's rate and delay, is the slow-start threshold.

use crate::crosslayer::{Control, CrossLayerSignal, PeerMoved, Remedy, TransportView, pipe};

/// The sender's part, which is all of it.
#[derive(Debug, Default)]
pub(super) struct ClosingWindow {
    /// The path that waits for the last acknowledgment of the old one.
    new: Option<PeerMoved>,
}

impl ClosingWindow {
    fn begin(&mut self, transport: &TransportView) -> Vec<Control> {
        let Some(new) = self.new.take() else {
            return vec![];
        };
        let pipe = new.rate.map(|rate| pipe(rate, new.round_trip()));
        let path = Control::NewPath {
            window: transport.segment_size,
            threshold: pipe.unwrap_or(transport.slow_start_threshold),
        };
        vec![path, Control::Thaw]
    }
}

impl Remedy for ClosingWindow {
    fn on_signal(&mut self, signal: &CrossLayerSignal, transport: &TransportView) -> Vec<Control> {
        match signal {
            CrossLayerSignal::PeerMoved(moved) => {
                self.new = Some(*moved);
                match transport.bytes_in_flight {
                    // No acknowledgment would come to wait for.
                    0 => self.begin(transport),
                    _ => vec![Control::HoldNewData],
                }
            }
            CrossLayerSignal::AllAcknowledged => self.begin(transport),
            _ => vec![],
        }
    }
}
