//! Bundles of Bundle Protocol version 7 (RFC 9171), and the administrative records of custody in their payloads.
//!
//! Endpoints are of the scheme `ipn`, or the null endpoint `dtn:none`. Fragments are refused, and the contents of
//! extension blocks are not read.

pub mod cbor;
mod custody;
mod fields;
#[cfg(test)]
mod tests;

pub use custody::{AdministrativeRecord, CustodySignal, Disposition, Encapsulated, Scope};

use super::DecodeError;
use cbor::{Reader, write_array, write_bytes, write_unsigned, wrong};

/// UDP port of bundle nodes (RFC 7122; registered as "dtn-bundle").
pub const PORT: u16 = 4556;

/// Version in the primary block.
const VERSION: u64 = 7;
/// Type and number of the payload block.
const PAYLOAD: u64 = 1;
/// Type of the block integrity block (RFC 9172), which may replace the CRC of the primary block.
const BLOCK_INTEGRITY: u64 = 11;

/// Bundle processing control flags (RFC 9171 section 4.2.3).
pub mod bundle_flags {
    /// The bundle is a fragment.
    pub const IS_FRAGMENT: u64 = 0x01;
    /// The payload is an administrative record.
    pub const ADMINISTRATIVE: u64 = 0x02;
    /// The bundle must not be fragmented.
    pub const MUST_NOT_FRAGMENT: u64 = 0x04;
}

/// Block processing control flag: a node that cannot process the block deletes the bundle (RFC 9171 section 4.2.4).
pub const DELETE_IF_NOT_PROCESSED: u64 = 0x04;

/// Endpoint of bundles (RFC 9171 section 4.2.5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndpointId {
    /// The null endpoint, `dtn:none`.
    None,
    /// `ipn:node.service`.
    Ipn {
        /// Number of the node.
        node: u64,
        /// Number of the service; 0 is the node's administrative endpoint.
        service: u64,
    },
}

/// Type of a block's CRC (RFC 9171 section 4.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrcType {
    /// No CRC.
    None,
    /// CRC-16 X-25.
    Crc16,
    /// CRC-32C.
    Crc32c,
}

/// Creation timestamp (RFC 9171 section 4.2.7): with the source it identifies a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreationTimestamp {
    /// DTN time: milliseconds since the beginning of the year 2000, UTC.
    pub time_ms: u64,
    /// Sequence number.
    pub sequence: u64,
}

/// Primary block (RFC 9171 section 4.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrimaryBlock {
    /// Bundle processing control flags: [`bundle_flags`].
    pub flags: u64,
    /// Type of its CRC.
    pub crc: CrcType,
    /// Destination.
    pub destination: EndpointId,
    /// Source.
    pub source: EndpointId,
    /// Endpoint to which status reports go.
    pub report_to: EndpointId,
    /// Creation timestamp.
    pub created: CreationTimestamp,
    /// Time from the creation to the expiry, in milliseconds.
    pub lifetime_ms: u64,
}

/// Canonical block (RFC 9171 section 4.3.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Block type code.
    pub kind: u64,
    /// Block number.
    pub number: u64,
    /// Block processing control flags.
    pub flags: u64,
    /// Type of its CRC.
    pub crc: CrcType,
    /// Block-type-specific data.
    pub data: Vec<u8>,
}

/// A bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle {
    /// Primary block.
    pub primary: PrimaryBlock,
    /// Extension blocks, in order.
    pub extensions: Vec<Block>,
    /// Block processing control flags of the payload block.
    pub payload_flags: u64,
    /// CRC type of the payload block.
    pub payload_crc: CrcType,
    /// Payload.
    pub payload: Vec<u8>,
}

impl Bundle {
    /// Appends the bundle's bytes to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(cbor::OPEN);
        self.primary.encode(out);
        for block in &self.extensions {
            write_block(
                out,
                [block.kind, block.number, block.flags],
                block.crc,
                &block.data,
            );
        }
        let head = [PAYLOAD, PAYLOAD, self.payload_flags];
        write_block(out, head, self.payload_crc, &self.payload);
        out.push(cbor::BREAK);
    }

    /// Decodes a bundle that takes all bytes.
    ///
    /// # Errors
    /// Bytes are missing or left over, a number is not in its shortest form, a CRC does not match, a block number
    /// occurs twice, the payload block is not the last one, the primary block has neither a CRC nor a block integrity
    /// block, or the bundle is a fragment.
    pub fn decode(bytes: &[u8]) -> Result<Bundle, DecodeError> {
        let mut reader = Reader::new(bytes);
        reader.expect(cbor::OPEN, "bundle")?;
        let primary = PrimaryBlock::decode(&mut reader)?;
        let mut extensions: Vec<Block> = Vec::new();
        let payload = loop {
            let block = Block::decode(&mut reader)?;
            if block.number == 0 || extensions.iter().any(|other| other.number == block.number) {
                return Err(wrong("block number", block.number));
            }
            if (block.kind == PAYLOAD) != (block.number == PAYLOAD) {
                return Err(wrong("block number", block.number));
            }
            match block.kind {
                PAYLOAD => break block,
                _ => extensions.push(block),
            }
        };
        reader.expect(cbor::BREAK, "end of the bundle")?;
        reader.end("end of the bundle")?;
        let is_protected = |block: &Block| block.kind == BLOCK_INTEGRITY;
        if primary.crc == CrcType::None && !extensions.iter().any(is_protected) {
            return Err(wrong("CRC type of the primary block", 0));
        }
        Ok(Bundle {
            primary,
            extensions,
            payload_flags: payload.flags,
            payload_crc: payload.crc,
            payload: payload.data,
        })
    }
}

impl PrimaryBlock {
    fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        write_array(out, if self.crc == CrcType::None { 8 } else { 9 });
        for value in [VERSION, self.flags, self.crc.code()] {
            write_unsigned(out, value);
        }
        for endpoint in [self.destination, self.source, self.report_to] {
            endpoint.encode(out);
        }
        write_array(out, 2);
        for value in [
            self.created.time_ms,
            self.created.sequence,
            self.lifetime_ms,
        ] {
            write_unsigned(out, value);
        }
        self.crc.append(out, start);
    }

    fn decode(reader: &mut Reader<'_>) -> Result<PrimaryBlock, DecodeError> {
        let start = reader.position();
        let count = reader.array("primary block")?;
        let version = reader.unsigned("version")?;
        if version != VERSION {
            return Err(wrong("version", version));
        }
        let flags = reader.unsigned("bundle processing control flags")?;
        if flags & bundle_flags::IS_FRAGMENT != 0 {
            return Err(wrong("bundle processing control flags", flags));
        }
        let crc = CrcType::decode(reader)?;
        if count != if crc == CrcType::None { 8 } else { 9 } {
            return Err(wrong("primary block", count));
        }
        let destination = EndpointId::decode(reader)?;
        let source = EndpointId::decode(reader)?;
        let report_to = EndpointId::decode(reader)?;
        reader.array_of(2, "creation timestamp")?;
        let created = CreationTimestamp {
            time_ms: reader.unsigned("creation time")?,
            sequence: reader.unsigned("sequence number")?,
        };
        let lifetime_ms = reader.unsigned("lifetime")?;
        crc.check(reader, start)?;
        Ok(PrimaryBlock {
            flags,
            crc,
            destination,
            source,
            report_to,
            created,
            lifetime_ms,
        })
    }
}

impl Block {
    fn decode(reader: &mut Reader<'_>) -> Result<Block, DecodeError> {
        let start = reader.position();
        let count = reader.array("canonical block")?;
        let kind = reader.unsigned("block type code")?;
        let number = reader.unsigned("block number")?;
        let flags = reader.unsigned("block processing control flags")?;
        let crc = CrcType::decode(reader)?;
        if count != if crc == CrcType::None { 5 } else { 6 } {
            return Err(wrong("canonical block", count));
        }
        let data = reader.bytes("block-type-specific data")?.to_vec();
        crc.check(reader, start)?;
        Ok(Block {
            kind,
            number,
            flags,
            crc,
            data,
        })
    }
}

/// Writes a canonical block: its type code, number and flags, and its data.
fn write_block(out: &mut Vec<u8>, head: [u64; 3], crc: CrcType, data: &[u8]) {
    let start = out.len();
    write_array(out, if crc == CrcType::None { 5 } else { 6 });
    for value in head {
        write_unsigned(out, value);
    }
    write_unsigned(out, crc.code());
    write_bytes(out, data);
    crc.append(out, start);
}
