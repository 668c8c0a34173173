//! Forward error correction: Reed–Solomon codes over GF(2^8).
//!
//! [`interleaved`] adds parity to one packet, so that bytes that a channel has damaged are corrected in place; it is
//! made of codewords of [`reed_solomon`]. [`erasure`] adds whole repair packets to a block of packets, so that lost
//! ones are restored. Nothing here says which packet is right: a decoder that is given more errors than it can
//! correct may find another codeword, so the payload's checksum decides.

pub mod erasure;
pub mod failure;
mod field;
pub mod interleaved;
pub mod reed_solomon;
#[cfg(test)]
mod test_util;

/// Reason why a codeword, or a packet made of codewords, was not coded or not corrected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FecError {
    /// More bytes are wrong than the parity can correct: of errors at unknown places half as many as parity bytes,
    /// of erasures as many.
    #[error("more bytes are wrong than the parity can correct")]
    Uncorrectable,
    /// The block is shorter than its parity or longer than a codeword.
    #[error("a block of {actual} bytes where {least} to {most} were expected")]
    Length {
        /// Bytes that there are.
        actual: usize,
        /// The fewest bytes that it may have.
        least: usize,
        /// The most bytes that it may have.
        most: usize,
    },
    /// An erasure is not in the block.
    #[error("an erasure at byte {position} of a block of {length} bytes")]
    ErasureOutside {
        /// Its alleged place, from 0.
        position: usize,
        /// Bytes in the block.
        length: usize,
    },
}
