//! ATCP (Singh and Iyer, MWCN 2002): the mobile's TCP hears of disconnection and connection.
//!
//! *Sending*, it stops while disconnected and does not take a timeout for congestion: if the timer has gone off meanwhile, it
//! begins again at once from one segment with the window of before as threshold, and if not, it waits for the timer and does
//! the same then. *Receiving*, it acknowledges twice when it is connected again: first with a shut window, which
//! takes the sender out of its backoff, then with an open one.

use crate::crosslayer::{Control, CrossLayerSignal, Remedy, TransportView};
use crate::time::Instant;

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

    fn connect_sender(transport: &TransportView, controls: &mut Vec<Control>) {
        if transport.timed_out {
            controls.extend([
                Control::NewPath {
                    window: transport.segment_size,
                    threshold: transport.congestion_window,
                },
                Control::ResendOutstanding,
            ]);
        } else {
            controls.push(Control::ForgiveTimeout);
        }
        controls.push(Control::Thaw);
    }
}

impl Remedy for Atcp {
    fn on_signal(
        &mut self,
        _now: Instant,
        signal: &CrossLayerSignal,
        transport: &TransportView,
        controls: &mut Vec<Control>,
    ) {
        match signal {
            CrossLayerSignal::Disconnected => {
                self.disconnected = true;
                if self.sends {
                    controls.push(Control::Freeze);
                }
            }
            CrossLayerSignal::Connected(_) if core::mem::take(&mut self.disconnected) => {
                if self.sends {
                    Atcp::connect_sender(transport, controls);
                } else {
                    controls.extend([
                        Control::Offer(Some(0)),
                        Control::Acknowledge(1),
                        Control::Offer(None),
                        Control::Acknowledge(1),
                    ]);
                }
            }
            _ => {}
        }
    }
}
