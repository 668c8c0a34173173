//! AeroTP: parsing and writing round-trip, and no packets make a connection panic or break its promises.

mod connection;
pub mod gateway;

use crate::bytes::Bytes;
use baton_proto::fec::interleaved::Strength;
use baton_proto::packet::{IpHeader, Payload};
use baton_proto::wire::aerotp::{
    AerotpHeader, AerotpPacket, Condition, Mode, Protection, ServiceClass,
};
use baton_proto::wire::sequence::SequenceNumber;
use baton_proto::wire::tcp::TcpFlags;
use core::net::IpAddr;

/// Bytes of the prelude.
const PRELUDE: usize = 3;

/// Tries any bytes, bytes whose header check is right, or a connection's life.
pub fn check(data: &[u8]) {
    let mut bytes = Bytes::new(data);
    match bytes.u8() % 4 {
        0 => read(&ip([1, 2]), bytes.rest()),
        1 => checked(&mut bytes),
        _ => connection::check(&mut bytes),
    }
}

/// Returns an IP header between two hosts of a network.
fn ip(hosts: [u8; 2]) -> IpHeader {
    let [source, destination] = hosts.map(address);
    IpHeader {
        source,
        destination,
        hop_limit: 64,
        traffic_class: 0,
        identification: 0,
        dont_fragment: true,
    }
}

fn address(host: u8) -> IpAddr {
    [192, 0, 2, host].into()
}

fn protection(words: u16, covers_header: bool) -> Protection {
    Protection {
        strength: Strength::from_words(words % 257).expect("at most 256 words"),
        covers_header,
    }
}

/// Returns a header without extensions.
fn plain(protection: Protection, mode: Mode) -> AerotpHeader {
    AerotpHeader {
        source_port: 0,
        destination_port: 0,
        sequence: SequenceNumber(0),
        timestamp: 0,
        mode,
        class: ServiceClass::default(),
        is_final: false,
        ends_record: false,
        wants_mack: false,
        tcp_flags: TcpFlags::NONE,
        protection,
        opening: None,
        tcp_offer: None,
        mack: None,
        token: None,
        adds_path: false,
        block: None,
        is_odd_incarnation: false,
        resumption: None,
    }
}

/// Parses any bytes: a parsed header is the same when written and parsed again.
fn read(ip: &IpHeader, bytes: &[u8]) {
    let Ok(packet) = AerotpPacket::decode(ip, bytes) else {
        return;
    };
    let length = packet.payload.length() as usize;
    assert!(length <= bytes.len(), "{length} bytes of {}", bytes.len());
    let sent = AerotpPacket {
        condition: Condition::Clean,
        ..packet
    };
    returns(ip, &sent);
}

/// Checks that a packet is parsed as its sender made it.
fn returns(ip: &IpHeader, sent: &AerotpPacket) {
    let mut bytes = Vec::new();
    sent.encode(ip, &mut bytes);
    assert_eq!(bytes.len(), sent.wire_length() as usize, "{sent:?}");
    let read = AerotpPacket::decode(ip, &bytes).expect("it was encoded");
    assert_eq!(read.header, sent.header);
    assert_eq!(read.condition, Condition::Clean);
    let mut payloads = [Vec::new(), Vec::new()];
    read.payload.copy_into(&mut payloads[0]);
    sent.payload.copy_into(&mut payloads[1]);
    assert_eq!(payloads[0], payloads[1]);
}

/// Returns CRC-16/IBM-3740, written a second time, bit by bit.
fn crc16(pieces: &[&[u8]]) -> u16 {
    let mut register = 0xFFFF_u16;
    for byte in pieces.iter().copied().flatten() {
        register ^= u16::from(*byte) << 8;
        for _ in 0..8 {
            let carry = register >> 15;
            register = (register << 1) ^ (0x1021 * carry);
        }
    }
    register
}

/// Makes the prelude and the header check right, so that a search gets beyond them; the input determines the place of
/// the check.
fn checked(bytes: &mut Bytes<'_>) {
    let protection = protection(bytes.u16(), bytes.bool());
    let header = bytes.u8();
    let mut packet = Vec::new();
    AerotpPacket::new(plain(protection, Mode::Reliable), Payload::EMPTY)
        .encode(&ip([1, 2]), &mut packet);
    packet.truncate(PRELUDE);
    packet.extend_from_slice(bytes.take(usize::from(header)));
    let check = crc16(&[&[192, 0, 2, 1, 192, 0, 2, 2], &packet[PRELUDE..]]);
    packet.extend_from_slice(&check.to_be_bytes());
    packet.extend_from_slice(bytes.rest());
    read(&ip([1, 2]), &packet);
}
