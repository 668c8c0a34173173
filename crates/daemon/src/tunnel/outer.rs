//! The header of a tunnel between a router's care-of address and its home agent (RFC 2473), omitted on a path, whose
//! ends know it.

use super::pieces;
use crate::medium::Received;
use baton_linux::offload::Segmentation;
use baton_path::{ELIDED, PACKET};
use baton_proto::mobility::tunnel::error_about;
use baton_proto::packet::{BitErrors, Body, Identity, IpHeader, Packet};
use baton_proto::wire::icmp::IcmpError;
use core::net::{IpAddr, Ipv6Addr};

/// Length of an IPv6 header, in bytes.
pub const HEADER: usize = 40;
/// Hop limit of a node's own packets.
const HOP_LIMIT: u8 = 64;
/// The ECN field, and its codepoint for congestion experienced (RFC 3168 section 5).
pub const ECN: u8 = 0b11;

/// The ends of a tunnel in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outer {
    /// Entry of the tunnel.
    pub source: Ipv6Addr,
    /// Exit of the tunnel.
    pub destination: Ipv6Addr,
}

/// Returns the byte of DSCP and ECN of an IP packet; zero for other data.
pub fn traffic_class(packet: &[u8]) -> u8 {
    match packet {
        [first, second, ..] if first >> 4 == 4 => *second,
        [first, second, ..] if first >> 4 == 6 => first << 4 | second >> 4,
        _ => 0,
    }
}

/// Copies a datagram's congestion mark, given by its byte of DSCP and ECN, to the packet inside (RFC 6040 section 4.2).
/// Returns false for a packet to be dropped, since its sender does not support ECN.
pub fn take_mark(carried: u8, packet: &mut [u8]) -> bool {
    carried & ECN != ECN || mark(packet)
}

/// Marks an IP packet with congestion experienced (RFC 3168 section 5), if its sender supports ECN.
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
            // RFC 1624, equation 3: only the lower byte of the 16-bit word has changed.
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

impl Outer {
    /// Returns the addresses of an IPv6 packet.
    pub fn of(packet: &Packet) -> Option<Outer> {
        match (packet.ip.source, packet.ip.destination) {
            (IpAddr::V6(source), IpAddr::V6(destination)) => Some(Outer {
                source,
                destination,
            }),
            _ => None,
        }
    }

    /// Returns the ends of the opposite direction.
    pub const fn back(self) -> Outer {
        Outer {
            source: self.destination,
            destination: self.source,
        }
    }

    /// Returns the packet inside, if the tunnel's header is one that [`restore`](Self::restore) rebuilds: with the DSCP
    /// and ECN of the packet inside (RFC 2983 section 3, RFC 6040 section 4.1).
    fn inside(self, packet: &Packet) -> Option<&Packet> {
        match &packet.body {
            Body::Tunnel(inner) => {
                (packet.ip == self.header(inner.ip.traffic_class)).then_some(inner)
            }
            _ => None,
        }
    }

    /// Returns the part of a packet that a path carries, and its kind: only the packet inside, if both ends know the
    /// header.
    pub fn carried(self, packet: &Packet) -> (u8, &Packet) {
        match self.inside(packet) {
            Some(inner) => (ELIDED, inner),
            None => (PACKET, packet),
        }
    }

    /// Restores the header around a packet from a path.
    ///
    /// # Errors
    /// The fault in the packet's header.
    pub fn restore(self, (bytes, segmentation): (&[u8], Option<Segmentation>)) -> Received {
        let inner = match segmentation {
            None => Packet::decode(bytes).or_else(|_| Packet::verbatim(bytes))?,
            Some(_) => pieces::read((bytes, segmentation))?,
        };
        Ok(Packet {
            ip: self.header(inner.ip.traffic_class),
            flow: None,
            retransmission: false,
            identity: Identity::NONE,
            bit_errors: BitErrors::NONE,
            body: Body::Tunnel(Box::new(inner)),
        })
    }

    fn header(self, traffic_class: u8) -> IpHeader {
        IpHeader {
            destination: self.destination.into(),
            hop_limit: HOP_LIMIT,
            traffic_class,
            source: self.source.into(),
            identification: 0,
            dont_fragment: true,
        }
    }
}

/// Returns the error to the node, like a router's (RFC 4443 section 3.2), about a packet of its own that is longer than
/// a path carries: `most` bytes, plus the omitted header.
pub fn too_long(packet: &Packet, most: u16) -> Option<Packet> {
    let source = Outer::of(packet)?.source;
    let mtu = u32::from(most) + HEADER as u32;
    let error = IcmpError::PacketTooBig { mtu };
    Some(error_about(source, error, packet.quote()?))
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
            4 => {
                packet[..4].copy_from_slice(&[0x45, class, 0, 60]);
                packet[8] = 64;
                let sum: u32 = packet
                    .chunks(2)
                    .map(|two| u32::from(two[0]) << 8 | u32::from(two[1]))
                    .sum();
                packet[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
            }
            _ => packet[..6].copy_from_slice(&[0x60 | class >> 4, class << 4, 0, 0, 0, 20]),
        }
        packet
    }

    #[test]
    fn what_is_left_out_is_put_back() {
        for version in [4, 6] {
            let inner = inner(version, 0xBA);
            let whole = OUTER.restore((&inner, None)).unwrap();
            let mut bytes = Vec::new();
            whole.encode(&mut bytes);
            assert_eq!(bytes[HEADER..], inner);
            // RFC 8200 section 3, RFC 2473 section 3.
            assert_eq!(bytes[..4], [0x6B, 0xA0, 0, 0]);
            assert_eq!(bytes[6..8], [if version == 4 { 4 } else { 41 }, 64]);
            let mut carried = Vec::new();
            OUTER.inside(&whole).unwrap().encode(&mut carried);
            assert_eq!(carried, inner);
        }
    }

    /// Oracle: the sum over a correct header is all ones (RFC 1071).
    #[test]
    fn a_mark_of_congestion_goes_inside_or_the_packet_is_dropped() {
        for (version, class, marked) in [(4, 0xB9, 0xBB), (4, 0x02, 0x03), (6, 0xBA, 0xBB)] {
            let mut inner = inner(version, class);
            assert!(mark(&mut inner));
            assert_eq!(traffic_class(&inner), marked);
            if version == 4 {
                assert_eq!(sum_of(&inner[..20]), 0xFFFF);
            }
        }
        for version in [4, 6] {
            assert!(!mark(&mut inner(version, 0xB8)));
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
        let whole = OUTER.restore((&inner(6, 0), None)).unwrap();
        let others: [fn(&mut IpHeader); 4] = [
            |ip| ip.source = OUTER.destination.into(),
            |ip| ip.destination = OUTER.source.into(),
            |ip| ip.hop_limit = 63,
            |ip| ip.traffic_class = 1,
        ];
        for change in others {
            let mut other = whole.clone();
            change(&mut other.ip);
            assert_eq!(OUTER.inside(&other), None);
        }
        let inside = OUTER.inside(&whole).unwrap();
        assert_eq!(OUTER.inside(inside), None);
    }
}
