//! What a packet's headers say, whether they are typed or bytes.

use super::{Body, Packet};
use crate::wire::icmp::{Echo, IcmpMessage};
use crate::wire::ip::IpPayload;
use crate::wire::tcp::TcpHeader;
use crate::wire::{protocol, u16_at};
use std::borrow::Cow;

/// The headers behind the IP header, for a record or an observer. They are taken at their word: no checksum is
/// verified. What cannot be read (fragments, extension headers, headers that are cut off) has a protocol and
/// a length.
#[derive(Clone, Debug)]
pub struct View<'a> {
    /// IANA protocol number, the IP header's protocol or next-header field.
    pub protocol: u8,
    /// Source and destination port of TCP and UDP.
    pub ports: Option<(u16, u16)>,
    /// Bytes of the transport's payload, or of an echo's data; of what has no reader, all that the IP header
    /// carries.
    pub payload_bytes: u32,
    /// The header of a TCP segment.
    pub tcp: Option<Cow<'a, TcpHeader>>,
    /// Identifier and sequence number of an ICMP echo request or reply.
    pub echo: Option<(u16, u16)>,
}

impl Packet {
    /// What the headers say.
    #[inline]
    pub fn view(&self) -> View<'_> {
        let nothing = View {
            protocol: 0,
            ports: None,
            payload_bytes: 0,
            tcp: None,
            echo: None,
        };
        match &self.body {
            Body::Tcp(header, payload) => View {
                protocol: protocol::TCP,
                ports: Some((header.source_port, header.destination_port)),
                payload_bytes: payload.length(),
                tcp: Some(Cow::Borrowed(header)),
                ..nothing
            },
            Body::Udp(header, payload) => View {
                protocol: protocol::UDP,
                ports: Some((header.source_port, header.destination_port)),
                payload_bytes: payload.length(),
                ..nothing
            },
            Body::Icmp(message) => {
                let unread = View {
                    protocol: match self.ip.source.is_ipv4() {
                        true => protocol::ICMP,
                        false => protocol::ICMPV6,
                    },
                    ..nothing
                };
                match message {
                    IcmpMessage::EchoRequest(echo) | IcmpMessage::EchoReply(echo) => View {
                        payload_bytes: echo.data.length(),
                        echo: Some((echo.identifier, echo.sequence)),
                        ..unread
                    },
                    IcmpMessage::Error { .. }
                    | IcmpMessage::NeighborDiscovery(_)
                    | IcmpMessage::MulticastListenerReport(_) => unread,
                }
            }
            Body::Mobility(_) => View {
                protocol: protocol::MOBILITY,
                ..nothing
            },
            Body::Tunnel(_) | Body::Extended(_) => nothing,
            Body::Opaque {
                protocol, bytes, ..
            } => View {
                protocol: *protocol,
                payload_bytes: bytes.len() as u32,
                ..nothing
            },
            Body::Verbatim(verbatim) => View::of_bytes(verbatim.carried()),
        }
    }
}

impl View<'_> {
    fn of_bytes(carried: IpPayload<'_>) -> View<'_> {
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
            _ => unread,
        }
    }
}
