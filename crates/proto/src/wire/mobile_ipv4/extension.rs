//! Extensions of registration messages.

use super::authentication::AuthenticationKind;
use super::{HEADER, address_at};
use crate::packet::PacketName;
use crate::wire::agent_discovery::link_layer;
use crate::wire::neighbor_discovery::LinkLayerAddress;
use crate::wire::{DecodeError, expect_length, u16_at, u32_at};
use core::net::Ipv4Addr;

/// Extension types other than authentication.
mod kind {
    /// RFC 4857 section 9.3.
    pub const HIERARCHICAL_FOREIGN_AGENT: u8 = 140;
    /// Number of the draft (draft-ietf-mobileip-optim), which no standard has assigned.
    pub const PREVIOUS_FOREIGN_AGENT: u8 = 96;
    /// RFC 5944's generalised form with a subtype and a long length.
    pub const GENERALISED_AUTHENTICATION: u8 = 36;
    /// RFC 4881 section 9.1: generalised link-layer and IPv4 address, in registrations.
    pub const LINK_LAYER_ADDRESS: u8 = 138;
    /// Skippable extension for experiments (RFC 4064).
    pub const EXPERIMENTAL: u8 = 255;
}

/// Maximum number of packets that an extension names: its length is a byte.
pub const MOST_NAMED: usize = 42;
/// Length of a packet's name: an address and an identification.
const NAME_LENGTH: usize = 6;

/// An extension of a registration message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Extension {
    /// Authentication of the message up to here (RFC 5944 section 3.5).
    Authentication {
        /// Parties.
        kind: AuthenticationKind,
        /// Index of their security association.
        index: u32,
        /// HMAC-MD5 of all before it, of its type and length, and of the index.
        authenticator: [u8; 16],
    },
    /// A mobile's notification for its previous foreign agent, which the new one forwards.
    PreviousForeignAgent(PreviousForeignAgent),
    /// The foreign agent that relays a request to a gateway, and the exit of the gateway's tunnel (RFC 4857).
    HierarchicalForeignAgent(Ipv4Addr),
    /// Access point of the mobile's next link, for a registration ahead of a handover (RFC 4881 section 3).
    AccessPoint(LinkLayerAddress),
    /// Foreign agent through which a mobile registers ahead of a handover, and where it waits for the reply.
    PresentForeignAgent(Ipv4Addr),
    /// Packets that the mobile has received, the latest last, at most [`MOST_NAMED`], for a foreign agent with copies.
    ReceivedPackets(Box<[PacketName]>),
    /// An unknown extension that may be skipped (type 128 and above).
    Skipped {
        /// Extension type.
        kind: u8,
        /// Contents, at most 255 bytes.
        bytes: Box<[u8]>,
    },
}

/// Previous foreign agent notification, after draft-ietf-mobileip-optim (which never became an RFC). The authenticator
/// is that of the fast binding update (RFC 4988) that the new foreign agent makes of it, and shows the previous foreign
/// agent that its visitor requests forwarding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PreviousForeignAgent {
    /// Lifetime of the forwarding in seconds.
    pub lifetime: u16,
    /// Previous foreign agent.
    pub previous: Ipv4Addr,
    /// New care-of address.
    pub care_of_address: Ipv4Addr,
    /// Index of the security association of the mobile and its previous foreign agent.
    pub index: u32,
    /// Authenticator of the update.
    pub authenticator: [u8; 16],
}

impl Extension {
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Extension::Authentication {
                kind,
                index,
                authenticator,
            } => {
                kind.encode_header(out);
                out.extend_from_slice(&index.to_be_bytes());
                out.extend_from_slice(authenticator);
            }
            Extension::PreviousForeignAgent(notification) => {
                out.extend_from_slice(&[kind::PREVIOUS_FOREIGN_AGENT, 30]);
                out.extend_from_slice(&notification.lifetime.to_be_bytes());
                out.extend_from_slice(&notification.previous.octets());
                out.extend_from_slice(&notification.care_of_address.octets());
                out.extend_from_slice(&notification.index.to_be_bytes());
                out.extend_from_slice(&notification.authenticator);
            }
            Extension::HierarchicalForeignAgent(agent) => {
                out.extend_from_slice(&[kind::HIERARCHICAL_FOREIGN_AGENT, 4]);
                out.extend_from_slice(&agent.octets());
            }
            Extension::AccessPoint(LinkLayerAddress(point)) => {
                let length = 1 + point.len() as u8;
                out.extend_from_slice(&[
                    kind::LINK_LAYER_ADDRESS,
                    length,
                    link_layer::ACCESS_POINT,
                ]);
                out.extend_from_slice(point);
            }
            Extension::PresentForeignAgent(agent) => {
                out.extend_from_slice(&[kind::LINK_LAYER_ADDRESS, 5, link_layer::FOREIGN_AGENT]);
                out.extend_from_slice(&agent.octets());
            }
            Extension::ReceivedPackets(names) => {
                let names = &names[..names.len().min(MOST_NAMED)];
                let length = names.len() * NAME_LENGTH;
                out.extend_from_slice(&[kind::EXPERIMENTAL, length as u8]);
                for name in names {
                    out.extend_from_slice(&name.source.octets());
                    out.extend_from_slice(&name.identification.to_be_bytes());
                }
            }
            Extension::Skipped { kind, bytes } => {
                out.extend_from_slice(&[*kind, bytes.len() as u8]);
                out.extend_from_slice(bytes);
            }
        }
    }

    /// Decodes the first extension in `bytes`. Returns it and the remaining bytes.
    pub(super) fn decode(bytes: &[u8]) -> Result<(Extension, &[u8]), DecodeError> {
        expect_length(HEADER, bytes, 2)?;
        let number = bytes[0];
        let (start, length) = if number == kind::GENERALISED_AUTHENTICATION {
            expect_length(HEADER, bytes, 4)?;
            (4, usize::from(u16_at(bytes, 2)))
        } else {
            (2, usize::from(bytes[1]))
        };
        expect_length(HEADER, bytes, start + length)?;
        let (content, rest) = bytes[start..].split_at(length);
        let expect = |expected: usize| match length == expected {
            true => Ok(()),
            false => Err(field("extension length", length as u32)),
        };
        let authenticator = |at: usize| core::array::from_fn(|index| content[at + index]);
        let subtype = (number == kind::GENERALISED_AUTHENTICATION).then_some(bytes[1]);
        if let Some(kind) = AuthenticationKind::from_numbers(number, subtype) {
            expect(20)?;
            let extension = Extension::Authentication {
                kind,
                index: u32_at(content, 0),
                authenticator: authenticator(4),
            };
            return Ok((extension, rest));
        }
        let extension = match number {
            kind::PREVIOUS_FOREIGN_AGENT => {
                expect(30)?;
                Extension::PreviousForeignAgent(PreviousForeignAgent {
                    lifetime: u16_at(content, 0),
                    previous: address_at(content, 2),
                    care_of_address: address_at(content, 6),
                    index: u32_at(content, 10),
                    authenticator: authenticator(14),
                })
            }
            kind::HIERARCHICAL_FOREIGN_AGENT => {
                expect(4)?;
                Extension::HierarchicalForeignAgent(address_at(content, 0))
            }
            0..=127 => return Err(field("extension type", u32::from(number))),
            kind => read_skippable(kind, content).unwrap_or_else(|| Extension::Skipped {
                kind,
                bytes: content.into(),
            }),
        };
        Ok((extension, rest))
    }
}

/// Reads a skippable extension; `None` for an unknown one.
fn read_skippable(kind: u8, content: &[u8]) -> Option<Extension> {
    match (kind, content) {
        (kind::LINK_LAYER_ADDRESS, &[link_layer::ACCESS_POINT, a, b, c, d, e, f]) => {
            let point = LinkLayerAddress([a, b, c, d, e, f]);
            Some(Extension::AccessPoint(point))
        }
        (kind::LINK_LAYER_ADDRESS, &[link_layer::FOREIGN_AGENT, a, b, c, d]) => {
            let agent = Ipv4Addr::new(a, b, c, d);
            Some(Extension::PresentForeignAgent(agent))
        }
        // Another experiment may have the same type; ours names whole packets.
        (kind::EXPERIMENTAL, names) if names.len().is_multiple_of(NAME_LENGTH) => {
            let names = names.chunks_exact(NAME_LENGTH).map(|name| PacketName {
                source: address_at(name, 0),
                identification: u16_at(name, 4),
            });
            Some(Extension::ReceivedPackets(names.collect()))
        }
        _ => None,
    }
}

fn field(field: &'static str, value: u32) -> DecodeError {
    DecodeError::Field {
        header: HEADER,
        field,
        value,
    }
}
