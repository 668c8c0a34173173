//! MAC buffer size notification (Liu, Martins, Ellatif Samhat and Bertin, VTC 2008; study S, Table 2): the binding update carries how
//! many packets the new link's queue holds, and that bounds the window at the handover.

use crate::crosslayer::{Control, CrossLayerSignal, Remedy, TransportView};
use crate::time::Instant;

/// The sender's part, which is all of it.
#[derive(Debug)]
pub(super) struct BufferNotification;

impl Remedy for BufferNotification {
    fn on_signal(
        &mut self,
        _now: Instant,
        signal: &CrossLayerSignal,
        transport: &TransportView,
        controls: &mut Vec<Control>,
    ) {
        if let CrossLayerSignal::PeerMoved(moved) = signal
            && let Some(packets) = moved.queue_packets
        {
            limit(packets, transport, controls);
        }
    }
}

/// Lowers a window that is larger than so many segments to them, and leaves slow start with it.
pub(super) fn limit(packets: u32, transport: &TransportView, controls: &mut Vec<Control>) {
    let most = packets.saturating_mul(transport.segment_size);
    if transport.congestion_window > most {
        controls.push(Control::NewPath {
            window: most,
            threshold: most,
        });
    }
}
