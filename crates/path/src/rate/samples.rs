//! Arithmetic of reports: rates between two of them, the delay of the queue, the round-trip time, and lost datagrams.
//!
//! A report names the newest datagram, when it arrived by the receiver's clock, and all that has arrived by then. So a
//! sample of the delivery rate does not depend on the way back of its reports, and neither does the queue's delay: the
//! newest datagram's time under way, less the shortest such time of late. The two clocks only have to run equally fast.

use super::flight::Departed;
use crate::message::{Stamp, units};
use baton_proto::time::{Duration, Instant};
use std::collections::VecDeque;

/// Length of a bucket of [`Lowest`], at least (chosen: within three, quartz clocks 100 ppm apart drift by 1.5 ms), and in
/// round trips (chosen: a queue of others is drained more often).
const BUCKET: Duration = Duration::from_secs(5);
const BUCKET_ROUNDS: u64 = 8;
/// Points stored for each round-trip time.
const POINTS: f64 = 16.0;
/// Shortest span of a sample (chosen: two reports at the shortest interval).
const LEAST_SPAN: f64 = 0.010;

/// Shortest span of the latest sample (chosen: above the variation of delays).
const LEAST_RECENT: f64 = 0.050;
/// Shortest time that a rate is taken over (chosen: the shortest interval of reports; two datagrams sent at once are no
/// rate).
const LEAST_TIME: f64 = 0.005;
/// Decay of the number of reordered datagrams, a report (chosen: some ten round trips).
const LATE_DECAY: f64 = 0.98;
/// Longest time between two reports that counts: twice the peer's delay of a receipt. Longer ones are the datagrams'.
const MOST_GAP: f64 = 0.050;

/// Content of a report, as [`super::Finder::reported`] takes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heard {
    /// Counter after the newest datagram.
    pub(crate) next: u64,
    /// Datagrams received, and their bytes as UDP payload; both wrap.
    pub(crate) received: u32,
    pub(crate) received_bytes: u32,
    /// Bytes of IP and UDP headers of each.
    pub(crate) headers: u16,
    /// Arrival of the newest, by the peer's clock.
    pub(crate) arrival: Stamp,
    pub(crate) round_trip: Option<Duration>,
}

/// State of the direction to the peer, by one report. Times are in seconds, counts since the finder began.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    pub(super) next: u64,
    sent_bytes: u64,
    pub(super) sent_at: f64,
    arrived_at: f64,
    pub(super) delivered: u64,
    /// Datagrams missing, without those that may only be late.
    missing: u64,
    /// Delay in the queue, in seconds.
    pub(super) queue: f64,
}

/// Rates between two points, in bytes per second.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rates {
    pub(super) offered: f64,
    pub(super) delivered: f64,
    /// Time between arrivals in units of the time between departures.
    pub(super) stretch: f64,
    /// Datagrams sent and lost.
    pub(super) sent: f64,
    pub(super) lost: f64,
}

impl Point {
    pub(super) fn since(&self, earlier: &Point) -> Rates {
        let departures = (self.sent_at - earlier.sent_at).max(1e-6);
        let arrivals = (self.arrived_at - earlier.arrived_at).max(1e-6);
        let offered = self.sent_bytes.saturating_sub(earlier.sent_bytes) as f64;
        let delivered = self.delivered.saturating_sub(earlier.delivered) as f64;
        Rates {
            offered: offered / departures.max(LEAST_TIME),
            delivered: delivered / departures.max(arrivals).max(LEAST_TIME),
            stretch: arrivals / departures,
            sent: self.next.saturating_sub(earlier.next) as f64,
            lost: self.missing.saturating_sub(earlier.missing) as f64,
        }
    }
}

/// Lowest value of the last two to three buckets.
struct Lowest {
    buckets: [f64; 3],
    until: Instant,
}

impl Lowest {
    fn new(now: Instant) -> Lowest {
        Lowest {
            buckets: [f64::INFINITY; 3],
            until: now + BUCKET,
        }
    }

    /// Takes in a value. `keeps` the older values if there can be no lower one at present.
    fn update(&mut self, now: Instant, value: f64, bucket: Duration, keeps: bool) {
        if keeps {
            self.until = now + bucket;
        } else if now >= self.until {
            let [newest, middle, _] = self.buckets;
            let is_current = now < self.until + bucket;
            self.buckets = match is_current {
                true => [f64::INFINITY, newest, middle],
                false => [f64::INFINITY, f64::INFINITY, newest.min(middle)],
            };
            self.until = now + bucket;
        }
        let [newest, _, _] = &mut self.buckets;
        *newest = newest.min(value);
    }

    fn value(&self) -> Option<f64> {
        let lowest = self.buckets.into_iter().fold(f64::INFINITY, f64::min);
        lowest.is_finite().then_some(lowest)
    }
}

/// The reports of late.
pub(super) struct Samples {
    points: VecDeque<Point>,
    newest: Option<Point>,
    /// Newest report: datagrams, bytes, arrival.
    last: Option<(u32, u32, Stamp)>,
    received: u64,
    /// Missing datagrams by the last three reports: a late one is no loss.
    missing: [u64; 3],
    first: u64,
    /// Most datagrams of late that were missing in one report and had arrived by the next.
    late: f64,
    under_way: Lowest,
    bucket: Duration,
    round_trip: Lowest,
    /// Arrival of the last report, and the mean time between two.
    reported_at: Instant,
    gap: f64,
}

impl Samples {
    pub(super) fn new(now: Instant) -> Samples {
        Samples {
            points: VecDeque::new(),
            newest: None,
            last: None,
            received: 0,
            missing: [0; 3],
            first: 0,
            late: 0.0,
            under_way: Lowest::new(now),
            bucket: BUCKET,
            round_trip: Lowest::new(now),
            reported_at: now,
            gap: 0.0,
        }
    }

    /// Returns the shortest round-trip time in seconds, if there is one yet.
    pub(super) fn round_trip(&self) -> Option<f64> {
        self.round_trip.value()
    }

    /// Returns the mean time between two reports in seconds.
    pub(super) fn gap(&self) -> f64 {
        self.gap
    }

    /// Returns the arrival of the last report.
    pub(super) fn reported_at(&self) -> Instant {
        self.reported_at
    }

    /// Returns the number of datagrams that may be missing because they overtake each other.
    pub(super) fn reordered(&self) -> f64 {
        self.late
    }

    pub(super) fn newest(&self) -> Option<&Point> {
        self.newest.as_ref()
    }

    /// Takes in a report of which `departed` is the newest datagram; `None` if it says nothing new. `drains` if this end's
    /// own queue keeps the delays from being short.
    pub(super) fn take(
        &mut self,
        now: Instant,
        heard: &Heard,
        departed: Departed,
        drains: bool,
    ) -> Option<Point> {
        if let Some(trip) = heard.round_trip {
            self.bucket = BUCKET.max(trip.saturating_mul(BUCKET_ROUNDS));
            self.round_trip
                .update(now, trip.as_secs_f64(), self.bucket, drains);
        }
        // A report from before the first arrival has no time of arrival.
        let is_empty = departed.bytes == 0;
        if is_empty || self.newest.is_some_and(|newest| heard.next <= newest.next) {
            return None;
        }
        let now_seconds = self.note_gap(now);
        let told = (heard.received, heard.received_bytes, heard.arrival);
        let (received, bytes, arrival) = self.last.replace(told).unwrap_or(told);
        let before = self.newest;
        if before.is_none() {
            self.first = heard.next;
        }
        let most = heard.next - self.first;
        let count = u64::from(heard.received.wrapping_sub(received))
            .min(most.saturating_sub(self.received));
        self.received += count;
        let bytes =
            u64::from(heard.received_bytes.wrapping_sub(bytes)) + count * u64::from(heard.headers);
        let delivered = before
            .map_or(0, |point| point.delivered)
            .saturating_add(bytes);
        let since = heard.arrival.since(arrival);
        let passed = units(since.unsigned_abs()).as_secs_f64();
        let arrived_at = match before {
            Some(before) if since >= 0 => before.arrived_at + passed,
            Some(before) => before.arrived_at,
            None => now_seconds,
        };
        let sent_at = departed.at.as_secs_f64();
        self.under_way
            .update(now, arrived_at - sent_at, self.bucket, drains);
        let base = self.under_way.value().unwrap_or(0.0);
        let [second, third, _] = self.missing;
        let missing = most.saturating_sub(self.received);
        let arrived_late = second.saturating_sub(missing) as f64;
        self.late = arrived_late.max(self.late * LATE_DECAY);
        self.missing = [missing, second, third];
        let point = Point {
            next: heard.next,
            sent_bytes: departed.bytes,
            sent_at,
            arrived_at,
            // No more can have arrived than was sent.
            delivered: delivered.min(departed.bytes),
            missing: self.missing.into_iter().min().unwrap_or(0),
            queue: (arrived_at - sent_at - base).max(0.0),
        };
        self.keep(point);
        Some(point)
    }

    fn note_gap(&mut self, now: Instant) -> f64 {
        let gap = now
            .saturating_since(self.reported_at)
            .as_secs_f64()
            .min(MOST_GAP);
        self.gap += (gap - self.gap) / 8.0;
        self.reported_at = now;
        now.as_secs_f64()
    }

    fn keep(&mut self, point: Point) {
        self.newest = Some(point);
        let span = self.span();
        let is_apart = |last: &Point| point.arrived_at - last.arrived_at >= span / POINTS;
        if self.points.back().is_none_or(is_apart) {
            self.points.push_back(point);
        }
        while self
            .points
            .get(1)
            .is_some_and(|second| point.arrived_at - second.arrived_at >= span)
        {
            self.points.pop_front();
        }
    }

    fn span(&self) -> f64 {
        let trip = self.round_trip.value().unwrap_or(0.0);
        trip.max(4.0 * self.gap).max(LEAST_SPAN)
    }

    /// Returns the rates of about the last round-trip time.
    pub(super) fn window(&self) -> Option<Rates> {
        let (first, newest) = (self.points.front()?, self.newest?);
        (newest.next > first.next).then(|| newest.since(first))
    }

    /// Returns the rates of about the last quarter of that.
    pub(super) fn recent(&self) -> Option<Rates> {
        let newest = self.newest?;
        let span = (self.span() / 4.0).max(LEAST_RECENT);
        let is_before = |point: &&Point| newest.arrived_at - point.arrived_at >= span;
        let first = self.points.iter().rev().find(is_before);
        first.map_or_else(|| self.window(), |first| Some(newest.since(first)))
    }

    /// Returns the shortest delay of the queue in the last quarter of a round-trip time.
    pub(super) fn standing(&self) -> f64 {
        let Some(newest) = self.newest else {
            return 0.0;
        };
        let since = newest.arrived_at - self.span() / 4.0;
        let recent = self.points.iter().rev().enumerate();
        let recent = recent.take_while(|(place, point)| *place < 2 || point.arrived_at >= since);
        recent.fold(newest.queue, |lowest, (_, point)| lowest.min(point.queue))
    }
}
