//! The timeout, and whether it was spurious: F-RTO (RFC 5682). After the oldest segment new data is tried, and
//! if something is acknowledged that was never sent again, nothing was lost.

use super::super::Event;
use super::acknowledge::AckNews;
use super::{Connection, INITIAL_REORDERING, Pending, Phase, Repairs};
use crate::time::{Duration, Instant};

impl Connection {
    /// The retransmission timer went off, and the peer's window is open.
    pub(in crate::tcp) fn on_linux_timer(&mut self, now: Instant) {
        match self.linux.pending {
            Pending::Probe => self.on_probe_timeout(now),
            Pending::Reordering => self.on_reordering_timeout(now),
            Pending::Timeout => self.on_linux_timeout(now),
        }
    }

    fn on_linux_timeout(&mut self, now: Instant) {
        if self.peer_window == 0 {
            return self.on_timeout_into_shut_window(now);
        }
        if self.has_tried_long_enough(now) {
            return self.end(Event::TimedOut);
        }
        self.statistics.timeouts += 1;
        self.enter_loss(now);
        self.recovery.timeouts_in_row += 1;
        self.linux.forced = true;
        self.rtt.back_off();
        let rto = self.rtt.rto();
        self.set_pending(Pending::Timeout, now, rto);
    }

    /// `retransmits_timed_out`: not a count, but the time that so many retransmissions would take if the first
    /// timeout were the least.
    fn has_tried_long_enough(&self, now: Instant) -> bool {
        let Some(first) = self.linux.undo.first_retransmission else {
            return false;
        };
        if self.recovery.timeouts_in_row == 0 {
            return false;
        }
        let (least, most) = (self.profile.minimum_rto, self.profile.maximum_rto);
        let mut limit = Duration::ZERO;
        for doublings in 0..=self.profile.data_retries.min(10_000) {
            let one = least.saturating_mul(1 << doublings.min(32));
            limit += one.min(most);
        }
        now.saturating_since(first) >= limit
    }

    /// `tcp_enter_loss`.
    pub(super) fn enter_loss(&mut self, now: Instant) {
        let phase = self.linux.phase;
        let retried = self.recovery.timeouts_in_row > 0;
        self.mark_lost_after_timeout(now);
        // The threshold falls once for each window.
        let first = phase <= Phase::Disorder
            || self.linux.point <= self.unacknowledged
            || phase == Phase::Loss && !retried;
        if first {
            self.linux.undo.threshold = Some(self.current_threshold());
            self.linux.undo.window = self.window_segments();
            self.begin_undo();
        }
        let sample = self.linux_loss_sample(now, !first);
        self.reduce_after_timeout(&sample);
        self.set_window_segments(self.segments_in_flight() + 1);
        if phase <= Phase::Disorder && self.sent.counts().sacked >= INITIAL_REORDERING {
            self.linux.reordering = self.linux.reordering.min(INITIAL_REORDERING);
        }
        self.linux.phase = Phase::Loss;
        self.linux.point = self.next;
        self.linux.probe.forget();
        let fresh = phase < Phase::Recovery || retried;
        self.linux.forward_rto = self.profile.forward_rto && fresh;
        self.linux.repairs = Repairs::Lost;
    }

    /// `tcp_timeout_mark_lost`: all but what was sent so lately that it may still arrive.
    fn mark_lost_after_timeout(&mut self, now: Instant) {
        let rack = self.linux.rack;
        let spares = self.profile.rack && self.negotiated.sack;
        let lost = self
            .sent
            .mark_timed_out(|sent_at| !spares || rack.is_overdue(sent_at, now));
        self.linux.lost += u64::from(lost);
        self.linux.duplicates = 0;
    }

    /// `tcp_process_loss`: an acknowledgment after a timeout.
    pub(super) fn process_loss(&mut self, news: &mut AckNews, duplicate: bool) {
        let recovered = self.unacknowledged >= self.linux.point;
        if news.advanced && self.try_undo_loss(news, false) {
            return;
        }
        if self.linux.forward_rto {
            if news.original && self.try_undo_loss(news, true) {
                return;
            }
            if self.next > self.linux.point {
                if news.sacked || duplicate {
                    self.linux.forward_rto = false; // Step 3.a: the loss was real.
                }
            } else if news.advanced && !recovered {
                self.linux.point = self.next;
                if self.has_new_data() {
                    self.linux.repairs = Repairs::NewFirst; // Step 2.b: new data first.
                    return;
                }
                self.linux.forward_rto = false;
            }
        }
        if recovered {
            self.try_undo_recovery(news);
            return;
        }
        if !self.negotiated.sack {
            if self.next > self.linux.point && duplicate {
                self.add_duplicate(news);
            } else if news.advanced {
                self.linux.duplicates = 0;
            }
        }
        self.linux.repairs = Repairs::Lost;
    }

    /// F-RTO's new data could not be sent after all: the conventional recovery.
    pub(super) fn give_up_forward_rto(&mut self) {
        self.linux.forward_rto = false;
        self.linux.repairs = Repairs::Lost;
    }
}
