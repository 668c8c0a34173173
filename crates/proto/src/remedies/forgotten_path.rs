//! Proposal of study S for Westwood+ (section 8): "the VHO should trigger a minimum RTT update according to a
//! cross-layer scheme". Told by the binding update, the sender's congestion control discards the round-trip times of
//! the old path.

use crate::crosslayer::{Control, CrossLayerSignal, Remedy, TransportView};

/// The part at the sender, the only one.
#[derive(Debug)]
pub(super) struct ForgottenPath;

impl Remedy for ForgottenPath {
    fn on_signal(&mut self, signal: &CrossLayerSignal, _transport: &TransportView) -> Vec<Control> {
        match signal {
            CrossLayerSignal::PeerMoved(_) => vec![Control::ForgetPath],
            _ => vec![],
        }
    }
}
