//! The window in fast recovery: proportional rate reduction (RFC 6937). While more is in flight than the new threshold,
//! segments leave in proportion to the delivered ones; below it, as in slow start if the recovery makes progress,
//! otherwise one for one ("SSRB" and "CRB" of section 3.1; Linux chooses as RFC 9937 later does).

use super::super::congestion::LossSample;
use super::{Common, Flow, LinuxState, Phase};
use crate::time::Instant;

/// Sums since the reduction began.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reduction {
    /// "RecoverFS": the window before the reduction, in segments.
    from: u32,
    /// "prr_delivered" and "prr_out", in segments.
    delivered: u32,
    sent: u32,
}

impl Reduction {
    fn begin(window: u32) -> Reduction {
        Reduction {
            from: window,
            ..Reduction::default()
        }
    }

    pub(super) fn on_sent(&mut self) {
        self.sent += 1;
    }

    /// Returns the segments that may leave after so many were delivered; `slow_start` if the recovery makes progress
    /// without further loss.
    fn allow(&mut self, delivered: u32, slow_start: bool, in_flight: u32, threshold: u32) -> u32 {
        self.delivered += delivered;
        let allowed = if in_flight > threshold {
            let share = u64::from(threshold) * u64::from(self.delivered);
            (share.div_ceil(u64::from(self.from)) as u32).saturating_sub(self.sent)
        } else {
            let balance = self.delivered.saturating_sub(self.sent);
            (balance.max(delivered) + u32::from(slow_start)).min(threshold - in_flight)
        };
        // The retransmission that begins a recovery always goes out.
        allowed.max(u32::from(self.sent == 0))
    }
}

impl LinuxState {
    /// Enters fast recovery: `tcp_enter_recovery`.
    pub(super) fn enter_recovery(&mut self, flow: &mut Flow, common: &mut Common, now: Instant) {
        self.undo.forget_threshold();
        self.begin_undo(flow);
        if !self.phase.is_reducing() {
            self.undo.keep_threshold(self.current_threshold(flow));
            self.begin_reduction(flow, common, now);
        }
        self.phase = Phase::Recovery;
        common.statistics.fast_retransmits += 1;
    }

    /// Begins a reduction: `tcp_init_cwnd_reduction`.
    pub(super) fn begin_reduction(&mut self, flow: &mut Flow, common: &Common, now: Instant) {
        let window = flow.window_segments();
        self.point = flow.space.next();
        self.probe.forget();
        self.undo.keep_window(window);
        self.reduction = Reduction::begin(window);
        let sample = self.loss_sample(flow, now, false);
        flow.congestion.on_loss(&sample);
        if common.profile.proportional_rate_reduction {
            flow.set_window_segments(window);
        }
    }

    pub(super) fn loss_sample(&self, flow: &Flow, now: Instant, repeated: bool) -> LossSample {
        let size = flow.space.segment_size();
        LossSample {
            now,
            bytes_in_flight: self.in_flight(flow).saturating_mul(size),
            smoothed_rtt: flow.rtt.smoothed(),
            repeated,
        }
    }

    /// Reduces the window after an ACK with so many segments newly delivered and lost: `tcp_cwnd_reduction`.
    pub(super) fn reduce_window(
        &mut self,
        flow: &mut Flow,
        common: &Common,
        delivered: u32,
        lost: u32,
        advanced: bool,
    ) {
        let proportional = common.profile.proportional_rate_reduction && self.rate.is_none();
        if !proportional || delivered == 0 || self.reduction.from == 0 {
            return;
        }
        let size = flow.space.segment_size();
        let threshold = flow.congestion.slow_start_threshold() / size;
        let in_flight = self.in_flight(flow);
        let slow_start = advanced && lost == 0;
        let allowed = self
            .reduction
            .allow(delivered, slow_start, in_flight, threshold);
        flow.set_window_segments(in_flight + allowed);
    }

    /// Ends a reduction: sets the window to the threshold, unless the reduction was undone (`tcp_end_cwnd_reduction`).
    pub(super) fn end_reduction(&self, flow: &mut Flow) {
        let stands = self.phase == Phase::Reduced || self.undo.is_possible();
        self.end_reduction_if(flow, stands);
    }

    /// Ends a reduction after [`try_undo_recovery`](Self::try_undo_recovery) has already returned to the open phase.
    pub(super) fn end_reduction_after_recovery(&self, flow: &mut Flow) {
        self.end_reduction_if(flow, self.undo.is_possible());
    }

    fn end_reduction_if(&self, flow: &mut Flow, stands: bool) {
        let threshold = flow.congestion.slow_start_threshold();
        if self.rate.is_none() && stands && threshold < u32::MAX {
            flow.congestion.set(threshold, threshold);
        }
    }

    /// Returns the threshold that an undo restores: `tcp_current_ssthresh`.
    pub(super) fn current_threshold(&self, flow: &Flow) -> u32 {
        let threshold = flow.congestion.slow_start_threshold();
        if self.phase.is_reducing() {
            return threshold;
        }
        let window = flow.window_segments();
        threshold.max((window / 2 + window / 4) * flow.space.segment_size())
    }
}
