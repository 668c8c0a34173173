//! Protocols: transport and mobility as state machines.
//!
//! Nothing in this crate reads a clock, opens a socket, sleeps, spawns, prints or draws from a global
//! source of randomness. Time and packets are arguments; packets, deadlines and events are results. The
//! same code therefore runs in simulated time (`baton-sim`) and in real time (`baton-live`).
#![forbid(unsafe_code)]

pub mod aerotp;
pub mod crosslayer;
pub mod dtn;
pub mod fec;
pub mod gateways;
pub mod host;
pub mod interface;
pub mod mobility;
pub mod packet;
pub mod rate;
pub mod remedies;
pub mod routing;
pub mod tcp;
pub mod testing;
pub mod time;
pub mod tp_plus_plus;
pub mod wire;
