//! A simulated connection, measured from the packets in its captures: the engine's own figures are the oracle.

use super::*;
use crate::captures::CaptureSettings;
use crate::observe::{Conversation, PacketView, Side, TcpInfoSample};
use crate::record::{Quantities, RecordNames, RecordSettings, Recorder, Sink};
use crate::scenario::model::{LinkIndex, NodeIndex};
use crate::world::World;
use crate::world::ports::PortId;
use baton_proto::mobility::attachment::{Handover, OldQueue};
use baton_proto::packet::{BitErrors, Body, Identity, IpHeader, Packet, Payload};
use baton_proto::tcp::Endpoint;
use baton_proto::time::{Duration, Instant};
use baton_proto::wire::sequence::SequenceNumber;
use baton_proto::wire::tcp::{TcpFlags, TcpHeader, TcpOptions};
use baton_proto::wire::udp::UdpHeader;
use core::net::IpAddr;
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

/// Reads the packets of a capture, whose host is an `end`.
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

/// Runs a scenario with hosts `a`, which opens, and `b`, and passes to a conversation all packets that they send and
/// receive.
fn observe(name: &str, text: &str) -> (Conversation, Results) {
    let folder = std::env::temp_dir().join(format!("baton-{}-{name}", std::process::id()));
    let options = RunOptions {
        out: Some(folder.clone()),
        force: true,
        captures: Some(CaptureSettings::default()),
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
    // A packet sent at the moment of an arrival, perhaps over another link, answers it.
    seen.sort_by_key(|packet| (packet.at, packet.sent));
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

/// Returns two access links, each hop between `a` and `b`, with random losses, and handovers.
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
fn a_connections_packets_give_the_engines_counts() {
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
        let text = lossy(seed, how, &format!("transport.profile = \"{profile}\""));
        let (conversation, results) = observe(&format!("tcp-{seed}"), &text);
        let flow = flow(&results.summary, "f");
        let progress = conversation.progress(Side::Opener);
        let counters = conversation.counters(Side::Opener);
        let context = format!("seed {seed}");
        assert_eq!(progress.delivered_bytes, flow.delivered_bytes, "{context}");
        assert_eq!(counters.packets, flow.segments_sent, "{context}");
        assert_eq!(
            counters.retransmitted,
            flow.retransmitted.unwrap(),
            "{context}"
        );
        assert_eq!(counters.spurious, flow.spurious_retransmitted, "{context}");
        let now = Instant::ZERO + Duration::from_secs(40);
        let open = conversation.open_stall(Side::Opener, now);
        let stall = progress.longest_stall.max(open).as_secs_f64();
        assert!(flow.retransmitted.unwrap() > 0, "{context}");
        near(stall, flow.longest_stall_s, 1e-9);
    }
}

#[test]
fn datagrams_stall_as_in_the_simulated_flow() {
    let text = lossy(
        7,
        "handover = \"hard\", outage = \"1 s\"",
        "transport = \"udp\"\ntraffic.kind = \"constant\"\ntraffic.rate = \"80 kbit/s\"\ntraffic.packet_size = \"500 B\"",
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

/// A server and a laptop that are real, on two access links of 1 Mbit/s and 20 ms, without a router.
const REAL: &str = r#"
    [links.near]
    between = ["server", "laptop"]
    kind = "wired"
    rate = "1 Mbit/s"
    delay = "20 ms"
    [links.far]
    between = ["server", "laptop"]
    kind = "wired"
    rate = "1 Mbit/s"
    delay = "20 ms"
    [mobiles.laptop]
    timetable = [{ at = "0 s", attach = "near" },
                 { at = "1 s", attach = "far", handover = "hard", outage = "2 s" }]
"#;

/// Passes datagrams of 972 B payload, each 1000 B and so 8 ms and 20 ms on its way, from the server to the
/// laptop at these times, which are ports of the laptop, too.
fn live_download(nat: bool, times_ms: &[(u64, u16)]) -> World {
    let live = format!("[live]\nhosts = [\"server\", \"laptop\"]\nnat = {nat}\n");
    let text = scenario(20, &[REAL, &live]);
    let loaded = scenario::parse(&text, "test", Path::new("."), &[]).unwrap();
    let settings = RecordSettings {
        series: Quantities::ALL,
        packets: true,
        signals: false,
    };
    let names = RecordNames {
        links: vec!["near".to_owned(), "far".to_owned()],
        radios: Vec::new(),
        flows: Vec::new(),
        nodes: Vec::new(),
    };
    let recorder = Recorder::new(settings, names, Sink::Memory).unwrap();
    let mut world = World::new_live(loaded.scenario, recorder, None);
    let [server, laptop] = [0, 1].map(|node| world.address(NodeIndex(node), false));
    let at_server = PortId(0);
    for &(time, port) in times_ms {
        world.run_until(Instant::from_millis(time), u64::MAX);
        let sent = datagram((server, 443), (laptop, port), 972);
        world.inject(at_server, &sent);
    }
    world.run_until(Instant::from_millis(20_000), u64::MAX);
    world
}

fn datagram(from: (IpAddr, u16), to: (IpAddr, u16), length: u32) -> Vec<u8> {
    let packet = Packet {
        ip: IpHeader {
            source: from.0,
            destination: to.0,
            hop_limit: 64,
            traffic_class: 0,
            identification: 7,
            dont_fragment: true,
        },
        body: Body::Udp(
            UdpHeader {
                source_port: from.1,
                destination_port: to.1,
            },
            Payload::Pattern {
                stream: 1,
                offset: 0,
                length,
            },
        ),
        flow: None,
        retransmission: false,
        bit_errors: BitErrors::NONE,
        identity: Identity::NONE,
    };
    let mut bytes = Vec::new();
    packet.encode(&mut bytes);
    bytes
}

#[test]
fn a_conversation_is_a_flow_with_its_handover() {
    // Two datagrams before the outage of 1 s to 3 s, one lost in it, one after it; another conversation later.
    let times = [
        (500, 9000),
        (900, 9000),
        (1500, 9000),
        (3500, 9000),
        (9000, 9001),
        (9100, 9001),
    ];
    let world = live_download(false, &times);
    let progress = world.program_progress();
    assert_eq!(progress.delivered_bytes, 5 * 972);
    // From the loss at 1.5 s, before which nothing was outstanding, to 3.5 s and 28 ms.
    assert_eq!(progress.longest_stall.as_secs_f64(), 2.028);
    assert_eq!(world.drops().get("link down"), Some(&1));
    let (summary, tables) = world.finish().unwrap();
    let flow = flow(&summary, "udp-9000-1");
    assert_eq!((flow.delivered_bytes, flow.lost_packets), (3 * 972, 1));
    assert_eq!(flow.longest_stall_s, 2.028);
    // A program's own retransmissions cannot be recognised.
    assert_eq!((flow.timeouts, flow.retransmitted), (None, None));
    let observed = flow.observed.as_ref().unwrap();
    assert_eq!(observed.from.as_deref(), Some("server"));
    assert_eq!(observed.to.as_deref(), Some("laptop"));
    assert_eq!(observed.five_tuple, "udp 10.0.0.1:443 10.0.0.2:9000");
    let handover = &summary.handovers[0];
    assert_eq!(handover.lost_packets, 1);
    assert!(handover.active);
    let flows: Vec<(&str, f64)> = handover
        .flows
        .iter()
        .map(|flow| (flow.name.as_str(), flow.stall_s))
        .collect();
    assert_eq!(flows, [("udp-9000-1", 2.028), ("udp-9001-1", 0.028)]);
    let written = serde_json::to_value(&summary).unwrap();
    assert_eq!(written["flows"][0]["to"], "laptop");
    assert!(written.get("live").is_none());
    let names = batches(tables.packets.as_ref())
        .iter()
        .flat_map(|batch| super::names(batch.column_by_name("flow").unwrap()));
    assert_eq!(names.filter(|name| name == "udp-9001-1").count(), 2);
}

/// A program that ends before the handover, or begins after it, has no figures of it.
#[test]
fn a_handover_without_traffic_is_not_active() {
    for times in [&[(500, 9000), (900, 9000)][..], &[(9000, 9001)], &[]] {
        let (summary, _) = live_download(false, times).finish().unwrap();
        let handover = &summary.handovers[0];
        assert_eq!(
            (handover.completed_s, handover.active),
            (Some(3.0), false),
            "{times:?}"
        );
    }
}

/// Runs a QUIC client under the IDs of RFC 9001 appendix A that moves to another address in a hard handover from 1 s to
/// 3 s. `bears` is true if it continues under the ID that the server chose in the handshake.
fn migrated(bears: bool) -> Summary {
    let live = "[live]\nhosts = [\"server\", \"laptop\"]\naddress = \"new\"\n";
    let loaded =
        scenario::parse(&scenario(20, &[REAL, live]), "test", Path::new("."), &[]).unwrap();
    let settings = RecordSettings {
        series: Quantities::NONE,
        packets: false,
        signals: false,
    };
    let recorder = Recorder::new(settings, RecordNames::default(), Sink::Memory).unwrap();
    let mut world = World::new_live(loaded.scenario, recorder, None);
    let server = (world.address(NodeIndex(0), false), 4433);
    let client = |world: &World, port: usize| (world.ports()[port].addresses[0], 40_000);
    let pass = |world: &mut World, at: u64, (from, to), header: &[u8], length: u32| {
        world.run_until(Instant::from_millis(at), u64::MAX);
        while world.poll_delivery().is_some() {}
        let mut bytes = datagram(from, to, length);
        bytes[28..28 + header.len()].copy_from_slice(header);
        let port = if from == server {
            0
        } else {
            1 + usize::from(at > 3000)
        };
        world.inject(PortId(port), &bytes);
    };
    const CLIENT: [u8; 8] = *b"\x83\x94\xc8\xf0\x3e\x51\x57\x08";
    const SERVER: [u8; 8] = *b"\xf0\x67\xa5\x50\x2a\x42\x62\xb5";
    let long = |destination: &[u8], source: &[u8]| {
        let mut header = vec![0xc0, 0, 0, 0, 1, destination.len() as u8];
        header.extend(destination);
        header.push(source.len() as u8);
        header.extend(source);
        header
    };
    let short = |id: &[u8]| [&[0x40], id].concat();
    let [before, after] = [client(&world, 1), client(&world, 2)];
    pass(
        &mut world,
        100,
        (before, server),
        &long(&CLIENT, b"12345678"),
        1200,
    );
    pass(
        &mut world,
        200,
        (server, before),
        &long(b"12345678", &SERVER),
        1200,
    );
    pass(&mut world, 900, (server, before), &short(b"12345678"), 1200);
    pass(
        &mut world,
        1500,
        (server, before),
        &short(b"12345678"),
        1200,
    );
    let id = if bears { SERVER } else { *b"secretly" };
    pass(&mut world, 3200, (after, server), &short(&id), 40);
    pass(&mut world, 3500, (server, after), &short(b"12345678"), 1200);
    world.run_until(Instant::from_millis(20_000), u64::MAX);
    world.finish().unwrap().0
}

#[test]
fn a_quic_connection_is_one_flow_across_a_handover() {
    let summary = migrated(true);
    let [flow] = &summary.flows[..] else {
        panic!("one flow: {:?}", summary.flows);
    };
    // 1228 B on a link of 1 Mbit/s take 9.824 ms, and 20 ms on their way; the lost one left at 1.5 s.
    near(flow.longest_stall_s, 3.5 + 0.029_824 - 1.5, 1e-9);
    assert_eq!(flow.delivered_bytes, 3 * 1200);
    let observed = flow.observed.as_ref().unwrap();
    assert_eq!((observed.moves, &observed.may_continue), (1, &None));
    assert_eq!(observed.data_from_bytes, Some(200));
    let at_handover = &summary.handovers[0].flows;
    assert_eq!(at_handover.len(), 1);
    assert!(summary.handovers[0].active);
    // The client sent first, but the bulk comes from the server: its packets are those to the sink.
    let delay = flow.delay.unwrap();
    assert_eq!((delay.packets, delay.mean_s), (3, 0.029_824));
    assert_eq!(flow.packet_delay.to_sink, flow.delay);
    let back = flow.packet_delay.to_source.unwrap();
    // One of 1228 B and one of 68 B.
    assert_eq!((back.packets, back.largest_s), (2, 0.029_824));
    near(back.p5_s, 0.020_544, 0.01 * 0.020_544);
    near(back.mean_s, (0.029_824 + 0.020_544) / 2.0, 1e-9);
}

#[test]
fn a_quic_connection_under_an_unknown_id_is_reported_as_unknown() {
    let summary = migrated(false);
    let continues = summary.flows.iter().map(|flow| {
        let observed = flow.observed.as_ref().unwrap();
        (
            flow.name.as_str(),
            observed.moves,
            observed.may_continue.as_deref(),
        )
    });
    assert_eq!(
        continues.collect::<Vec<_>>(),
        [
            ("udp-4433-1", 0, None),
            ("udp-4433-2", 0, Some("udp-4433-1"))
        ]
    );
}

/// Behind a translator the server answers to another address than the laptop sends from, and to yet another one after a
/// handover: still one conversation, whose responder is the server.
#[test]
fn translated_packets_stay_in_their_conversation() {
    let mut world = live_download(true, &[]);
    let laptop = (world.address(NodeIndex(1), false), 9000);
    let server = (world.address(NodeIndex(0), false), 443);
    let mut seen = Vec::new();
    for port in [PortId(2), PortId(1)] {
        world.inject(port, &datagram(laptop, server, 100));
        let time = world.now() + Duration::from_millis(500);
        world.run_until(time, u64::MAX);
        let request = world.poll_delivery().unwrap().packet;
        let from = (request.ip.source, request.view().ports.unwrap().0);
        world.inject(PortId(0), &datagram(server, from, 900));
        world.run_until(time + Duration::from_millis(500), u64::MAX);
        assert!(world.poll_delivery().is_some());
        seen.push(from);
        let soft = Handover::Soft {
            overlap: None,
            old_queue: OldQueue::Stays,
            outgoing_after: Duration::ZERO,
        };
        let _ = world.request_handover(NodeIndex(1), Some(LinkIndex(0)), soft);
        world.run_until(time + Duration::from_secs(1), u64::MAX);
    }
    assert!(seen[0] != seen[1] && !seen.contains(&laptop));
    let (summary, _) = world.finish().unwrap();
    assert_eq!(summary.flows.len(), 1);
    let flow = flow(&summary, "udp-443-1");
    let observed = flow.observed.as_ref().unwrap();
    assert_eq!(
        (flow.delivered_bytes, observed.reverse_bytes),
        (2 * 900, 200)
    );
    assert_eq!(observed.from.as_deref(), Some("server"));
}

#[test]
fn kernels_tell_of_windows_and_timeouts() {
    let mut world = live_download(false, &[]);
    let ends = [(0, 443), (1, 40_000)].map(|(node, port)| Endpoint {
        address: world.address(NodeIndex(node), false),
        port,
    });
    let header = TcpHeader {
        source_port: 40_000,
        destination_port: 443,
        sequence: SequenceNumber(1),
        acknowledgment: SequenceNumber(0),
        flags: TcpFlags::SYN,
        window: 1000,
        options: TcpOptions::default(),
    };
    let mut syn = Packet::decode(&datagram((ends[1].address, 1), (ends[0].address, 2), 0)).unwrap();
    syn.body = Body::Tcp(header, Payload::EMPTY);
    let mut bytes = Vec::new();
    syn.encode(&mut bytes);
    world.inject(PortId(2), &bytes);
    let mut sample = TcpInfoSample {
        at: world.now(),
        node: NodeIndex(1),
        local: ends[1],
        remote: ends[0],
        congestion_window: 14_600,
        slow_start_threshold: None,
        retransmission_timeout: Duration::from_millis(200),
        smoothed_rtt: Duration::from_millis(41),
        bytes_in_flight: 0,
        retransmitted: 3,
        timeouts: Some(2),
    };
    world.note_tcp_info(&sample);
    sample.local.port = 1;
    sample.retransmitted = 9;
    world.note_tcp_info(&sample);
    let (summary, tables) = world.finish().unwrap();
    let flow = flow(&summary, "tcp-443-1");
    assert_eq!((flow.retransmitted.unwrap(), flow.timeouts), (3, Some(2)));
    let results = Results {
        summary: summary.clone(),
        tables,
        ..run(&scenario(1, &[PAIR]))
    };
    let windows = series(&results, "flow tcp-443-1", "congestion window");
    assert_eq!(windows, [(20.0, 14_600.0)]);
}
