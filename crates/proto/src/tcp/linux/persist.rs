//! The peer's window as a limit: probes while it is closed and nothing is in flight (`tcp_send_probe0`), timeouts into
//! a window closed on data in flight, and the restart after idleness, which Linux checks at a write or a window update,
//! not when a segment leaves.

use super::super::Event;
use super::{Common, Flow, LinuxState};
use crate::tcp::timer::Timer;
use crate::time::{Duration, Instant};

/// Longest silence of a peer that has closed its window on data in flight, before the connection is given up: twice the
/// longest timeout (`tcp_rtx_probe0_timed_out`).
const LONGEST_SILENCE: Duration = Duration::from_secs(240);

impl LinuxState {
    /// Prepares for a write (`tcp_skb_entail`).
    pub(in crate::tcp) fn before_write(&mut self, flow: &Flow) {
        if let Some(rate) = &mut self.rate {
            rate.before_write(flow.space.buffer.written());
        }
        self.idle_check_due |= !flow.space.has_unsent();
    }

    /// Requests one check for idleness, when the written data is sent.
    pub(in crate::tcp) fn ask_for_idle_check(&mut self) {
        self.idle_check_due = true;
    }

    /// Checks for idleness, if a write has requested it: `tcp_slow_start_after_idle_check`.
    pub(super) fn check_idle_after_write(
        &mut self,
        flow: &mut Flow,
        common: &Common,
        now: Instant,
    ) {
        if core::mem::take(&mut self.idle_check_due) {
            self.check_idle(flow, common, now);
        }
    }

    /// Restarts the window if nothing was in flight for longer than a timeout: `tcp_slow_start_after_idle_check`.
    fn check_idle(&mut self, flow: &mut Flow, common: &Common, now: Instant) {
        let Some(sent) = flow.space.last_sent_at() else {
            return;
        };
        let idle = now.saturating_since(sent);
        let was_idle = flow.space.sent.is_empty() && idle > flow.rtt.rto();
        if common.profile.idle_restart && was_idle {
            self.restart_after_idle(flow, common, now, idle);
        }
    }

    /// Takes in a change of the peer's window: `tcp_ack_update_window`.
    pub(in crate::tcp) fn on_window_changed(
        &mut self,
        flow: &mut Flow,
        common: &Common,
        now: Instant,
    ) {
        if flow.space.has_unsent() {
            self.check_idle(flow, common, now);
        }
    }

    /// Requests a window probe, unless too many went unanswered (`tcp_probe_timer`). Then it returns the event that
    /// ends the connection.
    pub(in crate::tcp) fn on_persist_timeout(
        &mut self,
        flow: &mut Flow,
        common: &mut Common,
        now: Instant,
    ) -> Option<Event> {
        if !flow.space.sent.is_empty() || !flow.space.has_unsent() {
            flow.patience.forgive();
            return None;
        }
        let most = common.profile.data_retries;
        if flow.patience.retries() >= most {
            return Some(Event::TimedOut);
        }
        flow.patience.ask_for_probe();
        if flow.space.offered_beyond(flow.space.next()) > 0 {
            // The part that fits the window serves as the probe.
            flow.patience.reset_persist();
            flow.patience.forgive();
            return None;
        }
        if !flow.orders.is_frozen() {
            flow.patience.on_retry();
        }
        if flow.patience.persist_backoff() < most {
            flow.patience.double_persist();
        }
        restart_persist_timer(flow, common, now);
        None
    }

    /// Takes in a timeout after the peer has closed its window on data in flight: a loss like any other, but only
    /// silence ends the connection (`tcp_retransmit_timer`). Returns the event in that case.
    pub(super) fn on_timeout_into_shut_window(
        &mut self,
        flow: &mut Flow,
        common: &mut Common,
        now: Instant,
    ) -> Option<Event> {
        let first = self.undo.first_retransmission();
        let since = first.or(flow.space.sent.first().map(|first| first.sent_at));
        let tried = since.map_or(Duration::ZERO, |since| now.saturating_since(since));
        let silent = now.saturating_since(self.heard_at);
        if silent.min(tried) > LONGEST_SILENCE {
            return Some(Event::TimedOut);
        }
        common.statistics.timeouts += 1;
        self.enter_loss(flow, common, now);
        self.forced = true;
        flow.rtt.back_off();
        self.timer.start_timeout(flow, common, now);
        None
    }
}

/// Returns true if a probe that is due may leave: the window allows no byte.
pub(in crate::tcp) fn owes_window_probe(flow: &Flow) -> bool {
    let waits =
        flow.space.sent.is_empty() && flow.space.has_unsent() && !flow.orders.holds_new_data();
    waits && flow.space.offered_beyond(flow.space.next()) == 0
}

/// Takes in an ACK while data waits and nothing is in flight: `tcp_ack_probe`.
pub(super) fn on_probe_answered(flow: &mut Flow, common: &mut Common, now: Instant) {
    if flow.space.next_segment_fits() {
        flow.patience.reset_persist();
        common.timers.stop(Timer::Persist);
    } else {
        restart_persist_timer(flow, common, now);
    }
}

/// Starts the persist timer if data waits for the window and nothing is in flight: `tcp_check_probe_timer`.
pub(super) fn start_persist_timer(flow: &Flow, common: &mut Common, now: Instant) {
    if !common.timers.is_set(Timer::Persist) {
        let rto = flow.rtt.rto();
        common.timers.set_after(Timer::Persist, now, rto);
    }
}

/// Restarts the persist timer: `tcp_probe0_when`.
fn restart_persist_timer(flow: &Flow, common: &mut Common, now: Instant) {
    let doublings = flow.patience.persist_backoff().min(32);
    let doubled = flow.rtt.rto().saturating_mul(1 << doublings);
    let after = doubled.min(common.profile.maximum_rto);
    common.timers.set_after(Timer::Persist, now, after);
}
