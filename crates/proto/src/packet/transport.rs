//! The transport's packet inside of others, as a router sees it that looks through tunnels and extension headers.

use super::{Body, IpHeader, Packet, Payload};
use crate::wire::tcp::TcpHeader;

/// A TCP segment inside of a packet.
#[derive(Clone, Copy, Debug)]
pub struct SegmentWithin<'a> {
    /// The IP header as the transports at both ends know it, with home addresses.
    pub ip: IpHeader,
    /// Its header.
    pub header: &'a TcpHeader,
    /// Its data.
    pub payload: &'a Payload,
}

impl Packet {
    /// The TCP segment in this packet, whatever tunnels and extension headers are around it; `None` if it carries something
    /// else, or the channel has damaged it.
    pub fn segment_within(&self) -> Option<SegmentWithin<'_>> {
        let mut packet = self;
        loop {
            if !packet.bit_errors.is_empty() {
                return None;
            }
            let body = match &packet.body {
                Body::Tunnel(inner) => {
                    packet = inner;
                    continue;
                }
                Body::Extended(extended) => &extended.body,
                body => body,
            };
            let ip = packet.upper_ip();
            return match body {
                Body::Tcp(header, payload) => Some(SegmentWithin {
                    ip,
                    header,
                    payload,
                }),
                // A tunnel may stand behind extension headers.
                Body::Tunnel(inner) => inner.segment_within(),
                _ => None,
            };
        }
    }

    /// Header and data of that segment, to change them.
    pub fn segment_mut(&mut self) -> Option<(&mut TcpHeader, &mut Payload)> {
        let mut body = &mut self.body;
        loop {
            body = match body {
                Body::Tunnel(inner) => &mut inner.body,
                Body::Extended(extended) => &mut extended.body,
                Body::Tcp(header, payload) => return Some((header, payload)),
                _ => return None,
            };
        }
    }

    /// The packet of the transport's in this one, without tunnels and extension headers.
    pub fn into_transport(mut self) -> Packet {
        loop {
            self.ip = self.upper_ip();
            self = match self.body {
                Body::Tunnel(inner) => Packet {
                    flow: self.flow,
                    retransmission: self.retransmission,
                    ..*inner
                },
                Body::Extended(extended) => Packet {
                    body: extended.body,
                    ..self
                },
                _ => return self,
            };
        }
    }
}
