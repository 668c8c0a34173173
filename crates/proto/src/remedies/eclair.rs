//! Study C's scheme on the ECLAIR architecture, at a mobile (section IV).
//!
//! *Sending*: warned a round trip ahead (s1), it closes its window from the left with each ACK; disconnected (s3), it
//! suppresses the timeout and hides losses from the congestion control; connected, it restarts with one segment, and
//! the bandwidth-delay product of the new link is the slow-start threshold. *Receiving*: warned ahead, it closes its
//! window and keeps its last ACK; connected, it sends that ACK with a window that fits the new link.

use crate::crosslayer::{Control, CrossLayerSignal, PathParameters, Remedy, TransportView};

/// The part at the mobile, the only one.
#[derive(Debug)]
pub(super) struct Eclair {
    sends: bool,
    disconnected: bool,
}

impl Eclair {
    pub(super) fn new(sends: bool) -> Eclair {
        Eclair {
            sends,
            disconnected: false,
        }
    }

    fn prepare(&self) -> Vec<Control> {
        match self.sends {
            true => vec![Control::HoldNewData],
            false => vec![
                Control::Offer(Some(0)),
                Control::Acknowledge(1),
                Control::KeepLastAcknowledgment(true),
            ],
        }
    }

    fn connect_sender(&mut self, path: &PathParameters, segment_size: u32) -> Vec<Control> {
        // A soft handover causes no losses to hide.
        if !core::mem::take(&mut self.disconnected) {
            return vec![Control::Thaw];
        }
        let path = Control::NewPath {
            window: segment_size,
            threshold: path.pipe(true),
        };
        vec![path, Control::ResendOutstanding, Control::Thaw]
    }

    /// Sends the kept ACK, with a window.
    fn open(window: Option<u32>) -> Vec<Control> {
        vec![
            Control::KeepLastAcknowledgment(false),
            Control::Offer(window),
            Control::Acknowledge(1),
        ]
    }
}

impl Remedy for Eclair {
    fn on_signal(&mut self, signal: &CrossLayerSignal, transport: &TransportView) -> Vec<Control> {
        let segment_size = transport.segment_size;
        match signal {
            CrossLayerSignal::GoingDown => self.prepare(),
            CrossLayerSignal::Rollback if self.sends => vec![Control::Thaw],
            CrossLayerSignal::Rollback => Eclair::open(None),
            CrossLayerSignal::Disconnected if self.sends => {
                self.disconnected = true;
                vec![Control::Freeze]
            }
            CrossLayerSignal::Connected(path) if self.sends => {
                self.connect_sender(path, segment_size)
            }
            CrossLayerSignal::Connected(path) => {
                let window = path.busy(segment_size, false).max(2 * segment_size);
                Eclair::open(Some(window))
            }
            _ => vec![],
        }
    }
}
