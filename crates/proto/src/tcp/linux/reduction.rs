//! The window in fast recovery: proportional rate reduction (RFC 6937). While more is in flight than the new
//! threshold, segments leave in proportion to what is delivered; below it, as in slow start if the recovery makes
//! progress, else one for one ("SSRB" and "CRB" of section 3.1; Linux chooses as RFC 9937 does later).

use super::super::congestion::LossSample;
use super::{Connection, Phase};
use crate::time::Instant;

/// Sums since the reduction began.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reduction {
    /// The window before it, in segments: "RecoverFS".
    from: u32,
    /// "prr_delivered" and "prr_out", in segments.
    delivered: u32,
    sent: u32,
}

impl Reduction {
    pub(super) fn on_sent(&mut self) {
        self.sent += 1;
    }
}

impl Connection {
    /// `tcp_enter_recovery`.
    pub(super) fn enter_recovery(&mut self, now: Instant) {
        self.linux.undo.threshold = None;
        self.begin_undo();
        if !self.is_reducing() {
            self.linux.undo.threshold = Some(self.current_threshold());
            self.begin_reduction(now);
        }
        self.linux.phase = Phase::Recovery;
        self.statistics.fast_retransmits += 1;
    }

    /// `tcp_init_cwnd_reduction`.
    pub(super) fn begin_reduction(&mut self, now: Instant) {
        let window = self.window_segments();
        self.linux.point = self.next;
        self.linux.probe.forget();
        self.linux.undo.window = window;
        self.linux.reduction = Reduction {
            from: window,
            ..Reduction::default()
        };
        let sample = self.linux_loss_sample(now, false);
        self.congestion.on_loss(&sample);
        if self.profile.proportional_rate_reduction {
            self.set_window_segments(window);
        }
    }

    pub(super) fn linux_loss_sample(&self, now: Instant, repeated: bool) -> LossSample {
        LossSample {
            now,
            bytes_in_flight: self.segments_in_flight().saturating_mul(self.segment_size),
            smoothed_rtt: self.rtt.smoothed(),
            repeated,
        }
    }

    /// `tcp_cwnd_reduction`, after an acknowledgment that has shown so many segments delivered and lost.
    pub(super) fn reduce_window(&mut self, delivered: u32, lost: u32, advanced: bool) {
        let rate_based = self.linux.rate.is_some();
        let reduction = &mut self.linux.reduction;
        if rate_based
            || !self.profile.proportional_rate_reduction
            || delivered == 0
            || reduction.from == 0
        {
            return;
        }
        reduction.delivered += delivered;
        let reduction = *reduction;
        let threshold = self.congestion.slow_start_threshold() / self.segment_size;
        let in_flight = self.segments_in_flight();
        let allowed = if in_flight > threshold {
            let share = u64::from(threshold) * u64::from(reduction.delivered);
            (share.div_ceil(u64::from(reduction.from)) as u32).saturating_sub(reduction.sent)
        } else {
            let balance = reduction.delivered.saturating_sub(reduction.sent);
            let slow_start = u32::from(advanced && lost == 0);
            (balance.max(delivered) + slow_start).min(threshold - in_flight)
        };
        // The retransmission that begins a recovery goes whatever comes out.
        let allowed = allowed.max(u32::from(reduction.sent == 0));
        self.set_window_segments(in_flight + allowed);
    }

    /// `tcp_end_cwnd_reduction`: the window is the threshold, unless the reduction was taken back.
    pub(super) fn end_reduction(&mut self) {
        let stands = self.linux.phase == Phase::Reduced || self.linux.undo.marker.is_some();
        self.end_reduction_if(stands);
    }

    /// The same when [`try_undo_recovery`](Self::try_undo_recovery) has opened the phase already.
    pub(super) fn end_reduction_after_recovery(&mut self) {
        self.end_reduction_if(self.linux.undo.marker.is_some());
    }

    fn end_reduction_if(&mut self, stands: bool) {
        let threshold = self.congestion.slow_start_threshold();
        if self.linux.rate.is_none() && stands && threshold < u32::MAX {
            self.congestion.set(threshold, threshold);
        }
    }

    /// `tcp_current_ssthresh`: what a wrong reduction goes back to.
    pub(super) fn current_threshold(&self) -> u32 {
        let threshold = self.congestion.slow_start_threshold();
        if self.is_reducing() {
            return threshold;
        }
        let window = self.window_segments();
        threshold.max((window / 2 + window / 4) * self.segment_size)
    }
}
