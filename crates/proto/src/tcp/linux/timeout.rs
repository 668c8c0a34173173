//! The timeout, and detection of spurious ones: F-RTO (RFC 5682). After the oldest segment the sender tries new data;
//! if an ACK then covers data never retransmitted, the timeout was spurious.

use super::acknowledge::AckNews;
use super::order::INITIAL_REORDERING;
use super::{Common, Event, Flow, LinuxState, Pending, Phase, Repairs};
use crate::time::{Duration, Instant};

impl LinuxState {
    /// Takes in an expiry of the retransmission timer. Returns the event that ends the connection, if any.
    pub(in crate::tcp) fn on_timer(
        &mut self,
        flow: &mut Flow,
        common: &mut Common,
        now: Instant,
    ) -> Option<Event> {
        match self.timer.pending() {
            Pending::Probe => self.on_probe_timeout(flow, common, now),
            Pending::Reordering => self.on_reordering_timeout(flow, common, now),
            Pending::Timeout => return self.on_timeout(flow, common, now),
        }
        None
    }

    fn on_timeout(&mut self, flow: &mut Flow, common: &mut Common, now: Instant) -> Option<Event> {
        if flow.space.window() == 0 {
            return self.on_timeout_into_shut_window(flow, common, now);
        }
        if self.has_tried_long_enough(flow, common, now) {
            return Some(Event::TimedOut);
        }
        common.statistics.timeouts += 1;
        self.enter_loss(flow, common, now);
        flow.patience.on_timeout();
        self.forced = true;
        flow.rtt.back_off();
        self.timer.start_timeout(flow, common, now);
        None
    }

    /// Returns true after the time that so many retransmissions would take if the first timeout were the least; Linux
    /// does not count them (`retransmits_timed_out`).
    fn has_tried_long_enough(&self, flow: &Flow, common: &Common, now: Instant) -> bool {
        let Some(first) = self.undo.first_retransmission() else {
            return false;
        };
        if flow.patience.timeouts_in_row() == 0 {
            return false;
        }
        let profile = &common.profile;
        let mut limit = Duration::ZERO;
        for doublings in 0..=profile.data_retries.min(10_000) {
            let one = profile.minimum_rto.saturating_mul(1 << doublings.min(32));
            limit += one.min(profile.maximum_rto);
        }
        now.saturating_since(first) >= limit
    }

    /// Enters the loss phase: `tcp_enter_loss`.
    pub(super) fn enter_loss(&mut self, flow: &mut Flow, common: &Common, now: Instant) {
        let phase = self.phase;
        let retried = flow.patience.timeouts_in_row() > 0;
        self.mark_lost_after_timeout(flow, common, now);
        // The threshold falls once for each window.
        let first = phase <= Phase::Disorder
            || self.point <= flow.space.unacknowledged()
            || phase == Phase::Loss && !retried;
        if first {
            self.undo.keep_threshold(self.current_threshold(flow));
            self.undo.keep_window(flow.window_segments());
            self.begin_undo(flow);
        }
        let sample = self.loss_sample(flow, now, !first);
        flow.reduce_after_timeout(&sample);
        flow.set_window_segments(self.in_flight(flow) + 1);
        let sacked = flow.space.sent.counts().sacked;
        if phase <= Phase::Disorder && sacked >= INITIAL_REORDERING {
            self.order.lower();
        }
        self.phase = Phase::Loss;
        self.point = flow.space.next();
        self.probe.forget();
        let fresh = phase < Phase::Recovery || retried;
        self.forward_rto = common.profile.forward_rto && fresh;
        self.repairs = Repairs::Lost;
    }

    /// Marks all segments lost except those sent too recently: `tcp_timeout_mark_lost`.
    fn mark_lost_after_timeout(&mut self, flow: &mut Flow, common: &Common, now: Instant) {
        let rack = &self.rack;
        let spares = common.profile.rack && common.negotiated.sack;
        let sent = &mut flow.space.sent;
        let lost = sent.mark_timed_out(|sent_at| !spares || rack.is_overdue(sent_at, now));
        self.lost += u64::from(lost);
        self.order.forget_duplicates();
    }

    /// Processes an ACK after a timeout: `tcp_process_loss`.
    pub(super) fn process_loss(
        &mut self,
        flow: &mut Flow,
        common: &mut Common,
        news: &mut AckNews,
    ) {
        let recovered = flow.space.unacknowledged() >= self.point;
        let duplicate = news.is_duplicate();
        if news.advanced && self.try_undo_loss(flow, common, news, false) {
            return;
        }
        if self.forward_rto {
            if news.original && self.try_undo_loss(flow, common, news, true) {
                return;
            }
            if flow.space.next() > self.point {
                if news.sacked || duplicate {
                    self.forward_rto = false; // Step 3.a: the loss was real.
                }
            } else if news.advanced && !recovered {
                self.point = flow.space.next();
                if flow.has_new_data() {
                    self.repairs = Repairs::NewFirst; // Step 2.b: new data first.
                    return;
                }
                self.forward_rto = false;
            }
        }
        if recovered {
            self.try_undo_recovery(flow, common, news);
            return;
        }
        if !common.negotiated.sack {
            if flow.space.next() > self.point && duplicate {
                self.add_duplicate(flow, common, news);
            } else if news.advanced {
                self.order.forget_duplicates();
            }
        }
        self.repairs = Repairs::Lost;
    }

    /// Falls back to conventional recovery if F-RTO's new data could not be sent.
    pub(super) fn give_up_forward_rto(&mut self) {
        self.forward_rto = false;
        self.repairs = Repairs::Lost;
    }
}
