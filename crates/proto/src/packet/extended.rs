//! Mobile IPv6's extension headers in front of what a packet carries.

use super::{Body, IpHeader, Packet};
use crate::wire::extension::HomeAddresses;
use core::net::Ipv6Addr;

/// What Mobile IPv6 puts between the IPv6 header and the transport's, so that a transport speaks to home addresses
/// while routers see care-of addresses. At least one of the two is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extended {
    /// The sender's home address, where the packet's source is its care-of address: the home address option of a
    /// destination options header (RFC 6275 section 6.3).
    pub home_address: Option<Ipv6Addr>,
    /// The receiver's home address, where the packet's destination is its care-of address: a type 2 routing header
    /// (RFC 6275 section 6.4).
    pub routing_home_address: Option<Ipv6Addr>,
    /// What follows: neither [`Body::Extended`] nor [`Body::Verbatim`].
    pub body: Body,
}

impl Extended {
    /// Both home addresses.
    pub const fn addresses(&self) -> HomeAddresses {
        HomeAddresses {
            source: self.home_address,
            destination: self.routing_home_address,
        }
    }
}

impl Packet {
    /// The IP header as the ends of a connection know it, whatever tunnels and extension headers are around it.
    pub fn innermost_ip(&self) -> IpHeader {
        let mut packet = self;
        loop {
            let body = match &packet.body {
                Body::Extended(extended) => &extended.body,
                body => body,
            };
            match body {
                Body::Tunnel(inner) => packet = inner,
                _ => return packet.upper_ip(),
            }
        }
    }

    /// The IP header as upper layers see it: with the home addresses of Mobile IPv6's extension headers, if there are
    /// any, in place of care-of addresses.
    pub fn upper_ip(&self) -> IpHeader {
        match &self.body {
            Body::Extended(extended) => extended.addresses().apply(&self.ip),
            _ => self.ip,
        }
    }
}
