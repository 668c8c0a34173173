//! Probability that a protected packet cannot be corrected: the closed form for independent bit errors.

use super::interleaved::{Strength, codewords};

/// Returns the probability that at least one of the codewords of a packet with `data` protected bytes has more wrong
/// bytes than it can correct, 1 - product of P(wrong bytes <= parity / 2), where each bit is wrong independently with
/// `bit_error_rate`, 0 to 1. A packet counts even if all its wrong bytes are parity, and its data is right.
pub fn failure_probability(bit_error_rate: f64, data: usize, strength: Strength) -> f64 {
    let mut packet_is_right = 0.0;
    // Codewords of the same shape are adjacent, and there are at most four shapes.
    let mut last = (0, 0, 0.0);
    for codeword in codewords(data, strength) {
        let length = codeword.data + usize::from(codeword.parity);
        let correctable = usize::from(codeword.parity) / 2;
        if (last.0, last.1) != (length, correctable) {
            let failure = codeword_failure(bit_error_rate, length, correctable);
            last = (length, correctable, libm::log1p(-failure.min(1.0)));
        }
        packet_is_right += last.2;
    }
    -libm::expm1(packet_is_right)
}

/// Returns the probability that a codeword of `length` bytes has more wrong bytes than are `correctable`, where each bit is
/// wrong independently with `bit_error_rate`, 0 to 1.
pub fn codeword_failure(bit_error_rate: f64, length: usize, correctable: usize) -> f64 {
    let byte_is_right = 8.0 * libm::log1p(-bit_error_rate.clamp(0.0, 1.0));
    let byte_is_wrong = -libm::expm1(byte_is_right);
    more_than(correctable, length, byte_is_wrong, byte_is_right)
}

/// Returns the probability that a block of packets cannot be restored, 0 to 1: more of its packets are lost, each
/// independently with `loss`, than are `repairs`. A block counts even if all its lost packets are repair packets.
pub fn block_failure(loss: f64, sources: u8, repairs: u8) -> f64 {
    let loss = loss.clamp(0.0, 1.0);
    let packets = usize::from(sources) + usize::from(repairs);
    more_than(repairs.into(), packets, loss, libm::log1p(-loss))
}

/// Returns P(X > `most`) for X successes in `trials`, each with `probability`; `log_failure` is ln(1 - `probability`),
/// known more accurately than the difference. The sum begins at its largest term, so that no significant term is lost, and
/// ends on either side at the first term too small to change it: the terms beyond are smaller still.
fn more_than(most: usize, trials: usize, probability: f64, log_failure: f64) -> f64 {
    if probability <= 0.0 || most >= trials {
        return 0.0;
    }
    if probability >= 1.0 {
        return 1.0;
    }
    let n = trials as f64;
    let odds = probability / libm::exp(log_failure);
    let mode = libm::floor((n + 1.0) * probability) as usize;
    let largest = mode.clamp(most + 1, trials);
    let k = largest as f64;
    let ways = libm::lgamma(n + 1.0) - libm::lgamma(k + 1.0) - libm::lgamma(n - k + 1.0);
    let term = libm::exp(ways + k * libm::log(probability) + (n - k) * log_failure);
    let mut sum = term;
    let mut above = term;
    for k in largest..trials {
        above *= (trials - k) as f64 / (k + 1) as f64 * odds;
        if sum + above == sum {
            break;
        }
        sum += above;
    }
    let mut below = term;
    for k in (most + 2..=largest).rev() {
        below *= k as f64 / (trials - k + 1) as f64 / odds;
        if sum + below == sum {
            break;
        }
        sum += below;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks exact fractions from Python: sums of binomial terms with 8-bit symbols, by the layout's codewords.
    #[test]
    fn it_is_what_exact_fractions_give() {
        let cases = [
            (1e-4, 1500, 0, 6.988_238_604_031_688e-1),
            (1e-4, 1500, 8, 5.410_784_610_633_566e-3),
            (1e-4, 1500, 16, 7.549_477_427_488_279e-6),
            (1e-4, 1500, 32, 6.682_133_013_575_948e-14),
            (1e-6, 1500, 32, 7.869_966_964_728_569e-34),
            (1e-3, 1500, 96, 1.887_817_748_557_603_4e-19),
            (1e-9, 100, 4, 1.023_221_286_167_446e-60),
            (0.1, 40, 50, 9.999_986_248_594_612e-1),
            (0.3, 1, 2, 9.999_340_890_191_872e-1),
            (0.5, 500, 256, 1.0),
        ];
        for (rate, data, words, exact) in cases {
            let strength = Strength::from_words(words).expect("at most 256");
            let computed = failure_probability(rate, data, strength);
            let error = (computed / exact - 1.0).abs();
            assert!(error < 1e-10, "{rate} {data} {words}: {computed} {exact}");
        }
    }

    #[test]
    fn its_ends_are_never_and_always() {
        let strength = Strength::from_words(32).expect("at most 256");
        for (rate, expected) in [(0.0, 0.0), (-1.0, 0.0), (1.0, 1.0), (2.0, 1.0)] {
            assert_eq!(failure_probability(rate, 1500, strength), expected);
        }
        assert_eq!(failure_probability(1e-4, 0, strength), 0.0);
        assert_eq!(failure_probability(1.0, 1500, Strength::NONE), 1.0);
    }

    /// Checks that rounding does not leave the range near 1, the largest value of every sum of terms.
    #[test]
    fn it_grows_with_the_rate_and_stays_a_probability() {
        let strength = Strength::from_words(100).expect("at most 256");
        let rates = (0..=1_000).map(|step| f64::from(step) / 1_000.0);
        let all: Vec<f64> = rates
            .map(|rate| failure_probability(rate, 1500, strength))
            .collect();
        assert!(all.is_sorted());
        assert!(all.iter().all(|value| (0.0..=1.0).contains(value)));
    }
}
