//! IPv6 extension headers of fixed content: those that Mobile IPv6 puts in front of others, and the router alert of
//! Multicast Listener Discovery. Headers with anything else are not read here.

use super::{DecodeError, expect_length, ipv6_at};
use core::net::Ipv6Addr;

/// Bytes of a destination options header with a home address (RFC 6275 section 6.3), and of a type 2 routing
/// header (section 6.4).
pub const HOME_ADDRESS_LENGTH: u32 = 24;

/// Bytes of a hop-by-hop header with a router alert (RFC 2711).
pub const ROUTER_ALERT_LENGTH: u32 = 8;

/// Types of options (RFC 8200 section 4.2, RFC 2711 section 2.1, RFC 6275 section 6.3).
const PAD1: u8 = 0;
const PADN: u8 = 1;
const ROUTER_ALERT: u8 = 5;
const HOME_ADDRESS: u8 = 201;

/// Appends a destination options header with a home address option, which lies 8n+6 bytes into the packet.
pub fn encode_home_address(next: u8, home_address: Ipv6Addr, out: &mut Vec<u8>) {
    out.extend_from_slice(&[next, 2, PADN, 2, 0, 0, HOME_ADDRESS, 16]);
    out.extend_from_slice(&home_address.octets());
}

/// Appends a type 2 routing header with one segment left.
pub fn encode_routing(next: u8, home_address: Ipv6Addr, out: &mut Vec<u8>) {
    out.extend_from_slice(&[next, 2, 2, 1, 0, 0, 0, 0]);
    out.extend_from_slice(&home_address.octets());
}

/// Appends a hop-by-hop header that says that the packet holds a message of Multicast Listener Discovery.
pub fn encode_router_alert(next: u8, out: &mut Vec<u8>) {
    out.extend_from_slice(&[next, 0, ROUTER_ALERT, 2, 0, 0, PADN, 0]);
}

/// An extension header with a home address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extension {
    /// The address.
    pub home_address: Ipv6Addr,
    /// Protocol number of what follows.
    pub next: u8,
    /// Bytes of the header.
    pub length: usize,
}

/// Reads a destination options header. `None`: it holds no home address, or an option that is not known and must
/// not be skipped (RFC 8200 section 4.2).
///
/// # Errors
/// Too few bytes, or an option that is too long.
pub fn decode_home_address(bytes: &[u8]) -> Result<Option<Extension>, DecodeError> {
    let header = own("destination options", bytes)?;
    let mut home_address = None;
    for option in Options(&header[2..]) {
        let (kind, data) = option?;
        match (kind, data.len()) {
            // RFC 6275 section 6.3: it must not come twice.
            (HOME_ADDRESS, 16) if home_address.is_none() => home_address = Some(ipv6_at(data, 0)),
            (kind, _) if kind & 0xC0 == 0 => {}
            _ => return Ok(None),
        }
    }
    Ok(home_address.map(|home_address| Extension {
        home_address,
        next: header[0],
        length: header.len(),
    }))
}

/// Reads a routing header. `None`: it is of another type.
///
/// # Errors
/// Too few bytes, or a length or number of segments that a type 2 routing header does not have.
pub fn decode_routing(bytes: &[u8]) -> Result<Option<Extension>, DecodeError> {
    const HEADER: &str = "type 2 routing header";
    let header = own(HEADER, bytes)?;
    if header[2] != 2 {
        return Ok(None);
    }
    for (field, at, expected) in [("header length", 1, 2), ("segments left", 3, 1)] {
        if header[at] != expected {
            return Err(DecodeError::Field {
                header: HEADER,
                field,
                value: u32::from(header[at]),
            });
        }
    }
    Ok(Some(Extension {
        home_address: ipv6_at(header, 8),
        next: header[0],
        length: header.len(),
    }))
}

/// Reads a hop-by-hop header: the protocol number of what follows, and its bytes. `None`: it is no router alert
/// for Multicast Listener Discovery alone.
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

/// The bytes of an extension header, as its length field bounds it.
fn own<'a>(header: &'static str, bytes: &'a [u8]) -> Result<&'a [u8], DecodeError> {
    expect_length(header, bytes, 8)?;
    let length = 8 + usize::from(bytes[1]) * 8;
    expect_length(header, bytes, length)?;
    Ok(&bytes[..length])
}

/// Walks over options of type, length and data, as extension headers and the Mobility Header have them. Padding
/// comes too.
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
