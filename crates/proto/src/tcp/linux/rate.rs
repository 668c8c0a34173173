//! Rate of delivery, for congestion controls that go by a rate, and pacing at the rate that they set: Linux's
//! `tcp_rate.c` (draft-cheng-iccrg-delivery-rate-estimation) and the pacing of `tcp_output.c`. Connections with other
//! controls keep none of it.

use super::super::congestion::{RatePhase, RateSample};
use super::super::sent::SentSegment;
use super::super::timer::Timer;
use super::acknowledge::AckNews;
use super::{Connection, Phase};
use crate::time::{Duration, Instant};
use std::collections::VecDeque;

/// Segments of a connection that leave unpaced.
const UNPACED: u32 = 10;

/// State of the deliveries when a segment left.
#[derive(Clone, Copy, Debug)]
struct Snapshot {
    start: u64,
    delivered: u64,
    delivered_at: Instant,
    first_sent_at: Instant,
    application_limited: bool,
}

/// The newest segment that an acknowledgment reports.
#[derive(Clone, Copy, Debug)]
struct Newest {
    sent_at: Instant,
    end: u64,
    snapshot: Snapshot,
}

/// The estimate's variables, and the pacing's.
#[derive(Debug)]
pub(super) struct DeliveryRate {
    /// Segments out, by their positions.
    snapshots: VecDeque<Snapshot>,
    delivered_at: Instant,
    first_sent_at: Instant,
    /// The application had nothing to send before this count of delivered segments.
    limited_until: Option<u64>,
    /// Data written up to the application's last write, until it is known whether all of it was sent by then.
    written_before: Option<u64>,
    newest: Option<Newest>,
    /// Time at which the next burst may leave, the rest of the present one, and the lateness with which that one left.
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

    /// A segment leaves, for the first time or again; `alone` if nothing else is out.
    fn on_sent(&mut self, now: Instant, start: u64, delivered: u64, alone: bool) {
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

    /// A segment that takes `time` at the paced rate leaves. A burst that left late, whether a timer or the window held it
    /// up, is forgiven as much, but not more than half of its own time (`tcp_update_skb_after_send`).
    fn note_burst(&mut self, now: Instant, time: Duration) {
        let forgiven = self.late.min(time.half());
        self.late = self.late.saturating_sub(forgiven);
        self.next_burst = self.next_burst.max(now) + time.saturating_sub(forgiven);
    }

    /// A segment is reported for the first time.
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

    /// The acknowledgment is read: from the newest segment back to what had been delivered when it left. Returns the
    /// count then, the interval and whether the application limited it.
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

impl Connection {
    /// Begins with a control that goes by a rate.
    pub(super) fn start_rate(&mut self, now: Instant) {
        if self.recovers_as_linux() && self.congestion.is_rate_based() {
            self.linux.rate = Some(Box::new(DeliveryRate::new(now)));
            self.congestion.on_established(now, self.rtt.minimum());
        }
    }

    pub(super) fn rate_on_sent(&mut self, now: Instant, start: u64, length: u32) {
        if self.linux.rate.is_none() {
            return;
        }
        let delivered = self.linux.delivered;
        let first = self.sent.first();
        let alone = self.sent.len() == 1 && first.is_some_and(|first| !first.retransmitted);
        let pacing = self.congestion.pacing_rate();
        let burst = pacing.map_or(1, |rate| self.paced_segments(rate));
        let Some(rate) = &mut self.linux.rate else {
            return;
        };
        rate.on_sent(now, start, delivered, alone);
        rate.sent = rate.sent.saturating_add(1);
        let Some(pacing) = pacing.filter(|_| rate.sent > UNPACED) else {
            return;
        };
        if rate.burst_left == 0 {
            rate.burst_left = burst;
            rate.late = now.saturating_since(rate.next_burst);
        }
        rate.burst_left -= 1;
        let time = pacing.transmission_time(8 * u64::from(length));
        rate.note_burst(now, time.unwrap_or(Duration::from_secs(1)));
    }

    /// Returns true if a paced segment has to wait.
    pub(super) fn is_held_by_pacing(&self, now: Instant) -> bool {
        self.linux
            .rate
            .as_ref()
            .is_some_and(|rate| rate.burst_left == 0 && rate.next_burst > now)
    }

    /// Returns true if a paced segment has to wait; the timer is set then.
    pub(super) fn waits_for_pacing(&mut self, now: Instant) -> bool {
        let waits = self.is_held_by_pacing(now);
        if let Some(rate) = self.linux.rate.as_ref().filter(|_| waits) {
            self.timers.set(Timer::Pacing, rate.next_burst);
        }
        waits
    }

    /// The application is about to write.
    pub(in crate::tcp) fn rate_before_write(&mut self) {
        let written = self.send.written();
        if let Some(rate) = &mut self.linux.rate {
            rate.written_before.get_or_insert(written);
        }
    }

    /// New data is to leave. If the application, when it last wrote, had less than a segment left to send and the window
    /// had room, then what is measured until all that was out is delivered says little of the path
    /// (`tcp_rate_check_app_limited`). A kernel asks when the application writes, and that wakes up after its acknowledgment
    /// has been answered; here it has written before: what was there already leaves first.
    pub(super) fn rate_application_limited(&mut self) {
        let Some(before) = self
            .linux
            .rate
            .as_ref()
            .and_then(|rate| rate.written_before)
        else {
            return;
        };
        let written_since = self.send.written() - before;
        if self.unsent() >= written_since + u64::from(self.segment_size) {
            return;
        }
        let counts = self.sent.counts();
        let limited = counts.lost <= counts.resent && self.window_has_room();
        let until = self.linux.delivered + u64::from(self.segments_in_flight());
        if let Some(rate) = &mut self.linux.rate {
            rate.written_before = None;
            if limited {
                rate.limited_until = Some(until.max(1));
            }
        }
    }

    /// Nothing more may leave: what the application found when it wrote was still waiting. What leaves later is another
    /// burst.
    pub(super) fn rate_when_stopped(&mut self) {
        if let Some(rate) = &mut self.linux.rate {
            rate.written_before = None;
            rate.burst_left = 0;
        }
    }

    /// The control hears of every acknowledgment, in whatever phase.
    pub(super) fn tell_rate(&mut self, news: &AckNews, prior_in_flight: u32, lost: u32) {
        let (unacknowledged, delivered) = (self.unacknowledged, self.linux.delivered);
        let any = news.delivered > 0;
        let Some(rate) = &mut self.linux.rate else {
            return;
        };
        let interval = rate.take(news.now, unacknowledged, delivered, any);
        let until_departure = rate.next_burst.saturating_since(news.now);
        let shortest = self.rtt.minimum().unwrap_or(Duration::ZERO);
        let interval = interval.filter(|(_, length, _)| *length >= shortest);
        let sample = RateSample {
            now: news.now,
            delivered,
            lost: self.linux.lost,
            interval: interval.map(|(before, length, _)| (before, length)),
            application_limited: interval.is_some_and(|(_, _, limited)| limited),
            newly_delivered: news.delivered,
            newly_lost: lost,
            prior_in_flight,
            in_flight: self.segments_in_flight(),
            until_departure,
            rtt: news.latest_rtt,
            smoothed_rtt: self.rtt.smoothed(),
            phase: match self.linux.phase {
                Phase::Recovery => RatePhase::Recovery,
                Phase::Loss => RatePhase::Loss,
                _ => RatePhase::Open,
            },
        };
        self.congestion.on_rate_sample(&sample);
        if self.congestion.holds_back() {
            let until = delivered + u64::from(sample.in_flight);
            if let Some(rate) = &mut self.linux.rate {
                rate.limited_until = Some(until.max(1));
            }
        }
    }
}
