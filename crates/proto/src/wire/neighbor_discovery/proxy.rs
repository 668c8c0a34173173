//! Encoding of the messages by which a mobile asks for the router of another link (RFC 5568 sections 6.1 and 6.4).

use super::codec::{FAST_HANDOVER, HEADER, Options as AllOptions, wrong};
use super::{
    LinkLayerAddress, NeighborDiscovery, ProxyAdvertisement, ProxyRouter, ProxySolicitation,
};
use crate::wire::prefix::Ipv6Prefix;
use crate::wire::{DecodeError, ipv6_at, u16_at};
use core::net::Ipv6Addr;

/// Subtypes.
const SOLICITATION: u8 = 2;
const ADVERTISEMENT: u8 = 3;

/// Codes of an advertisement: the router is known or not.
const KNOWN: u8 = 0;
const UNKNOWN: u8 = 2;

/// IP Address/Prefix option (section 6.4.1), and its codes for the new router's address and prefix.
const ADDRESS_OR_PREFIX: u8 = 17;
const NEW_ROUTER_ADDRESS: u8 = 3;
const NEW_ROUTER_PREFIX: u8 = 4;
/// Link-Layer Address option (section 6.4.3), and its code for the new access point's.
const LINK_LAYER_ADDRESS: u8 = 19;
const NEW_ACCESS_POINT: u8 = 1;

/// Bytes of the fixed part, of an access point and of an address or prefix.
const FIXED: u32 = 8;
const ACCESS_POINT: u32 = 16;
const ADDRESS: u32 = 24;

impl ProxySolicitation {
    /// Length on the wire after the IP header, in bytes.
    pub(super) const WIRE_LENGTH: u32 = FIXED + ACCESS_POINT;

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        encode_fixed(0, SOLICITATION, self.identifier, out);
        encode_access_point(self.access_point, out);
    }
}

impl ProxyAdvertisement {
    pub(super) fn wire_length(&self) -> u32 {
        FIXED + ACCESS_POINT + self.router.map_or(0, |_| 2 * ADDRESS)
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        let code = self.router.map_or(UNKNOWN, |_| KNOWN);
        encode_fixed(code, ADVERTISEMENT, self.identifier, out);
        encode_access_point(self.access_point, out);
        if let Some(ProxyRouter { address, prefix }) = self.router {
            encode_address(NEW_ROUTER_ADDRESS, 128, address, out);
            encode_address(NEW_ROUTER_PREFIX, prefix.length(), prefix.address(), out);
        }
    }
}

/// Options of these messages.
#[derive(Debug, Default)]
pub(super) struct Options {
    access_point: Option<LinkLayerAddress>,
    address: Option<Ipv6Addr>,
    prefix: Option<Ipv6Prefix>,
}

impl Options {
    /// Takes in an option; those of other types, codes or lengths are skipped.
    pub(super) fn take(&mut self, option: &[u8]) -> Result<(), DecodeError> {
        match (option[0], option.len(), option[2]) {
            (LINK_LAYER_ADDRESS, 16, NEW_ACCESS_POINT) => {
                let address = core::array::from_fn(|index| option[3 + index]);
                self.access_point = Some(LinkLayerAddress(address));
            }
            (ADDRESS_OR_PREFIX, 24, NEW_ROUTER_ADDRESS) => self.address = Some(ipv6_at(option, 8)),
            (ADDRESS_OR_PREFIX, 24, NEW_ROUTER_PREFIX) => {
                self.prefix = Some(Ipv6Prefix::decode(HEADER, ipv6_at(option, 8), option[3])?);
            }
            _ => {}
        }
        Ok(())
    }
}

/// Decodes a message of which the caller has checked that it has eight bytes.
pub(super) fn decode(bytes: &[u8]) -> Result<NeighborDiscovery, DecodeError> {
    let (code, subtype, identifier) = (bytes[1], bytes[4], u16_at(bytes, 6));
    let options = AllOptions::decode(&bytes[FIXED as usize..])?.proxy;
    let missing = |option| wrong(option, 0);
    let access_point = options.access_point.ok_or(missing("access point"))?;
    match (subtype, code) {
        (SOLICITATION, 0) => Ok(NeighborDiscovery::ProxySolicitation(ProxySolicitation {
            identifier,
            access_point,
        })),
        (ADVERTISEMENT, KNOWN | UNKNOWN) => {
            let router = match code {
                KNOWN => Some(ProxyRouter {
                    address: options.address.ok_or(missing("router address"))?,
                    prefix: options.prefix.ok_or(missing("router prefix"))?,
                }),
                _ => None,
            };
            Ok(NeighborDiscovery::ProxyAdvertisement(ProxyAdvertisement {
                identifier,
                access_point,
                router,
            }))
        }
        (SOLICITATION | ADVERTISEMENT, code) => Err(wrong("code", code)),
        (subtype, _) => Err(wrong("subtype", subtype)),
    }
}

fn encode_fixed(code: u8, subtype: u8, identifier: u16, out: &mut Vec<u8>) {
    out.extend_from_slice(&[FAST_HANDOVER, code, 0, 0, subtype, 0]);
    out.extend_from_slice(&identifier.to_be_bytes());
}

fn encode_access_point(address: LinkLayerAddress, out: &mut Vec<u8>) {
    out.extend_from_slice(&[LINK_LAYER_ADDRESS, 2, NEW_ACCESS_POINT]);
    out.extend_from_slice(&address.0);
    out.extend_from_slice(&[0; 7]);
}

fn encode_address(code: u8, length: u8, address: Ipv6Addr, out: &mut Vec<u8>) {
    out.extend_from_slice(&[ADDRESS_OR_PREFIX, 3, code, length, 0, 0, 0, 0]);
    out.extend_from_slice(&address.octets());
}
