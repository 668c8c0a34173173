//! MAC buffer size notification (Liu, Martins, Ellatif Samhat and Bertin, VTC 2008; study S, Table 2): the binding
//! update carries the capacity of the new link's queue, in packets, which limits the window at the handover.

use crate::crosslayer::{Control, CrossLayerSignal, Remedy, TransportView};

/// The part at the sender, the only one.
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

/// Lowers a larger window to so many segments, which ends slow start.
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
