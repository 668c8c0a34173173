//! Acknowledgments, duplicate acknowledgments and timeouts: how losses are found and what is done then.
//! RFC 5681 and 6582 without SACK, RFC 6675 with it.

use super::congestion::{AckSample, FeedbackSample, LossSample};
use super::profile::{Recovery, RtoArithmetic};
use super::timer::Timer;
use super::{Connection, Event, State};
use crate::time::{Duration, Instant};

/// State of loss recovery.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RecoveryState {
    pub(super) phase: Phase,
    /// "recover" (RFC 6582), "RecoveryPoint" (RFC 6675): the phase ends when this is acknowledged.
    pub(super) point: u64,
    /// No fast retransmit before this is acknowledged; see [`Connection::is_past_guard`]. Zero is our SYN.
    guard: u64,
    pub(super) duplicate_acks: u32,
    /// Bytes beyond the gap of which duplicates have told, without SACK: one segment each.
    announced: u64,
    /// Bytes that duplicate acknowledgments add to the congestion window during fast recovery.
    pub(super) inflation: u32,
    /// The next retransmission goes out whatever the window says.
    pub(super) forced: bool,
    /// A partial acknowledgment has restarted the timer already (RFC 6582 section 4, "impatient").
    partial_acked: bool,
    /// RFC 6675's rescue retransmission of this recovery was sent.
    pub(super) rescue_sent: bool,
    /// Timeouts without any progress.
    pub(super) timeouts_in_row: u32,
    /// Timeouts among them since timing has begun anew, of which there are not to be too many.
    pub(super) retries: u32,
}

/// Phases of loss recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    /// No loss is known.
    #[default]
    Open,
    /// Fast recovery.
    Fast,
    /// A timeout; what was outstanding then is sent again in slow start.
    AfterTimeout,
}

/// Contents of a header's acknowledgment, besides the number.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckContext {
    /// Bytes that its SACK blocks report for the first time.
    pub(super) newly_sacked: u64,
    /// No data, no FIN, and the window as before: what RFC 5681 asks of a duplicate acknowledgment.
    pub(super) could_be_duplicate: bool,
    /// The echo of our timestamp, where timestamps are on.
    pub(super) echo: Option<u32>,
}

impl Connection {
    /// An acceptable acknowledgment up to `position`, which is not old.
    pub(super) fn on_acknowledgment(&mut self, now: Instant, position: u64, context: AckContext) {
        if position > self.unacknowledged {
            self.on_new_acknowledgment(now, position, context);
        } else if !self.sent.is_empty() {
            let duplicate = if self.negotiated.sack {
                context.newly_sacked > 0
            } else {
                context.could_be_duplicate && self.peer_window > 0
            };
            if duplicate && self.tolerates_reordering() {
                self.on_tolerated_duplicate(now);
            } else if duplicate {
                self.on_duplicate_acknowledgment(now);
            }
        }
    }

    fn on_new_acknowledgment(&mut self, now: Instant, position: u64, context: AckContext) {
        let flight = self.bytes_in_flight();
        let repairing =
            self.profile.repair_before_new_data && self.recovery.phase == Phase::AfterTimeout;
        let every_segment = self.profile.rto_arithmetic == RtoArithmetic::Linux20;
        let window_segments = (self.congestion.window() / self.segment_size).max(1);
        let timed_since = self.timed_since();
        let (rtt, statistics) = (&mut self.rtt, &mut self.statistics);
        let acknowledged = self.sent.acknowledge(position, |segment| {
            let counts = timed_since.is_none_or(|since| since <= segment.sent_at);
            if every_segment && !repairing && !segment.retransmitted && counts {
                rtt.sample(rtt.measure(segment.sent_at, now), window_segments);
                statistics.rtt_samples += 1;
            }
        });
        let before = self.unacknowledged;
        self.unacknowledged = position;
        self.recovery.announced = self.recovery.announced.saturating_sub(position - before);
        self.release_acknowledged();
        (self.recovery.timeouts_in_row, self.recovery.retries) = (0, 0);

        let sample = match context.echo {
            // RFC 7323 section 4.1: an echo tells original from retransmission.
            Some(echo) if echo != 0 => self.since_timestamp(now, echo),
            _ if acknowledged.retransmitted || repairing => None,
            _ => acknowledged
                .oldest_sent_at
                .map(|sent| self.rtt.measure(sent, now)),
        };
        let sample = sample.filter(|rtt| timed_since.is_none_or(|since| since + *rtt <= now));
        if let Some(sample) = sample
            && !every_segment
            && self.rtt.ends_timing(position, self.next)
        {
            self.rtt.sample(sample, window_segments);
            self.statistics.rtt_samples += 1;
        }

        self.tell_feedback(now, sample, self.bytes_delivered(), flight);
        let grows = self.after_progress((position - before) as u32);
        if grows {
            let window = u64::from(self.congestion.window());
            self.congestion.on_acknowledged(&AckSample {
                now,
                acknowledged_bytes: (position - before) as u32,
                rtt: sample,
                smoothed_rtt: self.rtt.smoothed(),
                minimum_rtt: self.rtt.minimum(),
                bytes_in_flight: flight,
                window_limited: self.profile.threshold_from_window
                    || u64::from(flight) + u64::from(self.segment_size) > window
                    // What waits for the bucket will fill it: half is enough, as for Linux in slow start.
                    || self.profile.rate_limit.is_some() && 2 * u64::from(flight) > window
                    || self.recovery.phase == Phase::AfterTimeout,
            });
        }
        self.restart_retransmission_timer(now);
    }

    /// Returns the data that the peer is known to have, in bytes from the start of the connection.
    fn bytes_delivered(&self) -> u64 {
        self.unacknowledged + self.sent.sacked() + self.recovery.announced
    }

    /// The congestion control hears of an acknowledgment. `flight` in bytes, before it.
    pub(super) fn tell_feedback(
        &mut self,
        now: Instant,
        rtt: Option<Duration>,
        delivered: u64,
        flight: u32,
    ) {
        self.congestion.on_feedback(&FeedbackSample {
            now,
            rtt,
            smoothed_rtt: self.rtt.smoothed(),
            acknowledged_to: self.unacknowledged,
            sent_to: self.next,
            delivered,
            bytes_in_flight: flight,
        });
    }

    /// Moves between the phases after `position` has advanced; returns whether the congestion window grows.
    fn after_progress(&mut self, acknowledged: u32) -> bool {
        let complete = self.unacknowledged >= self.recovery.point;
        match self.recovery.phase {
            Phase::Open => {
                self.recovery.duplicate_acks = 0;
                // Of tolerated reordering, whose gap this closes in part.
                self.recovery.inflation = 0;
                let reordered = self.tolerates_reordering();
                if self.negotiated.sack && self.sent.sacked() > 0 && !reordered {
                    self.mark_lost_by_sack();
                }
                true
            }
            Phase::AfterTimeout => {
                if complete {
                    self.recovery.phase = Phase::Open;
                }
                true
            }
            Phase::Fast if complete || self.effective_recovery() == Recovery::Reno => {
                self.recovery.phase = Phase::Open;
                self.recovery.inflation = 0;
                self.recovery.duplicate_acks = 0;
                false
            }
            Phase::Fast => {
                self.on_partial_acknowledgment(acknowledged);
                false
            }
        }
    }

    fn on_partial_acknowledgment(&mut self, acknowledged: u32) {
        if self.effective_recovery() == Recovery::Sack {
            self.mark_lost_by_sack();
            return;
        }
        // RFC 6582 section 3.2, step 3: retransmit the first unacknowledged segment; deflate by what was
        // acknowledged, and add back one segment if it was at least that.
        let snacked = self.negotiated.snack_unit.is_some();
        if !(snacked && self.sent.first().is_some_and(|first| first.resent)) {
            self.sent.mark_first_lost();
            self.recovery.forced = true;
        }
        if self.negotiated.sack {
            return;
        }
        let deflated = self.recovery.inflation.saturating_sub(acknowledged);
        self.recovery.inflation = if acknowledged >= self.segment_size {
            deflated + self.segment_size
        } else {
            deflated
        };
    }

    fn mark_lost_by_sack(&mut self) -> bool {
        match self.profile.duplicate_ack_threshold {
            Some(threshold) => self.sent.mark_lost(threshold, self.segment_size),
            None => false,
        }
    }

    /// A segment has overtaken others: it has left the network, and the window grows as for an acknowledgment (study S, Table 2:
    /// "a congestion avoidance phase is performed").
    fn on_tolerated_duplicate(&mut self, now: Instant) {
        if !self.negotiated.sack {
            let flight = self.bytes_in_flight();
            self.recovery.inflation = (self.recovery.inflation + self.segment_size).min(flight);
        }
        self.congestion.on_acknowledged(&AckSample {
            now,
            acknowledged_bytes: self.segment_size,
            rtt: None,
            smoothed_rtt: self.rtt.smoothed(),
            minimum_rtt: self.rtt.minimum(),
            bytes_in_flight: self.bytes_in_flight(),
            window_limited: true,
        });
    }

    fn on_duplicate_acknowledgment(&mut self, now: Instant) {
        self.statistics.duplicate_acks_received += 1;
        let flight = self.bytes_in_flight();
        if !self.negotiated.sack {
            let told = self.recovery.announced + u64::from(self.segment_size);
            self.recovery.announced = told.min(u64::from(flight));
        }
        self.tell_feedback(now, None, self.bytes_delivered(), flight);
        let Some(threshold) = self.profile.duplicate_ack_threshold else {
            return;
        };
        match self.recovery.phase {
            Phase::Fast if self.effective_recovery() == Recovery::Sack => {
                self.mark_lost_by_sack();
            }
            // Data reported by SACK has left the "pipe": counted again, it would let out two segments for each.
            Phase::Fast if self.negotiated.sack => {}
            // RFC 5681 section 3.2, step 4: a segment has left the network.
            Phase::Fast => {
                let flight = self.bytes_in_flight();
                self.recovery.inflation = (self.recovery.inflation + self.segment_size).min(flight);
            }
            Phase::Open if self.is_past_guard() => {
                self.recovery.duplicate_acks += 1;
                let lost = self.negotiated.sack && self.mark_lost_by_sack();
                if self.recovery.duplicate_acks >= threshold || lost {
                    self.enter_fast_recovery(now, threshold);
                }
            }
            Phase::Open | Phase::AfterTimeout => {}
        }
    }

    /// After a timeout, duplicate acknowledgments may come from segments sent twice. Without SACK they count
    /// once more than what was outstanding is acknowledged (RFC 6582 section 3.2 step 1; Linux 2.0 compares with
    /// its "high_seq" the same way, which is why T2 sees 18 duplicates and no fast retransmit); with SACK,
    /// once all of that is (RFC 6675 section 5.1).
    pub(super) fn is_past_guard(&self) -> bool {
        if self.negotiated.sack {
            self.unacknowledged >= self.recovery.guard
        } else {
            self.unacknowledged > self.recovery.guard
        }
    }

    /// The profile's recovery, or what is left of it without SACK.
    pub(super) fn effective_recovery(&self) -> Recovery {
        match self.profile.recovery {
            Recovery::Sack if !self.negotiated.sack => Recovery::NewReno,
            recovery => recovery,
        }
    }

    fn loss_sample(&self, now: Instant, repeated: bool) -> LossSample {
        LossSample {
            now,
            bytes_in_flight: if self.profile.threshold_from_window {
                self.congestion.window()
            } else {
                // Data that limited transmit or an inflated window has sent beyond the window does not count (RFC 5681
                // section 3.2, step 2): else the threshold of Reno, which leaves recovery at the first partial
                // acknowledgment, would grow from loss to loss.
                self.bytes_in_flight().min(self.congestion.window())
            },
            smoothed_rtt: self.rtt.smoothed(),
            repeated: repeated && !self.profile.threshold_from_window,
        }
    }

    pub(super) fn enter_fast_recovery(&mut self, now: Instant, threshold: u32) {
        let sample = self.loss_sample(now, false);
        self.congestion.on_loss(&sample);
        self.statistics.fast_retransmits += 1;
        self.sent.mark_first_lost();
        let recovery = self.effective_recovery();
        let state = &mut self.recovery;
        state.phase = Phase::Fast;
        state.point = self.next;
        state.forced = true;
        state.partial_acked = false;
        state.rescue_sent = false;
        if recovery != Recovery::Reno {
            state.guard = self.next;
        }
        if !self.negotiated.sack {
            state.inflation = threshold.saturating_mul(self.segment_size);
        }
        let rto = self.rtt.rto();
        self.set_timer(Timer::Retransmission, now, rto);
    }

    /// The retransmission timer went off.
    pub(super) fn on_retransmission_timeout(&mut self, now: Instant) {
        let only_syn = self.is_half_synchronized() && self.sent.is_empty();
        if matches!(self.state, State::SynSent | State::SynReceived) || only_syn {
            return self.on_syn_timeout();
        }
        if self.ignores_timeout() {
            return;
        }
        let Some(first) = self.sent.first().copied() else {
            return;
        };
        if self.recovers_as_linux() {
            return self.on_linux_timer(now);
        }
        let due = first.sent_at + self.rtt.rto();
        if self.profile.timer_from_transmission && due > now {
            return self.set_timer(Timer::Retransmission, now, due.saturating_since(now));
        }
        if self.recovery.retries >= self.profile.data_retries {
            return self.end(Event::TimedOut);
        }
        self.recovery.timeouts_in_row += 1;
        self.recovery.retries += 1;
        self.recovery.forced = true;
        if self.is_window_probe(first.start) {
            self.persist_backoff += 1;
            self.statistics.window_probes += 1;
            self.sent.mark_first_lost();
            let after = self.rtt.timeout(self.persist_backoff);
            self.set_timer(Timer::Retransmission, now, after);
            return;
        }
        self.statistics.timeouts += 1;
        let sample = self.loss_sample(now, self.recovery.timeouts_in_row > 1);
        self.reduce_after_timeout(&sample);
        self.rtt.back_off();
        self.sent.mark_all_lost();
        self.recovery.phase = Phase::AfterTimeout;
        self.recovery.point = self.next;
        self.recovery.guard = self.next;
        self.recovery.inflation = 0;
        self.recovery.duplicate_acks = 0;
        let rto = self.rtt.rto();
        self.set_timer(Timer::Retransmission, now, rto);
    }

    /// Tells the congestion control of a timeout; a remedy may have asked for the threshold to stay at the window.
    pub(super) fn reduce_after_timeout(&mut self, sample: &LossSample) {
        let before = self.congestion.window();
        self.congestion.on_timeout(sample);
        if self.forgives_timeout() {
            let window = self.congestion.window();
            self.congestion.set(window, before);
        }
    }

    /// The window has stopped us for so long that it is to be probed.
    pub(super) fn on_persist_timeout(&mut self, now: Instant) {
        if self.recovers_as_linux() {
            return self.on_linux_persist_timeout(now);
        }
        self.persist_backoff += 1;
        self.probe_due = true;
    }

    fn on_syn_timeout(&mut self) {
        self.statistics.timeouts += 1;
        let (retries, linear) = match self.state {
            State::SynSent => (self.profile.syn_retries, self.profile.syn_linear_timeouts),
            _ => (self.profile.syn_ack_retries, 0),
        };
        if self.syn_transmissions > retries + linear {
            return self.end(Event::TimedOut);
        }
        if self.syn_transmissions > linear {
            self.rtt.back_off();
        }
        self.syn_due = true;
    }

    /// Returns true if the segment at `position` lies beyond the peer's window: a probe of it, without meaning for the
    /// congestion of the path.
    pub(super) fn is_window_probe(&self, position: u64) -> bool {
        position >= self.unacknowledged + self.peer_window
    }

    /// RFC 6298 section 5.2 and 5.3, after an acknowledgment of new data.
    fn restart_retransmission_timer(&mut self, now: Instant) {
        let Some(first) = self.sent.first().copied() else {
            self.timers.stop(Timer::Retransmission);
            return;
        };
        let partial =
            self.recovery.phase == Phase::Fast && self.effective_recovery() == Recovery::NewReno;
        if partial && self.recovery.partial_acked {
            return;
        }
        self.recovery.partial_acked = partial;
        let rto = self.rtt.rto();
        if self.profile.timer_from_transmission {
            // If that is past already: two ticks, for this acknowledgment's retransmissions to go first.
            let left = (first.sent_at + rto).saturating_since(now);
            let shortest = self.profile.tick.saturating_mul(2);
            self.set_timer(Timer::Retransmission, now, left.max(shortest));
        } else {
            self.set_timer(Timer::Retransmission, now, rto);
        }
    }
}
