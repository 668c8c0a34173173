//! The handshake `Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s`, by the crate `snow`, and the keys that it takes.
//!
//! IK, because a router knows the home agent's key before it speaks and wants to be through after one round trip; psk2,
//! because a preshared key keeps what is recorded today from those who can break X25519 later. WireGuard uses the same.

use crate::random::Random;
use core::fmt;
use snow::params::{CipherChoice, DHChoice, HashChoice};
use snow::resolvers::{CryptoResolver, DefaultResolver};
use snow::types::{Cipher, Dh, Hash};
use snow::{Builder, Error, HandshakeState};

const PATTERN: &str = "Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s";
/// Mixed into every handshake, so that other protocols and versions with the same keys fail.
pub(crate) const PROLOGUE: &[u8] = b"Baton path v1";
/// Bytes of the first message beside its payload: ephemeral key, sealed static key and its tag, tag.
pub(crate) const FIRST_OVERHEAD: usize = 32 + 48 + 16;
/// Bytes of the answer beside its payload: ephemeral key, tag.
pub(crate) const SECOND_OVERHEAD: usize = 32 + 16;

/// X25519 private key.
#[derive(Clone)]
pub struct PrivateKey([u8; 32]);

/// X25519 public key, by which a peer is known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublicKey([u8; 32]);

/// Secret that both ends have beside their key pairs; zeros, the default, if they have none.
#[derive(Clone, Default)]
pub struct PresharedKey([u8; 32]);

impl PrivateKey {
    /// Takes 32 random bytes.
    pub const fn from_bytes(bytes: [u8; 32]) -> PrivateKey {
        PrivateKey(bytes)
    }

    /// Computes the public key that belongs to it.
    pub fn public(&self) -> PublicKey {
        let mut public = [0; 32];
        if let Some(mut curve) = DefaultResolver.resolve_dh(&DHChoice::Curve25519) {
            curve.set(&self.0);
            for (to, from) in public.iter_mut().zip(curve.pubkey()) {
                *to = *from;
            }
        }
        PublicKey(public)
    }

    /// Computes a secret for a further protocol of the two owners, by its label: the hash of what X25519 gives both and nobody
    /// else.
    pub fn agree(&self, peer: &PublicKey, label: &str) -> [u8; 32] {
        let mut shared = [0; 32];
        if let Some(mut curve) = DefaultResolver.resolve_dh(&DHChoice::Curve25519) {
            curve.set(&self.0);
            // An error leaves zeros, as a peer's key of small order does: such a peer has chosen to have no secret.
            let _ = curve.dh(&peer.0, &mut shared);
        }
        let mut secret = [0; 32];
        if let Some(mut hash) = DefaultResolver.resolve_hash(&HashChoice::Blake2s) {
            hash.input(PROLOGUE);
            hash.input(label.as_bytes());
            hash.input(&shared);
            hash.result(&mut secret);
        }
        secret
    }
}

impl PublicKey {
    /// Takes the 32 bytes that a peer has told.
    pub const fn from_bytes(bytes: [u8; 32]) -> PublicKey {
        PublicKey(bytes)
    }

    /// Its 32 bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl PresharedKey {
    /// Takes 32 random bytes that both ends have been given.
    pub const fn from_bytes(bytes: [u8; 32]) -> PresharedKey {
        PresharedKey(bytes)
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PrivateKey(hidden)")
    }
}

impl fmt::Debug for PresharedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PresharedKey(hidden)")
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Keys of the two directions, as a handshake ends with them.
pub(crate) struct Split {
    pub(crate) from_initiator: [u8; 32],
    pub(crate) from_responder: [u8; 32],
}

/// A handshake that waits for the answer.
pub(crate) struct Asked(HandshakeState);

/// A handshake whose first message has been read, and whose it is.
pub(crate) struct Heard {
    state: HandshakeState,
    remote: PublicKey,
}

impl Asked {
    /// Writes the first message behind what `out` has.
    pub(crate) fn write(
        local: &PrivateKey,
        remote: &PublicKey,
        preshared: &PresharedKey,
        seed: [u8; 32],
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Asked, Error> {
        let mut state = builder(local, seed)?
            .remote_public_key(&remote.0)?
            .psk(2, &preshared.0)?
            .build_initiator()?;
        let start = out.len();
        out.resize(start + FIRST_OVERHEAD + payload.len(), 0);
        state.write_message(payload, out.get_mut(start..).unwrap_or_default())?;
        Ok(Asked(state))
    }

    /// Reads the answer into `payload`. A forged one leaves the handshake as it was.
    pub(crate) fn read(&mut self, message: &[u8], payload: &mut [u8]) -> Result<Split, Error> {
        self.0.read_message(message, payload)?;
        Ok(split(&mut self.0))
    }
}

impl Heard {
    /// Reads a first message into `payload`.
    pub(crate) fn read(
        local: &PrivateKey,
        seed: [u8; 32],
        message: &[u8],
        payload: &mut [u8],
    ) -> Result<Heard, Error> {
        let mut state = builder(local, seed)?.build_responder()?;
        state.read_message(message, payload)?;
        let remote = state
            .get_remote_static()
            .and_then(|key| key.try_into().ok());
        let remote = PublicKey(remote.ok_or(Error::Input)?);
        Ok(Heard { state, remote })
    }

    /// The key of who has sent the message, and has proved to have it.
    pub(crate) fn remote(&self) -> PublicKey {
        self.remote
    }

    /// Writes the answer behind what `out` has.
    pub(crate) fn write(
        mut self,
        preshared: &PresharedKey,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Split, Error> {
        self.state.set_psk(2, &preshared.0)?;
        let start = out.len();
        out.resize(start + SECOND_OVERHEAD + payload.len(), 0);
        self.state
            .write_message(payload, out.get_mut(start..).unwrap_or_default())?;
        Ok(split(&mut self.state))
    }
}

fn builder(local: &PrivateKey, seed: [u8; 32]) -> Result<Builder<'_>, Error> {
    let resolver = Box::new(Resolver { seed });
    Builder::with_resolver(PATTERN.parse()?, resolver)
        .local_private_key(&local.0)?
        .prologue(PROLOGUE)
}

fn split(state: &mut HandshakeState) -> Split {
    let (from_initiator, from_responder) = state.dangerously_get_raw_split();
    Split {
        from_initiator,
        from_responder,
    }
}

/// Sources of a handshake's primitives; its randomness is the caller's.
struct Resolver {
    seed: [u8; 32],
}

impl CryptoResolver for Resolver {
    fn resolve_rng(&self) -> Option<Box<dyn snow::types::Random>> {
        Some(Box::new(Random::new(self.seed)))
    }

    fn resolve_dh(&self, choice: &DHChoice) -> Option<Box<dyn Dh>> {
        DefaultResolver.resolve_dh(choice)
    }

    fn resolve_hash(&self, choice: &HashChoice) -> Option<Box<dyn Hash>> {
        DefaultResolver.resolve_hash(choice)
    }

    fn resolve_cipher(&self, choice: &CipherChoice) -> Option<Box<dyn Cipher>> {
        DefaultResolver.resolve_cipher(choice)
    }
}

impl snow::types::Random for Random {
    fn try_fill_bytes(&mut self, into: &mut [u8]) -> Result<(), Error> {
        for chunk in into.chunks_mut(32) {
            let drawn = self.bytes();
            chunk
                .iter_mut()
                .zip(drawn)
                .for_each(|(to, from)| *to = from);
        }
        Ok(())
    }
}
