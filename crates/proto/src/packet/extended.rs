//! Mobile IPv6's extension headers in a packet.

use super::{Body, IpHeader, Packet};
use crate::wire::extension::HomeAddresses;
use core::net::Ipv6Addr;

/// Mobile IPv6's headers between IPv6 and transport, by which transports use home addresses while routers see care-of
/// addresses. At least one of the two is present.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extended {
    /// Sender's home address, if the packet's source is its care-of address: the home address option of a destination
    /// options header (RFC 6275 section 6.3).
    pub home_address: Option<Ipv6Addr>,
    /// Receiver's home address, if the packet's destination is its care-of address: a type 2 routing header (RFC 6275
    /// section 6.4).
    pub routing_home_address: Option<Ipv6Addr>,
    /// Upper layer: neither [`Body::Extended`] nor [`Body::Verbatim`].
    pub body: Body,
}

impl Extended {
    /// Returns both home addresses.
    pub const fn addresses(&self) -> HomeAddresses {
        HomeAddresses {
            source: self.home_address,
            destination: self.routing_home_address,
        }
    }
}

impl Packet {
    /// Returns the IP header as the ends of a connection know it, inside all tunnels and extension headers.
    pub fn innermost_ip(&self) -> IpHeader {
        let mut packet = self;
        loop {
            match packet.upper_body().inner() {
                Some(inner) => packet = inner,
                None => return packet.upper_ip(),
            }
        }
    }

    /// Returns the IP header as upper layers see it, with home addresses from Mobile IPv6's extension headers in place
    /// of care-of addresses.
    pub fn upper_ip(&self) -> IpHeader {
        match &self.body {
            Body::Extended(extended) => extended.addresses().apply(&self.ip),
            _ => self.ip,
        }
    }

    /// Returns the body as upper layers see it, behind Mobile IPv6's extension headers if there are any.
    pub(super) fn upper_body(&self) -> &Body {
        match &self.body {
            Body::Extended(extended) => &extended.body,
            body => body,
        }
    }
}
