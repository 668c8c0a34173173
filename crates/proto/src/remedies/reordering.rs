//! The reordering approach (Kim and Lee, Int. J. Communication Systems 22, 2009; study S, Table 2): after a handover to
//! a shorter path, new segments overtake old ones. From the binding update on, the mobile reports in its ACKs the
//! number of segments that are still missing. Until that number is zero ("HO_mode"), the sender takes gaps for
//! reordering and stays in congestion avoidance.

use super::notice::next_number;
use crate::crosslayer::{Control, CrossLayerSignal, Remedy, TransportView};
use core::num::NonZeroU8;

/// ACKs that report the number even if nothing is missing.
const LEAST_NOTICES: u8 = 3;

/// The part at the mobile: the header field.
#[derive(Debug, Default)]
pub(super) struct Receiver {
    last: Option<NonZeroU8>,
}

impl Remedy for Receiver {
    fn on_signal(&mut self, signal: &CrossLayerSignal, _transport: &TransportView) -> Vec<Control> {
        match signal {
            CrossLayerSignal::UpdateSent => vec![Control::Notice {
                number: next_number(&mut self.last),
                times: LEAST_NOTICES,
            }],
            _ => vec![],
        }
    }
}

/// The part at the sender: its mode.
#[derive(Debug, Default)]
pub(super) struct Sender {
    /// True once the mobile has reported missing segments: data sent over the new path has arrived.
    overtaken: bool,
}

impl Remedy for Sender {
    fn on_signal(&mut self, signal: &CrossLayerSignal, transport: &TransportView) -> Vec<Control> {
        match signal {
            CrossLayerSignal::PeerMoved(moved) if !moved.is_longer_than(transport.smoothed_rtt) => {
                self.overtaken = false;
                vec![Control::TolerateReordering(true)]
            }
            CrossLayerSignal::Noticed(notice) if notice.outstanding > 0 => {
                self.overtaken = true;
                vec![]
            }
            CrossLayerSignal::Noticed(_) if core::mem::take(&mut self.overtaken) => {
                vec![Control::TolerateReordering(false)]
            }
            _ => vec![],
        }
    }
}
