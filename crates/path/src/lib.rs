//! A path for packets over UDP between a mobile router's uplink and its home agent: encrypted, authenticated, measured.
//!
//! Each uplink has a path of its own, with its own handshake, keys, replay window and measurements: delays of uplinks
//! differ, and in a shared window the slower one's packets would be too old. An [`Initiator`] is the router's end of
//! one path, a [`Listener`] the home agent's end of all. Both are sans-IO: they take time, datagrams and a random seed,
//! and return datagrams, deadlines and events. They do not deal with mobility: a path is a medium.
//!
//! Handshake, cookies, key lifetimes and the responder's silence until new keys are confirmed are WireGuard's
//! (Donenfeld, WireGuard: Next Generation Kernel Network Tunnel, 2017). The frames are not, so this protocol does not
//! interoperate with it, because WireGuard has
//! - one session and one endpoint for two peers, while several uplinks need one each;
//! - no measurements in its messages: neither timestamps nor receipts;
//! - an internal clock in every implementation that could be linked.
//!
//! A restarted home agent has lost its sessions. It answers a datagram of an unknown session by a reset no longer than
//! the datagram, without storing anything; the router, if it has just sent that datagram, begins a handshake. Forged
//! resets cause at most one handshake a second, and end no session.
//!
//! A router's initiations are numbered by its clock. If a number is not above the largest seen, the home agent answers
//! with the largest, which only the router can read, so a clock that has gone back costs one round trip. An attacker on
//! the path can delay, drop and count datagrams, and can move the path to another address by being faster than its
//! owner, but cannot read or alter packets. Lengths of packets are not hidden. Two routers with one key take the path
//! from each other for as long as both run, with an [`Event::Restarted`] each time.
//!
//! A path finds the rate of its link if both ends ask for it: reports then count bytes, too, and each end has a [`Pace`]
//! for its datagrams. Such a path has another version than one without, and ends that differ refuse each other.
//!
//! ```
//! use baton_path::*;
//! use baton_proto::time::Instant;
//!
//! let (router_key, home_key) = (PrivateKey::from_bytes([1; 32]), PrivateKey::from_bytes([2; 32]));
//! let (now, router_address) = (Instant::from_secs(1), "192.0.2.1:1000".parse()?);
//! let config = ListenerConfig { local: home_key.clone(), uplink_mtu: 1500, finds_rate: false, seed: [3; 32] };
//! let mut home = Listener::new(now, config);
//! home.add_peer(router_key.public(), PresharedKey::default(), b"2001:db8:1::/48")?;
//! let config = InitiatorConfig {
//!     local: router_key,
//!     home_agent: home_key.public(),
//!     preshared: PresharedKey::default(),
//!     remote: "198.51.100.1:4191".parse()?,
//!     path: 0,
//!     uplink_mtu: 1500,
//!     finds_rate: false,
//!     unix_nanoseconds: 1_700_000_000_000_000_000,
//!     seed: [4; 32],
//! };
//! let mut router = Initiator::new(now, config);
//!
//! // Initiation, response; then the router has a session and may send.
//! let (mut up, mut down) = (Vec::new(), Vec::new());
//! router.poll_transmit(now, &mut up).ok_or("an initiation")?;
//! home.handle_datagram(now, router_address, &mut up)?;
//! let to = home.poll_transmit(now, &mut down).ok_or("a response")?;
//! assert_eq!(to, router_address);
//! router.handle_datagram(now, "198.51.100.1:4191".parse()?, &mut down)?;
//! assert_eq!(router.poll_event(), Some(Event::Up));
//!
//! up.clear();
//! router.send(now, PACKET, b"an IP packet", &mut up)?;
//! let (key, content) = home.handle_datagram(now, router_address, &mut up)?.ok_or("a packet")?;
//! assert_eq!(content.packet, b"an IP packet");
//! assert_eq!(home.poll_event(), Some((key, Event::Up)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod cookie;
mod counters;
mod departure;
mod frame;
mod hash;
mod initiator;
mod keylog;
mod listener;
mod liveness;
mod measure;
mod message;
mod mtu;
mod noise;
mod path;
mod random;
mod rate;
mod receipts;
mod replay;
mod session;

pub use counters::{Counters, Rejected};
pub use frame::{MOST_ASSIGNED, is_frame};
pub use initiator::{Initiator, InitiatorConfig};
pub use keylog::DatagramKey;
pub use listener::{AssignedTooLong, Listener, ListenerConfig, MOST_PATHS, PathInfo, PathKey};
pub use measure::{Arrivals, Measured};
pub use message::{ELIDED, PACKET};
pub use noise::{PresharedKey, PrivateKey, PublicKey};
pub use path::{Content, Event, NotSent, OVERHEAD, Sent};
pub use rate::Pace;
