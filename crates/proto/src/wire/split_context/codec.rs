//! Decoding of a message's bytes in order, and encoding of addresses, durations and payload.

use super::{HEADER, field};
use crate::packet::Payload;
use crate::time::Duration;
use crate::wire::DecodeError;
use core::net::IpAddr;

/// Kinds of runs of payload.
const BYTES: u8 = 0;
const PATTERN: u8 = 1;
/// Limit of positions and durations, so that sums of a few of them do not overflow.
pub(super) const LIMIT: u64 = 1 << 61;
/// Duration of a timer that does not run.
const NONE: u64 = u64::MAX;

/// The rest of a body.
pub(super) struct Reader<'a> {
    body: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub fn new(body: &'a [u8]) -> Reader<'a> {
        Reader { body, at: 0 }
    }

    pub fn take(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        let needed = self.at.saturating_add(count);
        let taken = self.body.get(self.at..needed);
        self.at = needed;
        taken.ok_or(DecodeError::Truncated {
            header: HEADER,
            needed,
            actual: self.body.len(),
        })
    }

    /// Refuses bytes after the last field.
    pub fn finish(self) -> Result<(), DecodeError> {
        match self.body.len() - self.at {
            0 => Ok(()),
            _ => Err(field("length", self.body.len() as u64)),
        }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let taken = self.take(N)?;
        Ok(core::array::from_fn(|index| taken[index]))
    }

    pub fn u8(&mut self) -> Result<u8, DecodeError> {
        self.array().map(u8::from_be_bytes)
    }

    pub fn u16(&mut self) -> Result<u16, DecodeError> {
        self.array().map(u16::from_be_bytes)
    }

    pub fn u32(&mut self) -> Result<u32, DecodeError> {
        self.array().map(u32::from_be_bytes)
    }

    pub fn flag(&mut self, name: &'static str) -> Result<bool, DecodeError> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(field(name, u64::from(other))),
        }
    }

    fn u64(&mut self) -> Result<u64, DecodeError> {
        self.array().map(u64::from_be_bytes)
    }

    /// Reads a position in a sequence space.
    pub fn position(&mut self, name: &'static str) -> Result<u64, DecodeError> {
        match self.u64()? {
            position if position < LIMIT => Ok(position),
            other => Err(field(name, other)),
        }
    }

    pub fn duration(&mut self, name: &'static str) -> Result<Duration, DecodeError> {
        self.position(name).map(Duration::from_nanos)
    }

    pub fn optional(&mut self, name: &'static str) -> Result<Option<u64>, DecodeError> {
        match self.u64()? {
            NONE => Ok(None),
            value if value < LIMIT => Ok(Some(value)),
            other => Err(field(name, other)),
        }
    }

    pub fn optional_duration(
        &mut self,
        name: &'static str,
    ) -> Result<Option<Duration>, DecodeError> {
        Ok(self.optional(name)?.map(Duration::from_nanos))
    }

    pub fn address(&mut self) -> Result<IpAddr, DecodeError> {
        match self.u8()? {
            4 => self.array::<4>().map(IpAddr::from),
            6 => self.array::<16>().map(IpAddr::from),
            other => Err(field("address version", u64::from(other))),
        }
    }

    pub fn payload(&mut self) -> Result<Payload, DecodeError> {
        let kind = self.u8()?;
        let length = self.u32()?;
        if length == 0 {
            return Err(field("run length", 0));
        }
        match kind {
            BYTES => Ok(Payload::Bytes(self.take(length as usize)?.into())),
            PATTERN => {
                let (stream, offset) = (self.u32()?, self.position("pattern offset")?);
                self.take(length as usize)?;
                Ok(Payload::Pattern {
                    stream,
                    offset,
                    length,
                })
            }
            other => Err(field("run kind", u64::from(other))),
        }
    }

    /// Reads a list preceded by its length.
    pub fn list<T>(
        &mut self,
        mut one: impl FnMut(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<Vec<T>, DecodeError> {
        let count = self.u32()?;
        let mut list = Vec::new();
        for _ in 0..count {
            list.push(one(self)?);
        }
        Ok(list)
    }
}

pub(super) fn write_address(address: IpAddr, out: &mut Vec<u8>) {
    match address {
        IpAddr::V4(address) => {
            out.push(4);
            out.extend_from_slice(&address.octets());
        }
        IpAddr::V6(address) => {
            out.push(6);
            out.extend_from_slice(&address.octets());
        }
    }
}

pub(super) fn write_duration(duration: Duration, out: &mut Vec<u8>) {
    write_optional(Some(duration.as_nanos()), out);
}

/// Writes an optional value; values beyond the field's range are written as its maximum.
pub(super) fn write_optional(value: Option<u64>, out: &mut Vec<u8>) {
    let value = value.map_or(NONE, |value| value.min(LIMIT - 1));
    out.extend_from_slice(&value.to_be_bytes());
}

pub(super) fn write_payload(payload: &Payload, out: &mut Vec<u8>) {
    let (kind, length) = match payload {
        Payload::Bytes(_) => (BYTES, payload.length()),
        Payload::Pattern { .. } => (PATTERN, payload.length()),
    };
    out.push(kind);
    out.extend_from_slice(&length.to_be_bytes());
    if let Payload::Pattern { stream, offset, .. } = payload {
        out.extend_from_slice(&stream.to_be_bytes());
        out.extend_from_slice(&offset.to_be_bytes());
    }
    payload.copy_into(out);
}

pub(super) fn write_count(count: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&(count as u32).to_be_bytes());
}
