//! Random delays and cookies of agents, derived from the caller's secret: `proto` has no global randomness.

use crate::time::Duration;
use core::hash::Hasher;
use siphasher::sip::SipHasher24;

/// A pseudorandom sequence: SipHash-2-4 of a counter, keyed by a secret. A deployment takes the secret from a good
/// source of randomness; a simulation derives it from its seed.
#[derive(Clone, Debug)]
pub struct Draws {
    secret: [u8; 16],
    drawn: u32,
}

impl Draws {
    /// Starts the sequence that belongs to `secret`.
    pub const fn new(secret: [u8; 16]) -> Draws {
        Draws { secret, drawn: 0 }
    }

    /// Draws 64 bits.
    pub fn bits(&mut self) -> u64 {
        let mut hasher = SipHasher24::new_with_key(&self.secret);
        hasher.write_u32(self.drawn);
        self.drawn = self.drawn.wrapping_add(1);
        hasher.finish()
    }

    /// Draws uniformly from `shortest` (inclusive) to `longest` (exclusive); returns `shortest` if that range is empty.
    pub fn between(&mut self, shortest: Duration, longest: Duration) -> Duration {
        let span = u128::from(longest.saturating_sub(shortest).as_nanos());
        let share = (u128::from(self.bits()) * span) >> 64;
        shortest + Duration::from_nanos(share as u64)
    }

    /// Draws uniformly from zero (inclusive) to `longest` (exclusive).
    pub fn up_to(&mut self, longest: Duration) -> Duration {
        self.between(Duration::ZERO, longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_fill_their_range_evenly() {
        let mut draws = Draws::new([3; 16]);
        let (shortest, longest) = (Duration::from_secs(2), Duration::from_secs(4));
        let n = 10_000;
        let all: Vec<f64> = (0..n)
            .map(|_| draws.between(shortest, longest).as_secs_f64())
            .collect();
        assert!(all.iter().all(|&seconds| (2.0..4.0).contains(&seconds)));
        // Mean 3, standard deviation 2 / √12: four standard errors of the mean are 0.023.
        let mean = all.iter().sum::<f64>() / f64::from(n);
        assert!((mean - 3.0).abs() < 0.023, "{mean}");
        assert_eq!(draws.between(longest, shortest), longest);
        assert_ne!(Draws::new([1; 16]).bits(), Draws::new([2; 16]).bits());
    }
}
