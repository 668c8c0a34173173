//! The header of a tunnel between a router's care-of address and its home agent (RFC 2473), left out on a path, whose ends know it.

use super::datagrams::Packets;
use baton_path::{ELIDED, PACKET};
use baton_proto::mobility::tunnel::error_about;
use baton_proto::packet::Packet;
use baton_proto::wire::icmp::IcmpError;
use core::net::Ipv6Addr;

/// The length of an IPv6 header, in bytes.
pub const HEADER: usize = 40;
/// Next headers of a tunnel: IPv4 and IPv6 (RFC 2473 section 3).
const TUNNELLED: [u8; 2] = [4, 41];
/// The hop limit of a packet that a node sends.
const HOP_LIMIT: u8 = 64;
/// The two bits of ECN, and their value for congestion experienced (RFC 3168 section 5).
const ECN: u8 = 0b11;

/// The ends of a tunnel in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outer {
    /// The entry.
    pub source: Ipv6Addr,
    /// The exit.
    pub destination: Ipv6Addr,
}

/// Returns the byte of DSCP and ECN of an IP packet; zero of what is none.
pub fn traffic_class(packet: &[u8]) -> u8 {
    match packet {
        [first, second, ..] if first >> 4 == 4 => *second,
        [first, second, ..] if first >> 4 == 6 => first << 4 | second >> 4,
        _ => 0,
    }
}

/// Returns the source and the destination of an IPv6 packet.
pub fn addresses(packet: &[u8]) -> Option<Outer> {
    let (header, _) = packet.split_first_chunk::<HEADER>()?;
    let address = |from: usize| {
        let octets: [u8; 16] = header[from..from + 16].try_into().ok()?;
        Some(Ipv6Addr::from(octets))
    };
    let ends = Outer {
        source: address(8)?,
        destination: address(24)?,
    };
    (header[0] >> 4 == 6).then_some(ends)
}

/// Returns what a path carries of a packet, and its kind: the packet inside, if the tunnel's header is the one that
/// [`restore`] makes.
pub fn elide(packet: &[u8], outer: Outer) -> (u8, &[u8]) {
    match packet.split_first_chunk::<HEADER>() {
        Some((header, inner)) if *header == header_for(inner, outer) => (ELIDED, inner),
        _ => (PACKET, packet),
    }
}

/// Writes the packet that a path has brought. `carried` is the byte of DSCP and ECN of the datagram: a mark of congestion, which
/// only the tunnel's header can have had on the way, goes into that (RFC 6040 section 4.2).
pub fn restore((kind, content): (u8, &[u8]), outer: Outer, carried: u8, packet: &mut Vec<u8>) {
    packet.clear();
    if kind == ELIDED {
        let mut header = header_for(content, outer);
        if carried & ECN == ECN {
            header[1] |= ECN << 4;
        }
        packet.extend_from_slice(&header);
    }
    packet.extend_from_slice(content);
}

/// Tells the node, as a router on the link does (RFC 4443 section 3.2), that a packet of its own is longer than a path carries: `most`
/// bytes and the header that is left out.
pub fn answer_too_long(packet: &[u8], most: u16, answers: &mut Packets) {
    let quoted = Packet::verbatim(packet)
        .ok()
        .and_then(|packet| packet.quote());
    let (Some(Outer { source, .. }), Some(quoted)) = (addresses(packet), quoted) else {
        return;
    };
    let mtu = u32::from(most) + HEADER as u32;
    let error = error_about(source, IcmpError::PacketTooBig { mtu }, quoted);
    let mut bytes = Vec::new();
    error.encode(&mut bytes);
    answers.push(&bytes);
}

/// Returns the header of a tunnel around a packet, whose DSCP and ECN it has (RFC 2983 section 3, RFC 6040 section 4.1).
fn header_for(
    inner: &[u8],
    Outer {
        source,
        destination,
    }: Outer,
) -> [u8; HEADER] {
    let class = traffic_class(inner);
    let [ipv4, ipv6] = TUNNELLED;
    let is_ipv4 = inner.first().is_some_and(|first| first >> 4 == 4);
    let mut header = [0; HEADER];
    header[0] = 6 << 4 | class >> 4;
    header[1] = class << 4;
    // A packet is at most 65,535 bytes long; of a longer one the length does not fit, and the header is not the packet's.
    header[4..6].copy_from_slice(&(inner.len() as u16).to_be_bytes());
    header[6] = if is_ipv4 { ipv4 } else { ipv6 };
    header[7] = HOP_LIMIT;
    header[8..24].copy_from_slice(&source.octets());
    header[24..40].copy_from_slice(&destination.octets());
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTER: Outer = Outer {
        source: Ipv6Addr::new(0xFD62, 0, 0, 1, 0, 0, 0, 7),
        destination: Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0, 0, 0, 1),
    };

    fn inner(version: u8, class: u8) -> Vec<u8> {
        let mut packet = vec![0; 60];
        match version {
            4 => packet[..2].copy_from_slice(&[0x45, class]),
            _ => packet[..2].copy_from_slice(&[0x60 | class >> 4, class << 4]),
        }
        packet
    }

    #[test]
    fn what_is_left_out_is_put_back() {
        for version in [4, 6] {
            let inner = inner(version, 0xBA);
            let mut whole = header_for(&inner, OUTER).to_vec();
            whole.extend_from_slice(&inner);
            assert!(Packet::verbatim(&whole).is_ok());
            let (kind, carried) = elide(&whole, OUTER);
            assert_eq!((kind, carried), (ELIDED, &inner[..]));
            let mut restored = Vec::new();
            restore((kind, carried), OUTER, 0xBA, &mut restored);
            assert_eq!(restored, whole);
            restore((kind, carried), OUTER, 0xBB, &mut restored);
            assert_eq!(traffic_class(&restored), 0xBB);
        }
    }

    #[test]
    fn any_other_packet_goes_as_it_is() {
        let mut whole = header_for(&inner(6, 0), OUTER).to_vec();
        whole.extend_from_slice(&inner(6, 0));
        for place in 0..HEADER {
            let mut other = whole.clone();
            other[place] ^= 1;
            assert_eq!(elide(&other, OUTER), (PACKET, &other[..]), "{place}");
        }
        assert_eq!(elide(&[], OUTER), (PACKET, &[][..]));
        let mut restored = Vec::new();
        restore((PACKET, &whole), OUTER, 3, &mut restored);
        assert_eq!(restored, whole);
    }
}
