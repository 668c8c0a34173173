//! Registration messages of Mobile IPv4 (RFC 5944 section 3): requests and replies over UDP port 434.
//!
//! Two further pairs of messages share the layout and the type: regional registrations (RFC 4857), and fast binding
//! updates (RFC 4988), which tell a previous foreign agent its visitor's new care-of address.

mod authentication;
mod code;
mod extension;
mod words;

pub use authentication::{AuthenticationKind, NotAuthentic, SecurityAssociation};
pub use code::Code;
pub use extension::{Extension, MOST_NAMED, PreviousForeignAgent};
pub(super) use words::words;

use super::agent_discovery::address_at;
use super::{DecodeError, expect_length, u16_at, u32_at};
use core::net::Ipv4Addr;

/// UDP port of home and foreign agents (RFC 5944 section 3.3).
pub const PORT: u16 = 434;

/// Infinite registration lifetime (RFC 5944 section 3.3).
pub const INFINITE_LIFETIME: u16 = 0xFFFF;

const HEADER: &str = "Mobile IPv4";

/// Purpose of a pair of request and reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    /// Registration with the home agent: types 1 and 3.
    Home,
    /// Registration with a gateway foreign agent: types 18 and 19 (RFC 4857). The agent is the gateway.
    Regional,
    /// Forwarding by a previous foreign agent: types 20 and 21 (RFC 4988). The agent is the previous one.
    Handoff,
}

impl Purpose {
    const ALL: [Purpose; 3] = [Purpose::Home, Purpose::Regional, Purpose::Handoff];

    /// Returns the types of the request and the reply.
    const fn types(self) -> [u8; 2] {
        match self {
            Purpose::Home => [1, 3],
            Purpose::Regional => [18, 19],
            Purpose::Handoff => [20, 21],
        }
    }
}

/// A message with its extensions, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The fixed part.
    pub content: Content,
    /// Extensions: up to the mobile-home authentication for the home agent, later ones for foreign agents.
    pub extensions: Vec<Extension>,
}

/// The fixed part of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// A mobile's request.
    Request(Request),
    /// An agent's reply.
    Reply(Reply),
}

/// A registration request (RFC 5944 section 3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Purpose of the registration.
    pub purpose: Purpose,
    /// Requested services.
    pub flags: RequestFlags,
    /// Lifetime in seconds: zero deregisters, 65,535 is infinite.
    pub lifetime: u16,
    /// Mobile's home address.
    pub home_address: Ipv4Addr,
    /// Agent that stores the binding.
    pub agent: Ipv4Addr,
    /// Exit of the tunnel.
    pub care_of_address: Ipv4Addr,
    /// Identification: number of the request, and its time of sending in NTP's format (section 5.7.1).
    pub identification: u64,
}

/// A registration reply (RFC 5944 section 3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Purpose of the registration.
    pub purpose: Purpose,
    /// Result of the request.
    pub code: Code,
    /// Granted lifetime in seconds.
    pub lifetime: u16,
    /// Mobile's home address.
    pub home_address: Ipv4Addr,
    /// Agent that stores the binding.
    pub agent: Ipv4Addr,
    /// Identification of the request; for a wrong clock, the agent's time in the upper half and the request's lower
    /// half.
    pub identification: u64,
}

/// Flags of a request, as encoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestFlags(pub u8);

impl RequestFlags {
    /// S: keep earlier bindings, and send a copy to each.
    pub const SIMULTANEOUS: RequestFlags = RequestFlags(0x80);
    /// B: forward broadcasts of the home network.
    pub const BROADCASTS: RequestFlags = RequestFlags(0x40);
    /// D: the mobile decapsulates; the care-of address is co-located.
    pub const DECAPSULATION: RequestFlags = RequestFlags(0x20);
    /// M: minimal encapsulation (RFC 2004).
    pub const MINIMAL_ENCAPSULATION: RequestFlags = RequestFlags(0x10);
    /// G: generic routing encapsulation (RFC 2784).
    pub const GENERIC_ENCAPSULATION: RequestFlags = RequestFlags(0x08);
    /// V: Van Jacobson's header compression between mobile and foreign agent (RFC 2002 section 3.3; reserved since RFC
    /// 3344).
    pub const HEADER_COMPRESSION: RequestFlags = RequestFlags(0x04);
    /// T: reverse tunnel to the home agent (RFC 3024).
    pub const REVERSE_TUNNEL: RequestFlags = RequestFlags(0x02);

    /// Returns the flags with those of `other` added if `asked`.
    pub const fn with_if(self, other: RequestFlags, asked: bool) -> RequestFlags {
        RequestFlags(if asked { self.0 | other.0 } else { self.0 })
    }

    /// Returns true if all flags of `other` are set.
    pub const fn contains(self, other: RequestFlags) -> bool {
        self.0 & other.0 == other.0
    }
}

impl From<Request> for Message {
    fn from(request: Request) -> Message {
        Message {
            content: Content::Request(request),
            extensions: Vec::new(),
        }
    }
}

impl From<Reply> for Message {
    fn from(reply: Reply) -> Message {
        Message {
            content: Content::Reply(reply),
            extensions: Vec::new(),
        }
    }
}

impl Message {
    /// Encodes the message as a UDP payload.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(64);
        self.content.encode(&mut out);
        for extension in &self.extensions {
            extension.encode(&mut out);
        }
        out
    }

    /// Decodes a UDP payload.
    ///
    /// # Errors
    /// Too few bytes, another message type, or an extension that is invalid or unknown and not skippable (types below
    /// 128: RFC 5944 section 1.8). A receiver drops such a message.
    pub fn decode(bytes: &[u8]) -> Result<Message, DecodeError> {
        let (content, mut rest) = Content::decode(bytes)?;
        let mut extensions = Vec::new();
        while !rest.is_empty() {
            let (extension, after) = Extension::decode(rest)?;
            extensions.push(extension);
            rest = after;
        }
        Ok(Message {
            content,
            extensions,
        })
    }
}

impl Content {
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Content::Request(request) => {
                out.extend_from_slice(&[request.purpose.types()[0], request.flags.0]);
                out.extend_from_slice(&request.lifetime.to_be_bytes());
                for address in [request.home_address, request.agent, request.care_of_address] {
                    out.extend_from_slice(&address.octets());
                }
                out.extend_from_slice(&request.identification.to_be_bytes());
            }
            Content::Reply(reply) => {
                out.extend_from_slice(&[reply.purpose.types()[1], reply.code.0]);
                out.extend_from_slice(&reply.lifetime.to_be_bytes());
                for address in [reply.home_address, reply.agent] {
                    out.extend_from_slice(&address.octets());
                }
                out.extend_from_slice(&reply.identification.to_be_bytes());
            }
        }
    }

    /// Decodes the fixed part. Returns it and the remaining bytes.
    fn decode(bytes: &[u8]) -> Result<(Content, &[u8]), DecodeError> {
        expect_length(HEADER, bytes, 1)?;
        for purpose in Purpose::ALL {
            let [request, reply] = purpose.types();
            if bytes[0] == request {
                expect_length(HEADER, bytes, 24)?;
                let request = Request {
                    purpose,
                    flags: RequestFlags(bytes[1]),
                    lifetime: u16_at(bytes, 2),
                    home_address: address_at(bytes, 4),
                    agent: address_at(bytes, 8),
                    care_of_address: address_at(bytes, 12),
                    identification: u64_at(bytes, 16),
                };
                return Ok((Content::Request(request), &bytes[24..]));
            }
            if bytes[0] == reply {
                expect_length(HEADER, bytes, 20)?;
                let reply = Reply {
                    purpose,
                    code: Code(bytes[1]),
                    lifetime: u16_at(bytes, 2),
                    home_address: address_at(bytes, 4),
                    agent: address_at(bytes, 8),
                    identification: u64_at(bytes, 12),
                };
                return Ok((Content::Reply(reply), &bytes[20..]));
            }
        }
        Err(DecodeError::Field {
            header: HEADER,
            field: "type",
            value: u32::from(bytes[0]),
        })
    }
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    (u64::from(u32_at(bytes, at)) << 32) | u64::from(u32_at(bytes, at + 4))
}

#[cfg(test)]
mod tests;
