//! TUN devices with offloads: what this process cuts and joins, beside what this machine's kernel does with the same.

mod namespace;

use baton_linux::netlink::{MAIN_TABLE, Prefix, Route, RouteSocket, Way};
use baton_linux::offload::{Coalescer, LONGEST_FRAME, OffloadTun, Segmentation};
use baton_linux::readiness::wait_readable;
use baton_linux::tun::Tun;
use baton_linux::udp::UdpSocket;
use namespace::{PATIENCE, in_new_namespace, raise, wait};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

/// Bytes of a transfer.
const LENGTH: usize = 16 << 20;
/// Data of each packet of what is cut: with IPv6's header and TCP's with timestamps, 1500 bytes.
const DATA: usize = 1428;
/// Flags of TCP (RFC 9293 section 3.1).
const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const PSH: u8 = 0x08;
const ACK: u8 = 0x10;
const ECE: u8 = 0x40;
const CWR: u8 = 0x80;

/// Bytes of which no two pieces are alike.
fn numbered(length: usize) -> Vec<u8> {
    (0..length).map(|place| (place / 7 % 251) as u8).collect()
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// Sends everything of an IP version out of a device.
fn lead(kernel: &mut RouteSocket, destination: Prefix, interface: u32) {
    let way = Way::Device {
        interface,
        source: None,
        metrics: &[],
    };
    let route = Route {
        destination,
        table: MAIN_TABLE,
        metric: 1,
        way,
    };
    kernel.set_route(&route).unwrap();
}

/// Reads a number of this thread's namespace: in a file with names in one line and numbers in the next one.
fn tcp_counter(name: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/net/snmp").unwrap();
    let mut lines = text.lines().filter(|line| line.starts_with("Tcp:"));
    let (names, numbers) = (lines.next().unwrap(), lines.next().unwrap());
    let place = names.split(' ').position(|other| other == name).unwrap();
    numbers.split(' ').nth(place).unwrap().parse().unwrap()
}

/// Reads how many frames a device has handed to the kernel of this thread's namespace.
fn frames_received(device: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap();
    let prefix = format!("{device}:");
    let line = text
        .lines()
        .find_map(|line| line.trim().strip_prefix(&prefix));
    let packets = line.unwrap().split_whitespace().nth(1).unwrap();
    packets.parse().unwrap()
}

/// Makes a host with a device, which it passes on, does `work` there, and returns how many frames the device has taken in.
fn host(
    addresses: [&'static str; 2],
    pass: Sender<OffloadTun>,
    work: impl FnOnce() + Send + 'static,
) -> std::thread::JoinHandle<u64> {
    std::thread::spawn(move || {
        let (tell, told) = channel();
        in_new_namespace(move || {
            let mut kernel = RouteSocket::open().unwrap();
            let tun = OffloadTun::create("host").unwrap();
            let index = raise(&mut kernel, "host", &addresses);
            lead(&mut kernel, Prefix::ALL_IPV4, index);
            lead(&mut kernel, Prefix::ALL_IPV6, index);
            pass.send(tun).unwrap();
            work();
            assert_eq!(tcp_counter("InCsumErrors"), 0);
            tell.send(frames_received("host")).unwrap();
        });
        told.recv().unwrap()
    })
}

/// Hands everything to a device, which takes it.
fn all_taken(tun: &OffloadTun) -> impl FnMut(&[u8], Option<Segmentation>) {
    |packet, segmentation| assert!(tun.send(packet, segmentation).unwrap())
}

/// A way from one device to another, and what went along.
struct Carrier {
    from: Arc<OffloadTun>,
    to: Arc<OffloadTun>,
    coalescer: Coalescer,
    buffer: Vec<u8>,
    frames: u64,
    packets: u64,
}

impl Carrier {
    fn new(from: &Arc<OffloadTun>, to: &Arc<OffloadTun>) -> Carrier {
        Carrier {
            from: from.clone(),
            to: to.clone(),
            coalescer: Coalescer::default(),
            buffer: vec![0; LONGEST_FRAME],
            frames: 0,
            packets: 0,
        }
    }

    /// Carries what waits, each packet on its own.
    fn carry(&mut self) {
        // The device's MTU.
        let mut place = [0; 1500];
        while let Some(mut packets) = self.from.receive(&mut self.buffer).unwrap() {
            self.frames += 1;
            while let Some(length) = packets.write_next(&mut place).unwrap() {
                self.packets += 1;
                self.coalescer
                    .add(&place[..length], &mut all_taken(&self.to));
            }
        }
        self.coalescer.flush(&mut all_taken(&self.to));
    }
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn a_transfer_through_devices_with_offloads_arrives_whole() {
    let (pass_client, client) = channel();
    let (pass_server, server) = channel();
    let (tell_ready, ready) = channel();
    let serving = host(["10.0.0.2", "2001:db8::2"], pass_server, move || {
        let listeners = ["0.0.0.0:5001", "[::]:5002"].map(|at| TcpListener::bind(at).unwrap());
        let datagrams = std::net::UdpSocket::bind("10.0.0.2:5003").unwrap();
        tell_ready.send(()).unwrap();
        for listener in listeners {
            let (mut stream, _) = listener.accept().unwrap();
            let mut received = Vec::new();
            stream.read_to_end(&mut received).unwrap();
            assert!(received == numbered(LENGTH), "{} bytes", received.len());
            stream.write_all(&received).unwrap();
        }
        datagrams.set_read_timeout(Some(PATIENCE)).unwrap();
        for expected in numbered(30_500).chunks(1000) {
            let mut datagram = [0; 2000];
            let length = datagrams.recv(&mut datagram).unwrap();
            assert_eq!(&datagram[..length], expected);
        }
    });
    let asking = host(["10.0.0.1", "2001:db8::1"], pass_client, move || {
        ready.recv().unwrap();
        for at in ["10.0.0.2:5001", "[2001:db8::2]:5002"] {
            let mut stream = TcpStream::connect(at).unwrap();
            stream.write_all(&numbered(LENGTH)).unwrap();
            stream.shutdown(Shutdown::Write).unwrap();
            let mut received = Vec::new();
            stream.read_to_end(&mut received).unwrap();
            assert!(received == numbered(LENGTH), "{} bytes", received.len());
        }
        let socket = UdpSocket::open(SocketAddr::new(ip("10.0.0.1"), 0), None).unwrap();
        let to = SocketAddr::new(ip("10.0.0.2"), 5003);
        assert!(socket.send(to, 0, &numbered(30_500), 1000).unwrap());
    });
    let client = Arc::new(client.recv_timeout(PATIENCE).unwrap());
    let server = Arc::new(server.recv_timeout(PATIENCE).unwrap());
    let mut there = Carrier::new(&client, &server);
    let mut back = Carrier::new(&server, &client);
    while !(serving.is_finished() && asking.is_finished()) {
        let some = Duration::from_millis(20);
        wait_readable(&[client.as_fd(), server.as_fd()], some).unwrap();
        there.carry();
        back.carry();
    }
    let frames = [serving.join().unwrap(), asking.join().unwrap()];
    for (carrier, frames_out) in [there, back].iter().zip(frames) {
        let (packets, frames_in) = (carrier.packets, carrier.frames);
        assert!(packets > 2 * LENGTH as u64 / 1500);
        assert!(
            frames_in * 2 < packets,
            "{frames_in} frames of {packets} packets"
        );
        assert!(
            frames_out * 2 < packets,
            "{packets} packets in {frames_out} frames"
        );
        assert_eq!(carrier.from.malformed(), 0);
    }
}

/// Adds up 16-bit words (RFC 1071).
fn sum(bytes: &[u8]) -> u32 {
    let words = bytes.chunks(2);
    let words = words.map(|word| u32::from(word[0]) << 8 | u32::from(*word.get(1).unwrap_or(&0)));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum
}

/// Writes an IP packet; the transport's checksum, at a place, is complete, or holds the pseudo-header's sum only.
fn packet(
    hosts: [IpAddr; 2],
    (identification, protocol): (u16, u8),
    transport: &[u8],
    checksum_at: usize,
    is_complete: bool,
) -> Vec<u8> {
    let mut addresses = Vec::new();
    let mut bytes = Vec::new();
    for host in hosts {
        match host {
            IpAddr::V4(host) => addresses.extend(host.octets()),
            IpAddr::V6(host) => addresses.extend(host.octets()),
        }
    }
    let length = transport.len() as u16;
    if hosts[0].is_ipv4() {
        bytes.extend([0x45, 0x02]);
        bytes.extend((length + 20).to_be_bytes());
        bytes.extend(identification.to_be_bytes());
        bytes.extend([0, 0, 64, protocol, 0, 0]);
        bytes.extend(&addresses);
        let checksum = !sum(&bytes) as u16;
        bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
    } else {
        bytes.extend([0x60, 0x20, 0, 7]);
        bytes.extend(length.to_be_bytes());
        bytes.extend([protocol, 64]);
        bytes.extend(&addresses);
    }
    let header = bytes.len();
    let mut pseudo_header = addresses;
    pseudo_header.extend([0, protocol]);
    pseudo_header.extend(length.to_be_bytes());
    bytes.extend(transport);
    let checksum = if is_complete {
        pseudo_header.extend(transport);
        !sum(&pseudo_header)
    } else {
        sum(&pseudo_header)
    };
    let place = header + checksum_at;
    bytes[place..place + 2].copy_from_slice(&(checksum as u16).to_be_bytes());
    bytes
}

/// Writes a TCP segment, without its checksum, with timestamps as option (RFC 7323).
fn segment(port: u16, sequence: u32, flags: u8, time: u32, data: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(port.to_be_bytes());
    bytes.extend([0x13, 0x89]);
    bytes.extend(sequence.to_be_bytes());
    bytes.extend(7_u32.to_be_bytes());
    bytes.extend([8 << 4, flags, 0x20, 0, 0, 0, 0, 0, 1, 1, 8, 10]);
    bytes.extend(time.to_be_bytes());
    bytes.extend(9_u32.to_be_bytes());
    bytes.extend(data);
    bytes
}

/// Lets this namespace's kernel forward, silently.
fn forward() {
    for (key, value) in [
        ("ipv4/ip_forward", "1"),
        ("ipv6/conf/all/forwarding", "1"),
        ("ipv4/conf/all/rp_filter", "0"),
        ("ipv4/conf/default/rp_filter", "0"),
    ] {
        std::fs::write(format!("/proc/sys/net/{key}"), value).unwrap();
    }
}

/// Tells whether a packet is the kernel's own report of a multicast listener (RFC 3810): they begin with options.
fn is_report(packet: &[u8]) -> bool {
    packet[0] >> 4 == 6 && packet[6] == 0
}

/// Reads all packets that wait at a device without offloads.
fn all_packets(tun: &Tun) -> Vec<Vec<u8>> {
    let (mut buffer, mut packets) = ([0; 2000], Vec::new());
    while let Some(length) = tun.receive(&mut buffer).unwrap() {
        if !is_report(&buffer[..length]) {
            packets.push(buffer[..length].to_vec());
        }
    }
    packets
}

#[test]
#[ignore = "needs root: it makes a network namespace"]
fn packets_are_cut_as_the_kernel_cuts_them() {
    in_new_namespace(|| {
        forward();
        let mut kernel = RouteSocket::open().unwrap();
        let inside = OffloadTun::create("inside").unwrap();
        let plain = Tun::create("plain").unwrap();
        let offloaded = OffloadTun::create("offloaded").unwrap();
        raise(&mut kernel, "inside", &[]);
        let ways = ["plain", "offloaded"].map(|name| raise(&mut kernel, name, &[]));
        let ipv4 = ["10.0.0.1", "198.51.100.1"].map(ip);
        let ipv6 = ["2001:db8:1::1", "2001:db8:9::1"].map(ip);
        let everything = FIN | PSH | ACK | ECE | CWR;
        for hosts in [ipv4, ipv6] {
            for (flags, length) in [
                (ACK, 60_000),
                (ACK | PSH, DATA * 3),
                (everything, DATA * 4 + 1),
                (ACK | CWR, DATA + 1),
            ] {
                let data = numbered(length);
                let tcp = segment(5001, u32::MAX - 2000, flags, 5, &data);
                let mut udp = vec![0x13, 0x89, 0x13, 0x8a];
                udp.extend((length as u16 + 8).to_be_bytes());
                udp.extend([0, 0]);
                udp.extend(&data);
                let tcp_kind = if hosts[0].is_ipv4() { 1 } else { 4 };
                let with_cwr = if flags & CWR != 0 { 0x80 } else { 0 };
                for (kind, protocol, transport, headers, checksum_at) in
                    [(tcp_kind | with_cwr, 6, &tcp, 32, 16), (5, 17, &udp, 8, 6)]
                {
                    let packet = packet(hosts, (0xfffe, protocol), transport, checksum_at, false);
                    let start = packet.len() - transport.len();
                    let mut frame = vec![1, kind];
                    for number in [start + headers, DATA, start, checksum_at] {
                        frame.extend((number as u16).to_ne_bytes());
                    }
                    frame.extend(&packet);
                    lead(&mut kernel, Prefix::all(hosts[0]), ways[0]);
                    nix::unistd::write(&inside, &frame).unwrap();
                    let expected = all_packets(&plain);
                    lead(&mut kernel, Prefix::all(hosts[0]), ways[1]);
                    nix::unistd::write(&inside, &frame).unwrap();
                    let mut buffer = vec![0; LONGEST_FRAME];
                    let mut packets = loop {
                        wait(&offloaded);
                        let packets = offloaded.receive(&mut buffer).unwrap().unwrap();
                        if !is_report(packets.headers()) {
                            break packets;
                        }
                    };
                    assert_eq!(packets.longest(), start + headers + DATA);
                    let short = packets.write_next(&mut [0; 1000]).unwrap_err();
                    assert_eq!(short.kind(), std::io::ErrorKind::InvalidInput);
                    let mut place = [0xff; 2000];
                    for expected in &expected {
                        let length = packets.write_next(&mut place).unwrap().unwrap();
                        assert_eq!(&place[..length], expected, "{hosts:?} {protocol} {flags:x}");
                    }
                    assert_eq!(packets.write_next(&mut place).unwrap(), None);
                    while let Some(other) = offloaded.receive(&mut buffer).unwrap() {
                        assert!(is_report(other.headers()), "{other:?}");
                    }
                    // None was lost, nor one too many.
                    assert_eq!(expected.len(), (transport.len() - headers).div_ceil(DATA));
                }
            }
        }
        assert_eq!(offloaded.malformed(), 0);
    });
}

/// The segments of three connections, mixed, with all that cannot be joined between those that can.
fn mixed_segments() -> Vec<Vec<u8>> {
    let ipv4 = ["10.0.0.1", "198.51.100.1"].map(ip);
    let ipv6 = ["2001:db8:1::1", "2001:db8:9::1"].map(ip);
    let data = numbered(1000);
    let mut packets = Vec::new();
    for number in 0..60_u32 {
        for (hosts, port) in [(ipv4, 5001), (ipv4, 5002), (ipv6, 5001)] {
            let of = |sequence: u32, flags, time, data: &[u8]| {
                let tcp = segment(port, sequence.wrapping_sub(20_000), flags, time, data);
                packet(hosts, (number as u16, 6), &tcp, 16, true)
            };
            let sequence = number * 1000;
            let usual = of(sequence, ACK, 5, &data);
            let bytes = match number {
                0 => of(sequence, SYN, 5, &[]),
                10 => of(sequence, ACK | PSH, 5, &data),
                15 => of(sequence, ACK, 5, &data[..300]),
                20 => of(sequence - 1000, ACK, 5, &data),
                23 => of(sequence, ACK | ECE, 5, &data),
                26 => of(sequence, ACK, 6, &data),
                30 => of(sequence, ACK, 5, &[]),
                35 => {
                    // Nobody may give it a new checksum.
                    let mut broken = usual;
                    *broken.last_mut().unwrap() ^= 1;
                    broken
                }
                40 => of(sequence, ACK | CWR, 5, &data),
                45 => packet(hosts, (45, 17), &[0x13, 0x89, 0, 7, 0, 9, 0, 0, 1], 6, true),
                50 => of(sequence, ACK, 5, &numbered(1200)),
                52 if hosts == ipv4 => {
                    // Another one's fragment, to be put together only at its destination.
                    let mut fragment = usual;
                    fragment[6] = 0x20;
                    fragment[10..12].copy_from_slice(&[0, 0]);
                    let checksum = !sum(&fragment[..20]) as u16;
                    fragment[10..12].copy_from_slice(&checksum.to_be_bytes());
                    fragment
                }
                59 => of(sequence, ACK | FIN, 5, &data),
                _ => usual,
            };
            packets.push(bytes);
        }
    }
    packets
}

#[test]
#[ignore = "needs root: it makes a network namespace"]
fn segments_that_are_joined_are_what_they_would_be_alone() {
    in_new_namespace(|| {
        forward();
        let mut kernel = RouteSocket::open().unwrap();
        let inside = OffloadTun::create("inside").unwrap();
        let plain = Tun::create("plain").unwrap();
        raise(&mut kernel, "inside", &[]);
        let index = raise(&mut kernel, "plain", &[]);
        kernel.set_queue_length(index, 1000).unwrap();
        lead(&mut kernel, Prefix::ALL_IPV4, index);
        lead(&mut kernel, Prefix::ALL_IPV6, index);
        let packets = mixed_segments();
        // By connection: their order among each other is free.
        let by_connection = |packets: Vec<Vec<u8>>| {
            let mut connections: BTreeMap<Vec<u8>, Vec<Vec<u8>>> = BTreeMap::new();
            for packet in packets {
                let key = if packet[0] >> 4 == 4 { 12..22 } else { 8..42 };
                connections
                    .entry(packet[key].to_vec())
                    .or_default()
                    .push(packet);
            }
            connections
        };
        for packet in &packets {
            assert!(inside.send(packet, None).unwrap());
        }
        let alone = all_packets(&plain);
        assert_eq!(alone.len(), packets.len());
        let before = frames_received("inside");
        let mut coalescer = Coalescer::default();
        for packet in &packets {
            coalescer.add(packet, &mut all_taken(&inside));
        }
        coalescer.flush(&mut all_taken(&inside));
        let frames = frames_received("inside") - before;
        assert!(frames * 2 < packets.len() as u64, "{frames} frames");
        assert_eq!(by_connection(all_packets(&plain)), by_connection(alone));
    });
}
