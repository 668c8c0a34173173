//! Quotation of packets in ICMP errors.

use super::{Body, Packet, Verbatim};
use crate::wire::icmp::{IcmpMessage, QuotedPacket, QuotedWithin};
use crate::wire::protocol;

impl Packet {
    /// Quotes the packet for an ICMP error; `None` for an ICMP error (RFC 1122 section 3.2.2).
    pub fn quote(&self) -> Option<QuotedPacket> {
        match &self.body {
            Body::Icmp(IcmpMessage::Error { .. }) => None,
            Body::Verbatim(verbatim) => quote_verbatim(verbatim),
            _ => Some(headers_of(self)),
        }
    }
}

/// Quotes a kernel's packet; `None` for an ICMP error, and for a fragment other than the first (RFC 1122 section
/// 3.2.2).
fn quote_verbatim(verbatim: &Verbatim) -> Option<QuotedPacket> {
    let carried = verbatim.carried();
    let is_error = match (carried.protocol, carried.bytes.first()) {
        (protocol::ICMP, Some(kind)) => !matches!(kind, 0 | 8),
        // RFC 4443 section 2.1: errors have types below 128.
        (protocol::ICMPV6, Some(kind)) => *kind < 128,
        _ => false,
    };
    let later_fragment = carried.fragment & 0x1FFF != 0;
    if is_error || later_fragment {
        return None;
    }
    QuotedPacket::decode(verbatim.bytes()).ok()
}

/// Quotes the headers up to the transport's. Those of a tunnel are followed by the inner packet's, of whatever kind:
/// the tunnel's entry decides about errors.
fn headers_of(packet: &Packet) -> QuotedPacket {
    let mut quoted = QuotedPacket {
        source: packet.ip.source,
        destination: packet.ip.destination,
        protocol: packet.body.protocol(&packet.ip).0,
        source_port: 0,
        destination_port: 0,
        sequence: 0,
        within: None,
    };
    let body = match &packet.body {
        Body::Extended(extended) => {
            quoted.protocol = extended.body.protocol(&packet.ip).0;
            let addresses = QuotedWithin::HomeAddresses(extended.addresses());
            quoted.within = Some(Box::new(addresses));
            &extended.body
        }
        Body::Compressed(compressed) => &compressed.segment,
        body => body,
    };
    match body {
        Body::Tcp(header, _) => {
            quoted.source_port = header.source_port;
            quoted.destination_port = header.destination_port;
            quoted.sequence = header.sequence.0;
        }
        Body::Udp(header, _) => {
            quoted.source_port = header.source_port;
            quoted.destination_port = header.destination_port;
        }
        // Only inside a tunnel, so that its entry recognises an error.
        Body::Icmp(IcmpMessage::Error { kind, .. }) => {
            quoted.source_port = kind.first_word(packet.ip.source.is_ipv4());
        }
        Body::Tunnel(inner) | Body::Minimal(inner) | Body::Generic(inner)
            if quoted.within.is_none() =>
        {
            quoted.within = match &inner.body {
                Body::Verbatim(verbatim) => QuotedPacket::decode(verbatim.bytes()).ok(),
                _ => Some(headers_of(inner)),
            }
            .map(|inner| Box::new(QuotedWithin::Tunnel(inner)));
        }
        _ => {}
    }
    quoted
}
