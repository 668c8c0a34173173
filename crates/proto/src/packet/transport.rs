//! The transport's packet inside tunnels and extension headers, as seen by an inspecting router.

use super::{Body, IpHeader, Packet, Payload};
use crate::wire::tcp::TcpHeader;

/// A TCP segment inside a packet.
#[derive(Clone, Copy, Debug)]
pub struct SegmentWithin<'a> {
    /// IP header as the transports at both ends know it, with home addresses.
    pub ip: IpHeader,
    /// Header of the segment.
    pub header: &'a TcpHeader,
    /// Data of the segment.
    pub payload: &'a Payload,
}

impl Packet {
    /// Returns the TCP segment in this packet, through tunnels and extension headers; `None` for another transport, or
    /// a packet damaged by the channel.
    pub fn segment_within(&self) -> Option<SegmentWithin<'_>> {
        let mut packet = self;
        loop {
            if !packet.bit_errors.is_empty() {
                return None;
            }
            let body = match &packet.body {
                Body::Tunnel(inner) | Body::Minimal(inner) | Body::Generic(inner) => {
                    packet = inner;
                    continue;
                }
                Body::Extended(extended) => &extended.body,
                Body::Compressed(compressed) => &compressed.segment,
                body => body,
            };
            let ip = packet.upper_ip();
            return match body {
                Body::Tcp(header, payload) => Some(SegmentWithin {
                    ip,
                    header,
                    payload,
                }),
                // A tunnel may follow extension headers.
                Body::Tunnel(inner) => inner.segment_within(),
                _ => None,
            };
        }
    }

    /// Returns header and data of the TCP segment, mutably.
    pub fn segment_mut(&mut self) -> Option<(&mut TcpHeader, &mut Payload)> {
        let mut body = &mut self.body;
        loop {
            body = match body {
                Body::Tunnel(inner) | Body::Minimal(inner) | Body::Generic(inner) => {
                    &mut inner.body
                }
                Body::Extended(extended) => &mut extended.body,
                Body::Tcp(header, payload) => return Some((header, payload)),
                _ => return None,
            };
        }
    }

    /// Returns the transport's packet, without tunnels and extension headers.
    pub fn into_transport(mut self) -> Packet {
        loop {
            self.ip = self.upper_ip();
            self = match self.body {
                Body::Tunnel(inner) | Body::Minimal(inner) | Body::Generic(inner) => Packet {
                    flow: self.flow,
                    retransmission: self.retransmission,
                    ..*inner
                },
                Body::Extended(extended) => Packet {
                    body: extended.body,
                    ..self
                },
                Body::Compressed(compressed) => Packet {
                    body: compressed.segment,
                    ..self
                },
                _ => return self,
            };
        }
    }
}
