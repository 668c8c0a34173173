//! Study C's scheme at the correspondent (study S, Table 2, "cwnd control at VHO"): told by the binding update, the
//! sender closes its window with each ACK. When all data is acknowledged, it restarts with one segment; the slow-start
//! threshold is the bandwidth-delay product of the new path, by the rate and delay in the update.

use crate::crosslayer::{Control, CrossLayerSignal, PeerMoved, Remedy, TransportView, pipe};

/// The part at the sender, the only one.
#[derive(Debug, Default)]
pub(super) struct ClosingWindow {
    /// The new path, until the last ACK of the old one.
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
                    // No ACK would come.
                    0 => self.begin(transport),
                    _ => vec![Control::HoldNewData],
                }
            }
            CrossLayerSignal::AllAcknowledged => self.begin(transport),
            _ => vec![],
        }
    }
}
