//! Keys of one handshake, and sealing with them in place.
//!
//! The keys are the raw ones of Noise's split, used with `ring` itself: this seals and opens a datagram in place, and a
//! session takes 100 bytes. `snow`'s transport state copies each message and takes 1.2 kB; setting up the key for each
//! datagram costs 4%.

use crate::frame::{Kind, Start, TRANSPORT_HEADER};
use crate::keylog::DatagramKey;
use crate::noise::Split;
use baton_proto::time::{Duration, Instant};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};

/// Age of keys that triggers a handshake (WireGuard, section 6.1).
pub(crate) const REKEY_AFTER: Duration = Duration::from_secs(120);
/// Age of keys at which they expire (WireGuard, section 6.1).
pub(crate) const REJECT_AFTER: Duration = Duration::from_secs(180);
/// Messages under one key that trigger a handshake (WireGuard, section 6.1).
pub(crate) const REKEY_AFTER_MESSAGES: u64 = 1 << 60;

/// Result of one handshake.
pub(crate) struct Session {
    seal: [u8; 32],
    open: [u8; 32],
    /// Index of this end in the peer's datagrams.
    pub(crate) local_index: u32,
    remote_index: u32,
    pub(crate) established: Instant,
    pub(crate) own: Start,
    pub(crate) peer: Start,
}

/// Facts from the handshake's messages, beside the keys.
pub(crate) struct Agreed {
    pub(crate) local_index: u32,
    pub(crate) remote_index: u32,
    pub(crate) own: Start,
    pub(crate) peer: Start,
}

impl Session {
    pub(crate) fn of_initiator(now: Instant, split: Split, agreed: Agreed) -> Session {
        Session::new(now, split.from_initiator, split.from_responder, agreed)
    }

    pub(crate) fn of_responder(now: Instant, split: Split, agreed: Agreed) -> Session {
        Session::new(now, split.from_responder, split.from_initiator, agreed)
    }

    fn new(now: Instant, seal: [u8; 32], open: [u8; 32], agreed: Agreed) -> Session {
        Session {
            seal,
            open,
            local_index: agreed.local_index,
            remote_index: agreed.remote_index,
            established: now,
            own: agreed.own,
            peer: agreed.peer,
        }
    }

    /// Returns the keys of both directions, by the receivers' indices.
    pub(crate) fn keys(&self) -> [DatagramKey; 2] {
        [
            (self.local_index, self.open),
            (self.remote_index, self.seal),
        ]
        .map(|(index, key)| DatagramKey { index, key })
    }

    /// Returns true if this is the peer's index of the session.
    pub(crate) fn is_to(&self, remote_index: u32) -> bool {
        self.remote_index == remote_index
    }

    /// Returns the time at which the keys expire.
    pub(crate) fn expiry(&self) -> Instant {
        self.established + REJECT_AFTER
    }

    /// Appends a frame's header to `out`. The content follows, and then [`Session::seal`].
    pub(crate) fn write_header(&self, counter: u64, out: &mut Vec<u8>) {
        Kind::Transport.write(out);
        out.extend_from_slice(&self.remote_index.to_le_bytes());
        out.extend_from_slice(&counter.to_le_bytes());
    }

    /// Seals the frame from `start` to the end of `out`; `None` if it is too long for the cipher.
    pub(crate) fn seal(&self, counter: u64, start: usize, out: &mut Vec<u8>) -> Option<()> {
        let content = out.get_mut(start + TRANSPORT_HEADER..)?;
        let sealed =
            key(&self.seal)?.seal_in_place_separate_tag(nonce(counter), Aad::empty(), content);
        out.extend_from_slice(sealed.ok()?.as_ref());
        Some(())
    }

    /// Opens a frame in place and returns its content; `None` if it is not authentic.
    pub(crate) fn open<'a>(&self, counter: u64, datagram: &'a mut [u8]) -> Option<&'a mut [u8]> {
        let sealed = datagram.get_mut(TRANSPORT_HEADER..)?;
        key(&self.open)?
            .open_in_place(nonce(counter), Aad::empty(), sealed)
            .ok()
    }
}

fn key(bytes: &[u8; 32]) -> Option<LessSafeKey> {
    UnboundKey::new(&CHACHA20_POLY1305, bytes)
        .ok()
        .map(LessSafeKey::new)
}

/// Returns Noise's nonce: four zero bytes, then the counter (The Noise Protocol Framework, section 12.3).
fn nonce(counter: u64) -> Nonce {
    let mut nonce = [0; 12];
    let (_, number) = nonce.split_at_mut(4);
    number.copy_from_slice(&counter.to_le_bytes());
    Nonce::assume_unique_for_key(nonce)
}
