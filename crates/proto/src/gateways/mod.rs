//! Gateways: layers of routers that end other hosts' connections, or inspect packets in transit, and the code of
//! datagrams between two of them.

pub mod aerotp;
pub mod datagram_code;
pub mod dtn;
mod halves;
pub mod ingress_filter;
pub mod nat;
pub mod path;
