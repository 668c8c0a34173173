//! The reordering approach (Kim and Lee, Int. J. Communication Systems 22, 2009; study S, Table 2): on a way to a shorter path new
//! segments overtake old ones. From the update on, the mobile says in its acknowledgments how many are still missing, and
//! until that is none ("HO_mode") the sender takes gaps for what they are and goes on in congestion avoidance.

use super::notice::next_number;
use crate::crosslayer::{Control, CrossLayerSignal, Remedy, TransportView};
use core::num::NonZeroU8;

/// Acknowledgments that say so even if nothing is missing.
const LEAST_NOTICES: u8 = 3;

/// The mobile's part: the header field.
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

/// The sender's part: its mode.
#[derive(Debug, Default)]
pub(super) struct Sender {
    /// The mobile has said that something is missing: what was sent by the new path has arrived.
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
