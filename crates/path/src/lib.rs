//! A way for packets over UDP between a mobile router's uplink and its home agent: encrypted, authenticated, measured.
//!
//! Each uplink has a path of its own, with its own handshake, keys, replay window and measurements: delays of uplinks differ,
//! and in a window that they shared the slower one's packets would be too old. An [`Initiator`] is the router's end of one
//! path, a [`Listener`] the home agent's end of all. Both are machines that take time, datagrams and a seed of randomness,
//! and give datagrams, deadlines and events; they read no clock and open nothing. They know nothing of mobility: a path
//! is a medium.
//!
//! Handshake, cookies, keys' lives and the responder's silence until new keys are confirmed are WireGuard's (Donenfeld, WireGuard:
//! Next Generation Kernel Network Tunnel, 2017). The frames are not, so nothing else speaks this protocol, because WireGuard has
//! - one session and one endpoint for two peers, where several uplinks need as many at a time;
//! - nothing in its messages that measures: no time, no receipt;
//! - a clock inside, in every implementation that could be linked.
//!
//! A router's initiations are numbered by its clock. To one that is not above the largest seen the home agent answers what
//! the largest was, which only the router can read, so a clock that has gone back costs one round trip. Who is on the way of the
//! datagrams can delay, drop and count them, and can have a path moved to another address by being faster than its
//! owner; he reads and alters nothing. Lengths of packets are not hidden. Two
//! routers with one key take the path from each other for as long as both run, and each time is an [`Event::Restarted`].
#![forbid(unsafe_code)]

mod cookie;
mod counters;
mod frame;
mod hash;
mod initiator;
mod listener;
mod liveness;
mod measure;
mod message;
mod mtu;
mod noise;
mod path;
mod random;
mod receipts;
mod replay;
mod session;

pub use counters::{Counters, Rejected};
pub use frame::{MOST_ASSIGNED, is_frame};
pub use initiator::{Initiator, InitiatorConfig};
pub use listener::{AssignedTooLong, Listener, ListenerConfig, MOST_PATHS, PathInfo, PathKey};
pub use measure::{Arrivals, Measured};
pub use message::{ELIDED, PACKET};
pub use noise::{PresharedKey, PrivateKey, PublicKey};
pub use path::{Content, Event, NotSent, OVERHEAD, Sent};
