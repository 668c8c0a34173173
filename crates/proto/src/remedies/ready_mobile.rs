//! Baton's own remedy at a mobile, without support from any other node.
//!
//! *Receiving*: (1) after a break it sends an ACK with a closed window and then three with an open one (ATCP sends
//! one): a sender in timeout resumes at once. (2) Beyond the window already offered, it offers the bandwidth-delay
//! product of the link in use and half of the link's queue: no queue builds up that overflows, or that would delay a
//! handover. The right edge never moves back, so that a sender whose whole window was lost can still send new data.
//! After a soft handover, data that arrives ahead of the old link's last data allows a larger window: it is no longer
//! in flight on the new link.
//!
//! *Sending*, it stops while disconnected, and starts on the new path with that path's round-trip time and
//! bandwidth-delay product.

use crate::crosslayer::{Control, CrossLayerSignal, PathParameters, Remedy, TransportView};

/// Acknowledgments after reconnection, as in Freeze-TCP: the first may be lost.
const REPEATS: u8 = 3;
/// With so many segments in flight, a loss is detected without a timeout (RFC 5681 section 3.2).
const LEAST_SEGMENTS: u32 = 4;

/// Returns the window that a path takes: its bandwidth-delay product, and half of its queue.
pub(super) fn window(path: &PathParameters, sends: bool, segment_size: u32) -> u32 {
    let half_of_queue = path.queue_packets.unwrap_or(0) / 2;
    let least = LEAST_SEGMENTS.saturating_mul(segment_size);
    path.pipe(sends)
        .saturating_add(half_of_queue.saturating_mul(segment_size))
        .max(least)
}

/// The part at a receiving mobile.
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

/// The part at a sending mobile.
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

/// Moves a sender to a new path, with its outstanding data lost or still in flight.
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
    // Data still on a longer path takes longer.
    if lost || is_longer {
        // On a slow link, serialisation takes longer than propagation, and a timer by propagation alone would expire
        // too early.
        let first = path.round_trip_of(transport.segment_size, sends);
        controls.push(Control::RestartTiming(Some(first)));
    }
    controls.push(Control::Thaw);
    controls
}
