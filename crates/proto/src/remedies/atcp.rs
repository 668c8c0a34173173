//! ATCP (Singh and Iyer, MWCN 2002): the mobile's TCP hears of disconnection and connection.
//!
//! *Sending*, it stops while disconnected and does not take a timeout for congestion: if the timer has gone off meanwhile, it
//! begins again at once from one segment with the window of before as threshold, and if not, it waits for the timer and does
//! the same then. *Receiving*, it acknowledges twice when it is connected again: first with a shut window, which
//! takes the sender out of its backoff, then with an open one.

use crate::crosslayer::{Control, CrossLayerSignal, Remedy, TransportView};

/// The mobile's part, which is all of it.
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
