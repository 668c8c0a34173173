//! A channel over a geostationary satellite: 5 Mbit/s, 290 ms one way, 250 packets (study S).
//!
//! Scope: a rate, a delay and a queue; capacity assignment among terminals and coding are not modelled. The
//! delay is study S's (RTT 580 ms); the path up and down alone takes 239 to 278 ms.

use super::super::config::{LinkConfig, Medium, QueueLimit};
use super::{plain, symmetric};
use baton_proto::rate::DataRate;
use baton_proto::time::Duration;

/// A satellite link.
pub fn link(name: &str) -> LinkConfig {
    let direction = plain(
        DataRate::from_bits_per_second(5_000_000),
        Duration::from_millis(290),
        QueueLimit::Packets(250),
    );
    symmetric(name, Medium::FullDuplex, direction)
}
