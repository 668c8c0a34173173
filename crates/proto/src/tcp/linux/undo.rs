//! Taking back a reduction that was wrong. Every retransmission since it turns out to have been for nothing, by
//! duplicate SACKs (RFC 2883, RFC 3708), or the first acknowledgment echoes a timestamp older than the first
//! retransmission (Eifel, RFC 3522), or F-RTO says so. The response is RFC 4015's idea, with Linux's values: window and
//! threshold at least as before.

use super::acknowledge::AckNews;
use super::{Connection, Phase};
use crate::time::Instant;
use crate::wire::sequence::SequenceNumber;

/// State with which a reduction can be taken back.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undo {
    /// "SND.UNA" when it began; `None` if there is nothing to take back.
    pub(super) marker: Option<u64>,
    /// Retransmissions since, without those that turned out duplicates; `None` before the first.
    retransmissions: Option<u32>,
    /// Window in segments and threshold in bytes before it.
    pub(super) window: u32,
    pub(super) threshold: Option<u32>,
    /// Sending time of the first segment that was sent again; `None` if none is out.
    pub(super) first_retransmission: Option<Instant>,
    /// Segments that the peer has reported as duplicates, from the start.
    reported: u64,
}

/// The clock of timestamps counts milliseconds.
pub(super) fn tick(at: Instant) -> u64 {
    at.as_nanos() / 1_000_000
}

impl Undo {
    /// `tcp_init_undo`.
    fn begin(&mut self, unacknowledged: u64, out: u32) {
        self.marker = Some(unacknowledged);
        self.retransmissions = (out > 0).then_some(out);
    }

    pub(super) fn on_retransmission(&mut self, now: Instant) {
        self.first_retransmission.get_or_insert(now);
        self.retransmissions = Some(self.retransmissions.unwrap_or(0) + 1);
    }

    fn all_were_duplicates(&self) -> bool {
        self.marker.is_some() && self.retransmissions == Some(0)
    }
}

impl Connection {
    pub(super) fn begin_undo(&mut self) {
        let probe = u32::from(self.linux.probe.is_retransmission_out());
        let out = self.sent.counts().resent + probe;
        self.linux.undo.begin(self.unacknowledged, out);
    }

    /// `tcp_check_dsack` and `tcp_dsack_seen`: the first block reports a duplicate if it lies below the
    /// acknowledgment or inside the second (RFC 2883 section 4).
    pub(super) fn read_duplicate_sack(
        &mut self,
        option: &[(SequenceNumber, SequenceNumber)],
        position: u64,
        news: &mut AckNews,
    ) {
        let range = |block: &(SequenceNumber, SequenceNumber)| {
            (self.send_position(block.0), self.send_position(block.1))
        };
        let Some((start, end)) = option.first().map(range) else {
            return;
        };
        let inside = option
            .get(1)
            .map(range)
            .is_some_and(|(from, to)| from <= start && end <= to);
        if !(start < position as i64 || inside) || start >= end {
            return;
        }
        let length = (end - start) as u64;
        if length > self.largest_peer_window {
            return;
        }
        let segments = length.div_ceil(u64::from(self.segment_size));
        news.duplicate_probe =
            segments == 1 && u64::try_from(end).is_ok_and(|end| self.linux.probe.ends_at(end));
        self.linux.undo.reported += segments;
        if self.linux.undo.reported > self.statistics.retransmitted {
            return; // The network has duplicated something.
        }
        if self.linux.reordering_seen && !news.duplicate_probe {
            self.linux.rack.note_duplicate();
        }
        news.duplicate_sack = true;
        news.delivered += segments as u32; // The copy was delivered, too.
        let undo = &mut self.linux.undo;
        if let (Some(marker), Some(count)) = (undo.marker, undo.retransmissions)
            && end > marker as i64
        {
            undo.retransmissions = Some(count.saturating_sub(segments as u32));
        }
    }

    /// `tcp_packet_delayed`: the echo is older than the first retransmission, or there was none. Without SACK it is
    /// forgotten where the phase [holds](Self::holds_without_sack): what is acknowledged then says nothing.
    fn original_was_delayed(&self, news_echo: Option<u32>, now: Instant) -> bool {
        let Some(first) = self.linux.undo.first_retransmission else {
            return self.negotiated.sack || self.unacknowledged < self.linux.point;
        };
        self.echoed_tick(news_echo, now)
            .is_some_and(|echoed| echoed < tick(first))
    }

    /// Returns the reading of our clock that an acknowledgment echoes, in its ticks.
    pub(super) fn echoed_tick(&self, echo: Option<u32>, now: Instant) -> Option<u64> {
        let age = self.since_timestamp(now, echo?)?;
        Some(tick(now).saturating_sub(age.as_nanos() / 1_000_000))
    }

    fn may_undo(&self, news: &AckNews) -> bool {
        let undo = &self.linux.undo;
        self.profile.undo
            && undo.marker.is_some()
            && (undo.retransmissions == Some(0) || self.original_was_delayed(news.echo, news.now))
    }

    /// `tcp_undo_cwnd_reduction`.
    pub(super) fn take_back(&mut self) {
        if let Some(threshold) = self.linux.undo.threshold {
            let window = self.linux.undo.window.saturating_mul(self.segment_size);
            self.congestion.on_undo(window, threshold);
        }
        self.statistics.undone_reductions += 1;
        self.linux.undo.marker = None;
        self.linux.rack.examine_again();
    }

    /// Without SACK, duplicates of what was out still come: the phase holds until more than that is acknowledged.
    fn holds_without_sack(&mut self) -> bool {
        let holds = !self.negotiated.sack && self.unacknowledged == self.linux.point;
        if holds && !self.any_retransmission_out() {
            self.linux.undo.first_retransmission = None;
        }
        holds
    }

    /// All that was out is acknowledged. Returns whether the phase goes on.
    pub(super) fn try_undo_recovery(&mut self, news: &AckNews) -> bool {
        if self.may_undo(news) {
            self.take_back();
        } else {
            self.linux.rack.recovery_was_right();
        }
        if self.holds_without_sack() {
            return true;
        }
        self.linux.phase = Phase::Open;
        false
    }

    /// `tcp_try_undo_dsack`.
    pub(super) fn try_undo_by_duplicates(&mut self) -> bool {
        let wrong = self.profile.undo && self.linux.undo.all_were_duplicates();
        if wrong {
            self.linux.rack.recovery_was_spurious();
            self.take_back();
        }
        wrong
    }

    /// `tcp_try_undo_partial`. Returns whether nothing more is to be marked or sent again for now.
    pub(super) fn try_undo_partial(&mut self, news: &AckNews) -> bool {
        let delayed = self.original_was_delayed(news.echo, news.now);
        if !self.profile.undo || self.linux.undo.marker.is_none() || !delayed {
            return false;
        }
        self.note_reordering(news.prior);
        if self.sent.counts().resent > 0 {
            return true;
        }
        if !self.any_retransmission_out() {
            self.linux.undo.first_retransmission = None;
        }
        self.sent.unmark_lost(false);
        self.take_back();
        self.keep_open();
        false
    }

    /// `tcp_try_undo_loss`. `told_by_frto`: F-RTO has found the timeout spurious.
    pub(super) fn try_undo_loss(&mut self, news: &AckNews, told_by_frto: bool) -> bool {
        if !told_by_frto && !self.may_undo(news) {
            return false;
        }
        // A timeout leaves what it marks on the list by time.
        self.sent.unmark_lost(true);
        self.take_back();
        self.statistics.spurious_timeouts += 1;
        if !self.holds_without_sack() && (told_by_frto || self.negotiated.sack) {
            self.linux.phase = Phase::Open;
        }
        true
    }
}
