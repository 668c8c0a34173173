//! The settings of a connection, agreed by both ends beforehand.

use crate::fec::erasure::BlockSize;
use crate::rate::DataRate;
use crate::time::Duration;

/// Reliability of a connection (study A, table I).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The code first, then retransmission by the sender's timers.
    Reliable,
    /// The code alone: lost data is skipped, and counted.
    QuasiReliable,
}

/// Settings of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configuration {
    /// Reliability.
    pub mode: Mode,
    /// Rate of IP packets, which nothing changes.
    pub rate: DataRate,
    /// Largest block of the code across TPDUs; `None` without the code.
    pub block: Option<BlockSize>,
    /// TPDUs that one acknowledgment covers, at least one.
    pub tpdus_per_acknowledgment: u8,
    /// Longest delay of an acknowledgment.
    pub acknowledgment_delay: Duration,
    /// Longest wait of a receiver without retransmission for a missing TPDU; a block is closed after half of it.
    pub reordering_wait: Duration,
    /// Capacity of the receiver's buffer in bytes; before the first report, also the sender's limit.
    pub receive_buffer: u32,
}

impl Configuration {
    /// Returns the defaults at a rate, all chosen, those that AeroTP has too as there.
    pub fn new(rate: DataRate) -> Configuration {
        Configuration {
            mode: Mode::Reliable,
            rate,
            block: None,
            tpdus_per_acknowledgment: 8,
            acknowledgment_delay: Duration::from_millis(10),
            reordering_wait: Duration::from_millis(100),
            receive_buffer: 4 << 20,
        }
    }
}
