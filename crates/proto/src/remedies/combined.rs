//! Study S's two composite methods at the sender (section 6).

use super::adaptive_timer::AdaptiveTimer;
use super::buffer_notification::limit;
use super::reordering;
use crate::crosslayer::{Control, CrossLayerSignal, Remedy, TransportView};

/// Method #1: the reordering approach towards a shorter path, the adaptive timer towards a longer one.
#[derive(Debug, Default)]
pub(super) struct Method1 {
    reordering: reordering::Sender,
}

impl Remedy for Method1 {
    fn on_signal(&mut self, signal: &CrossLayerSignal, transport: &TransportView) -> Vec<Control> {
        match signal {
            CrossLayerSignal::PeerMoved(moved) if moved.is_longer_than(transport.smoothed_rtt) => {
                AdaptiveTimer.on_signal(signal, transport)
            }
            _ => self.reordering.on_signal(signal, transport),
        }
    }
}

/// Method #2: towards a shorter path, the window is limited to the new link's queue; towards a longer one, the
/// slow-start threshold and the window take the value of the threshold before the last update.
#[derive(Debug, Default)]
pub(super) struct Method2 {
    /// The threshold, in bytes, when the update to the shorter path arrived.
    remembered: Option<u32>,
}

impl Remedy for Method2 {
    fn on_signal(&mut self, signal: &CrossLayerSignal, transport: &TransportView) -> Vec<Control> {
        let CrossLayerSignal::PeerMoved(moved) = signal else {
            return vec![];
        };
        if !moved.is_longer_than(transport.smoothed_rtt) {
            self.remembered = Some(transport.slow_start_threshold);
            return limit(moved.queue_packets, transport);
        }
        match self.remembered.take() {
            None | Some(u32::MAX) => vec![],
            Some(threshold) => vec![Control::NewPath {
                window: threshold,
                threshold,
            }],
        }
    }
}
