//! Systematic Reed–Solomon codes over GF(2^8): polynomial 0x11D, generator with the roots alpha^0 to alpha^(r-1) for r
//! parity bytes (first consecutive root 0, as in Python's `reedsolo` and QR codes).
//!
//! A codeword is the data, at most 255 - r bytes, followed by its parity; shorter ones are codewords of a shortened
//! code.

mod decoder;

use super::FecError;
use super::field::{multiply, power};
use std::sync::OnceLock;

/// Most bytes in a codeword, data and parity.
pub const LONGEST_CODEWORD: usize = 255;

/// Words of 64 bits that hold `LONGEST_CODEWORD` parity bytes.
const MOST_WORDS: usize = 32;

/// The code with a given number of parity bytes. Its tables are computed at its first use, in some microseconds, and
/// shared: they depend on that number alone, and take at most 64 KiB each.
pub struct Code {
    parity: u8,
    /// Row length, in words of 64 bits.
    words: usize,
    /// Remainders of v x^r for each byte value v, highest coefficient first, zeros behind: `words` words a row.
    rows: Vec<u64>,
}

/// Bytes of a remainder, highest coefficient first; those beyond the parity are zero.
type Remainder = [u8; MOST_WORDS * 8];

impl Code {
    /// Returns the code with `parity` parity bytes a codeword; without parity nothing can be corrected.
    pub fn with_parity(parity: u8) -> &'static Code {
        static CODES: [OnceLock<Code>; 256] = [const { OnceLock::new() }; 256];
        CODES[usize::from(parity)].get_or_init(|| Code::new(parity))
    }

    fn new(parity: u8) -> Code {
        // The generator without its leading 1, highest coefficient first: each root multiplies by (x - root).
        let mut generator: Remainder = [0; MOST_WORDS * 8];
        for degree in 0..usize::from(parity) {
            let root = power(degree as u16);
            let mut leading = 1;
            for coefficient in &mut generator[..=degree] {
                let next = *coefficient;
                *coefficient = next ^ multiply(root, leading);
                leading = next;
            }
        }
        let words = width(parity);
        let rows = (0..=255_u8).flat_map(|value| {
            let row = generator.map(|coefficient| multiply(value, coefficient));
            (0..words).map(move |word| {
                u64::from_be_bytes(core::array::from_fn(|byte| row[word * 8 + byte]))
            })
        });
        Code {
            parity,
            words,
            rows: rows.collect(),
        }
    }

    /// Returns the number of parity bytes of a codeword.
    pub fn parity(&self) -> usize {
        usize::from(self.parity)
    }

    /// Appends the parity of `data` to `out`.
    ///
    /// # Errors
    /// Fails if data and parity are longer than a codeword.
    pub fn encode(&self, data: &[u8], out: &mut Vec<u8>) -> Result<(), FecError> {
        self.check_length(data.len() + self.parity())?;
        let remainder = self.remainder(data.iter().copied());
        out.extend_from_slice(&remainder[..self.parity()]);
        Ok(())
    }

    fn check_length(&self, codeword: usize) -> Result<(), FecError> {
        if (self.parity()..=LONGEST_CODEWORD).contains(&codeword) {
            return Ok(());
        }
        Err(FecError::Length {
            actual: codeword,
            least: self.parity(),
            most: LONGEST_CODEWORD,
        })
    }

    /// Returns the remainder of the data, shifted by the parity's length, by the generator: its parity.
    pub(super) fn remainder(&self, data: impl Iterator<Item = u8>) -> Remainder {
        match self.words {
            1 => remainder::<1>(&self.rows, data),
            2 => remainder::<2>(&self.rows, data),
            3 => remainder::<3>(&self.rows, data),
            4 => remainder::<4>(&self.rows, data),
            6 => remainder::<6>(&self.rows, data),
            8 => remainder::<8>(&self.rows, data),
            12 => remainder::<12>(&self.rows, data),
            16 => remainder::<16>(&self.rows, data),
            _ => remainder::<MOST_WORDS>(&self.rows, data),
        }
    }
}

/// Returns the number of words of a row for so many parity bytes, one of the widths for which [`Code::remainder`] is
/// compiled.
fn width(parity: u8) -> usize {
    let needed = usize::from(parity).div_ceil(8);
    let widths = [1, 2, 3, 4, 6, 8, 12, 16];
    let fitting = widths.into_iter().find(|width| *width >= needed);
    fitting.unwrap_or(MOST_WORDS)
}

/// Divides by the generator a byte at a time: the quotient's next coefficient selects the row to subtract.
fn remainder<const WORDS: usize>(rows: &[u64], data: impl Iterator<Item = u8>) -> Remainder {
    let (rows, _) = rows.as_chunks::<WORDS>();
    let mut state = [0_u64; WORDS];
    if let Ok(rows) = <&[[u64; WORDS]; 256]>::try_from(rows) {
        for byte in data {
            let row = &rows[usize::from((state[0] >> 56) as u8 ^ byte)];
            for word in 0..WORDS - 1 {
                state[word] = (state[word] << 8 | state[word + 1] >> 56) ^ row[word];
            }
            state[WORDS - 1] = state[WORDS - 1] << 8 ^ row[WORDS - 1];
        }
    }
    let mut bytes = [0; MOST_WORDS * 8];
    for (bytes, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(state) {
        *bytes = word.to_be_bytes();
    }
    bytes
}

#[cfg(test)]
mod tests;
