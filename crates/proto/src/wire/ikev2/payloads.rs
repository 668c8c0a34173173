//! Payloads of IKEv2 (RFC 7296 section 3): a chain in which each names the type of the next.

use super::{CHECK, GROUP, HEADER, KeyExchange, field};
use crate::wire::{DecodeError, expect_length, u16_at};
use core::net::Ipv6Addr;

const SECURITY_ASSOCIATION: u8 = 33;
const KEY_EXCHANGE: u8 = 34;
/// Identifications of the initiator and of the responder.
pub(super) const IDENTIFICATION: [u8; 2] = [35, 36];
pub(super) const AUTHENTICATION: u8 = 39;
const NONCE: u8 = 40;
const NOTIFY: u8 = 41;
pub(super) const TRAFFIC_SELECTOR_INITIATOR: u8 = 44;
pub(super) const TRAFFIC_SELECTOR_RESPONDER: u8 = 45;
const ENCRYPTED: u8 = 46;
pub(super) const CONFIGURATION: u8 = 47;
/// The payload of the IPsec association, of the same type as the IKE association's.
pub(super) const CHILD_ASSOCIATION: u8 = SECURITY_ASSOCIATION;
/// Types that RFC 7296 defines; the critical bit of others counts.
const KNOWN: core::ops::RangeInclusive<u8> = 33..=48;
/// Length of a payload's header, in bytes.
const PAYLOAD_HEADER: usize = 4;

/// The payloads of a message, in order: types, and contents of at least four bytes without their headers.
#[derive(Debug, Default)]
pub(super) struct Payloads(Vec<(u8, Vec<u8>)>);

impl Payloads {
    pub(super) fn add(&mut self, kind: u8, content: Vec<u8>) {
        self.0.push((kind, content));
    }

    pub(super) fn add_key_exchange(&mut self, own: &KeyExchange) {
        let group = GROUP.to_be_bytes();
        let public_value = [&group[..], &[0; 2], &own.public_value].concat();
        self.add(SECURITY_ASSOCIATION, ike_association());
        self.add(KEY_EXCHANGE, public_value);
        self.add(NONCE, own.nonce.to_vec());
    }

    /// Adds a notification without data, about the IKE association.
    pub(super) fn add_notification(&mut self, kind: u16) {
        let [high, low] = kind.to_be_bytes();
        self.add(NOTIFY, vec![0, 0, high, low]);
    }

    /// Returns the type of the first payload, or of the encrypted one around all.
    pub(super) fn first(&self, is_encrypted: bool) -> u8 {
        match is_encrypted {
            true => ENCRYPTED,
            false => self.0.first().map_or(0, |(kind, _)| *kind),
        }
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        let following = self.0.iter().skip(1).map(|(kind, _)| *kind).chain([0]);
        for ((_, content), next) in self.0.iter().zip(following) {
            let length = (PAYLOAD_HEADER + content.len()) as u16;
            out.extend_from_slice(&[next, 0]);
            out.extend_from_slice(&length.to_be_bytes());
            out.extend_from_slice(content);
        }
    }

    /// Encodes the payloads in an encrypted one (section 3.14): with null encryption an empty initialization vector, no
    /// padding, and its length.
    pub(super) fn encode_encrypted(&self, check: &[u8; CHECK], out: &mut Vec<u8>) {
        let mut content = Vec::new();
        self.encode(&mut content);
        content.push(0);
        let length = (PAYLOAD_HEADER + content.len() + CHECK) as u16;
        out.extend_from_slice(&[self.first(false), 0]);
        out.extend_from_slice(&length.to_be_bytes());
        out.extend_from_slice(&content);
        out.extend_from_slice(check);
    }

    /// Decodes a chain that begins with this type.
    pub(super) fn decode(first: u8, mut bytes: &[u8]) -> Result<Payloads, DecodeError> {
        let mut payloads = Payloads::default();
        let mut kind = first;
        while kind != 0 {
            expect_length(HEADER, bytes, PAYLOAD_HEADER)?;
            let length = usize::from(u16_at(bytes, 2));
            if length < PAYLOAD_HEADER {
                return Err(field("payload length", length as u32));
            }
            expect_length(HEADER, bytes, length)?;
            let is_critical = bytes[1] & 0x80 != 0;
            if is_critical && !KNOWN.contains(&kind) {
                return Err(field("critical payload", kind.into()));
            }
            payloads.add(kind, bytes[PAYLOAD_HEADER..length].to_vec());
            kind = bytes[0];
            bytes = &bytes[length..];
        }
        Ok(payloads)
    }

    /// Decodes a message's encrypted payload, which has to be its only one; returns the payloads in it and its check.
    pub(super) fn decode_encrypted(
        kind: u8,
        bytes: &[u8],
    ) -> Result<(Payloads, [u8; CHECK]), DecodeError> {
        if kind != ENCRYPTED {
            return Err(field("next payload", kind.into()));
        }
        expect_length(HEADER, bytes, PAYLOAD_HEADER + 1 + CHECK)?;
        let length = usize::from(u16_at(bytes, 2));
        if length != bytes.len() {
            return Err(field("payload length", length as u32));
        }
        let (content, check) = bytes.split_at(length - CHECK);
        let padding = usize::from(content[content.len() - 1]);
        let end = content.len().checked_sub(1 + padding);
        let end = end.filter(|&end| end >= PAYLOAD_HEADER);
        let end = end.ok_or(field("pad length", padding as u32))?;
        let payloads = Payloads::decode(bytes[0], &content[PAYLOAD_HEADER..end])?;
        Ok((payloads, core::array::from_fn(|place| check[place])))
    }

    /// Returns the content of the first payload of a type, of at least four bytes.
    pub(super) fn find(&self, kind: u8, name: &'static str) -> Result<&[u8], DecodeError> {
        let mut all = self.0.iter().filter(|(known, _)| *known == kind);
        let (_, content) = all.next().ok_or(field(name, 0))?;
        expect_length(HEADER, content, 4)?;
        Ok(content)
    }

    /// Returns true if there is a notification of this type.
    pub(super) fn notifies(&self, kind: u16) -> bool {
        let mut all = self.0.iter().filter(|(known, _)| *known == NOTIFY);
        all.any(|(_, content)| content.len() >= 4 && u16_at(content, 2) == kind)
    }

    /// Returns the key exchange of IKE_SA_INIT, if it is of the one suite.
    pub(super) fn key_exchange(&self) -> Result<KeyExchange, DecodeError> {
        if self.find(SECURITY_ASSOCIATION, "SA")? != ike_association() {
            return Err(field("proposal", 0));
        }
        let public_value = self.find(KEY_EXCHANGE, "KE")?;
        let nonce = self.find(NONCE, "nonce")?;
        if u16_at(public_value, 0) != GROUP || public_value.len() != 36 {
            return Err(field("group", u16_at(public_value, 0).into()));
        }
        if nonce.len() != 32 {
            return Err(field("nonce length", nonce.len() as u32));
        }
        Ok(KeyExchange {
            public_value: core::array::from_fn(|place| public_value[4 + place]),
            nonce: core::array::from_fn(|place| nonce[place]),
        })
    }
}

/// Proposes the suite of the IKE association (section 3.3): ENCR_NULL, PRF_HMAC_SHA1, AUTH_HMAC_SHA1_96, group 31.
pub(super) fn ike_association() -> Vec<u8> {
    proposal(1, &[], &[(1, 11), (2, 2), (3, 2), (4, GROUP)])
}

/// Proposes the suite of the IPsec association for binding updates: ESP with ENCR_NULL, AUTH_HMAC_SHA1_96, and no
/// extended sequence numbers. Its SPI is taken from the IKE association's.
pub(super) fn child_association(spi: u64) -> Vec<u8> {
    proposal(3, &(spi as u32).to_be_bytes(), &[(1, 11), (3, 2), (5, 0)])
}

/// Encodes the only proposal of a payload, with its transforms by type and number.
fn proposal(protocol: u8, spi: &[u8], transforms: &[(u8, u16)]) -> Vec<u8> {
    let length = (8 + spi.len() + 8 * transforms.len()) as u16;
    let [high, low] = length.to_be_bytes();
    let (spi_size, count) = (spi.len() as u8, transforms.len() as u8);
    let mut out = vec![0, 0, high, low, 1, protocol, spi_size, count];
    out.extend_from_slice(spi);
    for (place, (kind, number)) in transforms.iter().enumerate() {
        let more = if place + 1 < transforms.len() { 3 } else { 0 };
        let [high, low] = number.to_be_bytes();
        out.extend_from_slice(&[more, 0, 0, 8, *kind, 0, high, low]);
    }
    out
}

/// Encodes the only traffic selector of a payload (section 3.13): messages of the Mobility Header, from the first to the
/// last address.
pub(super) fn traffic_selector([first, last]: [Ipv6Addr; 2]) -> Vec<u8> {
    let mut out = vec![1, 0, 0, 0, 8, 135, 0, 40, 0, 0, 0xFF, 0xFF];
    out.extend_from_slice(&first.octets());
    out.extend_from_slice(&last.octets());
    out
}
