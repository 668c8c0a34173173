//! Mobile IPv6's extension headers in front of what a packet carries.

use super::{Body, IpHeader, Packet};
use crate::wire::{extension, protocol};
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
    /// Bytes of the extension headers.
    pub(super) fn headers_length(&self) -> u32 {
        let headers = [self.home_address, self.routing_home_address];
        extension::HOME_ADDRESS_LENGTH * headers.iter().flatten().count() as u32
    }

    /// Appends the headers and what follows. The routing header comes first (RFC 6275 section 6.3).
    pub(super) fn encode(&self, ip: &IpHeader, out: &mut Vec<u8>) {
        let (upper, _) = self.body.protocol(ip);
        if let Some(address) = self.routing_home_address {
            let next = match self.home_address {
                Some(_) => protocol::DESTINATION_OPTIONS,
                None => upper,
            };
            extension::encode_routing(next, address, out);
        }
        if let Some(address) = self.home_address {
            extension::encode_home_address(upper, address, out);
        }
        let ip = ip.with_home_addresses(self.home_address, self.routing_home_address);
        self.body.encode(&ip, out);
    }
}

impl IpHeader {
    /// The header as upper layers see it behind Mobile IPv6's extension headers: their checksums and conversations
    /// have home addresses (RFC 6275 sections 6.1.1, 9.3.1 and 11.3.1).
    pub(super) fn with_home_addresses(
        self,
        home_address: Option<Ipv6Addr>,
        routing_home_address: Option<Ipv6Addr>,
    ) -> IpHeader {
        IpHeader {
            source: home_address.map_or(self.source, Into::into),
            destination: routing_home_address.map_or(self.destination, Into::into),
            ..self
        }
    }
}

impl Packet {
    /// The IP header as upper layers see it: with the home addresses of Mobile IPv6's extension headers, if there are
    /// any, in place of care-of addresses.
    pub fn upper_ip(&self) -> IpHeader {
        match &self.body {
            Body::Extended(extended) => self
                .ip
                .with_home_addresses(extended.home_address, extended.routing_home_address),
            _ => self.ip,
        }
    }
}
