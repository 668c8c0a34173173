//! Loss recovery of the RFCs: ACKs, duplicate ACKs and timeouts, the detection of losses and the response. RFC 5681 and
//! 6582 without SACK, RFC 6675 with it. The choice of the next data is in `transmit.rs`.

mod snack;
mod transmit;

use super::congestion::{AckSample, LossSample};
use super::flow::Flow;
use super::linux::send_buffer::tunes;
use super::profile::{Recovery, RtoArithmetic};
use super::timer::Timer;
use super::{Common, Event, RecoveryPhase};
use crate::time::Instant;

/// State of loss recovery.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RecoveryState {
    phase: Phase,
    /// "recover" (RFC 6582), "RecoveryPoint" (RFC 6675): the position whose ACK ends the phase.
    point: u64,
    /// Position before whose ACK there is no fast retransmit; see [`RecoveryState::is_past_guard`]. Zero is this end's
    /// SYN.
    guard: u64,
    duplicate_acks: u32,
    /// Bytes beyond the gap announced by duplicate ACKs, without SACK: one segment each.
    announced: u64,
    /// Bytes that duplicate ACKs add to the congestion window during fast recovery.
    inflation: u32,
    /// True if the next retransmission goes out whatever the window.
    forced: bool,
    /// Linux 2.0: segments sent again since the timeout, less those acknowledged meanwhile, whichever they are.
    repaired: u32,
    /// True after a partial ACK has restarted the timer (RFC 6582 section 4, "impatient").
    partial_acked: bool,
    /// True after RFC 6675's rescue retransmission in this recovery.
    rescue_sent: bool,
}

/// Phases of loss recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// No known loss.
    #[default]
    Open,
    /// Fast recovery.
    Fast,
    /// Slow start after a timeout, which retransmits the data outstanding then.
    AfterTimeout,
}

/// Contents of an ACK, besides its number.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckContext {
    /// Bytes newly reported by its SACK blocks.
    pub(super) newly_sacked: u64,
    /// True without data and FIN, and with an unchanged window: RFC 5681's conditions for a duplicate ACK.
    pub(super) could_be_duplicate: bool,
    /// Echoed timestamp, with timestamps enabled.
    pub(super) echo: Option<u32>,
}

/// Returns the profile's recovery, or its substitute without SACK.
fn effective_recovery(common: &Common) -> Recovery {
    match common.profile.recovery {
        Recovery::Sack if !common.negotiated.sack => Recovery::NewReno,
        Recovery::Linux20 => Recovery::Reno,
        recovery => recovery,
    }
}

fn is_linux_2_0(common: &Common) -> bool {
    common.profile.recovery == Recovery::Linux20
}

impl RecoveryState {
    pub(super) fn phase(&self) -> RecoveryPhase {
        match self.phase {
            Phase::Open => RecoveryPhase::Open,
            Phase::Fast => RecoveryPhase::Recovery,
            Phase::AfterTimeout => RecoveryPhase::Loss,
        }
    }

    /// Returns the number of bytes that duplicate ACKs add to the congestion window.
    pub(super) fn inflation(&self) -> u32 {
        self.inflation
    }

    pub(super) fn deflate(&mut self) {
        self.inflation = 0;
    }

    /// Ends the tolerance: gaps are losses again.
    pub(super) fn end_tolerance(&mut self) {
        if self.phase == Phase::Open {
            self.inflation = 0;
        }
    }

    /// Sends the next retransmission whatever the window.
    pub(super) fn force(&mut self) {
        self.forced = true;
    }

    /// Marks all data in flight as lost; the congestion window stays.
    pub(super) fn repair_all(&mut self, flow: &Flow) {
        self.repair_after_timeout(flow);
        self.forced = true;
        self.inflation = 0;
        self.duplicate_acks = 0;
    }

    /// Continues repairs until all data in flight now is acknowledged.
    pub(super) fn repair_after_timeout(&mut self, flow: &Flow) {
        self.repaired = 0;
        self.phase = Phase::AfterTimeout;
        self.point = flow.space.next();
    }

    /// Takes in an acceptable ACK up to `position`, which is not old.
    pub(super) fn on_acknowledgment(
        &mut self,
        flow: &mut Flow,
        common: &mut Common,
        now: Instant,
        position: u64,
        context: AckContext,
    ) {
        if position > flow.space.unacknowledged() {
            self.on_new_acknowledgment(flow, common, now, position, context);
        } else if !flow.space.sent.is_empty() {
            let duplicate = if common.negotiated.sack {
                context.newly_sacked > 0
            } else {
                context.could_be_duplicate && flow.space.window() > 0
            };
            if duplicate && flow.tolerates_reordering() {
                self.on_tolerated_duplicate(flow, common, now);
            } else if duplicate {
                self.on_duplicate_acknowledgment(flow, common, now);
            }
            // Probes of a closed window have a timer of their own.
            if is_linux_2_0(common) && !flow.space.first_is_probe() {
                self.restart_timer(flow, common, now);
            }
        }
    }

    fn on_new_acknowledgment(
        &mut self,
        flow: &mut Flow,
        common: &mut Common,
        now: Instant,
        position: u64,
        context: AckContext,
    ) {
        let flight = flow.in_flight();
        let repairing = is_linux_2_0(common) && self.phase == Phase::AfterTimeout;
        let every_segment = common.profile.rto_arithmetic == RtoArithmetic::Linux20;
        let window_segments = flow.window_segments();
        let timed_since = flow.orders.timed_since();
        let before = flow.space.unacknowledged();
        let mut timed = Vec::new();
        let rtt = &flow.rtt;
        let gone = flow.space.acknowledge(position, |segment| {
            let counts = timed_since.is_none_or(|since| since <= segment.sent_at);
            self.repaired = self.repaired.saturating_sub(1);
            if every_segment && !repairing && !segment.retransmitted && counts {
                timed.push(rtt.measure(segment.sent_at, now));
            }
        });
        self.announced = self.announced.saturating_sub(position - before);
        if !tunes(&common.profile) {
            flow.offer_room(common);
        }
        flow.patience.on_answer();

        let sample = match context.echo {
            // RFC 7323 section 4.1: the echo distinguishes original and retransmission.
            Some(echo) if echo != 0 => common.clock.since(now, echo),
            _ if gone.retransmitted || repairing => None,
            _ => gone.oldest_sent_at.map(|sent| flow.rtt.measure(sent, now)),
        };
        let sample = sample.filter(|rtt| timed_since.is_none_or(|since| since + *rtt <= now));
        if let Some(sample) = sample
            && !every_segment
            && flow.rtt.ends_timing(position, flow.space.next())
        {
            flow.rtt.sample(sample, window_segments);
            common.statistics.rtt_samples += 1;
        }

        flow.tell_feedback(now, sample, self.bytes_delivered(flow), flight);
        let acknowledged = (position - before) as u32;
        if self.after_progress(flow, common, acknowledged) {
            let limited = self.is_window_limited(flow, common, flight);
            flow.congestion.on_acknowledged(&AckSample {
                now,
                acknowledged_bytes: acknowledged,
                rtt: sample,
                smoothed_rtt: flow.rtt.smoothed(),
                minimum_rtt: flow.rtt.minimum(),
                bytes_in_flight: flight,
                window_limited: limited,
            });
        }
        // Linux 2.0 computes the timeout with the window that this ACK has left.
        let window_segments = flow.window_segments();
        common.statistics.rtt_samples += timed.len() as u64;
        for sample in timed {
            flow.rtt.sample(sample, window_segments);
        }
        self.restart_timer(flow, common, now);
        self.forced |= repairing && self.phase == Phase::AfterTimeout;
    }

    /// Returns true if the congestion window limited the sender, with so many bytes in flight.
    fn is_window_limited(&self, flow: &Flow, common: &Common, flight: u32) -> bool {
        let window = u64::from(flow.congestion.window());
        common.profile.threshold_from_window
            || u64::from(flight) + u64::from(flow.space.segment_size()) > window
            // Data that waits for the bucket will fill the window: half suffices, as in Linux's slow start.
            || common.profile.rate_limit.is_some() && 2 * u64::from(flight) > window
            || self.phase == Phase::AfterTimeout
    }

    /// Returns the data known to be delivered, in bytes since the start of the connection.
    fn bytes_delivered(&self, flow: &Flow) -> u64 {
        flow.space.unacknowledged() + flow.space.sent.sacked() + self.announced
    }

    /// Changes the phase after "SND.UNA" has advanced; returns true if the congestion window grows.
    fn after_progress(&mut self, flow: &mut Flow, common: &Common, acknowledged: u32) -> bool {
        let complete = flow.space.unacknowledged() >= self.point;
        match self.phase {
            Phase::Open => {
                self.duplicate_acks = 0;
                // Inflation by tolerated reordering, whose gap this ACK closes in part.
                self.inflation = 0;
                let reordered = flow.tolerates_reordering();
                if common.negotiated.sack && flow.space.sent.sacked() > 0 && !reordered {
                    mark_lost_by_sack(flow, common);
                }
                true
            }
            Phase::AfterTimeout => {
                if complete {
                    self.phase = Phase::Open;
                }
                true
            }
            Phase::Fast if complete || effective_recovery(common) == Recovery::Reno => {
                self.phase = Phase::Open;
                self.inflation = 0;
                self.duplicate_acks = 0;
                false
            }
            Phase::Fast => {
                self.on_partial_acknowledgment(flow, common, acknowledged);
                false
            }
        }
    }

    fn on_partial_acknowledgment(&mut self, flow: &mut Flow, common: &Common, acknowledged: u32) {
        if effective_recovery(common) == Recovery::Sack {
            mark_lost_by_sack(flow, common);
            return;
        }
        // RFC 6582 section 3.2, step 3: retransmit the first unacknowledged segment; deflate by the
        // acknowledged bytes, and add back one segment if they were at least that.
        let snacked = common.negotiated.snack_unit.is_some();
        let first = flow.space.sent.first();
        if !(snacked && first.is_some_and(|first| first.resent)) {
            flow.space.sent.mark_first_lost();
            self.forced = true;
        }
        if common.negotiated.sack {
            return;
        }
        let size = flow.space.segment_size();
        let deflated = self.inflation.saturating_sub(acknowledged);
        self.inflation = if acknowledged >= size {
            deflated + size
        } else {
            deflated
        };
    }

    /// Inflates the window after a segment has left the network (RFC 5681 section 3.2, step 4).
    fn inflate(&mut self, flow: &Flow) {
        let inflated = self.inflation + flow.space.segment_size();
        self.inflation = inflated.min(flow.in_flight());
    }

    /// Takes in a duplicate ACK under tolerated reordering: a segment has left the network, and the window grows as for
    /// an ACK (study S, Table 2: "a congestion avoidance phase is performed").
    fn on_tolerated_duplicate(&mut self, flow: &mut Flow, common: &Common, now: Instant) {
        if !common.negotiated.sack {
            self.inflate(flow);
        }
        let flight = flow.in_flight();
        flow.congestion.on_acknowledged(&AckSample {
            now,
            acknowledged_bytes: flow.space.segment_size(),
            rtt: None,
            smoothed_rtt: flow.rtt.smoothed(),
            minimum_rtt: flow.rtt.minimum(),
            bytes_in_flight: flight,
            window_limited: true,
        });
    }

    fn on_duplicate_acknowledgment(&mut self, flow: &mut Flow, common: &mut Common, now: Instant) {
        common.statistics.duplicate_acks_received += 1;
        let flight = flow.in_flight();
        if !common.negotiated.sack {
            let told = self.announced + u64::from(flow.space.segment_size());
            self.announced = told.min(u64::from(flight));
        }
        flow.tell_feedback(now, None, self.bytes_delivered(flow), flight);
        let Some(threshold) = common.profile.duplicate_ack_threshold else {
            return;
        };
        match self.phase {
            Phase::Fast if effective_recovery(common) == Recovery::Sack => {
                mark_lost_by_sack(flow, common);
            }
            // SACKed data has left the "pipe": inflation would let out a second segment for each.
            Phase::Fast if common.negotiated.sack => {}
            Phase::Fast => self.inflate(flow),
            // Linux 2.0 expects no three duplicates from a smaller window.
            Phase::Open if is_linux_2_0(common) && flow.window_segments() < 3 => {}
            Phase::Open if self.is_past_guard(flow, common) => {
                self.duplicate_acks += 1;
                let lost = common.negotiated.sack && mark_lost_by_sack(flow, common);
                if self.duplicate_acks >= threshold || lost {
                    self.enter_fast_recovery(flow, common, now, threshold);
                }
            }
            Phase::Open | Phase::AfterTimeout => {}
        }
    }

    /// Returns true if duplicate ACKs count. After a timeout they may come from segments sent twice. Without SACK they
    /// count again once more than the data outstanding then is acknowledged (RFC 6582 section 3.2 step 1; Linux 2.0
    /// compares with its "high_seq" likewise, the reason why T2 shows 18 duplicate ACKs and no fast retransmit); with
    /// SACK, once all of that data is (RFC 6675 section 5.1).
    fn is_past_guard(&self, flow: &Flow, common: &Common) -> bool {
        if common.negotiated.sack {
            flow.space.unacknowledged() >= self.guard
        } else {
            flow.space.unacknowledged() > self.guard
        }
    }

    fn enter_fast_recovery(
        &mut self,
        flow: &mut Flow,
        common: &mut Common,
        now: Instant,
        threshold: u32,
    ) {
        let sample = loss_sample(flow, common, now, false);
        flow.congestion.on_loss(&sample);
        common.statistics.fast_retransmits += 1;
        flow.space.sent.mark_first_lost();
        self.phase = Phase::Fast;
        self.point = flow.space.next();
        self.forced = true;
        self.partial_acked = false;
        self.rescue_sent = false;
        if effective_recovery(common) != Recovery::Reno {
            self.guard = flow.space.next();
        }
        if !common.negotiated.sack {
            // Linux 2.0 counts the ACK before the duplicates, too.
            let segments = threshold.saturating_add(u32::from(is_linux_2_0(common)));
            self.inflation = segments.saturating_mul(flow.space.segment_size());
        }
        let rto = flow.rtt.rto();
        common.timers.set_after(Timer::Retransmission, now, rto);
    }

    /// Takes in an expiry of the retransmission timer with data in flight. Returns the event that ends the connection,
    /// if any.
    pub(super) fn on_timeout(
        &mut self,
        flow: &mut Flow,
        common: &mut Common,
        now: Instant,
    ) -> Option<Event> {
        flow.space.sent.first()?;
        if flow.patience.retries() >= common.profile.data_retries {
            return Some(Event::TimedOut);
        }
        flow.patience.on_timeout();
        flow.patience.on_retry();
        self.forced = true;
        if flow.space.first_is_probe() {
            flow.patience.double_persist();
            common.statistics.window_probes += 1;
            flow.space.sent.mark_first_lost();
            let after = flow.rtt.timeout(flow.patience.persist_backoff());
            common.timers.set_after(Timer::Retransmission, now, after);
            return None;
        }
        common.statistics.timeouts += 1;
        let repeated = flow.patience.timeouts_in_row() > 1;
        let sample = loss_sample(flow, common, now, repeated);
        flow.reduce_after_timeout(&sample);
        flow.rtt.back_off();
        flow.space.sent.mark_all_lost();
        self.repair_after_timeout(flow);
        self.guard = flow.space.next();
        self.inflation = 0;
        self.duplicate_acks = 0;
        let rto = flow.rtt.rto();
        common.timers.set_after(Timer::Retransmission, now, rto);
        None
    }

    /// Restarts the timer after an ACK of new data (RFC 6298 section 5.2 and 5.3).
    pub(super) fn restart_timer(&mut self, flow: &Flow, common: &mut Common, now: Instant) {
        let Some(first) = flow.space.sent.first() else {
            common.timers.stop(Timer::Retransmission);
            return;
        };
        let partial = self.phase == Phase::Fast && effective_recovery(common) == Recovery::NewReno;
        if partial && self.partial_acked {
            return;
        }
        self.partial_acked = partial;
        let rto = flow.rtt.rto();
        if is_linux_2_0(common) {
            // If that time has passed: two ticks, whatever is sent again meanwhile.
            let due = first.sent_at + rto;
            let after = match due < now {
                true => common.profile.tick.saturating_mul(2),
                false => due.saturating_since(now),
            };
            common.timers.set_after(Timer::Retransmission, now, after);
        } else {
            common.timers.set_after(Timer::Retransmission, now, rto);
        }
    }
}

fn mark_lost_by_sack(flow: &mut Flow, common: &Common) -> bool {
    match common.profile.duplicate_ack_threshold {
        Some(threshold) => {
            let size = flow.space.segment_size();
            flow.space.sent.mark_lost(threshold, size)
        }
        None => false,
    }
}

fn loss_sample(flow: &Flow, common: &Common, now: Instant, repeated: bool) -> LossSample {
    let window = flow.congestion.window();
    let from_window = common.profile.threshold_from_window;
    LossSample {
        now,
        bytes_in_flight: if from_window {
            window
        } else {
            // Data sent beyond the window by limited transmit or inflation does not count (RFC 5681 section 3.2, step
            // 2): otherwise the threshold of Reno, which leaves recovery at the first partial ACK, would grow from loss
            // to loss.
            flow.in_flight().min(window)
        },
        smoothed_rtt: flow.rtt.smoothed(),
        repeated: repeated && !from_window,
    }
}
