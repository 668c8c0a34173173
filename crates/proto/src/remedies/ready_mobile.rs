//! Baton's own remedy at a mobile, which needs nothing from anybody else.
//!
//! *Receiving*: (1) acknowledgments are one behind. When the link breaks, one segment that has arrived is still unacknowledged; its
//! acknowledgment, sent on reconnection, is news to a sender that has been timing out, takes it out of its backoff, and by the
//! timestamp that it echoes shows the timeout to have been wrong (RFC 4015). (2) Beyond what has been
//! offered the window is what the link in use holds and its queue in a fifth of a second: no queue builds up that overflows,
//! or that a handover would have to wait for. (3)
//! Told ahead of a disconnection, it shuts its window as Freeze-TCP does.
//!
//! *Sending*, it stops while disconnected, and begins on the new path with that path's round-trip time and pipe.

use crate::crosslayer::{Control, CrossLayerSignal, PathParameters, Remedy, TransportView, pipe};
use crate::time::Duration;

/// How long an acknowledgment waits for the next. Chosen: half of the shortest delay of acknowledgments in use (Linux's 40 ms), and
/// longer than between two segments on links from 1 Mbit/s up.
const TRAILS_FOR: Duration = Duration::from_millis(20);
/// Acknowledgments after reconnection, as in Freeze-TCP: the first may be lost.
const REPEATS: u8 = 3;
/// With so many segments under way a loss is found without a timeout (RFC 5681 section 3.2).
const LEAST_SEGMENTS: u32 = 4;

/// How long a packet may wait in the queue. Chosen: longer than acknowledgments are delayed, so that a short pipe is filled, and
/// little beside a handover.
const LONGEST_WAIT: Duration = Duration::from_millis(200);

/// What a path takes: its pipe, and what may wait in its queue, which is half of that at most.
pub(super) fn window(path: &PathParameters, sends: bool, segment_size: u32) -> u32 {
    let rate = match sends {
        true => path.from_mobile,
        false => path.to_mobile,
    };
    let half_of_queue = path.queue_packets.unwrap_or(u32::MAX) / 2;
    let queued = half_of_queue.saturating_mul(segment_size);
    let waiting = queued.min(pipe(rate, LONGEST_WAIT));
    let least = LEAST_SEGMENTS.saturating_mul(segment_size);
    pipe(rate, path.round_trip)
        .saturating_add(waiting)
        .max(least)
}

/// The mobile's part, where it receives.
#[derive(Debug, Default)]
pub(super) struct Receiver {
    /// What the link in use takes.
    window: u32,
    /// The window is shut, or the link down.
    stopped: bool,
}

impl Receiver {
    fn go_on(&mut self) -> Vec<Control> {
        let mut controls = vec![
            Control::KeepLastAcknowledgment(false),
            Control::OfferMore(self.window),
        ];
        if core::mem::take(&mut self.stopped) {
            controls.push(Control::Acknowledge(REPEATS));
        }
        controls
    }
}

impl Remedy for Receiver {
    fn on_signal(&mut self, signal: &CrossLayerSignal, transport: &TransportView) -> Vec<Control> {
        match signal {
            CrossLayerSignal::Begun(path) | CrossLayerSignal::Connected(path) => {
                self.window = window(path, false, transport.segment_size);
                let mut controls = vec![Control::TrailAcknowledgments(Some(TRAILS_FOR))];
                controls.extend(self.go_on());
                controls
            }
            CrossLayerSignal::GoingDown => {
                self.stopped = true;
                vec![Control::Offer(Some(0)), Control::Acknowledge(1)]
            }
            CrossLayerSignal::Rollback => self.go_on(),
            CrossLayerSignal::Disconnected => {
                self.stopped = true;
                vec![Control::KeepLastAcknowledgment(true)]
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

/// How a sender goes on by a new path, with what was out lost or still on its way.
pub(super) fn onto(
    path: &PathParameters,
    sends: bool,
    lost: bool,
    transport: &TransportView,
) -> Vec<Control> {
    let takes = window(path, sends, transport.segment_size);
    let mut controls = vec![Control::NewPath {
        window: transport.congestion_window.min(takes),
        threshold: takes,
    }];
    let measured = transport.smoothed_rtt;
    let is_longer = measured.is_none_or(|measured| path.round_trip > measured);
    if lost {
        controls.push(Control::ResendOutstanding);
    }
    // What is still on a longer way takes its time.
    if lost || is_longer {
        controls.push(Control::RestartTiming(Some(path.round_trip)));
    }
    controls.push(Control::Thaw);
    controls
}
