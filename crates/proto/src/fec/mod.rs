//! Forward error correction: Reed–Solomon codes over GF(2^8).
//!
//! [`interleaved`] adds parity to one packet, to correct bytes damaged by a channel in place; it consists of codewords
//! of [`reed_solomon`]. [`meter`] estimates the bit error rate of a channel. [`erasure`] adds whole repair packets to a block of packets, to restore lost ones. Neither
//! verifies packets: with more errors than it can correct, a decoder may find another codeword, so the payload's
//! checksum decides.

pub mod erasure;
pub mod failure;
mod field;
pub(crate) mod golay;
pub mod interleaved;
pub mod meter;
pub mod reed_solomon;
#[cfg(test)]
mod test_util;

/// Reason why a codeword, or a packet of codewords, was not coded or not corrected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FecError {
    /// More wrong bytes than the parity can correct: of errors at unknown positions half as many as parity bytes, of
    /// erasures as many.
    #[error("more bytes are wrong than the parity can correct")]
    Uncorrectable,
    /// A block shorter than its parity or longer than a codeword.
    #[error("a block of {actual} bytes where {least} to {most} were expected")]
    Length {
        /// Actual length, in bytes.
        actual: usize,
        /// Shortest length.
        least: usize,
        /// Longest length.
        most: usize,
    },
    /// An erasure outside the block.
    #[error("an erasure at byte {position} of a block of {length} bytes")]
    ErasureOutside {
        /// Position of the erasure, from 0.
        position: usize,
        /// Bytes in the block.
        length: usize,
    },
}
