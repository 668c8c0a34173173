//! Forward error correction by a link: packets are sent as codewords of a Reed–Solomon code over bytes, and arrive
//! undamaged if each codeword has no more wrong bytes than half its parity.
//!
//! Codewords of 255 bytes follow one another, the last one shortened; the bytes of framing are outside. The code is its
//! closed form here: no packet is encoded. A decoder that finds another codeword is not modelled.

use baton_proto::fec::failure::codeword_failure;

/// Bytes of a codeword, at most.
const LONGEST: u32 = 255;

/// Code of a link, by its parity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    parity: u8,
}

/// Coding of a direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coding {
    /// Present code.
    pub code: Code,
    /// Loss of full packets that the code is chosen for, by the measured bit error rate; `None` for a fixed code.
    pub loss: Option<Loss>,
}

/// Loss of full packets that a code is chosen for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Loss {
    /// This share.
    Of(f64),
    /// The least share that one of the sender's connections tolerates.
    AsConnectionsAsk,
}

/// Outcome of decoding a packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decoded {
    /// True if a codeword was not corrected.
    pub failed: bool,
    /// Positions of the packet's bits that are still wrong.
    pub wrong: Vec<u32>,
    /// Wrong bits that the decoder knows of: those corrected, and one more than it can correct in other codewords.
    pub counted: u32,
}

impl Code {
    /// Code that corrects one byte of a codeword.
    pub const WEAKEST: Code = Code { parity: 2 };
    /// Code that corrects 64 bytes of a codeword; half of it is parity.
    pub const STRONGEST: Code = Code { parity: 128 };

    /// Returns the code with so many parity bytes in a codeword; `None` unless they are 2 to 128, and even.
    pub fn with_parity(parity: u32) -> Option<Code> {
        let parity = u8::try_from(parity).ok()?;
        let is_valid = parity.is_multiple_of(2) && (2..=128).contains(&parity);
        is_valid.then_some(Code { parity })
    }

    /// Returns the parity bytes of a codeword.
    pub const fn parity(self) -> u32 {
        self.parity as u32
    }

    /// Returns the bytes of data in a full codeword.
    const fn data(self) -> u32 {
        LONGEST - self.parity()
    }

    /// Returns the wrong bytes that it corrects in a codeword.
    const fn correctable(self) -> u32 {
        self.parity() / 2
    }

    /// Returns the bytes of a packet of `length` bytes with its parity.
    pub const fn coded(self, length: u32) -> u32 {
        length + length.div_ceil(self.data()) * self.parity()
    }

    /// Returns the longest packet that takes at most so many bytes with its parity.
    pub const fn carried(self, bytes: u64) -> u64 {
        let (full, rest) = (bytes / LONGEST as u64, bytes % LONGEST as u64);
        full * self.data() as u64 + rest.saturating_sub(self.parity() as u64)
    }

    /// Returns the probability that a packet of `length` bytes is not corrected, if each bit is wrong independently.
    pub fn failure(self, bit_error_rate: f64, length: u32) -> f64 {
        let word = |data: u32| {
            let bytes = (data + self.parity()) as usize;
            codeword_failure(bit_error_rate, bytes, self.correctable() as usize)
        };
        let (full, rest) = (length / self.data(), length % self.data());
        let mut right = f64::from(full) * libm::log1p(-word(self.data()).min(1.0));
        if rest > 0 {
            right += libm::log1p(-word(rest).min(1.0));
        }
        -libm::expm1(right)
    }

    /// Returns the weakest code with which at most this share of packets of `length` bytes is lost; the strongest one if
    /// none suffices.
    pub fn weakest(bit_error_rate: f64, length: u32, loss: f64) -> Code {
        let all = (2..=128).step_by(2).map(|parity| Code { parity });
        let mut enough = all.filter(|code| code.failure(bit_error_rate, length) <= loss);
        enough.next().unwrap_or(Code::STRONGEST)
    }

    /// Decodes a packet of `length` bytes of which these bits, parity included, are wrong, in ascending order.
    pub fn decode(self, length: u32, wrong: &[u32]) -> Decoded {
        let mut decoded = Decoded::default();
        let number = |bit: u32| bit / (LONGEST * 8);
        for word in wrong.chunk_by(|a, b| number(*a) == number(*b)) {
            let bytes = word.chunk_by(|a, b| a / 8 == b / 8).count() as u32;
            if bytes <= self.correctable() {
                decoded.counted += word.len() as u32;
                continue;
            }
            decoded.failed = true;
            decoded.counted += self.correctable() + 1;
            let first = number(word[0]);
            let before = first * self.data();
            let data = self.data().min(length.saturating_sub(before));
            let within = word.iter().map(|bit| bit - first * LONGEST * 8);
            let of_data = within.filter(|bit| bit / 8 < data);
            decoded.wrong.extend(of_data.map(|bit| before * 8 + bit));
        }
        decoded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(parity: u32) -> Code {
        Code::with_parity(parity).unwrap()
    }

    #[test]
    fn a_packet_takes_its_codewords() {
        // The Reed–Solomon code (255, 223) of CCSDS 131.0-B: 1500 B are seven codewords, the last one of 162 B of data.
        assert_eq!(code(32).coded(1500), 1500 + 7 * 32);
        assert_eq!(code(32).coded(223), 255);
        assert_eq!(code(32).coded(224), 224 + 64);
        for bytes in 0..2000 {
            let length = code(32).carried(bytes) as u32;
            assert!(length == 0 || u64::from(code(32).coded(length)) <= bytes);
            assert!(u64::from(code(32).coded(length + 1)) > bytes);
        }
        assert_eq!([0, 1, 3, 129, 130].map(Code::with_parity), [None; 5]);
    }

    #[test]
    fn a_codeword_is_corrected_up_to_half_its_parity() {
        let code = code(4);
        // Two bytes of the first codeword, of which one has two wrong bits.
        let decoded = code.decode(300, &[0, 7, 80]);
        assert_eq!(
            decoded,
            Decoded {
                counted: 3,
                ..Decoded::default()
            }
        );
        // Three bytes of the second codeword, of 49 B of data: one in its data, two in its parity.
        let second = 255 * 8;
        let wrong = [5, second + 8, second + 49 * 8, second + 52 * 8];
        let decoded = code.decode(300, &wrong);
        assert_eq!((decoded.failed, decoded.counted), (true, 1 + 3));
        assert_eq!(decoded.wrong, [251 * 8 + 8]);
    }

    /// Sums of binomial terms in exact fractions, from Python.
    #[test]
    fn the_residual_loss_is_the_binomial_tail() {
        for (parity, rate, expected) in FRACTIONS {
            let computed = code(parity).failure(rate, 1500);
            assert!(
                (computed / expected - 1.0).abs() < 1e-9,
                "{parity} {rate}: {computed}"
            );
        }
        // By the same fractions, the least parity that leaves a loss of a thousandth.
        for (rate, parity) in [(1e-5, 4), (1e-4, 6), (1e-3, 18), (3e-3, 32), (1e-2, 74)] {
            assert_eq!(Code::weakest(rate, 1500, 1e-3), code(parity));
        }
        assert_eq!(Code::weakest(0.0, 1500, 1e-3), Code::WEAKEST);
        assert_eq!(Code::weakest(0.5, 1500, 1e-3), Code::STRONGEST);
    }

    /// Parity, bit error rate, and the probability that a packet of 1500 B is not corrected.
    const FRACTIONS: [(u32, f64, f64); 4] = [
        (2, 1e-4, 1.017_829_613_210_857e-1),
        (8, 1e-4, 1.435_552_654_049_284e-5),
        (16, 1e-3, 1.470_185_336_450_753e-3),
        (32, 3e-3, 9.308_671_517_172_586e-4),
    ];
}
