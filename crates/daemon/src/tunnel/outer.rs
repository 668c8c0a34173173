//! The header of a tunnel between a router's care-of address and its home agent (RFC 2473), left out on a path, whose ends know it.

use super::pieces;
use crate::medium::Received;
use baton_linux::offload::Segmentation;
use baton_proto::mobility::tunnel::error_about;
use baton_proto::packet::{BitErrors, Body, Identity, IpHeader, Packet};
use baton_proto::wire::icmp::IcmpError;
use core::net::{IpAddr, Ipv6Addr};

/// The length of an IPv6 header, in bytes.
pub const HEADER: usize = 40;
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

    /// Returns the ends in the other direction.
    pub const fn back(self) -> Outer {
        Outer {
            source: self.destination,
            destination: self.source,
        }
    }

    /// Returns the packet inside, if the tunnel's header is the one that [`restore`](Self::restore) makes: with the DSCP and ECN of
    /// the packet inside (RFC 2983 section 3, RFC 6040 section 4.1).
    pub fn inside(self, packet: &Packet) -> Option<&Packet> {
        match &packet.body {
            Body::Tunnel(inner) => {
                (packet.ip == self.header(inner.ip.traffic_class)).then_some(inner)
            }
            _ => None,
        }
    }

    /// Puts the header around a packet that a path has brought. `carried` is the byte of DSCP and ECN of the datagram: a mark of
    /// congestion, which only the tunnel's header can have had on the way, goes into that (RFC 6040 section 4.2).
    ///
    /// # Errors
    /// The fault in the packet's header.
    pub fn restore(
        self,
        (bytes, segmentation): (&[u8], Option<Segmentation>),
        carried: u8,
    ) -> Received {
        let inner = match segmentation {
            None => Packet::decode(bytes).or_else(|_| Packet::verbatim(bytes))?,
            Some(_) => pieces::read((bytes, segmentation))?,
        };
        let mark = if carried & ECN == ECN { ECN } else { 0 };
        Ok(Packet {
            ip: self.header(inner.ip.traffic_class | mark),
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

/// Tells the node, as a router on the link does (RFC 4443 section 3.2), that a packet of its own is longer than a path carries: `most`
/// bytes and the header that is left out.
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
            let whole = OUTER.restore((&inner, None), 0xBA).unwrap();
            let mut bytes = Vec::new();
            whole.encode(&mut bytes);
            assert_eq!(bytes[HEADER..], inner);
            // RFC 8200 section 3, RFC 2473 section 3.
            assert_eq!(bytes[..4], [0x6B, 0xA0, 0, 0]);
            assert_eq!(bytes[6..8], [if version == 4 { 4 } else { 41 }, 64]);
            let mut carried = Vec::new();
            OUTER.inside(&whole).unwrap().encode(&mut carried);
            assert_eq!(carried, inner);
            let marked = OUTER.restore((&inner, None), 0xBB).unwrap();
            assert_eq!(marked.ip.traffic_class, 0xBB);
        }
    }

    #[test]
    fn any_other_packet_goes_as_it_is() {
        let whole = OUTER.restore((&inner(6, 0), None), 0).unwrap();
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
