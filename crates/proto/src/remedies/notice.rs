//! Proposals of study T for a sender that is told of a handover (section 7): reset the timeout, restart slow start from
//! one segment, or both. A mobile sender is told by its own stack; a correspondent by an option in the mobile's ACKs.

use super::Kind;
use crate::crosslayer::{Control, CrossLayerSignal, Remedy, TransportView};
use core::num::NonZeroU8;

/// ACKs that carry the option: the first may be lost.
const NOTICES: u8 = 3;

/// Returns the number of the next handover, which wraps around without zero.
pub(super) fn next_number(last: &mut Option<NonZeroU8>) -> NonZeroU8 {
    let next = last
        .and_then(|last| last.checked_add(1))
        .unwrap_or(NonZeroU8::MIN);
    *last = Some(next);
    next
}

/// The part at a receiving mobile: the option.
#[derive(Debug, Default)]
pub(super) struct Announcer {
    last: Option<NonZeroU8>,
}

impl Remedy for Announcer {
    fn on_signal(&mut self, signal: &CrossLayerSignal, _transport: &TransportView) -> Vec<Control> {
        if !matches!(signal, CrossLayerSignal::Connected(_)) {
            return vec![];
        }
        let notice = Control::Notice {
            number: next_number(&mut self.last),
            times: NOTICES,
        };
        vec![notice, Control::Acknowledge(1)]
    }
}

/// The sender's part.
#[derive(Debug)]
pub(super) struct Reset {
    timing: bool,
    window: bool,
    /// The last handover that this end was told of.
    last: Option<NonZeroU8>,
}

impl Reset {
    pub(super) fn new(kind: Kind) -> Reset {
        Reset {
            timing: kind != Kind::WindowReset,
            window: kind != Kind::TimeoutReset,
            last: None,
        }
    }
}

impl Remedy for Reset {
    fn on_signal(&mut self, signal: &CrossLayerSignal, transport: &TransportView) -> Vec<Control> {
        let is_news = match signal {
            CrossLayerSignal::Connected(_) => true,
            CrossLayerSignal::Noticed(notice) => {
                self.last.replace(notice.number) != Some(notice.number)
            }
            _ => false,
        };
        if !is_news {
            return vec![];
        }
        // Half of the window, as after a loss: the capacity of the new path is unknown.
        let window = Control::NewPath {
            window: transport.segment_size,
            threshold: transport.congestion_window / 2,
        };
        let window = self.window.then_some(window);
        let timing = self.timing.then_some(Control::RestartTiming(None));
        window.into_iter().chain(timing).collect()
    }
}
