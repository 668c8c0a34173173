//! Whole worlds from scenario texts, checked against values computed by hand.

mod ad_hoc;
mod aeronp;
mod aerotp;
mod aerotp_blocks;
mod aerotp_gateway_links;
mod aerotp_gateways;
mod aerotp_paths;
mod anchor_points;
mod cells;
mod coding;
mod conservation;
mod delays;
mod demand;
mod determinism;
mod dtn_gateways;
mod failback;
mod flights;
mod gateways;
mod handover;
mod handover_service;
mod micro_mobility;
mod mobile_ipv4;
mod mobility;
mod network;
mod network_handovers;
mod observed;
mod path_mtu;
mod ports;
mod ports_mobility;
mod priority;
mod quic;
mod radio;
mod reception;
mod remedies;
mod routing;
mod signals;
mod steady;
mod strategies;
mod tdma;
mod telemip;
mod tp_plus_plus;
mod traffic;
mod tunnels;
mod unresolved;

use super::World;
use super::summary::{FlowSummary, Summary};
use crate::record::{Quantities, RecordNames, RecordSettings, Recorder, Sink, Table};
use crate::run::{Results, Run, RunOptions};
use crate::scenario;
use crate::transport::TransportResult;
use crate::transport::aerotp::AerotpResult;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use std::path::Path;

/// A wired path of one link between `a` and `b`: 1 Mbit/s, 10 ms.
const PAIR: &str = r#"
    [links.path]
    between = ["a", "b"]
    kind = "wired"
    rate = "1 Mbit/s"
    delay = "10 ms"
    queue = "1000 packets"
"#;

/// Runs a scenario to its end, in memory.
fn run(text: &str) -> Results {
    run_with(text, &RunOptions::default())
}

fn run_with(text: &str, options: &RunOptions) -> Results {
    let loaded = scenario::parse(text, "test", Path::new("."), &[])
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut run = Run::new(loaded, options).unwrap();
    while !run.advance().unwrap() {}
    run.finish(None).unwrap()
}

/// Returns a world at time zero that keeps no record.
fn unrecorded(text: &str) -> World {
    let loaded = scenario::parse(text, "test", Path::new("."), &[]);
    let loaded = loaded.unwrap_or_else(|error| panic!("{error}\n{text}"));
    let settings = RecordSettings {
        series: Quantities::NONE,
        packets: false,
        signals: false,
    };
    let recorder = Recorder::new(settings, RecordNames::default(), Sink::Memory).unwrap();
    World::new(loaded.scenario, recorder, None)
}

/// Returns a scenario of `seconds` with these parts.
fn scenario(seconds: u32, parts: &[&str]) -> String {
    format!(
        "name = \"test\"\nduration = \"{seconds} s\"\n{}",
        parts.join("\n")
    )
}

/// Returns the standards' TCP for a flow whose `keys` name no profile: the tests' expectations follow from RFCs.
fn standards_unless_named(keys: &str) -> &'static str {
    if keys.contains("profile") {
        ""
    } else {
        "transport.profile = \"rfc\"\n"
    }
}

fn flow<'a>(summary: &'a Summary, name: &str) -> &'a FlowSummary {
    summary.flows.iter().find(|flow| flow.name == name).unwrap()
}

/// Returns the results that only an AeroTP flow has.
fn aerotp_of(flow: &FlowSummary) -> AerotpResult {
    match flow.own {
        Some(TransportResult::Aerotp(own)) => own,
        other => panic!("no AeroTP: {other:?}"),
    }
}

fn near(measured: f64, expected: f64, tolerance: f64) {
    assert!(
        (measured - expected).abs() <= tolerance,
        "{measured} is not within {tolerance} of {expected}"
    );
}

/// A row of the table of packets, with the columns that the tests need.
#[derive(Clone, Debug)]
struct PacketRow {
    number: u64,
    link: String,
    down: bool,
    flow: String,
    sent: i64,
    decided: Option<i64>,
    fate: String,
    wire_bytes: u32,
    payload: u32,
    sequence: u32,
    copy: u32,
}

impl PacketRow {
    fn is_delivered(&self) -> bool {
        self.fate == "delivered"
    }

    fn decided_s(&self) -> f64 {
        self.decided.unwrap() as f64 / 1e9
    }
}

fn batches(table: Option<&Table>) -> &[RecordBatch] {
    match table {
        Some(Table::Batches { batches, .. }) => batches,
        other => panic!("not in memory: {other:?}"),
    }
}

fn names(column: &ArrayRef) -> Vec<String> {
    let column = column.as_dictionary::<Int32Type>();
    let values = column.values().as_string::<i32>();
    column
        .keys()
        .iter()
        .map(|key| key.map_or(String::new(), |key| values.value(key as usize).to_owned()))
        .collect()
}

fn packets(results: &Results) -> Vec<PacketRow> {
    let mut rows = Vec::new();
    for batch in batches(results.tables.packets.as_ref()) {
        let column = |name: &str| batch.column_by_name(name).unwrap();
        let number = column("packet").as_primitive::<UInt64Type>();
        let sent = column("sent_ns").as_primitive::<Int64Type>();
        let decided = column("decided_ns").as_primitive::<Int64Type>();
        let wire_bytes = column("wire_bytes").as_primitive::<UInt32Type>();
        let copy = column("copy").as_primitive::<UInt32Type>();
        let payload = column("payload_bytes").as_primitive::<UInt32Type>();
        let sequence = column("sequence").as_primitive::<UInt32Type>();
        let [links, directions, flows, fates] =
            ["link", "direction", "flow", "fate"].map(|name| names(column(name)));
        for index in 0..batch.num_rows() {
            rows.push(PacketRow {
                number: number.value(index),
                link: links[index].clone(),
                down: directions[index] == "down",
                flow: flows[index].clone(),
                sent: sent.value(index),
                decided: decided.is_valid(index).then(|| decided.value(index)),
                fate: fates[index].clone(),
                wire_bytes: wire_bytes.value(index),
                payload: payload.value(index),
                copy: copy.value(index),
                sequence: if sequence.is_valid(index) {
                    sequence.value(index)
                } else {
                    0
                },
            });
        }
    }
    rows
}

/// Returns times in seconds and values of a series.
fn series(results: &Results, subject: &str, name: &str) -> Vec<(f64, f64)> {
    let mut rows = Vec::new();
    for batch in batches(results.tables.series.as_ref()) {
        let column = |name: &str| batch.column_by_name(name).unwrap();
        let times = column("time_ns").as_primitive::<Int64Type>();
        let values = column("value").as_primitive::<Float64Type>();
        let (subjects, series) = (names(column("subject")), names(column("series")));
        let found = (0..batch.num_rows())
            .filter(|&index| subjects[index] == subject && series[index] == name);
        rows.extend(found.map(|index| (times.value(index) as f64 / 1e9, values.value(index))));
    }
    rows
}
