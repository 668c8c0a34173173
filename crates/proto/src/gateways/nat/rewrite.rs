//! Offsets of addresses and ports in a packet's bytes, and their rewriting.

use super::{Endpoint, Family, Way};
use crate::packet::{Body, Packet};
use crate::wire::checksum::updated;
use crate::wire::{protocol, u16_at};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Offsets of the address and the port to translate in a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub family: Family,
    /// Offset of the IP header: the packet's own, or that of a packet quoted in an ICMP error.
    header: usize,
    /// Offset of the address, and of the port or identifier.
    address: usize,
    port: usize,
    /// Offset of the transport's checksum, if there is one.
    checksum: Option<usize>,
}

/// Encodes the headers of a packet and finds the address and port to translate; the flag is true if they are in a
/// packet quoted by an ICMP error. Returns `None` for a packet that cannot be translated.
pub(super) fn locate(packet: &mut Packet, way: Way) -> Option<(Place, bool)> {
    if packet.is_typed() {
        let mut bytes = Vec::new();
        packet.encode(&mut bytes);
        packet.body = Packet::verbatim(&bytes).ok()?.body;
    }
    let Body::Verbatim(verbatim) = &packet.body else {
        return None;
    };
    let carried = verbatim.carried();
    let start = verbatim.bytes().len() - carried.bytes.len();
    let v6 = packet.ip.source.is_ipv6();
    let is_error = match (v6, carried.protocol, carried.bytes.first()) {
        (false, protocol::ICMP, Some(kind)) => matches!(kind, 3 | 11 | 12),
        (true, protocol::ICMPV6, Some(kind)) => matches!(kind, 1..=4),
        _ => false,
    };
    if is_error && carried.fragment == 0 {
        // In an error, the inside host's role is opposite to its role in the quoted packet.
        let sent_inside = way == Way::In;
        let place = Place::find(verbatim.bytes(), start + 8, sent_inside)?;
        return (place.family.v6 == v6).then_some((place, true));
    }
    let place = Place::find(verbatim.bytes(), 0, way == Way::Out)?;
    // Only a quotation may end before its checksum.
    (place.family.protocol != protocol::TCP || place.checksum.is_some()).then_some((place, false))
}

impl Place {
    /// Finds the address and port of the inside end in the packet that begins at `header`; `sent_inside` is true
    /// if that end sent it.
    fn find(packet: &[u8], header: usize, sent_inside: bool) -> Option<Place> {
        let bytes = packet.get(header..)?;
        let v6 = bytes.first()? >> 4 == 6;
        let length = match v6 {
            true => 40,
            false => usize::from(bytes[0] & 0x0F).max(5) * 4,
        };
        let transport = bytes.get(length..).filter(|rest| rest.len() >= 8)?;
        let number = if v6 { bytes[6] } else { bytes[9] };
        let is_fragment = !v6 && u16_at(bytes, 6) & crate::wire::ip::FRAGMENT != 0;
        let end = if sent_inside { 0 } else { 2 };
        // The inside host sends echo requests and receives replies.
        let (icmp, query) = match (v6, sent_inside) {
            (false, true) => (protocol::ICMP, 8),
            (false, false) => (protocol::ICMP, 0),
            (true, true) => (protocol::ICMPV6, 128),
            (true, false) => (protocol::ICMPV6, 129),
        };
        let (port, checksum) = match (number, transport[0]) {
            (protocol::TCP, _) => (end, (transport.len() >= 18).then_some(16)),
            // Zero means no checksum.
            (protocol::UDP, _) => (end, (u16_at(transport, 6) != 0).then_some(6)),
            (number, kind) if number == icmp && kind == query => (4, Some(2)),
            _ => return None,
        };
        let at = header + length;
        (!is_fragment).then_some(Place {
            family: Family {
                protocol: match number {
                    protocol::ICMPV6 => protocol::ICMP,
                    other => other,
                },
                v6,
            },
            header,
            address: header + address_at(v6, sent_inside),
            port: at + port,
            checksum: checksum.map(|checksum| at + checksum),
        })
    }
}

/// Returns the offset of the source or the destination in an IP header.
const fn address_at(v6: bool, source: bool) -> usize {
    match (v6, source) {
        (false, true) => 12,
        (false, false) => 16,
        (true, true) => 8,
        (true, false) => 24,
    }
}

/// Returns the address and port at a place found in the packet.
pub(super) fn endpoint(packet: &Packet, place: &Place) -> Endpoint {
    let bytes = match &packet.body {
        Body::Verbatim(verbatim) => verbatim.bytes(),
        _ => &[],
    };
    Endpoint {
        protocol: place.family.protocol,
        address: address(bytes, place),
        port: u16_at(bytes, place.port),
    }
}

fn address(bytes: &[u8], place: &Place) -> IpAddr {
    let octet = |index: usize| bytes[place.address + index];
    match place.family.v6 {
        true => Ipv6Addr::from(core::array::from_fn::<u8, 16, _>(octet)).into(),
        false => Ipv4Addr::from(core::array::from_fn::<u8, 4, _>(octet)).into(),
    }
}

/// Replaces the address and port at a place, and updates all checksums.
pub(super) fn rewrite(
    packet: &mut Packet,
    way: Way,
    place: &Place,
    (address, port): (IpAddr, u16),
) {
    match way {
        Way::Out => packet.ip.source = address,
        Way::In => packet.ip.destination = address,
    }
    let Body::Verbatim(verbatim) = &mut packet.body else {
        return;
    };
    let start = verbatim.bytes().len() - verbatim.carried().bytes.len();
    let bytes = verbatim.bytes_mut();
    let v6 = place.family.v6;
    let header_checksum = (!v6).then_some(place.header + 10);
    // An echo's checksum covers its addresses over IPv6 only.
    let over_addresses = place
        .checksum
        .filter(|_| v6 || place.family.protocol != protocol::ICMP);
    // Bytes covered by an ICMP error's own checksum; none for other packets.
    let even = (bytes.len() - start) & !1;
    let quoting = place.header > 0;
    let before = if quoting {
        bytes[start..start + even].to_vec()
    } else {
        Vec::new()
    };
    let (octets, length) = octets(address);
    let octets = &octets[..length];
    replace(
        bytes,
        place.address,
        octets,
        &[header_checksum, over_addresses],
    );
    replace(bytes, place.port, &port.to_be_bytes(), &[place.checksum]);
    if let Some(checksum) = place.checksum
        && place.family.protocol == protocol::UDP
        && u16_at(bytes, checksum) == 0
    {
        // In UDP, zero means no checksum; all ones is the same number (RFC 768).
        bytes[checksum..checksum + 2].fill(0xFF);
    }
    if quoting {
        let sum = updated(
            u16_at(bytes, start + 2),
            &before,
            &bytes[start..start + even],
        );
        bytes[start + 2..start + 4].copy_from_slice(&sum.to_be_bytes());
        let own = address_at(v6, way == Way::Out);
        let over_own = if v6 { start + 2 } else { 10 };
        replace(bytes, own, octets, &[Some(over_own)]);
    }
}

/// Returns the bytes of an address and their number.
fn octets(address: IpAddr) -> ([u8; 16], usize) {
    let mut octets = [0; 16];
    match address {
        IpAddr::V4(address) => octets[..4].copy_from_slice(&address.octets()),
        IpAddr::V6(address) => octets = address.octets(),
    }
    (octets, if address.is_ipv4() { 4 } else { 16 })
}

/// Writes bytes at an even offset, and updates the checksums at these offsets.
fn replace(bytes: &mut [u8], at: usize, new: &[u8], checksums: &[Option<usize>]) {
    for &checksum in checksums.iter().flatten() {
        let sum = updated(u16_at(bytes, checksum), &bytes[at..at + new.len()], new);
        bytes[checksum..checksum + 2].copy_from_slice(&sum.to_be_bytes());
    }
    bytes[at..at + new.len()].copy_from_slice(new);
}
