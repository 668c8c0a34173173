//! Trains: datagrams without content that leave at once, so that the link itself spaces them, and the rate is known before
//! there is data.
//!
//! The bytes of a train that arrive within its dispersion, the time between the first and the last arrival, give the
//! rate of the bottleneck (C. Dovrolis, P. Ramanathan and D. Moore, 2004). A train is as long as an initial window (RFC 6928).
//! Data queued behind a train count as its part where a busy receiver reports both at once.
//! If the link spaces it by too little to be measured, ten times as many follow: the link is then known to take them within a
//! twentieth of a second. What is found counts until a round trip of data has tried it.

use super::samples::Point;
use baton_proto::time::Instant;

/// Datagrams of the trains (chosen: the first is an initial window, RFC 6928).
const LENGTHS: [u16; 2] = [10, 100];
/// Shortest dispersion that is measured, in seconds (chosen: above the variation of arrivals that a receiver takes in at
/// once).
const LEAST_DISPERSION: f64 = 0.005;
/// Trains of one length without a result before the search goes on without them (chosen: reports may be lost).
const MOST_TRIES: u32 = 3;

/// Result of a train, in bytes per second.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Found {
    /// Rate at which the bottleneck lets datagrams go.
    Rate(f64),
    /// Rate that the link has at least.
    AtLeast(f64),
}

/// Train that has left.
#[derive(Clone, Copy)]
struct Train {
    /// Counters of its first datagram and after its last.
    first: u64,
    end: u64,
    /// Time of its departure, in seconds.
    sent_at: f64,
    /// Bytes delivered and delay of the queue when it began to arrive, by a report from then if `has_begun`.
    start: Option<(u64, f64)>,
    has_begun: bool,
}

/// The trains of one search.
pub(super) struct Trains {
    level: usize,
    tries: u32,
    /// Datagrams of the present train that have not left.
    left: u16,
    train: Option<Train>,
}

impl Trains {
    /// Begins with the shortest train.
    pub(super) fn start() -> Trains {
        Trains {
            level: 0,
            tries: 1,
            left: LENGTHS[0],
            train: None,
        }
    }

    /// Ends the search by trains.
    pub(super) fn end(&mut self) {
        self.left = 0;
        self.train = None;
    }

    /// Returns true while a first long train is leaving or under way.
    pub(super) fn is_long(&self) -> bool {
        self.level > 0 && self.tries == 1 && (self.left > 0 || self.train.is_some())
    }

    /// Returns true for a datagram that is to be reported at once, the first or the last; `None` if none is to leave.
    pub(super) fn next(&self) -> Option<bool> {
        (self.left > 0).then(|| self.train.is_none() || self.left == 1)
    }

    /// Notes the departure of the train's next datagram, with this counter, after the newest report.
    pub(super) fn sent(&mut self, now: Instant, counter: u64, newest: Option<&Point>) {
        self.left = self.left.saturating_sub(1);
        let train = self.train.get_or_insert(Train {
            first: counter,
            end: counter,
            sent_at: now.as_secs_f64(),
            start: newest.map(|point| (point.delivered, 0.0)),
            has_begun: false,
        });
        train.end = counter + 1;
    }

    /// Takes in a report; returns a result, if it gives one.
    pub(super) fn reported(&mut self, point: &Point) -> Option<Found> {
        let train = self.train.as_mut()?;
        let arrived = point.next.checked_sub(train.first).filter(|&it| it > 0)?;
        let length = train.end - train.first;
        if arrived <= (length / 4).max(1) {
            train.start = Some((point.delivered, point.queue));
            train.has_begun = true;
            return None;
        }
        let is_past = point.next > train.end;
        if is_past && !(train.has_begun && arrived <= 2 * length) {
            self.try_again();
            return None;
        }
        let (delivered, queue) = train.start?;
        let bytes = point.delivered.saturating_sub(delivered) as f64;
        let queued = point.queue - queue;
        if queued >= LEAST_DISPERSION {
            let dispersion = queued + (point.sent_at - train.sent_at);
            self.end();
            return Some(Found::Rate(bytes / dispersion));
        }
        if is_past {
            self.try_again();
            return None;
        }
        if arrived < length - length / 4 || self.left > 0 {
            return None;
        }
        self.lengthen();
        Some(Found::AtLeast(bytes / LEAST_DISPERSION))
    }

    fn try_again(&mut self) {
        self.end();
        if self.tries < MOST_TRIES {
            self.tries += 1;
            self.left = LENGTHS[self.level];
        }
    }

    fn lengthen(&mut self) {
        self.end();
        if let Some(&length) = LENGTHS.get(self.level + 1) {
            self.level += 1;
            self.tries = 1;
            self.left = length;
        }
    }
}
