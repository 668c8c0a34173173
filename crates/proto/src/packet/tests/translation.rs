//! Translation of whole packets to AeroNP and back, through the codecs of both.

use super::strategies::any_packet;
use super::*;
use crate::wire::aeronp::{AeronpHeader, Kind, TranslatedHeader};

/// Sends a packet through a network by its bytes. Returns the bytes of AeroNP's header, and the packet where it leaves.
fn carried(translated: TranslatedHeader, nodes: [Ipv4Addr; 2], packet: &[u8]) -> (usize, Vec<u8>) {
    let header = AeronpHeader {
        kind: Kind::Data,
        congestion: false,
        corruption: false,
        priority: 0,
        hop_limit: 64,
        source: Ipv4Addr::new(10, 0, 0, 1),
        destination: Ipv4Addr::new(10, 0, 0, 2),
        next_hop: Ipv4Addr::new(10, 0, 0, 3),
        geolocation: None,
        translated: Some(translated),
    };
    let mut frame = Vec::new();
    header.encode(&mut frame);
    let length = frame.len();
    frame.extend_from_slice(&packet[20..]);
    let (read, payload) = AeronpHeader::decode(&frame).expect("a right header");
    let read = read.translated.expect("a translated header");
    let mut left = Vec::new();
    let ip = read.ip(nodes);
    ip.encode(read.protocol, 0, payload.len() as u32, &mut left);
    left.extend_from_slice(payload);
    (length, left)
}

/// Asserts that a packet comes back as it was. A header between the nodes takes 20 B.
fn assert_comes_back(original: &[u8], packet: &Packet, nodes: [Ipv4Addr; 2]) {
    let translated = TranslatedHeader::of(packet, nodes).expect("a packet to translate");
    let (length, left) = carried(translated, nodes, original);
    let address =
        |at: usize| Ipv4Addr::from_octets(core::array::from_fn(|index| original[at + index]));
    let addresses = [(12, nodes[0]), (16, nodes[1])].map(|(at, node)| address(at) != node);
    let beyond = addresses.map(|is_beyond| if is_beyond { 4 } else { 0 });
    let identification = if original[4..6] == [0, 0] { 0 } else { 2 };
    assert_eq!(length, 20 + beyond[0] + beyond[1] + identification);
    assert_eq!(left, original);
}

#[test]
fn kernels_packets_come_back() {
    let [source, destination] = [12, 16].map(|at| {
        let bytes = bytes(DATA);
        Ipv4Addr::from_octets(core::array::from_fn(|index| bytes[at + index]))
    });
    let far = Ipv4Addr::new(203, 0, 113, 1);
    for original in [SYN, SYN_ACK, DATA, SACK, FIN, UDP, UNREACHABLE, PING].map(bytes) {
        let packet = Packet::verbatim(&original).expect("a right header");
        for nodes in [[source, destination], [far, destination], [far, far]] {
            assert_comes_back(&original, &packet, nodes);
        }
    }
}

#[test]
fn packets_that_would_lose_something_travel_whole() {
    let nodes = [Ipv4Addr::UNSPECIFIED; 2];
    let whole = |packet: &Packet| TranslatedHeader::of(packet, nodes).is_none();
    // With an option, with a bit reserved in TCP, of IPv6.
    let [option, reserved, v6] = unusual().map(|bytes| Packet::verbatim(&bytes).unwrap());
    assert!(whole(&option) && whole(&v6));
    assert!(!whole(&reserved));
    let with = |change: fn(&mut [u8])| {
        let mut original = bytes(UDP);
        change(&mut original);
        original[10..12].fill(0);
        let mut checksum = Checksum::new();
        checksum.add(&original[..20]);
        original[10..12].copy_from_slice(&checksum.finish().to_be_bytes());
        let written = Packet::verbatim(&original).unwrap();
        let typed = Packet::decode(&original).unwrap();
        [whole(&written), whole(&typed)]
    };
    assert_eq!(with(|_| {}), [false, false]);
    // A first fragment, the last one, and IPv4's reserved bit, which typed packets do not have.
    assert_eq!(with(|bytes| bytes[6] = 0x20), [true, true]);
    assert_eq!(with(|bytes| bytes[7] = 1), [true, true]);
    assert_eq!(with(|bytes| bytes[6] |= 0x80), [true, false]);
    let mut damaged = Packet::decode(&bytes(UDP)).unwrap();
    damaged.bit_errors = vec![160].into();
    assert!(!whole(&damaged));
    damaged.bit_errors = vec![159].into();
    assert!(whole(&damaged));
}

proptest! {
    #![proptest_config(ProptestConfig {
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_packet_comes_back_or_travels_whole(packet in any_packet(), is_end: [bool; 2]) {
        let original = encode(&packet);
        let end = |address, is_end| match (address, is_end) {
            (IpAddr::V4(address), true) => address,
            _ => Ipv4Addr::new(198, 51, 100, 77),
        };
        let nodes = [end(packet.ip.source, is_end[0]), end(packet.ip.destination, is_end[1])];
        // As an outsider sees it: IPv4 without options, and neither an offset nor fragments behind it.
        let is_compressed = matches!(packet.body, Body::Compressed(_));
        let is_whole = original[0] != 0x45 || original[6] & 0x3F != 0 || original[7] != 0 || is_compressed;
        match TranslatedHeader::of(&packet, nodes) {
            None => prop_assert!(is_whole),
            Some(_) => {
                prop_assert!(!is_whole);
                assert_comes_back(&original, &packet, nodes);
            }
        }
    }
}
