//! Baton's own remedy at a gateway, without support from any other node: a split connection whose half towards the
//! mobile knows the link in use.
//!
//! That half starts with the bandwidth-delay product of the link as its slow-start threshold, so that slow start ends
//! before a queue overflows, and keeps no more in flight than the link takes. An announced break changes nothing: data
//! that still gets through is a gain, and the rest is retransmitted. While the link is down, the half stops; on the
//! next link it continues with the new round-trip time and bandwidth-delay product, and retransmits at once what the
//! break has lost. All that the sender sees is a window that closes for a while.

use super::ready_mobile::{resume, window};
use crate::crosslayer::{Control, CrossLayerSignal, Remedy, TransportView};

/// Initial window on an unknown path (RFC 6928).
const INITIAL_SEGMENTS: u32 = 10;

/// Remedy that steers the half towards the mobile.
#[derive(Debug, Default)]
pub(super) struct TowardsMobile {
    disconnected: bool,
}

impl Remedy for TowardsMobile {
    fn on_signal(&mut self, signal: &CrossLayerSignal, transport: &TransportView) -> Vec<Control> {
        match signal {
            CrossLayerSignal::Begun(path) => {
                let takes = window(path, false, transport.segment_size);
                let begin = Control::NewPath {
                    window: transport.congestion_window,
                    threshold: takes,
                };
                vec![begin, Control::LimitFlight(takes)]
            }
            CrossLayerSignal::Disconnected => {
                self.disconnected = true;
                vec![Control::Freeze]
            }
            CrossLayerSignal::Connected(path) => {
                let lost = core::mem::take(&mut self.disconnected);
                let takes = window(path, false, transport.segment_size);
                let begin = INITIAL_SEGMENTS.saturating_mul(transport.segment_size);
                let onto = transport.congestion_window.max(begin).min(takes);
                // Packets that the old link still delivers take no capacity of the new one.
                let elsewhere = if lost { 0 } else { transport.bytes_in_flight };
                let path_begins = Control::NewPath {
                    window: onto.saturating_add(elsewhere),
                    threshold: takes,
                };
                let mut controls = vec![Control::LimitFlight(takes), path_begins];
                controls.extend(resume(path, false, lost, transport));
                controls
            }
            _ => vec![],
        }
    }
}
