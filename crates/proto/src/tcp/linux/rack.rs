//! Losses found by time: RACK (RFC 8985 section 6). A segment is lost if one that was sent later has arrived, and
//! a reordering window has passed besides.

use super::super::sent::SentSegment;
use super::acknowledge::AckNews;
use super::{Connection, Pending, Phase, Repairs};
use crate::time::{Duration, Instant};

/// Recoveries for which a reordering window that duplicate SACKs have widened is kept: RFC 8985 section 6.2 step 4.
const RECOVERIES_TO_PERSIST: u32 = 16;
/// Margin that Linux adds to timers of a probe or of reordering (`TCP_TIMEOUT_MIN_US`).
pub(super) const TIMER_MARGIN: Duration = Duration::from_millis(2);

/// RACK's variables.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rack {
    /// Sending time of the latest-sent segment that has arrived, and its end: "RACK.segment".
    sent_at: Instant,
    end: u64,
    /// Its round-trip time: "RACK.rtt".
    rtt: Duration,
    advanced: bool,
    /// The reordering window in quarters of the shortest round-trip time: "RACK.reo_wnd_mult".
    window_steps: u32,
    /// Recoveries left until it falls back to one: "RACK.reo_wnd_persist".
    persist: u32,
    duplicate_seen: bool,
    /// The window is not widened again in the same round trip: "RACK.dsack_round".
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
    /// A segment has arrived (RFC 8985 section 6.2 steps 1 and 2). A copy does not count if it took less than any round
    /// trip before.
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

    /// Has the marked segments looked at again.
    pub(super) fn examine_again(&mut self) {
        self.advanced = true;
    }

    pub(super) fn recovery_was_spurious(&mut self) {
        self.persist = (self.persist + 1).min(RECOVERIES_TO_PERSIST);
    }

    pub(super) fn recovery_was_right(&mut self) {
        self.persist = self.persist.saturating_sub(1);
    }

    /// Returns true if a segment sent at `sent_at` has been out for longer than the round trip of the latest arrival.
    pub(super) fn is_overdue(&self, sent_at: Instant, now: Instant) -> bool {
        now.saturating_since(sent_at) >= self.rtt
    }
}

impl Connection {
    /// RFC 8985 section 6.2 step 4, once an acknowledgment of data. A round trip is over when something is delivered that was
    /// sent since (`tcp_rack_update_reo_wnd`).
    pub(super) fn adapt_reordering_window(&mut self, news: &AckNews) {
        let Some(newest) = news.newest_sent else {
            return;
        };
        let rack = &mut self.linux.rack;
        if newest < rack.widened_at {
            rack.duplicate_seen = false;
        }
        if core::mem::take(&mut rack.duplicate_seen) {
            rack.window_steps = (rack.window_steps + 1).min(255);
            rack.widened_at = news.now;
            rack.persist = RECOVERIES_TO_PERSIST;
        } else if rack.persist == 0 {
            rack.window_steps = 1;
        }
    }

    /// `tcp_rack_reo_wnd`.
    fn reordering_window(&self) -> Duration {
        let enough = self.sent.counts().sacked >= self.linux.reordering;
        if !self.linux.reordering_seen && (self.linux.phase >= Phase::Recovery || enough) {
            return Duration::ZERO;
        }
        let shortest = self.rtt.minimum().unwrap_or(Duration::ZERO).as_nanos();
        let steps = u64::from(self.linux.rack.window_steps);
        let smoothed = self.rtt.smoothed().unwrap_or(Duration::ZERO).as_nanos();
        Duration::from_nanos((shortest / 4).saturating_mul(steps).min(smoothed))
    }

    /// `tcp_rack_mark_lost`. Returns whether the timer was set for what may be lost later.
    pub(super) fn find_losses_by_time(&mut self, now: Instant) -> bool {
        if !core::mem::take(&mut self.linux.rack.advanced) {
            return false;
        }
        match self.mark_overdue(now) {
            Some(wait) => {
                self.set_pending(Pending::Reordering, now, wait + TIMER_MARGIN);
                true
            }
            None => false,
        }
    }

    /// RFC 8985 section 6.2 step 5; returns how long the last of what may be lost has left.
    fn mark_overdue(&mut self, now: Instant) -> Option<Duration> {
        let window = self.reordering_window();
        let rack = self.linux.rack;
        let patience = rack.rtt + window;
        let left = |sent_at: Instant| {
            let left = (sent_at + patience).saturating_since(now);
            (!left.is_zero()).then_some(left)
        };
        let (lost, wait) = self.sent.mark_lost_by_time((rack.sent_at, rack.end), left);
        self.linux.lost += u64::from(lost);
        wait
    }

    /// The reordering timer went off: `tcp_rack_reo_timeout`.
    pub(super) fn on_reordering_timeout(&mut self, now: Instant) {
        let lost = self.linux.lost;
        let in_flight = self.segments_in_flight();
        self.mark_overdue(now);
        if self.segments_in_flight() != in_flight {
            if self.linux.phase != Phase::Recovery {
                self.enter_recovery(now);
                let lost = (self.linux.lost - lost) as u32;
                self.reduce_window(1, lost, false);
            }
            self.linux.repairs = Repairs::Lost;
        }
        self.resume_timeout(now);
    }
}
