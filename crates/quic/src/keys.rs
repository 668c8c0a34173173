//! Keys for integrity only: a packet's tag is its hash, and headers stay unprotected.

use crate::seeded::Secret;
use bytes::BytesMut;
use quinn_proto::crypto::{CryptoError, HeaderKey, KeyPair, Keys, PacketKey};

/// Length of a tag in bytes, as with AES-128-GCM (RFC 9001 section 5.3).
const TAG: usize = 16;
/// Length of a sample for header protection in bytes (RFC 9001 section 5.4).
const SAMPLE: usize = 16;

/// Packet key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TagKey(Secret);

/// Returns the keys of a level: 0 for Initial, 1 for Handshake, 2 and on for 1-RTT and its updates. They are the same
/// at both ends and for all connections.
pub(crate) fn keys_of(level: u64) -> Keys {
    Keys {
        header: KeyPair {
            local: Box::new(BareHeader),
            remote: Box::new(BareHeader),
        },
        packet: packet_keys_of(level),
    }
}

/// Returns the packet keys of a level.
pub(crate) fn packet_keys_of(level: u64) -> KeyPair<Box<dyn PacketKey>> {
    let key = TagKey(Secret {
        key: *b"integrity alone.",
        purpose: level,
    });
    KeyPair {
        local: Box::new(key),
        remote: Box::new(key),
    }
}

impl TagKey {
    fn tag(&self, packet: u64, header: &[u8], payload: &[u8]) -> [u8; TAG] {
        self.0.hash(&[&packet.to_be_bytes(), header, payload])
    }
}

impl PacketKey for TagKey {
    fn encrypt(&self, packet: u64, buf: &mut [u8], header_len: usize) {
        let Some((header, rest)) = buf.split_at_mut_checked(header_len) else {
            return;
        };
        let length = rest.len().saturating_sub(TAG);
        let (payload, tag) = rest.split_at_mut(length);
        let value = self.tag(packet, header, payload);
        for (byte, value) in tag.iter_mut().zip(value) {
            *byte = value;
        }
    }

    fn decrypt(
        &self,
        packet: u64,
        header: &[u8],
        payload: &mut BytesMut,
    ) -> Result<(), CryptoError> {
        let length = payload.len().checked_sub(TAG).ok_or(CryptoError)?;
        let (data, tag) = payload.split_at(length);
        if tag != self.tag(packet, header, data) {
            return Err(CryptoError);
        }
        payload.truncate(length);
        Ok(())
    }

    fn tag_len(&self) -> usize {
        TAG
    }

    /// Returns the limit of AES-128-GCM (RFC 9001 section 6.6).
    fn confidentiality_limit(&self) -> u64 {
        1 << 23
    }

    /// Returns the limit of AES-128-GCM (RFC 9001 section 6.6).
    fn integrity_limit(&self) -> u64 {
        1 << 52
    }
}

/// Header protection that leaves headers unchanged.
#[derive(Clone, Copy, Debug)]
struct BareHeader;

impl HeaderKey for BareHeader {
    fn decrypt(&self, _: usize, _: &mut [u8]) {}

    fn encrypt(&self, _: usize, _: &mut [u8]) {}

    fn sample_size(&self) -> usize {
        SAMPLE
    }
}
