//! BLAKE2s (RFC 7693), keyed and unkeyed, for frames.

use blake2::digest::consts::{U16, U32};
use blake2::digest::{Digest, FixedOutput, Mac};
use blake2::{Blake2s256, Blake2sMac};

/// Length of the MACs in frames.
pub(crate) const MAC_BYTES: usize = 16;

/// Hashes a label and a public key into a key for one purpose.
pub(crate) fn key_of(label: &[u8; 8], public_key: &[u8; 32]) -> [u8; 32] {
    let hasher = Blake2s256::new().chain_update(label);
    hasher.chain_update(public_key).finalize().into()
}

/// Derives 32 bytes from a key and a message.
pub(crate) fn derive(key: &[u8; 32], message: &[u8]) -> [u8; 32] {
    let mac = <Blake2sMac<U32> as Mac>::new(key.into());
    mac.chain_update(message).finalize_fixed().into()
}

/// Returns the MAC of a message.
pub(crate) fn mac(key: &[u8; 32], message: &[u8]) -> [u8; MAC_BYTES] {
    let mac = <Blake2sMac<U16> as Mac>::new(key.into());
    mac.chain_update(message).finalize_fixed().into()
}

/// Verifies a message's MAC in constant time.
pub(crate) fn verify(key: &[u8; 32], message: &[u8], code: &[u8]) -> bool {
    let mac = <Blake2sMac<U16> as Mac>::new(key.into());
    mac.chain_update(message).verify_slice(code).is_ok()
}
