//! Gateways: layers of routers that end other hosts' connections, or inspect packets in transit.

pub mod aerotp;
pub mod dtn;
mod halves;
pub mod ingress_filter;
pub mod nat;
pub mod path;
