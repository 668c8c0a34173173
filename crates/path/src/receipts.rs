//! Receipts: while packets arrive, the sender hears soon and cheaply which have.

use crate::measure::RoundTrip;
use baton_proto::time::{Duration, Instant};

/// Shortest and longest time between two receipts (chosen: the sender's detection waits for them).
const SOONEST: Duration = Duration::from_millis(5);
const LATEST: Duration = Duration::from_millis(25);
/// Share of the received bytes that receipts may take (chosen): one in this many.
const SHARE: u64 = 50;
/// A receipt with the headers of IPv6 and UDP.
const RECEIPT_BYTES: u64 = 104;

/// The next receipt's time.
#[derive(Default)]
pub(crate) struct Receipts {
    /// Arrival of the first packet without a receipt.
    since: Option<Instant>,
    last: Instant,
    /// Received bytes of which no receipt has taken its share, at most enough for a few.
    credit: u64,
}

impl Receipts {
    pub(crate) fn packet_arrived(&mut self, now: Instant, bytes: usize) {
        self.since.get_or_insert(now);
        self.credit = (self.credit + bytes as u64).min(4 * SHARE * RECEIPT_BYTES);
    }

    pub(crate) fn deadline(&self, round_trip: &RoundTrip) -> Option<Instant> {
        let since = self.since?;
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

    /// Notes that a receipt, or another report in its stead, leaves.
    pub(crate) fn reported(&mut self, now: Instant) {
        if self.since.take().is_some() {
            self.last = now;
            self.credit = self.credit.saturating_sub(SHARE * RECEIPT_BYTES);
        }
    }
}
