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
    /// True if the peer reports it soon: an answer or a report waits for the next that asks.
    asks: bool,
}

/// Datagrams without a report, in the order of their counters.
pub(super) struct Flight {
    /// Counter of the first in `out`.
    first: u64,
    out: VecDeque<Departed>,
    /// The last that was reported, or the beginning.
    reported: Departed,
    /// Counter of the oldest in flight that asks for a report.
    oldest_asking: Option<u64>,
    sent: u64,
}

impl Flight {
    pub(super) fn new(now: Instant, first: u64) -> Flight {
        let reported = Departed {
            bytes: 0,
            at: now,
            asks: false,
        };
        Flight {
            first,
            out: VecDeque::new(),
            reported,
            oldest_asking: None,
            sent: 0,
        }
    }

    /// Notes the departure of the next datagram, and if it asks for a report.
    pub(super) fn sent(&mut self, now: Instant, bytes: u64, asks: bool) {
        if asks && self.oldest_asking.is_none() {
            self.oldest_asking = Some(self.next());
        }
        self.sent += bytes;
        self.out.push_back(Departed {
            bytes: self.sent,
            at: now,
            asks,
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
        if self.oldest_asking.is_some_and(|oldest| oldest < self.first) {
            let place = self.out.iter().position(|departed| departed.asks);
            self.oldest_asking = place.map(|place| self.first + place as u64);
        }
        self.reported
    }

    /// Returns the bytes in flight.
    pub(super) fn bytes(&self) -> u64 {
        self.sent - self.reported.bytes
    }

    /// Returns the departure of the oldest in flight that asks for a report.
    pub(super) fn oldest_asking(&self) -> Option<Instant> {
        let place = self.oldest_asking?.checked_sub(self.first)?;
        self.out.get(place as usize).map(|departed| departed.at)
    }

    /// Returns the counter of the next datagram.
    pub(super) fn next(&self) -> u64 {
        self.first + self.out.len() as u64
    }
}
