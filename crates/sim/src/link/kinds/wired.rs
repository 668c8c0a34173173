//! A cable: 100 Mbit/s, 1 ms, 100 packets, no errors.
//!
//! Scope: rates count IP bytes; Ethernet's own 38 B per frame are left out unless a scenario lowers the rate. The queue
//! of 100 packets was the customary transmit queue of Ethernet interfaces in Linux before 2.6.

use super::super::config::{LinkConfig, Medium, QueueLimit};
use super::{Settings, plain, symmetric};
use baton_proto::rate::DataRate;
use baton_proto::time::Duration;
use schemars::JsonSchema;
use serde::Deserialize;

/// A cable: full duplex, no errors.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Wired {}

impl Settings for Wired {
    fn link(&self, name: &str) -> Option<LinkConfig> {
        Some(link(name))
    }
}

/// Returns a wired link.
pub fn link(name: &str) -> LinkConfig {
    let direction = plain(
        DataRate::from_bits_per_second(100_000_000),
        Duration::from_millis(1),
        QueueLimit::Packets(100),
    );
    symmetric(name, Medium::FullDuplex, direction)
}
