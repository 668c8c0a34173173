//! Linux's choice of the next segments, in segments of its window, and the check whether the window was the limit.

use super::super::flow::Flow;
use super::super::output::Stretch;
use super::super::sent::SentSegment;
use super::super::timer::Timer;
use super::persist::start_persist_timer;
use super::{Common, LinuxState, Pending, Phase, Repairs};
use crate::time::{Duration, Instant};

impl LinuxState {
    /// Returns true if [`next_data`](Self::next_data) would find nothing and change nothing, with nothing in flight.
    pub(in crate::tcp) fn rests(&self, flow: &Flow) -> bool {
        let has_task = self.forced
            || self.idle_check_due
            || self.probe.is_due()
            || self.usage.has_sent()
            || self.repairs == Repairs::NewFirst
            || self.rate.is_some();
        !flow.space.has_unsent() && !has_task
    }

    /// Returns the next data: first a timer's request, then lost data, then new data, within the window.
    pub(in crate::tcp) fn next_data(
        &mut self,
        flow: &mut Flow,
        common: &mut Common,
        now: Instant,
    ) -> Option<Stretch> {
        self.check_idle_after_write(flow, common, now);
        if core::mem::take(&mut self.forced) && !flow.space.sent.is_empty() {
            return self.retransmit(flow, common, now, 0);
        }
        if self.probe.take_due() {
            return self.send_probe(flow, common, now);
        }
        let stretch = self.next_within_window(flow, common, now);
        match &stretch {
            Some(stretch) if !stretch.again => self.usage.note_sent(),
            Some(_) => {}
            None => {
                if let Some(rate) = &mut self.rate {
                    rate.on_stopped();
                }
                self.validate_window(flow, common, now);
            }
        }
        stretch
    }

    fn next_within_window(
        &mut self,
        flow: &mut Flow,
        common: &mut Common,
        now: Instant,
    ) -> Option<Stretch> {
        if let Some(at) = self.paced_until(now) {
            common.timers.set(Timer::Pacing, at);
            return None;
        }
        if flow.space.sent.counts().lost > 0
            && self.may_repair()
            && self.window_has_room(flow)
            && let Some(index) = flow.space.sent.next_lost()
        {
            return self.retransmit(flow, common, now, index);
        }
        let new = if flow.space.has_unsent() && !self.waits_for_piece(flow, common, now) {
            self.check_application_limit(flow);
            self.new_data(flow, common, now)
        } else {
            None
        };
        let new_first = self.repairs == Repairs::NewFirst;
        if new.is_none() && new_first && flow.space.next() <= self.point {
            self.give_up_forward_rto();
            return self.next_within_window(flow, common, now);
        }
        new
    }

    /// Returns true if lost data may be sent. An ACK that puts a loss in doubt lets out new data only
    /// (`tcp_try_undo_partial`). A control that paces also repairs at its paced time, whatever the previous ACK allowed
    /// (`tcp_tsq_write`).
    fn may_repair(&self) -> bool {
        match self.repairs {
            Repairs::Lost => true,
            Repairs::NewFirst => false,
            Repairs::None => self.rate.is_some(),
        }
    }

    /// Returns new data within both windows.
    fn new_data(&mut self, flow: &mut Flow, common: &mut Common, now: Instant) -> Option<Stretch> {
        if flow.orders.holds_new_data() {
            return None;
        }
        let idle = flow.space.in_flight() == 0;
        let new = flow.space.next_new();
        let probing = flow.patience.take_probe() && idle;
        let nagle = common.profile.nagle;
        if !probing && !flow.space.is_worth_sending(&new, idle, nagle) {
            if idle {
                start_persist_timer(flow, common, now);
            }
            return None;
        }
        if !(idle || self.window_has_room(flow) && self.fits_flight(flow, new.length)) {
            return None;
        }
        let length = if probing && new.length == 0 && !new.fin {
            common.statistics.window_probes += 1;
            1
        } else {
            new.in_sequence()
        };
        let mut stretch = self.send_new(flow, common, now, length, now);
        if probing {
            stretch.pushed = true;
            flow.space.sent.push_last();
        }
        Some(stretch)
    }

    /// Returns true if a remedy's limit allows so many more bytes in flight.
    fn fits_flight(&self, flow: &Flow, length: u64) -> bool {
        let unacknowledged = flow.space.unacknowledged();
        flow.orders.fits_flight(length, unacknowledged, || {
            u64::from(self.in_flight(flow)) * u64::from(flow.space.segment_size())
        })
    }

    /// Sends new data now, or notes data sent at `sent_at`: `tcp_event_new_data_sent` and its consequences.
    pub(in crate::tcp) fn send_new(
        &mut self,
        flow: &mut Flow,
        common: &mut Common,
        now: Instant,
        length: u32,
        sent_at: Instant,
    ) -> Stretch {
        // `tcp_event_data_sent`.
        if flow.space.sent.is_empty()
            && let Some(last) = flow.space.last_sent_at()
        {
            let idle = now.saturating_since(last);
            flow.congestion.on_transmission_start(now, idle);
        }
        let (start, pushed) = flow.space.push(now, length, sent_at);
        common.timers.stop(Timer::Persist);
        if self.rate.is_some() {
            self.note_departure(flow, now, start, length);
        }
        self.note_piece(flow, common, now);
        if self.phase.is_reducing() {
            self.reduction.on_sent();
        }
        let restarts = flow.space.sent.len() == 1 || self.timer.pending() == Pending::Probe;
        if !self.schedule_probe(flow, common, now, false) && restarts {
            self.timer.rearm(flow, common, now);
        }
        Stretch {
            start,
            length,
            again: false,
            pushed: pushed || common.profile.push_bursts && self.piece.is_over(),
        }
    }

    fn retransmit(
        &mut self,
        flow: &mut Flow,
        common: &mut Common,
        now: Instant,
        index: usize,
    ) -> Option<Stretch> {
        let space = &mut flow.space;
        let start = space.sent.get(index)?.start;
        let length = space.cut_to_window(start, space.retransmission_length(index)?)?;
        space.note_sent(now);
        space.sent.resend(index, length, now);
        space.sent.follow_copy(start, now);
        self.note_departure(flow, now, start, length);
        self.undo.on_retransmission(now);
        if self.phase.is_reducing() {
            self.reduction.on_sent();
        }
        if index == 0 && self.timer.pending() != Pending::Reordering {
            self.timer.start_timeout(flow, common, now);
        }
        Some(Stretch {
            start,
            length,
            again: true,
            pushed: self.pushes_again(flow, common, now, index),
        })
    }

    /// Returns the PSH flag of a retransmission: as written, or set on the last of several segments that leave as one
    /// (`__tcp_transmit_skb`).
    fn pushes_again(&self, flow: &Flow, common: &Common, now: Instant, index: usize) -> bool {
        let sent = &flow.space.sent;
        let own = sent.get(index).is_some_and(|segment| segment.pushed);
        let several = || sent.ends_repairs(index, now, self.window_has_room(flow));
        own || common.profile.push_bursts && several()
    }

    /// Chooses the probe: a new segment if the peer's window allows one, otherwise the last one again
    /// (`tcp_send_loss_probe`).
    fn send_probe(
        &mut self,
        flow: &mut Flow,
        common: &mut Common,
        now: Instant,
    ) -> Option<Stretch> {
        if flow.has_new_data()
            && flow.space.next_segment_fits()
            && let length @ 1.. = flow.space.next_new().in_sequence()
        {
            let stretch = self.send_new(flow, common, now, length, now);
            self.on_probe_sent(flow, common, now, false);
            return Some(stretch);
        }
        let space = &mut flow.space;
        let last = space.sent.len().checked_sub(1)?;
        let SentSegment {
            start,
            length: whole,
            pushed,
            ..
        } = *space.sent.get(last)?;
        let length = space.cut_to_window(start, whole)?;
        space.note_sent(now);
        space.sent.probe_last(length, now);
        space.sent.follow_copy(start, now);
        self.note_departure(flow, now, start, length);
        self.on_probe_sent(flow, common, now, true);
        Some(Stretch {
            start,
            length,
            again: true,
            pushed: pushed && length == whole,
        })
    }

    /// Checks whether the window was the limit when the sender stops. Only `tcp_write_xmit` checks, and repairs do not
    /// pass it: it has sent new data, or the window holds some back.
    fn validate_window(&mut self, flow: &mut Flow, common: &Common, now: Instant) {
        let has_sent = self.usage.take_sent();
        if !has_sent && !flow.space.has_unsent() {
            return;
        }
        let limited = !self.window_has_room(flow) || self.waits_for_piece(flow, common, now);
        if !has_sent && !limited {
            return;
        }
        let out = flow.space.sent.len() as u32;
        let outstanding = (flow.space.unacknowledged(), flow.space.next());
        self.usage.observe(limited, out, outstanding);
        if self.is_window_limited(flow) {
            return self.usage.restart(now);
        }
        self.usage.note_used(out);
        let idle = now.saturating_since(self.usage.full_at()) >= flow.rtt.rto();
        if idle && common.profile.idle_restart && self.rate.is_none() {
            self.shrink_unused_window(flow, common, now);
        }
    }

    /// Returns true if the window limits the sender (`tcp_is_cwnd_limited`); in slow start, the window may grow to
    /// twice the segments in flight.
    pub(super) fn is_window_limited(&self, flow: &Flow) -> bool {
        let in_slow_start = || flow.congestion.window() < flow.congestion.slow_start_threshold();
        self.usage.was_limited()
            || in_slow_start() && flow.window_segments() < 2 * self.usage.most_out()
    }

    /// Shrinks an unused window half way to its used part: `tcp_cwnd_application_limited` (RFC 2861).
    fn shrink_unused_window(&mut self, flow: &mut Flow, common: &Common, now: Instant) {
        let window = flow.window_segments();
        let used = self.usage.used().max(common.profile.initial_window);
        // An application that waits for room is not the limit.
        if self.phase == Phase::Open && used < window && !flow.room.is_awaited() {
            let threshold = self.current_threshold(flow);
            let half_way = window.midpoint(used) * flow.space.segment_size();
            flow.congestion.set(half_way, threshold);
        }
        self.usage.restart(now);
    }

    /// Halves the window for each timeout that has passed in idleness: `tcp_cwnd_restart` (RFC 2861).
    pub(super) fn restart_after_idle(
        &mut self,
        flow: &mut Flow,
        common: &Common,
        now: Instant,
        idle: Duration,
    ) {
        if self.rate.is_some() {
            return;
        }
        let rto = flow.rtt.rto();
        let mut window = flow.window_segments();
        let least = common.profile.initial_window.min(window);
        let threshold = self.current_threshold(flow);
        let mut left = idle.saturating_sub(rto);
        while !left.is_zero() && window > least {
            window /= 2;
            left = left.saturating_sub(rto);
        }
        let window = window.max(least).saturating_mul(flow.space.segment_size());
        flow.congestion.set(window, threshold);
        self.usage.restart(now);
    }
}
