//! A receive window by the link's rate and round-trip time (study D, section 5.4; study T, section 7): a mobile receiver offers what
//! the link in use holds, and one full segment more, so that no queue builds up which a handover would have to wait for.

use crate::crosslayer::{Control, CrossLayerSignal, Remedy, TransportView};
use crate::time::Instant;

/// The receiver's part, which is all of it.
#[derive(Debug)]
pub(super) struct PathWindow;

impl Remedy for PathWindow {
    fn on_signal(
        &mut self,
        _now: Instant,
        signal: &CrossLayerSignal,
        transport: &TransportView,
        controls: &mut Vec<Control>,
    ) {
        if let CrossLayerSignal::Begun(path) | CrossLayerSignal::Connected(path) = signal {
            let segments = path.pipe(false).div_ceil(transport.segment_size).max(1) + 1;
            controls.push(Control::Offer(Some(segments * transport.segment_size)));
        }
    }
}
