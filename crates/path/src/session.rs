//! Keys that one handshake has made, and sealing with them in place.
//!
//! The keys are the raw ones of Noise's split, used with `ring` itself: so a datagram is sealed and opened where it lies, and
//! a session takes 100 bytes. `snow`'s transport state copies each message and takes 1.2 kB; setting a key up for each
//! datagram costs 4%.

use crate::frame::{Kind, Start, TRANSPORT_HEADER};
use crate::noise::Split;
use baton_proto::time::{Duration, Instant};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};

/// Age at which new keys are asked for (WireGuard, section 6.1).
pub(crate) const REKEY_AFTER: Duration = Duration::from_secs(120);
/// Age at which keys are no longer used (WireGuard, section 6.1).
pub(crate) const REJECT_AFTER: Duration = Duration::from_secs(180);
/// Messages after which new keys are asked for (WireGuard, section 6.1).
pub(crate) const REKEY_AFTER_MESSAGES: u64 = 1 << 60;

/// One handshake's outcome.
pub(crate) struct Session {
    seal: [u8; 32],
    open: [u8; 32],
    /// Index that the peer writes into datagrams for this end.
    pub(crate) local_index: u32,
    remote_index: u32,
    pub(crate) established: Instant,
    pub(crate) own: Start,
    pub(crate) peer: Start,
}

/// Facts beside the keys, of which the handshake's messages tell.
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

    /// Returns true if the peer knows the session by this index.
    pub(crate) fn is_to(&self, remote_index: u32) -> bool {
        self.remote_index == remote_index
    }

    /// The moment from which the keys are not used.
    pub(crate) fn expiry(&self) -> Instant {
        self.established + REJECT_AFTER
    }

    /// Writes a frame's header behind what `out` has. The content follows, and then [`Session::seal`].
    pub(crate) fn write_header(&self, counter: u64, out: &mut Vec<u8>) {
        Kind::Transport.write(out);
        out.extend_from_slice(&self.remote_index.to_le_bytes());
        out.extend_from_slice(&counter.to_le_bytes());
    }

    /// Seals the frame that begins at `start` and ends with `out`. Nothing, if it is too long for the cipher.
    pub(crate) fn seal(&self, counter: u64, start: usize, out: &mut Vec<u8>) -> Option<()> {
        let content = out.get_mut(start + TRANSPORT_HEADER..)?;
        let sealed =
            key(&self.seal)?.seal_in_place_separate_tag(nonce(counter), Aad::empty(), content);
        out.extend_from_slice(sealed.ok()?.as_ref());
        Some(())
    }

    /// Opens a frame in place and returns its content; nothing, if it is not authentic.
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

/// Noise's nonce: four zero bytes, then the counter (The Noise Protocol Framework, section 12.3).
fn nonce(counter: u64) -> Nonce {
    let mut nonce = [0; 12];
    let (_, number) = nonce.split_at_mut(4);
    number.copy_from_slice(&counter.to_le_bytes());
    Nonce::assume_unique_for_key(nonce)
}
