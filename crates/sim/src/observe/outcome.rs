//! Facts that are learnt from packets.

use baton_proto::time::Duration;

/// An end of a conversation. A direction is named by the end that sends in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The end that spoke first.
    Opener,
    /// The end that was spoken to.
    Responder,
}

impl Side {
    /// The end across.
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
    /// Something that was not sent before.
    New,
    /// Data, SYN or FIN of which at least a part was sent before.
    Retransmission,
    /// An acknowledgment without data.
    Acknowledgment,
    /// A segment with a sequence number that no connection would give it.
    Impossible,
    /// A segment that only asks whether the other end is still there.
    KeepAlive,
    /// A segment that only asks whether the receiver's closed window has opened.
    WindowProbe,
}

/// Bytes that have come to one end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// The end that sent them.
    pub from: Side,
    /// Number of bytes: over TCP those that are now there in order and were not before.
    pub bytes: u64,
    /// Time without anything new in this direction although the conversation waited; `None` if these bytes are not what
    /// was waited for, as in a datagram too short for data.
    pub waited: Option<Duration>,
}

/// Effect of a packet at its receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// New bytes, if any.
    pub arrived: Option<Arrived>,
    /// It carried data or a FIN, and nothing of it was new.
    pub spurious: bool,
    /// A younger packet of its direction was there before it.
    pub reordered: bool,
}

/// End of a TCP connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Both ends' FINs have come.
    Finished,
    /// An end reset it.
    Reset,
    /// Its first SYN was answered with a reset.
    Refused,
}

/// Counts of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets sent.
    pub packets: u64,
    /// Of these, [retransmissions](Sending::Retransmission).
    pub retransmitted: u64,
    /// Packets that came with nothing new in them; see [`Arrival::spurious`].
    pub spurious: u64,
    /// Packets that came after a younger one.
    pub reordered: u64,
    /// Duplicate acknowledgments that came to the sender (RFC 5681 section 2, by their outside).
    pub duplicate_acks: u64,
    /// Keep-alives and window probes sent.
    pub probes: u64,
    /// Ranges of a TCP stream that came ahead of a gap and were too many to be remembered: some of their
    /// retransmissions may count as new, and their delivery is noticed by its acknowledgment.
    pub forgotten_ranges: u64,
    /// Segments beyond all that the receiver has ever allowed: somebody forges packets. Nothing else counts them.
    pub impossible: u64,
}
