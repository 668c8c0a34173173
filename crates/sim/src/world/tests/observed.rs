//! A simulated connection, measured from the packets in its captures: the engine's own figures are the oracle.

use super::*;
use crate::observe::{Conversation, PacketView, Side};
use baton_proto::time::Instant;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
use pcap_file::pcapng::{Block, PcapNgReader};
use std::collections::{BTreeMap, VecDeque};
use std::fs::{self, File};
use std::path::Path;

/// A packet at an interface of one of two hosts.
struct Seen {
    at: Instant,
    sent: bool,
    from: Side,
    bytes: Vec<u8>,
}

/// The packets of a capture, whose host is an `end`.
fn read(file: &Path, end: Side) -> Vec<Seen> {
    let mut reader = PcapNgReader::new(File::open(file).unwrap()).unwrap();
    let mut seen = Vec::new();
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(packet) = block.unwrap() {
            let sent = packet.options.contains(&EnhancedPacketOption::Flags(2));
            seen.push(Seen {
                at: Instant::from_nanos(packet.timestamp.as_nanos() as u64),
                sent,
                from: if sent { end } else { end.other() },
                bytes: packet.data.to_vec(),
            });
        }
    }
    seen
}

/// Runs a scenario with hosts `a`, which opens, and `b`, and tells a conversation all that they send and get.
fn observe(name: &str, text: &str) -> (Conversation, Results) {
    let folder = std::env::temp_dir().join(format!("baton-{}-{name}", std::process::id()));
    let options = RunOptions {
        out: Some(folder.clone()),
        force: true,
        captures: true,
        ..RunOptions::default()
    };
    let results = run_with(text, &options);
    let mut seen = Vec::new();
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        if file.starts_with("capture-a-") {
            seen.extend(read(&path, Side::Opener));
        } else if file.starts_with("capture-b-") {
            seen.extend(read(&path, Side::Responder));
        }
    }
    fs::remove_dir_all(&folder).unwrap();
    seen.sort_by_key(|packet| packet.at);
    let mut conversation = Conversation::new(seen[0].at);
    let mut numbers: BTreeMap<Vec<u8>, VecDeque<u64>> = BTreeMap::new();
    for (number, packet) in seen.into_iter().enumerate() {
        let view = PacketView::parse(&packet.bytes).unwrap();
        let queue = numbers.entry(packet.bytes.clone()).or_default();
        if packet.sent {
            queue.push_back(number as u64);
            conversation.sent(packet.at, packet.from, number as u64, &view);
        } else {
            let number = queue.pop_front().unwrap();
            conversation.received(packet.at, packet.from, number, &view);
        }
    }
    (conversation, results)
}

/// Two access links, each hop between `a` and `b`, with random losses, and handovers.
fn lossy(seed: u32, how: &str, flow: &str) -> String {
    let links = "
        links.x = { between = [\"a\", \"b\"], kind = \"wired\", rate = \"2 Mbit/s\", delay = \"30 ms\",
                    packet_error_rate = 0.01, queue = \"20 packets\" }
        links.y = { between = [\"a\", \"b\"], kind = \"wired\", rate = \"500 kbit/s\", delay = \"150 ms\",
                    packet_error_rate = 0.02, queue = \"20 packets\" }";
    let timetable = format!(
        "mobiles.b.timetable = [{{ at = \"0 s\", attach = \"x\" }}, {{ at = \"8 s\", attach = \"y\", {how} }},
            {{ at = \"20 s\", attach = \"x\", {how} }}]"
    );
    let flow = format!("[[flows]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n{flow}");
    scenario(40, &[&format!("seed = {seed}"), links, &timetable, &flow])
}

#[test]
fn a_connections_packets_tell_what_the_engine_counted() {
    for (seed, how, profile) in [
        (1, "handover = \"soft\"", "rfc"),
        (2, "handover = \"hard\", outage = \"2 s\"", "rfc"),
        (3, "handover = \"hard\", outage = \"3 s\"", "ns2"),
        (4, "handover = \"soft\", overlap = \"100 ms\"", "ns2"),
        (
            5,
            "handover = \"hard\", outage = \"700 ms\"",
            "linux-2.0.36",
        ),
    ] {
        let text = lossy(seed, how, &format!("profile = \"{profile}\""));
        let (conversation, results) = observe(&format!("tcp-{seed}"), &text);
        let flow = flow(&results.summary, "f");
        let progress = conversation.progress(Side::Opener);
        let counters = conversation.counters(Side::Opener);
        let context = format!("seed {seed}");
        assert_eq!(progress.delivered_bytes, flow.delivered_bytes, "{context}");
        assert_eq!(counters.packets, flow.segments_sent, "{context}");
        assert_eq!(counters.retransmitted, flow.retransmitted, "{context}");
        assert_eq!(counters.spurious, flow.spurious_retransmitted, "{context}");
        let now = Instant::ZERO + baton_proto::time::Duration::from_secs(40);
        let open = conversation.open_stall(Side::Opener, now);
        let stall = progress.longest_stall.max(open).as_secs_f64();
        assert!(flow.retransmitted > 0, "{context}");
        near(stall, flow.longest_stall_s, 1e-9);
    }
}

#[test]
fn datagrams_stall_as_in_the_simulated_flow() {
    let text = lossy(
        7,
        "handover = \"hard\", outage = \"1 s\"",
        "transport = \"udp\"\ntraffic = \"constant\"\nrate = \"80 kbit/s\"\npacket_size = \"500 B\"",
    );
    let (conversation, results) = observe("udp", &text);
    let flow = flow(&results.summary, "f");
    let progress = conversation.progress(Side::Opener);
    assert_eq!(progress.delivered_bytes, flow.delivered_bytes);
    assert!(flow.longest_stall_s > 1.0);
    near(
        progress.longest_stall.as_secs_f64(),
        flow.longest_stall_s,
        1e-9,
    );
}
