//! Freeze-TCP (Goff, Moronski, Phatak and Gupta, INFOCOM 2000): a receiver that is about to be disconnected closes its
//! window, so that the sender stops with its window and timeout unchanged. Reconnected, the receiver sends three ACKs
//! of the last segment, which open the window again before the sender's next probe.
//!
//! The scheme needs a warning from the link a round trip ahead. Without a warning the window is not closed in time, and
//! only the three ACKs remain.

use crate::crosslayer::{Control, CrossLayerSignal, Remedy, TransportView};

/// Acknowledgments after reconnection ("TR-ACKs").
const REPEATS: u8 = 3;

/// The part at the receiver, the only one.
#[derive(Debug)]
pub(super) struct FreezeTcp;

impl Remedy for FreezeTcp {
    fn on_signal(&mut self, signal: &CrossLayerSignal, _transport: &TransportView) -> Vec<Control> {
        match signal {
            CrossLayerSignal::GoingDown => {
                vec![Control::Offer(Some(0)), Control::Acknowledge(1)]
            }
            CrossLayerSignal::Rollback => {
                vec![Control::Offer(None), Control::Acknowledge(1)]
            }
            CrossLayerSignal::Connected(_) => {
                vec![Control::Offer(None), Control::Acknowledge(REPEATS)]
            }
            _ => vec![],
        }
    }
}
