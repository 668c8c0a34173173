//! ICMP (RFC 792) and ICMPv6 (RFC 4443) messages that hosts and routers here send and hear.

use core::net::IpAddr;

/// An ICMP message, the same meaning in both versions; the IP header's version decides the encoding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IcmpMessage {
    /// Echo request.
    EchoRequest(Echo),
    /// Echo reply.
    EchoReply(Echo),
    /// An error about a packet that could not be delivered.
    Error {
        /// What went wrong.
        kind: IcmpError,
        /// The packet that it went wrong with.
        quoted: QuotedPacket,
    },
}

/// Body of an echo request or reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echo {
    /// Which series of requests.
    pub identifier: u16,
    /// Which one of the series.
    pub sequence: u16,
    /// Bytes of data after the eight bytes of header.
    pub data_length: u32,
}

/// What an ICMP error says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IcmpError {
    /// The packet does not fit the next link: "fragmentation needed" (RFC 1191) or "packet too big" (RFC 4443).
    PacketTooBig {
        /// Largest packet that fits, in bytes.
        mtu: u32,
    },
    /// No route, or no such host.
    Unreachable,
    /// Nobody listens at the port.
    PortUnreachable,
    /// The hop limit ran out.
    TimeExceeded,
}

/// As much of a packet as an ICMP error returns to its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotedPacket {
    /// Source of the packet, which is the destination of the error.
    pub source: IpAddr,
    /// Destination of the packet.
    pub destination: IpAddr,
    /// IANA protocol number.
    pub protocol: u8,
    /// Source port, or zero where the protocol has none.
    pub source_port: u16,
    /// Destination port, or zero where the protocol has none.
    pub destination_port: u16,
    /// TCP sequence number, or zero.
    pub sequence: u32,
}

impl IcmpMessage {
    /// Bytes on the wire after the IP header. An error quotes the offender's IP header and eight bytes.
    pub fn wire_length(&self) -> u32 {
        match self {
            IcmpMessage::EchoRequest(echo) | IcmpMessage::EchoReply(echo) => 8 + echo.data_length,
            IcmpMessage::Error { quoted, .. } => {
                8 + 8 + if quoted.source.is_ipv4() { 20 } else { 40 }
            }
        }
    }
}
