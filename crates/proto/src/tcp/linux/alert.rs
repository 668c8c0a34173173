//! The state machine, `tcp_fastretrans_alert`: what a dubious acknowledgment changes.

use super::acknowledge::AckNews;
use super::{Connection, Pending, Phase, Repairs};
use crate::time::Duration;

/// No timeout comes sooner after the peer has reneged.
const LEAST_AFTER_RENEGING: Duration = Duration::from_millis(10);

impl Connection {
    /// A duplicate in the sense of Linux: nothing in it is new, and it reports no duplicate of ours.
    fn is_duplicate(news: &AckNews) -> bool {
        !(news.advanced || news.not_duplicate || news.acknowledged || news.duplicate_sack)
    }

    pub(super) fn alert(&mut self, news: &mut AckNews) {
        if self.sent.is_empty() {
            self.linux.duplicates = 0;
        }
        if self.tolerates_reordering() || self.hurries_after_reneging(news) {
            return;
        }
        if self.negotiated.sack && news.sacked && !news.advanced {
            self.statistics.duplicate_acks_received += 1;
        }
        if self.linux.phase == Phase::Open {
            self.linux.undo.first_retransmission = None;
        } else if self.unacknowledged >= self.linux.point && self.leave_phase(news) {
            return;
        }
        match self.linux.phase {
            Phase::Recovery => self.alert_in_recovery(news),
            Phase::Loss => self.alert_in_loss(news),
            Phase::Open | Phase::Disorder | Phase::Reduced => self.alert_otherwise(news),
        }
    }

    /// The peer has SACKed what it now says is the next that it lacks: it has thrown it away, and the timeout comes after half a
    /// round trip (`tcp_check_sack_reneging`).
    fn hurries_after_reneging(&mut self, news: &mut AckNews) -> bool {
        let reneged = news.advanced && self.sent.first().is_some_and(|first| first.sacked);
        if reneged {
            let smoothed = self.rtt.smoothed().unwrap_or_default();
            let after = smoothed.half().max(LEAST_AFTER_RENEGING);
            self.set_pending(Pending::Timeout, news.now, after);
            news.set_timer = false;
        }
        reneged
    }

    /// All that was out when the phase began is acknowledged. Returns whether nothing else is to be done.
    fn leave_phase(&mut self, news: &AckNews) -> bool {
        match self.linux.phase {
            Phase::Reduced if self.unacknowledged != self.linux.point => {
                self.end_reduction();
                self.linux.phase = Phase::Open;
            }
            Phase::Recovery => {
                if !self.negotiated.sack {
                    self.linux.duplicates = 0;
                }
                if self.try_undo_recovery(news) {
                    return true;
                }
                self.end_reduction_after_recovery();
            }
            _ => {}
        }
        false
    }

    fn alert_in_recovery(&mut self, news: &mut AckNews) {
        if !news.advanced {
            if !self.negotiated.sack && Self::is_duplicate(news) {
                self.add_duplicate(news);
            }
        } else if self.try_undo_partial(news) {
            return;
        }
        if self.try_undo_by_duplicates() {
            self.keep_open();
        }
        self.identify_losses(news);
        if self.linux.phase != Phase::Recovery {
            if self.sent.counts().lost == 0 {
                return;
            }
            self.enter_recovery(news.now);
        }
        self.linux.repairs = Repairs::Lost;
    }

    fn alert_in_loss(&mut self, news: &mut AckNews) {
        let duplicate = Self::is_duplicate(news);
        self.process_loss(news, duplicate);
        self.identify_losses(news);
        if self.linux.phase == Phase::Open || news.lost_retransmission {
            self.alert_otherwise(news);
        }
    }

    fn alert_otherwise(&mut self, news: &mut AckNews) {
        if !self.negotiated.sack {
            if news.advanced {
                self.linux.duplicates = 0;
            }
            if Self::is_duplicate(news) {
                self.add_duplicate(news);
            }
        }
        if self.linux.phase <= Phase::Disorder {
            self.try_undo_by_duplicates();
        }
        self.identify_losses(news);
        if self.sent.counts().lost == 0 {
            if !self.any_retransmission_out() {
                self.linux.undo.first_retransmission = None;
            }
            if self.linux.phase != Phase::Reduced {
                self.keep_open();
            }
            return;
        }
        self.enter_recovery(news.now);
        self.linux.repairs = Repairs::Lost;
    }

    /// `tcp_try_keep_open`.
    pub(super) fn keep_open(&mut self) {
        let counts = self.sent.counts();
        let doubtful = counts.sacked + self.linux.duplicates + counts.lost > 0;
        let phase = if doubtful || self.any_retransmission_out() {
            Phase::Disorder
        } else {
            Phase::Open
        };
        if self.linux.phase != phase {
            self.linux.phase = phase;
            self.linux.point = self.next;
        }
    }

    /// `tcp_any_retrans_done`.
    pub(super) fn any_retransmission_out(&self) -> bool {
        self.sent.counts().resent > 0 || self.sent.first().is_some_and(|first| first.retransmitted)
    }

    /// `tcp_identify_packet_loss`.
    fn identify_losses(&mut self, news: &mut AckNews) {
        if self.sent.is_empty() {
            return;
        }
        let before = self.sent.counts();
        if !self.negotiated.sack {
            self.identify_loss_by_duplicates(news.advanced);
        } else if self.profile.rack {
            if self.find_losses_by_time(news.now) {
                news.set_timer = false;
            }
        } else {
            self.sent
                .mark_lost(self.linux.reordering, self.segment_size);
        }
        let after = self.sent.counts();
        if !self.profile.rack || !self.negotiated.sack {
            self.linux.lost += u64::from(after.lost.saturating_sub(before.lost));
        }
        news.lost_retransmission |= before.resent > after.resent;
    }

    /// `tcp_newreno_mark_lost`: the oldest segment, by enough duplicates or by a partial acknowledgment.
    fn identify_loss_by_duplicates(&mut self, advanced: bool) {
        let begins =
            self.linux.phase < Phase::Recovery && self.linux.duplicates >= self.linux.reordering;
        let goes_on = self.linux.phase == Phase::Recovery && advanced;
        let waits = self.sent.first().is_some_and(|first| !first.lost);
        if (begins || goes_on) && waits {
            self.sent.mark_first_lost();
        }
    }
}
