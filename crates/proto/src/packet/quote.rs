//! What an ICMP error returns of a packet.

use super::{Body, Packet, Verbatim};
use crate::wire::icmp::{IcmpMessage, QuotedPacket};
use crate::wire::protocol;

impl Packet {
    /// What an ICMP error returns of this packet; nothing of an ICMP error (RFC 1122 section 3.2.2).
    pub fn quote(&self) -> Option<QuotedPacket> {
        let (protocol, source_port, destination_port, sequence) = match &self.body {
            Body::Tcp(header, _) => (
                protocol::TCP,
                header.source_port,
                header.destination_port,
                header.sequence.0,
            ),
            Body::Udp(header, _) => (protocol::UDP, header.source_port, header.destination_port, 0),
            Body::Icmp(IcmpMessage::Error { .. }) => return None,
            Body::Verbatim(verbatim) => return quote_verbatim(verbatim),
            other => (other.protocol(&self.ip).0, 0, 0, 0),
        };
        Some(QuotedPacket {
            source: self.ip.source,
            destination: self.ip.destination,
            protocol,
            source_port,
            destination_port,
            sequence,
        })
    }
}

/// Of a packet as a kernel wrote it; nothing of an ICMP error and of a fragment but the first (RFC 1122
/// section 3.2.2).
fn quote_verbatim(verbatim: &Verbatim) -> Option<QuotedPacket> {
    let carried = verbatim.carried();
    let is_error = match (carried.protocol, carried.bytes.first()) {
        (protocol::ICMP, Some(kind)) => !matches!(kind, 0 | 8),
        // RFC 4443 section 2.1: errors have numbers below 128.
        (protocol::ICMPV6, Some(kind)) => *kind < 128,
        _ => false,
    };
    let later_fragment = carried.fragment & 0x1FFF != 0;
    if is_error || later_fragment {
        return None;
    }
    QuotedPacket::decode(verbatim.bytes()).ok()
}
