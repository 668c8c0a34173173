//! Two-ray model: a straight ray and one reflected by the ground, between antennas at a height.
//!
//! Nearby, the straight ray alone counts (Friis: the power falls with the square of the distance). Beyond the distance
//! at which both formulas agree, 4π h₁ h₂ / λ, the rays nearly cancel out and the power falls with the fourth power:
//! h₁² h₂² / d⁴ (Rappaport, Wireless Communications, sections 4.2 and 4.6; study S's path-loss exponent of 4). Antennas
//! have no gain, and the ground reflects perfectly.

/// Speed of light in m/s.
const LIGHT: f64 = 299_792_458.0;

/// A transmitter, and the antennas at both ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwoRay {
    /// Power of the transmitter in dBm.
    pub transmit_power_dbm: f64,
    /// Frequency in Hz.
    pub frequency_hz: f64,
    /// Heights of the antennas above the ground in metres, above zero.
    pub heights_m: [f64; 2],
}

impl TwoRay {
    /// Returns the distance in metres from which the power falls with its fourth power.
    pub fn crossover_m(&self) -> f64 {
        let [one, other] = self.heights_m;
        4.0 * core::f64::consts::PI * one * other * self.frequency_hz / LIGHT
    }

    /// Returns the power received at `distance_m` metres; within a metre it is that at a metre.
    pub fn received_dbm(&self, distance_m: f64) -> f64 {
        let distance_m = distance_m.max(1.0);
        if distance_m < self.crossover_m() {
            self.transmit_power_dbm - 20.0 * libm::log10(distance_m / self.friis_m())
        } else {
            self.transmit_power_dbm - 40.0 * libm::log10(distance_m / self.mean_height_m())
        }
    }

    /// Returns the distance in metres up to which at least `power_dbm` is received.
    pub fn range_m(&self, power_dbm: f64) -> f64 {
        let loss_db = self.transmit_power_dbm - power_dbm;
        let near = self.friis_m() * libm::pow(10.0, loss_db / 20.0);
        if near < self.crossover_m() {
            near
        } else {
            self.mean_height_m() * libm::pow(10.0, loss_db / 40.0)
        }
    }

    /// Returns the distance at which the straight ray would have no loss: λ / 4π.
    fn friis_m(&self) -> f64 {
        LIGHT / (4.0 * core::f64::consts::PI * self.frequency_hz)
    }

    fn mean_height_m(&self) -> f64 {
        let [one, other] = self.heights_m;
        (one * other).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Study S's access point, with ns-2's antennas.
    const STUDY: TwoRay = TwoRay {
        transmit_power_dbm: 20.0,
        frequency_hz: 2.4e9,
        heights_m: [1.5, 1.5],
    };

    #[test]
    fn the_range_at_the_threshold_is_the_closed_form() {
        // 100 dB: d⁴ = 10¹⁰ · (1.5 · 1.5)², so d = 10^2.5 · 1.5 = 474.34 m.
        assert!((STUDY.range_m(-80.0) - 474.342).abs() < 1e-3);
        assert!((STUDY.received_dbm(474.342) + 80.0).abs() < 1e-4);
        // A margin of 3 dB is 10^(-3/40) of the range (study S, equation 6).
        let share = STUDY.range_m(-77.0) / STUDY.range_m(-80.0);
        assert!((share - 0.841_395).abs() < 1e-6);
        // Twice the distance costs 12.04 dB far away, 6.02 dB near by.
        assert!((STUDY.received_dbm(300.0) - STUDY.received_dbm(600.0) - 12.0412).abs() < 1e-4);
        assert!((STUDY.received_dbm(50.0) - STUDY.received_dbm(100.0) - 6.0206).abs() < 1e-4);
    }

    #[test]
    fn near_by_it_is_free_space_and_the_two_meet() {
        // Friis at 2.4 GHz: 20 log10(4π · 100 m / 0.124914 m) = 80.05 dB.
        assert!((STUDY.received_dbm(100.0) - (20.0 - 80.052)).abs() < 1e-3);
        let crossover = STUDY.crossover_m();
        assert!((crossover - 226.35).abs() < 0.01);
        let gap = STUDY.received_dbm(crossover * 0.999_999) - STUDY.received_dbm(crossover);
        assert!(gap.abs() < 1e-4);
        for distance in [2.0, 80.0, 226.0, 227.0, 900.0] {
            let back = STUDY.range_m(STUDY.received_dbm(distance));
            assert!(
                (back - distance).abs() < 1e-6 * distance,
                "{distance}: {back}"
            );
        }
    }
}
