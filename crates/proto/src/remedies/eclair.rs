//! Study C's scheme on the ECLAIR architecture, at a mobile (section IV).
//!
//! *Sending*: told a round trip ahead (s1), it closes its window from the left with each acknowledgment; disconnected (s3), it
//! suppresses the timeout and hides what is lost; connected, it begins with one segment, and the new link's pipe is the
//! slow-start threshold. *Receiving*: told ahead, it shuts its window and keeps its last acknowledgment; connected, it sends
//! that with a window fit for the new link.

use crate::crosslayer::{Control, CrossLayerSignal, PathParameters, Remedy, TransportView};
use crate::time::Instant;

/// The mobile's part, which is all of it.
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

    fn prepare(&self, controls: &mut Vec<Control>) {
        if self.sends {
            controls.push(Control::HoldNewData);
        } else {
            controls.extend([
                Control::Offer(Some(0)),
                Control::Acknowledge(1),
                Control::KeepLastAcknowledgment(true),
            ]);
        }
    }

    fn connect(&self, path: &PathParameters, segment_size: u32, controls: &mut Vec<Control>) {
        let pipe = path.pipe(self.sends).max(2 * segment_size);
        if self.sends {
            controls.extend([
                Control::NewPath {
                    window: segment_size,
                    threshold: pipe,
                },
                Control::ResendOutstanding,
                Control::Thaw,
            ]);
        } else {
            controls.extend([
                Control::KeepLastAcknowledgment(false),
                Control::Offer(Some(pipe)),
                Control::Acknowledge(1),
            ]);
        }
    }
}

impl Remedy for Eclair {
    fn on_signal(
        &mut self,
        _now: Instant,
        signal: &CrossLayerSignal,
        transport: &TransportView,
        controls: &mut Vec<Control>,
    ) {
        match signal {
            CrossLayerSignal::GoingDown => self.prepare(controls),
            CrossLayerSignal::Rollback if self.sends => controls.push(Control::Thaw),
            CrossLayerSignal::Rollback => controls.extend([
                Control::KeepLastAcknowledgment(false),
                Control::Offer(None),
                Control::Acknowledge(1),
            ]),
            CrossLayerSignal::Disconnected => {
                self.disconnected = true;
                if self.sends {
                    controls.push(Control::Freeze);
                }
            }
            // A soft handover loses nothing that would have to be hidden.
            CrossLayerSignal::Connected(path) if core::mem::take(&mut self.disconnected) => {
                self.connect(path, transport.segment_size, controls);
            }
            CrossLayerSignal::Connected(_) if self.sends => controls.push(Control::Thaw),
            _ => {}
        }
    }
}
