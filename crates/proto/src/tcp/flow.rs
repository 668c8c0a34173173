//! Parts that both loss recoveries use: the send buffer and its window, round-trip times, and the patience with a
//! silent peer.

use super::Common;
use super::congestion::{self, CongestionControl, FeedbackSample, LossSample};
use super::linux::send_buffer::{SendRoom, first_size};
use super::profile::Profile;
use super::rtt::RttEstimator;
use super::space::SendSpace;
use super::steering::SendOrders;
use crate::time::{Duration, Instant};
use crate::wire::sequence::SequenceNumber;

/// The sending half. Each part maintains its own variables; the recoveries change them through its methods.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Flow {
    pub(super) space: SendSpace,
    pub(super) room: SendRoom,
    pub(super) congestion: Box<dyn CongestionControl>,
    pub(super) rtt: RttEstimator,
    pub(super) patience: Patience,
    pub(super) orders: SendOrders,
}

/// Attempts without an answer from the peer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Patience {
    /// Timeouts without any progress.
    timeouts_in_row: u32,
    /// Timeouts among them that count towards the limit; reset when attempts are forgiven.
    retries: u32,
    /// Doublings of the persist timer.
    persist_backoff: u32,
    /// True after the persist timer has expired: a probe into the closed window is due.
    probe_due: bool,
}

impl Patience {
    /// Resumes another gateway's wait.
    pub(super) fn resume(persist_backoff: u32, probe_due: bool) -> Patience {
        Patience {
            persist_backoff,
            probe_due,
            ..Patience::default()
        }
    }

    pub(super) fn timeouts_in_row(&self) -> u32 {
        self.timeouts_in_row
    }

    pub(super) fn retries(&self) -> u32 {
        self.retries
    }

    pub(super) fn persist_backoff(&self) -> u32 {
        self.persist_backoff
    }

    /// Takes in an ACK of data, or another sign of life from the peer.
    pub(super) fn on_answer(&mut self) {
        (self.timeouts_in_row, self.retries) = (0, 0);
    }

    /// Takes in an ACK of data; attempts are counted elsewhere.
    pub(super) fn on_progress(&mut self) {
        self.timeouts_in_row = 0;
    }

    /// Resets the count of attempts.
    pub(super) fn forgive(&mut self) {
        self.retries = 0;
    }

    pub(super) fn on_timeout(&mut self) {
        self.timeouts_in_row += 1;
    }

    pub(super) fn on_retry(&mut self) {
        self.retries += 1;
    }

    /// Doubles the persist timer's next interval.
    pub(super) fn double_persist(&mut self) {
        self.persist_backoff += 1;
    }

    pub(super) fn reset_persist(&mut self) {
        self.persist_backoff = 0;
    }

    pub(super) fn ask_for_probe(&mut self) {
        self.probe_due = true;
    }

    pub(super) fn is_probe_due(&self) -> bool {
        self.probe_due
    }

    pub(super) fn take_probe(&mut self) -> bool {
        core::mem::take(&mut self.probe_due)
    }
}

impl Flow {
    pub(super) fn new(profile: &Profile, initial: SequenceNumber) -> Flow {
        Flow {
            space: SendSpace::new(initial, first_size(profile)),
            room: SendRoom::default(),
            // Replaced by `start_congestion_control`.
            congestion: congestion::new(&Profile::rfc(), 1, 1),
            rtt: RttEstimator::new(profile),
            patience: Patience::default(),
            orders: SendOrders::default(),
        }
    }

    /// Begins congestion control with a window of so many segments.
    pub(super) fn start_congestion_control(&mut self, profile: &Profile, segments: u32) {
        let size = self.space.segment_size();
        self.congestion = congestion::new(profile, size, segments.saturating_mul(size));
    }

    /// Returns the sequence space sent and not yet acknowledged, in bytes: "FlightSize" (RFC 5681).
    pub(super) fn in_flight(&self) -> u32 {
        self.space.in_flight() as u32
    }

    /// Returns the congestion window, in segments.
    pub(super) fn window_segments(&self) -> u32 {
        (self.congestion.window() / self.space.segment_size()).max(1)
    }

    /// Sets the congestion window, in segments; the threshold stays.
    pub(super) fn set_window_segments(&mut self, segments: u32) {
        let threshold = self.congestion.slow_start_threshold();
        let window = segments.max(1).saturating_mul(self.space.segment_size());
        self.congestion.set(window, threshold);
    }

    /// Passes an ACK to the congestion control. `flight` is in bytes, before the ACK.
    pub(super) fn tell_feedback(
        &mut self,
        now: Instant,
        rtt: Option<Duration>,
        delivered: u64,
        flight: u32,
    ) {
        self.congestion.on_feedback(&FeedbackSample {
            now,
            rtt,
            smoothed_rtt: self.rtt.smoothed(),
            acknowledged_to: self.space.unacknowledged(),
            sent_to: self.space.next(),
            delivered,
            bytes_in_flight: flight,
        });
    }

    /// Reduces the window after a timeout, but the threshold only if no remedy has asked to keep it at the window.
    pub(super) fn reduce_after_timeout(&mut self, sample: &LossSample) {
        let before = self.congestion.window();
        self.congestion.on_timeout(sample);
        if self.orders.forgives_timeout(self.space.unacknowledged()) {
            let window = self.congestion.window();
            self.congestion.set(window, before);
        }
    }

    /// Returns true if a remedy has asked to take gaps for reordering.
    pub(super) fn tolerates_reordering(&self) -> bool {
        self.orders
            .tolerates_reordering(self.space.unacknowledged())
    }

    /// Returns true if the peer's window allows more data, or a FIN.
    pub(super) fn has_new_data(&self) -> bool {
        let usable = self.space.offered_beyond(self.space.next()) > 0;
        usable && self.space.has_unsent() && !self.orders.holds_new_data()
    }

    /// Reports room to a waiting writer, once a third of the buffer is free.
    pub(super) fn offer_room(&mut self, common: &mut Common) {
        self.room.offer(&self.space, &mut common.events);
    }
}
