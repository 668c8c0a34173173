//! Checks before any public-key work: `mac1`, which needs the receiver's public key, and under load `mac2`, which needs
//! a cookie received at the sender's address (WireGuard, section 5.4.7).
//!
//! A cookie is a MAC of the address under a secret that changes every two minutes: the receiver stores nothing about
//! the sender.

use crate::frame::{COOKIE_NONCE, COOKIE_SEALED, INITIATION_MAC1, INITIATION_MAC2, Kind, array_at};
use crate::hash::{self, MAC_BYTES};
use crate::noise::PublicKey;
use crate::random::Random;
use baton_proto::time::{Duration, Instant};
use core::net::{IpAddr, SocketAddr};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};

/// Age of the secret at which it is replaced (WireGuard, section 5.4.7).
const SECRET_LIFE: Duration = Duration::from_secs(120);

/// MACs under keys derived from a receiver's public key.
pub(crate) struct Doorkeeper {
    mac1: [u8; 32],
    cookie: [u8; 32],
}

impl Doorkeeper {
    /// Creates the MACs for messages to the owner of this key.
    pub(crate) fn of(receiver: &PublicKey) -> Doorkeeper {
        Doorkeeper {
            mac1: hash::key_of(b"mac1----", receiver.as_bytes()),
            cookie: hash::key_of(b"cookie--", receiver.as_bytes()),
        }
    }

    /// Appends `mac1` to a frame that begins at `start`.
    pub(crate) fn write_mac1(&self, start: usize, out: &mut Vec<u8>) {
        let code = hash::mac(&self.mac1, out.get(start..).unwrap_or_default());
        out.extend_from_slice(&code);
    }

    /// Checks the `mac1` at `offset`, which covers everything before it.
    pub(crate) fn is_known(&self, frame: &[u8], offset: usize) -> bool {
        let (covered, rest) = frame.split_at_checked(offset).unwrap_or_default();
        let code = rest.get(..MAC_BYTES).unwrap_or_default();
        hash::verify(&self.mac1, covered, code)
    }

    /// Writes the frame with `cookie` for the sender of `initiation`.
    pub(crate) fn write_cookie(
        &self,
        initiation: &[u8],
        mut cookie: [u8; 32],
        random: &mut Random,
        out: &mut Vec<u8>,
    ) -> Option<()> {
        let mac1: [u8; MAC_BYTES] = array_at(initiation, INITIATION_MAC1);
        let nonce: [u8; 12] = array_at(&random.bytes(), 0);
        let tag = self.key(&mac1)?.seal_in_place_separate_tag(
            Nonce::assume_unique_for_key(nonce),
            Aad::empty(),
            &mut cookie,
        );
        let tag = tag.ok()?;
        Kind::Cookie.write(out);
        out.extend_from_slice(&array_at::<4>(initiation, 4));
        out.extend_from_slice(&nonce);
        out.extend_from_slice(&cookie);
        out.extend_from_slice(tag.as_ref());
        Some(())
    }

    /// Opens a cookie frame that answers an initiation with this `mac1`.
    pub(crate) fn read_cookie(&self, mac1: &[u8; MAC_BYTES], frame: &[u8]) -> Option<[u8; 32]> {
        let nonce = Nonce::assume_unique_for_key(array_at(frame, COOKIE_NONCE));
        let mut sealed: [u8; 48] = array_at(frame, COOKIE_SEALED);
        let cookie = self
            .key(mac1)?
            .open_in_place(nonce, Aad::empty(), &mut sealed);
        cookie.ok().map(|cookie| array_at(cookie, 0))
    }

    /// Returns the key for the cookie of the initiation with this `mac1`. Each initiation has its own key, so that
    /// random nonces of twelve bytes suffice.
    fn key(&self, mac1: &[u8; MAC_BYTES]) -> Option<LessSafeKey> {
        let key = hash::derive(&self.cookie, mac1);
        UnboundKey::new(&CHACHA20_POLY1305, &key)
            .ok()
            .map(LessSafeKey::new)
    }
}

/// Secret behind the cookies that this end issues.
pub(crate) struct CookieSecret {
    secret: [u8; 32],
    replaced: Instant,
}

impl CookieSecret {
    pub(crate) fn new(now: Instant, random: &mut Random) -> CookieSecret {
        CookieSecret {
            secret: random.bytes(),
            replaced: now,
        }
    }

    /// Returns the cookie of an address at `now`.
    pub(crate) fn cookie(&mut self, now: Instant, of: SocketAddr, random: &mut Random) -> [u8; 32] {
        if now.saturating_since(self.replaced) >= SECRET_LIFE {
            *self = CookieSecret::new(now, random);
        }
        let mut message = [0; 18];
        let (address, port) = message.split_at_mut(16);
        let bytes = match of.ip() {
            IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
            IpAddr::V6(address) => address.octets(),
        };
        address.copy_from_slice(&bytes);
        port.copy_from_slice(&of.port().to_le_bytes());
        hash::derive(&self.secret, &message)
    }
}

/// Appends `mac2` to an initiation that begins at `start`: zeros without a cookie.
pub(crate) fn write_mac2(cookie: Option<&[u8; 32]>, start: usize, out: &mut Vec<u8>) {
    let covered = out.get(start..).unwrap_or_default();
    let code = cookie.map_or([0; MAC_BYTES], |cookie| hash::mac(cookie, covered));
    out.extend_from_slice(&code);
}

/// Checks an initiation's `mac2`.
pub(crate) fn has_mac2(cookie: &[u8; 32], initiation: &[u8]) -> bool {
    let (covered, code) = initiation
        .split_at_checked(INITIATION_MAC2)
        .unwrap_or_default();
    hash::verify(cookie, covered, code)
}
