//! Delivery opportunities, as the emulator mahimahi records and replays them.

use super::AtEnd;
use baton_proto::rate::DataRate;
use baton_proto::time::{Duration, Instant};

/// Bits that pass at one opportunity: mahimahi's 1500 B.
const BITS: u64 = 1500 * 8;

/// Times at which up to 1500 B may pass. Packets share an opportunity byte by byte: the rest goes to the next packet if
/// that already waits, and a packet for which it does not suffice is completed at the next opportunity. Unused
/// opportunities are lost.
#[derive(Clone, Debug, PartialEq)]
pub struct Opportunities {
    /// Milliseconds since the start of the file, ascending.
    milliseconds: Vec<u32>,
    at_end: AtEnd,
}

/// Use of a recording's opportunities by a link so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cursor {
    /// Next wholly unused opportunity, counted on over repetitions.
    next: u64,
    /// Bits left over of the previous one.
    left_over: u64,
}

impl Opportunities {
    /// Creates opportunities at these milliseconds. The last is also the length of the file when it repeats. `None` if
    /// there are none, they do not ascend, or the last is at zero.
    pub fn new(milliseconds: Vec<u32>, at_end: AtEnd) -> Option<Opportunities> {
        let ascends = milliseconds.windows(2).all(|pair| pair[0] <= pair[1]);
        (ascends && *milliseconds.last()? > 0).then_some(Opportunities {
            milliseconds,
            at_end,
        })
    }

    fn count(&self) -> u64 {
        self.milliseconds.len() as u64
    }

    /// Returns the length of the recording.
    pub fn length(&self) -> Duration {
        Duration::from_millis(1).saturating_mul(self.period())
    }

    /// Returns the milliseconds until it repeats.
    fn period(&self) -> u64 {
        u64::from(*self.milliseconds.last().unwrap_or(&1))
    }

    /// Returns the mean rate over the file.
    pub fn mean_rate(&self) -> DataRate {
        let bits_per_second = u128::from(self.count()) * u128::from(BITS) * 1000;
        DataRate::from_bits_per_second((bits_per_second / u128::from(self.period())) as u64)
    }

    /// Returns the cursor of a link that has been idle up to `now`: opportunities until then, `now` included, have
    /// passed.
    pub fn after(&self, now: Instant) -> Cursor {
        let milliseconds = now.as_nanos() / 1_000_000;
        let mut period = milliseconds / self.period();
        let mut within = milliseconds % self.period();
        // A file that does not repeat ends with its period.
        if self.at_end == AtEnd::Hold && period > 0 {
            period = 0;
            within = self.period();
        }
        let passed = self
            .milliseconds
            .partition_point(|&at| u64::from(at) <= within);
        Cursor {
            next: period
                .saturating_mul(self.count())
                .saturating_add(passed as u64),
            left_over: 0,
        }
    }

    /// Uses opportunities from the cursor on for `bits`; returns the time of the last one used, `None` if the recording
    /// ends before.
    pub fn transmitted(&self, cursor: &mut Cursor, now: Instant, bits: u64) -> Option<Instant> {
        if bits <= cursor.left_over {
            cursor.left_over -= bits;
            return Some(now);
        }
        let missing = bits - cursor.left_over;
        let needed = missing.div_ceil(BITS);
        let last = cursor.next.saturating_add(needed - 1);
        if self.at_end == AtEnd::Hold && last >= self.count() {
            return None;
        }
        cursor.next = last.saturating_add(1);
        cursor.left_over = needed * BITS - missing;
        Some(self.time(last))
    }

    fn time(&self, opportunity: u64) -> Instant {
        let within = self.milliseconds[(opportunity % self.count()) as usize];
        let milliseconds =
            (opportunity / self.count()).saturating_mul(self.period()) + u64::from(within);
        Instant::ZERO + Duration::from_millis(1).saturating_mul(milliseconds)
    }
}
