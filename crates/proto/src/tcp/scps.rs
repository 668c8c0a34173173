//! Additions of SCPS-TP (CCSDS 714.0-B-2) to TCP: rate control and selective negative acknowledgments (SNACK).
//!
//! *Rate control* is open-loop: a bucket of one packet that fills at a configured rate, whatever the path delivers.
//! Data waits for the bucket, ACKs do not.
//!
//! A *SNACK* reports one hole, in units of the maximum segment size from the acknowledgment number: the receiver sends
//! one with each ACK of data beyond a gap, for the hole before the latest arrival. The sender retransmits all of it at
//! once, without waiting for duplicate ACKs or the window, and the first SNACK in a window reduces the congestion
//! window. A hole that was filled less than a round trip and four deviations ago is left alone. The bit vector of the
//! long form, with further holes, is ignored.

use super::Common;
use super::ends::Ends;
use super::options::header_length;
use super::receiving::Receiver;
use super::timer::Timer;
use crate::time::{Duration, Instant};
use crate::wire::tcp::Snack;

/// Bucket of the rate control.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    /// Earliest departure of the next data.
    next_departure: Instant,
}

impl Bucket {
    pub(super) fn new(now: Instant) -> Bucket {
        Bucket {
            next_departure: now,
        }
    }

    /// Returns true if data must wait for the bucket.
    pub(super) fn is_empty(&self, now: Instant) -> bool {
        self.next_departure > now
    }

    /// Does the same as [`is_empty`](Self::is_empty), and sets the timer if data must wait.
    pub(super) fn holds(&self, common: &mut Common, now: Instant) -> bool {
        let waits = self.is_empty(now);
        if waits {
            common.timers.set(Timer::Pacing, self.next_departure);
        }
        waits
    }

    /// Takes the packet of so many bytes of data from the bucket, IP header included.
    pub(super) fn spend(&mut self, common: &Common, ends: &Ends, now: Instant, length: u32) {
        let Some(rate) = common.profile.rate_limit else {
            return;
        };
        let headers = common.timestamps_length() + header_length(ends.remote().address);
        let time = rate.transmission_time(8 * u64::from(length + headers));
        self.next_departure = now + time.unwrap_or(Duration::from_secs(1));
    }
}

/// Returns the hole before the latest arrival, in units of `unit` bytes.
pub(super) fn last_hole(data: &Receiver, unit: u16) -> Option<Snack> {
    let unit = u64::from(unit);
    let blocks = data.blocks();
    let &(end, _) = blocks.first()?;
    let below = blocks.iter().map(|block| block.1).filter(|to| *to <= end);
    let start = below.max().unwrap_or(data.next());
    let offset = (start - data.next() + unit / 2) / unit;
    let size = (end - start).div_ceil(unit).min(u64::from(u16::MAX));
    Some(Snack {
        offset: u16::try_from(offset).ok()?,
        size: size as u16,
    })
}
