//! Undoing a spurious reduction. Duplicate SACKs show every retransmission since it to be unnecessary (RFC 2883, RFC
//! 3708), or the first ACK echoes a timestamp older than the first retransmission (Eifel, RFC 3522), or F-RTO finds the
//! timeout spurious. The response follows RFC 4015, with Linux's values: window and threshold at least as before.

use super::super::sent::SentQueue;
use super::acknowledge::AckNews;
use super::{Common, Flow, LinuxState, Phase};
use crate::time::Instant;
use crate::wire::sequence::SequenceNumber;

/// State needed to undo a reduction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undo {
    /// "SND.UNA" at its start; `None` if there is nothing to undo.
    marker: Option<u64>,
    /// Retransmissions since its start, less those reported as duplicates; `None` before the first.
    retransmissions: Option<u32>,
    /// Window in segments and threshold in bytes before the reduction.
    window: u32,
    threshold: Option<u32>,
    /// Sending time of the first retransmission; `None` if none is in flight.
    first_retransmission: Option<Instant>,
    /// Segments that the peer has reported as duplicates, since the start.
    reported: u64,
}

/// Returns a time in ticks of the timestamp clock, milliseconds.
pub(super) fn tick(at: Instant) -> u64 {
    at.as_nanos() / 1_000_000
}

/// Returns the timestamp that an ACK echoes, in ticks of this end's clock.
pub(super) fn echoed_tick(common: &Common, echo: Option<u32>, now: Instant) -> Option<u64> {
    let age = common.clock.since(now, echo?)?;
    Some(tick(now).saturating_sub(age.as_nanos() / 1_000_000))
}

/// Returns true if a retransmission is in flight: `tcp_any_retrans_done`.
pub(super) fn any_retransmission_out(sent: &SentQueue) -> bool {
    sent.counts().resent > 0 || sent.first().is_some_and(|first| first.retransmitted)
}

impl Undo {
    /// Begins to observe a reduction, with `out` retransmissions in flight: `tcp_init_undo`.
    fn begin(&mut self, unacknowledged: u64, out: u32) {
        self.marker = Some(unacknowledged);
        self.retransmissions = (out > 0).then_some(out);
    }

    /// Returns true if there is a reduction to undo.
    pub(super) fn is_possible(&self) -> bool {
        self.marker.is_some()
    }

    pub(super) fn keep_window(&mut self, segments: u32) {
        self.window = segments;
    }

    pub(super) fn keep_threshold(&mut self, bytes: u32) {
        self.threshold = Some(bytes);
    }

    pub(super) fn forget_threshold(&mut self) {
        self.threshold = None;
    }

    pub(super) fn first_retransmission(&self) -> Option<Instant> {
        self.first_retransmission
    }

    pub(super) fn forget_first_retransmission(&mut self) {
        self.first_retransmission = None;
    }

    /// Forgets the first retransmission once none is in flight (`tcp_any_retrans_done`).
    pub(super) fn settle(&mut self, sent: &SentQueue) {
        if !any_retransmission_out(sent) {
            self.first_retransmission = None;
        }
    }

    pub(super) fn on_retransmission(&mut self, now: Instant) {
        self.first_retransmission.get_or_insert(now);
        self.retransmissions = Some(self.retransmissions.unwrap_or(0) + 1);
    }

    /// Takes in a report of so many duplicate segments, up to `end`. Returns false if they exceed the retransmissions
    /// `again`: the network has duplicated a segment.
    fn report(&mut self, segments: u64, again: u64) -> bool {
        self.reported += segments;
        self.reported <= again
    }

    fn take_off(&mut self, segments: u64, end: i64) {
        if let (Some(marker), Some(count)) = (self.marker, self.retransmissions)
            && end > marker as i64
        {
            self.retransmissions = Some(count.saturating_sub(segments as u32));
        }
    }

    fn all_were_duplicates(&self) -> bool {
        self.marker.is_some() && self.retransmissions == Some(0)
    }
}

impl LinuxState {
    pub(super) fn begin_undo(&mut self, flow: &Flow) {
        let probe = u32::from(self.probe.is_retransmission_out());
        let out = flow.space.sent.counts().resent + probe;
        self.undo.begin(flow.space.unacknowledged(), out);
    }

    /// Reads a duplicate SACK: the first block, if it lies below the acknowledgment number or inside the second block
    /// (RFC 2883 section 4; `tcp_check_dsack` and `tcp_dsack_seen`).
    pub(super) fn read_duplicate_sack(
        &mut self,
        flow: &Flow,
        common: &Common,
        option: &[(SequenceNumber, SequenceNumber)],
        news: &mut AckNews,
    ) {
        let space = &flow.space;
        let range = |block: &(SequenceNumber, SequenceNumber)| {
            (space.position(block.0), space.position(block.1))
        };
        let Some((start, end)) = option.first().map(range) else {
            return;
        };
        let inside = option
            .get(1)
            .map(range)
            .is_some_and(|(from, to)| from <= start && end <= to);
        if !(start < news.position as i64 || inside) || start >= end {
            return;
        }
        let length = (end - start) as u64;
        if length > space.largest_window() {
            return;
        }
        let segments = length.div_ceil(u64::from(space.segment_size()));
        news.duplicate_probe =
            segments == 1 && u64::try_from(end).is_ok_and(|end| self.probe.ends_at(end));
        if !self.undo.report(segments, common.statistics.retransmitted) {
            return;
        }
        if self.order.was_reordered() && !news.duplicate_probe {
            self.rack.note_duplicate();
        }
        news.duplicate_sack = true;
        news.delivered += segments as u32; // The retransmission was delivered, too.
        self.undo.take_off(segments, end);
    }

    /// Returns true if the echoed timestamp is older than the first retransmission, or there was none
    /// (`tcp_packet_delayed`). Without SACK this does not apply while the phase [holds](Self::holds_without_sack),
    /// since ACKs then give no information.
    fn original_was_delayed(&self, flow: &Flow, common: &Common, news: &AckNews) -> bool {
        let Some(first) = self.undo.first_retransmission else {
            return common.negotiated.sack || flow.space.unacknowledged() < self.point;
        };
        echoed_tick(common, news.echo, news.now).is_some_and(|echoed| echoed < tick(first))
    }

    fn may_undo(&self, flow: &Flow, common: &Common, news: &AckNews) -> bool {
        common.profile.undo
            && self.undo.is_possible()
            && (self.undo.all_were_duplicates() || self.original_was_delayed(flow, common, news))
    }

    /// Undoes the reduction: `tcp_undo_cwnd_reduction`.
    fn take_back(&mut self, flow: &mut Flow, common: &mut Common) {
        if let Some(threshold) = self.undo.threshold {
            let size = flow.space.segment_size();
            let window = self.undo.window.saturating_mul(size);
            flow.congestion.on_undo(window, threshold);
        }
        common.statistics.undone_reductions += 1;
        self.undo.marker = None;
        self.rack.examine_again();
    }

    /// Returns true if the phase continues: without SACK, duplicate ACKs for the data in flight may still arrive until
    /// more than that is acknowledged.
    fn holds_without_sack(&mut self, flow: &Flow, common: &Common) -> bool {
        let holds = !common.negotiated.sack && flow.space.unacknowledged() == self.point;
        if holds {
            self.undo.settle(&flow.space.sent);
        }
        holds
    }

    /// Undoes a reduction once all data in flight at its start is acknowledged. Returns true if the phase continues.
    pub(super) fn try_undo_recovery(
        &mut self,
        flow: &mut Flow,
        common: &mut Common,
        news: &AckNews,
    ) -> bool {
        if self.may_undo(flow, common, news) {
            self.take_back(flow, common);
        } else {
            self.rack.recovery_was_right();
        }
        if self.holds_without_sack(flow, common) {
            return true;
        }
        self.phase = Phase::Open;
        false
    }

    /// Undoes a reduction after duplicate SACKs: `tcp_try_undo_dsack`.
    pub(super) fn try_undo_by_duplicates(&mut self, flow: &mut Flow, common: &mut Common) -> bool {
        let wrong = common.profile.undo && self.undo.all_were_duplicates();
        if wrong {
            self.rack.recovery_was_spurious();
            self.take_back(flow, common);
        }
        wrong
    }

    /// Undoes a reduction after a partial ACK: `tcp_try_undo_partial`. Returns true if for now nothing more is to be
    /// marked or retransmitted.
    pub(super) fn try_undo_partial(
        &mut self,
        flow: &mut Flow,
        common: &mut Common,
        news: &AckNews,
    ) -> bool {
        let possible = common.profile.undo && self.undo.is_possible();
        if !possible || !self.original_was_delayed(flow, common, news) {
            return false;
        }
        self.note_late(flow, news.prior);
        let sent = &mut flow.space.sent;
        if sent.counts().resent > 0 {
            return true;
        }
        self.undo.settle(sent);
        sent.unmark_lost(false);
        self.take_back(flow, common);
        self.keep_open(flow);
        false
    }

    /// Undoes the loss phase: `tcp_try_undo_loss`. `told_by_frto`: F-RTO has found the timeout spurious.
    pub(super) fn try_undo_loss(
        &mut self,
        flow: &mut Flow,
        common: &mut Common,
        news: &AckNews,
        told_by_frto: bool,
    ) -> bool {
        if !told_by_frto && !self.may_undo(flow, common, news) {
            return false;
        }
        // Segments marked by a timeout stay on the list ordered by time.
        flow.space.sent.unmark_lost(true);
        self.take_back(flow, common);
        common.statistics.spurious_timeouts += 1;
        let holds = self.holds_without_sack(flow, common);
        if !holds && (told_by_frto || common.negotiated.sack) {
            self.phase = Phase::Open;
        }
        true
    }
}
