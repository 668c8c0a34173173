//! View of a packet's headers, typed or as bytes.

use super::{Body, IpHeader, Packet, Verbatim};
use crate::wire::encapsulation::{self, MinimalHeader};
use crate::wire::extension::{self, HomeAddresses};
use crate::wire::icmp::{Echo, IcmpMessage};
use crate::wire::ip::IpPayload;
use crate::wire::tcp::TcpHeader;
use crate::wire::{multicast_listener, protocol, u16_at};
use std::borrow::Cow;

/// Headers after the IP header, for a record or an observer; for a tunnel, those of the inner packet. No checksum is
/// verified. An undecodable packet (fragments, extension headers other than Mobile IPv6's, truncated headers) has only
/// a protocol and a length.
#[derive(Clone, Debug)]
pub struct View<'a> {
    /// IANA protocol number after the innermost IP header and the decoded extension headers.
    pub protocol: u8,
    /// Source and destination port of TCP, UDP, and typed AeroTP and TP++.
    pub ports: Option<(u16, u16)>,
    /// Length of the transport's payload or echo's data in bytes; zero for signalling; for an undecoded protocol, the
    /// whole payload of the IP header.
    pub payload_bytes: u32,
    /// TCP header.
    pub tcp: Option<Cow<'a, TcpHeader>>,
    /// Identifier and sequence number of an ICMP echo request or reply.
    pub echo: Option<(u16, u16)>,
}

/// A view without known headers.
const NOTHING: View<'_> = View {
    protocol: 0,
    ports: None,
    payload_bytes: 0,
    tcp: None,
    echo: None,
};

impl Packet {
    /// Returns the protocol and the ports of a packet of TCP or UDP, source first. A packet in a tunnel is none, nor is a
    /// fragment.
    pub fn conversation(&self) -> Option<(u8, (u16, u16))> {
        let (protocol, fragment) = self.body.protocol(&self.ip);
        let has_ports = matches!(protocol, protocol::TCP | protocol::UDP) && fragment == 0;
        let [source, destination] = self.body.ports();
        has_ports.then_some((protocol, (source, destination)))
    }

    /// Returns the view of the headers.
    #[inline]
    pub fn view(&self) -> View<'_> {
        self.body.view(&self.ip)
    }
}

impl Body {
    #[inline]
    fn view(&self, ip: &IpHeader) -> View<'_> {
        match self {
            Body::Tcp(header, payload) => View {
                protocol: protocol::TCP,
                ports: Some((header.source_port, header.destination_port)),
                payload_bytes: payload.length(),
                tcp: Some(Cow::Borrowed(header)),
                ..NOTHING
            },
            Body::Udp(header, payload) => View {
                protocol: protocol::UDP,
                ports: Some((header.source_port, header.destination_port)),
                payload_bytes: payload.length(),
                ..NOTHING
            },
            Body::Aerotp(packet) => View {
                protocol: protocol::AEROTP,
                ports: Some((packet.header.source_port, packet.header.destination_port)),
                payload_bytes: packet.payload.length(),
                ..NOTHING
            },
            Body::TpPlusPlus(packet) => View {
                protocol: protocol::TP_PLUS_PLUS,
                ports: Some((packet.label.source_port, packet.label.destination_port)),
                payload_bytes: packet.payload_length(),
                ..NOTHING
            },
            Body::Icmp(message) => {
                let unread = View {
                    protocol: match ip.source.is_ipv4() {
                        true => protocol::ICMP,
                        false => protocol::ICMPV6,
                    },
                    ..NOTHING
                };
                match message {
                    IcmpMessage::EchoRequest(echo) | IcmpMessage::EchoReply(echo) => View {
                        payload_bytes: echo.data.length(),
                        echo: Some((echo.identifier, echo.sequence)),
                        ..unread
                    },
                    IcmpMessage::Error { .. }
                    | IcmpMessage::NeighborDiscovery(_)
                    | IcmpMessage::MulticastListenerReport(_)
                    | IcmpMessage::AgentDiscovery(_) => unread,
                }
            }
            Body::Mobility(_) => View {
                protocol: protocol::MOBILITY,
                ..NOTHING
            },
            Body::Tunnel(packet) | Body::Minimal(packet) | Body::Generic(packet) => packet.view(),
            Body::Extended(extended) => extended.body.view(ip),
            Body::Compressed(compressed) => compressed.segment.view(ip),
            Body::Opaque {
                protocol, bytes, ..
            } => View {
                protocol: *protocol,
                payload_bytes: bytes.len() as u32,
                ..NOTHING
            },
            Body::Verbatim(verbatim) => View::of_bytes(verbatim),
        }
    }
}

impl View<'_> {
    fn of_bytes(verbatim: &Verbatim) -> View<'_> {
        let (mut carried, mut v6) = (verbatim.carried(), verbatim.bytes()[0] >> 4 == 6);
        loop {
            if v6 {
                HomeAddresses::strip_readable(&mut carried);
            }
            if !v6
                && (carried.protocol, carried.fragment) == (protocol::MINIMAL_ENCAPSULATION, 0)
                && let Ok((header, bytes)) = MinimalHeader::decode(carried.bytes)
            {
                (carried.protocol, carried.bytes) = (header.protocol, bytes);
                continue;
            }
            match inner_packet(&carried, v6).map(IpHeader::decode) {
                Some(Ok((ip, inner))) => (carried, v6) = (inner, ip.source.is_ipv6()),
                _ => break,
            }
        }
        if v6
            && carried.protocol == protocol::HOP_BY_HOP
            && let Ok(Some((next, rest))) = extension::decode_router_alert(carried.bytes)
            && next == protocol::ICMPV6
            && rest.first() == Some(&multicast_listener::REPORT)
        {
            (carried.protocol, carried.bytes) = (next, rest);
        }
        View::of_transport(carried)
    }

    fn of_transport(carried: IpPayload<'_>) -> View<'_> {
        let bytes = carried.bytes;
        let unread = View {
            protocol: carried.protocol,
            ports: None,
            payload_bytes: bytes.len() as u32,
            tcp: None,
            echo: None,
        };
        if carried.fragment != 0 || bytes.len() < 8 {
            return unread;
        }
        let words = (u16_at(bytes, 0), u16_at(bytes, 2));
        let after_eight = unread.payload_bytes - 8;
        match carried.protocol {
            protocol::TCP => match TcpHeader::read(bytes) {
                Ok((header, payload)) => View {
                    ports: Some(words),
                    payload_bytes: payload.len() as u32,
                    tcp: Some(Cow::Owned(header)),
                    ..unread
                },
                Err(_) => unread,
            },
            protocol::UDP => View {
                ports: Some(words),
                payload_bytes: after_eight,
                ..unread
            },
            protocol::ICMP | protocol::ICMPV6 if Echo::has_kind(bytes[0]) => View {
                payload_bytes: after_eight,
                echo: Some((u16_at(bytes, 4), u16_at(bytes, 6))),
                ..unread
            },
            protocol::MOBILITY => View {
                payload_bytes: 0,
                ..unread
            },
            _ => unread,
        }
    }
}

/// Returns the bytes of the packet in a tunnel of IP in IP or GRE, if a header of IPv6 or IPv4 carries one.
fn inner_packet<'a>(carried: &IpPayload<'a>, v6: bool) -> Option<&'a [u8]> {
    let is_generic = !v6 && carried.protocol == protocol::GENERIC_ENCAPSULATION;
    match is_generic && carried.fragment == 0 {
        true => encapsulation::decode_generic(carried.bytes).ok()?,
        false => carried.is_packet().then_some(carried.bytes),
    }
}
