//! Integer nanoseconds: an [`Instant`] since the start of the run, and a [`Duration`] between two.
//!
//! These types replace the standard library's: its instant can only be read from a clock, and its duration takes
//! sixteen bytes, while eight suffice for 584 years.

use core::fmt;
use core::ops::{Add, AddAssign, Sub};

/// A moment, in nanoseconds since the start of the run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instant(u64);

/// A length of time, in nanoseconds; never negative.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Duration(u64);

impl Instant {
    /// The start of the run.
    pub const ZERO: Instant = Instant(0);
    /// The end of the scale, about 584 years after the start: a deadline there never comes.
    pub const NEVER: Instant = Instant(u64::MAX);

    /// Returns the moment `nanoseconds` after the start of the run.
    pub const fn from_nanos(nanoseconds: u64) -> Instant {
        Instant(nanoseconds)
    }

    /// Returns the moment `milliseconds` after the start of the run.
    pub const fn from_millis(milliseconds: u64) -> Instant {
        Instant(milliseconds * 1_000_000)
    }

    /// Returns the moment `seconds` after the start of the run.
    pub const fn from_secs(seconds: u64) -> Instant {
        Instant(seconds * 1_000_000_000)
    }

    /// Returns the nanoseconds since the start of the run.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Returns the seconds since the start of the run, for output and for arithmetic whose result does not become a
    /// time.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Returns the time from `earlier` until this moment, or zero if `earlier` is later.
    pub const fn saturating_since(self, earlier: Instant) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Duration {
    /// A duration of zero.
    pub const ZERO: Duration = Duration(0);
    /// The longest duration, about 584 years.
    pub const MAX: Duration = Duration(u64::MAX);

    /// Creates a duration of `nanoseconds`.
    pub const fn from_nanos(nanoseconds: u64) -> Duration {
        Duration(nanoseconds)
    }

    /// Creates a duration of `microseconds`.
    pub const fn from_micros(microseconds: u64) -> Duration {
        Duration(microseconds * 1_000)
    }

    /// Creates a duration of `milliseconds`.
    pub const fn from_millis(milliseconds: u64) -> Duration {
        Duration(milliseconds * 1_000_000)
    }

    /// Creates a duration of `seconds`.
    pub const fn from_secs(seconds: u64) -> Duration {
        Duration(seconds * 1_000_000_000)
    }

    /// Creates the nearest duration to `seconds`; negative values and NaN give zero, too large ones [`Duration::MAX`].
    pub fn from_secs_f64(seconds: f64) -> Duration {
        Duration(libm::round(seconds * 1e9) as u64)
    }

    /// Returns the nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Returns the seconds, for output and for arithmetic whose result does not become a time.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Returns true for a duration of zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Returns this duration less `other`, or zero.
    pub const fn saturating_sub(self, other: Duration) -> Duration {
        Duration(self.0.saturating_sub(other.0))
    }

    /// Returns `factor` times this duration, or [`Duration::MAX`].
    pub const fn saturating_mul(self, factor: u64) -> Duration {
        Duration(self.0.saturating_mul(factor))
    }

    /// Returns half of this duration, rounded down to a nanosecond.
    pub const fn half(self) -> Duration {
        Duration(self.0 / 2)
    }

    /// Returns this duration rounded up to a multiple of `tick`; a zero `tick` leaves it unchanged.
    pub const fn round_up_to(self, tick: Duration) -> Duration {
        if tick.0 == 0 {
            self
        } else {
            Duration(self.0.div_ceil(tick.0).saturating_mul(tick.0))
        }
    }
}

/// Saturating addition: a deadline at the end of the scale never comes.
impl Add<Duration> for Instant {
    type Output = Instant;
    fn add(self, duration: Duration) -> Instant {
        Instant(self.0.saturating_add(duration.0))
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, duration: Duration) {
        *self = *self + duration;
    }
}

impl Add for Duration {
    type Output = Duration;
    fn add(self, other: Duration) -> Duration {
        Duration(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Duration {
    fn add_assign(&mut self, other: Duration) {
        *self = *self + other;
    }
}

impl Sub for Duration {
    type Output = Duration;
    fn sub(self, other: Duration) -> Duration {
        self.saturating_sub(other)
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}.{:09} s",
            self.0 / 1_000_000_000,
            self.0 % 1_000_000_000
        )
    }
}

impl fmt::Debug for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}.{:09} s",
            self.0 / 1_000_000_000,
            self.0 % 1_000_000_000
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_saturate_instead_of_wrapping() {
        assert_eq!(
            Instant::from_nanos(u64::MAX) + Duration::from_secs(1),
            Instant::from_nanos(u64::MAX)
        );
        assert_eq!(
            Instant::from_secs(1).saturating_since(Instant::from_secs(2)),
            Duration::ZERO
        );
        assert_eq!(Duration::from_secs_f64(-1.0), Duration::ZERO);
        assert_eq!(Duration::from_secs_f64(f64::NAN), Duration::ZERO);
        assert_eq!(Duration::from_secs_f64(1e300), Duration::MAX);
    }

    #[test]
    fn ticks_round_up() {
        let tick = Duration::from_millis(10);
        assert_eq!(
            Duration::from_millis(21).round_up_to(tick),
            Duration::from_millis(30)
        );
        assert_eq!(
            Duration::from_millis(30).round_up_to(tick),
            Duration::from_millis(30)
        );
        assert_eq!(
            Duration::from_nanos(7).round_up_to(Duration::ZERO),
            Duration::from_nanos(7)
        );
    }
}
