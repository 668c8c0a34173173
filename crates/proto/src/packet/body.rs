//! Encoding of IP payloads.

use super::{Body, Extended, IpHeader, Packet, Payload};
use crate::wire::aerotp::AerotpPacket;
use crate::wire::checksum::Checksum;
use crate::wire::encapsulation::{self, GENERIC_LENGTH};
use crate::wire::extension::{self, HomeAddresses};
use crate::wire::icmp::IcmpMessage;
use crate::wire::ip::IpPayload;
use crate::wire::mobility_header::MobilityMessage;
use crate::wire::tcp::TcpHeader;
use crate::wire::tp_plus_plus::TpPlusPlusPacket;
use crate::wire::udp::UdpHeader;
use crate::wire::{DecodeError, protocol};

impl Body {
    /// Returns the length on the wire after the IP header `ip`, in bytes.
    #[inline]
    pub(super) fn wire_length(&self, ip: &IpHeader) -> u32 {
        match self {
            Body::Tcp(header, payload) => header.wire_length() + payload.length(),
            Body::Udp(header, payload) => header.wire_length() + payload.length(),
            Body::Aerotp(packet) => packet.wire_length(),
            Body::TpPlusPlus(packet) => packet.wire_length(),
            Body::Icmp(message) => {
                let alert = match message {
                    IcmpMessage::MulticastListenerReport(_) => extension::ROUTER_ALERT_LENGTH,
                    _ => 0,
                };
                alert + message.wire_length()
            }
            Body::Tunnel(packet) => packet.wire_length(),
            Body::Minimal(packet) => {
                packet.minimal_header(ip).wire_length() + packet.carried_length()
            }
            Body::Generic(packet) => GENERIC_LENGTH as u32 + packet.wire_length(),
            Body::Mobility(message) => message.wire_length(),
            Body::Compressed(compressed) => compressed.segment.wire_length(ip),
            Body::Extended(extended) => {
                extended.addresses().wire_length() + extended.body.wire_length(ip)
            }
            Body::Opaque { bytes, .. } => bytes.len() as u32,
            Body::Verbatim(verbatim) => verbatim.carried().bytes.len() as u32,
        }
    }

    /// Returns the ports of a TCP, UDP, AeroTP or TP++ packet, source first; zeros of any other.
    pub(super) fn ports(&self) -> [u16; 2] {
        match self {
            Body::Tcp(header, _) => [header.source_port, header.destination_port],
            Body::Udp(header, _) => [header.source_port, header.destination_port],
            Body::Aerotp(packet) => [packet.header.source_port, packet.header.destination_port],
            Body::TpPlusPlus(packet) => [packet.label.source_port, packet.label.destination_port],
            Body::Extended(extended) => extended.body.ports(),
            Body::Compressed(compressed) => compressed.segment.ports(),
            Body::Verbatim(verbatim) => {
                let carried = verbatim.carried();
                let has_ports = matches!(carried.protocol, protocol::TCP | protocol::UDP);
                match *carried.bytes {
                    [a, b, c, d, ..] if has_ports && carried.fragment == 0 => {
                        [u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])]
                    }
                    _ => [0; 2],
                }
            }
            Body::Icmp(_)
            | Body::Tunnel(_)
            | Body::Minimal(_)
            | Body::Generic(_)
            | Body::Mobility(_)
            | Body::Opaque { .. } => [0; 2],
        }
    }

    /// Returns the length before the transport's payload in bytes; the whole length if there is no such payload.
    pub(super) fn headers_length(&self, ip: &IpHeader) -> u32 {
        match self {
            Body::Tcp(header, _) => header.wire_length(),
            Body::Udp(header, _) => header.wire_length(),
            Body::Aerotp(packet) => packet.header.wire_length(),
            Body::TpPlusPlus(packet) => packet.wire_length() - packet.payload_length(),
            Body::Tunnel(packet) => packet.headers_length(),
            Body::Minimal(packet) => {
                packet.minimal_header(ip).wire_length() + packet.headers_length()
                    - packet.ip.wire_length()
            }
            Body::Generic(packet) => GENERIC_LENGTH as u32 + packet.headers_length(),
            Body::Extended(extended) => {
                extended.addresses().wire_length() + extended.body.headers_length(ip)
            }
            Body::Compressed(compressed) => compressed.segment.headers_length(ip),
            Body::Icmp(_) | Body::Mobility(_) | Body::Opaque { .. } | Body::Verbatim(_) => {
                self.wire_length(ip)
            }
        }
    }

    /// Returns the protocol number and IPv4's fragment bits for the preceding header. `ip` determines the version.
    pub(crate) fn protocol(&self, ip: &IpHeader) -> (u8, u16) {
        let number = match self {
            Body::Tcp(..) => protocol::TCP,
            Body::Udp(..) => protocol::UDP,
            Body::Aerotp(_) => protocol::AEROTP,
            Body::TpPlusPlus(_) => protocol::TP_PLUS_PLUS,
            Body::Icmp(IcmpMessage::MulticastListenerReport(_)) => protocol::HOP_BY_HOP,
            Body::Icmp(_) if ip.source.is_ipv4() => protocol::ICMP,
            Body::Icmp(_) => protocol::ICMPV6,
            Body::Tunnel(packet) if packet.ip.source.is_ipv4() => protocol::IPV4,
            Body::Tunnel(_) => protocol::IPV6,
            Body::Minimal(_) => protocol::MINIMAL_ENCAPSULATION,
            Body::Generic(_) => protocol::GENERIC_ENCAPSULATION,
            Body::Mobility(_) => protocol::MOBILITY,
            Body::Compressed(compressed) => return compressed.segment.protocol(ip),
            Body::Extended(extended) => {
                let (following, fragment) = extended.body.protocol(ip);
                return (extended.addresses().first(following), fragment);
            }
            Body::Opaque {
                protocol, fragment, ..
            } => return (*protocol, *fragment),
            Body::Verbatim(verbatim) => {
                let carried = verbatim.carried();
                return (carried.protocol, carried.fragment);
            }
        };
        (number, 0)
    }

    /// Appends the IP payload, with valid checksums, which cover the addresses of `ip`.
    pub(super) fn encode(&self, ip: &IpHeader, out: &mut Vec<u8>) {
        let mut start = out.len();
        let (number, checksum_at) = match self {
            Body::Tcp(header, payload) => {
                header.encode(out);
                payload.copy_into(out);
                (protocol::TCP, 16)
            }
            Body::Udp(header, payload) => {
                header.encode(payload.length(), out);
                payload.copy_into(out);
                (protocol::UDP, 6)
            }
            Body::Icmp(message) => {
                if let IcmpMessage::MulticastListenerReport(_) = message {
                    extension::encode_router_alert(protocol::ICMPV6, out);
                    start = out.len();
                }
                message.encode(ip, out);
                let v4 = ip.source.is_ipv4();
                (if v4 { protocol::ICMP } else { protocol::ICMPV6 }, 2)
            }
            Body::Mobility(message) => {
                message.encode(out);
                (protocol::MOBILITY, 4)
            }
            Body::Extended(extended) => {
                let addresses = extended.addresses();
                addresses.encode(extended.body.protocol(ip).0, out);
                return extended.body.encode(&addresses.apply(ip), out);
            }
            Body::Compressed(compressed) => return compressed.segment.encode(ip, out),
            Body::Aerotp(packet) => return packet.encode(ip, out),
            Body::TpPlusPlus(packet) => return packet.encode(out),
            Body::Tunnel(packet) => return packet.encode_damaged(out),
            Body::Minimal(packet) => return packet.encode_minimal(ip, out),
            Body::Generic(packet) => {
                encapsulation::encode_generic(out);
                return packet.encode_damaged(out);
            }
            Body::Opaque { bytes, .. } => return out.extend_from_slice(bytes),
            Body::Verbatim(verbatim) => return out.extend_from_slice(verbatim.carried().bytes),
        };
        let body = &mut out[start..];
        let mut checksum = match number {
            protocol::ICMP => Checksum::new(),
            _ => Checksum::pseudo_header(ip, number, body.len()),
        };
        checksum.add(body);
        let checksum = match checksum.finish() {
            // In UDP, zero means no checksum; all ones is the equivalent value (RFC 768).
            0 if number == protocol::UDP => 0xFFFF,
            checksum => checksum,
        };
        body[checksum_at..checksum_at + 2].copy_from_slice(&checksum.to_be_bytes());
    }

    /// Decodes an IP payload, including Mobile IPv6's extension headers. At most `tunnels` nested tunnels are decoded;
    /// the payload of a deeper packet stays bytes.
    pub(super) fn decode(
        ip: &IpHeader,
        carried: IpPayload<'_>,
        tunnels: u8,
    ) -> Result<Body, DecodeError> {
        let mut upper = carried;
        let addresses = match ip.source.is_ipv6() {
            true => HomeAddresses::strip(&mut upper)?,
            false => HomeAddresses::default(),
        };
        let typed = Body::decode_upper(&addresses.apply(ip), upper, tunnels)?;
        let body = typed.unwrap_or_else(|| Body::Opaque {
            protocol: upper.protocol,
            fragment: upper.fragment,
            bytes: upper.bytes.into(),
        });
        if addresses.is_empty() {
            return Ok(body);
        }
        Ok(Body::Extended(Box::new(Extended {
            home_address: addresses.source,
            routing_home_address: addresses.destination,
            body,
        })))
    }

    /// Restores from the body before encoding: the pattern of an undamaged payload, and the metadata of packets in
    /// tunnels.
    pub(super) fn remember(&mut self, before: Body) {
        match (self, before) {
            (
                Body::Tcp(_, after) | Body::Udp(_, after),
                Body::Tcp(_, before) | Body::Udp(_, before),
            ) if before.has_same_bytes(after) => *after = before,
            (Body::Aerotp(after), Body::Aerotp(before))
                if before.payload.has_same_bytes(&after.payload) =>
            {
                after.payload = before.payload;
            }
            (Body::Tunnel(after), Body::Tunnel(before))
            | (Body::Minimal(after), Body::Minimal(before))
            | (Body::Generic(after), Body::Generic(before)) => after.remember(*before),
            (Body::Extended(after), Body::Extended(before)) => after.body.remember(before.body),
            _ => {}
        }
    }

    /// Decodes the upper layer, after all extension headers; `None` if it is not decoded here.
    fn decode_upper(
        ip: &IpHeader,
        carried: IpPayload<'_>,
        tunnels: u8,
    ) -> Result<Option<Body>, DecodeError> {
        let bytes = carried.bytes;
        let v4 = ip.source.is_ipv4();
        Ok(match (carried.fragment, carried.protocol) {
            (0, protocol::TCP) => {
                let (header, payload) = TcpHeader::decode(ip, bytes)?;
                Some(Body::Tcp(header, Payload::from_slice(payload)))
            }
            (0, protocol::UDP) => {
                let (header, payload) = UdpHeader::decode(ip, bytes)?;
                Some(Body::Udp(header, Payload::from_slice(payload)))
            }
            (0, protocol::TP_PLUS_PLUS) => {
                Some(Body::TpPlusPlus(Box::new(TpPlusPlusPacket::decode(bytes)?)))
            }
            (0, protocol::AEROTP) => Some(Body::Aerotp(Box::new(AerotpPacket::decode(ip, bytes)?))),
            (0, protocol::ICMP) if v4 => IcmpMessage::decode(ip, bytes)?.map(Body::Icmp),
            (0, protocol::ICMPV6) if !v4 => IcmpMessage::decode(ip, bytes)?
                // Without a router alert it is ignored (RFC 3810 section 6.2).
                .filter(|message| !matches!(message, IcmpMessage::MulticastListenerReport(_)))
                .map(Body::Icmp),
            (0, protocol::HOP_BY_HOP) if !v4 => match extension::decode_router_alert(bytes)? {
                Some((protocol::ICMPV6, rest)) => IcmpMessage::decode(ip, rest)?
                    .filter(|message| matches!(message, IcmpMessage::MulticastListenerReport(_)))
                    .map(Body::Icmp),
                _ => None,
            },
            (0, protocol::MOBILITY) if !v4 => {
                MobilityMessage::decode(ip, bytes)?.map(|message| Body::Mobility(Box::new(message)))
            }
            (0, protocol::MINIMAL_ENCAPSULATION) if v4 => {
                let whole = encapsulation::restore(ip, bytes)?;
                Some(Body::Minimal(decode_inner(&whole, tunnels)?))
            }
            (0, protocol::GENERIC_ENCAPSULATION) if v4 => {
                match encapsulation::decode_generic(bytes)? {
                    Some(inner) => Some(Body::Generic(decode_inner(inner, tunnels)?)),
                    None => None,
                }
            }
            _ if carried.is_packet() => Some(Body::Tunnel(decode_inner(bytes, tunnels)?)),
            _ => None,
        })
    }
}

/// Decodes the packet in a tunnel. A tunnel's exit does not examine the inner packet's payload.
fn decode_inner(bytes: &[u8], tunnels: u8) -> Result<Box<Packet>, DecodeError> {
    let packet = match tunnels.checked_sub(1) {
        Some(tunnels) => {
            Packet::decode_within(bytes, tunnels).or_else(|_| Packet::verbatim(bytes))?
        }
        None => Packet::verbatim(bytes)?,
    };
    Ok(Box::new(packet))
}
