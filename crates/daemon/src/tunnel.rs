//! The way between a mobile router and its home agent, as media of their nodes: encrypted, or [`plain`].
//!
//! Each uplink of a router is an interface of its node, and has a [path](baton_path) to the home agent. The router's care-of address
//! there is of a prefix that the home agent assigns; nobody else ever sees it. So the layers of Mobile IPv6 speak over a path as over
//! any access link, and the header of their tunnel, which says nothing that the path's two ends do not know, is left out on the way.

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
mod words;

/// Names the key of registrations, which both ends of a path compute (RFC 4285 section 5: from 256).
pub const REGISTRATION: SecurityParameterIndex = SecurityParameterIndex(256);

/// Returns the key by which a router's registrations are authenticated (RFC 4285), beside the path's own authentication: nobody else
/// can move the binding of a router, not even another router of the same home agent.
pub fn registration_key(own: &PrivateKey, peer: &PublicKey) -> Secret {
    let secret = own.agree(peer, "registration, RFC 4285");
    Secret(core::array::from_fn(|place| secret[place]))
}

/// Returns the longest packet of a node's interface to a path over an uplink with this MTU, in bytes: with the header that is left
/// out.
pub fn longest_packet(uplink_mtu: u32, over_ipv4: bool) -> u32 {
    let headers = if over_ipv4 { 20 + 8 } else { 40 + 8 };
    let carried = uplink_mtu.saturating_sub(headers + OVERHEAD as u32);
    carried + outer::HEADER as u32
}
