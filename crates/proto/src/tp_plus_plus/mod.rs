//! TP++, the transport of D. Feldmeier, A. McAuley and others at Bellcore (1990 to 1994), as far as study A's table I
//! and their articles describe it (docs/models/tp-plus-plus.md).
//!
//! - [`connection`]: calls, packets and deadlines; output in `output`
//! - [`sender`]: data cut into TPDUs, and their retransmission by timers
//! - [`receiver`]: TPDUs put together from chunks in any order, acknowledgments, the limit
//! - [`assembly`]: one TPDU of which chunks have arrived
//! - [`blocks`]: the erasure code across TPDUs
//! - [`timeout`]: the retransmission timeout

mod assembly;
mod blocks;
mod configuration;
mod connection;
mod output;
mod receiver;
mod sender;
mod timeout;

pub use configuration::{Configuration, Mode};
pub use connection::{Connection, Event, Statistics, Transmission};

#[cfg(test)]
mod tests;
