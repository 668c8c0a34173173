//! Frame error rates, by the signal.
//!
//! Of the published curve (study D, figure 4) one point per direction is known, at an SNR of 8.7 dB: 6.28e-2 for a tile
//! of the return link and 6.31e-5 for a frame of the forward link, both with QPSK ½. Elsewhere the error rate changes
//! by a factor of ten per decibel (chosen: the behaviour of a concatenated code in its steep part), and never exceeds
//! one. Other modulations have the same curve at their own required signal.
//!
//! With joint coding all tiles of one burst are interleaved together. The one known value is a loss of 1e-2 instead of
//! 0.322 for six tiles (study D, section 6). A single tile cannot gain; between one and six tiles the logarithm of the
//! loss is linear in that of the number of tiles, and longer bursts gain no more (chosen, cautiously).

/// Loss of a tile on the return link at the known point.
pub const RETURN_AT_TARGET: f64 = 6.28e-2;
/// Loss of a frame on the forward link at the known point.
pub const FORWARD_AT_TARGET: f64 = 6.31e-5;
/// Loss of a jointly coded burst of [`JOINT_TILES`] tiles at the known point.
const JOINT_AT_TARGET: f64 = 1e-2;
const JOINT_TILES: f64 = 6.0;
/// Change of the signal in dB that changes the error rate tenfold.
const DECIBELS_A_DECADE: f64 = 1.0;

/// Source of error rates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorRates {
    /// Error rates of the known point, wherever the aircraft is, as in study D.
    AtTarget,
    /// Error rates by the signal that the aircraft and the base station receive.
    BySignal,
    /// No errors.
    Perfect,
}

impl ErrorRates {
    /// Returns the loss of a frame of the forward link if the signal exceeds the modulation's requirement by so many
    /// dB.
    pub fn forward(self, excess_db: f64) -> f64 {
        self.at(FORWARD_AT_TARGET, excess_db)
    }

    /// Returns the loss of a tile of the return link.
    pub fn tile(self, excess_db: f64) -> f64 {
        self.at(RETURN_AT_TARGET, excess_db)
    }

    /// Returns the loss of a jointly coded burst of so many tiles.
    pub fn burst(self, excess_db: f64, tiles: u32) -> f64 {
        let slope = libm::log(JOINT_AT_TARGET / RETURN_AT_TARGET) / libm::log(JOINT_TILES);
        let gain = libm::pow(f64::from(tiles.max(1)).min(JOINT_TILES), slope);
        self.at(RETURN_AT_TARGET * gain, excess_db)
    }

    fn at(self, at_target: f64, excess_db: f64) -> f64 {
        match self {
            ErrorRates::AtTarget => at_target,
            ErrorRates::BySignal => {
                let factor = libm::pow(10.0, -excess_db / DECIBELS_A_DECADE);
                (at_target * factor).min(1.0)
            }
            ErrorRates::Perfect => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_known_points_and_the_slope() {
        let rates = ErrorRates::BySignal;
        assert_eq!(rates.forward(0.0), 6.31e-5);
        assert_eq!(rates.tile(0.0), 6.28e-2);
        assert!((rates.tile(1.0) - 6.28e-3).abs() < 1e-12);
        assert_eq!(rates.tile(-30.0), 1.0);
        assert_eq!(ErrorRates::AtTarget.tile(-30.0), 6.28e-2);
    }

    #[test]
    fn six_jointly_coded_tiles_are_lost_once_in_a_hundred() {
        let rates = ErrorRates::AtTarget;
        assert!((rates.burst(0.0, 6) - 1e-2).abs() < 1e-9);
        assert!((rates.burst(0.0, 1) - 6.28e-2).abs() < 1e-9);
        assert!(rates.burst(0.0, 3) < rates.burst(0.0, 2));
        assert_eq!(rates.burst(0.0, 60), rates.burst(0.0, 6));
    }
}
