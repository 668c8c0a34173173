//! IP packets under AeroNP: their headers on the air, and their damage.

use super::*;
use crate::captures::CaptureSettings;
use pcap_file::pcapng::{Block, PcapNgReader};
use std::fs::{self, File};

/// Returns a network of nodes that stand in a row, `apart_degrees` apart on the equator: ground, relays, article. Node to
/// node it is one hop.
fn row(relays: u32, apart_degrees: f64, keys: &str) -> String {
    let mut text =
        format!("[links.air]\nbetween = [\"ground\", \"article\"]\nkind = \"ad-hoc\"\n{keys}\n");
    let relays = (1..=relays).map(|number| format!("relay-{number}"));
    let names = [String::from("ground")].into_iter().chain(relays);
    for (place, name) in names.chain([String::from("article")]).enumerate() {
        let longitude = apart_degrees * place as f64;
        text += &format!(
            "[links.air.tracks.{name}]\nposition = {{ latitude = 0, longitude = {longitude}, altitude = \"1 km\" }}\n"
        );
    }
    text
}

/// Returns the packets from 10.0.0.4, the camera, in a host's capture of a link.
fn captured(folder: &std::path::Path, place: &str) -> Vec<Vec<u8>> {
    let path = folder.join(format!("capture-{place}.pcapng"));
    let mut reader = PcapNgReader::new(File::open(path).unwrap()).unwrap();
    let mut packets = Vec::new();
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(block) = block.unwrap() {
            packets.push(block.data.into_owned());
        }
    }
    packets.retain(|packet| packet[12..16] == [10, 0, 0, 4]);
    packets
}

/// The capture at the node where packets enter the network has the headers that the camera wrote; the one at the node where
/// they leave has those that AeroNP's header gave.
#[test]
fn ip_headers_come_back_at_the_far_end() {
    let wire = |name: &str, between: &str| {
        format!("[links.{name}]\nbetween = {between}\nkind = \"wired\"\n")
    };
    let video = "[[flows]]\nname = \"video\"\nfrom = \"camera\"\nto = \"control\"\nstart = \"7 s\"\ncode_point = 10\n\
                 traffic.bytes = \"300 kB\"";
    let text = scenario(
        20,
        &[
            &row(1, 0.2, ""),
            &wire("cabin", "[\"control\", \"ground\"]"),
            &wire("mast", "[\"camera\", \"article\"]"),
            video,
        ],
    );
    let folder = std::env::temp_dir().join(format!("baton-{}-aeronp", std::process::id()));
    let options = RunOptions {
        out: Some(folder.clone()),
        force: true,
        captures: Some(CaptureSettings::default()),
        ..RunOptions::default()
    };
    let results = run_with(&text, &options);
    let [entered, left] = ["article-air", "ground-air"].map(|place| captured(&folder, place));
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(flow(&results.summary, "video").delivered_bytes, 300_000);
    assert!(entered.len() > 200, "{}", entered.len());
    assert_eq!(entered, left);
    assert!(
        entered
            .iter()
            .all(|packet| (packet[1], packet[8]) == (10 << 2, 63))
    );
}

/// Short datagrams at full rate: of the bytes that a node sends only the payload, UDP's header and AeroNP's are theirs.
#[test]
fn an_ip_header_takes_no_time_on_the_air() {
    let payload = 100.0;
    let share = |between: &str, hosts: &[&str], header: f64| {
        let stream = format!(
            "[[flows]]\nname = \"stream\"\n{between}\nstart = \"10 s\"\nstop = \"30 s\"\ntransport = \"udp\"\n\
             traffic = {{ kind = \"constant\", rate = \"4 Mbit/s\", packet_size = \"{payload} B\" }}\n"
        );
        let mut parts = vec![row(0, 0.2, "queue = \"10 packets\"")];
        parts.extend(hosts.iter().map(|host| (*host).to_owned()));
        parts.push(stream);
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let goodput = flow(&run(&scenario(31, &parts)).summary, "stream").delivered_bytes;
        // 5 Mbit/s for 20 s, less a beacon of 35 B a second, and an advertisement of 57 B in five.
        let bytes = 20.0 * (5e6 / 8.0 - 35.0 - 57.0 / 5.0);
        near(
            goodput as f64,
            bytes * payload / (payload + 8.0 + header),
            0.001 * bytes,
        );
    };
    // Between the nodes: 35 B, and protocol, type of service, time to live and identification.
    share("from = \"article\"\nto = \"ground\"", &[], 40.0);
    // Between hosts behind them: both addresses, too.
    let wires = [
        "[links.cabin]\nbetween = [\"control\", \"ground\"]\nkind = \"wired\"\n",
        "[links.mast]\nbetween = [\"camera\", \"article\"]\nkind = \"wired\"\n",
    ];
    share("from = \"camera\"\nto = \"control\"", &wires, 48.0);
}

const NOISE: &str = "bit_error_rate = 5e-5\ndamaged = \"delivered\"";

/// Returns the results of a bulk transfer from the article to the ground over one relay.
fn bulk(keys: &str, transport: &str) -> FlowSummary {
    let flow = format!(
        "[[flows]]\nname = \"bulk\"\nfrom = \"article\"\nto = \"ground\"\nstart = \"7 s\"\n{transport}\n"
    );
    let summary = run(&scenario(37, &[&row(1, 0.2, keys), &flow])).summary;
    summary.flows.into_iter().next().unwrap()
}

/// Behind the last node a damaged datagram fails UDP's checksum; its loss is the channel's.
#[test]
fn damaged_datagrams_are_dropped_at_the_host_and_counted() {
    let datagrams = "transport = \"udp\"\nstop = \"36 s\"\n\
                     traffic = { kind = \"constant\", rate = \"800 kbit/s\", packet_size = \"1000 B\" }";
    let way = bulk(NOISE, datagrams).packets.to_sink;
    assert_eq!(way.sent, 2900);
    assert_eq!(way.delivered + way.lost_by.channel, way.sent);
    // Two hops of 40 B of AeroNP, 8 B of UDP and the payload.
    let survives = (1.0 - 5e-5_f64).powi(2 * 8 * (40 + 8 + 1000));
    near(way.delivered as f64 / 2900.0, survives, 0.04);
}

/// 8 in 10 full packets are damaged on their two hops.
#[test]
fn aerotp_s_code_carries_over_noisy_hops_what_tcp_cannot() {
    let aerotp = bulk(
        NOISE,
        "transport = { kind = \"aerotp\", mode = \"reliable\" }",
    );
    let tcp = bulk(NOISE, "transport = \"tcp\"");
    assert!(aerotp.goodput_bps > 3.5e6, "{}", aerotp.goodput_bps);
    assert!(tcp.goodput_bps < 2e5, "{}", tcp.goodput_bps);
    // Its code has nothing to correct if the frame check loses what is damaged.
    let lossy = bulk(
        "bit_error_rate = 5e-5",
        "transport = { kind = \"aerotp\", mode = \"reliable\" }",
    );
    assert!(
        lossy.goodput_bps < 0.6 * aerotp.goodput_bps,
        "{}",
        lossy.goodput_bps
    );
}

/// A relay can send 5 Mbit/s: more than one flow of 4 Mbit/s over noise, most of which arrives damaged, and less than two.
#[test]
fn corruption_does_not_lower_the_rate_and_congestion_does() {
    let lowest = |keys: &str, directions: &[[&str; 2]]| {
        let flows: Vec<String> = directions
            .iter()
            .map(|[from, to]| {
                format!(
                    "[[flows]]\nname = \"{from}\"\nfrom = \"{from}\"\nto = \"{to}\"\nstart = \"7 s\"\n\
                     transport = {{ kind = \"aerotp\", mode = \"reliable\", coding = \"none\", rate = \"4 Mbit/s\" }}\n"
                )
            })
            .collect();
        let text = format!("{}{}", row(1, 0.2, keys), flows.concat());
        let results = run(&scenario(27, &["record.series = true", &text]));
        let rates = series(&results, "flow article", "sending rate");
        assert!(!rates.is_empty());
        let damaged = aerotp_of(flow(&results.summary, "article")).damaged_packets;
        let lowest = rates.iter().map(|&(_, rate)| rate);
        (lowest.fold(f64::INFINITY, f64::min), damaged)
    };
    let one = [["article", "ground"]];
    let (noisy, damaged) = lowest(NOISE, &one);
    assert!(damaged > 3000, "{damaged}");
    assert_eq!(noisy, 4e6);
    let both = [["article", "ground"], ["ground", "article"]];
    let (congested, _) = lowest("queue = \"40 packets\"", &both);
    assert!(congested < 0.8 * noisy, "{congested} {noisy}");
}
