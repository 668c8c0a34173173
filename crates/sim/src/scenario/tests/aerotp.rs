//! AeroTP in scenario files.

use super::*;
use crate::transport::aerotp::AerotpSettings;
use baton_proto::aerotp::{Blocks, Coding};
use baton_proto::fec::erasure::BlockSize;
use baton_proto::rate::DataRate;
use baton_proto::time::Duration;
use baton_proto::wire::aerotp::Mode;
use core::any::Any;

const RIGHT: &str = r#"
name = "telemetry"
duration = "10 s"

[links.air]
between = ["aircraft", "ground"]
kind = "wired"
bit_error_rate = 1e-5
damaged = "delivered"
spares = "headers"

[[flows]]
name = "f"
from = "aircraft"
to = "ground"
transport.kind = "aerotp"
traffic.kind = "constant"
traffic.rate = "1 Mbit/s"
transport.mode = "near-reliable"
transport.coding = { words = 32, header = true }
transport.blocks = { data = 10, repair = 3 }
transport.packets_per_mack = 8
transport.mack_delay = "5 ms"
transport.class = 3
transport.rate = "2 Mbit/s"
transport.send_buffer = "1 MB"
transport.close_timeout = "20 s"
"#;

#[test]
fn every_setting_is_read() {
    let scenario = parsed(RIGHT);
    assert!(scenario.links[0].config.up.channel.spares_headers);
    let transport: &dyn Any = scenario.flows[0].transport.other().unwrap();
    let settings: &AerotpSettings = transport.downcast_ref().unwrap();
    let read = &settings.configuration;
    assert_eq!(
        settings.rate,
        Some(DataRate::from_bits_per_second(2_000_000))
    );
    assert_eq!(read.mode, Mode::NearReliable);
    let Coding::Fixed(protection) = read.coding else {
        panic!("{:?}", read.coding);
    };
    assert_eq!(protection.strength.words(), 32);
    assert!(protection.covers_header);
    let size = BlockSize::new(10, 3).unwrap();
    assert_eq!(read.blocks, Some(Blocks::Fixed(size)));
    assert_eq!((read.packets_per_mack, read.class.number()), (8, 3));
    assert_eq!(read.mack_delay, Duration::from_millis(5));
    assert_eq!(read.close_timeout, Duration::from_secs(20));
    assert_eq!(
        (read.send_buffer, read.receive_buffer),
        (1_000_000, 4 << 20)
    );
}

/// Replaces the first by the second in [`RIGHT`], and checks for a part of the message.
const WRONG: &[(&str, &str, &str)] = &[
    (
        "near-reliable",
        "nearly-reliable",
        r#"flows.f.transport.mode: unknown mode "nearly-reliable"; did you mean "near-reliable"?"#,
    ),
    (
        "mack_delay",
        "mac_delay",
        r#"unknown key "mac_delay"; did you mean "mack_delay"?"#,
    ),
    (
        "words = 32",
        "words = 257",
        "flows.f.transport.coding.words: 257 is out of range; expected a whole number from 0 to 256",
    ),
    (
        "repair = 3",
        "repair = 0",
        "flows.f.transport.blocks.repair: 0 is out of range; expected a whole number from 1 to 254",
    ),
    (
        "data = 10",
        "data = 253",
        "flows.f.transport.blocks: 253 and 3 make a block of 256 packets, and the code allows at most 255",
    ),
    (
        "data = 10, repair = 3",
        "data = 10",
        r#"flows.f.transport.blocks: key "repair" is missing; expected a whole number from 1 to 254"#,
    ),
    (
        "mode = \"near-reliable\"",
        "mode = \"unreliable-datagram\"",
        r#""blocks" does not go with mode = "unreliable-datagram""#,
    ),
    (
        "class = 3",
        "class = 8",
        "flows.f.transport.class: 8 is out of range",
    ),
    (
        "mode = \"near-reliable\"",
        "mode = \"quasi-reliable\"",
        r#"flows.f.transport.packets_per_mack: "packets_per_mack" does not go with mode = "quasi-reliable" (its own: blocks, reordering_wait, send_buffer, receive_buffer)"#,
    ),
    (
        "transport.mode = \"near-reliable\"\ntransport.coding = { words = 32, header = true }\ntransport.blocks = { data = 10, repair = 3 }\ntransport.packets_per_mack = 8\ntransport.mack_delay = \"5 ms\"\ntransport.class = 3\ntransport.rate = \"2 Mbit/s\"\ntransport.send_buffer = \"1 MB\"\ntransport.close_timeout = \"20 s\"",
        "transport.mode = \"quasi-reliable\"\ntransport.coding = \"adaptive\"",
        "flows.f.transport.coding: \"adaptive\" needs feedback from the receiver",
    ),
    (
        "send_buffer = \"1 MB\"",
        "send_buffer = \"1 kB\"",
        "flows.f.transport.send_buffer: 1000 B is out of range; expected 65536 B to 1073741824 B",
    ),
    (
        "rate = \"2 Mbit/s\"",
        "rate = \"0 bit/s\"",
        "flows.f.transport.rate",
    ),
    (
        "transport.kind = \"aerotp\"",
        "transport.kind = \"udp\"",
        r#""mode" does not go with kind = "udp""#,
    ),
    (
        "transport.kind = \"aerotp\"",
        "transport.kind = \"tcp\"",
        r#""mode" does not go with kind = "tcp" (its own: profile, congestion,"#,
    ),
    (
        "transport.kind = \"aerotp\"",
        "transport.kind = \"aerotp\"\ntransport.profile = \"linux-6\"",
        r#""profile" does not go with kind = "aerotp" (its own: paths, rate, mode, coding,"#,
    ),
    (
        "transport.kind = \"aerotp\"",
        "transport.kind = \"aerotp\"\nremedies = \"freeze-tcp\"",
        r#"acts on TCP; expected transport "tcp""#,
    ),
    (
        "traffic.kind = \"constant\"\ntraffic.rate = \"1 Mbit/s\"",
        "traffic.kind = \"ping\"",
        "\"aerotp\" carries bulk, constant and on-off",
    ),
    (
        "traffic.kind = \"constant\"\ntraffic.rate = \"1 Mbit/s\"\ntransport.mode = \"near-reliable\"\ntransport.coding = { words = 32, header = true }\ntransport.blocks = { data = 10, repair = 3 }\ntransport.packets_per_mack = 8\ntransport.mack_delay = \"5 ms\"\ntransport.class = 3\ntransport.rate = \"2 Mbit/s\"\ntransport.send_buffer = \"1 MB\"\ntransport.close_timeout = \"20 s\"",
        "transport.mode = \"unreliable-datagram\"",
        "bulk needs a connection, and mode \"unreliable-datagram\" has none",
    ),
    (
        "transport.mode = \"near-reliable\"\ntransport.coding = { words = 32, header = true }\ntransport.blocks = { data = 10, repair = 3 }\ntransport.packets_per_mack = 8\ntransport.mack_delay = \"5 ms\"\ntransport.class = 3\ntransport.rate = \"2 Mbit/s\"\ntransport.send_buffer = \"1 MB\"\ntransport.close_timeout = \"20 s\"",
        "traffic.packet_size = \"1400 B\"\ntransport.mode = \"unreliable-datagram\"\ntransport.coding = { words = 32 }",
        "1400 B and 174 B of headers fit no MTU (largest 1500 B); expected at most 1326 B",
    ),
    (
        "damaged = \"delivered\"",
        "damaged = \"dropped\"",
        "links.air.down.spares: \"headers\" does not go with damaged = \"dropped\"",
    ),
];

#[test]
fn mistakes_are_named() {
    assert_mistakes_are_named(RIGHT, WRONG);
}
