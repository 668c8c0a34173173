//! A link that a recording drives: what the recording does not tell is 10 Mbit/s, 20 ms, 250 packets.
//!
//! All three are *chosen*: the order of a cellular link's. A recording of delivery opportunities tells nothing
//! of the path's delay, nor of the buffer in front of it.

use super::super::config::{LinkConfig, Medium, QueueLimit};
use super::{plain, symmetric};
use baton_proto::rate::DataRate;
use baton_proto::time::Duration;

/// A link for recordings, which are put into its directions.
pub fn link(name: &str) -> LinkConfig {
    let direction = plain(
        DataRate::from_bits_per_second(10_000_000),
        Duration::from_millis(20),
        QueueLimit::Packets(250),
    );
    symmetric(name, Medium::FullDuplex, direction)
}
