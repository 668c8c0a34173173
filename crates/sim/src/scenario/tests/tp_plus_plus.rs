//! TP++ in scenario files.

use super::*;
use crate::transport::tp_plus_plus::TpPlusPlus;
use baton_proto::fec::erasure::BlockSize;
use baton_proto::rate::DataRate;
use baton_proto::time::Duration;
use baton_proto::tp_plus_plus::{Configuration, Mode};
use core::any::Any;

const RIGHT: &str = r#"
name = "telemetry"
duration = "10 s"

[links.air]
between = ["aircraft", "ground"]
kind = "wired"

[links.other]
between = ["aircraft", "ground"]
kind = "wired"

[[flows]]
name = "f"
from = "aircraft"
to = "ground"
transport.kind = "tp++"
traffic.kind = "constant"
traffic.rate = "1 Mbit/s"
transport.mode = "reliable"
transport.rate = "2 Mbit/s"
transport.blocks = { data = 10, repair = 3 }
transport.tpdus_per_ack = 4
transport.ack_delay = "5 ms"
transport.reordering_wait = "50 ms"
transport.receive_buffer = "1 MB"
"#;

#[test]
fn every_setting_is_read() {
    let scenario = parsed(RIGHT);
    let transport: &dyn Any = scenario.flows[0].transport.other().unwrap();
    let settings: &TpPlusPlus = transport.downcast_ref().unwrap();
    assert_eq!(
        settings.rate,
        Some(DataRate::from_bits_per_second(2_000_000))
    );
    let expected = Configuration {
        mode: Mode::Reliable,
        rate: DataRate::ZERO,
        block: BlockSize::new(10, 3).ok(),
        tpdus_per_acknowledgment: 4,
        acknowledgment_delay: Duration::from_millis(5),
        reordering_wait: Duration::from_millis(50),
        receive_buffer: 1_000_000,
    };
    assert_eq!(settings.configuration, expected);
}

/// Replaces the first by the second in [`RIGHT`], and checks for a part of the message.
const WRONG: &[(&str, &str, &str)] = &[
    (
        "\"tp++\"",
        "\"tp+\"",
        r#"unknown kind "tp+"; did you mean "tp++"?"#,
    ),
    (
        "\"reliable\"",
        "\"near-reliable\"",
        r#"flows.f.transport.mode: unknown mode "near-reliable""#,
    ),
    (
        "\"reliable\"",
        "\"quasi-reliable\"",
        r#""tpdus_per_ack" does not go with mode = "quasi-reliable""#,
    ),
    (
        "\"2 Mbit/s\"",
        "\"0 bit/s\"",
        r#"flows.f.transport.rate: "0 bit/s" is below 1 bit/s"#,
    ),
    (
        "data = 10, repair = 3",
        "data = 200, repair = 100",
        "the code allows at most 255",
    ),
    ("\"1 MB\"", "\"1 kB\"", "flows.f.transport.receive_buffer"),
    (
        "transport.rate = ",
        "transport.paths = [\"air\", \"other\"]\ntransport.rate = ",
        "expected no `rate` beside `paths`",
    ),
    (
        "traffic.kind = \"constant\"\ntraffic.rate = \"1 Mbit/s\"",
        "traffic.kind = \"pages\"\ntraffic.page = \"1 kB\"",
        r#""tp++" carries bulk, constant and on-off"#,
    ),
];

#[test]
fn mistakes_are_named() {
    assert_mistakes_are_named(RIGHT, WRONG);
}
