//! Datagrams in flight: what was sent when, until the peer reports a later one.

use baton_proto::time::Instant;
use std::collections::VecDeque;

/// Most datagrams in flight that are remembered (chosen: 1 Gbit/s over 1.5 s). Older ones count as reported.
const MOST: usize = 1 << 17;

/// All that was sent up to one datagram, and the time of its departure.
#[derive(Clone, Copy, Debug)]
pub(super) struct Departed {
    /// Bytes since the finder began, this datagram included.
    pub(super) bytes: u64,
    pub(super) at: Instant,
}

/// Datagrams without a report, in the order of their counters.
pub(super) struct Flight {
    /// Counter of the first in `out`.
    first: u64,
    out: VecDeque<Departed>,
    /// The last that was reported, or the beginning.
    reported: Departed,
    sent: u64,
}

impl Flight {
    pub(super) fn new(now: Instant, first: u64) -> Flight {
        let reported = Departed { bytes: 0, at: now };
        Flight {
            first,
            out: VecDeque::new(),
            reported,
            sent: 0,
        }
    }

    /// Notes the departure of the next datagram.
    pub(super) fn sent(&mut self, now: Instant, bytes: u64) {
        self.sent += bytes;
        self.out.push_back(Departed {
            bytes: self.sent,
            at: now,
        });
        if self.out.len() > MOST {
            self.report(self.first + 1);
        }
    }

    /// Ends the flight of all datagrams below `next`, and returns the last of them.
    pub(super) fn report(&mut self, next: u64) -> Departed {
        let count = next.saturating_sub(self.first).min(self.out.len() as u64);
        if let Some(last) = self.out.drain(..count as usize).next_back() {
            self.reported = last;
            self.first += count;
        }
        self.reported
    }

    /// Returns the bytes in flight.
    pub(super) fn bytes(&self) -> u64 {
        self.sent - self.reported.bytes
    }

    /// Returns the departure of the oldest in flight.
    pub(super) fn oldest(&self) -> Option<Instant> {
        self.out.front().map(|departed| departed.at)
    }

    /// Returns the counter of the next datagram.
    pub(super) fn next(&self) -> u64 {
        self.first + self.out.len() as u64
    }
}
