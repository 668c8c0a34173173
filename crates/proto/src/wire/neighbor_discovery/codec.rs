//! Encoding of Neighbor Discovery. Options are written in the order of the fields; receivers accept any order (RFC 4861
//! section 6.1). Messages that section 6 tells receivers to discard are rejected here.

use super::{
    AnchorPoint, HOP_LIMIT, HomeAgentInformation, LinkLayerAddress, NeighborAdvertisement,
    NeighborDiscovery, NeighborSolicitation, PrefixInformation, ProxySolicitation,
    RouterAdvertisement, RouterSolicitation, proxy,
};
use crate::packet::IpHeader;
use crate::wire::prefix::Ipv6Prefix;
use crate::wire::{DecodeError, expect_length, ipv6_at, u16_at, u32_at};
use core::net::IpAddr;
use core::num::NonZeroU16;

pub(super) const HEADER: &str = "neighbor discovery";

/// ICMPv6 types of the messages.
const ROUTER_SOLICITATION: u8 = 133;
const ROUTER_ADVERTISEMENT: u8 = 134;
const NEIGHBOR_SOLICITATION: u8 = 135;
const NEIGHBOR_ADVERTISEMENT: u8 = 136;
/// ICMPv6 type of the messages of fast handovers, which a subtype tells apart (RFC 5568 section 6.1).
pub(super) const FAST_HANDOVER: u8 = 154;

/// Types of options (RFC 4861 section 4.6, RFC 6275 sections 7.3 and 7.4, RFC 5380 section 5).
const SOURCE_LINK_LAYER_ADDRESS: u8 = 1;
const TARGET_LINK_LAYER_ADDRESS: u8 = 2;
const PREFIX_INFORMATION: u8 = 3;
const MTU: u8 = 5;
const ADVERTISEMENT_INTERVAL: u8 = 7;
const HOME_AGENT_INFORMATION: u8 = 8;
const ANCHOR_POINT: u8 = 23;

impl NeighborDiscovery {
    /// Returns true for an ICMPv6 type of Neighbor Discovery.
    pub(in crate::wire) const fn has_kind(kind: u8) -> bool {
        matches!(
            kind,
            ROUTER_SOLICITATION..=NEIGHBOR_ADVERTISEMENT | FAST_HANDOVER
        )
    }

    /// Returns the length on the wire after the IP header, in bytes.
    pub fn wire_length(&self) -> u32 {
        let option = |is_there: bool| if is_there { 8 } else { 0 };
        match self {
            NeighborDiscovery::RouterSolicitation(message) => {
                8 + option(message.source_link_layer_address.is_some())
            }
            NeighborDiscovery::RouterAdvertisement(message) => {
                16 + option(message.source_link_layer_address.is_some())
                    + option(message.mtu.is_some())
                    + 32 * message.prefixes.len() as u32
                    + option(message.advertisement_interval_ms.is_some())
                    + option(message.home_agent_information.is_some())
                    + 24 * message.anchor_points.len() as u32
            }
            NeighborDiscovery::NeighborSolicitation(message) => {
                24 + option(message.source_link_layer_address.is_some())
            }
            NeighborDiscovery::NeighborAdvertisement(message) => {
                24 + option(message.target_link_layer_address.is_some())
            }
            NeighborDiscovery::ProxySolicitation(_) => ProxySolicitation::WIRE_LENGTH,
            NeighborDiscovery::ProxyAdvertisement(message) => message.wire_length(),
        }
    }

    /// Appends the message with a checksum of zero.
    pub(in crate::wire) fn encode(&self, out: &mut Vec<u8>) {
        match self {
            NeighborDiscovery::RouterSolicitation(message) => {
                out.extend_from_slice(&[ROUTER_SOLICITATION, 0, 0, 0, 0, 0, 0, 0]);
                encode_address(
                    SOURCE_LINK_LAYER_ADDRESS,
                    message.source_link_layer_address,
                    out,
                );
            }
            NeighborDiscovery::RouterAdvertisement(message) => message.encode(out),
            NeighborDiscovery::NeighborSolicitation(message) => {
                out.extend_from_slice(&[NEIGHBOR_SOLICITATION, 0, 0, 0, 0, 0, 0, 0]);
                out.extend_from_slice(&message.target.octets());
                encode_address(
                    SOURCE_LINK_LAYER_ADDRESS,
                    message.source_link_layer_address,
                    out,
                );
            }
            NeighborDiscovery::NeighborAdvertisement(message) => {
                let flags = flag(message.router, 0x80)
                    | flag(message.solicited, 0x40)
                    | flag(message.overrides, 0x20);
                out.extend_from_slice(&[NEIGHBOR_ADVERTISEMENT, 0, 0, 0, flags, 0, 0, 0]);
                out.extend_from_slice(&message.target.octets());
                encode_address(
                    TARGET_LINK_LAYER_ADDRESS,
                    message.target_link_layer_address,
                    out,
                );
            }
            NeighborDiscovery::ProxySolicitation(message) => message.encode(out),
            NeighborDiscovery::ProxyAdvertisement(message) => message.encode(out),
        }
    }

    /// Decodes the message that `ip` carries; the caller has checked the checksum, and that there are eight bytes.
    pub(in crate::wire) fn decode(
        ip: &IpHeader,
        bytes: &[u8],
    ) -> Result<NeighborDiscovery, DecodeError> {
        if ip.hop_limit != HOP_LIMIT {
            return Err(wrong("hop limit", ip.hop_limit));
        }
        let kind = bytes[0];
        if kind == FAST_HANDOVER {
            return proxy::decode(bytes);
        }
        if bytes[1] != 0 {
            return Err(wrong("code", bytes[1]));
        }
        let options_at = match kind {
            ROUTER_SOLICITATION => 8,
            ROUTER_ADVERTISEMENT => 16,
            _ => 24,
        };
        expect_length(HEADER, bytes, options_at)?;
        let options = Options::decode(&bytes[options_at..])?;
        let target = || match ipv6_at(bytes, 8) {
            target if target.is_multicast() => Err(wrong("target", 0xFF)),
            target => Ok(target),
        };
        match kind {
            ROUTER_SOLICITATION | NEIGHBOR_SOLICITATION
                if ip.source.is_unspecified() && options.source.is_some() =>
            {
                Err(wrong("source link-layer address", 0))
            }
            ROUTER_SOLICITATION => Ok(NeighborDiscovery::RouterSolicitation(RouterSolicitation {
                source_link_layer_address: options.source,
            })),
            ROUTER_ADVERTISEMENT if !is_link_local(ip.source) => Err(wrong("source", 0)),
            ROUTER_ADVERTISEMENT => Ok(NeighborDiscovery::RouterAdvertisement(
                RouterAdvertisement::decode(bytes, options),
            )),
            NEIGHBOR_SOLICITATION => {
                let message = NeighborSolicitation {
                    target: target()?,
                    source_link_layer_address: options.source,
                };
                // Duplicate address detection uses only the solicited-node address.
                if ip.source.is_unspecified() && !is_solicited_node(ip.destination) {
                    return Err(wrong("destination", 0));
                }
                Ok(NeighborDiscovery::NeighborSolicitation(message))
            }
            _ => {
                let message = NeighborAdvertisement {
                    target: target()?,
                    router: bytes[4] & 0x80 != 0,
                    solicited: bytes[4] & 0x40 != 0,
                    overrides: bytes[4] & 0x20 != 0,
                    target_link_layer_address: options.target,
                };
                if message.solicited && ip.destination.is_multicast() {
                    return Err(wrong("solicited flag", 1));
                }
                Ok(NeighborDiscovery::NeighborAdvertisement(message))
            }
        }
    }
}

impl RouterAdvertisement {
    fn encode(&self, out: &mut Vec<u8>) {
        let flags = flag(self.managed_addresses, 0x80)
            | flag(self.other_configuration, 0x40)
            | flag(self.home_agent, 0x20);
        out.extend_from_slice(&[ROUTER_ADVERTISEMENT, 0, 0, 0, self.hop_limit, flags]);
        out.extend_from_slice(&self.router_lifetime_s.to_be_bytes());
        out.extend_from_slice(&self.reachable_time_ms.to_be_bytes());
        out.extend_from_slice(&self.retransmission_time_ms.to_be_bytes());
        encode_address(
            SOURCE_LINK_LAYER_ADDRESS,
            self.source_link_layer_address,
            out,
        );
        if let Some(mtu) = self.mtu {
            out.extend_from_slice(&[MTU, 1, 0, 0]);
            out.extend_from_slice(&mtu.to_be_bytes());
        }
        for prefix in &self.prefixes {
            prefix.encode(out);
        }
        if let Some(interval) = self.advertisement_interval_ms {
            out.extend_from_slice(&[ADVERTISEMENT_INTERVAL, 1, 0, 0]);
            out.extend_from_slice(&interval.to_be_bytes());
        }
        if let Some(home_agent) = self.home_agent_information {
            out.extend_from_slice(&[HOME_AGENT_INFORMATION, 1, 0, 0]);
            out.extend_from_slice(&home_agent.preference.to_be_bytes());
            out.extend_from_slice(&home_agent.lifetime_s.get().to_be_bytes());
        }
        for point in &self.anchor_points {
            point.encode(out);
        }
    }

    fn decode(bytes: &[u8], options: Options) -> RouterAdvertisement {
        RouterAdvertisement {
            hop_limit: bytes[4],
            managed_addresses: bytes[5] & 0x80 != 0,
            other_configuration: bytes[5] & 0x40 != 0,
            home_agent: bytes[5] & 0x20 != 0,
            router_lifetime_s: u16_at(bytes, 6),
            reachable_time_ms: u32_at(bytes, 8),
            retransmission_time_ms: u32_at(bytes, 12),
            source_link_layer_address: options.source,
            mtu: options.mtu,
            prefixes: options.prefixes,
            advertisement_interval_ms: options.advertisement_interval_ms,
            home_agent_information: options.home_agent_information,
            anchor_points: options.anchor_points,
        }
    }
}

impl PrefixInformation {
    fn encode(&self, out: &mut Vec<u8>) {
        let flags = flag(self.on_link, 0x80)
            | flag(self.autonomous, 0x40)
            | flag(self.router_address.is_some(), 0x20);
        out.extend_from_slice(&[PREFIX_INFORMATION, 4, self.prefix.length(), flags]);
        out.extend_from_slice(&self.valid_lifetime_s.to_be_bytes());
        out.extend_from_slice(&self.preferred_lifetime_s.to_be_bytes());
        out.extend_from_slice(&[0; 4]);
        let address = match self.router_address {
            Some(router) => self.prefix.address_of(router),
            None => self.prefix.address(),
        };
        out.extend_from_slice(&address.octets());
    }

    /// Decodes an option, which the caller has checked to have 32 bytes.
    fn decode(option: &[u8]) -> Result<PrefixInformation, DecodeError> {
        let address = ipv6_at(option, 16);
        Ok(PrefixInformation {
            prefix: Ipv6Prefix::decode(HEADER, address, option[2])?,
            on_link: option[3] & 0x80 != 0,
            autonomous: option[3] & 0x40 != 0,
            router_address: (option[3] & 0x20 != 0).then_some(address),
            valid_lifetime_s: u32_at(option, 4),
            preferred_lifetime_s: u32_at(option, 8),
        })
    }
}

impl AnchorPoint {
    fn encode(&self, out: &mut Vec<u8>) {
        let place = self.distance << 4 | self.preference & 0xF;
        out.extend_from_slice(&[ANCHOR_POINT, 3, place, flag(self.forms_addresses, 0x80)]);
        out.extend_from_slice(&self.valid_lifetime_s.to_be_bytes());
        out.extend_from_slice(&self.address.octets());
    }

    /// Decodes an option, which the caller has checked to have 24 bytes.
    fn decode(option: &[u8]) -> AnchorPoint {
        AnchorPoint {
            distance: option[2] >> 4,
            preference: option[2] & 0xF,
            forms_addresses: option[3] & 0x80 != 0,
            valid_lifetime_s: u32_at(option, 4),
            address: ipv6_at(option, 8),
        }
    }
}

/// Options of a message.
#[derive(Debug, Default)]
pub(super) struct Options {
    source: Option<LinkLayerAddress>,
    target: Option<LinkLayerAddress>,
    mtu: Option<u32>,
    prefixes: Vec<PrefixInformation>,
    advertisement_interval_ms: Option<u32>,
    home_agent_information: Option<HomeAgentInformation>,
    anchor_points: Vec<AnchorPoint>,
    /// Options of fast handovers (RFC 5568 section 6.4).
    pub(super) proxy: proxy::Options,
}

impl Options {
    /// Decodes all options. Unknown ones, and known ones of unknown length, are skipped (RFC 4861 section 4.6); the
    /// last of repeated ones counts.
    pub(super) fn decode(mut bytes: &[u8]) -> Result<Options, DecodeError> {
        let mut options = Options::default();
        while !bytes.is_empty() {
            expect_length(HEADER, bytes, 2)?;
            let length = usize::from(bytes[1]) * 8;
            if length == 0 {
                return Err(wrong("option length", 0));
            }
            expect_length(HEADER, bytes, length)?;
            let (option, rest) = bytes.split_at(length);
            options.take(option)?;
            bytes = rest;
        }
        Ok(options)
    }

    fn take(&mut self, option: &[u8]) -> Result<(), DecodeError> {
        let address = || LinkLayerAddress(core::array::from_fn(|index| option[2 + index]));
        match (option[0], option.len()) {
            (SOURCE_LINK_LAYER_ADDRESS, 8) => self.source = Some(address()),
            (TARGET_LINK_LAYER_ADDRESS, 8) => self.target = Some(address()),
            (PREFIX_INFORMATION, 32) => self.prefixes.push(PrefixInformation::decode(option)?),
            (MTU, 8) => self.mtu = Some(u32_at(option, 4)),
            (ADVERTISEMENT_INTERVAL, 8) => {
                self.advertisement_interval_ms = Some(u32_at(option, 4));
            }
            (HOME_AGENT_INFORMATION, 8) => {
                // RFC 6275 section 7.4: a lifetime of zero must not be used.
                let lifetime_s =
                    NonZeroU16::new(u16_at(option, 6)).ok_or(wrong("home agent lifetime", 0))?;
                self.home_agent_information = Some(HomeAgentInformation {
                    preference: u16_at(option, 4),
                    lifetime_s,
                });
            }
            (ANCHOR_POINT, 24) => self.anchor_points.push(AnchorPoint::decode(option)),
            _ => self.proxy.take(option)?,
        }
        Ok(())
    }
}

fn encode_address(kind: u8, address: Option<LinkLayerAddress>, out: &mut Vec<u8>) {
    if let Some(address) = address {
        out.extend_from_slice(&[kind, 1]);
        out.extend_from_slice(&address.0);
    }
}

const fn flag(is_set: bool, bit: u8) -> u8 {
    if is_set { bit } else { 0 }
}

pub(super) fn wrong(field: &'static str, value: u8) -> DecodeError {
    DecodeError::Field {
        header: HEADER,
        field,
        value: u32::from(value),
    }
}

fn is_link_local(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(address) if address.is_unicast_link_local())
}

/// Returns true for an address in ff02::1:ff00:0/104.
fn is_solicited_node(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(address) if super::solicited_node_multicast(address) == address)
}
