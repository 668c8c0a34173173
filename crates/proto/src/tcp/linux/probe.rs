//! A probe for the loss of a tail (RFC 8985 section 7): when acknowledgments stop, one segment after two round-trip
//! times, so that the SACK that it brings shows a loss long before the timeout would.

use super::acknowledge::AckNews;
use super::rack::TIMER_MARGIN;
use super::{Connection, Pending, Phase};
use crate::time::{Duration, Instant};

/// The probe that is out.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Probe {
    /// "SND.NXT" when it was sent: "TLP.end_seq".
    point: Option<u64>,
    /// It was data sent before: "TLP.is_retrans".
    retransmission: bool,
    /// It is to be sent now.
    pub(super) due: bool,
}

impl Probe {
    pub(super) fn forget(&mut self) {
        self.point = None;
    }

    pub(super) fn is_retransmission_out(&self) -> bool {
        self.point.is_some() && self.retransmission
    }

    pub(super) fn ends_at(&self, end: u64) -> bool {
        self.point == Some(end)
    }
}

impl Connection {
    /// `tcp_set_xmit_timer`: after progress the timer is a probe's, where one may be sent, else the timeout.
    pub(super) fn set_timer_after_progress(&mut self, now: Instant) {
        if !self.schedule_probe(now, true) {
            self.rearm_timeout(now);
        }
    }

    /// `tcp_schedule_loss_probe`. `progress`: the timeout would start anew now.
    pub(super) fn schedule_probe(&mut self, now: Instant, progress: bool) -> bool {
        let calm = matches!(self.linux.phase, Phase::Open | Phase::Reduced);
        if !self.profile.tail_loss_probe || !self.negotiated.sack || !calm || self.sent.is_empty() {
            return false;
        }
        // A single segment's acknowledgment may be delayed: the least timeout more (Linux; RFC 8985 section 7.2).
        let margin = if self.sent.len() == 1 {
            self.profile.minimum_rto
        } else {
            TIMER_MARGIN
        };
        let after = match self.rtt.smoothed() {
            Some(smoothed) => smoothed.saturating_mul(2) + margin,
            None => self.profile.initial_rto,
        };
        let timeout = if progress {
            self.rtt.rto()
        } else {
            self.until_timeout(now)
        };
        let after = if timeout > Duration::ZERO {
            after.min(timeout)
        } else {
            after
        };
        self.set_pending(Pending::Probe, now, after);
        true
    }

    /// The probe's time has come. One is out at most. New data waits for its pace, as any (`tcp_write_xmit`).
    pub(super) fn on_probe_timeout(&mut self, now: Instant) {
        let sends_new = self.has_new_data() && self.next_segment_fits();
        let waits = sends_new && self.is_held_by_pacing(now);
        self.linux.probe.due = self.linux.probe.point.is_none() && !waits;
        // If it cannot be sent, the timeout stands.
        self.resume_timeout(now);
    }

    /// The probe has left.
    pub(super) fn on_probe_sent(&mut self, now: Instant, retransmission: bool) {
        self.linux.probe = Probe {
            point: Some(self.next),
            retransmission,
            due: false,
        };
        self.statistics.tail_loss_probes += 1;
        self.linux.pending = Pending::Timeout;
        self.rearm_timeout(now);
    }

    /// `tcp_process_tlp_ack`: what the acknowledgment says of the probe (RFC 8985 section 7.4).
    pub(super) fn on_probe_acknowledged(&mut self, position: u64, news: &AckNews) {
        let probe = self.linux.probe;
        let Some(point) = probe.point.filter(|point| position >= *point) else {
            return;
        };
        if !probe.retransmission || news.duplicate_probe {
            self.linux.probe.forget();
        } else if position > point {
            // The segment that was sent again was lost, and nothing else shows it.
            self.begin_reduction(news.now);
            self.linux.phase = Phase::Reduced;
            self.end_reduction();
            self.keep_open();
        } else if !(news.advanced || news.not_duplicate || news.acknowledged || news.sacked) {
            self.linux.probe.forget();
        }
    }
}
