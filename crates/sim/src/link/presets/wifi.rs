//! IEEE 802.11b: 11 Mbit/s with medium access, 35 packets (study S's access point), 1 µs of propagation (300 m).
//!
//! Timing is the standard's mandatory one: long preamble, acknowledgments at 2 Mbit/s (the highest rate of
//! the customary basic set of 1 and 2 Mbit/s), 7 attempts a frame (`dot11ShortRetryLimit`). Study S's RTT of
//! 20 ms is its scenario's to set (`delay = "10 ms"`).

use super::super::config::{DcfConfig, LinkConfig, Medium, QueueLimit};
use super::{plain, symmetric};
use baton_proto::rate::DataRate;
use baton_proto::time::Duration;

/// Medium access of 802.11b with a long preamble.
pub const MEDIUM_ACCESS: DcfConfig = DcfConfig {
    control_rate: DataRate::from_bits_per_second(2_000_000),
    preamble: Duration::from_micros(192),
    retry_limit: 7,
};

/// A WiFi link. For a plain pipe, set its medium to [`Medium::FullDuplex`].
pub fn link(name: &str) -> LinkConfig {
    let direction = plain(
        DataRate::from_bits_per_second(11_000_000),
        Duration::from_micros(1),
        QueueLimit::Packets(35),
    );
    symmetric(name, Medium::Dcf(MEDIUM_ACCESS), direction)
}
