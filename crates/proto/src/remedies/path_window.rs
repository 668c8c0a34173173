//! A receive window by the link's rate and round-trip time (study D, section 5.4; study T, section 7): a mobile
//! receiver offers the bandwidth-delay product of the link in use plus one full segment. So no queue builds up that
//! would delay a handover.

use crate::crosslayer::{Control, CrossLayerSignal, Remedy, TransportView};

/// The part at the receiver, the only one.
#[derive(Debug)]
pub(super) struct PathWindow;

impl Remedy for PathWindow {
    fn on_signal(&mut self, signal: &CrossLayerSignal, transport: &TransportView) -> Vec<Control> {
        match signal {
            CrossLayerSignal::Begun(path) | CrossLayerSignal::Connected(path) => {
                let segments = path.pipe(false).div_ceil(transport.segment_size).max(1);
                let window = segments
                    .saturating_add(1)
                    .saturating_mul(transport.segment_size);
                vec![Control::Offer(Some(window))]
            }
            _ => vec![],
        }
    }
}
