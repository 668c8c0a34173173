//! The peer's window as a bound: what fits it, probes while it is shut and nothing is out (`tcp_send_probe0`), the timeout
//! into one that was shut on data, and the restart after idleness, which Linux looks for when something is written or
//! the window changes, not when a segment leaves.

use super::super::Event;
use super::{Connection, Pending};
use crate::tcp::timer::Timer;
use crate::time::{Duration, Instant};
use crate::wire::tcp::{TcpFlags, TcpHeader};

/// A peer that has shut its window on data and says nothing for so long is given up: twice the longest timeout
/// (`tcp_rtx_probe0_timed_out`).
const LONGEST_SILENCE: Duration = Duration::from_secs(240);

impl Connection {
    /// Bytes that the peer's window leaves beyond `position`.
    pub(super) fn offered_beyond(&self, position: u64) -> u64 {
        (self.unacknowledged + self.peer_window).saturating_sub(position)
    }

    /// Returns true if the window takes the next new segment in whole: `tcp_snd_wnd_test`.
    pub(super) fn next_segment_fits(&self) -> bool {
        let most = u64::from(self.segment_size);
        let unsent = self.unsent();
        let fin = unsent <= most && self.fin_unsent();
        self.offered_beyond(self.next) >= unsent.min(most) + u64::from(fin)
    }

    /// A segment that is sent again goes only as far as the window, which may have shrunk, and not at all beyond it; but into
    /// one that is shut the oldest goes whole, as a probe (`__tcp_retransmit_skb`).
    pub(super) fn cut_to_window(&self, start: u64, length: u32) -> Option<u32> {
        match self.offered_beyond(start) {
            0 => (start == self.unacknowledged).then_some(length),
            room => Some(u64::from(length).min(room) as u32),
        }
    }

    /// Data is about to be written (`tcp_skb_entail`).
    pub(in crate::tcp) fn before_write(&mut self) {
        self.rate_before_write();
        self.linux.idle_check_due |= !self.has_unsent();
    }

    /// The sender may have been idle: looked for once, when what was written is sent.
    pub(in crate::tcp) fn ask_for_idle_check(&mut self) {
        self.linux.idle_check_due = true;
    }

    /// `tcp_slow_start_after_idle_check`, if a write has asked for it.
    pub(super) fn check_idle_after_write(&mut self, now: Instant) {
        if core::mem::take(&mut self.linux.idle_check_due) {
            self.check_idle(now);
        }
    }

    /// `tcp_slow_start_after_idle_check`: nothing was out for longer than a timeout.
    fn check_idle(&mut self, now: Instant) {
        let Some(sent) = self.last_data_sent_at else {
            return;
        };
        let idle = now.saturating_since(sent);
        if self.profile.idle_restart && self.sent.is_empty() && idle > self.rtt.rto() {
            self.restart_as_linux(now, idle);
        }
    }

    /// The peer's window is another one: `tcp_ack_update_window`.
    pub(in crate::tcp) fn on_window_changed(&mut self, now: Instant) {
        if self.has_unsent() {
            self.check_idle(now);
        }
    }

    /// Something waits to be sent, nothing is out, and the window keeps it back: `tcp_check_probe_timer`.
    pub(in crate::tcp) fn start_persist_timer(&mut self, now: Instant) {
        if !self.timers.is_set(Timer::Persist) {
            let rto = self.rtt.rto();
            self.set_timer(Timer::Persist, now, rto);
        }
    }

    /// `tcp_probe0_when`.
    fn restart_persist_timer(&mut self, now: Instant) {
        let doubled = self
            .rtt
            .rto()
            .saturating_mul(1 << self.persist_backoff.min(32));
        let after = doubled.min(self.profile.maximum_rto);
        self.set_timer(Timer::Persist, now, after);
    }

    /// `tcp_probe_timer`: a probe is due, unless too many had no answer at all.
    pub(in crate::tcp) fn on_linux_persist_timeout(&mut self, now: Instant) {
        if !self.sent.is_empty() || !self.has_unsent() {
            self.recovery.retries = 0;
            return;
        }
        if self.recovery.retries >= self.profile.data_retries {
            return self.end(Event::TimedOut);
        }
        self.probe_due = true;
        if self.offered_beyond(self.next) > 0 {
            // The part that fits the window is the probe.
            (self.persist_backoff, self.recovery.retries) = (0, 0);
            return;
        }
        if !self.is_frozen() {
            self.recovery.retries += 1;
        }
        if self.persist_backoff < self.profile.data_retries {
            self.persist_backoff += 1;
        }
        self.restart_persist_timer(now);
    }

    /// Returns true if a probe is due for which the window leaves no byte.
    pub(in crate::tcp) fn owes_window_probe(&self) -> bool {
        if !self.probe_due || !self.recovers_as_linux() {
            return false;
        }
        let waits = self.sent.is_empty() && self.has_unsent() && !self.holds_new_data();
        waits && self.offered_beyond(self.next) == 0
    }

    /// An empty segment with an old number, which the peer has to answer: `tcp_xmit_probe_skb`.
    pub(in crate::tcp) fn window_probe(&mut self, now: Instant) -> TcpHeader {
        self.probe_due = false;
        self.statistics.window_probes += 1;
        let position = self.unacknowledged.saturating_sub(1);
        self.header(now, position, TcpFlags::ACK, u32::MAX)
    }

    /// An acknowledgment has come while nothing was out: `tcp_ack_probe`.
    pub(super) fn on_probe_answered(&mut self, now: Instant) {
        if !self.has_unsent() {
            return;
        }
        if self.next_segment_fits() {
            self.persist_backoff = 0;
            self.timers.stop(Timer::Persist);
        } else {
            self.restart_persist_timer(now);
        }
    }

    /// The timeout where the peer has shut its window on what is out: a loss as any, but that only silence ends the
    /// connection (`tcp_retransmit_timer`).
    pub(super) fn on_timeout_into_shut_window(&mut self, now: Instant) {
        let first = self.linux.undo.first_retransmission;
        let since = first.or(self.sent.first().map(|first| first.sent_at));
        let tried = since.map_or(Duration::ZERO, |since| now.saturating_since(since));
        let silent = now.saturating_since(self.linux.heard_at);
        if silent.min(tried) > LONGEST_SILENCE {
            return self.end(Event::TimedOut);
        }
        self.statistics.timeouts += 1;
        self.enter_loss(now);
        self.linux.forced = true;
        self.rtt.back_off();
        let rto = self.rtt.rto();
        self.set_pending(Pending::Timeout, now, rto);
    }
}
