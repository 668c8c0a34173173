//! Modulation and coding: capacity of a frame, and the signal that it needs.
//!
//! Forward link: bits per frame of the later LDACS specification. Return link: a tile has 134 data symbols, of which
//! the convolutional code takes 6 tail bits and the Reed–Solomon code about a tenth, in whole bytes with an even number
//! of parity bytes: RS(16, 14) for QPSK ½ (published) up to RS(74, 66) for 64QAM ¾. Study D's 270 to 1267 kbit/s are
//! 144 tiles of 14 B and of 66 B; the values between are derived.
//!
//! Required signal: QPSK ½ needs 8.7 dB (study D). The requirements of the others are not published; chosen are the
//! steps of IEEE 802.16's receiver table for the convolutional code (5, 8, 10.5, 16, 18 and 20 dB for QPSK ½ and ¾,
//! 16QAM ½ and 64QAM ½, ⅔ and ¾), with rate ⅔ interpolated by rate.

use baton_proto::rate::DataRate;

/// SNR in dB at which QPSK ½ has a bit error rate of 1e-6 on the forward link (study D, section 2.4).
pub const TARGET_SNR_DB: f64 = 8.7;

/// Modulation and rate of the convolutional code, the most robust first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)] // The names say it.
pub enum Modulation {
    QpskHalf,
    QpskTwoThirds,
    QpskThreeQuarters,
    Qam16Half,
    Qam16TwoThirds,
    Qam64Half,
    Qam64TwoThirds,
    Qam64ThreeQuarters,
}

impl Modulation {
    /// All modulations, the most robust first.
    pub const ALL: [Modulation; 8] = [
        Modulation::QpskHalf,
        Modulation::QpskTwoThirds,
        Modulation::QpskThreeQuarters,
        Modulation::Qam16Half,
        Modulation::Qam16TwoThirds,
        Modulation::Qam64Half,
        Modulation::Qam64TwoThirds,
        Modulation::Qam64ThreeQuarters,
    ];

    /// Returns its name in scenarios and tables.
    pub const fn name(self) -> &'static str {
        [
            "qpsk-1/2",
            "qpsk-2/3",
            "qpsk-3/4",
            "16qam-1/2",
            "16qam-2/3",
            "64qam-1/2",
            "64qam-2/3",
            "64qam-3/4",
        ][self as usize]
    }

    /// Returns the bytes of a frame of the forward link.
    pub const fn forward_bytes(self) -> u32 {
        [91, 120, 135, 182, 242, 272, 366, 412][self as usize]
    }

    /// Returns the bytes of a tile of the return link.
    pub const fn return_bytes(self) -> u32 {
        [14, 19, 22, 28, 39, 43, 58, 66][self as usize]
    }

    /// Returns the SNR in dB at which its errors are those of QPSK ½ at [`TARGET_SNR_DB`].
    pub fn required_snr_db(self) -> f64 {
        TARGET_SNR_DB + [0.0, 2.0, 3.0, 5.5, 7.8, 11.0, 13.0, 15.0][self as usize]
    }

    /// Returns the fastest modulation that `allowed` allows; QPSK ½ if it allows none.
    pub fn fastest(allowed: impl Fn(&Modulation) -> bool) -> Modulation {
        let fastest = Modulation::ALL.into_iter().rev().find(allowed);
        fastest.unwrap_or(Modulation::QpskHalf)
    }

    /// Returns the rate of a forward link with so many data frames per multiframe.
    pub fn forward_rate(self, data_frames: u32) -> DataRate {
        rate(self.forward_bytes() * data_frames)
    }

    /// Returns the rate of a return link with so many data tiles per multiframe.
    pub fn return_rate(self, data_tiles: u32) -> DataRate {
        rate(self.return_bytes() * data_tiles)
    }
}

/// Returns the rate of so many bytes per multiframe, of which there are four in 240 ms.
fn rate(bytes: u32) -> DataRate {
    DataRate::from_bits_per_second(u64::from(bytes) * 8 * 4 * 1000 / 240)
}

#[cfg(test)]
mod tests {
    use super::super::frame::data_tiles;
    use super::*;

    #[test]
    fn d0_rates_of_a_cell() {
        let kilobits = |rate: DataRate| rate.bits_per_second() as f64 / 1e3;
        let [slow, .., fast] = Modulation::ALL;
        // Study D: 291 to 1318 kbit/s; the later LDACS with 26 data frames: 315.5 to 1428.
        assert!((kilobits(slow.forward_rate(24)) - 291.2).abs() < 0.01);
        assert!((kilobits(fast.forward_rate(24)) - 1318.4).abs() < 0.01);
        assert!((kilobits(slow.forward_rate(26)) - 315.47).abs() < 0.01);
        assert!((kilobits(fast.forward_rate(26)) - 1428.27).abs() < 0.01);
        // Derived from the later specification: 294.9 kbit/s with 158 tiles.
        assert!((kilobits(slow.return_rate(data_tiles(1))) - 294.93).abs() < 0.01);
        // Study D: 270 to 1267 kbit/s, which 144 tiles fit (268.8 and 1267.2): 16 aircraft in the control channel.
        assert_eq!(data_tiles(16), 144);
        assert!((kilobits(slow.return_rate(144)) - 270.0).abs() < 1.5);
        assert!((kilobits(fast.return_rate(144)) - 1267.0).abs() < 0.5);
    }

    #[test]
    fn a_better_signal_allows_a_faster_modulation() {
        let fastest_at =
            |snr_db| Modulation::fastest(|modulation| modulation.required_snr_db() <= snr_db);
        assert_eq!(fastest_at(-3.0), Modulation::QpskHalf);
        assert_eq!(fastest_at(8.7), Modulation::QpskHalf);
        assert_eq!(fastest_at(14.2), Modulation::Qam16Half);
        assert_eq!(fastest_at(40.0), Modulation::Qam64ThreeQuarters);
    }
}
