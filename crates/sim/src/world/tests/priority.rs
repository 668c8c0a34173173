//! Service classes and code points, from the flow that has one to the queue that respects it.

use super::aerotp::path;
use super::*;
use crate::captures::CaptureSettings;
use baton_proto::packet::Packet;
use baton_proto::wire::protocol::{AEROTP, TCP};
use pcap_file::pcapng::{Block, PcapNgReader};
use std::collections::BTreeSet;
use std::fs::{self, File};

/// Seconds that a packet of 1500 B takes at 5 Mbit/s.
const LARGEST_S: f64 = 1500.0 * 8.0 / 5e6;

/// Returns two sources whose packets meet before a link of 5 Mbit/s, which has this queue.
fn meeting(queue: &str) -> String {
    format!(
        r#"
        [links]
        one = {{ between = ["one", "router"], kind = "wired", rate = "100 Mbit/s", delay = "1 ms" }}
        two = {{ between = ["two", "router"], kind = "wired", rate = "100 Mbit/s", delay = "1 ms" }}
        air = {{ between = ["router", "ground"], kind = "wired", rate = "5 Mbit/s", delay = "10 ms", queue = {queue} }}
        "#
    )
}

/// Returns a transfer that fills the link, and telemetry of 200 B every 32 ms.
fn two_flows(over: &str, telemetry: &str) -> String {
    format!(
        r#"
        [[flows]]
        name = "transfer"
        from = "one"
        to = "ground"
        transport.kind = "{over}"
        [[flows]]
        name = "telemetry"
        from = "two"
        to = "ground"
        traffic.kind = "constant"
        traffic.rate = "50 kbit/s"
        traffic.packet_size = "200 B"
        start = "1 s"
        {telemetry}
        "#
    )
}

/// Returns the queueing delay of each packet of a flow down a link of 5 Mbit/s and 10 ms, in seconds.
fn waits(results: &Results, flow: &str) -> Vec<f64> {
    let rows = packets(results);
    let own = rows
        .iter()
        .filter(|row| row.link == "air" && row.down && row.flow == flow && row.is_delivered());
    own.map(|row| {
        let sojourn = row.decided_s() - row.sent as f64 / 1e9;
        sojourn - 0.01 - f64::from(row.wire_bytes) * 8.0 / 5e6
    })
    .collect()
}

fn aerotp(class: u8) -> String {
    format!("transport.kind = \"aerotp\"\ntransport.class = {class}\ntransport.coding = \"none\"")
}

#[test]
fn a_packet_of_class_7_waits_for_no_more_than_the_one_under_way() {
    let results = |queue: &str, class| {
        let parts = [meeting(queue), two_flows("aerotp", &aerotp(class))];
        run(&scenario(20, &[&parts[0], &parts[1]]))
    };
    let by_priority = "{ limit = \"100 packets\", management = \"priority\" }";
    let first = waits(&results(by_priority, 7), "telemetry");
    assert!(first.len() > 580);
    assert!(first.iter().all(|&wait| wait < LARGEST_S + 1e-9));
    // The link is full: it does wait for that.
    let waited = first.iter().filter(|&&wait| wait > 0.0).count();
    assert!(waited > first.len() / 2, "{waited}");
    // Of the transfer's class, it waits behind dozens of the transfer's packets.
    let equal = waits(&results(by_priority, 0), "telemetry");
    let behind = equal
        .iter()
        .filter(|&&wait| wait > 10.0 * LARGEST_S)
        .count();
    assert!(behind > equal.len() / 2, "{behind}");
    // The class changes nothing at all if queues ignore it.
    let plain = [7, 0].map(|class| waits(&results("\"100 packets\"", class), "telemetry"));
    assert_eq!(plain[0], plain[1]);
    assert_eq!(plain[0], equal);
}

#[test]
fn voice_over_udp_with_a_code_point_passes_a_download_over_tcp() {
    let by_priority = "{ limit = \"50 packets\", management = \"priority\" }";
    // Expedited forwarding, 101110, has precedence 5.
    for (code_point, passes) in [(46, true), (7, false)] {
        let voice = format!("transport = \"udp\"\ncode_point = {code_point}");
        let parts = [meeting(by_priority), two_flows("tcp", &voice)];
        let results = run(&scenario(20, &[&parts[0], &parts[1]]));
        let longest = waits(&results, "telemetry").into_iter().fold(0.0, f64::max);
        assert_eq!(
            longest < LARGEST_S + 1e-9,
            passes,
            "{code_point}: {longest}"
        );
        assert_eq!(
            flow(&results.summary, "telemetry").lost_packets == 0,
            passes
        );
    }
}

/// Returns the traffic class octets of a flow's packets at hosts' interfaces: capture, protocol, octet.
fn octets(name: &str, text: &str) -> BTreeSet<(String, u8, u8)> {
    let folder = std::env::temp_dir().join(format!("baton-{}-{name}", std::process::id()));
    let options = RunOptions {
        out: Some(folder.clone()),
        force: true,
        captures: Some(CaptureSettings::default()),
        ..RunOptions::default()
    };
    run_with(text, &options);
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        let Some(place) = file
            .strip_prefix("capture-")
            .and_then(|file| file.strip_suffix(".pcapng"))
        else {
            continue;
        };
        let mut reader = PcapNgReader::new(File::open(&path).unwrap()).unwrap();
        while let Some(block) = reader.next_block() {
            if let Block::EnhancedPacket(block) = block.unwrap() {
                let packet = Packet::decode(&block.data).unwrap();
                found.insert((
                    place.to_owned(),
                    packet.view().protocol,
                    packet.ip.traffic_class,
                ));
            }
        }
    }
    fs::remove_dir_all(&folder).unwrap();
    found
}

/// TCP with a code point on both sides of AeroTP gateways, of which a rule makes a class; between them the class alone.
#[test]
fn gateways_keep_a_flow_s_code_point_on_their_sides_and_cross_with_their_class() {
    let rules =
        "[aerotp_gateways.air]\nlinks = [\"air\"]\nrules = [{ code_point = 46, class = 5 }]\n";
    let download = "[[flows]]\nname = \"download\"\nfrom = \"aircraft\"\nto = \"ground\"\ntraffic.bytes = \"50 kB\"\ncode_point = 46";
    let text = scenario(20, &[&path(0.0), rules, download]);
    let found = octets("classes", &text);
    let all = [
        // Data can be marked with congestion: ECT(0).
        ("air-gateway-air", AEROTP, 0xa0),
        ("air-gateway-air", AEROTP, 0xa2),
        ("air-gateway-front", TCP, 0xb8),
        ("aircraft-front", TCP, 0xb8),
        ("ground-back", TCP, 0xb8),
        ("ground-gateway-air", AEROTP, 0xa0),
        ("ground-gateway-air", AEROTP, 0xa2),
        ("ground-gateway-back", TCP, 0xb8),
    ];
    let all = all.map(|(place, protocol, octet)| (place.to_owned(), protocol, octet));
    assert_eq!(found, all.into());
}
