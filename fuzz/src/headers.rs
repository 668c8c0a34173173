//! One header at a time: parsing and writing round-trip, and no wrong checksum passes.

use crate::bytes::Bytes;
use crate::checksums::{pseudo_header, sum};
use baton_proto::packet::IpHeader;
use baton_proto::wire::extension::{self, HomeAddresses};
use baton_proto::wire::icmp::IcmpMessage;
use baton_proto::wire::ip::IpPayload;
use baton_proto::wire::mobility_header::MobilityMessage;
use baton_proto::wire::protocol;
use baton_proto::wire::tcp::{TcpHeader, TcpOptions};
use baton_proto::wire::udp::UdpHeader;
use core::net::IpAddr;

/// Tries IPv4 and IPv6 headers.
pub fn check_ip(data: &[u8]) {
    let Ok((header, carried)) = IpHeader::decode(data) else {
        return;
    };
    let start = if header.source.is_ipv4() {
        assert_eq!(
            sum(&[&data[..usize::from(data[0] & 15) * 4]]),
            0xFFFF,
            "wrong checksum accepted"
        );
        20
    } else {
        40
    };
    assert_eq!(header.wire_length(), start, "length of {header:?}");
    let mut out = Vec::new();
    header.encode(
        carried.protocol,
        carried.fragment,
        carried.bytes.len() as u32,
        &mut out,
    );
    out.extend_from_slice(carried.bytes);
    assert_eq!(IpHeader::decode(&out), Ok((header, carried)));
}

/// Makes an IP header of either version, and the protocol that it carries.
fn carried(data: &[u8], protocol: u8) -> (IpHeader, Vec<u8>, &[u8]) {
    let mut bytes = Bytes::new(data);
    let first = bytes.u8();
    let addresses: [IpAddr; 2] = match first & 5 {
        0 | 4 => [[10, 0, 0, first].into(), [10, 0, 1, 2].into()],
        1 => [
            [first.into(), 1, 2, 3, 4, 5, 6, 7],
            [1, 2, 3, 4, 5, 6, 7, 8],
        ]
        .map(IpAddr::from),
        // Between neighbours.
        _ => [[0xFE80, 0, 0, 0, 0, 0, 0, 1], [0xFF02, 0, 0, 0, 0, 0, 0, 2]].map(IpAddr::from),
    };
    let ip = IpHeader {
        source: addresses[0],
        destination: addresses[1],
        hop_limit: [64, 64, 255, 1][usize::from(first >> 6)],
        traffic_class: 0,
        identification: 0,
        dont_fragment: true,
    };
    let body = bytes.rest();
    let mut whole = Vec::new();
    ip.encode(protocol, 0, body.len() as u32, &mut whole);
    let start = whole.len();
    whole.extend_from_slice(body);
    let pseudo = match (protocol, first & 1) {
        (protocol::ICMP, _) => Vec::new(),
        _ => pseudo_header(&whole, start, protocol),
    };
    (ip, pseudo, body)
}

/// Returns `body` with the two bytes at `at` changed so that the checksum is right.
fn mended(pseudo: &[u8], body: &[u8], at: usize) -> Vec<u8> {
    let mut body = body.to_vec();
    if body.len() >= at + 2 {
        body[at..at + 2].fill(0);
        let checksum = !sum(&[pseudo, &body]);
        body[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
    }
    body
}

/// Tries UDP headers.
pub fn check_udp(data: &[u8]) {
    let (ip, pseudo, body) = carried(data, protocol::UDP);
    let mut body = mended(&pseudo, body, 6);
    if data.first().is_some_and(|first| first & 2 == 2) && body.len() >= 8 {
        // A search hardly ever finds the right length.
        let length = body.len().min(0xFFFF) as u16;
        body[4..6].copy_from_slice(&length.to_be_bytes());
        body = mended(&pseudo, &body, 6);
    }
    let Ok((header, payload)) = UdpHeader::decode(&ip, &body) else {
        return;
    };
    assert!(payload.len() + 8 <= body.len());
    if payload.len() + 8 == body.len() && body[6..8] != [0, 0] {
        assert_eq!(sum(&[&pseudo, &body]), 0xFFFF, "wrong checksum accepted");
    }
    let mut out = Vec::new();
    header.encode(payload.len() as u32, &mut out);
    assert_eq!(out.len() as u32, header.wire_length());
    assert_eq!(out[..4], body[..4]);
    out.extend_from_slice(payload);
    let shorter = carried(&[&data[..1], &out].concat(), protocol::UDP).1;
    let again = mended(&shorter, &out, 6);
    assert_eq!(UdpHeader::decode(&ip, &again), Ok((header, payload)));
}

/// Tries TCP headers with their options.
pub fn check_tcp(data: &[u8]) {
    let (ip, pseudo, body) = carried(data, protocol::TCP);
    if let Ok(read) = TcpHeader::decode(&ip, body) {
        assert_eq!(sum(&[&pseudo, body]), 0xFFFF, "wrong checksum accepted");
        let _ = read;
    }
    let body = mended(&pseudo, body, 16);
    let Ok((header, payload)) = TcpHeader::decode(&ip, &body) else {
        return;
    };
    let mut out = Vec::new();
    header.encode(&mut out);
    assert_eq!(out.len() as u32, header.wire_length(), "{header:?}");
    assert!(out.len() <= 60, "no header is that long: {header:?}");
    out.extend_from_slice(payload);
    let pseudo = carried(&[&data[..1], &out].concat(), protocol::TCP).1;
    let again = mended(&pseudo, &out, 16);
    let (second, same) = TcpHeader::decode(&ip, &again).expect("what was written is read");
    assert_eq!(same, payload);
    let blocks = second.options.sack.as_slice();
    // Our padding may leave less room beside other options than the peer's: the last blocks are dropped.
    assert!(header.options.sack.as_slice().starts_with(blocks));
    let all_fit = header.options.sack.as_slice().len() <= 2;
    assert!(!all_fit || second == header, "{second:?} was {header:?}");
    let without_blocks = |mut header: TcpHeader| {
        header.options = TcpOptions {
            sack: Default::default(),
            ..header.options
        };
        header
    };
    assert_eq!(without_blocks(second), without_blocks(header));
}

/// Tries messages of ICMP and ICMPv6.
pub fn check_icmp(data: &[u8]) {
    let v4 = data.first().is_none_or(|first| first & 1 == 0);
    let number = if v4 { protocol::ICMP } else { protocol::ICMPV6 };
    let (ip, pseudo, body) = carried(data, number);
    let body = mended(&pseudo, body, 2);
    let Ok(Some(message)) = IcmpMessage::decode(&ip, &body) else {
        return;
    };
    assert_eq!(sum(&[&pseudo, &body]), 0xFFFF, "wrong checksum accepted");
    let mut out = Vec::new();
    message.encode(&ip, &mut out);
    assert_eq!(out.len() as u32, message.wire_length(), "{message:?}");
    let pseudo = carried(&[&data[..1], &out].concat(), number).1;
    let again = mended(&pseudo, &out, 2);
    assert_eq!(IcmpMessage::decode(&ip, &again), Ok(Some(message)));
}

/// Tries Mobility Headers.
pub fn check_mobility(data: &[u8]) {
    // Over IPv6 in any case.
    let first = data.first().map_or(1, |first| first | 1);
    let whole = [&[first], data.get(1..).unwrap_or(&[])].concat();
    let (ip, pseudo, body) = carried(&whole, protocol::MOBILITY);
    let mut body = body.to_vec();
    if first & 2 == 2 && body.len() >= 8 {
        // A search hardly ever finds the right length.
        body.truncate(body.len().min(2048) / 8 * 8);
        body[1] = (body.len() / 8 - 1) as u8;
    }
    let pseudo_of = |length: usize| {
        let mut pseudo = pseudo.clone();
        pseudo[32..36].copy_from_slice(&(length as u32).to_be_bytes());
        pseudo
    };
    let body = mended(&pseudo_of(body.len()), &body, 4);
    let Ok(Some(message)) = MobilityMessage::decode(&ip, &body) else {
        return;
    };
    assert_eq!(
        sum(&[&pseudo_of(body.len()), &body]),
        0xFFFF,
        "wrong checksum accepted"
    );
    let mut out = Vec::new();
    message.encode(&mut out);
    assert_eq!(out.len() as u32, message.wire_length(), "{message:?}");
    assert_eq!(out.len() % 8, 0, "{message:?}");
    if let Some(covered) = message.authenticated_bytes() {
        assert_eq!(covered, out[..out.len() - 12], "{message:?}");
    }
    let again = mended(&pseudo_of(out.len()), &out, 4);
    assert_eq!(MobilityMessage::decode(&ip, &again), Ok(Some(message)));
}

/// Tries extension headers.
pub fn check_extension(data: &[u8]) {
    let mut bytes = Bytes::new(data);
    let first = bytes.one_of(&[protocol::ROUTING, protocol::DESTINATION_OPTIONS]);
    let whole = bytes.rest();
    let _ = extension::decode_router_alert(whole);
    let mut carried = IpPayload {
        protocol: first,
        fragment: 0,
        bytes: whole,
    };
    let Ok(addresses) = HomeAddresses::strip(&mut carried) else {
        return;
    };
    let mut out = Vec::new();
    addresses.encode(carried.protocol, &mut out);
    assert_eq!(out.len() as u32, addresses.wire_length());
    assert!(out.len() + carried.bytes.len() <= whole.len());
    out.extend_from_slice(carried.bytes);
    let mut again = IpPayload {
        protocol: addresses.first(carried.protocol),
        fragment: 0,
        bytes: &out,
    };
    assert_eq!(HomeAddresses::strip(&mut again), Ok(addresses));
    assert_eq!(again, carried);
}
