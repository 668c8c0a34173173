//! The adaptive retransmission timer (Kim and Lee, 2009; study S, Table 2): the binding update comes over the new path,
//! and its timestamp gives the one-way delay. The sender's timeout is reset to twice that, so that it does not expire
//! before the first ACK over a longer path.

use crate::crosslayer::{Control, CrossLayerSignal, Remedy, TransportView};

/// The part at the sender, the only one.
#[derive(Debug)]
pub(super) struct AdaptiveTimer;

impl Remedy for AdaptiveTimer {
    fn on_signal(&mut self, signal: &CrossLayerSignal, _transport: &TransportView) -> Vec<Control> {
        match signal {
            CrossLayerSignal::PeerMoved(moved) => {
                vec![Control::RestartTiming(Some(moved.round_trip()))]
            }
            _ => vec![],
        }
    }
}
