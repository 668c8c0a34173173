//! GSM circuit-switched data, non-transparent and asynchronous, with PPP (study T).
//!
//! The channel carries 9.6 kbit/s, and every byte has a start and a stop bit: 960 B/s. PPP in HDLC-like framing puts 8
//! B around a packet: two flags, address, control, two of protocol and two of frame check sequence (RFC 1662; no field
//! compression, RFC 1661, and no header compression). Escaped bytes are left out: with the empty control-character map
//! that both ends customarily negotiate they are one in 128 of random data, with the default map one in 7.5.
//!
//! The radio link protocol retransmits frames lost on the radio: the channel has no errors, but a long delay. The delay
//! of 250 ms is chosen so that a ping of 84 B measures study T's RTT of about 700 ms: twice 250 ms and twice 96 ms on
//! the line, 692 ms. RLP's pauses under bad radio conditions are not modelled; a trace of delays can add them.
//!
//! The queue holds 100 packets, *chosen*: more than any window of the study and its repetitions, since study
//! T saw no loss in it.

use super::super::config::{Framing, LinkConfig, Medium, QueueLimit};
use super::{Settings, plain, symmetric};
use baton_proto::rate::DataRate;
use baton_proto::time::Duration;
use schemars::JsonSchema;
use serde::Deserialize;

/// GSM circuit-switched data with PPP: 9.6 kbit/s, start and stop bit around each byte.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Gsm {}

impl Settings for Gsm {
    fn link(&self, name: &str) -> Option<LinkConfig> {
        Some(link(name))
    }
}

/// Returns a GSM data call.
pub fn link(name: &str) -> LinkConfig {
    let mut direction = plain(
        DataRate::from_bits_per_second(9_600),
        Duration::from_millis(250),
        QueueLimit::Packets(100),
    );
    direction.framing = Framing {
        bytes_per_packet: 8,
        bits_per_byte: 10,
    };
    symmetric(name, Medium::FullDuplex, direction)
}
