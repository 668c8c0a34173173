//! Delivery rate, for congestion controls that use rate samples, and pacing at the rate that they set: Linux's
//! `tcp_rate.c` (draft-cheng-iccrg-delivery-rate-estimation) and the pacing of `tcp_output.c`. Connections with other
//! controls store none of this.

use super::super::congestion::{RatePhase, RateSample};
use super::super::flow::Flow;
use super::super::sent::SentSegment;
use super::acknowledge::AckNews;
use super::bursts::paced_segments;
use super::{LinuxState, Phase};
use crate::rate::DataRate;
use crate::time::{Duration, Instant};
use std::collections::VecDeque;

/// Segments of a connection that leave unpaced.
const UNPACED: u32 = 10;

/// Delivery state when a segment left.
#[derive(Clone, Copy, Debug)]
struct Snapshot {
    start: u64,
    delivered: u64,
    delivered_at: Instant,
    first_sent_at: Instant,
    application_limited: bool,
}

/// The newest segment reported by an ACK.
#[derive(Clone, Copy, Debug)]
struct Newest {
    sent_at: Instant,
    end: u64,
    snapshot: Snapshot,
}

/// Variables of the rate estimate and of pacing.
#[derive(Debug)]
pub(super) struct DeliveryRate {
    /// Snapshots of the segments in flight, by position.
    snapshots: VecDeque<Snapshot>,
    delivered_at: Instant,
    first_sent_at: Instant,
    /// Count of delivered segments until which samples are application-limited.
    limited_until: Option<u64>,
    /// Data written before the application's last write, until it is known whether all of it had been sent by then.
    written_before: Option<u64>,
    newest: Option<Newest>,
    /// Time at which the next burst may leave, the rest of the present one, and the lateness of its start.
    next_burst: Instant,
    burst_left: u32,
    late: Duration,
    sent: u32,
}

impl DeliveryRate {
    pub(super) fn new(now: Instant) -> DeliveryRate {
        DeliveryRate {
            snapshots: VecDeque::new(),
            delivered_at: now,
            first_sent_at: now,
            limited_until: None,
            written_before: None,
            newest: None,
            next_burst: now,
            burst_left: 0,
            late: Duration::ZERO,
            sent: 0,
        }
    }

    /// Takes in the departure of a segment, retransmitted or not; `alone` if nothing else is in flight.
    fn on_sent(&mut self, now: Instant, start: u64, delivered: u64, alone: bool) {
        self.sent = self.sent.saturating_add(1);
        if alone {
            self.first_sent_at = now;
            self.delivered_at = now;
        }
        let snapshot = Snapshot {
            start,
            delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            application_limited: self.limited_until.is_some(),
        };
        match self.snapshots.back() {
            Some(last) if last.start >= start => {
                let index = self.snapshots.partition_point(|held| held.start < start);
                match self.snapshots.get_mut(index) {
                    Some(held) if held.start == start => *held = snapshot,
                    _ => self.snapshots.insert(index, snapshot),
                }
            }
            _ => self.snapshots.push_back(snapshot),
        }
    }

    pub(super) fn next_burst(&self) -> Instant {
        self.next_burst
    }

    /// Takes in a segment that lasts `time` at the pacing rate. A burst that started late, because of a timer or the
    /// window, is credited with the delay, at most half of its own time (`tcp_update_skb_after_send`).
    fn note_burst(&mut self, now: Instant, time: Duration) {
        let forgiven = self.late.min(time.half());
        self.late = self.late.saturating_sub(forgiven);
        self.next_burst = self.next_burst.max(now) + time.saturating_sub(forgiven);
    }

    /// Paces a segment of `length` bytes, unless it is one of the first; `burst` returns the segments of a burst.
    fn pace(&mut self, now: Instant, length: u32, pacing: DataRate, burst: impl FnOnce() -> u32) {
        if self.sent <= UNPACED {
            return;
        }
        if self.burst_left == 0 {
            self.burst_left = burst();
            self.late = now.saturating_since(self.next_burst);
        }
        self.burst_left -= 1;
        let time = pacing.transmission_time(8 * u64::from(length));
        self.note_burst(now, time.unwrap_or(Duration::from_secs(1)));
    }

    /// Returns the time until which pacing holds the next segment, if it does.
    fn held_until(&self, now: Instant) -> Option<Instant> {
        let waits = self.burst_left == 0 && self.next_burst > now;
        waits.then_some(self.next_burst)
    }

    /// Prepares for a write, after `written` bytes so far.
    pub(super) fn before_write(&mut self, written: u64) {
        self.written_before.get_or_insert(written);
    }

    /// Takes in that no more segments may leave: data found waiting at the last write was not all sent. Later segments
    /// belong to another burst.
    pub(super) fn on_stopped(&mut self) {
        self.written_before = None;
        self.burst_left = 0;
    }

    /// Marks samples as application-limited until so many segments are delivered.
    fn limit_until(&mut self, delivered: u64) {
        self.limited_until = Some(delivered.max(1));
    }

    /// Takes in a segment delivered for the first time.
    pub(super) fn on_delivered(&mut self, segment: &SentSegment) {
        let newer = self
            .newest
            .is_none_or(|newest| (segment.sent_at, segment.end()) > (newest.sent_at, newest.end));
        let index = self
            .snapshots
            .partition_point(|held| held.start <= segment.start);
        let held = index.checked_sub(1).and_then(|i| self.snapshots.get(i));
        if let Some(snapshot) = held.filter(|_| newer) {
            self.newest = Some(Newest {
                sent_at: segment.sent_at,
                end: segment.end(),
                snapshot: *snapshot,
            });
        }
    }

    /// Evaluates an ACK from its newest segment. Returns the segments delivered when that one left, the interval since,
    /// and true if the sample is application-limited.
    fn take(&mut self, now: Instant, unacknowledged: u64, delivered: u64, any: bool) -> Interval {
        if self.limited_until.is_some_and(|until| delivered > until) {
            self.limited_until = None;
        }
        if any {
            self.delivered_at = now;
        }
        while self
            .snapshots
            .get(1)
            .is_some_and(|next| next.start <= unacknowledged)
        {
            self.snapshots.pop_front();
        }
        let newest = self.newest.take()?;
        self.first_sent_at = newest.sent_at;
        let sending = newest
            .sent_at
            .saturating_since(newest.snapshot.first_sent_at);
        let receiving = now.saturating_since(newest.snapshot.delivered_at);
        Some((
            newest.snapshot.delivered,
            sending.max(receiving),
            newest.snapshot.application_limited,
        ))
    }
}

type Interval = Option<(u64, Duration, bool)>;

impl LinuxState {
    /// Notes the departure of a segment, retransmitted or not.
    pub(super) fn note_departure(&mut self, flow: &Flow, now: Instant, start: u64, length: u32) {
        let Some(rate) = &mut self.rate else {
            return;
        };
        let sent = &flow.space.sent;
        let alone = sent.len() == 1 && sent.first().is_some_and(|first| !first.retransmitted);
        rate.on_sent(now, start, self.delivered, alone);
        if let Some(pacing) = flow.congestion.pacing_rate() {
            rate.pace(now, length, pacing, || paced_segments(flow, pacing));
        }
    }

    /// Returns true if pacing holds the next segment.
    pub(super) fn is_held_by_pacing(&self, now: Instant) -> bool {
        self.paced_until(now).is_some()
    }

    /// Returns the time until which pacing holds the next segment, if it does.
    pub(super) fn paced_until(&self, now: Instant) -> Option<Instant> {
        self.rate.as_ref()?.held_until(now)
    }

    /// Marks samples as application-limited before new data leaves: if at its last write the application had less than
    /// a segment left to send while the window had room, until all data then in flight is delivered
    /// (`tcp_rate_check_app_limited`). A kernel checks at the write, by an application that wakes up after the
    /// responses to the ACK were sent; here the write comes earlier, and the data that was already waiting leaves
    /// first.
    pub(super) fn check_application_limit(&mut self, flow: &Flow) {
        let Some(before) = self.rate.as_ref().and_then(|rate| rate.written_before) else {
            return;
        };
        let space = &flow.space;
        let written_since = space.buffer.written() - before;
        if space.unsent() >= written_since + u64::from(space.segment_size()) {
            return;
        }
        let counts = space.sent.counts();
        let limited = counts.lost <= counts.resent && self.window_has_room(flow);
        let until = self.delivered + u64::from(self.in_flight(flow));
        if let Some(rate) = &mut self.rate {
            rate.written_before = None;
            if limited {
                rate.limit_until(until);
            }
        }
    }

    /// Passes a rate sample to the control, for every ACK in any phase.
    pub(super) fn tell_rate(
        &mut self,
        flow: &mut Flow,
        news: &AckNews,
        prior_in_flight: u32,
        lost: u32,
    ) {
        let in_flight = self.in_flight(flow);
        let Some(rate) = &mut self.rate else {
            return;
        };
        let unacknowledged = flow.space.unacknowledged();
        let any = news.delivered > 0;
        let interval = rate.take(news.now, unacknowledged, self.delivered, any);
        let shortest = flow.rtt.minimum().unwrap_or(Duration::ZERO);
        let interval = interval.filter(|(_, length, _)| *length >= shortest);
        let sample = RateSample {
            now: news.now,
            delivered: self.delivered,
            lost: self.lost,
            interval: interval.map(|(before, length, _)| (before, length)),
            application_limited: interval.is_some_and(|(_, _, limited)| limited),
            newly_delivered: news.delivered,
            newly_lost: lost,
            prior_in_flight,
            in_flight,
            until_departure: rate.next_burst.saturating_since(news.now),
            rtt: news.latest_rtt,
            smoothed_rtt: flow.rtt.smoothed(),
            phase: match self.phase {
                Phase::Recovery => RatePhase::Recovery,
                Phase::Loss => RatePhase::Loss,
                _ => RatePhase::Open,
            },
        };
        flow.congestion.on_rate_sample(&sample);
        if flow.congestion.holds_back() {
            rate.limit_until(self.delivered + u64::from(in_flight));
        }
    }
}
