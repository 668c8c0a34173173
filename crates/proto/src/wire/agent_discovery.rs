//! Agent discovery of Mobile IPv4 (RFC 5944 section 2): ICMP router advertisements and solicitations (RFC 1256), with
//! the extensions of mobility agents.

use super::neighbor_discovery::LinkLayerAddress;
use super::{DecodeError, Words, expect_length, u16_at, u32_at};
use core::net::Ipv4Addr;

const HEADER: &str = "agent advertisement";

/// Extension types of RFC 5944 sections 2.1.1 to 2.1.3, and of RFC 4881 section 9.1.
mod extension {
    pub const PADDING: u8 = 0;
    pub const MOBILITY_AGENT: u8 = 16;
    pub const PREFIX_LENGTHS: u8 = 19;
    pub const LINK_LAYER_ADDRESS: u8 = 140;
}

/// Subtypes of the generalised link-layer and IPv4 address extension (RFC 4881 section 9.1).
pub(super) mod link_layer {
    /// Identifier of an access point.
    pub const ACCESS_POINT: u8 = 6;
    /// IPv4 address of a foreign agent.
    pub const FOREIGN_AGENT: u8 = 7;
}

/// A message of agent discovery. Its sender sets the hop limit to 1, so that it stays on the link; foreign agents also
/// exchange such messages across the network (RFC 4881 section 3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentDiscovery {
    /// Solicitation of advertisements from all agents on the link (ICMP type 10).
    Solicitation,
    /// Solicitation, to the present agent, of an advertisement of the agent at another access point: the proxy router
    /// solicitation of RFC 4881 section 3.
    ProxySolicitation(LinkLayerAddress),
    /// Advertisement of an agent (ICMP type 9).
    Advertisement(RouterAdvertisement),
}

/// A router advertisement; with a mobility agent, an agent advertisement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouterAdvertisement {
    /// Lifetime in seconds.
    pub lifetime: u16,
    /// Routers by address, with their preferences: higher is better. At most 255.
    pub routers: Vec<(Ipv4Addr, i32)>,
    /// Prefix length of each router's address in bits, at most 32; empty, or one for each router.
    pub prefix_lengths: Vec<u8>,
    /// Mobility agent extension.
    pub mobility_agent: Option<MobilityAgent>,
    /// Access point of the advertised agent, in another agent's proxy router advertisement (RFC 4881 section 3).
    pub access_point: Option<LinkLayerAddress>,
}

/// Mobility agent extension (RFC 5944 section 2.1.1).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MobilityAgent {
    /// Number of advertisements since the agent started; 256 follows 65,535, so that a lower number shows a restart.
    pub sequence: u16,
    /// Maximum registration lifetime in seconds; 65,535 is infinite.
    pub registration_lifetime: u16,
    /// Roles and capabilities.
    pub flags: AgentFlags,
    /// Offered care-of addresses. Below a gateway, the agent's own comes first and the gateway's last (RFC 4857 section
    /// 4.3); with several, theirs follow. At most 62.
    pub care_of_addresses: Vec<Ipv4Addr>,
}

/// Flags of a mobility agent, as encoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AgentFlags(pub u16);

impl AgentFlags {
    /// Requires registration through this agent, also with a co-located care-of address.
    pub const REGISTRATION_REQUIRED: AgentFlags = AgentFlags(0x8000);
    /// Accepts no further registrations.
    pub const BUSY: AgentFlags = AgentFlags(0x4000);
    /// Home agent on this link.
    pub const HOME_AGENT: AgentFlags = AgentFlags(0x2000);
    /// Foreign agent on this link.
    pub const FOREIGN_AGENT: AgentFlags = AgentFlags(0x1000);
    /// Supports minimal encapsulation (RFC 2004).
    pub const MINIMAL_ENCAPSULATION: AgentFlags = AgentFlags(0x0800);
    /// Supports generic routing encapsulation (RFC 2784).
    pub const GENERIC_ENCAPSULATION: AgentFlags = AgentFlags(0x0400);
    /// Supports Van Jacobson's header compression on the link (the V bit of RFC 2002 section 2.1.1; reserved since RFC
    /// 3344).
    pub const HEADER_COMPRESSION: AgentFlags = AgentFlags(0x0200);
    /// Supports reverse tunnelling (RFC 3024).
    pub const REVERSE_TUNNEL: AgentFlags = AgentFlags(0x0100);
    /// Supports regional registration (RFC 4857).
    pub const REGIONAL: AgentFlags = AgentFlags(0x0020);

    /// Returns the union of the flags.
    pub const fn with(self, other: AgentFlags) -> AgentFlags {
        AgentFlags(self.0 | other.0)
    }

    /// Returns true if all flags of `other` are set.
    pub const fn contains(self, other: AgentFlags) -> bool {
        self.0 & other.0 == other.0
    }
}

impl AgentDiscovery {
    /// Returns the length on the wire after the IP header, in bytes.
    pub fn wire_length(&self) -> u32 {
        let advertisement = match self {
            AgentDiscovery::Solicitation => return 8,
            AgentDiscovery::ProxySolicitation(_) => return 8 + ACCESS_POINT_LENGTH,
            AgentDiscovery::Advertisement(advertisement) => advertisement,
        };
        let agent = advertisement.mobility_agent.as_ref();
        let agent = agent.map_or(0, |agent| 8 + 4 * agent.care_of_addresses.len());
        let prefixes = match advertisement.prefix_lengths.len() {
            0 => 0,
            count => 2 + count,
        };
        let point = advertisement
            .access_point
            .map_or(0, |_| ACCESS_POINT_LENGTH);
        (8 + 8 * advertisement.routers.len() + agent + prefixes) as u32 + point
    }

    /// Appends the message with a checksum of zero.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        let advertisement = match self {
            AgentDiscovery::Solicitation => return out.extend_from_slice(&SOLICITATION),
            AgentDiscovery::ProxySolicitation(point) => {
                out.extend_from_slice(&SOLICITATION);
                return encode_access_point(*point, out);
            }
            AgentDiscovery::Advertisement(advertisement) => advertisement,
        };
        // Two words for each router: address and preference.
        out.extend_from_slice(&[9, 0, 0, 0, advertisement.routers.len() as u8, 2]);
        out.extend_from_slice(&advertisement.lifetime.to_be_bytes());
        for (router, preference) in &advertisement.routers {
            out.extend_from_slice(&router.octets());
            out.extend_from_slice(&preference.to_be_bytes());
        }
        if let Some(agent) = &advertisement.mobility_agent {
            let length = 6 + 4 * agent.care_of_addresses.len() as u8;
            out.extend_from_slice(&[extension::MOBILITY_AGENT, length]);
            out.extend_from_slice(&agent.sequence.to_be_bytes());
            out.extend_from_slice(&agent.registration_lifetime.to_be_bytes());
            out.extend_from_slice(&agent.flags.0.to_be_bytes());
            for address in &agent.care_of_addresses {
                out.extend_from_slice(&address.octets());
            }
        }
        if !advertisement.prefix_lengths.is_empty() {
            let length = advertisement.prefix_lengths.len() as u8;
            out.extend_from_slice(&[extension::PREFIX_LENGTHS, length]);
            out.extend_from_slice(&advertisement.prefix_lengths);
        }
        if let Some(point) = advertisement.access_point {
            encode_access_point(point, out);
        }
    }

    /// Decodes a message of type 9 or 10; the caller has checked the checksum, and that there are eight bytes.
    pub(crate) fn decode(bytes: &[u8]) -> Result<AgentDiscovery, DecodeError> {
        if bytes[0] == 10 {
            return Ok(match access_point_in(&bytes[8..]) {
                Some(point) => AgentDiscovery::ProxySolicitation(point),
                None => AgentDiscovery::Solicitation,
            });
        }
        let words_a_router = usize::from(bytes[5]);
        if words_a_router < 2 {
            return Err(field("address entry size", words_a_router as u32));
        }
        let end = 8 + usize::from(bytes[4]) * words_a_router * 4;
        expect_length(HEADER, bytes, end)?;
        let routers = bytes[8..end].chunks_exact(words_a_router * 4);
        let mut advertisement = RouterAdvertisement {
            lifetime: u16_at(bytes, 6),
            routers: routers
                .map(|entry| (address_at(entry, 0), u32_at(entry, 4) as i32))
                .collect(),
            ..RouterAdvertisement::default()
        };
        let mut rest = &bytes[end..];
        while let Some((&kind, after)) = rest.split_first() {
            // Padding is the only extension without a length.
            if kind == extension::PADDING {
                rest = after;
                continue;
            }
            expect_length(HEADER, rest, 2)?;
            let end = 2 + usize::from(rest[1]);
            expect_length(HEADER, rest, end)?;
            advertisement.read_extension(kind, &rest[2..end])?;
            rest = &rest[end..];
        }
        Ok(AgentDiscovery::Advertisement(advertisement))
    }
}

impl RouterAdvertisement {
    fn read_extension(&mut self, kind: u8, bytes: &[u8]) -> Result<(), DecodeError> {
        match kind {
            extension::MOBILITY_AGENT => {
                if bytes.len() < 6 || !(bytes.len() - 6).is_multiple_of(4) {
                    return Err(field("mobility agent length", bytes.len() as u32));
                }
                self.mobility_agent = Some(MobilityAgent {
                    sequence: u16_at(bytes, 0),
                    registration_lifetime: u16_at(bytes, 2),
                    flags: AgentFlags(u16_at(bytes, 4)),
                    care_of_addresses: bytes[6..]
                        .chunks_exact(4)
                        .map(|address| address_at(address, 0))
                        .collect(),
                });
            }
            extension::PREFIX_LENGTHS => {
                if bytes.len() != self.routers.len() {
                    return Err(field("number of prefix lengths", bytes.len() as u32));
                }
                if let Some(&length) = bytes.iter().find(|&&length| length > 32) {
                    return Err(field("prefix length", u32::from(length)));
                }
                self.prefix_lengths = bytes.to_vec();
            }
            extension::LINK_LAYER_ADDRESS => self.access_point = access_point(bytes),
            // RFC 5944 section 1.8: unknown types below 128 invalidate the message; others are skipped.
            0..=127 => return Err(field("extension", u32::from(kind))),
            _ => {}
        }
        Ok(())
    }
}

/// A solicitation (RFC 1256 section 3), before its extensions.
const SOLICITATION: [u8; 8] = [10, 0, 0, 0, 0, 0, 0, 0];
/// Length of the extension with an access point, in bytes.
const ACCESS_POINT_LENGTH: u32 = 9;

fn encode_access_point(LinkLayerAddress(point): LinkLayerAddress, out: &mut Vec<u8>) {
    out.extend_from_slice(&[extension::LINK_LAYER_ADDRESS, 7, link_layer::ACCESS_POINT]);
    out.extend_from_slice(&point);
}

/// Returns the access point in the contents of a link-layer address extension.
fn access_point(content: &[u8]) -> Option<LinkLayerAddress> {
    let (&subtype, point) = content.split_first()?;
    let point = point.try_into().ok().map(LinkLayerAddress);
    point.filter(|_| subtype == link_layer::ACCESS_POINT)
}

/// Returns the access point in the extensions of a solicitation. Other bytes are ignored, as RFC 1256 section 3.1 has it.
fn access_point_in(extensions: &[u8]) -> Option<LinkLayerAddress> {
    match extensions {
        [extension::LINK_LAYER_ADDRESS, length, rest @ ..] => {
            access_point(rest.get(..usize::from(*length))?)
        }
        _ => None,
    }
}

/// Returns the address at byte `at`, which the caller has checked to exist.
pub(super) fn address_at(bytes: &[u8], at: usize) -> Ipv4Addr {
    Ipv4Addr::from_bits(u32_at(bytes, at))
}

fn field(field: &'static str, value: u32) -> DecodeError {
    DecodeError::Field {
        header: HEADER,
        field,
        value,
    }
}

impl AgentDiscovery {
    /// Describes the message.
    pub(super) fn words(&self) -> Words {
        match self {
            AgentDiscovery::Solicitation => ("Agent Solicitation", String::new()),
            AgentDiscovery::ProxySolicitation(_) => ("Proxy Router Solicitation", String::new()),
            AgentDiscovery::Advertisement(advertisement) => {
                // Without the sequence number, so that equal advertisements look the same.
                let agent = advertisement.mobility_agent.as_ref();
                let details = agent.map_or(String::new(), |agent| {
                    let care_of = agent.care_of_addresses.iter();
                    let care_of = care_of.map(|address| format!("care-of address {address}"));
                    care_of.collect::<Vec<_>>().join(", ")
                });
                let name = match advertisement.access_point {
                    None => "Agent Advertisement",
                    Some(_) => "Proxy Router Advertisement",
                };
                (name, details)
            }
        }
    }
}
