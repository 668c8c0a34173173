//! Real time, and how late a world is for it.

use baton_proto::time::{Duration, Instant};

/// The shortest sleep that is worth asking the kernel for; what is left is spun away.
const SPIN: Duration = Duration::from_micros(300);

/// Time since the start, by the system's monotonic clock.
pub struct RealClock {
    start: std::time::Instant,
}

impl RealClock {
    /// Time zero is now.
    pub fn start() -> RealClock {
        RealClock {
            start: std::time::Instant::now(),
        }
    }

    /// The present moment.
    pub fn now(&self) -> Instant {
        Instant::from_nanos(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// Returns at `due`, or at once if that is past. The kernel wakes sleepers some tens of microseconds late,
    /// so the last stretch is waited out awake.
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

/// How late events were handled.
pub struct Lateness {
    /// Events by the power of two of their lateness in nanoseconds.
    counts: [u64; 64],
    largest: Duration,
}

impl Default for Lateness {
    fn default() -> Self {
        Lateness {
            counts: [0; 64],
            largest: Duration::ZERO,
        }
    }
}

impl Lateness {
    /// An event was handled this much after its time.
    pub fn note(&mut self, late: Duration) {
        self.counts[63 - late.as_nanos().max(1).leading_zeros() as usize] += 1;
        self.largest = self.largest.max(late);
    }

    /// Median and 99th percentile, each as the upper bound of its power of two, and the largest, in
    /// microseconds.
    pub fn summary(&self) -> serde_json::Value {
        let total: u64 = self.counts.iter().sum();
        let quantile = |share: f64| {
            let mut seen = 0;
            let place = self.counts.iter().position(|count| {
                seen += count;
                seen as f64 >= share * total as f64
            });
            place.map_or(0.0, |power| 2f64.powi(power as i32 + 1) / 1e3)
        };
        serde_json::json!({
            "events": total,
            "median_us": quantile(0.5),
            "p99_us": quantile(0.99),
            "largest_us": self.largest.as_nanos() as f64 / 1e3,
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
    fn quantiles_are_upper_bounds() {
        let mut lateness = Lateness::default();
        (0..99).for_each(|_| lateness.note(Duration::from_nanos(700)));
        lateness.note(Duration::from_micros(900));
        let summary = lateness.summary();
        assert_eq!(summary["median_us"], 1.024);
        assert_eq!(summary["p99_us"], 1.024);
        assert_eq!(summary["largest_us"], 900.0);
    }
}
