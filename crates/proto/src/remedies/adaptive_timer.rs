//! The adaptive retransmission timer (Kim and Lee, 2009; study S, Table 2): the binding update comes by the new path, and its
//! timestamp tells how long it took. The sender's timeout begins anew with twice that, so that it does not go off before the
//! first acknowledgment can have come by a longer path.

use crate::crosslayer::{Control, CrossLayerSignal, Remedy, TransportView};

/// The sender's part, which is all of it.
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
