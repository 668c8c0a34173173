//! Random early detection: drops arrivals at random before the queue is full (Floyd and Jacobson, "Random
//! Early Detection gateways for congestion avoidance", 1993), "gentle" beyond the maximum threshold
//! (Floyd 2000).

use super::fifo::{Fifo, Managed, Manager};
use super::{Arrival, Discipline, Dropped, Item, Management, Refusal, Settings, Site};
use crate::rng::Keyed;
use baton_proto::time::{Duration, Instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Random early detection (Floyd and Jacobson 1993, gentle).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Red {
    /// Average queue, in packets, below which no packet is dropped.
    #[schemars(range(min = 0.0, max = 1e9))]
    pub minimum_threshold: f64,
    /// Average queue, in packets, at which `maximum_probability` is reached; at twice this the probability is one.
    #[schemars(range(min = 0.0, max = 1e9))]
    pub maximum_threshold: f64,
    /// Drop probability at the maximum threshold, above 0.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub maximum_probability: f64,
    /// Weight of the present queue in the average, above 0.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub weight: f64,
}

/// Floyd and Jacobson's own advice: thresholds of 5 and 15 packets, weight 0.002; Floyd 1997: 0.1.
impl Default for Red {
    fn default() -> Red {
        Red {
            minimum_threshold: 5.0,
            maximum_threshold: 15.0,
            maximum_probability: 0.1,
            weight: 0.002,
        }
    }
}

impl Settings for Red {
    fn check(&self, wrong: &mut dyn FnMut(&str, String)) {
        let (least, most) = (self.minimum_threshold, self.maximum_threshold);
        if least >= most {
            let message =
                format!("maximum_threshold {most} is not above minimum_threshold {least}");
            wrong("maximum_threshold", message);
        }
        let positive = [
            ("maximum_probability", self.maximum_probability),
            ("weight", self.weight),
        ];
        for (key, _) in positive.into_iter().filter(|&(_, value)| value <= 0.0) {
            let message = "0 switches RED off; expected a number above 0, up to 1";
            wrong(key, message.to_owned());
        }
    }

    fn build(&self, site: &Site) -> Box<dyn Discipline> {
        let average = Average::new(*self, site.typical_time, site.draws);
        Box::new(Managed::new(average))
    }
}

/// State of RED for one queue.
#[derive(Debug)]
struct Average {
    settings: Red,
    /// Transmission time of a small packet: while the link is idle, the average decays as if that many small packets
    /// had found the queue empty. Zero where the rate is not known: no decay.
    packet_time: Duration,
    draws: Keyed,
    average: f64,
    /// Packets since the last drop while the average has been above the minimum threshold; −1 otherwise.
    count: i64,
    idle_since: Option<Instant>,
}

impl Average {
    /// Returns the state for an empty queue; `draws` decide by packet number.
    fn new(settings: Red, packet_time: Duration, draws: Keyed) -> Average {
        Average {
            settings,
            packet_time,
            draws,
            average: 0.0,
            count: -1,
            idle_since: Some(Instant::ZERO),
        }
    }

    /// Notes that the link is idle from `now` on.
    fn idle(&mut self, now: Instant) {
        self.idle_since.get_or_insert(now);
    }

    /// Decides whether to drop packet `number`, which finds `waiting` packets.
    fn drops(&mut self, now: Instant, number: u64, waiting: usize) -> bool {
        self.update_average(now, waiting);
        let probability = self.base_probability();
        if probability <= 0.0 {
            self.count = -1;
            return false;
        }
        self.count += 1;
        // Spreads drops evenly: the number of packets between two is uniform over 1 to 1/probability.
        let spread = 1.0 - self.count as f64 * probability;
        let drop = probability >= 1.0
            || spread <= 0.0
            || self.draws.uniform(number) < probability / spread;
        if drop {
            self.count = 0;
        }
        drop
    }

    fn update_average(&mut self, now: Instant, waiting: usize) {
        let weight = self.settings.weight;
        match self.idle_since.take() {
            Some(since) if !self.packet_time.is_zero() => {
                let packets = now.saturating_since(since).as_nanos() as f64
                    / self.packet_time.as_nanos() as f64;
                self.average *= libm::pow(1.0 - weight, packets);
            }
            _ => self.average += weight * (waiting as f64 - self.average),
        }
    }

    /// Returns the drop probability of the average alone (the papers' p_b).
    fn base_probability(&self) -> f64 {
        let Red {
            minimum_threshold: minimum,
            maximum_threshold: maximum,
            maximum_probability,
            ..
        } = self.settings;
        if self.average < minimum {
            0.0
        } else if self.average < maximum {
            maximum_probability * (self.average - minimum) / (maximum - minimum)
        } else if self.average < 2.0 * maximum {
            let excess = (self.average - maximum) / maximum;
            maximum_probability + (1.0 - maximum_probability) * excess
        } else {
            1.0
        }
    }
}

impl Manager for Average {
    fn judge(&mut self, arrival: &Arrival, fifo: &Fifo) -> Result<(), Refusal> {
        if self.drops(arrival.now, arrival.item.number, fifo.waiting().0) {
            return Err(Refusal::Chosen);
        }
        if !arrival.has_room {
            self.count = 0;
            return Err(Refusal::Full);
        }
        Ok(())
    }

    fn dequeue(&mut self, now: Instant, fifo: &mut Fifo, _: &mut Vec<Dropped>) -> Option<Item> {
        let item = fifo.pop();
        if item.is_none() {
            self.idle(now);
        }
        item
    }

    fn reconfigure(&mut self, management: &Management, site: &Site) -> bool {
        if let Management::Red(settings) = management {
            self.settings = *settings;
            self.packet_time = site.typical_time;
            return true;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Seed;

    fn red(weight: f64) -> Average {
        let settings = Red {
            minimum_threshold: 5.0,
            maximum_threshold: 15.0,
            maximum_probability: 0.02,
            weight,
        };
        Average::new(settings, Duration::from_millis(1), Seed(3).keyed("red"))
    }

    /// Returns the drop probability at a queue; with the weight 1 the average equals the queue.
    fn probability_at(queue: usize) -> f64 {
        let mut red = red(1.0);
        red.idle_since = None;
        red.update_average(Instant::ZERO, queue);
        red.base_probability()
    }

    #[test]
    fn probability_rises_gently() {
        let expected = [
            (4, 0.0),
            (5, 0.0),
            (10, 0.01),
            (15, 0.02),
            (24, 0.608),
            (30, 1.0),
        ];
        for (queue, probability) in expected {
            let found = probability_at(queue);
            assert!((found - probability).abs() < 1e-12, "{queue}: {found}");
        }
    }

    #[test]
    fn drops_are_spread_uniformly() {
        // Floyd and Jacobson, section VII: with p_b constant, the gap between drops is uniform over
        // {1, …, 1/p_b}, so that its mean is (1/p_b + 1)/2 = 50.5 at p_b = 0.01 and none exceeds 100.
        let mut red = red(1.0);
        red.idle_since = None;
        let drops: Vec<u64> = (0..400_000)
            .filter(|&number| red.drops(Instant::ZERO, number, 10))
            .collect();
        let gaps: Vec<u64> = drops.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = gaps.iter().sum::<u64>() as f64 / gaps.len() as f64;
        assert!(gaps.iter().all(|&gap| (1..=100).contains(&gap)));
        // The standard error is 28.9 / sqrt(7900) = 0.33.
        assert!((mean - 50.5).abs() < 1.3, "{mean}");
    }

    #[test]
    fn the_average_follows_the_queue_and_decays_when_idle() {
        let mut red = red(0.002);
        red.idle_since = None;
        // Section VI of the paper: after L packets with the queue grown from 0 to L,
        // avg = L + 1 + ((1 − w)^(L+1) − 1) / w.
        for queue in 1..=50 {
            red.update_average(Instant::ZERO, queue);
        }
        let closed_form = 51.0 + (0.998_f64.powi(51) - 1.0) / 0.002;
        assert!((red.average - closed_form).abs() < 1e-9, "{}", red.average);
        red.idle(Instant::from_millis(100));
        red.update_average(Instant::from_millis(600), 0);
        let decayed = closed_form * 0.998_f64.powi(500);
        assert!((red.average - decayed).abs() < 1e-9, "{}", red.average);
    }
}
