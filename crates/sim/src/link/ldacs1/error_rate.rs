//! Frame error rates, by the signal.
//!
//! Of the published curve (study D, figure 4) one point per direction is known, at an SNR of 8.7 dB: 6.28e-2 for a tile
//! of the return link and 6.31e-5 for a frame of the forward link, both with QPSK ½. Elsewhere the error rate changes
//! by a factor of ten per decibel (chosen: the behaviour of a concatenated code in its steep part), and never exceeds
//! one. Other modulations have the same curve at their own required signal. A [table](ErrorTable) has a curve for each.
//!
//! With joint coding all tiles of one burst are interleaved together. The one known value is a loss of 1e-2 instead of
//! 0.322 for six tiles (study D, section 6). A single tile cannot gain; between one and six tiles the logarithm of the
//! loss is linear in that of the number of tiles, and longer bursts gain no more (chosen, cautiously).

use super::error_table::ErrorTable;
use super::modulation::Modulation;
use crate::link::cells::Direction;
use std::sync::Arc;

/// Loss of a tile on the return link at the known point.
pub const RETURN_AT_TARGET: f64 = 6.28e-2;
/// Loss of a frame on the forward link at the known point.
pub const FORWARD_AT_TARGET: f64 = 6.31e-5;
/// Loss of a jointly coded burst of [`JOINT_TILES`] tiles at the known point.
const JOINT_AT_TARGET: f64 = 1e-2;
const JOINT_TILES: f64 = 6.0;
/// Change of the signal in dB that changes the error rate tenfold.
const DECIBELS_A_DECADE: f64 = 1.0;

/// Largest loss by a table at which adaptive modulation takes a modulation (chosen: a hundredth of the frames must then be
/// repeated).
const ADAPTED_LOSS: f64 = 1e-2;

/// Source of error rates.
#[derive(Clone, Debug, PartialEq)]
pub enum ErrorRates {
    /// Error rates of the known point, wherever the aircraft is, as in study D.
    AtTarget,
    /// Error rates by the signal that the aircraft and the base station receive.
    BySignal,
    /// Error rates by that signal, from a table. It has none of jointly coded bursts, which scenarios therefore refuse.
    Table(Arc<ErrorTable>),
    /// No errors.
    Perfect,
}

impl ErrorRates {
    /// Returns the loss of a frame of the forward link at an SNR in dB.
    pub fn forward(&self, modulation: Modulation, snr_db: f64) -> f64 {
        self.at(Direction::Forward, FORWARD_AT_TARGET, modulation, snr_db)
    }

    /// Returns the loss of a tile of the return link.
    pub fn tile(&self, modulation: Modulation, snr_db: f64) -> f64 {
        self.at(Direction::Return, RETURN_AT_TARGET, modulation, snr_db)
    }

    /// Returns the loss of a jointly coded burst of so many tiles.
    pub fn burst(&self, modulation: Modulation, snr_db: f64, tiles: u32) -> f64 {
        let slope = libm::log(JOINT_AT_TARGET / RETURN_AT_TARGET) / libm::log(JOINT_TILES);
        let gain = libm::pow(f64::from(tiles.max(1)).min(JOINT_TILES), slope);
        self.at(
            Direction::Return,
            RETURN_AT_TARGET * gain,
            modulation,
            snr_db,
        )
    }

    /// Returns the fastest modulation that a signal allows; QPSK ½ if it allows none.
    pub fn fastest(&self, direction: Direction, snr_db: f64) -> Modulation {
        Modulation::fastest(|modulation| match self {
            ErrorRates::Table(table) => table.rate(direction, *modulation, snr_db) <= ADAPTED_LOSS,
            _ => modulation.required_snr_db() <= snr_db,
        })
    }

    fn at(&self, direction: Direction, at_target: f64, modulation: Modulation, snr_db: f64) -> f64 {
        match self {
            ErrorRates::AtTarget => at_target,
            ErrorRates::BySignal => {
                let excess_db = snr_db - modulation.required_snr_db();
                let factor = libm::pow(10.0, -excess_db / DECIBELS_A_DECADE);
                (at_target * factor).min(1.0)
            }
            ErrorRates::Table(table) => table.rate(direction, modulation, snr_db),
            ErrorRates::Perfect => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: (Modulation, f64) = (Modulation::QpskHalf, 8.7);

    #[test]
    fn the_known_points_and_the_slope() {
        let rates = ErrorRates::BySignal;
        assert_eq!(rates.forward(AT.0, AT.1), 6.31e-5);
        assert_eq!(rates.tile(AT.0, AT.1), 6.28e-2);
        assert!((rates.tile(AT.0, 9.7) - 6.28e-3).abs() < 1e-12);
        assert_eq!(rates.tile(AT.0, -21.3), 1.0);
        // 16QAM ½ needs 5.5 dB more.
        assert!((rates.tile(Modulation::Qam16Half, 14.2) - 6.28e-2).abs() < 1e-12);
        assert_eq!(ErrorRates::AtTarget.tile(AT.0, -21.3), 6.28e-2);
    }

    #[test]
    fn six_jointly_coded_tiles_are_lost_once_in_a_hundred() {
        let burst = |tiles| ErrorRates::AtTarget.burst(AT.0, AT.1, tiles);
        assert!((burst(6) - 1e-2).abs() < 1e-9);
        assert!((burst(1) - 6.28e-2).abs() < 1e-9);
        assert!(burst(3) < burst(2));
        assert_eq!(burst(60), burst(6));
    }

    #[test]
    fn a_table_gives_the_rates_and_the_fastest_modulation() {
        let text = "direction,modulation,snr_db,frame_error_rate\n\
                    forward,qpsk-1/2,8,1e-3\n\
                    return,qpsk-1/2,8,0.2\n\
                    forward,qpsk-3/4,8,1\n\
                    forward,qpsk-3/4,12,1e-4\n";
        let table = ErrorTable::parse_csv("errors.csv", text).unwrap();
        let rates = ErrorRates::Table(Arc::new(table));
        assert!((rates.forward(AT.0, AT.1) - 1e-3).abs() < 1e-9);
        assert!((rates.tile(AT.0, AT.1) - 0.2).abs() < 1e-9);
        // QPSK ¾ loses a hundredth at 10 dB, a decade less each dB.
        let fastest = |snr_db| rates.fastest(Direction::Forward, snr_db);
        assert_eq!(fastest(9.9), Modulation::QpskHalf);
        assert_eq!(fastest(10.1), Modulation::QpskThreeQuarters);
    }
}
