//! Facts learnt from packets.

use baton_proto::time::Duration;

/// An end of a conversation. A direction is named by the end that sends in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Opener: the end that sent first.
    Opener,
    /// Responder: the other end.
    Responder,
}

impl Side {
    /// Returns the opposite end.
    pub const fn other(self) -> Side {
        match self {
            Side::Opener => Side::Responder,
            Side::Responder => Side::Opener,
        }
    }
}

/// Meaning of a packet to its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sending {
    /// Content not sent before.
    New,
    /// Data, SYN or FIN, at least partly sent before.
    Retransmission,
    /// Acknowledgment without data.
    Acknowledgment,
    /// Segment with a sequence number impossible in its connection.
    Impossible,
    /// Keep-alive: asks whether the other end still exists.
    KeepAlive,
    /// Window probe: asks whether the receiver's closed window has opened.
    WindowProbe,
}

/// Bytes delivered to one end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// End that sent them.
    pub from: Side,
    /// Number of bytes: over TCP those newly in order.
    pub bytes: u64,
    /// Time without anything new in this direction although the conversation waited; `None` if these bytes end no wait,
    /// as in a datagram too short for data.
    pub waited: Option<Duration>,
}

/// Effect of a packet at its receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// New bytes, if any.
    pub arrived: Option<Arrived>,
    /// True if it carried data or a FIN, none of which was new.
    pub spurious: bool,
    /// True if a younger packet of its direction arrived before it.
    pub reordered: bool,
}

/// End of a TCP connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Both ends' FINs have arrived.
    Finished,
    /// Reset by an end.
    Reset,
    /// Refused: the first SYN was answered with a reset.
    Refused,
}

/// Counts of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets sent.
    pub packets: u64,
    /// Packets sent that were [retransmissions](Sending::Retransmission).
    pub retransmitted: u64,
    /// Packets that arrived without anything new; see [`Arrival::spurious`].
    pub spurious: u64,
    /// Packets that arrived after a younger one.
    pub reordered: u64,
    /// Duplicate acknowledgments that arrived at the sender (RFC 5681 section 2, as far as visible from outside).
    pub duplicate_acks: u64,
    /// Keep-alives and window probes sent.
    pub probes: u64,
    /// Ranges of a TCP stream ahead of a gap, beyond the number remembered: some of their retransmissions may count as
    /// new, and their delivery is noticed by its acknowledgment.
    pub forgotten_ranges: u64,
    /// Segments beyond all that the receiver has ever allowed, which are forged. Nothing else counts them.
    pub impossible: u64,
}
