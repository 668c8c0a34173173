//! A packet's parity: its bytes are distributed over the fewest codewords that can hold them.
//!
//! The protected bytes come first, unchanged; `strength` words of parity follow. Of all these N bytes, byte i belongs
//! to codeword i mod I, where I = ceil(N / 255). The lengths of codewords, and their shares of the parity, therefore
//! differ by one byte at most, and a burst of errors is spread over all of them. In a codeword the bytes keep their
//! order: its data first, then its parity ([`super::reed_solomon`]). A codeword without data, possible only if the
//! parity is far longer than the data, is zeros and protects nothing.

use super::FecError;
use super::reed_solomon::{Code, LONGEST_CODEWORD};

/// Parity of a packet: 0 to 256 words of 32 bits, as in the study of AeroTP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Strength(u16);

impl Strength {
    /// No parity: nothing is added, and nothing corrected.
    pub const NONE: Strength = Strength(0);
    /// Most parity: 256 words.
    pub const MOST: Strength = Strength(256);

    /// Returns a strength of `words`; `None` above 256.
    pub fn from_words(words: u16) -> Option<Strength> {
        (words <= Self::MOST.0).then_some(Strength(words))
    }

    /// Returns the number of words of 32 bits.
    pub fn words(self) -> u16 {
        self.0
    }

    /// Returns the number of parity bytes of a packet.
    pub fn bytes(self) -> usize {
        usize::from(self.0) * 4
    }
}

/// Appends the parity of `data` to `out`: `strength.bytes()` bytes. The data may be of any length.
pub fn encode(data: &[u8], strength: Strength, out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + strength.bytes(), 0);
    let parity = &mut out[start..];
    for codeword in codewords(data.len(), strength) {
        let code = Code::with_parity(codeword.parity);
        let remainder = code.remainder(strided(data, &codeword));
        let from = codeword.first + codeword.data * codeword.stride - data.len();
        let places = parity.iter_mut().skip(from).step_by(codeword.stride);
        for (place, byte) in places.zip(&remainder[..code.parity()]) {
            *place = *byte;
        }
    }
}

/// Corrects data and parity in place and returns the number of wrong bytes. `erasures` are positions in the block, from
/// 0, of untrusted bytes. A packet with a correct checksum need not be decoded.
///
/// # Errors
/// Fails if a codeword has more errors than its parity can correct; the other codewords are still corrected. Fails
/// without any change if the block is shorter than its parity, or an erasure is not in it.
pub fn decode(block: &mut [u8], strength: Strength, erasures: &[usize]) -> Result<usize, FecError> {
    let length = block.len();
    let Some(data) = length.checked_sub(strength.bytes()) else {
        return Err(FecError::Length {
            actual: length,
            least: strength.bytes(),
            most: usize::MAX,
        });
    };
    if let Some(&position) = erasures.iter().find(|position| **position >= length) {
        return Err(FecError::ErasureOutside { position, length });
    }
    let mut corrected = Ok(0);
    for codeword in codewords(data, strength) {
        let found = decode_one(block, &codeword, erasures);
        corrected = corrected.and_then(|sum| Ok(sum + found?));
    }
    corrected
}

fn decode_one(
    block: &mut [u8],
    codeword: &Codeword,
    erasures: &[usize],
) -> Result<usize, FecError> {
    let mut bytes = [0; LONGEST_CODEWORD];
    let bytes = &mut bytes[..codeword.data + usize::from(codeword.parity)];
    for (byte, received) in bytes.iter_mut().zip(strided(block, codeword)) {
        *byte = received;
    }
    let own = |at: &&usize| **at % codeword.stride == codeword.first;
    let erased: Vec<usize> = (erasures.iter().filter(own))
        .map(|at| at / codeword.stride)
        .collect();
    let corrected = Code::with_parity(codeword.parity).decode(bytes, &erased)?;
    if corrected > 0 {
        let places = block.iter_mut().skip(codeword.first);
        for (place, byte) in places.step_by(codeword.stride).zip(bytes) {
            *place = *byte;
        }
    }
    Ok(corrected)
}

/// Positions of the bytes of one codeword, and its numbers of data and parity bytes.
pub(super) struct Codeword {
    /// Position of the first byte in the block.
    first: usize,
    /// Distance from one byte to the next: the number of codewords.
    stride: usize,
    /// Bytes of data, at least one.
    pub(super) data: usize,
    /// Bytes of parity.
    pub(super) parity: u8,
}

/// Returns the codewords of a block that have data.
pub(super) fn codewords(data: usize, strength: Strength) -> impl Iterator<Item = Codeword> {
    let block = data + strength.bytes();
    let stride = block.div_ceil(LONGEST_CODEWORD);
    (0..stride.min(data)).map(move |first| {
        let own = (data - first).div_ceil(stride);
        Codeword {
            first,
            stride,
            data: own,
            parity: ((block - first).div_ceil(stride) - own) as u8,
        }
    })
}

/// Returns the bytes of `block` in the codeword.
fn strided(block: &[u8], codeword: &Codeword) -> impl Iterator<Item = u8> {
    let own = block.iter().skip(codeword.first);
    own.step_by(codeword.stride).copied()
}

#[cfg(test)]
mod tests;
