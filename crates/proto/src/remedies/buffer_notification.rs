//! MAC buffer size notification (Liu, Martins, Ellatif Samhat and Bertin, VTC 2008; study S, Table 2): the binding update carries how
//! many packets the new link's queue holds, and that bounds the window at the handover.

use crate::crosslayer::{Control, CrossLayerSignal, Remedy, TransportView};

/// The sender's part, which is all of it.
#[derive(Debug)]
pub(super) struct BufferNotification;

impl Remedy for BufferNotification {
    fn on_signal(&mut self, signal: &CrossLayerSignal, transport: &TransportView) -> Vec<Control> {
        match signal {
            CrossLayerSignal::PeerMoved(moved) => limit(moved.queue_packets, transport),
            _ => vec![],
        }
    }
}

/// Lowers a window that is larger than so many segments to them, and leaves slow start with it.
pub(super) fn limit(packets: Option<u32>, transport: &TransportView) -> Vec<Control> {
    let most = packets.unwrap_or(u32::MAX);
    let most = most.saturating_mul(transport.segment_size);
    match transport.congestion_window > most {
        true => vec![Control::NewPath {
            window: most,
            threshold: most,
        }],
        false => vec![],
    }
}
