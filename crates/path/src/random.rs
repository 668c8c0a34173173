//! Randomness from one seed of the caller's: this crate reads no source of its own.

use crate::hash;

/// Generator with forward secrecy: each draw replaces the key, so that later states do not reveal earlier draws.
pub(crate) struct Random {
    key: [u8; 32],
}

impl Random {
    /// Creates a generator from 32 unpredictable bytes.
    pub(crate) fn new(seed: [u8; 32]) -> Random {
        Random { key: seed }
    }

    /// Draws 32 bytes.
    pub(crate) fn bytes(&mut self) -> [u8; 32] {
        let drawn = hash::derive(&self.key, &[1]);
        self.key = hash::derive(&self.key, &[0]);
        drawn
    }

    /// Draws a number.
    pub(crate) fn number(&mut self) -> u32 {
        let [first, second, third, fourth, ..] = self.bytes();
        u32::from_le_bytes([first, second, third, fourth])
    }
}
