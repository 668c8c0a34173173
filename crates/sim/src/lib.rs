//! Laboratory for protocols: the event kernel, link models, traffic, scenario files and records.
//!
//! Like the protocols, nothing here reads a clock: the caller tells a [`world::World`] up to which time to run.
#![forbid(unsafe_code)]

mod addresses;
pub mod applications;
pub mod captures;
pub mod cut;
pub mod deciding;
pub mod kernel;
pub mod link;
pub mod mobility;
pub mod observe;
pub mod packets;
pub mod pcap;
pub mod position;
pub mod record;
pub mod rng;
pub mod run;
pub mod scenario;
pub mod sweep;
pub mod transport;
pub mod world;
