//! Link models: what happens to a packet between two hosts.
//!
//! A link is a state machine. [`Link::offer`] hands it a packet, [`Link::poll`] gives what has become of
//! packets up to a moment, [`Link::next_deadline`] says when to poll next. A link keeps no events of its
//! own: whenever it is touched it first catches up with the moment (serialisation that has ended, queue
//! managers' verdicts), in the order in which things happened. A first-in-first-out link therefore costs
//! one event a packet, and a change of its parameters needs nothing to be taken back: only what has begun
//! serialising was decided.

pub mod config;
pub mod trace;

use crate::packets::PacketId;
use baton_proto::time::Instant;

/// The two ends of a link. Downward is from `A` to `B`, where `B` is the mobile's end of an access link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum End {
    /// The first end in the scenario's `between`; an access link's end in the network.
    A,
    /// The second end; the mobile's.
    B,
}

/// What has become of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fate {
    /// The packet.
    pub packet: PacketId,
    /// The end at which it was offered.
    pub from: End,
    /// When it was decided.
    pub at: Instant,
    /// What was decided.
    pub outcome: Outcome,
}

/// Delivered, or lost and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It has arrived at the other end, with these bits flipped (ascending positions; mostly none).
    Delivered {
        /// Positions of flipped bits from the first bit of the IP header.
        bit_errors: Vec<u32>,
    },
    /// It is lost.
    Dropped(DropReason),
}

/// Why a link lost a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DropReason {
    /// No room in the queue.
    QueueFull,
    /// The queue manager (RED, CoDel) chose it.
    QueueManagement,
    /// The channel damaged it (packet or bit error) and the link drops damaged packets.
    ChannelError,
    /// The channel was in the bad state of its burst model, or its trace said so.
    BurstLoss,
    /// Medium access gave up after its retries.
    RetryLimit,
    /// The link was down, or went down with the packet queued or in flight.
    LinkDown,
    /// The queue was discarded at a handover.
    Discarded,
}
