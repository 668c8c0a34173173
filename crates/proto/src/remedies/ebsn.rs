//! Explicit bad state notification (Bakshi, Krishna, Vaidya and Pradhan, ICDCS 1997; study T, section 4.1.3): while a
//! base station retransmits a segment on a radio link in a bad state, it notifies the sender of each failed attempt,
//! and the sender restarts its retransmission timer. Nothing else changes: neither the estimate of the round-trip time
//! nor the window.

use crate::crosslayer::{Control, CrossLayerSignal, Remedy, TransportView};

/// The part at the sender. The base station sends the message, [`crate::wire::icmp::IcmpError::BadState`].
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
