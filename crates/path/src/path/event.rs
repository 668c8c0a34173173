//! News of a path, and its answers to a packet.

use core::net::SocketAddr;

/// News of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// The path carries packets: after its first handshake, or after it was down.
    Up,
    /// Nothing has come for longer than the path's measurements explain, and probes are out. [`Event::Down`] follows within
    /// about a round trip, or nothing if the path answers: losses and streams that end cause this too.
    Suspect,
    /// The path does not answer, its keys have run out, or the caller has said so.
    Down,
    /// The peer's datagrams come from another address, to which datagrams go from now on.
    Moved {
        /// The address until now.
        from: SocketAddr,
        /// The address from now on.
        to: SocketAddr,
    },
    /// The peer has lost all state of the path, and has made a new session.
    Restarted,
    /// The peer reports what has arrived: packets with counters below `up_to` are no longer under way.
    Receipted {
        /// The counter after the largest that has arrived.
        up_to: u64,
    },
    /// The largest packet that the path carries is another, in bytes.
    PacketMtu(u16),
    /// The home agent refuses the path: the router has 16 others.
    Refused,
}

/// A packet that was sealed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sent {
    /// Its number, for [`Event::Receipted`].
    pub counter: u64,
    /// The address to which the datagram goes.
    pub to: SocketAddr,
}

/// Reason why a packet was not sealed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NotSent {
    /// There is no session, or its keys are too old.
    #[error("no session: wait for the event Up")]
    NoSession,
    /// The packet is longer than the path carries.
    #[error("the packet is too long for the path, which carries {0} bytes: tell its sender so")]
    TooLong(u16),
    /// The packet may be longer than the path carries, which is not known yet.
    #[error(
        "the longest packet of the path is being sought: wait for the event PacketMtu, for a second at most"
    )]
    MtuUnknown,
    /// Its kind is not one of a packet.
    #[error("kind {0} is no packet: PACKET or ELIDED was expected")]
    Kind(u8),
    /// There is no path with this key.
    #[error("no path has this key: it or its peer was removed")]
    UnknownPath,
}
