//! UDP datagrams in IP packets.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4};

const UDP: u8 = 17;

/// Returns the source and the destination of a UDP datagram; nothing of another packet.
pub fn endpoints(packet: &[u8]) -> Option<(SocketAddr, SocketAddr)> {
    let port = |from: usize| Some(u16::from_be_bytes([*packet.get(from)?, packet[from + 1]]));
    match packet.first()? >> 4 {
        4 if packet[9] == UDP => {
            let address = |from: usize| {
                let octets: [u8; 4] = packet[from..from + 4].try_into().ok()?;
                Some(Ipv4Addr::from(octets))
            };
            Some((
                (address(12)?, port(20)?).into(),
                (address(16)?, port(22)?).into(),
            ))
        }
        6 if packet[6] == UDP => {
            let address = |from: usize| {
                let octets: [u8; 16] = packet[from..from + 16].try_into().ok()?;
                Some(Ipv6Addr::from(octets))
            };
            Some((
                (address(8)?, port(40)?).into(),
                (address(24)?, port(42)?).into(),
            ))
        }
        _ => None,
    }
}

/// Returns what a datagram over IPv4 carries.
pub fn payload(packet: &[u8]) -> &[u8] {
    &packet[28..]
}

/// Writes a datagram over IPv4, without a checksum of its own (RFC 768).
pub fn datagram(from: SocketAddrV4, to: SocketAddrV4, payload: &[u8]) -> Vec<u8> {
    let length = 28 + payload.len() as u16;
    let mut packet = vec![0x45, 0];
    packet.extend_from_slice(&length.to_be_bytes());
    packet.extend_from_slice(&[0, 0, 0x40, 0, 64, UDP, 0, 0]);
    packet.extend_from_slice(&from.ip().octets());
    packet.extend_from_slice(&to.ip().octets());
    packet.extend_from_slice(&from.port().to_be_bytes());
    packet.extend_from_slice(&to.port().to_be_bytes());
    packet.extend_from_slice(&(length - 20).to_be_bytes());
    packet.extend_from_slice(&[0, 0]);
    packet.extend_from_slice(payload);
    sum(&mut packet);
    packet
}

/// Gives a datagram over IPv4 another source.
pub fn set_source(packet: &mut [u8], source: SocketAddr) {
    set(packet, (12, 20), source);
}

/// Gives a datagram over IPv4 another destination; one over IPv6 has it already.
pub fn set_destination(packet: &mut [u8], destination: SocketAddr) {
    set(packet, (16, 22), destination);
}

fn set(packet: &mut [u8], (address, port): (usize, usize), to: SocketAddr) {
    if let SocketAddr::V4(to) = to {
        packet[address..address + 4].copy_from_slice(&to.ip().octets());
        packet[port..port + 2].copy_from_slice(&to.port().to_be_bytes());
        packet[26..28].fill(0);
        sum(packet);
    }
}

/// Sets the header's checksum (RFC 1071).
fn sum(packet: &mut [u8]) {
    packet[10..12].fill(0);
    let words = packet[..20].chunks(2);
    let mut sum: u32 = words
        .map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])))
        .sum();
    while sum >> 16 > 0 {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    packet[10..12].copy_from_slice(&(!sum as u16).to_be_bytes());
}
