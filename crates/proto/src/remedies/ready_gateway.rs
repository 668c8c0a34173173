//! Baton's own remedy at a gateway, which needs nothing from anybody else: a connection that is split, whose half towards the mobile
//! knows the link that it uses.
//!
//! It begins with the link's pipe in mind, so that slow start ends before a queue overflows, and lets no more into the network
//! than the link takes. Of a break that is announced it makes
//! nothing: whatever still gets through is gained, and what does not is sent again. While the link is down it stops;
//! on the next one it goes on with that one's round-trip time and pipe, and what the break has lost leaves at once. The
//! sender sees none of it but a window that closes for a while.

use super::ready_mobile::{resume, window};
use crate::crosslayer::{Control, CrossLayerSignal, Remedy, TransportView};

/// With what a connection begins on a way that it does not know (RFC 6928).
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
