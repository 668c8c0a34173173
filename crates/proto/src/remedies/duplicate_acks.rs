//! Acknowledgments after reconnection (Cáceres and Iftode, IEEE JSAC 13(5), 1995): a mobile receiver sends three copies
//! of its last ACK, which make the sender retransmit at once instead of waiting for its timeout; a mobile sender does
//! the same to itself. Either halves the window, as any fast retransmission does.
//!
//! A sender with SACK ignores copies without new blocks (RFC 6675), and waits. After a break the first copy mostly is
//! new, since the last ACK was lost with the data that it acknowledged.

use crate::crosslayer::{Control, CrossLayerSignal, Remedy, TransportView};

/// Duplicate ACKs that trigger a fast retransmission (RFC 5681 section 3.2).
const COPIES: u8 = 3;

/// The part at the mobile, the only one.
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
