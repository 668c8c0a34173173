//! Authentication extensions (RFC 5944 section 3.5) with HMAC-MD5 (RFC 2104), the mandatory algorithm.

use super::{Extension, Message};
use hmac::{Hmac, KeyInit, Mac};
use md5::Md5;

/// Parties of an authentication extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AuthenticationKind {
    /// Mobile node and home agent: type 32.
    MobileHome,
    /// Mobile node and foreign agent: type 33.
    MobileForeign,
    /// Foreign agent and home agent: type 34.
    ForeignHome,
    /// Mobile node and gateway foreign agent: type 36, subtype 3 (RFC 4857).
    MobileGateway,
}

impl AuthenticationKind {
    const ALL: [AuthenticationKind; 4] = [
        AuthenticationKind::MobileHome,
        AuthenticationKind::MobileForeign,
        AuthenticationKind::ForeignHome,
        AuthenticationKind::MobileGateway,
    ];

    const fn numbers(self) -> (u8, Option<u8>) {
        match self {
            AuthenticationKind::MobileHome => (32, None),
            AuthenticationKind::MobileForeign => (33, None),
            AuthenticationKind::ForeignHome => (34, None),
            AuthenticationKind::MobileGateway => (36, Some(3)),
        }
    }

    pub(super) fn from_numbers(number: u8, subtype: Option<u8>) -> Option<AuthenticationKind> {
        let numbers = (number, subtype);
        AuthenticationKind::ALL
            .into_iter()
            .find(|kind| kind.numbers() == numbers)
    }

    /// Appends type and length of an extension with an index (4 bytes) and an authenticator (16 bytes).
    pub(super) fn encode_header(self, out: &mut Vec<u8>) {
        match self.numbers() {
            (number, None) => out.extend_from_slice(&[number, 20]),
            (number, Some(subtype)) => out.extend_from_slice(&[number, subtype, 0, 20]),
        }
    }
}

/// A shared key, and the index that names it (RFC 5944 section 5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecurityAssociation {
    /// Security parameter index; those below 256 are reserved.
    pub index: u32,
    /// The key.
    pub key: [u8; 16],
}

/// Reason for a failed authentication.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAuthentic {
    /// No authentication extension.
    #[error("no authentication extension")]
    Missing,
    /// The index of another security association.
    #[error("security parameter index {0} is not that of the association")]
    Index(u32),
    /// Another key, or a message changed since.
    #[error("wrong authenticator")]
    Authenticator,
}

impl Message {
    /// Appends an authentication extension over the message and its extensions so far.
    pub fn sign(&mut self, kind: AuthenticationKind, association: &SecurityAssociation) {
        let authenticator = self.authenticator(self.extensions.len(), kind, association);
        self.extensions.push(Extension::Authentication {
            kind,
            index: association.index,
            authenticator,
        });
    }

    /// Verifies the first authentication extension of `kind`.
    ///
    /// # Errors
    /// The reason for the failure.
    pub fn verify(
        &self,
        kind: AuthenticationKind,
        association: &SecurityAssociation,
    ) -> Result<(), NotAuthentic> {
        let place = self.place(kind).ok_or(NotAuthentic::Missing)?;
        let Extension::Authentication {
            index,
            authenticator,
            ..
        } = &self.extensions[place]
        else {
            return Err(NotAuthentic::Missing);
        };
        if *index != association.index {
            return Err(NotAuthentic::Index(*index));
        }
        match *authenticator == self.authenticator(place, kind, association) {
            true => Ok(()),
            false => Err(NotAuthentic::Authenticator),
        }
    }

    /// Returns the position of the first authentication extension of `kind`.
    pub fn place(&self, kind: AuthenticationKind) -> Option<usize> {
        self.extensions.iter().position(
            |extension| matches!(extension, Extension::Authentication { kind: found, .. } if *found == kind),
        )
    }

    /// Computes the HMAC-MD5 of the message, the extensions before `place`, and the head of the extension to place
    /// there.
    fn authenticator(
        &self,
        place: usize,
        kind: AuthenticationKind,
        association: &SecurityAssociation,
    ) -> [u8; 16] {
        let mut bytes = Vec::with_capacity(64);
        self.content.encode(&mut bytes);
        for extension in &self.extensions[..place] {
            extension.encode(&mut bytes);
        }
        kind.encode_header(&mut bytes);
        bytes.extend_from_slice(&association.index.to_be_bytes());
        hmac_md5(&association.key, &bytes)
    }
}

/// Computes HMAC-MD5 (RFC 2104).
pub(super) fn hmac_md5(key: &[u8; 16], bytes: &[u8]) -> [u8; 16] {
    // A key of the digest's length fits the 64-byte block, padded with zeros.
    let mut block = [0; 64];
    block[..16].copy_from_slice(key);
    let mut mac = Hmac::<Md5>::new(&block.into());
    mac.update(bytes);
    mac.finalize().into_bytes().into()
}
