//! The file against the blocks of the draft written out by hand, and read by tshark.

use super::*;
use baton_proto::packet::{BitErrors, Body, Identity, IpHeader, Payload};
use baton_proto::wire::association::AssociationResponse;
use baton_proto::wire::icmp::{Echo, IcmpError, IcmpMessage, QuotedPacket};
use baton_proto::wire::mih::{
    self, Answer, Body as MihBody, Capabilities, Content, Crossing, Event, Events, Handover,
    LinkChange, LinkIdentifier, Mih, MihfId, Network, Query, Request, Response, Service, Status,
    Step, Threshold,
};
use baton_proto::wire::neighbor_discovery::LinkLayerAddress;
use baton_proto::wire::sequence::SequenceNumber;
use baton_proto::wire::tcp::{TcpFlags, TcpHeader, TcpOptions, Timestamps};
use baton_proto::wire::udp::UdpHeader;
use std::net::IpAddr;
use std::process::{Command, Stdio};

/// Display filter for packets in which tshark finds a fault.
const COMPLAINTS: &str = "_ws.malformed || _ws.short || _ws.expert.severity == error";

fn packet(v4: bool, body: Body) -> Packet {
    let [source, destination] = if v4 {
        ["192.0.2.1", "192.0.2.2"]
    } else {
        ["2001:db8::1", "2001:db8::2"]
    }
    .map(|address| address.parse::<IpAddr>().expect("an address"));
    Packet {
        ip: IpHeader {
            source,
            destination,
            hop_limit: 64,
            traffic_class: 0,
            identification: 1,
            dont_fragment: true,
        },
        body,
        flow: None,
        retransmission: false,
        bit_errors: BitErrors::NONE,
        identity: Identity::NONE,
    }
}

fn pattern(length: u32) -> Payload {
    Payload::Pattern {
        stream: 1,
        offset: 77,
        length,
    }
}

fn segment(flags: TcpFlags, options: TcpOptions, length: u32) -> Body {
    let header = TcpHeader {
        source_port: 40000,
        destination_port: 9,
        sequence: SequenceNumber(1000),
        acknowledgment: SequenceNumber(2000),
        flags,
        window: 5840,
        options,
    };
    Body::Tcp(header, pattern(length))
}

/// Returns one packet of each kind that hosts send, over one version of IP.
fn packets(v4: bool) -> Vec<Packet> {
    let syn = TcpOptions {
        maximum_segment_size: Some(1460),
        window_scale: Some(7),
        sack_permitted: true,
        timestamps: Some(Timestamps { value: 1, echo: 0 }),
        ..TcpOptions::default()
    };
    let mut sack = TcpOptions {
        timestamps: Some(Timestamps { value: 2, echo: 1 }),
        ..TcpOptions::default()
    };
    sack.sack.push(SequenceNumber(5000), SequenceNumber(6000));
    sack.sack.push(SequenceNumber(3000), SequenceNumber(4000));
    let ports = UdpHeader {
        source_port: 40000,
        destination_port: 9,
    };
    let echo = Echo::counting(5, 6, 57);
    let mut bodies = vec![
        segment(TcpFlags::SYN, syn, 0),
        segment(TcpFlags::ACK, TcpOptions::default(), 1461),
        segment(TcpFlags::ACK, sack, 0),
        Body::Udp(ports, pattern(3)),
        Body::Udp(ports, Payload::EMPTY),
        Body::Icmp(IcmpMessage::EchoRequest(echo.clone())),
        Body::Icmp(IcmpMessage::EchoReply(echo)),
    ];
    let addresses = packet(v4, bodies[0].clone()).ip;
    for (kind, protocol) in [
        (IcmpError::PacketTooBig { mtu: 1400 }, 6),
        (IcmpError::PortUnreachable, 17),
        (IcmpError::Unreachable, 6),
        (IcmpError::TimeExceeded, 17),
    ] {
        let quoted = QuotedPacket {
            source: addresses.destination,
            destination: addresses.source,
            protocol,
            source_port: 9,
            destination_port: 40000,
            sequence: if protocol == 6 { 2000 } else { 0 },
            within: None,
        };
        bodies.push(Body::Icmp(IcmpMessage::Error { kind, quoted }));
    }
    bodies.into_iter().map(|body| packet(v4, body)).collect()
}

fn capture(packets: &[(Instant, Direction, Packet)]) -> Vec<u8> {
    let mut capture = Capture::new(Vec::new(), "wavelan", "a test", None).expect("memory");
    for (at, direction, packet) in packets {
        capture.write(*at, *direction, packet).expect("memory");
    }
    capture.finish().expect("memory")
}

/// Returns the output of tshark with these arguments about a capture; `None` where there is no tshark.
fn tshark(capture: &[u8], arguments: &[&str]) -> Option<String> {
    let checks = ["ip", "tcp", "udp"].map(|header| format!("{header}.check_checksum:TRUE"));
    let child = Command::new("tshark")
        .args(["-r", "-"])
        .args(checks.iter().flat_map(|check| ["-o", check]))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut child) = child else {
        println!("skipped: tshark is not installed (Debian: apt-get install tshark)");
        return None;
    };
    child
        .stdin
        .take()
        .expect("piped")
        .write_all(capture)
        .expect("tshark reads");
    let output = child.wait_with_output().expect("tshark ends");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Some(String::from_utf8(output.stdout).expect("text"))
}

#[test]
fn blocks_as_the_draft_lays_them_out() {
    let udp = UdpHeader {
        source_port: 1,
        destination_port: 2,
    };
    // 2^32 + 7 ns, so that both halves of the time are seen.
    let at = Instant::from_nanos((1 << 32) + 7);
    let packet = packet(true, Body::Udp(udp, pattern(1)));
    let file = capture(&[(at, Direction::Outbound, packet.clone())]);
    let u32_at = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().expect("four bytes"));

    // Section header: type, length, byte-order magic, version 1.0, unknown section length.
    assert_eq!(u32_at(0), 0x0A0D_0D0A);
    assert_eq!(u32_at(8), 0x1A2B_3C4D);
    assert_eq!(file[12..16], [1, 0, 0, 0]);
    assert_eq!(file[16..24], [0xFF; 8]);

    // Interface description: LINKTYPE_RAW, no limit; if_name (2) "wavelan"; if_tsresol (9) = 9; end.
    let interface = u32_at(4) as usize;
    assert_eq!(u32_at(interface - 4), u32_at(4), "the length again");
    let expected = [
        [1, 0, 0, 0],
        [44, 0, 0, 0],
        [101, 0, 0, 0],
        [0; 4],
        [2, 0, 7, 0],
        *b"wave",
        *b"lan\0",
        [9, 0, 1, 0],
        [9, 0, 0, 0],
        [0; 4],
        [44, 0, 0, 0],
    ];
    let block = interface + 44;
    assert_eq!(file[interface..block], expected.concat());

    // Enhanced packet: interface 0, time high and low, 29 bytes padded to 32, epb_flags (2) = outbound, end.
    let mut bytes = Vec::new();
    packet.encode(&mut bytes);
    bytes.extend_from_slice(&[0; 3]);
    let head = [6, 76, 0, 1, 7, 29, 29].map(u32::to_le_bytes).concat();
    let tail = [[2, 0, 4, 0], [2, 0, 0, 0], [0; 4], [76, 0, 0, 0]].concat();
    assert_eq!(file[block..], [head, bytes, tail].concat());
}

#[test]
fn a_snap_length_cuts_packets_and_tells_how_long_they_were() {
    let udp = UdpHeader {
        source_port: 1,
        destination_port: 2,
    };
    let whole = packet(true, Body::Udp(udp, pattern(1)));
    let mut capture = Capture::new(Vec::new(), "lan", "", NonZeroU32::new(28)).expect("memory");
    let written = capture.write(Instant::ZERO, Direction::Outbound, &whole);
    written.expect("memory");
    let file = capture.finish().expect("memory");
    let u32_at = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().expect("four bytes"));
    let interface = u32_at(4) as usize;
    assert_eq!(u32_at(interface + 12), 28, "SnapLen");
    let block = interface + u32_at(interface + 4) as usize;
    assert_eq!(
        [u32_at(block + 20), u32_at(block + 24)],
        [28, 29],
        "Captured and Original Packet Length"
    );
    let mut bytes = Vec::new();
    whole.encode(&mut bytes);
    assert_eq!(file[block + 28..block + 56], bytes[..28]);
}

#[test]
fn tshark_finds_nothing_wrong() {
    let all: Vec<_> = [true, false].into_iter().flat_map(packets).collect();
    let count = all.len();
    let timed: Vec<_> = (0..)
        .zip(all)
        .map(|(index, packet)| {
            let at = Instant::from_nanos(1_234_567_891 + index * 1_000_000_007);
            let direction = if index % 2 == 0 {
                Direction::Outbound
            } else {
                Direction::Inbound
            };
            (at, direction, packet)
        })
        .collect();
    let file = capture(&timed);

    let mut arguments = vec!["-T", "fields", "-E", "separator=;", "-E", "occurrence=f"];
    for field in [
        "frame.time_epoch",
        "frame.interface_name",
        "frame.packet_flags_direction",
        "frame.len",
        "ip.checksum.status",
        "tcp.checksum.status",
        "udp.checksum.status",
        "icmp.checksum.status",
        "icmpv6.checksum.status",
    ] {
        arguments.extend(["-e", field]);
    }
    let Some(table) = tshark(&file, &arguments) else {
        return;
    };
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), count);
    for (line, (at, direction, packet)) in lines.iter().zip(&timed) {
        let good = |present: bool| if present { "1" } else { "" };
        let v4 = packet.ip.source.is_ipv4();
        let icmp = matches!(packet.body, Body::Icmp(_));
        let nanoseconds = at.as_nanos();
        let outbound = *direction == Direction::Outbound;
        let fields: Vec<&str> = line.split(';').collect();
        assert_eq!(
            fields[0],
            format!(
                "{}.{:09}",
                nanoseconds / 1_000_000_000,
                nanoseconds % 1_000_000_000
            )
        );
        assert_eq!(fields[1], "wavelan");
        let direction = u32::from_str_radix(fields[2].trim_start_matches("0x"), 16);
        assert_eq!(direction, Ok(if outbound { 2 } else { 1 }));
        assert_eq!(fields[3], packet.wire_length().to_string());
        assert_eq!(fields[4], good(v4), "{line}");
        assert_eq!(
            fields[5],
            good(matches!(packet.body, Body::Tcp(..))),
            "{line}"
        );
        if !icmp {
            // In an error, this column shows the quoted datagram, whose payload is not there to be summed.
            assert_eq!(
                fields[6],
                good(matches!(packet.body, Body::Udp(..))),
                "{line}"
            );
        }
        assert_eq!(fields[7], good(icmp && v4), "{line}");
        assert_eq!(fields[8], good(icmp && !v4), "{line}");
    }

    assert_eq!(tshark(&file, &["-Y", COMPLAINTS]).as_deref(), Some(""));
}

fn mih_message(body: MihBody) -> Mih {
    Mih::new(291, [b"train" as &[u8], b"gateway"].map(MihfId::new), body)
}

fn in_datagram(message: &Mih) -> (Instant, Direction, Packet) {
    let ports = UdpHeader {
        source_port: mih::PORT,
        destination_port: mih::PORT,
    };
    let body = Body::Udp(ports, Payload::Bytes(message.encode().into()));
    (
        Instant::from_secs(1),
        Direction::Outbound,
        packet(false, body),
    )
}

/// The other services and events of IEEE 802.21: tshark's reading of each, value by value. ODTONE agrees with us where
/// tshark does not: it reads a NETWORK_TYPE's choices the other way round, so that the list of links in the capabilities
/// is not compared, and no count before a LIST(THRESHOLD), so that it takes the count for a part of the value (0x0103).
#[test]
fn tshark_reads_services_and_events_of_media_independent_handovers() {
    let link = LinkIdentifier::new(19, b"wifi");
    let threshold = Threshold {
        rate: 1000,
        crossing: Crossing::Below,
    };
    let network = Network::new(
        link.clone(),
        b"operator",
        11_000,
        "2001:db8::1".parse().expect("one"),
    );
    let all = Events::ALL;
    let event = |change| {
        MihBody::Event(Event {
            link: link.clone(),
            change,
        })
    };
    let granted = |answer| MihBody::Response(Response::Granted(answer));
    // Service, action and operation; status; links; events Link_Up, Link_Down, Link_Parameters_Report, Link_Going_Down;
    // register code, valid time, data rate of a report, threshold and its direction, time interval, reasons.
    let cases = [
        (
            MihBody::Request(Request::Discover),
            "0x0001;0x0001;0x0001;;;;;;;;;;;;;;",
        ),
        (
            granted(Answer::Capabilities(Capabilities {
                links: vec![],
                events: all,
            })),
            "0x0001;0x0001;0x0002;0;;1;1;1;1;;;;;;;;",
        ),
        (
            MihBody::Request(Request::Register(vec![link.clone(), link.clone()])),
            "0x0001;0x0002;0x0001;;wifi,wifi;;;;;0;;;;;;;",
        ),
        (
            granted(Answer::Registered),
            "0x0001;0x0002;0x0002;0;;;;;;;0;;;;;;",
        ),
        (
            MihBody::Request(Request::Subscribe(link.clone(), Events::DOWN)),
            "0x0001;0x0004;0x0001;;wifi;0;1;0;0;;;;;;;;",
        ),
        (
            granted(Answer::Subscribed(link.clone(), Events::UP)),
            "0x0001;0x0004;0x0002;0;wifi;1;0;0;0;;;;;;;;",
        ),
        (
            MihBody::Request(Request::ConfigureThresholds(link.clone(), vec![threshold])),
            "0x0003;0x0002;0x0001;;wifi;;;;;;;;259;232;;;",
        ),
        (
            granted(Answer::Configured(link.clone(), vec![threshold])),
            "0x0003;0x0002;0x0002;0;wifi;;;;;;;;1000;1;;;",
        ),
        (
            MihBody::Request(Request::GetInformation(Query::Binary)),
            "0x0004;0x0001;0x0001;;;;;;;;;;;;;;",
        ),
        (
            granted(Answer::Information(vec![network])),
            "0x0004;0x0001;0x0002;0;;;;;;;;;;;;;",
        ),
        (
            MihBody::Response(Response::Refused(
                Service::Information,
                Status::Unauthorized,
            )),
            "0x0004;0x0001;0x0002;3;;;;;;;;;;;;;",
        ),
        (
            event(LinkChange::Up),
            "0x0002;0x0002;0x0003;;wifi;;;;;;;;;;;;",
        ),
        (
            event(LinkChange::Down),
            "0x0002;0x0003;0x0003;;wifi;;;;;;;;;;;1;",
        ),
        (
            event(LinkChange::Rate {
                rate: 999,
                threshold,
            }),
            "0x0002;0x0005;0x0003;;wifi;;;;;;;999;1000;1;;;",
        ),
        (
            event(LinkChange::GoingDown),
            "0x0002;0x0006;0x0003;;wifi;;;;;;;;;;0;;1",
        ),
    ];
    let timed: Vec<_> = cases
        .iter()
        .map(|(body, _)| in_datagram(&mih_message(body.clone())))
        .collect();
    let file = capture(&timed);
    let fields = [
        "service_id",
        "action_id",
        "opcode",
        "status",
        "link_addr_string",
        "event_list.link_up",
        "event_list.link_down",
        "event_list.link_param_rpt",
        "event_list.link_gd",
        "reg_request_code",
        "valid_time_interval",
        "link_param_value",
        "threshold_val",
        "threshold_x_dir",
        "time_interval",
        "link_dn_reason",
        "link_gdn_reason",
    ];
    let fields = fields.map(|name| format!("mih.{name}"));
    let mut arguments = vec!["-T", "fields", "-E", "separator=;"];
    arguments.extend(fields.iter().flat_map(|field| ["-e", field]));
    let Some(table) = tshark(&file, &arguments) else {
        return;
    };
    let expected: Vec<&str> = cases.iter().map(|(_, row)| *row).collect();
    assert_eq!(table.lines().collect::<Vec<_>>(), expected);
    assert_eq!(tshark(&file, &["-Y", COMPLAINTS]).as_deref(), Some(""));
}

/// The Association Response of IEEE 802.11, in a classic capture file of frames without radio headers (link type 105).
#[test]
fn tshark_reads_an_association_response() {
    let response = AssociationResponse {
        station: LinkLayerAddress([2, 0x10, 0, 0, 0, 1]),
        access_point: LinkLayerAddress([2, 0, 0, 0, 0, 2]),
        status: 0,
        association: 7,
        queue_packets: Some(35),
    };
    let frame = response.encode();
    let length = (frame.len() as u32).to_le_bytes();
    let head: [u32; 6] = [0xA1B2_C3D4, 4 << 16 | 2, 0, 0, 65_535, 105];
    let mut file: Vec<u8> = head.into_iter().flat_map(u32::to_le_bytes).collect();
    file.extend([[0; 4], [0; 4], length, length].concat());
    file.extend(frame);
    let fields = [
        "wlan.fc.type_subtype",
        "wlan.ra",
        "wlan.bssid",
        "wlan.fixed.status_code",
        "wlan.fixed.aid",
        "wlan.tag.number",
        "wlan.tag.oui",
        "wlan.tag.vendor.oui.type",
        "wlan.tag.vendor.data",
    ];
    let mut arguments = vec!["-T", "fields", "-E", "separator=;"];
    arguments.extend(fields.iter().flat_map(|field| ["-e", field]));
    if let Some(found) = tshark(&file, &arguments) {
        let expected =
            "0x0001;02:10:00:00:00:01;02:00:00:00:00:02;0x0000;0x0007;1,221;148052;1;010023";
        assert_eq!(found.trim(), expected);
        assert_eq!(tshark(&file, &["-Y", COMPLAINTS]).as_deref(), Some(""));
    }
}

/// Requests and responses of IEEE 802.21: tshark's name of each, by its action and operation, and the values in it.
#[test]
fn tshark_reads_the_messages_of_media_independent_handovers() {
    let mut timed = Vec::new();
    let mut expected = Vec::new();
    let link = LinkIdentifier::new(19, b"wifi");
    for (step, mobile, action, names, answered) in [
        (Step::Query, false, 5, "gsm,wifi", "gsm,wifi"),
        (Step::Query, true, 6, "wifi", "wifi"),
        (Step::Commit, false, 7, "wifi", "wifi"),
        (Step::Commit, true, 9, "wifi,wifi", "wifi"),
        (Step::Complete, false, 10, "gsm,wifi", "gsm,wifi"),
        (Step::Complete, true, 11, "gsm,wifi", "gsm,wifi"),
    ] {
        // The dissector shows a handover's result as a status.
        let result = if step == Step::Complete { "0" } else { "" };
        let request = mih_message(MihBody::Handover(Handover {
            mobile: mobile.then(|| MihfId::new(b"mn")),
            step,
            current: names
                .starts_with("gsm")
                .then(|| LinkIdentifier::new(18, b"gsm")),
            content: Content::Request(link.clone()),
        }));
        let response = |status| request.response(status).expect("a command");
        let messages = [
            (request.clone(), 1, result, names),
            (response(Status::Success), 2, "0", answered),
            (response(Status::Rejected), 2, "2", ""),
        ];
        for (message, operation, status, names) in messages {
            timed.push(in_datagram(&message));
            let ends = if operation == 1 {
                "train,gateway"
            } else {
                "gateway,train"
            };
            let mobile = if mobile { ",mn" } else { "" };
            expected.push(format!(
                "0x0003;{action:#06x};{operation:#06x};291;{status};{names};{ends}{mobile}"
            ));
        }
    }
    let file = capture(&timed);
    let fields = [
        "service_id",
        "action_id",
        "opcode",
        "tid",
        "status",
        "link_addr_string",
        "mihf_id",
    ];
    let fields = fields.map(|name| format!("mih.{name}"));
    let mut arguments = vec!["-T", "fields", "-E", "separator=;"];
    arguments.extend(fields.iter().flat_map(|field| ["-e", field]));
    let Some(table) = tshark(&file, &arguments) else {
        return;
    };
    assert_eq!(table.lines().collect::<Vec<_>>(), expected);
    assert_eq!(tshark(&file, &["-Y", COMPLAINTS]).as_deref(), Some(""));
}

#[test]
fn damage_is_captured_as_it_arrived() {
    let mut damaged = packets(true).swap_remove(1);
    damaged.bit_errors = vec![8 * 100].into();
    let file = capture(&[(Instant::from_secs(1), Direction::Inbound, damaged)]);
    let arguments = [
        "-Y",
        COMPLAINTS,
        "-T",
        "fields",
        "-e",
        "tcp.checksum.status",
    ];
    if let Some(found) = tshark(&file, &arguments) {
        assert_eq!(found.trim(), "0", "a bad checksum");
    }
}

#[test]
fn a_full_disk_is_reported() {
    struct Full(usize);
    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if bytes.len() > self.0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.0 -= bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut capture = Capture::new(Full(300), "eth0", "", None).expect("room for the head");
    let packet = packets(true).swap_remove(1);
    let error = capture.write(Instant::ZERO, Direction::Inbound, &packet);
    assert_eq!(
        error.expect_err("no room for the packet").kind(),
        io::ErrorKind::StorageFull
    );
}
