//! Gateways: layers of routers that end other hosts' connections, or inspect packets in transit.

pub mod aerotp;
pub mod nat;
pub mod path;
