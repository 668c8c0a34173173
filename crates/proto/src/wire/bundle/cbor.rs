//! The part of CBOR (RFC 8949) in bundles: unsigned integers, byte strings and arrays.
//!
//! RFC 9171 section 4.1 requires the deterministic encoding of RFC 8949 section 4.2.1, in which a number has exactly
//! one form. Libraries write that form, but accept any other: this reader does not.

use super::super::DecodeError;

/// Name of the format in errors.
pub const BUNDLE: &str = "bundle";

const UNSIGNED: u8 = 0;
const BYTES: u8 = 2;
const ARRAY: u8 = 4;

/// First byte of an array of indefinite length.
pub const OPEN: u8 = 0x9F;
/// End of an array of indefinite length.
pub const BREAK: u8 = 0xFF;

/// Reader of data items, one after another.
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// Creates a reader of all bytes.
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes, at: 0 }
    }

    /// Returns the position of the next item, in bytes.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Returns the bytes from a position up to the next item.
    pub fn since(&self, position: usize) -> &'a [u8] {
        &self.bytes[position..self.at]
    }

    /// Returns the next byte, without reading it.
    pub fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Reads one byte, which must be this one.
    pub fn expect(&mut self, byte: u8, field: &'static str) -> Result<(), DecodeError> {
        match self.take(1)?[0] {
            found if found == byte => Ok(()),
            found => Err(wrong(field, u64::from(found))),
        }
    }

    /// Reads an unsigned integer.
    pub fn unsigned(&mut self, field: &'static str) -> Result<u64, DecodeError> {
        self.head(UNSIGNED, field)
    }

    /// Reads the head of an array; returns the number of its items.
    pub fn array(&mut self, field: &'static str) -> Result<u64, DecodeError> {
        self.head(ARRAY, field)
    }

    /// Reads the head of an array of `count` items.
    pub fn array_of(&mut self, count: u64, field: &'static str) -> Result<(), DecodeError> {
        match self.array(field)? {
            found if found == count => Ok(()),
            found => Err(wrong(field, found)),
        }
    }

    /// Reads a byte string.
    pub fn bytes(&mut self, field: &'static str) -> Result<&'a [u8], DecodeError> {
        let length = self.head(BYTES, field)?;
        self.take(usize::try_from(length).unwrap_or(usize::MAX))
    }

    /// Refuses further bytes.
    pub fn end(&self, field: &'static str) -> Result<(), DecodeError> {
        match self.peek() {
            None => Ok(()),
            Some(byte) => Err(wrong(field, u64::from(byte))),
        }
    }

    /// Reads the head of an item of this major type; returns its argument.
    fn head(&mut self, major: u8, field: &'static str) -> Result<u64, DecodeError> {
        let first = self.take(1)?[0];
        let (width, least) = match first & 0x1F {
            0..=23 => (0, 0),
            24 => (1, 24),
            25 => (2, 1 << 8),
            26 => (4, 1 << 16),
            27 => (8, 1 << 32),
            _ => return Err(wrong(field, u64::from(first))),
        };
        if first >> 5 != major {
            return Err(wrong(field, u64::from(first)));
        }
        if width == 0 {
            return Ok(u64::from(first & 0x1F));
        }
        let digits = self.take(width)?.iter();
        let value = digits.fold(0, |value, &byte| value << 8 | u64::from(byte));
        match value < least {
            true => Err(wrong(field, value)),
            false => Ok(value),
        }
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        let left = self.bytes.len() - self.at;
        if count > left {
            return Err(DecodeError::Truncated {
                header: BUNDLE,
                needed: self.at.saturating_add(count),
                actual: self.bytes.len(),
            });
        }
        self.at += count;
        Ok(&self.bytes[self.at - count..self.at])
    }
}

/// Returns the error of a field with this value.
pub fn wrong(field: &'static str, value: u64) -> DecodeError {
    DecodeError::Field {
        header: BUNDLE,
        field,
        value: u32::try_from(value).unwrap_or(u32::MAX),
    }
}

/// Writes an unsigned integer.
pub fn write_unsigned(out: &mut Vec<u8>, value: u64) {
    write_head(out, UNSIGNED, value);
}

/// Writes the head of an array of `count` items.
pub fn write_array(out: &mut Vec<u8>, count: u64) {
    write_head(out, ARRAY, count);
}

/// Writes a byte string.
pub fn write_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    write_head(out, BYTES, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn write_head(out: &mut Vec<u8>, major: u8, value: u64) {
    let (information, width) = match value {
        0..24 => (value as u8, 0),
        24..0x100 => (24, 1),
        0x100..0x1_0000 => (25, 2),
        0x1_0000..0x1_0000_0000 => (26, 4),
        _ => (27, 8),
    };
    out.push(major << 5 | information);
    out.extend_from_slice(&value.to_be_bytes()[8 - width..]);
}
