//! The tunnel between a mobile router and its home agent, as media of their nodes: encrypted, or [`plain`].
//!
//! Each uplink of a router is an interface of its node, and has a [path](baton_path) to the home agent. The router's
//! care-of address there belongs to a prefix that the home agent assigns, and is known to the two ends alone. The
//! layers of Mobile IPv6 therefore use a path like any access link. The header of their tunnel is left out on the path,
//! since both ends know its contents.

use crate::config::{Secret, SecurityParameterIndex};
use baton_path::{OVERHEAD, PrivateKey, PublicKey};

pub mod addresses;
pub mod arrivals;
pub mod datagrams;
pub mod held;
pub mod outer;
pub mod paths;
pub mod pieces;
pub mod plain;
pub mod uplink;
pub mod watch;
pub mod words;

/// SPI of the key of registrations, which both ends of a path compute (RFC 4285 section 5: from 256).
pub const REGISTRATION: SecurityParameterIndex = SecurityParameterIndex(256);

/// Returns the key that authenticates a router's registrations (RFC 4285), in addition to the path's own
/// authentication: nobody else, not even another router of the same home agent, can move a router's binding.
pub fn registration_key(own: &PrivateKey, peer: &PublicKey) -> Secret {
    let secret = own.agree(peer, "registration, RFC 4285");
    Secret(core::array::from_fn(|place| secret[place]))
}

/// Returns the length of all that a path adds to a packet, in bytes: the headers of IP and UDP, and its own.
pub fn headers(over_ipv4: bool) -> u32 {
    let outer = if over_ipv4 { 20 + 8 } else { 40 + 8 };
    outer + OVERHEAD as u32
}

/// Returns the MTU of a node's interface to a path over an uplink with this MTU, in bytes, including the omitted
/// header.
pub fn longest_packet(uplink_mtu: u32, over_ipv4: bool) -> u32 {
    let carried = uplink_mtu.saturating_sub(headers(over_ipv4));
    carried + outer::HEADER as u32
}
