//! Captures of the daemons under way, read by tshark.

use crate::gateways::{PORT, Setup, Transfer, byte};
use crate::world::daemons::{Daemon, PATIENCE};
use crate::world::datagram::endpoints;
use crate::world::{HOME_AGENT, HOST, UPLINKS, Version, WLAN, WWAN, World, until_bound};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use pcap_file::pcapng::blocks::interface_statistics::InterfaceStatisticsOption;
use pcap_file::pcapng::{Block, PcapNgReader};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::{Shutdown, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

const SECOND: Duration = Duration::from_secs(1);

/// A capture under way.
struct Capturing {
    client: Child,
    file: PathBuf,
}

impl Capturing {
    fn begin(daemon: &Daemon, file: &Path) -> Capturing {
        let file = file.to_owned();
        let client = daemon.command(&["capture", file.to_str().unwrap()]).spawn();
        let begun = Instant::now();
        while std::fs::metadata(&file).map_or(0, |data| data.len()) == 0 {
            assert!(begun.elapsed() < PATIENCE, "no capture");
            sleep(Duration::from_millis(2));
        }
        Capturing {
            client: client.unwrap(),
            file,
        }
    }

    /// Ends it as an operator does, with Ctrl-C.
    fn end(mut self) -> PathBuf {
        kill(Pid::from_raw(self.client.id() as i32), Signal::SIGINT).unwrap();
        assert!(self.client.wait().unwrap().success());
        self.file
    }
}

/// A frame as tshark tells of it.
#[derive(Debug)]
struct Frame {
    interface: String,
    time: f64,
    comment: String,
    source: String,
    destination: String,
    payload: Vec<u8>,
}

/// Returns the frames of a capture; nothing where there is no tshark.
fn frames(file: &Path) -> Option<Vec<Frame>> {
    let fields = [
        "frame.interface_name",
        "frame.time_epoch",
        "frame.comment",
        "ip.src",
        "ip.dst",
        "ipv6.src",
        "ipv6.dst",
        "udp.payload",
    ];
    let mut command = Command::new("tshark");
    command
        .arg("-r")
        .arg(file)
        .args(["-T", "fields", "-E", "separator=|"]);
    command.args(fields.iter().flat_map(|field| ["-e", field]));
    let Ok(output) = command.output() else {
        println!("skipped: tshark is not installed (Debian: apt-get install tshark)");
        return None;
    };
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && !complaint.contains("cut short"),
        "{complaint}"
    );
    let text = String::from_utf8(output.stdout).unwrap();
    let frame = |line: &str| {
        let words: Vec<&str> = line.split('|').collect();
        let hex = words[7].as_bytes().chunks(2);
        let byte = |two: &[u8]| u8::from_str_radix(core::str::from_utf8(two).unwrap(), 16);
        Frame {
            interface: words[0].to_owned(),
            time: words[1].parse().unwrap(),
            comment: words[2].to_owned(),
            source: [words[3], words[5]].concat(),
            destination: [words[4], words[6]].concat(),
            payload: hex.map(|two| byte(two).unwrap()).collect(),
        }
    };
    Some(text.lines().map(frame).collect())
}

/// Asserts that tshark finds no fault with the datagrams outside, their checksums included. Inside, a kernel leaves checksums to its
/// device.
fn assert_sound(file: &Path) {
    let output = Command::new("tshark")
        .arg("-r")
        .arg(file)
        .args([
            "-o",
            "ip.check_checksum:TRUE",
            "-o",
            "udp.check_checksum:TRUE",
        ])
        .args([
            "-Y",
            "_ws.malformed || (frame.interface_name != \"baton0\" && _ws.expert.severity == error)",
        ])
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && said.is_empty(), "{said}");
}

/// Asserts that comments with these words come one after the other.
fn assert_order(frames: &[Frame], words: &[&str]) {
    let mut comments = frames.iter().map(|frame| frame.comment.as_str());
    for wanted in words {
        let found = comments.any(|comment| comment.contains(wanted));
        let all: Vec<&str> = frames
            .iter()
            .map(|frame| frame.comment.as_str())
            .filter(|comment| !comment.is_empty())
            .collect();
        assert!(found, "\"{wanted}\" is not in its place of {all:#?}");
    }
}

/// Returns the numbers of a stream's datagrams that passed the inside.
fn numbers(frames: &[Frame], destination: &str) -> Vec<u64> {
    let inside = frames.iter().filter(|frame| frame.interface == "baton0");
    let stream = inside.filter(|frame| frame.destination == destination);
    let number = |frame: &Frame| frame.payload.last_chunk().copied().map(u64::from_be_bytes);
    stream.filter_map(number).collect()
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn a_capture_has_what_crossed_the_uplinks_what_is_inside_and_the_handovers_events() {
    for over in [Version::V4, Version::V6] {
        let world = World::new(over);
        let (home_agent, mut router) = world.start();
        let captures = [&router, &home_agent]
            .into_iter()
            .zip(["router.pcapng", "home-agent.pcapng"])
            .map(|(daemon, name)| Capturing::begin(daemon, &world.folder.0.join(name)));
        let captures: Vec<Capturing> = captures.collect();
        let streams = world.streams(Version::V6);
        sleep(SECOND);
        world.air.cut(WLAN, true);
        until_bound(&mut router, WWAN);
        sleep(SECOND);
        let files: Vec<PathBuf> = captures.into_iter().map(Capturing::end).collect();
        for stream in streams {
            stream.end();
        }
        let (Some(at_router), Some(at_home)) = (frames(&files[0]), frames(&files[1])) else {
            return;
        };
        files.iter().for_each(|file| assert_sound(file));
        for frames in [&at_router, &at_home] {
            assert!(frames.windows(2).all(|two| two[0].time <= two[1].time));
        }
        // The datagrams on the wire are those that the network has carried, one by one.
        for (place, name) in [(WLAN, "wlan0"), (WWAN, "wwan0")] {
            let sent = at_router.iter().filter(|frame| {
                frame.interface == name && frame.source == UPLINKS[place][over as usize]
            });
            let sent: Vec<&Frame> = sent.collect();
            let state = world.air.state();
            let seen = state.uplinks[place].seen.iter();
            let carried: Vec<&Vec<u8>> = seen
                .filter(|packet| endpoints(packet).is_some_and(|(_, to)| to.port() == 4191))
                .collect();
            let headers = if over == Version::V4 { 28 } else { 48 };
            let first = carried
                .iter()
                .position(|packet| packet[headers..] == sent[0].payload)
                .unwrap();
            assert!(sent.len() > 500, "{}", sent.len());
            for (sent, carried) in sent.iter().zip(&carried[first..]) {
                assert_eq!(sent.payload, carried[headers..]);
                assert_eq!(sent.destination, HOME_AGENT[over as usize]);
            }
        }
        // Each datagram from the host passed the inside once, and none to it is missing.
        let from_host = numbers(&at_router, crate::world::CORRESPONDENT[1]);
        assert!(from_host.len() > 1500, "{}", from_host.len());
        assert!(from_host.windows(2).all(|two| two[1] == two[0] + 1));
        let to_host: BTreeSet<u64> = numbers(&at_router, HOST[1]).into_iter().collect();
        let [first, last] = [to_host.first(), to_host.last()].map(|number| *number.unwrap());
        assert_eq!(to_host.len() as u64, last - first + 1);
        assert_order(
            &at_router,
            &[
                "wlan0: is suspect",
                "wlan0 is down",
                "wwan0: sends Binding Update",
                "wwan0: gets Binding Acknowledgement",
                "Registered, care-of address fd62:6174:6f6e:1::7",
            ],
        );
        assert_order(
            &at_router,
            &["wlan0 is down", "wwan0: replays ", "uses wwan0"],
        );
        assert_order(
            &at_home,
            &[
                "path 0 of the router with …:7 is down",
                "paths: gets Binding Update",
                "Binding Updated",
                "paths: sends Binding Acknowledgement",
                "path 1 of the router with …:7 replays ",
            ],
        );
        let paths: BTreeSet<&str> = at_home
            .iter()
            .map(|frame| frame.interface.as_str())
            .collect();
        for path in 0..2 {
            let name = format!("path {path} of the router with …:7");
            assert!(paths.contains(name.as_str()), "{paths:?}");
        }
    }
}

/// Returns the frames of a capture, and the frames that it says have come and were left out.
fn accounts(mut file: &[u8]) -> (u64, [u64; 2]) {
    let mut reader = PcapNgReader::new(&mut file).unwrap();
    let (mut frames, mut said) = (0, [0; 2]);
    while let Some(block) = reader.next_block() {
        match block.unwrap() {
            Block::EnhancedPacket(_) => frames += 1,
            Block::InterfaceStatistics(statistics) => {
                for option in statistics.options {
                    match option {
                        InterfaceStatisticsOption::IsbIfRecv(number) => said[0] += number,
                        InterfaceStatisticsOption::IsbIfDrop(number) => said[1] += number,
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    (frames, said)
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn a_client_that_does_not_read_slows_nobody_and_is_told_what_it_missed() {
    let world = World::new(Version::V4);
    let (_home_agent, router) = world.start();
    let mut client = UnixStream::connect(router.socket()).unwrap();
    client.write_all(b"\"capture\"\n").unwrap();
    let mut answer = [0; 7];
    client.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"\"done\"\n");
    // Another one has to wait.
    let another = router.command(&["capture", "/dev/null"]).output().unwrap();
    assert_eq!(another.status.code(), Some(1));
    let said = String::from_utf8_lossy(&another.stderr);
    assert!(said.contains("another capture is running"), "{said}");
    // More than the daemon keeps for a client.
    let socket = world.host.run(|| UdpSocket::bind((HOST[0], 0)).unwrap());
    for number in 0..20_000 {
        socket
            .send_to(&[0; 1000], (crate::world::CORRESPONDENT[0], 9))
            .unwrap();
        if number % 20 == 0 {
            sleep(Duration::from_millis(2));
        }
    }
    let streams = world.streams(Version::V6);
    streams.iter().for_each(|stream| stream.until_more(300));
    for stream in streams {
        stream.end();
    }
    let status = router.command(&["status", "--json"]).output().unwrap();
    let status: serde_json::Value = serde_json::from_slice(&status.stdout).unwrap();
    let left_out = status["capture"]["left_out"].as_u64().unwrap();
    assert!(left_out > 0, "{status}");
    client.shutdown(Shutdown::Write).unwrap();
    let mut file = Vec::new();
    client.read_to_end(&mut file).unwrap();
    let (frames, [come, missed]) = accounts(&file);
    assert!(missed >= left_out, "{missed} after {left_out}");
    assert_eq!(frames, come - missed);
    // The next client may begin, and one that ends with the daemon has a whole file.
    let mut capturing = Capturing::begin(&router, &world.folder.0.join("last"));
    // Without traffic a path is probed every two seconds.
    sleep(3 * SECOND);
    router.signal(Signal::SIGTERM);
    let begun = Instant::now();
    while router.times("ended by a signal") == 0 {
        assert!(begun.elapsed() < PATIENCE, "{}", router.said());
        sleep(Duration::from_millis(2));
    }
    assert!(capturing.client.wait().unwrap().success());
    let (frames, [come, missed]) = accounts(&std::fs::read(&capturing.file).unwrap());
    assert!(frames > 0 && missed == 0, "{frames}, {missed}");
    assert_eq!(frames, come);
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn a_capture_for_some_seconds_into_a_pipe_ends_by_itself() {
    let world = World::new(Version::V4);
    let (_home_agent, router) = world.start();
    let mut command = router.command(&["capture", "-", "--seconds", "3"]);
    let output = command.output().unwrap();
    assert!(output.status.success());
    let (frames, [come, missed]) = accounts(&output.stdout);
    // The paths are probed.
    assert!(
        frames > 0 && frames == come && missed == 0,
        "{frames}, {come}, {missed}"
    );
}

/// Writes packets as a capture by libpcap has them, from their IP headers on.
fn write_wire(file: &Path, packets: &[Vec<u8>]) {
    const RAW_IP: u32 = 101;
    let mut out = Vec::new();
    for word in [0xA1B2_C3D4, 2 | 4 << 16, 0, 0, 65_535, RAW_IP] {
        out.extend_from_slice(&word.to_le_bytes());
    }
    for (number, packet) in packets.iter().enumerate() {
        let length = packet.len() as u32;
        for word in [number as u32, 0, length, length] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        out.extend_from_slice(packet);
    }
    std::fs::write(file, out).unwrap();
}

/// The captures are of the wire and of the daemon; the keys are from the other end.
#[test]
#[ignore = "needs root: it makes network namespaces"]
fn captures_of_a_gateways_links_are_read_down_to_the_bytes_of_tcp_by_the_logged_keys() {
    const BYTES: usize = 200_000;
    let world = World::new(Version::V4);
    let log = world.folder.0.join("keys");
    let keys = &format!("key_log = {log:?}");
    let [near, far] = Setup {
        keys,
        ..Setup::over(Version::V4)
    }
    .start(&world);
    let own = Capturing::begin(&near, &world.folder.0.join("own.pcapng"));
    for gateway in [&near, &far] {
        assert!(gateway.said().contains("can read all packets"));
    }
    let mode = std::fs::metadata(&log).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let lines = std::fs::read_to_string(&log).unwrap();
    // Two links, two directions, two ends, which agree.
    assert_eq!(lines.lines().count(), 8);
    assert_eq!(lines.lines().collect::<BTreeSet<_>>().len(), 4);
    Transfer::begin(&world, Version::V4, BYTES).end(BYTES);
    let own = own.end();
    let wire = world.folder.0.join("wire.pcap");
    let seen = |uplink: usize| world.air.state().uplinks[uplink].seen.clone();
    write_wire(&wire, &[seen(WLAN), seen(WWAN)].concat());
    for file in [own, wire] {
        let mut command = Command::new("tshark");
        for script in ["aerotp", "batond"] {
            let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");
            command.args(["-X", &format!("lua_script:{docs}/{script}.lua")]);
        }
        command.args(["-o", &format!("batond.key_log:{}", log.display()), "-r"]);
        command.arg(&file).args([
            "-Y",
            &format!("aerotp.dstport == {PORT} && aerotp.length > 0"),
        ]);
        command.args(["-T", "fields", "-e", "aerotp.seq", "-e", "aerotp.payload"]);
        let Ok(output) = command.output() else {
            return println!("skipped: tshark is not installed (Debian: apt-get install tshark)");
        };
        let text = String::from_utf8(output.stdout).unwrap();
        let packets: BTreeMap<u32, Vec<u8>> = text
            .lines()
            .map(|line| {
                let (number, payload) = line.split_once('\t').unwrap();
                let hex = payload.as_bytes().chunks(2);
                let byte = |two: &[u8]| {
                    u8::from_str_radix(core::str::from_utf8(two).unwrap(), 16).unwrap()
                };
                let number = u32::from_str_radix(number.trim_start_matches("0x"), 16);
                (number.unwrap(), hex.map(byte).collect())
            })
            .collect();
        // Numbers may wrap: the first packet is the one behind which the others follow.
        let ends = |number: u32| packets[&number].len() as u32;
        let first = packets.keys().find(|&&number| {
            let mut before = packets.keys();
            !before.any(|&other| other.wrapping_add(ends(other)) == number)
        });
        let mut next = *first.expect("data");
        let mut stream = Vec::new();
        while let Some(piece) = packets.get(&next) {
            stream.extend_from_slice(piece);
            next = next.wrapping_add(piece.len() as u32);
        }
        assert_eq!(stream.len(), BYTES, "{}", file.display());
        assert!((0..BYTES).all(|place| stream[place] == byte(place)));
    }
}
