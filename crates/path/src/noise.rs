//! The handshake `Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s`, by the crate `snow`, and its keys.
//!
//! IK, because a router knows the home agent's key in advance and needs a handshake of one round trip; psk2, because a
//! preshared key protects traffic recorded today against a later break of X25519. WireGuard uses the same.

use crate::random::Random;
use core::fmt;
use snow::params::{CipherChoice, DHChoice, HashChoice};
use snow::resolvers::{CryptoResolver, DefaultResolver};
use snow::types::{Cipher, Dh, Hash};
use snow::{Builder, Error, HandshakeState};

const PATTERN: &str = "Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s";
/// Prologue of every handshake, so that other protocols and versions with the same keys fail.
pub(crate) const PROLOGUE: &[u8] = b"Baton path v1";
/// Prologue of a path whose ends find its rate: their reports are longer.
const RATED_PROLOGUE: &[u8] = b"Baton path v2 with rates";
/// Bytes of the first message beside its payload: ephemeral key, sealed static key and its tag, tag.
pub(crate) const FIRST_OVERHEAD: usize = 32 + 48 + 16;
/// Bytes of the second message beside its payload: ephemeral key, tag.
pub(crate) const SECOND_OVERHEAD: usize = 32 + 16;

/// X25519 private key.
#[derive(Clone)]
pub struct PrivateKey([u8; 32]);

/// X25519 public key, which identifies a peer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublicKey([u8; 32]);

/// Secret shared by both ends beside their key pairs; zeros, the default, without one.
#[derive(Clone, Default)]
pub struct PresharedKey([u8; 32]);

impl PrivateKey {
    /// Takes 32 random bytes.
    pub const fn from_bytes(bytes: [u8; 32]) -> PrivateKey {
        PrivateKey(bytes)
    }

    /// Returns the matching public key.
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

    /// Computes a shared secret for another protocol of both owners, by its label: a hash of the result of X25519.
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
    /// Takes the 32 bytes of a peer's key.
    pub const fn from_bytes(bytes: [u8; 32]) -> PublicKey {
        PublicKey(bytes)
    }

    /// Returns the 32 bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl PresharedKey {
    /// Takes 32 random bytes shared by both ends.
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

/// Keys of the two directions, the result of a handshake.
pub(crate) struct Split {
    pub(crate) from_initiator: [u8; 32],
    pub(crate) from_responder: [u8; 32],
}

/// A handshake that waits for the second message.
pub(crate) struct Asked(HandshakeState);

/// A handshake whose first message has been read, with its sender's key.
pub(crate) struct Heard {
    state: HandshakeState,
    remote: PublicKey,
}

impl Asked {
    /// Appends the first message to `out`.
    #[allow(clippy::too_many_arguments)] // A struct of them would be built only once.
    pub(crate) fn write(
        prologue: &[u8],
        local: &PrivateKey,
        remote: &PublicKey,
        preshared: &PresharedKey,
        seed: [u8; 32],
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Asked, Error> {
        let mut state = builder(prologue, local, seed)?
            .remote_public_key(&remote.0)?
            .psk(2, &preshared.0)?
            .build_initiator()?;
        let start = out.len();
        out.resize(start + FIRST_OVERHEAD + payload.len(), 0);
        state.write_message(payload, out.get_mut(start..).unwrap_or_default())?;
        Ok(Asked(state))
    }

    /// Reads the second message into `payload`. A forged one leaves the handshake unchanged.
    pub(crate) fn read(&mut self, message: &[u8], payload: &mut [u8]) -> Result<Split, Error> {
        self.0.read_message(message, payload)?;
        Ok(split(&mut self.0))
    }
}

impl Heard {
    /// Reads a first message into `payload`.
    pub(crate) fn read(
        prologue: &[u8],
        local: &PrivateKey,
        seed: [u8; 32],
        message: &[u8],
        payload: &mut [u8],
    ) -> Result<Heard, Error> {
        let mut state = builder(prologue, local, seed)?.build_responder()?;
        state.read_message(message, payload)?;
        let remote = state
            .get_remote_static()
            .and_then(|key| key.try_into().ok());
        let remote = PublicKey(remote.ok_or(Error::Input)?);
        Ok(Heard { state, remote })
    }

    /// Returns the sender's key, whose possession it has proved.
    pub(crate) fn remote(&self) -> PublicKey {
        self.remote
    }

    /// Appends the second message to `out`.
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

/// Returns the prologue of a path, by its version: one whose ends find its rate has another.
pub(crate) fn prologue(finds_rate: bool) -> &'static [u8] {
    if finds_rate { RATED_PROLOGUE } else { PROLOGUE }
}

fn builder<'a>(
    prologue: &'a [u8],
    local: &'a PrivateKey,
    seed: [u8; 32],
) -> Result<Builder<'a>, Error> {
    let resolver = Box::new(Resolver { seed });
    Builder::with_resolver(PATTERN.parse()?, resolver)
        .local_private_key(&local.0)?
        .prologue(prologue)
}

fn split(state: &mut HandshakeState) -> Split {
    let (from_initiator, from_responder) = state.dangerously_get_raw_split();
    Split {
        from_initiator,
        from_responder,
    }
}

/// Sources of a handshake's primitives; the caller supplies the randomness.
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
