//! Quotation of a packet in an ICMP error about it.

use crate::packet::IpHeader;
use crate::wire::encapsulation::{self, GENERIC_LENGTH, MinimalHeader};
use crate::wire::extension::HomeAddresses;
use crate::wire::ip::{self, IpPayload};
use crate::wire::{DecodeError, expect_length, protocol, u32_at};
use core::net::{IpAddr, Ipv4Addr};
use std::borrow::Cow;

/// The quoted headers: up to the first eight bytes of the transport, through tunnels and extension headers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuotedPacket {
    /// Source of the packet, which is the destination of the error.
    pub source: IpAddr,
    /// Destination of the packet.
    pub destination: IpAddr,
    /// IANA protocol number; after extension headers, if any were decoded, the one that follows them.
    pub protocol: u8,
    /// Source port. For protocols other than TCP and UDP, the first two bytes after the IP header, or zero if unknown.
    pub source_port: u16,
    /// Destination port, or the next two bytes.
    pub destination_port: u16,
    /// TCP sequence number, or the next four bytes, which are identifier and sequence number of an echo; zero for UDP.
    pub sequence: u32,
    /// Further quoted headers; ports and sequence number of a tunnel are zero.
    pub within: Option<Box<QuotedWithin>>,
}

/// Headers between IP and transport in a quoted packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuotedWithin {
    /// The inner packet of a tunnel, by which the tunnel's entry knows the source to inform (RFC 2003 section 4, RFC
    /// 2473 section 8).
    Tunnel(QuotedPacket),
    /// Extension headers of Mobile IPv6.
    HomeAddresses(HomeAddresses),
}

impl QuotedPacket {
    /// Maximum depth of nested tunnels to decode.
    const TUNNELS: u8 = 4;

    /// Returns source and destination as the transport knows them: home addresses if there are any, otherwise those of
    /// the IP header.
    pub fn transport_addresses(&self) -> (IpAddr, IpAddr) {
        let addresses = self.home_addresses();
        (
            addresses.source.map_or(self.source, IpAddr::V6),
            addresses.destination.map_or(self.destination, IpAddr::V6),
        )
    }

    /// Returns the length of the extension headers between IP and transport in bytes; the transport does not know them.
    pub fn extension_length(&self) -> u32 {
        self.home_addresses().wire_length()
    }

    fn home_addresses(&self) -> HomeAddresses {
        match self.within.as_deref() {
            Some(QuotedWithin::HomeAddresses(addresses)) => *addresses,
            _ => HomeAddresses::default(),
        }
    }

    /// Returns the length of the quotation in bytes.
    pub(super) fn wire_length(&self) -> u32 {
        let header = if self.source.is_ipv4() { 20 } else { 40 };
        header
            + match self.within.as_deref() {
                Some(QuotedWithin::Tunnel(inner)) => match self.protocol {
                    protocol::MINIMAL_ENCAPSULATION => {
                        self.minimal_header(inner).wire_length() + inner.wire_length() - 20
                    }
                    protocol::GENERIC_ENCAPSULATION => GENERIC_LENGTH as u32 + inner.wire_length(),
                    _ => inner.wire_length(),
                },
                _ => self.home_addresses().wire_length() + 8,
            }
    }

    /// Returns the minimal forwarding header between this header and that of `inner`, both of IPv4.
    fn minimal_header(&self, inner: &QuotedPacket) -> MinimalHeader {
        let v4 = |address| match address {
            IpAddr::V4(address) => address,
            IpAddr::V6(_) => Ipv4Addr::UNSPECIFIED,
        };
        MinimalHeader {
            protocol: inner.protocol,
            destination: v4(inner.destination),
            source: (inner.source != self.source).then(|| v4(inner.source)),
        }
    }

    /// Appends the headers and the first eight bytes of the transport. Fields that are not kept get plausible values,
    /// and the packet seems to end with the quotation.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        let ip = IpHeader {
            source: self.source,
            destination: self.destination,
            hop_limit: 1,
            traffic_class: 0,
            identification: 0,
            dont_fragment: true,
        };
        let addresses = self.home_addresses();
        let first = addresses.first(self.protocol);
        ip.encode(first, 0, self.wire_length() - ip.wire_length(), out);
        if let Some(QuotedWithin::Tunnel(inner)) = self.within.as_deref() {
            match self.protocol {
                protocol::MINIMAL_ENCAPSULATION => {
                    self.minimal_header(inner).encode(out);
                    let start = out.len();
                    inner.encode(out);
                    out.drain(start..start + 20);
                }
                protocol::GENERIC_ENCAPSULATION => {
                    encapsulation::encode_generic(out);
                    inner.encode(out);
                }
                _ => inner.encode(out),
            }
            return;
        }
        addresses.encode(self.protocol, out);
        out.extend_from_slice(&self.source_port.to_be_bytes());
        out.extend_from_slice(&self.destination_port.to_be_bytes());
        // Four more bytes: UDP's length and checksum.
        let rest = match self.protocol {
            protocol::UDP => 8 << 16,
            _ => self.sequence,
        };
        out.extend_from_slice(&rest.to_be_bytes());
    }

    /// Decodes a quotation, which is usually truncated. Checksums are not verified, since the router may have quoted a
    /// header after changing it.
    pub(crate) fn decode(bytes: &[u8]) -> Result<QuotedPacket, DecodeError> {
        QuotedPacket::decode_within(bytes, QuotedPacket::TUNNELS)
    }

    /// Decodes like [`decode`](Self::decode), with at most `tunnels` nested tunnels.
    fn decode_within(bytes: &[u8], tunnels: u8) -> Result<QuotedPacket, DecodeError> {
        const HEADER: &str = "packet quoted by ICMP";
        expect_length(HEADER, bytes, 20)?;
        let (protocol, header_length) = match bytes[0] >> 4 {
            4 => (bytes[9], usize::from(bytes[0] & 0x0F).max(5) * 4),
            6 => (bytes[6], 40),
            version => {
                return Err(DecodeError::Field {
                    header: HEADER,
                    field: "version",
                    value: u32::from(version),
                });
            }
        };
        expect_length(HEADER, bytes, header_length + 8)?;
        let (source, destination) = ip::addresses(bytes);
        let mut quoted = QuotedPacket {
            source,
            destination,
            protocol,
            source_port: 0,
            destination_port: 0,
            sequence: 0,
            within: None,
        };
        let mut upper = IpPayload {
            protocol,
            fragment: 0,
            bytes: &bytes[header_length..],
        };
        if let Some(tunnels) = tunnels.checked_sub(1)
            && let Some(inner) = inner_bytes([source, destination], upper)
            && let Ok(inner) = QuotedPacket::decode_within(&inner, tunnels)
        {
            quoted.within = Some(Box::new(QuotedWithin::Tunnel(inner)));
            return Ok(quoted);
        }
        if source.is_ipv6() {
            let addresses = HomeAddresses::strip_readable(&mut upper);
            quoted.protocol = upper.protocol;
            quoted.within =
                (!addresses.is_empty()).then(|| Box::new(QuotedWithin::HomeAddresses(addresses)));
        }
        let ports = u32_at(upper.bytes, 0);
        quoted.source_port = (ports >> 16) as u16;
        quoted.destination_port = ports as u16;
        if quoted.protocol != protocol::UDP {
            quoted.sequence = u32_at(upper.bytes, 4);
        }
        Ok(quoted)
    }
}

/// Returns the packet in a quoted tunnel between two addresses, as far as it is quoted; `None` if there is none.
fn inner_bytes(ends: [IpAddr; 2], upper: IpPayload<'_>) -> Option<Cow<'_, [u8]>> {
    if upper.is_packet() {
        return Some(upper.bytes.into());
    }
    let [IpAddr::V4(_), IpAddr::V4(_)] = ends else {
        return None;
    };
    match upper.protocol {
        protocol::MINIMAL_ENCAPSULATION => {
            let outer = IpHeader {
                source: ends[0],
                destination: ends[1],
                hop_limit: 1,
                traffic_class: 0,
                identification: 0,
                dont_fragment: true,
            };
            encapsulation::restore(&outer, upper.bytes)
                .ok()
                .map(Cow::Owned)
        }
        protocol::GENERIC_ENCAPSULATION => encapsulation::decode_generic(upper.bytes)
            .ok()?
            .map(Cow::Borrowed),
        _ => None,
    }
}
