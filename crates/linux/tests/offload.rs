//! TUN devices with offloads: what this process cuts and joins, beside what this machine's kernel does with the same.

mod namespace;

use baton_linux::netlink::{Prefix, RouteSocket};
use baton_linux::offload::{Coalescer, LONGEST_FRAME, OffloadTun, Segmentation};
use baton_linux::tun::Tun;
use namespace::{forward, frames_received, in_new_namespace, lead, numbered, raise, wait};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Data of each packet of what is cut: with IPv6's header and TCP's with timestamps, 1500 bytes.
const DATA: usize = 1428;
/// Flags of TCP (RFC 9293 section 3.1).
const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const PSH: u8 = 0x08;
const ACK: u8 = 0x10;
const ECE: u8 = 0x40;
const CWR: u8 = 0x80;

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
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

/// A kernel that forwards from one device to one without offloads or to one with them.
struct Crossing {
    kernel: RouteSocket,
    inside: OffloadTun,
    plain: Tun,
    offloaded: OffloadTun,
    ways: [u32; 2],
}

impl Crossing {
    fn new() -> Crossing {
        forward();
        let mut kernel = RouteSocket::open().unwrap();
        let inside = OffloadTun::create("inside").unwrap();
        let plain = Tun::create("plain").unwrap();
        let offloaded = OffloadTun::create("offloaded").unwrap();
        raise(&mut kernel, "inside", &[]);
        let ways = ["plain", "offloaded"].map(|name| raise(&mut kernel, name, &[]));
        Crossing {
            kernel,
            inside,
            plain,
            offloaded,
            ways,
        }
    }

    /// Sends a frame by either way, and compares what the kernel cuts with what is cut here.
    fn compare(&mut self, to: Prefix, frame: &[u8], headers: usize, packets: usize) {
        lead(&mut self.kernel, to, self.ways[0]);
        nix::unistd::write(&self.inside, frame).unwrap();
        let expected = all_packets(&self.plain);
        assert_eq!(expected.len(), packets);
        lead(&mut self.kernel, to, self.ways[1]);
        nix::unistd::write(&self.inside, frame).unwrap();
        let mut buffer = vec![0; LONGEST_FRAME];
        let mut packets = loop {
            wait(&self.offloaded);
            let packets = self.offloaded.receive(&mut buffer).unwrap().unwrap();
            if !is_report(packets.headers()) {
                break packets;
            }
        };
        assert_eq!(
            (packets.headers().len(), packets.longest()),
            (headers, headers + DATA)
        );
        let short = packets.write_next(&mut [0; 1000]).unwrap_err();
        assert_eq!(short.kind(), std::io::ErrorKind::InvalidInput);
        let mut place = [0xff; 2000];
        for expected in &expected {
            let length = packets.write_next(&mut place).unwrap().unwrap();
            assert_eq!(&place[..length], expected);
        }
        assert_eq!(packets.write_next(&mut place).unwrap(), None);
        while let Some(other) = self.offloaded.receive(&mut buffer).unwrap() {
            assert!(is_report(other.headers()), "{other:?}");
        }
        assert_eq!(self.offloaded.malformed(), 0);
    }
}

/// Writes a frame's header, which has the packet cut: its kind, and the places of the transport's header and checksum.
fn frame(kind: u8, (start, headers): (usize, usize), checksum_at: usize, packet: &[u8]) -> Vec<u8> {
    let mut frame = vec![1, kind];
    for number in [start + headers, DATA, start, checksum_at] {
        frame.extend((number as u16).to_ne_bytes());
    }
    frame.extend(packet);
    frame
}

#[test]
#[ignore = "needs root: it makes a network namespace"]
fn packets_are_cut_as_the_kernel_cuts_them() {
    in_new_namespace(|| {
        let mut crossing = Crossing::new();
        let ipv4 = ["10.0.0.1", "198.51.100.1"].map(ip);
        let ipv6 = ["2001:db8:1::1", "2001:db8:9::1"].map(ip);
        let everything = FIN | PSH | ACK | ECE | CWR;
        for (flags, length) in [
            (ACK, 60_000),
            (ACK | PSH, DATA * 3),
            (everything, DATA * 4 + 1),
            (ACK | CWR, DATA + 1),
        ] {
            let packets = length.div_ceil(DATA);
            let data = numbered(length);
            let tcp = segment(5001, u32::MAX - 2000, flags, 5, &data);
            let mut udp = vec![0x13, 0x89, 0x13, 0x8a];
            udp.extend((length as u16 + 8).to_be_bytes());
            udp.extend([0, 0]);
            udp.extend(&data);
            let with_cwr = if flags & CWR != 0 { 0x80 } else { 0 };
            for (hosts, kind, start) in [(ipv4, 1, 20), (ipv6, 4, 40)] {
                let to = Prefix::all(hosts[0]);
                let whole = packet(hosts, (0xfffe, 6), &tcp, 16, false);
                let whole = frame(kind | with_cwr, (start, 32), 16, &whole);
                crossing.compare(to, &whole, start + 32, packets);
                let whole = packet(hosts, (0xfffe, 17), &udp, 6, false);
                let whole = frame(5, (start, 8), 6, &whole);
                crossing.compare(to, &whole, start + 8, packets);
            }
        }
        // With destination options (RFC 8200 section 4.6), without those of TCP.
        let mut tcp = segment(5001, 7, ACK | PSH, 5, &numbered(4 * DATA));
        tcp.drain(20..32);
        tcp[12] = 5 << 4;
        let mut whole = packet(ipv6, (0, 6), &tcp, 16, false);
        let length = tcp.len() as u16 + 8;
        whole[4..6].copy_from_slice(&length.to_be_bytes());
        whole[6] = 60;
        whole.splice(40..40, [6, 0, 1, 4, 0, 0, 0, 0]);
        let whole = frame(4, (48, 20), 16, &whole);
        crossing.compare(Prefix::ALL_IPV6, &whole, 68, 4);
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
            // The sender's numbers of IPv4 packets leap once.
            let identification = number as u16 + if number < 43 { 0 } else { 100 };
            let of = |sequence: u32, flags, time, data: &[u8]| {
                let tcp = segment(port, sequence.wrapping_sub(20_000), flags, time, data);
                packet(hosts, (identification, 6), &tcp, 16, true)
            };
            let sequence = number * 1000;
            let usual = of(sequence, ACK, 5, &data);
            let bytes = match number {
                0 => of(sequence, SYN, 5, &[]),
                10 => of(sequence, ACK | PSH, 5, &data),
                15 => of(sequence, ACK, 5, &data[..300]),
                // What follows on a short one.
                16 => of(sequence - 700, ACK, 5, &data),
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
                52..55 if hosts == ipv4 => {
                    // Fragments, to be put together only at their destination.
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
        let mut taken = |packet: &[u8], segmentation: Option<Segmentation>| {
            assert!(inside.send(packet, segmentation).unwrap());
        };
        for packet in &packets {
            coalescer.add(packet, &mut taken);
        }
        coalescer.flush(&mut taken);
        let frames = frames_received("inside") - before;
        assert!(frames * 2 < packets.len() as u64, "{frames} frames");
        assert_eq!(by_connection(all_packets(&plain)), by_connection(alone));
    });
}
