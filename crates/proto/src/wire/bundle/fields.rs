//! Endpoints and CRCs in blocks.

use super::super::DecodeError;
use super::cbor::{self, Reader, write_array, write_bytes, write_unsigned, wrong};
use super::{CrcType, EndpointId};
use crc::{CRC_16_IBM_SDLC, CRC_32_ISCSI, Crc, Table};

/// "CRC-16 X-25".
static X25: Crc<u16, Table<16>> = Crc::<u16, Table<16>>::new(&CRC_16_IBM_SDLC);
/// "CRC32C (Castagnoli)".
static CASTAGNOLI: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_ISCSI);

impl EndpointId {
    pub(super) fn encode(self, out: &mut Vec<u8>) {
        write_array(out, 2);
        match self {
            EndpointId::None => {
                write_unsigned(out, 1);
                write_unsigned(out, 0);
            }
            EndpointId::Ipn { node, service } => {
                write_unsigned(out, 2);
                write_array(out, 2);
                write_unsigned(out, node);
                write_unsigned(out, service);
            }
        }
    }

    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<EndpointId, DecodeError> {
        reader.array_of(2, "endpoint ID")?;
        match reader.unsigned("URI scheme code")? {
            1 => match reader.unsigned("endpoint of scheme dtn")? {
                0 => Ok(EndpointId::None),
                other => Err(wrong("endpoint of scheme dtn", other)),
            },
            2 => {
                reader.array_of(2, "endpoint of scheme ipn")?;
                Ok(EndpointId::Ipn {
                    node: reader.unsigned("node number")?,
                    service: reader.unsigned("service number")?,
                })
            }
            other => Err(wrong("URI scheme code", other)),
        }
    }
}

impl CrcType {
    pub(super) const fn code(self) -> u64 {
        match self {
            CrcType::None => 0,
            CrcType::Crc16 => 1,
            CrcType::Crc32c => 2,
        }
    }

    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<CrcType, DecodeError> {
        match reader.unsigned("CRC type")? {
            0 => Ok(CrcType::None),
            1 => Ok(CrcType::Crc16),
            2 => Ok(CrcType::Crc32c),
            other => Err(wrong("CRC type", other)),
        }
    }

    /// Appends the CRC of the block that begins at `start`; it covers the CRC field with zeros in place of its value.
    pub(super) fn append(self, out: &mut Vec<u8>, start: usize) {
        let value: Vec<u8> = match self {
            CrcType::None => return,
            CrcType::Crc16 => {
                write_bytes(out, &[0; 2]);
                X25.checksum(&out[start..]).to_be_bytes().into()
            }
            CrcType::Crc32c => {
                write_bytes(out, &[0; 4]);
                CASTAGNOLI.checksum(&out[start..]).to_be_bytes().into()
            }
        };
        let place = out.len() - value.len();
        out[place..].copy_from_slice(&value);
    }

    /// Reads the CRC of the block that begins at `start`, and compares it.
    pub(super) fn check(self, reader: &mut Reader<'_>, start: usize) -> Result<(), DecodeError> {
        if self == CrcType::None {
            return Ok(());
        }
        let covered = reader.since(start).to_vec();
        let found = reader.bytes("CRC")?;
        let mut whole = covered;
        let place = whole.len() + 1;
        self.append(&mut whole, 0);
        match whole[place..] == *found {
            true => Ok(()),
            false => Err(DecodeError::Checksum {
                header: cbor::BUNDLE,
            }),
        }
    }
}
