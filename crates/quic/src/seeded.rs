//! Pseudorandom numbers derived from the host's secret.

use quinn_proto::crypto::{AeadKey, CryptoError, HandshakeTokenKey, HmacKey};
use quinn_proto::{ConnectionId, ConnectionIdGenerator, ServerConfig, TimeSource};
use siphasher::sip128::{Hasher128, SipHasher13};
use std::hash::Hasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// Length of an endpoint's connection IDs in bytes, as in quinn.
const CONNECTION_ID: usize = 8;
/// Length of a client's first destination connection ID in bytes, as in quinn.
const FIRST_CONNECTION_ID: usize = 20;

/// A secret, and the purpose of its use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Secret {
    pub key: [u8; 16],
    pub purpose: u64,
}

impl Secret {
    /// Returns 16 bytes derived from the secret and these parts.
    pub fn hash(&self, parts: &[&[u8]]) -> [u8; 16] {
        let mut hasher = SipHasher13::new_with_key(&self.key);
        hasher.write_u64(self.purpose);
        for part in parts {
            hasher.write_usize(part.len());
            hasher.write(part);
        }
        hasher.finish128().as_bytes()
    }

    /// Returns a seed of 32 bytes.
    pub fn seed(&self) -> [u8; 32] {
        let mut seed = [0; 32];
        seed[..16].copy_from_slice(&self.hash(&[b"first"]));
        seed[16..].copy_from_slice(&self.hash(&[b"second"]));
        seed
    }

    /// Returns the connection ID with a number.
    fn connection_id(&self, number: u64, length: usize) -> ConnectionId {
        let mut bytes = [0; 32];
        bytes[..16].copy_from_slice(&self.hash(&[&number.to_be_bytes()]));
        bytes[16..].copy_from_slice(&self.hash(&[&number.to_be_bytes(), b"more"]));
        ConnectionId::new(&bytes[..length.min(bytes.len())])
    }
}

/// Generator of an endpoint's connection IDs.
#[derive(Debug)]
pub(crate) struct ConnectionIds {
    secret: Secret,
    number: u64,
}

impl ConnectionIds {
    pub fn new(secret: Secret) -> ConnectionIds {
        ConnectionIds { secret, number: 0 }
    }
}

impl ConnectionIdGenerator for ConnectionIds {
    fn generate_cid(&mut self) -> ConnectionId {
        self.number += 1;
        self.secret.connection_id(self.number, CONNECTION_ID)
    }

    fn cid_len(&self) -> usize {
        CONNECTION_ID
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

/// Returns a provider of clients' first destination connection IDs.
pub(crate) fn first_connection_ids(secret: Secret) -> Arc<dyn Fn() -> ConnectionId + Send + Sync> {
    let number = AtomicU64::new(0);
    Arc::new(move || {
        let number = number.fetch_add(1, Ordering::Relaxed);
        secret.connection_id(number, FIRST_CONNECTION_ID)
    })
}

/// Signs tokens of stateless resets (RFC 9000 section 10.3).
impl HmacKey for Secret {
    fn sign(&self, data: &[u8], signature_out: &mut [u8]) {
        let signature = self.hash(&[data]);
        for (byte, signed) in signature_out.iter_mut().zip(signature) {
            *byte = signed;
        }
    }

    fn signature_len(&self) -> usize {
        16
    }

    fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), CryptoError> {
        match self.hash(&[data]) == signature {
            true => Ok(()),
            false => Err(CryptoError),
        }
    }
}

/// Key of address validation tokens (RFC 9000 section 8.1), which are neither issued nor accepted.
#[derive(Debug)]
pub(crate) struct NoTokens;

impl HandshakeTokenKey for NoTokens {
    fn aead_from_hkdf(&self, _: &[u8]) -> Box<dyn AeadKey> {
        Box::new(NoTokens)
    }
}

impl AeadKey for NoTokens {
    fn seal(&self, _: &mut Vec<u8>, _: &[u8]) -> Result<(), CryptoError> {
        Err(CryptoError)
    }

    fn open<'a>(&self, _: &'a mut [u8], _: &[u8]) -> Result<&'a mut [u8], CryptoError> {
        Err(CryptoError)
    }
}

/// System time, which only tokens use.
#[derive(Debug)]
pub(crate) struct NoCalendar;

impl TimeSource for NoCalendar {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }
}

/// Removes tokens and the system time from a server's configuration.
pub(crate) fn without_tokens(server: &mut ServerConfig) {
    server
        .validation_token
        .sent(0)
        .lifetime(Duration::from_secs(1));
    server.time_source(Arc::new(NoCalendar));
}
