//! Packets written by Linux 6 between two TUN devices (one segment was dropped on the way, hence the SACK block), round
//! trips, and damage.

use super::*;
use crate::wire::checksum::Checksum;
use crate::wire::icmp::{Echo, IcmpError, QuotedPacket};
use crate::wire::protocol;
use crate::wire::sequence::SequenceNumber;
use crate::wire::tcp::{ConnectionCount, SackBlocks, Snack, TcpFlags, TcpOptions, Timestamps};
use core::net::{Ipv4Addr, Ipv6Addr};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

mod encapsulated;
mod mobility;
mod strategies;
mod translation;

use strategies::any_packet;

const SYN: &str = "4500003c572940004006cef60a4d00010a4d0002d888afc92191f19700000000a002fbe0df6e0000\
    020404d80402080acc69f107000000000103030a";
const SYN_ACK: &str = "4500003c00004000400626200a4d00020a4d0001afc9d888743e04462191f198a012fe3c279d0000\
    020404d80402080a579be544cc69f1070103030a";
const DATA: &str = "45000037572b40004006cef90a4d00010a4d0002d888afc92191f198743e04478018003f8f200000\
    0101080acc69f107579be544616263";
const SACK: &str = "45000040586a40004006cdb10a4d00020a4d0001afc9d888743e04472191f19bb0100043dee60000\
    0101080a579be577cc69f1070101050a2191f667219204cb";
const FIN: &str = "45000034573340004006cef40a4d00010a4d0002d888afc921920523743e044e8011003f3f940000\
    0101080acc69f13b579be577";
const UDP: &str = "45000023ac624000401179cb0a4d00010a4d0002c53bafd1000f1fce6e6f626f647921";
const UNREACHABLE: &str = "45c0003f2dad0000400137b50a4d00020a4d0001030311ba00000000\
    45000023ac624000401179cb0a4d00010a4d0002c53bafd1000f1fce6e6f626f647921";
const PING: &str = "4500002356c440004001cf790a4d00010a4d000208005091ea3700077061796c6f6164";

const DATA_V6: &str = "600d35ff00230640fd770000000000000000000000000001fd770000000000000000000000000002\
    8360afc96fc8d086479fe16080180040b05300000101080a0b26a437eb20cfd1616263";
const SACK_V6: &str = "6004e473002c0640fd770000000000000000000000000002fd770000000000000000000000000001\
    afc98360479fe1606fc8d089b0100042a58d00000101080aeb20d0040b26a4370101050a6fc8d5416fc8e411";
const UDP_V6: &str = "600c6836000f1140fd770000000000000000000000000001fd770000000000000000000000000002\
    cc35afd1000f327e6e6f626f647921";
const UNREACHABLE_V6: &str = "60087fd2003f3a40fd770000000000000000000000000002fd770000000000000000000000000001\
    01042a1e00000000\
    600c6836000f1140fd770000000000000000000000000001fd770000000000000000000000000002\
    cc35afd1000f327e6e6f626f647921";
const PING_V6: &str = "60051e9c000f3a40fd770000000000000000000000000001fd770000000000000000000000000002\
    8000b558123400077061796c6f6164";

fn bytes(hexadecimal: &str) -> Vec<u8> {
    (0..hexadecimal.len() / 2)
        .map(|index| u8::from_str_radix(&hexadecimal[2 * index..2 * index + 2], 16))
        .collect::<Result<_, _>>()
        .expect("hexadecimal digits")
}

fn decode(hexadecimal: &str) -> Packet {
    Packet::decode(&bytes(hexadecimal)).expect("a kernel wrote it")
}

fn encode(packet: &Packet) -> Vec<u8> {
    let mut out = Vec::new();
    packet.encode(&mut out);
    out
}

fn tcp(packet: &Packet) -> (&TcpHeader, &Payload) {
    match &packet.body {
        Body::Tcp(header, payload) => (header, payload),
        other => panic!("not TCP: {other:?}"),
    }
}

#[test]
fn a_kernels_syn() {
    let packet = decode(SYN);
    assert_eq!(
        packet.ip,
        IpHeader {
            source: IpAddr::from([10, 77, 0, 1]),
            destination: IpAddr::from([10, 77, 0, 2]),
            hop_limit: 64,
            traffic_class: 0,
            identification: 0x5729,
            dont_fragment: true,
        }
    );
    assert_eq!(
        packet.body,
        Body::Tcp(
            TcpHeader {
                source_port: 55432,
                destination_port: 45001,
                sequence: SequenceNumber(0x2191_F197),
                acknowledgment: SequenceNumber(0),
                flags: TcpFlags::SYN,
                window: 64480,
                options: TcpOptions {
                    maximum_segment_size: Some(1240),
                    window_scale: Some(10),
                    sack_permitted: true,
                    timestamps: Some(Timestamps {
                        value: 3_429_495_047,
                        echo: 0
                    }),
                    notice: None,
                    sack: SackBlocks::default(),
                    ..TcpOptions::default()
                },
            },
            Payload::EMPTY
        )
    );
    let answer = decode(SYN_ACK);
    let (header, _) = tcp(&answer);
    assert_eq!(header.flags, TcpFlags::SYN.with(TcpFlags::ACK));
    assert_eq!(header.acknowledgment, SequenceNumber(0x2191_F198));
}

#[test]
fn a_kernels_data_and_selective_acknowledgment() {
    for (data, sack) in [(DATA, SACK), (DATA_V6, SACK_V6)].map(|(a, b)| (decode(a), decode(b))) {
        let (header, payload) = tcp(&data);
        assert_eq!(header.flags, TcpFlags::PSH.with(TcpFlags::ACK));
        assert_eq!(payload, &Payload::Bytes((*b"abc").into()));
        // The first segment after these three bytes was dropped: the hole begins at the acknowledgment.
        let (acknowledgment, payload) = tcp(&sack);
        assert_eq!(acknowledgment.acknowledgment, header.sequence + 3);
        assert!(payload.is_empty());
        let [(first, after_last)] = acknowledgment.options.sack.as_slice() else {
            panic!("one block");
        };
        assert!(first.is_after(acknowledgment.acknowledgment));
        assert!(after_last.is_after(*first));
    }
}

#[test]
fn what_a_kernel_wrote_is_written_again_byte_for_byte() {
    for original in [DATA, SACK, FIN, UDP, PING] {
        assert_eq!(encode(&decode(original)), bytes(original));
    }
    for original in [DATA_V6, SACK_V6, UDP_V6, PING_V6] {
        let mut expected = bytes(original);
        // The flow label is not kept; nothing else depends on it.
        expected[1] &= 0xF0;
        expected[2..4].fill(0);
        assert_eq!(encode(&decode(original)), expected);
    }
    // A kernel orders the options of a SYN differently, and quotes more in an error: the meaning is the same.
    for original in [SYN, SYN_ACK, UNREACHABLE, UNREACHABLE_V6] {
        let packet = decode(original);
        assert_eq!(Packet::decode(&encode(&packet)), Ok(packet));
    }
}

#[test]
fn a_kernels_port_unreachable() {
    for (error, cause) in [(UNREACHABLE, UDP), (UNREACHABLE_V6, UDP_V6)] {
        let (error, cause) = (decode(error), decode(cause));
        let Body::Udp(ports, payload) = &cause.body else {
            panic!("not UDP: {cause:?}");
        };
        assert_eq!(payload, &Payload::Bytes((*b"nobody!").into()));
        assert_eq!(
            error.body,
            Body::Icmp(IcmpMessage::Error {
                kind: IcmpError::PortUnreachable,
                quoted: QuotedPacket {
                    source: cause.ip.source,
                    destination: cause.ip.destination,
                    protocol: 17,
                    source_port: ports.source_port,
                    destination_port: 45009,
                    sequence: 0,
                    within: None,
                },
            })
        );
    }
}

#[test]
fn code_points_have_their_registered_numbers() {
    // IANA's registry of code points, pool 1: CS0 to CS7, and EF, which is 101110.
    let selectors = [0, 8, 16, 24, 32, 40, 48, 56];
    for (precedence, number) in (0..8).zip(selectors) {
        assert_eq!(CodePoint::class_selector(precedence).number(), number);
    }
    let ef = CodePoint::new(0b10_1110).unwrap();
    assert_eq!(ef.traffic_class(), 0xb8);
    assert_eq!(CodePoint::new(64), None);
    // Linux sends its ICMP errors with internetwork control's precedence (RFC 1812 section 4.3.2.5).
    assert_eq!(decode(UNREACHABLE).ip.precedence(), 6);
    assert_eq!(decode(PING).ip.precedence(), 0);
}

#[test]
fn fragments_keep_their_place() {
    // The SYN as the first fragment of a longer packet: bit "more fragments", checksum less 0x2000.
    let mut fragment = bytes(SYN);
    fragment[6] = 0x20;
    let sum = u16::from_be_bytes([fragment[10], fragment[11]]) + 0x2000;
    fragment[10..12].copy_from_slice(&sum.to_be_bytes());
    let packet = Packet::decode(&fragment).expect("a right header");
    let Body::Opaque {
        protocol, fragment, ..
    } = packet.body
    else {
        panic!("not opaque: {packet:?}");
    };
    assert_eq!((protocol, fragment), (6, 0x2000));
}

#[test]
fn unknown_protocols_are_opaque() {
    let mut packet = decode(UDP);
    packet.body = Body::Opaque {
        protocol: 132,
        fragment: 0,
        bytes: (*b"sctp").into(),
    };
    assert_eq!(Packet::decode(&encode(&packet)), Ok(packet));
    // Hop-by-hop options followed by an undecoded header.
    let mut packet = decode(UDP_V6);
    packet.body = Body::Opaque {
        protocol: 0,
        fragment: 0,
        bytes: [17, 0, 1, 4, 0, 0, 0, 0].into(),
    };
    assert_eq!(Packet::decode(&encode(&packet)), Ok(packet));
}

/// Returns the datagram with a router alert (RFC 2113: 94 04 00 00), so IHL 6 and four bytes more.
fn with_router_alert() -> Vec<u8> {
    let mut with_option = bytes(UDP);
    with_option.splice(20..20, [0x94, 0x04, 0, 0]);
    with_option[0] = 0x46;
    with_option[3] += 4;
    let sum = u16::from_be_bytes([with_option[10], with_option[11]]);
    // The sum grows by 0100 + 0004 + 9404; the checksum shrinks by as much, end-around.
    let sum = u32::from(sum) + 0xFFFF - 0x9508;
    let sum = (sum & 0xFFFF) + (sum >> 16);
    with_option[10..12].copy_from_slice(&(sum as u16).to_be_bytes());
    with_option
}

#[test]
fn options_of_ipv4_are_skipped() {
    assert_eq!(Packet::decode(&with_router_alert()), Ok(decode(UDP)));
}

/// Returns packets with IPv4's router alert, with a reserved bit of TCP, and with a flow label.
fn unusual() -> [Vec<u8>; 3] {
    let mut reserved = bytes(DATA);
    // Bit 0x0100 of the word of data offset and flags; the checksum shrinks by as much.
    reserved[32] |= 0x01;
    let sum = u16::from_be_bytes([reserved[36], reserved[37]]) - 0x0100;
    reserved[36..38].copy_from_slice(&sum.to_be_bytes());
    [with_router_alert(), reserved, bytes(DATA_V6)]
}

#[test]
fn a_verbatim_packet_leaves_as_it_came() {
    let kernels = [SYN, DATA, SACK, UDP, UNREACHABLE, PING, DATA_V6, PING_V6].map(bytes);
    for original in kernels.into_iter().chain(unusual()) {
        let mut padded = original.clone();
        padded.extend_from_slice(&[0xAA; 3]);
        let packet = Packet::verbatim(&padded).expect("a right header");
        assert_eq!(encode(&packet), original);
        assert_eq!(packet.wire_length() as usize, original.len());
        let typed = Packet::decode(&original).expect("a right packet");
        assert_eq!(packet.ip, typed.ip);
        assert_eq!(packet.apply_bit_errors(), Ok(typed));
    }
    assert!(Packet::verbatim(&bytes(UDP)[..34]).is_err());
    let mut damaged = bytes(UDP);
    damaged[8] ^= 1;
    assert_eq!(
        Packet::verbatim(&damaged),
        Err(DecodeError::Checksum { header: "IPv4" })
    );
}

#[test]
fn an_indication_stays_with_the_damage() {
    let mut errors = BitErrors::NONE;
    errors.indicate();
    assert!(!errors.is_indicated());
    errors.add(vec![3].into());
    errors.indicate();
    errors.add(vec![1, 5].into());
    assert!(errors.is_indicated());
    assert_eq!(errors.positions(), [1, 3, 5]);
    // What is intact again is not damaged.
    errors.add(vec![1, 3, 5].into());
    assert_eq!(errors, BitErrors::NONE);
}

#[test]
fn a_verbatim_packet_leaves_with_its_marks() {
    for original in [DATA, UDP, DATA_V6].map(bytes) {
        let mut packet = Packet::verbatim(&original).expect("a right header");
        packet.ip.traffic_class = 0xBB;
        let left = encode(&packet);
        // The header's checksum is right, too.
        let read = Packet::decode(&left).expect("a right packet");
        assert_eq!(read.ip, packet.ip);
        assert_eq!(left[20..], original[20..]);
    }
}

/// Linux's packets, as captured, lose only the flow label, and keep their simulation metadata.
#[test]
fn a_kernels_packet_is_typed_if_nothing_is_lost_by_it() {
    let kernels = [
        SYN, SYN_ACK, DATA, SACK, FIN, UDP, PING, DATA_V6, SACK_V6, UDP_V6, PING_V6,
    ];
    for original in kernels.map(bytes) {
        let mut verbatim = Packet::verbatim(&original).expect("a right header");
        verbatim.flow = Some(FlowId(3));
        let typed = verbatim.typed_if_same();
        assert!(typed.is_typed() && typed.flow == Some(FlowId(3)));
        let mut expected = original.clone();
        if expected[0] >> 4 == 6 {
            expected[1] &= 0xF0;
            expected[2..4].fill(0);
        }
        assert_eq!(encode(&typed), expected);
    }
    let mut unknown = unusual();
    unknown[2][40 + 20 + 4] = 99;
    for original in unknown {
        let packet = Packet::verbatim(&original).expect("a right header");
        assert_eq!(packet.clone().typed_if_same(), packet);
    }
}

#[test]
fn a_packet_that_stands_for_several_is_forwarded_as_they_would_be() {
    // A datagram over IPv4 (RFC 791, RFC 768) with 3,000 B of data, to be divided into datagrams of 1,200 B.
    let mut original = vec![0x45, 0, 0x0B, 0xD4, 0, 0, 0, 0, 64, 17, 0, 0];
    original.extend([198, 51, 100, 5, 10, 1, 0, 7]);
    let words = original.chunks(2);
    let sum: u32 = words
        .map(|two| u32::from(two[0]) << 8 | u32::from(two[1]))
        .sum();
    let sum = (sum & 0xFFFF) + (sum >> 16);
    original[10..12].copy_from_slice(&(!sum as u16).to_be_bytes());
    original.extend([0, 1, 0, 2, 0x0B, 0xC0, 0, 0]);
    original.resize(3_028, 0xAA);
    let segmentation = Segmentation {
        transport: 20,
        headers: 28,
        segment: 1_200,
    };
    let packet = Packet::segmented(&original, segmentation).expect("a right header");
    assert_eq!(packet.wire_length(), 1_228);
    assert_eq!(packet.segmentation(), Some(segmentation));
    assert_eq!(encode(&packet), original);
    // The kernel permits fragmentation; but a fragment would stand for several.
    assert!(crate::mobility::tunnel::fragments(&packet, 1_000).is_none());
    let whole = Packet::verbatim(&original).expect("a right header");
    assert!(crate::mobility::tunnel::fragments(&whole, 1_000).is_some());
    let inside = Packet {
        body: Body::Tunnel(Box::new(packet)),
        ..whole
    };
    assert_eq!(inside.wire_length(), 20 + 1_228);
    let short = Segmentation {
        segment: 4_000,
        ..segmentation
    };
    let short = Packet::segmented(&original, short).expect("a right header");
    assert_eq!(short.wire_length(), 3_028);
}

#[test]
fn a_hop_changes_the_hop_limit_and_its_checksum_only() {
    for original in unusual() {
        let mut packet = Packet::verbatim(&original).expect("a right header");
        for hop_limit in (0..packet.ip.hop_limit).rev() {
            packet.ip.hop_limit = hop_limit;
            let written = encode(&packet);
            let typed = Packet::decode(&written).expect("a right checksum");
            assert_eq!(typed.ip.hop_limit, hop_limit);
            let (limit_at, sum_at) = if original[0] >> 4 == 4 {
                (8, 10)
            } else {
                (7, 7)
            };
            for at in 0..original.len() {
                let may_differ = at == limit_at || at == sum_at || at == sum_at + 1;
                assert!(may_differ || written[at] == original[at], "byte {at}");
            }
        }
    }
}

#[test]
fn the_channel_flips_bits_of_a_verbatim_packet() {
    let mut packet = Packet::verbatim(&bytes(DATA_V6)).expect("a right header");
    packet.bit_errors.add(vec![12, 8 * 74 + 7].into());
    let mut written = Vec::new();
    packet.encode_damaged(&mut written);
    let mut expected = bytes(DATA_V6);
    expected[1] ^= 0x08;
    expected[74] ^= 0x01;
    assert_eq!(written, expected);
    assert_eq!(
        packet.apply_bit_errors(),
        Err(DecodeError::Checksum { header: "TCP" })
    );
}

#[test]
fn bytes_say_in_a_view_what_typed_headers_say() {
    for original in [SYN, DATA, SACK, FIN, UDP, DATA_V6, SACK_V6, UDP_V6] {
        let verbatim = Packet::verbatim(&bytes(original)).expect("a right header");
        let typed = decode(original);
        let (verbatim, typed) = (verbatim.view(), typed.view());
        assert_eq!(verbatim.tcp, typed.tcp);
        assert_eq!(verbatim.ports, typed.ports);
        assert_eq!(verbatim.protocol, typed.protocol);
        assert_eq!(verbatim.payload_bytes, typed.payload_bytes);
    }
    // Seven bytes of data in both; identifier and number stand in the hexadecimal digits.
    for (original, echo) in [(PING, (0xea37, 7)), (PING_V6, (0x1234, 7))] {
        let packet = Packet::verbatim(&bytes(original)).expect("a right header");
        let view = packet.view();
        assert_eq!((view.payload_bytes, view.echo), (7, Some(echo)));
    }
}

#[test]
fn impossible_ip_headers_are_refused() {
    for (at, value, field) in [(0, 0x55, "version"), (0, 0x44, "IHL")] {
        let mut bytes = bytes(UDP);
        bytes[at] = value;
        assert!(matches!(
            Packet::decode(&bytes),
            Err(DecodeError::Field { field: found, .. }) if found == field
        ));
    }
    let mut shrunk = bytes(UDP);
    // Total length 19, less than the header; the checksum grows by the amount that the field loses.
    shrunk[3] = 19;
    shrunk[11] += 0x23 - 19;
    assert_eq!(
        Packet::decode(&shrunk),
        Err(DecodeError::Field {
            header: "IPv4",
            field: "total length",
            value: 19
        })
    );
    assert!(Packet::decode(&[]).is_err());
}

#[test]
fn bytes_after_the_end_are_padding() {
    for original in [FIN, UDP_V6] {
        let mut padded = bytes(original);
        padded.extend_from_slice(&[0xAA; 6]);
        assert_eq!(Packet::decode(&padded), Ok(decode(original)));
    }
}

#[test]
fn a_packet_that_is_cut_off_is_refused() {
    for original in [SYN, DATA_V6, UDP, UNREACHABLE, PING_V6] {
        let bytes = bytes(original);
        for end in 0..bytes.len() {
            assert!(Packet::decode(&bytes[..end]).is_err(), "{end} bytes");
        }
    }
}

#[test]
fn a_udp_checksum_of_zero_is_written_as_all_ones() {
    let packet = Packet {
        ip: decode(UDP).ip,
        // Ports chosen so that pseudo header, header and payload add up to 0xFFFF.
        body: Body::Udp(
            UdpHeader {
                source_port: 0xEB41,
                destination_port: 0,
            },
            Payload::EMPTY,
        ),
        flow: None,
        retransmission: false,
        bit_errors: BitErrors::NONE,
        identity: Identity::NONE,
    };
    // 0a4d + 0001 + 0a4d + 0002 + 0011 + 0008 + 0008 + eb41 = ffff, of which the complement is zero.
    assert_eq!(encode(&packet)[26..28], [0xFF, 0xFF]);
    assert_eq!(Packet::decode(&encode(&packet)), Ok(packet));
}

#[test]
fn every_flipped_bit_of_a_segment_over_ipv4_is_refused() {
    for original in [SYN, DATA, SACK] {
        let original = decode(original);
        for position in 0..original.wire_length() * 8 {
            let mut damaged = original.clone();
            damaged.bit_errors = vec![position].into();
            assert!(damaged.apply_bit_errors().is_err(), "bit {position}");
        }
    }
}

#[test]
fn over_ipv6_only_what_no_checksum_covers_comes_through() {
    let original = decode(DATA_V6);
    for position in 0..original.wire_length() * 8 {
        let mut damaged = original.clone();
        damaged.bit_errors = vec![position].into();
        match (position, damaged.apply_bit_errors()) {
            // Traffic class (4 to 11), flow label (12 to 31), hop limit (56 to 63).
            (4..=31 | 56..=63, Ok(received)) => assert_eq!(received.body, original.body),
            // Next header (48 to 55): another protocol, or one without a reader.
            (48..=55, Ok(received)) => assert!(matches!(received.body, Body::Opaque { .. })),
            (_, Ok(_)) => panic!("bit {position} came through"),
            (4..=31 | 56..=63, Err(error)) => panic!("bit {position}: {error}"),
            (_, Err(_)) => {}
        }
    }
}

#[test]
fn damage_that_spares_the_payload_leaves_it_a_pattern() {
    let mut packet = decode(DATA_V6);
    let (header, _) = tcp(&packet);
    let pattern = Payload::Pattern {
        stream: 3,
        offset: 1 << 40,
        length: 1000,
    };
    packet.body = Body::Tcp(*header, pattern.clone());
    packet.flow = Some(FlowId(7));
    packet.retransmission = true;
    packet.bit_errors = vec![63, 1 << 30].into();
    let received = packet.clone().apply_bit_errors().expect("hop limit only");
    assert_eq!(received.ip.hop_limit, packet.ip.hop_limit ^ 1);
    assert_eq!(tcp(&received).1, &pattern);
    assert_eq!(received.flow, Some(FlowId(7)));
    assert!(received.retransmission);
    assert!(received.bit_errors.is_empty());
    // Two flips that cancel in the sum: the same bit of two words, once set and once cleared.
    let bytes = encode(&packet);
    let word = |index: u32| bytes[(72 + 2 * index) as usize] >> 7;
    let other = (1..100)
        .find(|index| word(*index) != word(0))
        .expect("the pattern varies");
    packet.bit_errors = vec![72 * 8, (72 + 2 * other) * 8].into();
    let received = packet.apply_bit_errors().expect("the checksum is blind");
    assert!(matches!(tcp(&received).1, Payload::Bytes(_)));
}

#[test]
fn a_pattern_is_byte_for_byte_what_its_stream_has_there_also_at_the_ends_of_its_parts() {
    for offset in [0, 1_234_567, (1 << 40) - 700, (5 << 40) - 1, u64::MAX - 99] {
        for stream in [0, 1, u32::MAX] {
            let length = 1400;
            let mut out = Vec::new();
            let pattern = Payload::Pattern {
                stream,
                offset,
                length,
            };
            pattern.copy_into(&mut out);
            let positions = (0..u64::from(length)).map(|index| offset.wrapping_add(index));
            let bytes = positions.map(|position| pattern_byte(stream, position));
            assert_eq!(out, bytes.collect::<Vec<u8>>());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn packets_come_back_as_they_were(packet in any_packet()) {
        let bytes = encode(&packet);
        prop_assert_eq!(bytes.len() as u32, packet.wire_length());
        prop_assert_eq!(Packet::decode(&bytes), Ok(packet));
    }

    // After a valid header checksum, which random bytes hardly ever have.
    #[test]
    fn no_bytes_panic(
        mut bytes in proptest::collection::vec(any::<u8>(), 0..200),
        first in prop_oneof![0x40..=0x4Fu8, Just(0x60u8), any::<u8>()],
        length in 0..220u8,
        protocol in proptest::sample::select(&[0u8, 1, 4, 6, 17, 41, 43, 47, 55, 58, 60, 135, 200][..]),
    ) {
        let header_length = usize::from(first & 0x0F) * 4;
        if bytes.len() >= header_length.max(40) {
            bytes[0] = first;
            if first >> 4 == 6 {
                bytes[4..7].copy_from_slice(&[0, length, protocol]);
            } else {
                bytes[2..4].copy_from_slice(&[0, length]);
                bytes[9..12].copy_from_slice(&[protocol, 0, 0]);
                let mut checksum = Checksum::new();
                checksum.add(&bytes[..header_length]);
                bytes[10..12].copy_from_slice(&checksum.finish().to_be_bytes());
            }
        }
        if let Ok(packet) = Packet::decode(&bytes) {
            prop_assert_eq!(Packet::decode(&encode(&packet)), Ok(packet));
        }
        if let Ok(packet) = Packet::verbatim(&bytes) {
            prop_assert!(packet.view().payload_bytes <= packet.wire_length());
            prop_assert_eq!(&encode(&packet)[..], &bytes[..packet.wire_length() as usize]);
        }
    }

    // Anything decoded from damaged or overwritten bytes can be encoded, and decodes to the same.
    #[test]
    fn damaged_packets_are_refused_or_make_sense(
        packet in any_packet(),
        positions in proptest::collection::btree_set(0u32..4000, 0..12),
    ) {
        let damaged = Packet { bit_errors: Vec::from_iter(positions).into(), ..packet };
        if let Ok(received) = damaged.apply_bit_errors() {
            prop_assert_eq!(Packet::decode(&encode(&received)), Ok(received));
        }
    }
}
