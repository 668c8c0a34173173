//! ATCP (Singh and Iyer, MWCN 2002): the mobile's TCP is told of disconnection and connection.
//!
//! *Sending*, it stops while disconnected, and a timeout then is no sign of congestion. If the timer has expired
//! meanwhile, the sender resumes at once from one segment, with its earlier window as threshold; if not, it waits for
//! the timer and does the same then. *Receiving*, it sends two ACKs when it is connected again: the first closes the
//! window, which takes the sender out of its backoff, and the second opens it.

use crate::crosslayer::{Control, CrossLayerSignal, Remedy, TransportView};

/// The part at the mobile, the only one.
#[derive(Debug)]
pub(super) struct Atcp {
    sends: bool,
    disconnected: bool,
}

impl Atcp {
    pub(super) fn new(sends: bool) -> Atcp {
        Atcp {
            sends,
            disconnected: false,
        }
    }

    fn connect_sender(transport: &TransportView) -> Vec<Control> {
        if !transport.timed_out {
            return vec![Control::ForgiveTimeout, Control::Thaw];
        }
        let path = Control::NewPath {
            window: transport.segment_size,
            threshold: transport.congestion_window,
        };
        vec![path, Control::ResendOutstanding, Control::Thaw]
    }
}

impl Remedy for Atcp {
    fn on_signal(&mut self, signal: &CrossLayerSignal, transport: &TransportView) -> Vec<Control> {
        match signal {
            CrossLayerSignal::Disconnected => {
                self.disconnected = true;
                match self.sends {
                    true => vec![Control::Freeze],
                    false => vec![],
                }
            }
            CrossLayerSignal::Connected(_) if core::mem::take(&mut self.disconnected) => {
                match self.sends {
                    true => Atcp::connect_sender(transport),
                    false => vec![
                        Control::Offer(Some(0)),
                        Control::Acknowledge(1),
                        Control::Offer(None),
                        Control::Acknowledge(1),
                    ],
                }
            }
            _ => vec![],
        }
    }
}
