//! IPv6 extension headers with fixed contents: those of Mobile IPv6, and the router alert of Multicast Listener
//! Discovery. Headers with other contents are not decoded here.

use super::ip::IpPayload;
use super::{DecodeError, expect_length, ipv6_at, protocol};
use crate::packet::IpHeader;
use core::net::{IpAddr, Ipv6Addr};

/// Length of a hop-by-hop header with a router alert, in bytes (RFC 2711).
pub const ROUTER_ALERT_LENGTH: u32 = 8;

/// Types of options (RFC 8200 section 4.2, RFC 2711 section 2.1, RFC 6275 section 6.3).
const PAD1: u8 = 0;
const PADN: u8 = 1;
const ROUTER_ALERT: u8 = 5;
const HOME_ADDRESS: u8 = 201;

/// Home addresses in Mobile IPv6's extension headers, while the IP header has care-of addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HomeAddresses {
    /// Sender's home address: the home address option of a destination options header (RFC 6275 section 6.3).
    pub source: Option<Ipv6Addr>,
    /// Receiver's home address: a type 2 routing header with one segment left (RFC 6275 section 6.4).
    pub destination: Option<Ipv6Addr>,
}

impl HomeAddresses {
    /// Returns true if there is no address, and so no header.
    pub const fn is_empty(&self) -> bool {
        self.source.is_none() && self.destination.is_none()
    }

    /// Returns the length of the headers: 24 bytes each.
    pub const fn wire_length(&self) -> u32 {
        24 * (self.source.is_some() as u32 + self.destination.is_some() as u32)
    }

    /// Returns the protocol number of the first header, or `following` without headers. The routing header comes first
    /// (RFC 6275 section 6.3).
    pub const fn first(&self, following: u8) -> u8 {
        match (self.destination, self.source) {
            (Some(_), _) => protocol::ROUTING,
            (None, Some(_)) => protocol::DESTINATION_OPTIONS,
            (None, None) => following,
        }
    }

    /// Appends the headers in front of an upper layer with this protocol number.
    pub fn encode(&self, following: u8, out: &mut Vec<u8>) {
        if let Some(address) = self.destination {
            let source = HomeAddresses {
                destination: None,
                ..*self
            };
            out.extend_from_slice(&[source.first(following), 2, 2, 1, 0, 0, 0, 0]);
            out.extend_from_slice(&address.octets());
        }
        if let Some(address) = self.source {
            // The option must start 8n + 6 bytes into its header.
            out.extend_from_slice(&[following, 2, PADN, 2, 0, 0, HOME_ADDRESS, 16]);
            out.extend_from_slice(&address.octets());
        }
    }

    /// Decodes these headers at the front of an IPv6 payload, and removes them. Other extension headers, and headers
    /// with unknown options that must not be skipped (RFC 8200 section 4.2), stay.
    ///
    /// # Errors
    /// Too few bytes, an option that is too long, or a type 2 routing header with another length or number of segments
    /// left.
    pub fn strip(carried: &mut IpPayload<'_>) -> Result<HomeAddresses, DecodeError> {
        let destination = strip_routing(carried)?;
        let source = strip_home_address(carried)?;
        Ok(HomeAddresses {
            source,
            destination,
        })
    }

    /// Decodes like [`strip`](Self::strip) from a packet that may be truncated or malformed: an unreadable header
    /// stays, as does one with fewer than eight bytes after it.
    pub fn strip_readable(carried: &mut IpPayload<'_>) -> HomeAddresses {
        let mut readable = |strip: Strip| {
            let mut rest = *carried;
            let address = strip(&mut rest).ok().flatten()?;
            (rest.bytes.len() >= 8).then(|| {
                *carried = rest;
                address
            })
        };
        let destination = readable(strip_routing);
        let source = readable(strip_home_address);
        HomeAddresses {
            source,
            destination,
        }
    }

    /// Returns the IP header as upper layers see it: with home addresses (RFC 6275 sections 6.1.1, 9.3.1 and 11.3.1).
    pub fn apply(&self, ip: &IpHeader) -> IpHeader {
        IpHeader {
            source: self.source.map_or(ip.source, IpAddr::V6),
            destination: self.destination.map_or(ip.destination, IpAddr::V6),
            ..*ip
        }
    }
}

/// A decoder that removes a header with a home address, if the payload begins with one.
type Strip = fn(&mut IpPayload<'_>) -> Result<Option<Ipv6Addr>, DecodeError>;

fn strip_routing(carried: &mut IpPayload<'_>) -> Result<Option<Ipv6Addr>, DecodeError> {
    if carried.protocol != protocol::ROUTING {
        return Ok(None);
    }
    let header = own("routing header", carried.bytes)?;
    let address = routed(header)?;
    if address.is_some() {
        skip(carried, header);
    }
    Ok(address)
}

fn strip_home_address(carried: &mut IpPayload<'_>) -> Result<Option<Ipv6Addr>, DecodeError> {
    if carried.protocol != protocol::DESTINATION_OPTIONS {
        return Ok(None);
    }
    let header = own("destination options", carried.bytes)?;
    let address = home_address(header)?;
    if address.is_some() {
        skip(carried, header);
    }
    Ok(address)
}

/// Removes a header.
fn skip<'a>(carried: &mut IpPayload<'a>, header: &'a [u8]) {
    carried.protocol = header[0];
    carried.bytes = &carried.bytes[header.len()..];
}

/// Returns the home address of a type 2 routing header.
fn routed(header: &[u8]) -> Result<Option<Ipv6Addr>, DecodeError> {
    if header[2] != 2 {
        return Ok(None);
    }
    for (field, at, expected) in [("header length", 1, 2), ("segments left", 3, 1)] {
        if header[at] != expected {
            return Err(DecodeError::Field {
                header: "type 2 routing header",
                field,
                value: u32::from(header[at]),
            });
        }
    }
    Ok(Some(ipv6_at(header, 8)))
}

/// Returns the home address of a destination options header without other significant options.
fn home_address(header: &[u8]) -> Result<Option<Ipv6Addr>, DecodeError> {
    let mut home_address = None;
    for option in Options(&header[2..]) {
        let (kind, data) = option?;
        match (kind, data.len()) {
            // RFC 6275 section 6.3: the option must not occur twice.
            (HOME_ADDRESS, 16) if home_address.is_none() => home_address = Some(ipv6_at(data, 0)),
            (kind, _) if kind & 0xC0 == 0 => {}
            _ => return Ok(None),
        }
    }
    Ok(home_address)
}

/// Appends a hop-by-hop header with the router alert of Multicast Listener Discovery.
pub fn encode_router_alert(following: u8, out: &mut Vec<u8>) {
    out.extend_from_slice(&[following, 0, ROUTER_ALERT, 2, 0, 0, PADN, 0]);
}

/// Decodes a hop-by-hop header. Returns the protocol number and bytes of the next header; `None` unless the only option
/// is a router alert for Multicast Listener Discovery.
///
/// # Errors
/// Too few bytes, or an option that is too long.
pub fn decode_router_alert(bytes: &[u8]) -> Result<Option<(u8, &[u8])>, DecodeError> {
    let header = own("hop-by-hop options", bytes)?;
    let mut alerts = 0;
    for option in Options(&header[2..]) {
        match option? {
            (ROUTER_ALERT, [0, 0]) => alerts += 1,
            (PAD1 | PADN, _) => {}
            _ => return Ok(None),
        }
    }
    Ok((alerts == 1).then_some((header[0], &bytes[header.len()..])))
}

/// Returns the bytes of an extension header, by its length field.
fn own<'a>(header: &'static str, bytes: &'a [u8]) -> Result<&'a [u8], DecodeError> {
    expect_length(header, bytes, 8)?;
    let length = 8 + usize::from(bytes[1]) * 8;
    expect_length(header, bytes, length)?;
    Ok(&bytes[..length])
}

/// Iterator over options of type, length and data, as in extension headers and the Mobility Header, padding included.
pub(super) struct Options<'a>(pub &'a [u8]);

impl<'a> Iterator for Options<'a> {
    type Item = Result<(u8, &'a [u8]), DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        const HEADER: &str = "IPv6 option";
        let (&kind, rest) = self.0.split_first()?;
        if kind == PAD1 {
            self.0 = rest;
            return Some(Ok((kind, &[])));
        }
        let length = 1 + rest.first().copied().map_or(0, usize::from);
        if let Err(error) = expect_length(HEADER, rest, length) {
            self.0 = &[];
            return Some(Err(error));
        }
        let (own, rest) = rest.split_at(length);
        self.0 = rest;
        Some(Ok((kind, &own[1..])))
    }
}
