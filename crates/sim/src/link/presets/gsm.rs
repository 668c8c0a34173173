//! GSM circuit-switched data, non-transparent and asynchronous, with PPP (study T).
//!
//! The channel carries 9.6 kbit/s, and every byte has a start and a stop bit: 960 B/s. PPP in HDLC-like
//! framing puts 8 B around a packet: flag, address, control, two of protocol, two of frame check sequence,
//! flag (RFC 1662, RFC 1661; no field compression; one flag between frames would do, the second stands for
//! the escaped bytes, of which random data with the default control-character map has one in 7.5 and a
//! negotiated empty map one in 128). Van Jacobson's header compression is off.
//!
//! The radio link protocol repeats what the radio loses: the channel has no errors, but a long delay. The
//! delay of 250 ms is chosen so that a ping of 84 B measures study T's RTT of about 700 ms: twice 250 ms and
//! twice 96 ms on the line, 692 ms. RLP's pauses under bad radio conditions are not modelled; a trace of
//! delays can.
//!
//! The queue holds 100 packets, customary for a serial PPP line's transmit queue of its time and larger than
//! any window of the study, so that nothing is lost in it.

use super::super::config::{Framing, LinkConfig, Medium, QueueLimit};
use super::{plain, symmetric};
use baton_proto::rate::DataRate;
use baton_proto::time::Duration;

/// A GSM data call.
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
