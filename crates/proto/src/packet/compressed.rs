//! TCP/IPv4 packets whose headers are compressed on a link (RFC 1144).

use super::{Body, Packet};
use crate::wire::van_jacobson::{Compressor, Decompressor, LinkHeader};
use core::net::IpAddr;

/// A TCP segment with Van Jacobson's header compression. Around it, [`Packet::ip`] has no bytes on the link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compressed {
    /// Header on the link, in place of IP's and TCP's.
    pub header: LinkHeader,
    /// The segment as it was, for observers. Its receiver restores it from the bytes on the link.
    pub segment: Body,
}

impl Compressed {
    /// Returns the length on the link, in bytes.
    pub(super) fn wire_length(&self) -> u32 {
        let data = match &self.segment {
            Body::Tcp(_, payload) => payload.length(),
            _ => 0,
        };
        self.header.bytes.len() as u32 + data
    }
}

impl Packet {
    /// Compresses the headers of a TCP/IPv4 packet for a link. Any other packet stays as it is.
    pub fn compress(self, compressor: &mut Compressor) -> Packet {
        let (Body::Tcp(..), IpAddr::V4(_)) = (&self.body, self.ip.source) else {
            return self;
        };
        let mut bytes = Vec::new();
        self.encode(&mut bytes);
        let Some((header, _)) = compressor.compress(&bytes) else {
            return self;
        };
        let compressed = Compressed {
            header,
            segment: self.body,
        };
        Packet {
            body: Body::Compressed(Box::new(compressed)),
            ..self
        }
    }

    /// Restores a packet with compressed headers from its bytes on the link; returns any other as it is. `None` for one
    /// that has to be discarded: the link's frame check shows damage, or the headers are beyond restoring.
    pub fn decompress(self, decompressor: &mut Decompressor) -> Option<Packet> {
        let Body::Compressed(compressed) = &self.body else {
            return Some(self);
        };
        if !self.bit_errors.is_empty() {
            decompressor.handle_error();
            return None;
        }
        let mut bytes = compressed.header.bytes.clone();
        if let Body::Tcp(_, payload) = &compressed.segment {
            payload.copy_into(&mut bytes);
        }
        let bytes = decompressor.decompress(compressed.header.form, &bytes)?;
        let mut packet = Packet::decode(&bytes).ok()?;
        packet.remember(self.without_compression());
        Some(packet)
    }

    /// Returns the packet as it was before compression, at its sender.
    pub fn without_compression(self) -> Packet {
        match self.body {
            Body::Compressed(compressed) => Packet {
                body: compressed.segment,
                ..self
            },
            _ => self,
        }
    }
}
