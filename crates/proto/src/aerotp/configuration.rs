//! Configuration of a connection, chosen when it begins.

use crate::fec::erasure::BlockSize;
use crate::rate::DataRate;
use crate::time::Duration;
use crate::wire::aerotp::{Mode, Protection, ServiceClass};
use crate::wire::sequence::SequenceNumber;

/// Protection of packets against bit errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// Always so.
    Fixed(Protection),
    /// By the error rate that the peer measures: whatever promises the most goodput.
    Adaptive,
}

/// Configuration of a connection, given when it begins. The defaults are chosen; `docs/aerotp.md` says why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configuration {
    /// Guarantees of delivery.
    pub mode: Mode,
    /// Service class: the order in queues that look at it; at a listener it does not count: the end that opens says it.
    pub class: ServiceClass,
    /// The code within packets.
    pub coding: Coding,
    /// The code across packets, if there is one.
    pub blocks: Option<BlockSize>,
    /// Packets that one MACK acknowledges, at least one (study A, section IV-B).
    pub packets_per_mack: u8,
    /// The longest that a packet waits for its MACK.
    pub mack_delay: Duration,
    /// Bytes that are held until they are acknowledged; of a gateway, its custody.
    pub send_buffer: u32,
    /// Bytes that are held until they are read, and beyond a gap.
    pub receive_buffer: u32,
    /// Time for which a gap is waited for where nothing is sent again.
    pub reordering_wait: Duration,
    /// After so long without a word from the peer, with data or an end unacknowledged, the connection is given up. As long as
    /// that an outage may last.
    pub close_timeout: Duration,
    /// Time for which a receiver that has all still answers a peer that repeats its end.
    pub listen_timeout: Duration,
    /// The rate at the start, with IP headers, and the highest ever; from the layer below.
    pub initial_rate: DataRate,
    /// True if the application says what it has confirmed ([`Connection::confirm`](super::Connection::confirm)); else
    /// all data that is stored in order counts as confirmed.
    pub confirms: bool,
}

impl Configuration {
    /// Reliable, with coding by the measured error rate.
    pub fn new(initial_rate: DataRate) -> Configuration {
        Configuration {
            mode: Mode::Reliable,
            class: ServiceClass::default(),
            coding: Coding::Adaptive,
            blocks: None,
            packets_per_mack: 4,
            mack_delay: Duration::from_millis(10),
            send_buffer: 4 << 20,
            receive_buffer: 4 << 20,
            reordering_wait: Duration::from_millis(100),
            close_timeout: Duration::from_secs(300),
            listen_timeout: Duration::from_secs(10),
            initial_rate,
            confirms: false,
        }
    }
}

/// The ends of a connection, and what nobody else is to guess of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Own port.
    pub local_port: u16,
    /// The peer's port.
    pub remote_port: u16,
    /// Sequence number of the first byte.
    pub initial: SequenceNumber,
    /// The token by which the peer knows this end again.
    pub token: u32,
}
