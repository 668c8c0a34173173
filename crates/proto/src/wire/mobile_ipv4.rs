//! Registration of Mobile IPv4 (RFC 5944 section 3): the requests and replies that UDP carries to and from port 434.
//!
//! Two further pairs of messages have the same layout, and so they are one type: regional registrations (RFC 4857),
//! and the fast binding update (RFC 4988), which tells a previous foreign agent where its visitor has gone.

mod authentication;
mod code;
mod extension;

pub use authentication::{AuthenticationKind, NotAuthentic, SecurityAssociation};
pub use code::Code;
pub use extension::{Extension, PreviousForeignAgent};

use super::agent_discovery::address_at;
use super::{DecodeError, expect_length, u16_at, u32_at};
use core::net::Ipv4Addr;

/// UDP port of home and foreign agents (RFC 5944 section 3.3).
pub const PORT: u16 = 434;

/// A registration that never ends (RFC 5944 section 3.3).
pub const INFINITE_LIFETIME: u16 = 0xFFFF;

const HEADER: &str = "Mobile IPv4";

/// What a pair of request and reply is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    /// Registration at the home agent: types 1 and 3.
    Home,
    /// Registration at a gateway foreign agent: types 18 and 19 (RFC 4857). The agent is the gateway.
    Regional,
    /// Forwarding by a previous foreign agent: types 20 and 21 (RFC 4988). The agent is the previous one.
    Handoff,
}

impl Purpose {
    const ALL: [Purpose; 3] = [Purpose::Home, Purpose::Regional, Purpose::Handoff];

    /// Types of the request and of the reply.
    const fn types(self) -> [u8; 2] {
        match self {
            Purpose::Home => [1, 3],
            Purpose::Regional => [18, 19],
            Purpose::Handoff => [20, 21],
        }
    }
}

/// A message with the extensions that follow it, in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The fixed part.
    pub content: Content,
    /// What follows. Those up to the mobile-home authentication are for the home agent, later ones for foreign agents.
    pub extensions: Vec<Extension>,
}

/// The fixed part of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// A mobile asks.
    Request(Request),
    /// An agent answers.
    Reply(Reply),
}

/// A registration request (RFC 5944 section 3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Who is to do what with it.
    pub purpose: Purpose,
    /// What is asked for.
    pub flags: RequestFlags,
    /// For how long, in seconds: zero ends registrations, 65,535 is for ever.
    pub lifetime: u16,
    /// The mobile's address at home.
    pub home_address: Ipv4Addr,
    /// The agent that keeps the binding.
    pub agent: Ipv4Addr,
    /// The other end of the tunnel.
    pub care_of_address: Ipv4Addr,
    /// Numbers the request, and is the time of its sending in NTP's format (section 5.7.1).
    pub identification: u64,
}

/// A registration reply (RFC 5944 section 3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// What was asked for.
    pub purpose: Purpose,
    /// Whether it was granted.
    pub code: Code,
    /// For how long, in seconds.
    pub lifetime: u16,
    /// The mobile's address at home.
    pub home_address: Ipv4Addr,
    /// The agent that keeps the binding.
    pub agent: Ipv4Addr,
    /// That of the request, or for a clock that is wrong the agent's time above the request's low half.
    pub identification: u64,
}

/// The flags of a request, as the wire has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestFlags(pub u8);

impl RequestFlags {
    /// S: earlier bindings are kept, and each gets a copy.
    pub const SIMULTANEOUS: RequestFlags = RequestFlags(0x80);
    /// B: broadcasts of the home network too.
    pub const BROADCASTS: RequestFlags = RequestFlags(0x40);
    /// D: the mobile unpacks what is tunnelled itself; the care-of address is its own.
    pub const DECAPSULATION: RequestFlags = RequestFlags(0x20);
    /// M: minimal encapsulation (RFC 2004).
    pub const MINIMAL_ENCAPSULATION: RequestFlags = RequestFlags(0x10);
    /// G: generic routing encapsulation.
    pub const GENERIC_ENCAPSULATION: RequestFlags = RequestFlags(0x08);
    /// T: a tunnel back to the home agent too (RFC 3024).
    pub const REVERSE_TUNNEL: RequestFlags = RequestFlags(0x02);

    /// Both together, where `other` is asked for.
    pub const fn with_if(self, other: RequestFlags, asked: bool) -> RequestFlags {
        RequestFlags(if asked { self.0 | other.0 } else { self.0 })
    }

    /// Whether all of `other` are set.
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
    /// The message as UDP carries it.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(64);
        self.content.encode(&mut out);
        for extension in &self.extensions {
            extension.encode(&mut out);
        }
        out
    }

    /// Reads what UDP carried.
    ///
    /// # Errors
    /// Too few bytes, another type of message, or an extension that is wrong or that must be known and is not (types
    /// below 128: RFC 5944 section 1.8). A receiver drops such a message.
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

    /// The fixed part and what follows it.
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
