//! Decoding of messages of IKEv2.

use super::payloads::{AUTHENTICATION, CONFIGURATION, IDENTIFICATION, Payloads};
use super::{
    AssignedPrefix, CHECK, Content, FROM_INITIATOR, HEADER, HEADER_LENGTH, IKE_AUTH, IKE_SA_INIT,
    INTERNAL_ADDRESS_FAILURE, Ikev2, MIP6_HOME_PREFIX, Proof, RESPONSE, VERSION, field,
};
use crate::wire::prefix::Ipv6Prefix;
use crate::wire::{DecodeError, expect_length, ipv6_at, u16_at, u32_at};

impl Ikev2 {
    /// Decodes a UDP payload.
    ///
    /// # Errors
    /// Too few bytes, another version, exchange or suite, a missing payload, or an unknown critical one.
    pub fn decode(bytes: &[u8]) -> Result<Ikev2, DecodeError> {
        expect_length(HEADER, bytes, HEADER_LENGTH)?;
        let length = u32_at(bytes, 24) as usize;
        expect_length(HEADER, bytes, length.max(HEADER_LENGTH))?;
        if length < HEADER_LENGTH {
            return Err(field("length", length as u32));
        }
        if bytes[17] != VERSION {
            return Err(field("version", bytes[17].into()));
        }
        let (first, rest) = (bytes[16], &bytes[HEADER_LENGTH..length]);
        let is_response = match bytes[19] {
            FROM_INITIATOR => false,
            RESPONSE => true,
            flags => return Err(field("flags", flags.into())),
        };
        let number = u32_at(bytes, 20);
        let content = match (bytes[18], number) {
            (IKE_SA_INIT, 0) => {
                let own = Payloads::decode(first, rest)?.key_exchange()?;
                match is_response {
                    false => Content::InitRequest(own),
                    true => Content::InitResponse(own),
                }
            }
            (IKE_AUTH, 1) => {
                let (payloads, check) = Payloads::decode_encrypted(first, rest)?;
                content_of(&payloads, check, is_response)?
            }
            (IKE_SA_INIT | IKE_AUTH, _) => return Err(field("message ID", number)),
            (other, _) => return Err(field("exchange type", other.into())),
        };
        let message = Ikev2 {
            initiator_spi: spi_at(bytes, 0),
            responder_spi: spi_at(bytes, 8),
            content,
        };
        match message.initiator_spi {
            0 => Err(field("initiator's SPI", 0)),
            _ => Ok(message),
        }
    }
}

/// Returns the contents of an IKE_AUTH message.
fn content_of(
    payloads: &Payloads,
    check: [u8; CHECK],
    is_response: bool,
) -> Result<Content, DecodeError> {
    let method = payloads.find(AUTHENTICATION, "AUTH")?;
    // Shared key message integrity code.
    if method.len() != 24 || method[0] != 2 {
        return Err(field("authentication method", method[0].into()));
    }
    let proof = Proof {
        authentication: core::array::from_fn(|place| method[4 + place]),
        check,
    };
    let identity = payloads.find(IDENTIFICATION[usize::from(is_response)], "identification")?;
    match (is_response, identity[0], identity.len()) {
        (false, 11, 12) => Ok(Content::AuthRequest {
            mobile: spi_at(identity, 4),
            wanted: home_prefix(payloads, 1)?.map(|wanted| wanted.prefix),
            proof,
        }),
        (true, 5, 20) => Ok(Content::AuthResponse {
            home_agent: ipv6_at(identity, 4),
            assigned: match payloads.notifies(INTERNAL_ADDRESS_FAILURE) {
                true => None,
                false => {
                    let assigned = home_prefix(payloads, 2)?;
                    Some(assigned.ok_or(field("attribute length", 0))?)
                }
            },
            proof,
        }),
        (_, kind, _) => Err(field("identification type", kind.into())),
    }
}

/// Reads the attribute MIP6_HOME_PREFIX of the configuration payload, which has this type; `None` if it has no value.
fn home_prefix(payloads: &Payloads, kind: u8) -> Result<Option<AssignedPrefix>, DecodeError> {
    let configuration = payloads.find(CONFIGURATION, "CP")?;
    if configuration[0] != kind {
        return Err(field("configuration type", configuration[0].into()));
    }
    let mut rest = &configuration[4..];
    while !rest.is_empty() {
        expect_length(HEADER, rest, 4)?;
        let (attribute, length) = (u16_at(rest, 0), usize::from(u16_at(rest, 2)));
        expect_length(HEADER, rest, 4 + length)?;
        let value = &rest[4..4 + length];
        rest = &rest[4 + length..];
        match (attribute, length) {
            (MIP6_HOME_PREFIX, 0) => return Ok(None),
            (MIP6_HOME_PREFIX, 21) => {
                return Ok(Some(AssignedPrefix {
                    prefix: Ipv6Prefix::decode(HEADER, ipv6_at(value, 4), value[20])?,
                    lifetime_s: u32_at(value, 0),
                }));
            }
            (MIP6_HOME_PREFIX, _) => return Err(field("attribute length", length as u32)),
            _ => {}
        }
    }
    Err(field("MIP6_HOME_PREFIX", 0))
}

/// Returns the 64-bit field at byte `at`, which the caller has checked to exist.
fn spi_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) << 32 | u64::from(u32_at(bytes, at + 4))
}
