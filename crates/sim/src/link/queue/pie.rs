//! PIE: drops arrivals with a probability that follows the delay in the queue (RFC 8033).

use super::fifo::{Fifo, Managed, Manager};
use super::{Arrival, Discipline, Dropped, Item, Management, Refusal, Settings, Site};
use crate::rng::Keyed;
use crate::scenario::units::PositiveTime;
use baton_proto::time::{Duration, Instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Weight of the delay's distance from the target, in 1/s (RFC 8033 section 4.2).
const ALPHA: f64 = 0.125;
/// Weight of the delay's change, in 1/s (section 4.2).
const BETA: f64 = 1.25;
/// Probabilities below which an update is divided by this factor, for gentler control (section 4.2).
const SCALES: [(f64, f64); 6] = [
    (0.000_001, 2048.0),
    (0.000_01, 512.0),
    (0.000_1, 128.0),
    (0.001, 32.0),
    (0.01, 8.0),
    (0.1, 2.0),
];
/// Largest step from a probability of 0.1 on (section 5.2).
const LARGEST_STEP: f64 = 0.02;
/// Share of the probability that is left after an update without delay (section 4.2).
const DECAY: f64 = 0.98;
/// Bytes below which no packet is dropped: two packets of a typical size (section 4.1).
const SHORT_QUEUE: u64 = 2 * 1500;
/// Accumulated probabilities below which no packet, and from which on each packet, is dropped (section 5.4).
const EVEN_GAPS: (f64, f64) = (0.85, 8.5);
/// Shortest time between updates.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(1);

/// Drops arrivals at random, with a probability that follows the delay in the queue (RFC 8033).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Pie {
    /// Delay aimed for.
    pub target: PositiveTime,
    /// Time between updates of the probability, 1 ms or more.
    pub update_interval: PositiveTime,
    /// Time for which a burst passes without drops.
    pub burst_allowance: PositiveTime,
}

/// RFC 8033, section 4.
impl Default for Pie {
    fn default() -> Pie {
        let milliseconds = |count| PositiveTime(Duration::from_millis(count));
        Pie {
            target: milliseconds(15),
            update_interval: milliseconds(15),
            burst_allowance: milliseconds(150),
        }
    }
}

impl Settings for Pie {
    fn check(&self, wrong: &mut dyn FnMut(&str, String)) {
        if self.update_interval.0 < SHORTEST_INTERVAL {
            let message =
                "is shorter than 1 ms, which would need too many updates; expected 1 ms or more";
            wrong("update_interval", message.to_owned());
        }
    }

    fn build(&self, site: &Site) -> Box<dyn Discipline> {
        Box::new(Managed::new(Control::new(*self, site.draws)))
    }
}

/// State of PIE for one queue.
#[derive(Debug)]
struct Control {
    settings: Pie,
    draws: Keyed,
    /// Wait of the last packet that left; zero once none waits.
    delay: Duration,
    /// Delay at the last update.
    old_delay: Duration,
    probability: f64,
    /// Sum of the probabilities of packets since the last drop.
    accumulated: f64,
    /// Remaining burst allowance.
    allowance: Duration,
    next_update: Instant,
}

impl Control {
    fn new(settings: Pie, draws: Keyed) -> Control {
        Control {
            settings,
            draws,
            delay: Duration::ZERO,
            old_delay: Duration::ZERO,
            probability: 0.0,
            accumulated: 0.0,
            allowance: settings.burst_allowance.0,
            next_update: Instant::ZERO + settings.update_interval.0,
        }
    }

    fn half_target(&self) -> Duration {
        Duration::from_nanos(self.settings.target.0.as_nanos() / 2)
    }

    /// Returns true if the delay is below half of the target, now and at the last update.
    fn is_light(&self) -> bool {
        let half = self.half_target();
        self.delay < half && self.old_delay < half
    }

    /// Does the updates due up to `now`. Between two of them the delay is constant: once one changes nothing, neither
    /// do the later ones.
    fn catch_up(&mut self, now: Instant) {
        while self.next_update <= now {
            let before = (self.probability, self.allowance, self.old_delay);
            self.update();
            let interval = self.settings.update_interval.0;
            self.next_update += interval;
            if before == (self.probability, self.allowance, self.old_delay) {
                let since = now.saturating_since(self.next_update).as_nanos();
                let skipped = since - since % interval.as_nanos();
                self.next_update += Duration::from_nanos(skipped);
            }
        }
    }

    /// Updates the probability (RFC 8033, sections 4.2 and 4.4).
    fn update(&mut self) {
        let (delay, old) = (self.delay.as_secs_f64(), self.old_delay.as_secs_f64());
        let target = self.settings.target.0.as_secs_f64();
        let mut step = ALPHA * (delay - target) + BETA * (delay - old);
        let scale = SCALES.iter().find(|&&(below, _)| self.probability < below);
        step /= scale.map_or(1.0, |&(_, scale)| scale);
        if self.probability >= 0.1 {
            step = step.min(LARGEST_STEP);
        }
        self.probability += step;
        if self.delay.is_zero() && self.old_delay.is_zero() {
            self.probability *= DECAY;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        self.allowance = self
            .allowance
            .saturating_sub(self.settings.update_interval.0);
        if self.probability == 0.0 && self.is_light() {
            self.allowance = self.settings.burst_allowance.0;
        }
        self.old_delay = self.delay;
    }

    /// Decides whether to drop packet `number`, which finds so many bytes (RFC 8033, sections 4.1 and 5.4).
    fn drops(&mut self, now: Instant, number: u64, bytes: u64) -> bool {
        self.catch_up(now);
        if !self.allowance.is_zero() {
            return false;
        }
        let is_low = self.old_delay < self.half_target() && self.probability < 0.2;
        if is_low || bytes <= SHORT_QUEUE {
            return false;
        }
        if self.probability == 0.0 {
            self.accumulated = 0.0;
        }
        self.accumulated += self.probability;
        let (none, all) = EVEN_GAPS;
        let is_drawn = self.draws.uniform(number) < self.probability;
        let drops = self.accumulated >= all || (self.accumulated >= none && is_drawn);
        if drops {
            self.accumulated = 0.0;
        }
        drops
    }
}

impl Manager for Control {
    fn judge(&mut self, arrival: &Arrival, fifo: &Fifo) -> Result<(), Refusal> {
        let is_chosen = self.drops(arrival.now, arrival.item.number, fifo.waiting().1);
        if !arrival.has_room {
            return Err(Refusal::Full);
        }
        if is_chosen {
            return Err(Refusal::Chosen);
        }
        Ok(())
    }

    fn dequeue(&mut self, now: Instant, fifo: &mut Fifo, _: &mut Vec<Dropped>) -> Option<Item> {
        self.catch_up(now);
        let item = fifo.pop();
        self.delay = match &item {
            Some(item) if fifo.waiting().0 > 0 => now.saturating_since(item.offered_at),
            _ => Duration::ZERO,
        };
        item
    }

    fn reconfigure(&mut self, management: &Management, _: &Site) -> bool {
        if let Management::Pie(settings) = management {
            self.settings = *settings;
            return true;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Seed;

    fn control() -> Control {
        Control::new(Pie::default(), Seed(1).keyed("queue"))
    }

    fn milliseconds(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    /// RFC 8033 section 4.2 by hand: 0.125 × (30 − 15 ms) + 1.25 × (30 − 0 ms) is 0.039375, over 2048 at no probability; then
    /// 0.125 × 15 ms is 0.001875, over 128 and 32 as the probability grows.
    #[test]
    fn the_probability_follows_the_equation_and_its_scales() {
        let mut control = control();
        control.delay = milliseconds(30);
        let mut expected = 0.039375 / 2048.0;
        control.update();
        assert!((control.probability - expected).abs() < 1e-15);
        for scale in [128.0, 128.0, 128.0, 128.0, 128.0, 128.0, 32.0] {
            control.update();
            expected += 0.001875 / scale;
            assert!((control.probability - expected).abs() < 1e-15, "{expected}");
        }
        // Half a second of delay would be a step of 0.65.
        control.probability = 0.1;
        control.delay = milliseconds(500);
        control.update();
        assert!((control.probability - 0.12).abs() < 1e-12);
    }

    #[test]
    fn without_delay_the_probability_decays() {
        let mut control = control();
        control.probability = 0.5;
        control.update();
        // 0.125 × −15 ms, and then a fiftieth.
        assert!((control.probability - (0.5 - 0.001875) * 0.98).abs() < 1e-12);
    }

    #[test]
    fn a_burst_is_let_be_for_150_ms_and_an_idle_queue_gets_its_allowance_back() {
        let mut control = control();
        control.probability = 1.0;
        control.delay = milliseconds(100);
        let dropped =
            |control: &mut Control, now| control.drops(Instant::from_millis(now), 1, 1 << 20);
        assert!(!dropped(&mut control, 149));
        // The tenth update uses up the allowance; at a probability of one the first packet after it is dropped.
        assert!(dropped(&mut control, 150));
        control.delay = Duration::ZERO;
        control.probability = 0.0;
        control.catch_up(Instant::from_millis(200));
        assert_eq!(control.allowance, milliseconds(150));
        // A long rest costs no updates.
        control.catch_up(Instant::from_secs(1_000_000_000));
        assert!(control.next_update > Instant::from_secs(1_000_000_000));
    }

    /// On a link that is down no packet leaves: the delay stands, and the probability is one within seconds.
    #[test]
    fn a_long_pause_with_a_standing_delay_costs_few_updates() {
        let mut control = control();
        control.settings.update_interval = PositiveTime(milliseconds(1));
        control.delay = milliseconds(100);
        control.catch_up(Instant::from_secs(10_000_000_000));
        assert!(control.probability == 1.0 && control.allowance.is_zero());
        let past = control
            .next_update
            .saturating_since(Instant::from_secs(10_000_000_000));
        assert!(past > Duration::ZERO && past <= milliseconds(15));
    }

    /// Section 5.4: with the probability p no packet of the first 0.85/p after a drop is dropped, and each from 8.5/p on.
    #[test]
    fn drops_are_spread() {
        let mut control = control();
        control.allowance = Duration::ZERO;
        control.old_delay = milliseconds(30);
        control.probability = 1.0 / 16.0;
        let drops: Vec<u64> = (0..200_000)
            .filter(|&number| control.drops(Instant::ZERO, number, 1 << 20))
            .collect();
        let gaps: Vec<u64> = drops.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps.iter().all(|gap| (14..=136).contains(gap)));
        // 13 packets are spared, then a geometric number of mean 16 follows.
        let mean = gaps.iter().sum::<u64>() as f64 / gaps.len() as f64;
        assert!((mean - 29.0).abs() < 0.6, "{mean}");
    }

    #[test]
    fn short_queues_and_low_delays_are_let_be() {
        let mut control = control();
        control.allowance = Duration::ZERO;
        control.probability = 0.19;
        control.old_delay = milliseconds(7);
        assert!((0..1000).all(|number| !control.drops(Instant::ZERO, number, 1 << 20)));
        control.old_delay = milliseconds(8);
        assert!((0..1000).all(|number| !control.drops(Instant::ZERO, number, 3000)));
        assert!((0..1000).any(|number| control.drops(Instant::ZERO, number, 3001)));
    }
}
