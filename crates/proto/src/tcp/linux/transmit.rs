//! Next segments to send of Linux, in segments of its window, and the check whether the window limited it.

use super::super::output::Stretch;
use super::super::sent::SentSegment;
use super::{Connection, Pending, Phase, Repairs};
use crate::time::{Duration, Instant};

/// Use of the congestion window, for whether it limits the sender: `tcp_cwnd_validate`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WindowUsage {
    limited: bool,
    /// Most segments that were out in this window.
    most_out: u32,
    /// It ends when this is acknowledged.
    until: u64,
    /// Segments left since the sender last had to stop.
    sent: bool,
    /// Most segments out since the window was last full, and when that was.
    used: u32,
    full_at: Instant,
}

impl Connection {
    /// Lost data, then new data, as far as the window goes; before both what a timer has asked for.
    pub(in crate::tcp) fn next_linux_data(&mut self, now: Instant) -> Option<Stretch> {
        self.check_idle_after_write(now);
        if core::mem::take(&mut self.linux.forced) && !self.sent.is_empty() {
            return self.retransmit_as_linux(now, 0);
        }
        if core::mem::take(&mut self.linux.probe.due) {
            return self.send_probe(now);
        }
        let stretch = self.next_within_window(now);
        self.linux.usage.sent |= stretch.is_some_and(|stretch| !stretch.again);
        if stretch.is_none() {
            self.rate_when_stopped();
            self.validate_window(now);
        }
        stretch
    }

    fn next_within_window(&mut self, now: Instant) -> Option<Stretch> {
        if self.waits_for_pacing(now) {
            return None;
        }
        if self.may_repair()
            && self.sent.counts().lost > 0
            && self.segments_in_flight() < self.window_segments()
            && let Some(index) = self.sent.next_lost()
        {
            return self.retransmit_as_linux(now, index);
        }
        let new = if self.has_unsent() && !self.waits_for_piece(now) {
            self.rate_application_limited();
            self.new_data(now, 0)
        } else {
            None
        };
        let new_first = self.linux.repairs == Repairs::NewFirst;
        if new.is_none() && new_first && self.next <= self.linux.point {
            self.give_up_forward_rto();
            return self.next_within_window(now);
        }
        new
    }

    /// An acknowledgment that puts a loss in doubt lets out new data only (`tcp_try_undo_partial`). A control that paces repairs
    /// when its time comes, too, whatever the acknowledgment before said (`tcp_tsq_write`).
    fn may_repair(&self) -> bool {
        match self.linux.repairs {
            Repairs::Lost => true,
            Repairs::NewFirst => false,
            Repairs::None => self.linux.rate.is_some(),
        }
    }

    /// Returns true if another new segment fits the window.
    pub(in crate::tcp) fn window_has_room(&self) -> bool {
        self.segments_in_flight() < self.window_segments()
    }

    fn retransmit_as_linux(&mut self, now: Instant, index: usize) -> Option<Stretch> {
        let start = self.sent.get(index)?.start;
        let length = self.cut_to_window(start, self.retransmission_length(index)?)?;
        self.last_data_sent_at = Some(now);
        self.sent.resend(index, length, now);
        self.sent.follow_copy(start, now);
        self.rate_on_sent(now, start, length);
        self.linux.undo.on_retransmission(now);
        if self.is_reducing() {
            self.linux.reduction.on_sent();
        }
        if index == 0 && self.linux.pending != Pending::Reordering {
            let rto = self.rtt.rto();
            self.set_pending(Pending::Timeout, now, rto);
        }
        Some(Stretch {
            start,
            length,
            again: true,
            pushed: self.pushes_again(now, index),
        })
    }

    /// PSH of what is sent again: as when it was written, or of the last of several that leave as one (`__tcp_transmit_skb`).
    fn pushes_again(&self, now: Instant, index: usize) -> bool {
        let own = self.sent.get(index).is_some_and(|segment| segment.pushed);
        let several = || self.sent.ends_repairs(index, now, self.window_has_room());
        own || self.profile.push_bursts && several()
    }

    /// `tcp_send_loss_probe`: a new segment if there is one that the peer's window takes, else the last one again.
    fn send_probe(&mut self, now: Instant) -> Option<Stretch> {
        if self.has_new_data()
            && self.next_segment_fits()
            && let Some(stretch) = self.forced_new_data(now)
        {
            self.on_probe_sent(now, false);
            return Some(stretch);
        }
        let last = self.sent.len().checked_sub(1)?;
        let SentSegment {
            start,
            length: whole,
            pushed,
            ..
        } = *self.sent.get(last)?;
        let length = self.cut_to_window(start, whole)?;
        self.last_data_sent_at = Some(now);
        self.sent.probe_last(length, now);
        self.sent.follow_copy(start, now);
        self.rate_on_sent(now, start, length);
        self.on_probe_sent(now, true);
        Some(Stretch {
            start,
            length,
            again: true,
            pushed: pushed && length == whole,
        })
    }

    /// A new segment has left: `tcp_event_new_data_sent` and what follows it.
    pub(in crate::tcp) fn on_linux_new_data(&mut self, now: Instant, start: u64, length: u32) {
        self.rate_on_sent(now, start, length);
        self.note_piece(now);
        if self.is_reducing() {
            self.linux.reduction.on_sent();
        }
        if self.sent.len() == 1 || self.linux.pending == Pending::Probe {
            self.rearm_timeout(now);
        }
        self.schedule_probe(now, false);
    }

    /// The sender has to stop: was it for the window? Only `tcp_write_xmit` looks, through which repairs do not go: it sends new data, or
    /// has some that the window holds back.
    fn validate_window(&mut self, now: Instant) {
        let limited = !self.window_has_room() || self.waits_for_piece(now);
        let held_back = limited && self.has_unsent();
        if !core::mem::take(&mut self.linux.usage.sent) && !held_back {
            return;
        }
        let out = self.sent.len() as u32;
        let (unacknowledged, next) = (self.unacknowledged, self.next);
        let usage = &mut self.linux.usage;
        let over = unacknowledged >= usage.until;
        if over || limited || !usage.limited && out > usage.most_out {
            usage.limited = limited;
            usage.most_out = out;
            usage.until = next;
        }
        if self.is_window_limited() {
            self.linux.usage.used = 0;
            self.linux.usage.full_at = now;
        } else {
            let usage = &mut self.linux.usage;
            usage.used = usage.used.max(out);
            let idle = now.saturating_since(usage.full_at) >= self.rtt.rto();
            if idle && self.profile.idle_restart && self.linux.rate.is_none() {
                self.shrink_unused_window(now);
            }
        }
    }

    /// `tcp_is_cwnd_limited`; in slow start the window may grow to twice what was out.
    pub(super) fn is_window_limited(&self) -> bool {
        let window = self.congestion.window();
        let slow_start = window < self.congestion.slow_start_threshold();
        self.linux.usage.limited
            || slow_start && self.window_segments() < 2 * self.linux.usage.most_out
    }

    /// `tcp_cwnd_application_limited` (RFC 2861): half way from the window to what was used of it.
    fn shrink_unused_window(&mut self, now: Instant) {
        let window = self.window_segments();
        let used = self.linux.usage.used.max(self.profile.initial_window);
        // An application that waits for room to write is not what limits it.
        if self.linux.phase == Phase::Open && used < window && !self.write_blocked {
            let threshold = self.current_threshold();
            let half_way = window.midpoint(used) * self.segment_size;
            self.congestion.set(half_way, threshold);
        }
        self.linux.usage.used = 0;
        self.linux.usage.full_at = now;
    }

    /// `tcp_cwnd_restart` (RFC 2861): the window halves for each timeout that has passed in idleness.
    pub(super) fn restart_as_linux(&mut self, now: Instant, idle: Duration) {
        if self.linux.rate.is_some() {
            return;
        }
        let rto = self.rtt.rto();
        let least = self.profile.initial_window.min(self.window_segments());
        let threshold = self.current_threshold();
        let mut window = self.window_segments();
        let mut left = idle.saturating_sub(rto);
        while !left.is_zero() && window > least {
            window /= 2;
            left = left.saturating_sub(rto);
        }
        let window = window.max(least).saturating_mul(self.segment_size);
        self.congestion.set(window, threshold);
        self.linux.usage.used = 0;
        self.linux.usage.full_at = now;
    }
}
