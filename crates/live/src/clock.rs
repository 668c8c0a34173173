//! Real time, and a world's lateness against it.

use baton_proto::time::{Duration, Instant};

/// Shortest sleep that is worth a system call; shorter waits spin.
const SPIN: Duration = Duration::from_micros(300);

/// The time since a moment, by the system's monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct RealClock {
    zero: std::time::Instant,
}

impl RealClock {
    /// Starts a clock whose time zero is now.
    pub fn start() -> RealClock {
        RealClock {
            zero: std::time::Instant::now(),
        }
    }

    /// Starts a clock whose time zero is this far in the future.
    pub fn start_in(time: std::time::Duration) -> RealClock {
        RealClock {
            zero: std::time::Instant::now() + time,
        }
    }

    /// Returns time zero on the system's clock.
    pub fn zero(&self) -> std::time::Instant {
        self.zero
    }

    /// Returns the present moment; zero until time zero.
    pub fn now(&self) -> Instant {
        Instant::from_nanos(u64::try_from(self.zero.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// Sleeps until `due`; returns at once if that is past. The kernel wakes sleepers some tens of microseconds late,
    /// so the last stretch spins.
    pub fn sleep_until(&self, due: Instant) {
        let left = due.saturating_since(self.now());
        if left > SPIN {
            std::thread::sleep(std::time::Duration::from_nanos((left - SPIN).as_nanos()));
        }
        while self.now() < due {
            std::hint::spin_loop();
        }
    }
}

/// Lateness of packets handed over.
pub struct Lateness {
    /// Number of packets by lateness: eight classes for each power of two of nanoseconds.
    counts: Vec<u64>,
    largest: Duration,
}

impl Default for Lateness {
    fn default() -> Self {
        Lateness {
            counts: vec![0; 64 * 8],
            largest: Duration::ZERO,
        }
    }
}

impl Lateness {
    /// Records that a packet was handed over this much after its time.
    pub fn note(&mut self, late: Duration) {
        let nanoseconds = late.as_nanos().max(8);
        let power = nanoseconds.ilog2();
        let eighth = (nanoseconds >> (power - 3)) & 7;
        self.counts[(power * 8) as usize + eighth as usize] += 1;
        self.largest = self.largest.max(late);
    }

    /// Returns the lateness not exceeded by this share of the packets: the upper bound of its class, at most an eighth
    /// too long.
    pub fn quantile(&self, share: f64) -> Duration {
        let total: u64 = self.counts.iter().sum();
        let mut seen = 0;
        let place = self.counts.iter().position(|count| {
            seen += count;
            seen > 0 && seen as f64 >= share * total as f64
        });
        place.map_or(Duration::ZERO, |place| {
            let (power, eighth) = (place / 8, place as u64 % 8);
            Duration::from_nanos((8 + eighth + 1) << (power - 3)).min(self.largest)
        })
    }

    /// Returns the median, the 99th percentile and the maximum, in microseconds.
    pub fn summary(&self) -> serde_json::Value {
        let microseconds = |time: Duration| time.as_nanos() as f64 / 1e3;
        serde_json::json!({
            "events": self.counts.iter().sum::<u64>(),
            "median_us": microseconds(self.quantile(0.5)),
            "p99_us": microseconds(self.quantile(0.99)),
            "largest_us": microseconds(self.largest),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleeping_never_returns_early() {
        let clock = RealClock::start();
        for milliseconds in [0, 1, 2, 3] {
            let due = clock.now() + Duration::from_millis(milliseconds);
            clock.sleep_until(due);
            assert!(clock.now() >= due);
        }
    }

    #[test]
    fn quantiles_are_upper_bounds_within_an_eighth() {
        let mut lateness = Lateness::default();
        assert_eq!(lateness.summary()["p99_us"], 0.0);
        (0..99).for_each(|_| lateness.note(Duration::from_nanos(700)));
        lateness.note(Duration::from_micros(900));
        let summary = lateness.summary();
        // 700 ns lie between 640 and 704.
        assert_eq!(summary["median_us"], 0.704);
        assert_eq!(summary["p99_us"], 0.704);
        assert_eq!(lateness.quantile(1.0), Duration::from_micros(900));
        assert_eq!(summary["largest_us"], 900.0);
        lateness.note(Duration::from_nanos(u64::MAX));
    }
}
