//! Receipts: while packets arrive, the sender learns of them soon and at low cost.

use crate::measure::RoundTrip;
use baton_proto::time::{Duration, Instant};

/// Shortest and longest time between two receipts (chosen: the sender's detection waits for them).
const SOONEST: Duration = Duration::from_millis(5);
const LATEST: Duration = Duration::from_millis(25);
/// Share of the received bytes that receipts may take (chosen): one in this many.
const SHARE: u64 = 50;
/// Length of a receipt with the headers of IPv6 and UDP; one of a path that finds its rate has four bytes more.
const RECEIPT_BYTES: u64 = 104;

/// Schedule of receipts.
#[derive(Default)]
pub(crate) struct Receipts {
    /// Arrival of the first packet without a receipt.
    since: Option<Instant>,
    last: Instant,
    /// Received bytes not yet charged by receipts, at most enough for a few.
    credit: u64,
    /// True if the next receipt waits for nothing.
    is_pressing: bool,
}

impl Receipts {
    pub(crate) fn packet_arrived(&mut self, now: Instant, bytes: usize) {
        self.since.get_or_insert(now);
        self.credit = (self.credit + bytes as u64).min(4 * SHARE * RECEIPT_BYTES);
    }

    /// Makes a receipt of all that has arrived due at once.
    pub(crate) fn press(&mut self) {
        self.is_pressing = true;
    }

    pub(crate) fn deadline(&self, round_trip: &RoundTrip) -> Option<Instant> {
        let since = self.since?;
        if self.is_pressing {
            return Some(since);
        }
        let quarter = round_trip
            .smoothed()
            .map_or(LATEST, |smoothed| smoothed.half().half());
        let soonest = since + quarter.clamp(SOONEST, LATEST);
        let affordable = self.credit >= SHARE * RECEIPT_BYTES;
        Some(if affordable {
            soonest
        } else {
            soonest.max(self.last + LATEST)
        })
    }

    /// Notes the departure of a receipt, or of another report instead.
    pub(crate) fn reported(&mut self, now: Instant) {
        self.is_pressing = false;
        if self.since.take().is_some() {
            self.last = now;
            self.credit = self.credit.saturating_sub(SHARE * RECEIPT_BYTES);
        }
    }
}
