//! Records: the payloads of bundles. They carry streams of bytes, one for each connection that a gateway ends.
//!
//! The format is Baton's own, in CBOR: [kind, opener, number, offset, content]. The opener is 0 if the bundle's source
//! opened the stream, and 1 if its destination did.

use crate::wire::DecodeError;
use crate::wire::bundle::cbor::{Reader, write_array, write_bytes, write_unsigned, wrong};
use core::net::{IpAddr, SocketAddr};

const OPEN: u64 = 0;
const DATA: u64 = 1;
const END: u64 = 2;
const RESET: u64 = 3;

/// A stream, as one of its two nodes names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StreamId {
    /// True if this node opened it.
    pub opened_here: bool,
    /// Its number among the streams that the same node opened.
    pub number: u64,
}

/// Content of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Beginning of a stream: the end that opened the connection, and the end that it calls.
    Open([SocketAddr; 2]),
    /// Bytes of the stream.
    Data {
        /// Position of the first byte in the stream.
        offset: u64,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// End of the sender's bytes, at this position.
    End(u64),
    /// Both directions are over.
    Reset,
}

/// Payload of a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The stream.
    pub stream: StreamId,
    /// The content.
    pub content: Content,
}

impl Record {
    /// Returns the number of bytes of data.
    pub fn length(&self) -> u64 {
        match &self.content {
            Content::Data { bytes, .. } => bytes.len() as u64,
            _ => 0,
        }
    }

    /// Appends the record's bytes to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let ends;
        let (kind, offset, content): (u64, u64, &[u8]) = match &self.content {
            Content::Open(given) => {
                ends = encoded(given);
                (OPEN, 0, &ends)
            }
            Content::Data { offset, bytes } => (DATA, *offset, bytes),
            Content::End(offset) => (END, *offset, &[]),
            Content::Reset => (RESET, 0, &[]),
        };
        write_array(out, 5);
        let opener = u64::from(!self.stream.opened_here);
        for value in [kind, opener, self.stream.number, offset] {
            write_unsigned(out, value);
        }
        write_bytes(out, content);
    }

    /// Decodes a record of the other node; its stream has the name that it has at this node.
    ///
    /// # Errors
    /// Bytes are missing or left over, a number is not in its shortest form, the kind or the opener is unknown, data is
    /// empty or ends beyond 2^64, or the ends are not two addresses of one version with ports.
    pub fn decode(bytes: &[u8]) -> Result<Record, DecodeError> {
        let mut reader = Reader::new(bytes);
        reader.array_of(5, "record")?;
        let kind = reader.unsigned("kind of record")?;
        let opened_here = match reader.unsigned("opener")? {
            0 => false,
            1 => true,
            other => return Err(wrong("opener", other)),
        };
        let number = reader.unsigned("stream number")?;
        let offset = reader.unsigned("offset")?;
        let content = reader.bytes("content")?;
        reader.end("end of the record")?;
        let length = content.len() as u64;
        let content = match (kind, length) {
            (OPEN, _) if offset == 0 && !opened_here => Content::Open(decoded(content)?),
            (DATA, 1..) if offset.checked_add(length).is_some() => Content::Data {
                offset,
                bytes: content.to_vec(),
            },
            (END, 0) => Content::End(offset),
            (RESET, 0) if offset == 0 => Content::Reset,
            (OPEN..=RESET, _) => return Err(wrong("content", length)),
            _ => return Err(wrong("kind of record", kind)),
        };
        let stream = StreamId {
            opened_here,
            number,
        };
        Ok(Record { stream, content })
    }
}

/// Returns two ends: address and port of each.
fn encoded(ends: &[SocketAddr; 2]) -> Vec<u8> {
    let mut out = Vec::new();
    for end in ends {
        match end.ip() {
            IpAddr::V4(address) => out.extend_from_slice(&address.octets()),
            IpAddr::V6(address) => out.extend_from_slice(&address.octets()),
        }
        out.extend_from_slice(&end.port().to_be_bytes());
    }
    out
}

fn decoded(bytes: &[u8]) -> Result<[SocketAddr; 2], DecodeError> {
    let (first, second) = bytes.split_at(bytes.len() / 2);
    let end = |bytes: &[u8]| -> Option<SocketAddr> {
        let (address, port) = bytes.split_last_chunk::<2>()?;
        let address = match <[u8; 4]>::try_from(address) {
            Ok(address) => IpAddr::from(address),
            Err(_) => IpAddr::from(<[u8; 16]>::try_from(address).ok()?),
        };
        Some(SocketAddr::new(address, u16::from_be_bytes(*port)))
    };
    match (end(first), end(second)) {
        (Some(first), Some(second)) => Ok([first, second]),
        _ => Err(wrong("content", bytes.len() as u64)),
    }
}
