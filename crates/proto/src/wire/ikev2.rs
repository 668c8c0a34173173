//! Messages of IKEv2 (RFC 7296) by which a mobile is assigned a home network prefix: the exchanges IKE_SA_INIT and
//! IKE_AUTH, with RFC 5026's configuration attribute MIP6_HOME_PREFIX. One suite is spoken: null encryption,
//! HMAC-SHA1-96, PRF-HMAC-SHA1 and a key exchange of 32 bytes (group 31); any other proposal is not understood.
//! Payloads that are not needed are skipped.
//!
//! Authenticators cover the encoding here, not the bytes that arrived. So a peer must write its messages alike: minor
//! versions, reserved bits and further payloads, which RFC 7296 lets a receiver ignore, end in a refused message. Left
//! out, too: cookies against floods (section 2.6), rekeying, deletion, and notifications other than the one below.

mod decoding;
mod payloads;
mod protection;

pub use protection::Protection;

use super::prefix::Ipv6Prefix;
use super::{DecodeError, Words};
use core::net::Ipv6Addr;
use payloads::{
    AUTHENTICATION, CHILD_ASSOCIATION, CONFIGURATION, IDENTIFICATION, Payloads,
    TRAFFIC_SELECTOR_INITIATOR, TRAFFIC_SELECTOR_RESPONDER, child_association, traffic_selector,
};

/// UDP port of both ends (RFC 7296 section 2).
pub const PORT: u16 = 500;

const HEADER: &str = "IKEv2";
/// Length of the header in bytes (section 3.1).
const HEADER_LENGTH: usize = 28;
/// Length of the integrity check of HMAC-SHA1-96, in bytes.
const CHECK: usize = 12;
/// Versions: major 2, minor 0.
const VERSION: u8 = 0x20;
const IKE_SA_INIT: u8 = 34;
const IKE_AUTH: u8 = 35;
/// Flags of the header (section 3.1).
const FROM_INITIATOR: u8 = 0x08;
const RESPONSE: u8 = 0x20;
/// Configuration attribute (RFC 5026 section 9).
const MIP6_HOME_PREFIX: u16 = 16;
/// Notify message type for a request without a free address (RFC 7296 section 3.10.1).
const INTERNAL_ADDRESS_FAILURE: u16 = 36;
/// Group 31, whose public values have 32 bytes (RFC 8031).
const GROUP: u16 = 31;

/// A message, of which a retransmission has the same bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ikev2 {
    /// SPI of the initiator, the mobile; not zero.
    pub initiator_spi: u64,
    /// SPI of the responder, the home agent; zero in the first request.
    pub responder_spi: u64,
    /// The payloads.
    pub content: Content,
}

/// Payloads of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// IKE_SA_INIT request.
    InitRequest(KeyExchange),
    /// IKE_SA_INIT response.
    InitResponse(KeyExchange),
    /// IKE_AUTH request.
    AuthRequest {
        /// Identity of the mobile, its interface identifier (ID_KEY_ID).
        mobile: u64,
        /// Prefix that the mobile would like to have, as the one it had before.
        wanted: Option<Ipv6Prefix>,
        /// Proof of the mobile's identity.
        proof: Proof,
    },
    /// IKE_AUTH response.
    AuthResponse {
        /// Identity of the home agent, its address (ID_IPV6_ADDR).
        home_agent: Ipv6Addr,
        /// The assigned prefix; `None` for the notification INTERNAL_ADDRESS_FAILURE.
        assigned: Option<AssignedPrefix>,
        /// Proof of the home agent's identity.
        proof: Proof,
    },
}

/// Public value and nonce of one side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyExchange {
    /// Public value of the key exchange.
    pub public_value: [u8; 32],
    /// Nonce.
    pub nonce: [u8; 32],
}

/// Authenticators of an IKE_AUTH message; [`Protection`] sets and checks them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Proof {
    /// Authentication by the shared key (section 2.15).
    pub authentication: [u8; 20],
    /// Integrity check of the message (section 3.14).
    pub check: [u8; CHECK],
}

/// A home network prefix on loan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AssignedPrefix {
    /// The prefix.
    pub prefix: Ipv6Prefix,
    /// Lifetime in seconds from the message on.
    pub lifetime_s: u32,
}

impl Ikev2 {
    /// Encodes the message as a UDP payload.
    pub fn encode(&self) -> Vec<u8> {
        let mut payloads = Payloads::default();
        let (exchange, flags, proof) = match &self.content {
            Content::InitRequest(own) => {
                payloads.add_key_exchange(own);
                (IKE_SA_INIT, FROM_INITIATOR, None)
            }
            Content::InitResponse(own) => {
                payloads.add_key_exchange(own);
                (IKE_SA_INIT, RESPONSE, None)
            }
            Content::AuthRequest { proof, .. } => {
                self.add_request(&mut payloads);
                (IKE_AUTH, FROM_INITIATOR, Some(proof))
            }
            Content::AuthResponse { proof, .. } => {
                self.add_response(&mut payloads);
                (IKE_AUTH, RESPONSE, Some(proof))
            }
        };
        let mut out = Vec::with_capacity(256);
        out.extend_from_slice(&self.initiator_spi.to_be_bytes());
        out.extend_from_slice(&self.responder_spi.to_be_bytes());
        out.extend_from_slice(&[payloads.first(proof.is_some()), VERSION, exchange, flags]);
        // The number of the message: that of its exchange.
        out.extend_from_slice(&u32::from(exchange - IKE_SA_INIT).to_be_bytes());
        out.extend_from_slice(&[0; 4]);
        match proof {
            Some(proof) => payloads.encode_encrypted(&proof.check, &mut out),
            None => payloads.encode(&mut out),
        }
        let length = out.len() as u32;
        out[24..28].copy_from_slice(&length.to_be_bytes());
        out
    }

    fn add_request(&self, payloads: &mut Payloads) {
        let Content::AuthRequest { wanted, proof, .. } = &self.content else {
            return;
        };
        payloads.add(IDENTIFICATION[0], self.identification());
        payloads.add(AUTHENTICATION, authentication(proof));
        let all = [0, u128::MAX].map(Ipv6Addr::from_bits);
        let wanted = wanted.map(|prefix| AssignedPrefix {
            prefix,
            lifetime_s: 0,
        });
        payloads.add(CONFIGURATION, configuration(1, wanted));
        payloads.add(CHILD_ASSOCIATION, child_association(self.initiator_spi));
        payloads.add(TRAFFIC_SELECTOR_INITIATOR, traffic_selector(all));
        payloads.add(TRAFFIC_SELECTOR_RESPONDER, traffic_selector(all));
    }

    fn add_response(&self, payloads: &mut Payloads) {
        let Content::AuthResponse {
            home_agent,
            assigned,
            proof,
        } = &self.content
        else {
            return;
        };
        payloads.add(IDENTIFICATION[1], self.identification());
        payloads.add(AUTHENTICATION, authentication(proof));
        let Some(assigned) = assigned else {
            return payloads.add_notification(INTERNAL_ADDRESS_FAILURE);
        };
        let last = assigned.prefix.address_of(Ipv6Addr::from_bits(u128::MAX));
        payloads.add(CONFIGURATION, configuration(2, Some(*assigned)));
        payloads.add(CHILD_ASSOCIATION, child_association(self.responder_spi));
        let ends = [assigned.prefix.address(), last];
        payloads.add(TRAFFIC_SELECTOR_INITIATOR, traffic_selector(ends));
        payloads.add(
            TRAFFIC_SELECTOR_RESPONDER,
            traffic_selector([*home_agent; 2]),
        );
    }

    /// Returns the sender's identification payload without its header: type, three reserved bytes, and the identity;
    /// empty in IKE_SA_INIT.
    fn identification(&self) -> Vec<u8> {
        match &self.content {
            Content::AuthRequest { mobile, .. } => {
                [&[11, 0, 0, 0], &mobile.to_be_bytes()[..]].concat()
            }
            Content::AuthResponse { home_agent, .. } => {
                [&[5, 0, 0, 0], &home_agent.octets()[..]].concat()
            }
            Content::InitRequest(_) | Content::InitResponse(_) => Vec::new(),
        }
    }

    /// Returns the name of the exchange, and the message's contents.
    fn words(&self) -> Words {
        let prefix = |prefix: &Ipv6Prefix| format!("{}/{}", prefix.address(), prefix.length());
        match &self.content {
            Content::InitRequest(_) => ("IKE_SA_INIT", "request".to_owned()),
            Content::InitResponse(_) => ("IKE_SA_INIT", "response".to_owned()),
            Content::AuthRequest { wanted: None, .. } => {
                ("IKE_AUTH", "request, home prefix".to_owned())
            }
            Content::AuthRequest {
                wanted: Some(wanted),
                ..
            } => (
                "IKE_AUTH",
                format!("request, home prefix {}", prefix(wanted)),
            ),
            Content::AuthResponse {
                assigned: Some(assigned),
                ..
            } => {
                let prefix = prefix(&assigned.prefix);
                ("IKE_AUTH", format!("response, home prefix {prefix}"))
            }
            Content::AuthResponse { assigned: None, .. } => {
                ("IKE_AUTH", "response, INTERNAL_ADDRESS_FAILURE".to_owned())
            }
        }
    }
}

/// Builds a configuration payload with the attribute MIP6_HOME_PREFIX: lifetime, prefix and prefix length (RFC 5026).
fn configuration(kind: u8, prefix: Option<AssignedPrefix>) -> Vec<u8> {
    let mut out = vec![kind, 0, 0, 0];
    out.extend_from_slice(&MIP6_HOME_PREFIX.to_be_bytes());
    let length: u16 = if prefix.is_some() { 21 } else { 0 };
    out.extend_from_slice(&length.to_be_bytes());
    if let Some(assigned) = prefix {
        out.extend_from_slice(&assigned.lifetime_s.to_be_bytes());
        out.extend_from_slice(&assigned.prefix.address().octets());
        out.push(assigned.prefix.length());
    }
    out
}

fn authentication(proof: &Proof) -> Vec<u8> {
    [&[2, 0, 0, 0], &proof.authentication[..]].concat()
}

fn field(field: &'static str, value: u32) -> DecodeError {
    DecodeError::Field {
        header: HEADER,
        field,
        value,
    }
}

/// Describes the message in a UDP datagram, if its ports are this protocol's.
pub(super) fn words(ports: [u16; 2], datagram: &[u8]) -> Option<Words> {
    if !ports.contains(&PORT) {
        return None;
    }
    Ikev2::decode(datagram).ok().map(|message| message.words())
}

#[cfg(test)]
mod tests;
