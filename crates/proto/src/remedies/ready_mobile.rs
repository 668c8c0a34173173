//! Baton's own remedy at a mobile, which needs nothing from anybody else.
//!
//! *Receiving*, (1) after a break it acknowledges with a shut window and then, three times, with an open one, as ATCP does once: a
//! sender that has been timing out goes on at once. (2) Beyond what has been offered, the window is what the link in use holds and
//! half of its queue: no queue builds up that overflows, or that a handover would have to wait for. The right edge never
//! goes back, so that a sender whose whole window was lost can still send something new. After a soft handover what comes ahead of
//! what the old link still brings makes room for more: that much is no longer under way on the new one.
//!
//! *Sending*, it stops while disconnected, and begins on the new path with that path's round-trip time and pipe.

use crate::crosslayer::{Control, CrossLayerSignal, PathParameters, Remedy, TransportView};

/// Acknowledgments after reconnection, as in Freeze-TCP: the first may be lost.
const REPEATS: u8 = 3;
/// With so many segments under way a loss is found without a timeout (RFC 5681 section 3.2).
const LEAST_SEGMENTS: u32 = 4;

/// Returns the window that a path takes: its pipe, and half of its queue.
pub(super) fn window(path: &PathParameters, sends: bool, segment_size: u32) -> u32 {
    let half_of_queue = path.queue_packets.unwrap_or(0) / 2;
    let least = LEAST_SEGMENTS.saturating_mul(segment_size);
    path.pipe(sends)
        .saturating_add(half_of_queue.saturating_mul(segment_size))
        .max(least)
}

/// The mobile's part, where it receives.
#[derive(Debug, Default)]
pub(super) struct Receiver {
    disconnected: bool,
}

impl Remedy for Receiver {
    fn on_signal(&mut self, signal: &CrossLayerSignal, transport: &TransportView) -> Vec<Control> {
        match signal {
            CrossLayerSignal::Begun(path) | CrossLayerSignal::Connected(path) => {
                let lost = core::mem::take(&mut self.disconnected);
                let offer = Control::OfferMore {
                    window: window(path, false, transport.segment_size),
                    missing_arrives: !lost,
                };
                match lost {
                    false => vec![offer],
                    true => vec![
                        Control::Offer(Some(0)),
                        Control::Acknowledge(1),
                        offer,
                        Control::Acknowledge(REPEATS),
                    ],
                }
            }
            CrossLayerSignal::Disconnected => {
                self.disconnected = true;
                vec![]
            }
            _ => vec![],
        }
    }
}

/// The mobile's part, where it sends.
#[derive(Debug, Default)]
pub(super) struct Sender {
    disconnected: bool,
}

impl Remedy for Sender {
    fn on_signal(&mut self, signal: &CrossLayerSignal, transport: &TransportView) -> Vec<Control> {
        match signal {
            CrossLayerSignal::GoingDown => vec![Control::HoldNewData],
            CrossLayerSignal::Rollback => vec![Control::Thaw],
            CrossLayerSignal::Disconnected => {
                self.disconnected = true;
                vec![Control::Freeze]
            }
            CrossLayerSignal::Connected(path) => {
                let lost = core::mem::take(&mut self.disconnected);
                onto(path, true, lost, transport)
            }
            _ => vec![],
        }
    }
}

/// Moves a sender to a new path, with its outstanding data lost or still on its way.
fn onto(path: &PathParameters, sends: bool, lost: bool, transport: &TransportView) -> Vec<Control> {
    let takes = window(path, sends, transport.segment_size);
    let mut controls = vec![Control::NewPath {
        window: transport.congestion_window.min(takes),
        threshold: takes,
    }];
    controls.extend(resume(path, sends, lost, transport));
    controls
}

/// Returns the controls that follow the new window: lost data leaves at once, and is timed by the new path.
pub(super) fn resume(
    path: &PathParameters,
    sends: bool,
    lost: bool,
    transport: &TransportView,
) -> Vec<Control> {
    let mut controls = Vec::new();
    let measured = transport.smoothed_rtt;
    let is_longer = measured.is_none_or(|measured| path.round_trip > measured);
    if lost {
        controls.push(Control::ResendCutOff);
    }
    // Data that is still on a longer path takes its time.
    if lost || is_longer {
        // On a slow link a segment takes longer than the way, and a timer that counts the way alone goes off before it is there.
        let first = path.round_trip_of(transport.segment_size, sends);
        controls.push(Control::RestartTiming(Some(first)));
    }
    controls.push(Control::Thaw);
    controls
}
