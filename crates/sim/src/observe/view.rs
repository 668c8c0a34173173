//! View of an IP packet: the fields used in the measurement of a conversation.

use baton_proto::wire::protocol;
use baton_proto::wire::tcp::TcpFlags;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Relevant parts of a packet. Lengths are those of the headers; checksums are ignored, since a kernel may leave them
/// to be filled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketView<'a> {
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// IANA number of the packet's protocol.
    pub protocol: u8,
    /// Ports of sender and receiver; of an ICMP echo twice its identifier; zero for protocols without ports.
    pub ports: (u16, u16),
    /// Fields of the TCP header, for TCP.
    pub tcp: Option<TcpFields>,
    /// Payload of the transport; of a first fragment the part within it.
    pub payload: &'a [u8],
    /// Bytes of the packet, IP header included.
    pub wire_length: u32,
}

/// Fields of a TCP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpFields {
    /// Sequence number of the first byte, or of the SYN.
    pub sequence: u32,
    /// Next sequence number expected of the other end; only with ACK.
    pub acknowledgment: u32,
    /// Flags.
    pub flags: TcpFlags,
    /// Window field of the header, before scaling.
    pub window: u16,
    /// Shift of all later windows, offered by a SYN (RFC 7323 section 2).
    pub window_scale: Option<u8>,
}

/// Reason that a packet belongs to no conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoConversation {
    /// A fragment other than the first, which has no ports.
    LaterFragment,
    /// ICMP other than echo, which is about conversations.
    Control,
    /// No IP packet, or shorter than its headers say.
    Malformed,
}

/// Bytes after the IP headers.
struct Carried<'a> {
    protocol: u8,
    first_fragment: bool,
    bytes: &'a [u8],
}

impl<'a> PacketView<'a> {
    /// Reads an IP packet, and skips IPv4 options and IPv6 extension headers.
    ///
    /// # Errors
    /// Fails with the reason that it belongs to no conversation.
    #[inline]
    pub fn parse(bytes: &'a [u8]) -> Result<PacketView<'a>, NoConversation> {
        let malformed = NoConversation::Malformed;
        let (source, destination, carried, length) = match bytes.first().map(|byte| byte >> 4) {
            Some(4) => ipv4(bytes),
            Some(6) => ipv6(bytes),
            _ => None,
        }
        .ok_or(malformed)?;
        if !carried.first_fragment {
            return Err(NoConversation::LaterFragment);
        }
        let (ports, tcp, payload) = match carried.protocol {
            protocol::TCP => tcp(carried.bytes).ok_or(malformed)?,
            protocol::UDP => {
                let (header, payload) = carried.bytes.split_at_checked(8).ok_or(malformed)?;
                (ports(header), None, payload)
            }
            protocol::ICMP | protocol::ICMPV6 => {
                let (header, payload) = carried.bytes.split_at_checked(8).ok_or(malformed)?;
                if !is_echo(carried.protocol, header[0]) {
                    return Err(NoConversation::Control);
                }
                let identifier = u16_at(header, 4);
                ((identifier, identifier), None, payload)
            }
            _ => ((0, 0), None, carried.bytes),
        };
        Ok(PacketView {
            source,
            destination,
            protocol: carried.protocol,
            ports,
            tcp,
            payload,
            wire_length: length as u32,
        })
    }

    /// Returns the protocol, and both ends with their ports, the sender's first.
    pub fn describe(&self) -> String {
        let [source, destination] = [
            (self.source, self.ports.0),
            (self.destination, self.ports.1),
        ]
        .map(|(address, port)| SocketAddr::new(address, port));
        match self.protocol {
            protocol::TCP => format!("tcp {source} {destination}"),
            protocol::UDP => format!("udp {source} {destination}"),
            protocol::ICMP | protocol::ICMPV6 => {
                let identifier = self.ports.0;
                format!(
                    "icmp {} {} identifier {identifier}",
                    self.source, self.destination
                )
            }
            other => format!("protocol {other} {} {}", self.source, self.destination),
        }
    }

    /// Returns the number of payload bytes.
    pub fn payload_bytes(&self) -> u32 {
        self.payload.len() as u32
    }
}

type Network<'a> = (IpAddr, IpAddr, Carried<'a>, usize);

fn ipv4(bytes: &[u8]) -> Option<Network<'_>> {
    let header: &[u8; 20] = bytes.first_chunk()?;
    let header_length = usize::from(header[0] & 0x0F) * 4;
    let length = usize::from(u16_at(header, 2));
    if header_length < 20 {
        return None;
    }
    let carried = Carried {
        protocol: header[9],
        first_fragment: u16_at(header, 6) & 0x1FFF == 0,
        bytes: bytes.get(header_length..length)?,
    };
    let address = |at: usize| Ipv4Addr::from_bits(u32_at(header, at)).into();
    Some((address(12), address(16), carried, length))
}

/// Extension headers of IPv6 that may precede the transport (RFC 8200 section 4; RFC 4302 for the authentication
/// header).
mod extension {
    pub const HOP_BY_HOP: u8 = 0;
    pub const ROUTING: u8 = 43;
    pub const FRAGMENT: u8 = 44;
    pub const AUTHENTICATION: u8 = 51;
    pub const DESTINATION: u8 = 60;
}

fn ipv6(bytes: &[u8]) -> Option<Network<'_>> {
    let header: &[u8; 40] = bytes.first_chunk()?;
    let length = 40 + usize::from(u16_at(header, 4));
    let mut carried = Carried {
        protocol: header[6],
        first_fragment: true,
        bytes: bytes.get(40..length)?,
    };
    loop {
        let extension_length = match carried.protocol {
            extension::FRAGMENT => 8,
            extension::AUTHENTICATION => 4 * (usize::from(*carried.bytes.get(1)?) + 2),
            extension::HOP_BY_HOP | extension::ROUTING | extension::DESTINATION => {
                8 * (usize::from(*carried.bytes.get(1)?) + 1)
            }
            _ => break,
        };
        let (before, after) = carried.bytes.split_at_checked(extension_length)?;
        if carried.protocol == extension::FRAGMENT && u16_at(before, 2) >> 3 != 0 {
            carried.first_fragment = false;
            break;
        }
        carried.protocol = before[0];
        carried.bytes = after;
    }
    let address = |at: usize| {
        let bits = header[at..at + 16].first_chunk().copied();
        bits.map(|bits| IpAddr::from(Ipv6Addr::from(bits)))
    };
    Some((address(8)?, address(24)?, carried, length))
}

type Transport<'a> = ((u16, u16), Option<TcpFields>, &'a [u8]);

fn tcp(bytes: &[u8]) -> Option<Transport<'_>> {
    let header: &[u8; 20] = bytes.first_chunk()?;
    let header_length = usize::from(header[12] >> 4) * 4;
    if header_length < 20 {
        return None;
    }
    let options = bytes.get(20..header_length)?;
    let fields = TcpFields {
        sequence: u32_at(header, 4),
        acknowledgment: u32_at(header, 8),
        flags: TcpFlags(header[13]),
        window: u16_at(header, 14),
        window_scale: window_scale(options).filter(|_| header[13] & TcpFlags::SYN.0 != 0),
    };
    Some((ports(header), Some(fields), bytes.get(header_length..)?))
}

/// Returns the window scale option (kind 3), at most 14 (RFC 7323 section 2.3).
fn window_scale(mut options: &[u8]) -> Option<u8> {
    loop {
        options = match options {
            [1, rest @ ..] => rest,
            [3, 3, shift, ..] => return Some((*shift).min(14)),
            [kind, length, ..] if *kind > 1 => options.get(usize::from(*length).max(2)..)?,
            _ => return None,
        };
    }
}

fn ports(header: &[u8]) -> (u16, u16) {
    (u16_at(header, 0), u16_at(header, 2))
}

/// Returns true for echo requests and replies: RFC 792, RFC 4443 section 4.
fn is_echo(carried: u8, kind: u8) -> bool {
    match carried {
        protocol::ICMP => matches!(kind, 0 | 8),
        _ => matches!(kind, 128 | 129),
    }
}

/// Returns the 16-bit field at byte `at`, which the caller has checked to exist.
fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// Returns the 32-bit field at byte `at`, which the caller has checked to exist.
fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}
