//! Records of a run: series and packets in columns.

use crate::link::{DropReason, End};
use baton_proto::packet::Packet;
use baton_proto::time::Instant;

/// A number that changes in the course of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Quantity {
    /// Congestion window of a flow's sender, in bytes.
    CongestionWindow,
    /// Slow-start threshold of a flow's sender, in bytes.
    SlowStartThreshold,
    /// A round-trip time sample, in seconds.
    RoundTripTime,
    /// Smoothed round-trip time, in seconds.
    SmoothedRoundTripTime,
    /// Retransmission timeout, in seconds, backoff included.
    RetransmissionTimeout,
    /// Bytes sent and not acknowledged.
    BytesInFlight,
    /// Payload bytes delivered in order to the application since the start.
    DeliveredBytes,
    /// Packets waiting in a link direction's queue.
    QueuePackets,
    /// Bytes waiting in a link direction's queue.
    QueueBytes,
    /// Access link in use by a mobile, as its number in the scenario; −1 is none.
    AttachedLink,
}

/// Whom a series is about: a number given out by the recorder for a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subject(pub u32);

/// What became of one packet on one link.
#[derive(Clone, Debug)]
pub struct PacketRecord<'a> {
    /// Number of the link in the scenario.
    pub link: usize,
    /// The end at which the packet was offered.
    pub from: End,
    /// When it was offered.
    pub sent: Instant,
    /// When its fate was decided; `None` if it was still under way when the run ended.
    pub decided: Option<Instant>,
    /// Why it was dropped; `None` if it was delivered or is still under way.
    pub dropped: Option<DropReason>,
    /// The packet, before any damage.
    pub packet: &'a Packet,
}
