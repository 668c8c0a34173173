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
    /// By the bit error rate that the peer measures: the highest expected goodput.
    Adaptive,
}

/// Repair packets against lost packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocks {
    /// Always so many.
    Fixed(BlockSize),
    /// By the packet loss that the peer reports, and more over a link that is about to go down; none on a clean link.
    Adaptive,
}

/// Configuration of a connection, given when it begins. The defaults are chosen; `docs/aerotp.md` says why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configuration {
    /// Guarantees of delivery.
    pub mode: Mode,
    /// Service class: the precedence in queues that respect it. Ignored at a listener: the end that opens the
    /// connection chooses it.
    pub class: ServiceClass,
    /// The code within packets.
    pub coding: Coding,
    /// The code across packets, if there is one.
    pub blocks: Option<Blocks>,
    /// Packets that one MACK acknowledges, at least one (study A, section IV-B).
    pub packets_per_mack: u8,
    /// Longest delay of a packet's MACK.
    pub mack_delay: Duration,
    /// Size of the buffer for data not yet acknowledged; at a gateway, its custody.
    pub send_buffer: u32,
    /// Size of the buffer for data not yet read, also beyond a gap.
    pub receive_buffer: u32,
    /// Longest wait for a gap to close in modes without retransmission.
    pub reordering_wait: Duration,
    /// Time without packets from the peer, while data or an AFIN is unacknowledged, after which the connection is given
    /// up: the longest outage to survive.
    pub close_timeout: Duration,
    /// Time for which a receiver that has all data still answers a peer's repeated AFIN.
    pub listen_timeout: Duration,
    /// Share of packets that the link's own code may lose, in millionths, as asked of the medium in the mode that leaves
    /// errors to the link ([`Connection::tolerated_loss`](super::Connection::tolerated_loss)).
    pub tolerated_loss_ppm: u32,
    /// Initial and highest rate, with IP headers; from the layer below.
    pub initial_rate: DataRate,
    /// True if the application tells what it has confirmed ([`Connection::confirm`](super::Connection::confirm));
    /// otherwise all data stored in order counts as confirmed.
    pub confirms: bool,
    /// True if only the peer can send packets by the paths, which authenticate them: a reset without its token and a
    /// second opening then count at any time, as those of a peer that has lost its state.
    pub trusts_paths: bool,
    /// True if written data is kept until the far end has confirmed it, not only until the peer has it: a peer that
    /// restarts can then be sent it again.
    pub keeps_until_confirmed: bool,
}

impl Configuration {
    /// Creates a configuration of the reliable mode, with coding by the measured error rate.
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
            tolerated_loss_ppm: 1000,
            initial_rate,
            confirms: false,
            trusts_paths: false,
            keeps_until_confirmed: false,
        }
    }
}

/// The ends of a connection, and its numbers that others must not guess.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Own port.
    pub local_port: u16,
    /// The peer's port.
    pub remote_port: u16,
    /// Sequence number of the first byte.
    pub initial: SequenceNumber,
    /// The token by which the peer recognizes this end.
    pub token: u32,
}
