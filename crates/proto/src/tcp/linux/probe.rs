//! Tail loss probes (RFC 8985 section 7): when ACKs stop, one segment leaves after two round-trip times, so that the
//! SACK in response shows a loss long before the timeout.

use super::acknowledge::AckNews;
use super::rack::TIMER_MARGIN;
use super::timer::until_timeout;
use super::{Common, Flow, LinuxState, Pending, Phase};
use crate::time::{Duration, Instant};

/// The probe in flight.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Probe {
    /// "TLP.end_seq": "SND.NXT" when the probe was sent.
    point: Option<u64>,
    /// "TLP.is_retrans": true if the probe was a retransmission.
    retransmission: bool,
    /// True if the probe must be sent now.
    due: bool,
}

impl Probe {
    pub(super) fn forget(&mut self) {
        self.point = None;
    }

    pub(super) fn is_due(&self) -> bool {
        self.due
    }

    pub(super) fn take_due(&mut self) -> bool {
        core::mem::take(&mut self.due)
    }

    pub(super) fn is_retransmission_out(&self) -> bool {
        self.point.is_some() && self.retransmission
    }

    pub(super) fn ends_at(&self, end: u64) -> bool {
        self.point == Some(end)
    }
}

impl LinuxState {
    /// Sets the timer after progress: for a probe if one may be sent, otherwise for the timeout (`tcp_set_xmit_timer`).
    pub(super) fn set_timer_after_progress(
        &mut self,
        flow: &Flow,
        common: &mut Common,
        now: Instant,
    ) {
        if !self.schedule_probe(flow, common, now, true) {
            self.timer.rearm(flow, common, now);
        }
    }

    /// Schedules a probe: `tcp_schedule_loss_probe`. `progress`: the timeout would restart now.
    pub(super) fn schedule_probe(
        &mut self,
        flow: &Flow,
        common: &mut Common,
        now: Instant,
        progress: bool,
    ) -> bool {
        let profile = &common.profile;
        let out = flow.space.sent.len();
        let calm = matches!(self.phase, Phase::Open | Phase::Reduced);
        if !profile.tail_loss_probe || !common.negotiated.sack || !calm || out == 0 {
            return false;
        }
        // The ACK of a single segment may be delayed: add the least timeout (Linux; RFC 8985 section 7.2).
        let margin = if out == 1 {
            profile.minimum_rto
        } else {
            TIMER_MARGIN
        };
        let after = match flow.rtt.smoothed() {
            Some(smoothed) => smoothed.saturating_mul(2) + margin,
            None => profile.initial_rto,
        };
        let timeout = if progress {
            flow.rtt.rto()
        } else {
            until_timeout(flow, now)
        };
        let after = if timeout > Duration::ZERO {
            after.min(timeout)
        } else {
            after
        };
        self.timer.set(common, Pending::Probe, now, after);
        true
    }

    /// Takes in the expiry of the probe timer. At most one probe is in flight. New data waits for its pacing as usual
    /// (`tcp_write_xmit`).
    pub(super) fn on_probe_timeout(&mut self, flow: &Flow, common: &mut Common, now: Instant) {
        let sends_new = flow.has_new_data() && flow.space.next_segment_fits();
        let waits = sends_new && self.is_held_by_pacing(now);
        self.probe.due = self.probe.point.is_none() && !waits;
        // If the probe cannot be sent, the timeout takes over.
        self.timer.resume(flow, common, now);
    }

    /// Notes that the probe has left.
    pub(super) fn on_probe_sent(
        &mut self,
        flow: &Flow,
        common: &mut Common,
        now: Instant,
        retransmission: bool,
    ) {
        self.probe = Probe {
            point: Some(flow.space.next()),
            retransmission,
            due: false,
        };
        common.statistics.tail_loss_probes += 1;
        self.timer.forgo();
        self.timer.rearm(flow, common, now);
    }

    /// Evaluates an ACK of the probe: `tcp_process_tlp_ack` (RFC 8985 section 7.4).
    pub(super) fn on_probe_acknowledged(
        &mut self,
        flow: &mut Flow,
        common: &Common,
        news: &AckNews,
    ) {
        let probe = self.probe;
        let Some(point) = probe.point.filter(|point| news.position >= *point) else {
            return;
        };
        if !probe.retransmission || news.duplicate_probe {
            self.probe.forget();
        } else if news.position > point {
            // The retransmitted segment was lost, and nothing else indicates it.
            self.begin_reduction(flow, common, news.now);
            self.phase = Phase::Reduced;
            self.end_reduction(flow);
            self.keep_open(flow);
        } else if !(news.advanced || news.not_duplicate || news.acknowledged || news.sacked) {
            self.probe.forget();
        }
    }
}
