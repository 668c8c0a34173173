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

/// Writes the packet that a path has brought. `carried` is the byte of DSCP and ECN of the datagram, whose mark of congestion goes into the
/// packet inside. Returns false for a marked packet whose ends do not understand marks: it is to be dropped (RFC 6040 section
/// 4.2).
pub fn restore(
    (kind, content): (u8, &mut [u8]),
    outer: Outer,
    carried: u8,
    packet: &mut Vec<u8>,
) -> bool {
    packet.clear();
    if kind == ELIDED {
        if carried & ECN == ECN && !mark(content) {
            return false;
        }
        packet.extend_from_slice(&header_for(content, outer));
    }
    packet.extend_from_slice(content);
    true
}

/// Marks an IP packet with congestion experienced; returns false if its sender has not said that it understands that.
fn mark(packet: &mut [u8]) -> bool {
    let class = traffic_class(packet);
    if class & ECN == 0 {
        return false;
    }
    match packet {
        [first, second, ..] if *first >> 4 == 6 => *second |= ECN << 4,
        [_, second, _, _, _, _, _, _, _, _, high, low, ..] => {
            let before = u16::from(*second);
            *second |= ECN;
            // RFC 1624, equation 3: the checksum's 16-bit word has changed in its lower byte only.
            let sum = u32::from(!u16::from_be_bytes([*high, *low]))
                + u32::from(!before)
                + u32::from(*second);
            let folded = (sum & 0xFFFF) + (sum >> 16);
            let folded = (folded & 0xFFFF) + (folded >> 16);
            [*high, *low] = (!(folded as u16)).to_be_bytes();
        }
        _ => return false,
    }
    true
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

    fn restored(carried: (u8, &[u8]), class: u8) -> Option<Vec<u8>> {
        let mut packet = Vec::new();
        let mut content = carried.1.to_vec();
        restore((carried.0, &mut content), OUTER, class, &mut packet).then_some(packet)
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
            assert_eq!(restored((kind, carried), 0xBA), Some(whole));
        }
    }

    /// The kernel's own arithmetic is the sum over the header, which is all ones where it is right (RFC 1071).
    #[test]
    fn a_mark_of_congestion_goes_inside_or_the_packet_is_dropped() {
        for (version, class, marked) in [(4, 0xB9, 0xBB), (4, 0x02, 0x03), (6, 0xBA, 0xBB)] {
            let mut inner = inner(version, class);
            if version == 4 {
                let sum = !sum_of(&inner[..20]);
                inner[10..12].copy_from_slice(&sum.to_be_bytes());
            }
            let packet = restored((ELIDED, &inner), 0x03).unwrap();
            assert_eq!(traffic_class(&packet[HEADER..]), marked);
            if version == 4 {
                assert_eq!(sum_of(&packet[HEADER..HEADER + 20]), 0xFFFF);
            }
        }
        for version in [4, 6] {
            assert_eq!(restored((ELIDED, &inner(version, 0xB8)), 0x03), None);
        }
    }

    fn sum_of(header: &[u8]) -> u16 {
        let words = header
            .chunks(2)
            .map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
        let sum: u32 = words.sum();
        ((sum & 0xFFFF) + (sum >> 16)) as u16
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
        assert_eq!(restored((PACKET, &whole), 3), Some(whole));
    }
}
