//! Van Jacobson's header compression on the link between a mobile and its foreign agent (the V bit of RFC 2002).

use crate::packet::Packet;
use crate::wire::van_jacobson::{Compressor, Decompressor};

/// One end of a link.
#[derive(Debug, Default)]
pub(super) struct HeaderCompression {
    /// `None` until the registration that asks for compression.
    compressor: Option<Compressor>,
    decompressor: Decompressor,
}

impl HeaderCompression {
    /// Begins or ends compression with a registration. It begins anew, so that a restarted other end follows: each
    /// connection's next packet has its whole header.
    pub(super) fn begin(&mut self, is_asked: bool) {
        self.compressor = is_asked.then(Compressor::default);
    }

    /// Returns a packet as it goes to the link.
    pub(super) fn compress(&mut self, packet: Packet) -> Packet {
        match &mut self.compressor {
            Some(compressor) => packet.compress(compressor),
            None => packet,
        }
    }

    /// Restores a packet from the link; `None` for one that has to be discarded.
    pub(super) fn decompress(&mut self, packet: Packet) -> Option<Packet> {
        packet.decompress(&mut self.decompressor)
    }
}
