//! Acknowledgments after reconnection (Cáceres and Iftode, IEEE JSAC 13(5), 1995): a mobile receiver sends three copies of its
//! last acknowledgment, which make the sender retransmit at once instead of waiting for its timeout; a mobile sender does the
//! same to itself. Either halves the window, as any fast retransmission does.
//!
//! A sender with selective acknowledgments takes copies without news for nothing (RFC 6675), and waits. After a break the first mostly has
//! news, since the last acknowledgment was lost with what it acknowledged.

use crate::crosslayer::{Control, CrossLayerSignal, Remedy, TransportView};

/// Copies that make a sender retransmit (RFC 5681 section 3.2).
const COPIES: u8 = 3;

/// The mobile's part, which is all of it.
#[derive(Debug)]
pub(super) struct DuplicateAcks {
    pub(super) sends: bool,
}

impl Remedy for DuplicateAcks {
    fn on_signal(&mut self, signal: &CrossLayerSignal, transport: &TransportView) -> Vec<Control> {
        if !matches!(signal, CrossLayerSignal::Connected(_)) {
            return vec![];
        }
        if self.sends {
            let half = transport.congestion_window / 2;
            vec![
                Control::NewPath {
                    window: half,
                    threshold: half,
                },
                Control::ResendOutstanding,
            ]
        } else {
            vec![Control::Acknowledge(COPIES)]
        }
    }
}
