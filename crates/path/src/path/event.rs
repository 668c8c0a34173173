//! Events of a path, and results of sending a packet.

use baton_proto::time::Instant;
use core::net::SocketAddr;

/// Event of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// Path up: after its first handshake, or after it was down.
    Up,
    /// Silence longer than the path's measurements explain, with probes in flight. [`Event::Down`] follows within about
    /// a round trip, or nothing if the path answers: losses and streams that end cause this too.
    Suspect,
    /// Path down: it does not answer, its keys have expired, or the caller has reported it down.
    Down,
    /// New address of the peer, to which datagrams are sent from now on.
    Moved {
        /// Previous address.
        from: SocketAddr,
        /// New address.
        to: SocketAddr,
    },
    /// Restart of the peer, which has lost all state of the path, and has created a new session.
    Restarted,
    /// Report of arrived datagrams: packets with counters below `up_to` are no longer in flight.
    Receipted {
        /// Counter after the largest that has arrived.
        up_to: u64,
    },
    /// Word of the peer that its link is expected to go down at this time, or (`None`) to stay up.
    LossExpected(Option<Instant>),
    /// Change of the longest packet that the path carries, in bytes.
    PacketMtu(u16),
    /// Refusal of the path by the home agent: the router has 16 others.
    Refused,
}

/// A sealed packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sent {
    /// Counter of the datagram, for [`Event::Receipted`].
    pub counter: u64,
    /// Destination address of the datagram.
    pub to: SocketAddr,
}

/// Reason why a packet was not sealed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NotSent {
    /// No session, or expired keys.
    #[error("no session: wait for the event Up")]
    NoSession,
    /// Packet longer than the path's limit.
    #[error("the packet is too long for the path, which carries {0} bytes: tell its sender")]
    TooLong(u16),
    /// Packet perhaps longer than the path's limit, which is not known yet.
    #[error("the MTU of the path is being probed: wait for the event PacketMtu, a second at most")]
    MtuUnknown,
    /// Kind that is not one of a packet.
    #[error("kind {0} is not a packet; expected PACKET or ELIDED")]
    Kind(u8),
    /// No path with this key.
    #[error("no path has this key: it or its peer was removed")]
    UnknownPath,
}
