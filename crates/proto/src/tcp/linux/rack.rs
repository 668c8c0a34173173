//! Loss detection by time: RACK (RFC 8985 section 6). A segment is lost if one sent later has arrived, and a reordering
//! window has passed since.

use super::super::rtt::RttEstimator;
use super::super::sent::{SentQueue, SentSegment};
use super::{Common, Flow, LinuxState, Pending, Phase, Repairs};
use crate::time::{Duration, Instant};

/// Recoveries for which a reordering window widened by duplicate SACKs is kept: RFC 8985 section 6.2 step 4.
const RECOVERIES_TO_PERSIST: u32 = 16;
/// Margin that Linux adds to probe and reordering timers (`TCP_TIMEOUT_MIN_US`).
pub(super) const TIMER_MARGIN: Duration = Duration::from_millis(2);

/// RACK's variables.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rack {
    /// "RACK.segment": sending time and end of the latest-sent segment that has arrived.
    sent_at: Instant,
    end: u64,
    /// "RACK.rtt": the round-trip time of that segment.
    rtt: Duration,
    advanced: bool,
    /// "RACK.reo_wnd_mult": the reordering window in quarters of the shortest round-trip time.
    window_steps: u32,
    /// "RACK.reo_wnd_persist": recoveries left until the window returns to one quarter.
    persist: u32,
    duplicate_seen: bool,
    /// "RACK.dsack_round": the window is not widened again in the same round trip.
    widened_at: Instant,
}

impl Default for Rack {
    fn default() -> Rack {
        Rack {
            sent_at: Instant::ZERO,
            end: 0,
            rtt: Duration::ZERO,
            advanced: false,
            window_steps: 1,
            persist: 0,
            duplicate_seen: false,
            widened_at: Instant::ZERO,
        }
    }
}

impl Rack {
    /// Takes in the arrival of a segment (RFC 8985 section 6.2 steps 1 and 2). A retransmission does not count if it
    /// took less than the shortest round-trip time.
    pub(super) fn advance(
        &mut self,
        segment: &SentSegment,
        now: Instant,
        minimum: Option<Duration>,
    ) {
        let rtt = now.saturating_since(segment.sent_at);
        if segment.retransmitted && minimum.is_some_and(|minimum| rtt < minimum) {
            return;
        }
        self.advanced = true;
        self.rtt = rtt;
        if (segment.sent_at, segment.end()) > (self.sent_at, self.end) {
            (self.sent_at, self.end) = (segment.sent_at, segment.end());
        }
    }

    pub(super) fn note_duplicate(&mut self) {
        self.duplicate_seen = true;
    }

    /// Requests a new examination of the marked segments.
    pub(super) fn examine_again(&mut self) {
        self.advanced = true;
    }

    pub(super) fn recovery_was_spurious(&mut self) {
        self.persist = (self.persist + 1).min(RECOVERIES_TO_PERSIST);
    }

    pub(super) fn recovery_was_right(&mut self) {
        self.persist = self.persist.saturating_sub(1);
    }

    /// Returns true if a segment sent at `sent_at` has been in flight for longer than the round-trip time of the latest
    /// arrival.
    pub(super) fn is_overdue(&self, sent_at: Instant, now: Instant) -> bool {
        now.saturating_since(sent_at) >= self.rtt
    }

    /// Adapts the reordering window (RFC 8985 section 6.2 step 4) after an ACK of data sent at `newest` and before. A
    /// round trip ends with the delivery of data sent since its start (`tcp_rack_update_reo_wnd`).
    pub(super) fn adapt_window(&mut self, newest: Instant, now: Instant) {
        if newest < self.widened_at {
            self.duplicate_seen = false;
        }
        if core::mem::take(&mut self.duplicate_seen) {
            self.window_steps = (self.window_steps + 1).min(255);
            self.widened_at = now;
            self.persist = RECOVERIES_TO_PERSIST;
        } else if self.persist == 0 {
            self.window_steps = 1;
        }
    }

    /// Returns the reordering window, for the cases in which RACK waits for reordering.
    fn window(&self, rtt: &RttEstimator) -> Duration {
        let shortest = rtt.minimum().unwrap_or(Duration::ZERO).as_nanos();
        let steps = u64::from(self.window_steps);
        let smoothed = rtt.smoothed().unwrap_or(Duration::ZERO).as_nanos();
        Duration::from_nanos((shortest / 4).saturating_mul(steps).min(smoothed))
    }

    /// Marks overdue segments lost (RFC 8985 section 6.2 step 5), given the reordering window. Returns the count of
    /// lost segments, and the time left for the last possible loss.
    fn mark_overdue(
        &self,
        sent: &mut SentQueue,
        window: Duration,
        now: Instant,
    ) -> (u32, Option<Duration>) {
        let patience = self.rtt + window;
        let left = |sent_at: Instant| {
            let left = (sent_at + patience).saturating_since(now);
            (!left.is_zero()).then_some(left)
        };
        sent.mark_lost_by_time((self.sent_at, self.end), left)
    }
}

impl LinuxState {
    /// Returns the reordering window: `tcp_rack_reo_wnd`.
    fn reordering_window(&self, flow: &Flow) -> Duration {
        let order = &self.order;
        let enough = flow.space.sent.counts().sacked >= order.reordering();
        if !order.was_reordered() && (self.phase >= Phase::Recovery || enough) {
            return Duration::ZERO;
        }
        self.rack.window(&flow.rtt)
    }

    /// Marks lost segments: `tcp_rack_mark_lost`. Returns true if the timer was set for possible further losses.
    pub(super) fn find_losses_by_time(
        &mut self,
        flow: &mut Flow,
        common: &mut Common,
        now: Instant,
    ) -> bool {
        if !core::mem::take(&mut self.rack.advanced) {
            return false;
        }
        let wait = self.mark_overdue(flow, now);
        if let Some(wait) = wait {
            let after = wait + TIMER_MARGIN;
            self.timer.set(common, Pending::Reordering, now, after);
        }
        wait.is_some()
    }

    fn mark_overdue(&mut self, flow: &mut Flow, now: Instant) -> Option<Duration> {
        let window = self.reordering_window(flow);
        let (lost, wait) = self.rack.mark_overdue(&mut flow.space.sent, window, now);
        self.lost += u64::from(lost);
        wait
    }

    /// Takes in the expiry of the reordering timer: `tcp_rack_reo_timeout`.
    pub(super) fn on_reordering_timeout(
        &mut self,
        flow: &mut Flow,
        common: &mut Common,
        now: Instant,
    ) {
        let lost = self.lost;
        let in_flight = self.in_flight(flow);
        self.mark_overdue(flow, now);
        if self.in_flight(flow) != in_flight {
            if self.phase != Phase::Recovery {
                self.enter_recovery(flow, common, now);
                let lost = (self.lost - lost) as u32;
                self.reduce_window(flow, common, 1, lost, false);
            }
            self.repairs = Repairs::Lost;
        }
        self.timer.resume(flow, common, now);
    }
}
