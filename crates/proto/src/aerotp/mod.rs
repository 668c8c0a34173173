//! AeroTP (study A; `docs/aerotp.md` is its specification) as one sans-IO [`Connection`].
//!
//! # Calling protocol
//! As that of [`crate::tcp`]: hand in what happened, with the time; drain [`Connection::poll_event`] and let the application
//! read and write; drain [`Connection::poll_transmit`] and send; ask [`Connection::poll_timeout`] when to call
//! [`Connection::handle_timeout`] at the latest. A link's state and rate, and what routers say of congestion, are handed in too:
//! the sender's rate is set by these and not by losses.
//!
//! # Scope
//! Set-up with the first packet that arrives, five modes, selective repeat by aggregated acknowledgments, Reed–Solomon codes in
//! packets and erasure codes across them, a rate instead of a window, several paths at once, and connections that outlive
//! outages and addresses. Gateways between TCP or UDP and AeroTP are [`crate::host`]'s.

mod adaptation;
mod arrivals;
mod blocks;
mod configuration;
mod connection;
mod error_meter;
mod input;
mod macks;
mod output;
mod path;
mod rate;
mod receiver;
mod redundancy;
mod resumption;
mod sender;
mod spreading;
#[cfg(test)]
mod tests;
mod timers;

pub use adaptation::{Choice, choose};
pub use configuration::{Blocks, Coding, Configuration, Identity};
pub use connection::{Connection, Statistics, timestamp};
pub(crate) use error_meter::ErrorMeter;
pub use output::reset_reply;
pub use path::PathId;
pub(crate) use rate::RateControl;
pub use redundancy::Fates;
pub(crate) use redundancy::LossMeter;
pub use resumption::Past;

use crate::packet::Payload;
use crate::time::{Duration, Instant};
use crate::wire::aerotp::AerotpPacket;
use arrivals::Arrivals;
use core::net::IpAddr;

/// A packet to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transmission {
    /// The path to send it over.
    pub path: PathId,
    /// Source and destination.
    pub addresses: (IpAddr, IpAddr),
    /// The packet.
    pub packet: AerotpPacket,
    /// True for retransmitted data.
    pub retransmission: bool,
}

/// A path as the peer's latest MACK shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measurement {
    /// The path that the MACK took, and the packet that it answers.
    pub path: PathId,
    /// Round-trip time of that packet.
    pub rtt: Duration,
    /// Time at which that packet left.
    pub left: Instant,
    /// Bytes of data sent over the path that have arrived since the last measurement.
    pub arrived: u64,
    /// Packets of all paths whose fate has become known since the last measurement.
    pub fates: Fates,
    /// True if the MACK reports packets that have met congestion.
    pub has_met_congestion: bool,
}

/// An event for the application. Each kind but `Reset` may come again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// First packet from the peer.
    Established,
    /// Data to read.
    Readable,
    /// Room to write again, after there was none.
    Writable,
    /// So many bytes are skipped, in a mode without retransmission.
    Skipped(u64),
    /// The peer has confirmed more of the written data ([`Connection::confirmed`]).
    Confirmed,
    /// All data of the peer has arrived, its end too.
    Finished,
    /// All written data is acknowledged, its end too.
    Delivered,
    /// The peer has reset the connection, or refused it.
    Reset,
    /// No packets from the peer for too long; the connection is given up.
    TimedOut,
    /// The connection is over.
    Closed,
}

/// The states of study A's Table II.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// No connection.
    Closed,
    /// ASYN was sent, and nothing received.
    AsynSent,
    /// Data goes both ways.
    Established,
    /// AFIN was sent: no new data is sent.
    AfinSent,
    /// AFIN was received: no new data arrives.
    AfinReceived,
}

/// Data that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// The data.
    pub payload: Payload,
    /// True if its last byte ends a record, as the peer wrote it.
    pub ends_record: bool,
}
