//! Dynamic right-sizing as published (Fisk and Feng, 2001; study D, section 5.4): the receiver measures the round-trip
//! time and the data that arrives in it, and offers twice that. So a sender can double its window in each round trip,
//! and the offered window stays near twice what the path holds.
//!
//! The round-trip time is the shortest time from an arrival until a whole window beyond it has arrived. The last of that
//! may only leave after the ACK of the first, so that a sample is never too short; it is too long if the sender pauses or
//! data queues. The window does not shrink, as in the paper.

use super::receiver::{Arrival, Receiver};
use crate::time::{Duration, Instant};

/// Segments that a connection offers at first (chosen): enough for a sender whose receiver delays ACKs, and less than
/// a queue on a slow link.
const FIRST_SEGMENTS: u32 = 2;

/// State of the receiver for a right-sized window.
#[derive(Debug)]
pub(super) struct RightSizing {
    /// Largest window, in bytes.
    largest: u32,
    /// Shortest round-trip time.
    round_trip: Option<Duration>,
    /// Both begin with an arrival.
    counts: Option<Counts>,
}

/// Counts of arriving bytes.
#[derive(Debug)]
struct Counts {
    /// Start of the window whose arrival is timed, and the position at its end.
    window: (Instant, u64),
    /// Start of the round trip, and the position then.
    round: (Instant, u64),
}

/// Returns the first window, for a receiver with a buffer and segments of these bytes.
pub(super) fn first_window(buffer: u32, segment_size: u32) -> u32 {
    FIRST_SEGMENTS.saturating_mul(segment_size).min(buffer)
}

impl RightSizing {
    /// Starts for a window of at most `largest` bytes.
    pub(super) fn new(largest: u32) -> RightSizing {
        RightSizing {
            largest,
            round_trip: None,
            counts: None,
        }
    }

    /// Resumes with a window that has grown to so many bytes at another gateway.
    pub(super) fn resume(&mut self, data: &mut Receiver, window: u32) {
        self.counts = None;
        self.grow(data, window);
    }

    /// Takes in that data has arrived at `now`.
    pub(super) fn on_taken(&mut self, data: &mut Receiver, now: Instant, arrival: Arrival) {
        if !matches!(arrival, Arrival::InOrder { .. }) {
            return;
        }
        let (next, window) = (data.next(), u64::from(data.buffer()));
        let counts = self.counts.get_or_insert(Counts {
            window: (now, next + window),
            round: (now, next),
        });
        if next >= counts.window.1 {
            let sample = now.saturating_since(counts.window.0);
            let shortest = self.round_trip.unwrap_or(sample).min(sample);
            self.round_trip = Some(shortest);
            counts.window = (now, next + window);
        }
        let time = now.saturating_since(counts.round.0);
        if self.round_trip.is_some_and(|round_trip| time >= round_trip) {
            let arrived = u32::try_from(next - counts.round.1).unwrap_or(u32::MAX);
            counts.round = (now, next);
            self.grow(data, arrived.saturating_mul(2));
        }
    }

    fn grow(&self, data: &mut Receiver, wanted: u32) {
        data.set_buffer(data.buffer().max(wanted.min(self.largest)));
    }
}
