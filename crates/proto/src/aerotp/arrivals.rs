//! Arrivals over a path: those to report in its next MACK, their rate, and their bit error rate.

use super::connection::timestamp;
use super::error_meter::ErrorMeter;
use crate::rate::DataRate;
use crate::time::{Duration, Instant};

/// Packets received over one path.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Arrivals {
    /// Packets since the last MACK over this path; `u32::MAX` if a MACK is due at once.
    pub unanswered: u32,
    /// End of the ranges in that MACK; zero if they were all. Each path has turns of its own for ranges that do not fit:
    /// a MACK that overtakes another over a longer path must not show the ranges in that one as lost.
    pub reported_to: u64,
    /// True if a packet since then was marked with congestion.
    pub congestion: bool,
    /// Timestamp of the newest packet, and the time of its arrival.
    pub newest: Option<(u32, Instant)>,
    pub meter: ErrorMeter,
    /// Bytes with IP headers since the last measurement of the rate, and its time.
    bytes: u64,
    since: Option<Instant>,
    /// Time of the last packet.
    last: Option<Instant>,
    rate: DataRate,
}

impl Arrivals {
    /// Returns true if a timestamp is at least as new as all received ones.
    pub(super) fn is_newer(&self, timestamp: u32) -> bool {
        let newer = |(newest, _): (u32, Instant)| timestamp.wrapping_sub(newest) as i32 >= 0;
        self.newest.is_none_or(newer)
    }

    /// Returns the time under way of the newest packet in microseconds, by two clocks whose difference is not known.
    pub(super) fn lag(&self) -> Option<u32> {
        let (sent, at) = self.newest?;
        Some(timestamp(at).wrapping_sub(sent))
    }

    /// Takes in a packet of so many bytes, IP header included.
    pub(super) fn note(&mut self, now: Instant, timestamp: u32, bytes: u32) {
        /// A longer pause gives no information about the path.
        const PAUSE: Duration = Duration::from_millis(100);
        if self.is_newer(timestamp) {
            self.newest = Some((timestamp, now));
        }
        self.bytes += u64::from(bytes);
        if self
            .last
            .is_none_or(|last| now.saturating_since(last) > PAUSE)
        {
            self.since = Some(now);
            self.bytes = 0;
        }
        self.last = Some(now);
    }

    /// Returns the arrival rate, zero if it is not known yet.
    pub(super) fn take_rate(&mut self, now: Instant) -> DataRate {
        /// Shortest time over which the rate is measured.
        const MEASURED_OVER: Duration = Duration::from_millis(50);
        let elapsed = self
            .since
            .map_or(Duration::ZERO, |since| now.saturating_since(since));
        if elapsed >= MEASURED_OVER {
            let bits = u128::from(self.bytes) * 8 * 1_000_000_000;
            let rate = (bits / u128::from(elapsed.as_nanos())) as u64;
            self.rate = DataRate::from_bits_per_second(rate);
            self.bytes = 0;
            self.since = Some(now);
        }
        self.rate
    }
}
