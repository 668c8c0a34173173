//! Packets in tunnels, in any encapsulation.

use super::{Body, IpHeader, Packet};
use crate::wire::encapsulation::{Encapsulation, MinimalHeader};
use core::net::{IpAddr, Ipv4Addr};

impl Body {
    /// Encapsulates a packet.
    pub fn encapsulate(packet: Packet, encapsulation: Encapsulation) -> Body {
        let packet = Box::new(packet);
        match encapsulation {
            Encapsulation::IpInIp => Body::Tunnel(packet),
            Encapsulation::Minimal => Body::Minimal(packet),
            Encapsulation::Generic => Body::Generic(packet),
        }
    }

    /// Returns the packet in a tunnel.
    #[inline]
    pub fn inner(&self) -> Option<&Packet> {
        match self {
            Body::Tunnel(inner) | Body::Minimal(inner) | Body::Generic(inner) => Some(inner),
            _ => None,
        }
    }

    /// Returns the packet in a tunnel, mutably.
    #[inline]
    pub(super) fn inner_mut(&mut self) -> Option<&mut Packet> {
        match self {
            Body::Tunnel(inner) | Body::Minimal(inner) | Body::Generic(inner) => Some(inner),
            _ => None,
        }
    }
}

impl Packet {
    /// Returns the inner packet of a tunnel as it leaves the tunnel's exit.
    pub fn decapsulate(self) -> Option<Packet> {
        match self.body {
            Body::Tunnel(inner) | Body::Generic(inner) => Some(*inner),
            // RFC 2004 section 3.1: all other fields are those of the header around it.
            Body::Minimal(inner) => Some(Packet {
                ip: IpHeader {
                    source: inner.ip.source,
                    destination: inner.ip.destination,
                    ..self.ip
                },
                ..*inner
            }),
            _ => None,
        }
    }

    /// Returns true if minimal encapsulation can carry the packet: a whole IPv4 packet (RFC 2004 section 3). One with
    /// IPv4 options, which only a kernel writes, is left to the other forms.
    pub fn fits_minimal_encapsulation(&self) -> bool {
        let has_options = match &self.body {
            Body::Verbatim(verbatim) => verbatim.bytes()[0] & 0x0F > 5,
            _ => false,
        };
        let (_, fragment) = self.body.protocol(&self.ip);
        self.ip.source.is_ipv4() && fragment == 0 && !has_options
    }

    /// Returns the minimal forwarding header of this packet behind the header `outer`.
    pub(super) fn minimal_header(&self, outer: &IpHeader) -> MinimalHeader {
        MinimalHeader {
            protocol: self.body.protocol(&self.ip).0,
            destination: v4(self.ip.destination),
            source: (self.ip.source != outer.source).then(|| v4(self.ip.source)),
        }
    }

    /// Returns the length of the packet behind its IP header, in bytes.
    pub(super) fn carried_length(&self) -> u32 {
        self.wire_length() - self.ip.wire_length()
    }

    /// Appends the packet as minimal encapsulation carries it behind the header `outer`: the minimal forwarding header
    /// in place of its IP header.
    pub(super) fn encode_minimal(&self, outer: &IpHeader, out: &mut Vec<u8>) {
        self.minimal_header(outer).encode(out);
        let start = out.len();
        self.encode_damaged(out);
        out.drain(start..start + self.ip.wire_length() as usize);
    }
}

fn v4(address: IpAddr) -> Ipv4Addr {
    match address {
        IpAddr::V4(address) => address,
        IpAddr::V6(address) => address.to_ipv4().unwrap_or(Ipv4Addr::UNSPECIFIED),
    }
}
