//! Test vectors of docs/aerotp.md, round trips, and malformed packets.

mod damage;
mod hostile;
mod round_trips;
mod vectors;

use super::*;
use crate::fec::interleaved::Strength;
use crate::packet::{IpHeader, Payload};
use core::net::{IpAddr, Ipv4Addr};
use crc::{CRC_16_IBM_3740, Crc, Table};

const CRC_16: Crc<u16, Table<1>> = Crc::<u16, Table<1>>::new(&CRC_16_IBM_3740);

fn between(source: IpAddr, destination: IpAddr) -> IpHeader {
    IpHeader {
        source,
        destination,
        hop_limit: 64,
        traffic_class: 0,
        identification: 0,
        dont_fragment: true,
    }
}

fn ip() -> IpHeader {
    let [source, destination] = [1, 2].map(|host| IpAddr::V4(Ipv4Addr::new(192, 0, 2, host)));
    between(source, destination)
}

fn protection(words: u16, covers_header: bool) -> Protection {
    Protection {
        strength: Strength::from_words(words).unwrap(),
        covers_header,
    }
}

/// A header without extensions and flags.
fn plain() -> AerotpHeader {
    AerotpHeader {
        source_port: 1000,
        destination_port: 2000,
        sequence: SequenceNumber(0xFFFF_F000),
        timestamp: 1_000_000,
        mode: Mode::Reliable,
        class: ServiceClass::default(),
        is_final: false,
        ends_record: false,
        wants_mack: false,
        tcp_flags: TcpFlags::NONE,
        protection: Protection::default(),
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

fn encode(ip: &IpHeader, header: &AerotpHeader, payload: &[u8]) -> Vec<u8> {
    let packet = AerotpPacket::new(header.clone(), Payload::from_slice(payload));
    let mut bytes = Vec::new();
    packet.encode(ip, &mut bytes);
    assert_eq!(bytes.len(), packet.wire_length() as usize);
    bytes
}

/// Builds a packet with these bytes between prelude and check, and a valid check.
fn sealed(protection: Protection, header: &[u8], behind: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    protection.encode(&mut bytes);
    bytes.extend_from_slice(header);
    let covered = [&[192, 0, 2, 1, 192, 0, 2, 2], header].concat();
    bytes.extend_from_slice(&CRC_16.checksum(&covered).to_be_bytes());
    bytes.extend_from_slice(behind);
    bytes
}
