//! A data rate in whole bits per second.

use crate::time::Duration;
use core::fmt;

/// A rate in bits per second; zero means that no data passes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct DataRate(u64);

impl DataRate {
    /// Rate of zero: no data passes.
    pub const ZERO: DataRate = DataRate(0);

    /// Creates a rate of `bits_per_second`.
    pub const fn from_bits_per_second(bits_per_second: u64) -> DataRate {
        DataRate(bits_per_second)
    }

    /// Returns the bits per second.
    pub const fn bits_per_second(self) -> u64 {
        self.0
    }

    /// Returns the transmission time of `bits`, rounded up to a nanosecond; `None` at rate zero.
    pub const fn transmission_time(self, bits: u64) -> Option<Duration> {
        if self.0 == 0 {
            return None;
        }
        // A packet's bits times 1e9 fit 64 bits up to 2.3 GB; only larger ones need the slow division.
        let nanoseconds = match bits.checked_mul(1_000_000_000) {
            Some(scaled) => scaled.div_ceil(self.0),
            None => {
                let wide = (bits as u128 * 1_000_000_000).div_ceil(self.0 as u128);
                if wide > u64::MAX as u128 {
                    u64::MAX
                } else {
                    wide as u64
                }
            }
        };
        Some(Duration::from_nanos(nanoseconds))
    }

    /// Returns the bits transmitted in `duration`, rounded down.
    pub const fn bits_in(self, duration: Duration) -> u64 {
        let bits = self.0 as u128 * duration.as_nanos() as u128 / 1_000_000_000;
        if bits > u64::MAX as u128 {
            u64::MAX
        } else {
            bits as u64
        }
    }
}

impl fmt::Debug for DataRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bit/s", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transmission_times() {
        // 1500 B at 11 Mbit/s: 1090.909… µs, rounded up.
        let rate = DataRate::from_bits_per_second(11_000_000);
        assert_eq!(
            rate.transmission_time(12_000),
            Some(Duration::from_nanos(1_090_910))
        );
        assert_eq!(DataRate::ZERO.transmission_time(1), None);
        // 2^40 bits at 11 Mbit/s: 99955.602525090909… s, beyond 64 bits when scaled.
        assert_eq!(
            rate.transmission_time(1 << 40),
            Some(Duration::from_nanos(99_955_602_525_091))
        );
        assert_eq!(rate.transmission_time(u64::MAX), Some(Duration::MAX));
        assert_eq!(rate.bits_in(Duration::from_millis(20)), 220_000);
    }
}
