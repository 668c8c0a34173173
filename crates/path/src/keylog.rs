//! Keys of sessions for whoever is to read a capture of their datagrams.

use core::fmt;
use std::collections::VecDeque;

/// Most keys waiting to be polled: those of eight handshakes. Older ones are dropped.
const MOST_KEYS: usize = 16;

/// The key of one direction of a session.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct DatagramKey {
    /// Receiver's index in the datagrams that it opens.
    pub index: u32,
    /// Key of ChaCha20-Poly1305 (RFC 8439). The nonce is four zero bytes and the datagram's counter; nothing else is
    /// authenticated.
    pub key: [u8; 32],
}

impl fmt::Debug for DatagramKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let index = self.index;
        write!(f, "DatagramKey {{ index: {index:#010x}, key: hidden }}")
    }
}

/// The keys of an end's new sessions, if the end logs them.
#[derive(Debug, Default)]
pub(crate) struct KeyLog(Option<VecDeque<DatagramKey>>);

impl KeyLog {
    pub(crate) fn begin(&mut self) {
        self.0.get_or_insert_default();
    }

    pub(crate) fn add(&mut self, keys: [DatagramKey; 2]) {
        let Some(waiting) = &mut self.0 else { return };
        waiting.extend(keys);
        while waiting.len() > MOST_KEYS {
            waiting.pop_front();
        }
    }

    pub(crate) fn poll(&mut self) -> Option<DatagramKey> {
        self.0.as_mut()?.pop_front()
    }
}
