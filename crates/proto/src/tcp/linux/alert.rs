//! The state machine, `tcp_fastretrans_alert`: effects of a dubious ACK.

use super::acknowledge::AckNews;
use super::undo::any_retransmission_out;
use super::{Common, Flow, LinuxState, Pending, Phase, Repairs};
use crate::time::Duration;

/// Shortest timeout after the peer has reneged.
const LEAST_AFTER_RENEGING: Duration = Duration::from_millis(10);

impl LinuxState {
    pub(super) fn alert(&mut self, flow: &mut Flow, common: &mut Common, news: &mut AckNews) {
        if flow.space.sent.is_empty() {
            self.order.forget_duplicates();
        }
        if flow.tolerates_reordering() || self.hurries_after_reneging(flow, common, news) {
            return;
        }
        if common.negotiated.sack && news.sacked && !news.advanced {
            common.statistics.duplicate_acks_received += 1;
        }
        if self.phase == Phase::Open {
            self.undo.forget_first_retransmission();
        } else if flow.space.unacknowledged() >= self.point && self.leave_phase(flow, common, news)
        {
            return;
        }
        match self.phase {
            Phase::Recovery => self.alert_in_recovery(flow, common, news),
            Phase::Loss => self.alert_in_loss(flow, common, news),
            Phase::Open | Phase::Disorder | Phase::Reduced => {
                self.alert_otherwise(flow, common, news);
            }
        }
    }

    /// Returns true if the peer has reneged: it had SACKed the segment that it now expects next. The timeout then comes
    /// after half a round trip (`tcp_check_sack_reneging`).
    fn hurries_after_reneging(
        &mut self,
        flow: &Flow,
        common: &mut Common,
        news: &mut AckNews,
    ) -> bool {
        let first = flow.space.sent.first();
        let reneged = news.advanced && first.is_some_and(|first| first.sacked);
        if reneged {
            let smoothed = flow.rtt.smoothed().unwrap_or_default();
            let after = smoothed.half().max(LEAST_AFTER_RENEGING);
            self.timer.set(common, Pending::Timeout, news.now, after);
            news.set_timer = false;
        }
        reneged
    }

    /// Leaves the phase once all data in flight at its start is acknowledged. Returns true if that completes the
    /// processing.
    fn leave_phase(&mut self, flow: &mut Flow, common: &mut Common, news: &AckNews) -> bool {
        match self.phase {
            Phase::Reduced if flow.space.unacknowledged() != self.point => {
                self.end_reduction(flow);
                self.phase = Phase::Open;
            }
            Phase::Recovery => {
                if !common.negotiated.sack {
                    self.order.forget_duplicates();
                }
                if self.try_undo_recovery(flow, common, news) {
                    return true;
                }
                self.end_reduction_after_recovery(flow);
            }
            _ => {}
        }
        false
    }

    fn alert_in_recovery(&mut self, flow: &mut Flow, common: &mut Common, news: &mut AckNews) {
        if !news.advanced {
            if !common.negotiated.sack && news.is_duplicate() {
                self.add_duplicate(flow, common, news);
            }
        } else if self.try_undo_partial(flow, common, news) {
            return;
        }
        if self.try_undo_by_duplicates(flow, common) {
            self.keep_open(flow);
        }
        self.identify_losses(flow, common, news);
        if self.phase != Phase::Recovery {
            if flow.space.sent.counts().lost == 0 {
                return;
            }
            self.enter_recovery(flow, common, news.now);
        }
        self.repairs = Repairs::Lost;
    }

    fn alert_in_loss(&mut self, flow: &mut Flow, common: &mut Common, news: &mut AckNews) {
        self.process_loss(flow, common, news);
        self.identify_losses(flow, common, news);
        if self.phase == Phase::Open || news.lost_retransmission {
            self.alert_otherwise(flow, common, news);
        }
    }

    fn alert_otherwise(&mut self, flow: &mut Flow, common: &mut Common, news: &mut AckNews) {
        if !common.negotiated.sack {
            if news.advanced {
                self.order.forget_duplicates();
            }
            if news.is_duplicate() {
                self.add_duplicate(flow, common, news);
            }
        }
        if self.phase <= Phase::Disorder {
            self.try_undo_by_duplicates(flow, common);
        }
        self.identify_losses(flow, common, news);
        if flow.space.sent.counts().lost == 0 {
            self.undo.settle(&flow.space.sent);
            if self.phase != Phase::Reduced {
                self.keep_open(flow);
            }
            return;
        }
        self.enter_recovery(flow, common, news.now);
        self.repairs = Repairs::Lost;
    }

    /// Returns to the open or disorder phase: `tcp_try_keep_open`.
    pub(super) fn keep_open(&mut self, flow: &Flow) {
        let sent = &flow.space.sent;
        let counts = sent.counts();
        let doubtful = counts.sacked + self.order.duplicates() + counts.lost > 0;
        let phase = if doubtful || any_retransmission_out(sent) {
            Phase::Disorder
        } else {
            Phase::Open
        };
        if self.phase != phase {
            self.phase = phase;
            self.point = flow.space.next();
        }
    }

    /// Marks lost segments: `tcp_identify_packet_loss`.
    fn identify_losses(&mut self, flow: &mut Flow, common: &mut Common, news: &mut AckNews) {
        if flow.space.sent.is_empty() {
            return;
        }
        let by_time = common.negotiated.sack && common.profile.rack;
        let before = flow.space.sent.counts();
        if by_time {
            if self.find_losses_by_time(flow, common, news.now) {
                news.set_timer = false;
            }
        } else if common.negotiated.sack {
            let size = flow.space.segment_size();
            flow.space.sent.mark_lost(self.order.reordering(), size);
        } else {
            self.identify_loss_by_duplicates(flow, news.advanced);
        }
        let after = flow.space.sent.counts();
        if !by_time {
            self.lost += u64::from(after.lost.saturating_sub(before.lost));
        }
        news.lost_retransmission |= before.resent > after.resent;
    }

    /// Marks the oldest segment lost after enough duplicates or a partial ACK: `tcp_newreno_mark_lost`.
    fn identify_loss_by_duplicates(&mut self, flow: &mut Flow, advanced: bool) {
        let enough = self.order.duplicates() >= self.order.reordering();
        let begins = self.phase < Phase::Recovery && enough;
        let goes_on = self.phase == Phase::Recovery && advanced;
        let waits = flow.space.sent.first().is_some_and(|first| !first.lost);
        if (begins || goes_on) && waits {
            flow.space.sent.mark_first_lost();
        }
    }
}
