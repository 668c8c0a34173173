//! The two clocks of the timestamps option (RFC 7323): this end's, and the peer's as shown by its segments.

use crate::time::{Duration, Instant};
use crate::wire::tcp::Timestamps;

/// RFC 7323 section 5.5: a timestamp older than this is out of date and proves nothing.
const TIMESTAMP_VALIDITY: Duration = Duration::from_secs(24 * 24 * 3600);

/// Our clock, and "TS.Recent" of the peer's.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimestampClock {
    /// "TS.Recent" and when it was taken (RFC 7323 section 4.3).
    recent: (u32, Instant),
    /// Reading of this end's clock at time zero, which says nothing about its uptime.
    origin: u32,
}

impl TimestampClock {
    pub(super) fn new(now: Instant, origin: u32) -> TimestampClock {
        TimestampClock {
            recent: (0, now),
            origin,
        }
    }

    /// Returns this end's clock, which counts milliseconds.
    pub(super) fn reading(&self, now: Instant) -> u32 {
        milliseconds(now).wrapping_add(self.origin)
    }

    /// Sets this end's clock to `value` now.
    pub(super) fn set(&mut self, now: Instant, value: u32) {
        self.origin = value.wrapping_sub(milliseconds(now));
    }

    /// Returns the option of a segment that leaves now.
    pub(super) fn stamp(&self, now: Instant) -> Timestamps {
        Timestamps {
            value: self.reading(now),
            echo: self.recent.0,
        }
    }

    /// Returns the time since this end's clock showed `echo`; `None` if it has not shown that yet.
    pub(super) fn since(&self, now: Instant, echo: u32) -> Option<Duration> {
        let milliseconds = self.reading(now).wrapping_sub(echo) as i32;
        // The clock counts milliseconds: what took less is not known to be shorter than one.
        u64::try_from(milliseconds)
            .ok()
            .map(|count| Duration::from_millis(count.max(1)))
    }

    /// Returns "TS.Recent" and the time when it was taken.
    pub(super) fn recent(&self) -> (u32, Instant) {
        self.recent
    }

    /// Sets the peer's "TS.Recent".
    pub(super) fn set_recent(&mut self, value: u32, at: Instant) {
        self.recent = (value, at);
    }

    /// Returns the age of a timestamp relative to TS.Recent, in ticks of the peer's clock; zero if it is not older, or
    /// if that is unknown.
    pub(super) fn age(&self, now: Instant, value: u32) -> u32 {
        let (recent, since) = self.recent;
        if now.saturating_since(since) > TIMESTAMP_VALIDITY {
            return 0;
        }
        u32::try_from(recent.wrapping_sub(value) as i32).unwrap_or(0)
    }
}

fn milliseconds(now: Instant) -> u32 {
    (now.as_nanos() / 1_000_000) as u32
}
