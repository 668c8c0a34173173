//! Rates that are told: how far they are trusted.

use baton_proto::rate::DataRate;
use baton_proto::time::{Duration, Instant};

/// A link's rate by the word of a modem or an operator, beside what the path finds.
#[derive(Clone, Copy, Debug, Default)]
pub struct ToldRate {
    told: Option<DataRate>,
    /// The rate that the path was given.
    given: Option<DataRate>,
    /// Time of the next raise of the rate in use, and that of one after a word that did not hold.
    next_raise: Instant,
    next_trust: Instant,
    /// Time since which the link carries less than half of it.
    lower_since: Option<Instant>,
    is_overruled: bool,
    /// Times that the link has proved to carry less than half of what was told.
    overruled: u64,
}

impl ToldRate {
    /// Takes a rate of the configuration.
    pub fn of(told: Option<DataRate>) -> ToldRate {
        ToldRate {
            told,
            ..ToldRate::default()
        }
    }

    /// Returns the rate told.
    pub fn told(&self) -> Option<DataRate> {
        self.told
    }

    /// Replaces the rate; `None` if it is to be found.
    pub fn tell(&mut self, told: Option<DataRate>) {
        self.told = told;
    }

    /// Returns true if the path was not given the rate told yet.
    pub fn is_waiting(&self) -> bool {
        self.told != self.given
    }

    /// Returns the rate that the path was given.
    pub fn given(&self) -> Option<DataRate> {
        self.given
    }

    /// Returns the rate for a path that comes up.
    pub fn give(&mut self) -> Option<DataRate> {
        self.given = self.told;
        self.given
    }

    /// Returns the rate told if it is time to give it to a path that uses a rate and has a round-trip time. Words that
    /// lower the rate are given at once. Those that raise it leave the path the time to find that a link carries less, or
    /// a modem that repeats its mistake would flood the link.
    pub fn poll(
        &mut self,
        now: Instant,
        (used, round_trip): (Option<DataRate>, Duration),
    ) -> Option<Option<DataRate>> {
        /// Round trips between two raises, and the least time (chosen: a path finds a queue within two).
        const ROUND_TRIPS: u64 = 4;
        const LEAST: Duration = Duration::from_secs(1);
        /// Time between two raises if a word did not hold (chosen).
        const DISTRUST: Duration = Duration::from_secs(10);
        if !self.is_waiting() {
            return None;
        }
        let raises = |told: &DataRate| used.is_some_and(|used| *told >= used);
        if self.told.as_ref().is_some_and(raises) {
            let held = |given: DataRate| {
                let used = used.map_or(0, |used| used.bits_per_second());
                used >= given.bits_per_second() / 4 * 3
            };
            let from = match self.given.is_none_or(held) {
                true => self.next_raise,
                false => self.next_trust,
            };
            if now < from {
                return None;
            }
            self.next_raise = now + round_trip.saturating_mul(ROUND_TRIPS).max(LEAST);
            self.next_trust = now + round_trip.saturating_mul(ROUND_TRIPS).max(DISTRUST);
        }
        Some(self.give())
    }

    /// Returns the number of times that the link has proved to carry less than half of the rate told.
    pub fn overruled(&self) -> u64 {
        self.overruled
    }

    /// Takes in the rate that the path uses; `None` while it is down. Returns true when the rate told is overruled.
    pub fn use_rate(&mut self, now: Instant, used: Option<DataRate>) -> bool {
        /// Less than half for this long is neither a pause nor a path that is dying (chosen).
        const PROOF: Duration = Duration::from_secs(3);
        let (Some(told), Some(used)) = (self.told, used) else {
            self.lower_since = None;
            return false;
        };
        if used.bits_per_second() >= told.bits_per_second() / 2 {
            (self.lower_since, self.is_overruled) = (None, false);
            return false;
        }
        let since = *self.lower_since.get_or_insert(now);
        let is_proof = now.saturating_since(since) >= PROOF;
        let is_news = is_proof && !self.is_overruled;
        self.is_overruled |= is_proof;
        self.overruled += u64::from(is_news);
        is_news
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_overruled_once_by_three_seconds_below_half_of_it() {
        let mbit = |n: u64| Some(DataRate::from_bits_per_second(n * 1_000_000));
        let mut rate = ToldRate::of(mbit(10));
        let mut used = |ms: u64, n| rate.use_rate(Instant::from_nanos(ms * 1_000_000), mbit(n));
        assert!(!used(0, 1) && !used(2900, 1) && !used(2950, 6));
        assert!(!used(3000, 4) && used(6000, 4) && !used(19_000, 4));
        assert!(!used(19_100, 10) && !used(19_200, 1) && used(22_300, 1));
        assert_eq!(rate.overruled(), 2);
        assert!(!rate.use_rate(Instant::from_secs(31), None));
    }

    /// A modem repeats that the link carries 100 Mbit/s or a little more or less, and it carries ten.
    #[test]
    fn a_modem_that_repeats_its_mistake_raises_the_rate_once_in_ten_seconds() {
        let mbit = |n: u64| Some(DataRate::from_bits_per_second(n * 1_000_000));
        let mut rate = ToldRate::of(None);
        let mut raises = Vec::new();
        for ms in 0..30_000 {
            let now = Instant::from_nanos(ms * 1_000_000);
            rate.tell(mbit(100 + ms / 100 % 3));
            // For two round trips after a raise the path does not know.
            let is_new = raises.last().is_some_and(|raise| ms < raise + 1200);
            let used = mbit(if is_new { 100 } else { 10 });
            if rate.poll(now, (used, Duration::from_millis(600))).is_some() {
                raises.push(ms);
            }
        }
        assert_eq!(raises, [0, 10_000, 20_000]);
    }

    #[test]
    fn a_link_that_slows_down_is_followed_at_once_and_one_that_speeds_up_each_second() {
        let mbit = |n: u64| Some(DataRate::from_bits_per_second(n * 1_000_000));
        let mut rate = ToldRate::of(None);
        let mut tell = |ms: u64, told, used| {
            rate.tell(mbit(told));
            let facts = (mbit(used), Duration::from_millis(20));
            rate.poll(Instant::from_nanos(ms * 1_000_000), facts)
        };
        assert_eq!(tell(0, 10, 1), Some(mbit(10)));
        assert_eq!(tell(10, 2, 10), Some(mbit(2)));
        assert_eq!(tell(20, 1, 2), Some(mbit(1)));
        assert_eq!(tell(30, 1, 1), None);
        assert_eq!(tell(40, 5, 1), None);
        assert_eq!(tell(1000, 5, 1), Some(mbit(5)));
        assert_eq!(tell(2000, 10, 5), Some(mbit(10)));
    }
}
