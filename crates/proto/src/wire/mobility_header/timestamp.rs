//! The timestamp of the mobility message replay protection option.

/// A time of day in NTP's format: seconds since 1900 in the upper 32 bits, a fraction of a second in the lower ones
/// (RFC 4285 section 6). Seconds wrap around in 2036, and comparison holds within 68 years.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// Seconds from 1900 to 1970 (RFC 5905 section 6).
    const UNIX_EPOCH_S: u64 = 2_208_988_800;
    const NANOSECONDS: u64 = 1_000_000_000;

    /// Converts nanoseconds since 1970.
    pub const fn of_unix(nanoseconds: u64) -> Timestamp {
        let seconds = nanoseconds / Timestamp::NANOSECONDS + Timestamp::UNIX_EPOCH_S;
        let fraction = ((nanoseconds % Timestamp::NANOSECONDS) << 32) / Timestamp::NANOSECONDS;
        Timestamp(seconds << 32 | fraction)
    }

    /// Returns true if this time is later than `other`.
    pub const fn is_after(self, other: Timestamp) -> bool {
        self.0.wrapping_sub(other.0) as i64 > 0
    }

    /// Returns true if both times are at most `seconds` apart.
    pub const fn is_within(self, seconds: u32, other: Timestamp) -> bool {
        let difference = self.0.wrapping_sub(other.0) as i64;
        difference.unsigned_abs() <= (seconds as u64) << 32
    }

    /// Returns the seconds.
    pub const fn seconds(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Returns the fraction of a second, in units of 2^-32 s.
    pub const fn fraction(self) -> u32 {
        self.0 as u32
    }

    /// Returns the time with the seconds of another one.
    pub const fn with_seconds_of(self, other: Timestamp) -> Timestamp {
        Timestamp(other.0 & 0xFFFF_FFFF_0000_0000 | self.0 & 0xFFFF_FFFF)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks RFC 5905 figure 4: the first day of UNIX is second 2,208,988,800 of era 0, and 8 February 2036 begins era
    /// 1.
    #[test]
    fn times_are_those_of_ntp() {
        assert_eq!(Timestamp::of_unix(0).0, 2_208_988_800 << 32);
        let half = Timestamp::of_unix(1_500_000_000);
        assert_eq!(
            (half.seconds(), half.fraction()),
            (2_208_988_801, 0x8000_0000)
        );
        // 2036-02-07 06:28:16 UTC.
        let era = Timestamp::of_unix(2_085_978_496_000_000_000);
        assert_eq!(era.0, 0);
        assert!(era.is_after(Timestamp::of_unix(2_085_978_495_999_999_000)));
        assert!(!half.is_after(half));
    }

    #[test]
    fn a_window_is_open_to_both_sides() {
        let at = |seconds: u64| Timestamp::of_unix(seconds * 1_000_000_000);
        assert!(at(100).is_within(7, at(107)) && at(107).is_within(7, at(100)));
        assert!(!at(100).is_within(7, at(108)) && !at(108).is_within(7, at(100)));
        assert!(!Timestamp(0).is_within(7, at(1_700_000_000)));
        let mixed = Timestamp(5 << 32 | 9).with_seconds_of(Timestamp(7 << 32 | 1));
        assert_eq!(mixed, Timestamp(7 << 32 | 9));
    }
}
