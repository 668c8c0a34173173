//! The encrypted way between a mobile router and its home agent, as media of their nodes.
//!
//! Each uplink of a router is an interface of its node, and has a [path](baton_path) to the home agent. The router's care-of address
//! there is of a prefix that the home agent assigns; nobody else ever sees it. So the layers of Mobile IPv6 speak over a path as over
//! any access link, and the header of their tunnel, which says nothing that the path's two ends do not know, is left out on the way.

pub mod addresses;
pub mod datagrams;
pub mod outer;
pub mod paths;
pub mod uplink;
