//! Explicit bad state notification (Bakshi, Krishna, Vaidya and Pradhan, ICDCS 1997; study T, section 4.1.3): while a base
//! station repeats a segment on a radio link in a bad state, it tells the sender of each attempt that fails, and the sender
//! sets its retransmission timer anew. Nothing else changes: neither the estimate of the round-trip time nor the window.

use crate::crosslayer::{Control, CrossLayerSignal, Remedy, TransportView};

/// The sender's part. The base station's is to send the message, [`crate::wire::icmp::IcmpError::BadState`].
#[derive(Debug)]
pub(super) struct Ebsn;

impl Remedy for Ebsn {
    fn on_signal(&mut self, signal: &CrossLayerSignal, _transport: &TransportView) -> Vec<Control> {
        match signal {
            CrossLayerSignal::BadState => vec![Control::RestartTimer],
            _ => vec![],
        }
    }
}
