//! Samples over time.

use super::AtEnd;
use baton_proto::rate::DataRate;
use baton_proto::time::{Duration, Instant};

/// Samples of a value. Each holds until the next.
#[derive(Clone, Debug, PartialEq)]
pub struct Series<T> {
    /// Beginning of each sample, strictly ascending, the first at zero.
    starts: Vec<Duration>,
    values: Vec<T>,
    /// Length of the recording; never zero.
    period: Duration,
    at_end: AtEnd,
}

impl<T: Copy> Series<T> {
    /// Creates a series of (beginning, value), the last of which lasts until `end`. `None` if there is no sample, the
    /// first is not at zero, or beginnings and end do not ascend strictly.
    pub fn new(samples: &[(Duration, T)], end: Duration, at_end: AtEnd) -> Option<Series<T>> {
        let starts: Vec<Duration> = samples.iter().map(|&(start, _)| start).collect();
        let ascends = starts.windows(2).all(|pair| pair[0] < pair[1]);
        (*starts.first()? == Duration::ZERO && ascends && *starts.last()? < end).then(|| Series {
            values: samples.iter().map(|&(_, value)| value).collect(),
            starts,
            period: end,
            at_end,
        })
    }

    /// Returns the length of the recording.
    pub fn length(&self) -> Duration {
        self.period
    }

    /// Returns the value at a time of the recording.
    pub fn at(&self, at: Instant) -> T {
        self.values[self.locate(at).0]
    }

    /// Returns the sample in force at a time, and its end; `None` if it holds forever.
    fn locate(&self, at: Instant) -> (usize, Option<Instant>) {
        let elapsed = at.as_nanos();
        let period = self.period.as_nanos();
        if self.at_end == AtEnd::Hold && elapsed >= period {
            return (self.values.len() - 1, None);
        }
        let offset = elapsed % period;
        let index = self
            .starts
            .partition_point(|start| start.as_nanos() <= offset)
            - 1;
        let end = self.starts.get(index + 1).copied().unwrap_or(self.period);
        let last = index + 1 == self.values.len();
        let forever = last && (self.at_end == AtEnd::Hold || self.values.len() == 1);
        (
            index,
            (!forever).then(|| at + Duration::from_nanos(end.as_nanos() - offset)),
        )
    }
}

/// Bits times 1e9, so that a rate in bit/s times nanoseconds is exact.
const NANOBITS: u128 = 1_000_000_000;

impl Series<DataRate> {
    /// Returns the time at which `bits` that begin at `from` have passed, rounded up to a nanosecond; `None` if they
    /// never have.
    pub fn transmitted(&self, from: Instant, bits: u64) -> Option<Instant> {
        let mut remaining = u128::from(bits) * NANOBITS;
        let mut now = from;
        let mut skipped = false;
        loop {
            let (index, end) = self.locate(now);
            let rate = u128::from(self.values[index].bits_per_second());
            let room = match end {
                Some(end) => rate * u128::from(end.saturating_since(now).as_nanos()),
                None if rate == 0 => return None,
                None => u128::MAX,
            };
            if rate > 0 && remaining <= room {
                let nanoseconds = remaining.div_ceil(rate).min(u128::from(u64::MAX));
                return Some(now + Duration::from_nanos(nanoseconds as u64));
            }
            remaining -= room;
            now = end?;
            if now.as_nanos() == u64::MAX {
                return None;
            }
            if !skipped && self.at_end == AtEnd::Repeat {
                skipped = true;
                (now, remaining) = self.skip_periods(now, remaining)?;
            }
        }
    }

    /// Skips whole periods at once, so that a long transmission costs at most two walks of the file.
    fn skip_periods(&self, now: Instant, remaining: u128) -> Option<(Instant, u128)> {
        let capacity = self.capacity();
        if capacity == 0 {
            return None;
        }
        // The last period is left to the walk, which finds the place of the last bit.
        let periods = remaining.saturating_sub(1) / capacity;
        let length = Duration::from_nanos(self.period.as_nanos())
            .saturating_mul(u64::try_from(periods).unwrap_or(u64::MAX));
        Some((now + length, remaining - periods * capacity))
    }

    /// Returns the bits of one period, times 1e9.
    fn capacity(&self) -> u128 {
        let ends = self.starts.iter().skip(1).chain([&self.period]);
        self.values
            .iter()
            .zip(self.starts.iter().zip(ends))
            .map(|(rate, (start, end))| {
                u128::from(rate.bits_per_second()) * u128::from((*end - *start).as_nanos())
            })
            .sum()
    }

    /// Returns the mean rate over the file.
    pub fn mean_rate(&self) -> DataRate {
        let mean = self.capacity() / u128::from(self.period.as_nanos());
        DataRate::from_bits_per_second(mean as u64)
    }
}
