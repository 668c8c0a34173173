//! Freeze-TCP (Goff, Moronski, Phatak and Gupta, INFOCOM 2000): a receiver that is about to be disconnected shuts its window,
//! so that the sender stops with its window and timeout as they are. Reconnected, it sends three acknowledgments of the last
//! segment, which open the window again without waiting for the sender's next probe.
//!
//! It works if the link tells a round trip ahead; without that nothing is shut in time, and the three acknowledgments stay.

use crate::crosslayer::{Control, CrossLayerSignal, Remedy, TransportView};

/// Acknowledgments after reconnection ("TR-ACKs").
const REPEATS: u8 = 3;

/// The receiver's part, which is all of it.
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
