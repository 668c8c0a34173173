//! MACK and SNACK: received and missing ranges (docs/aerotp.md, section 4.3).

use super::{LARGEST_NUMBER, Reader, encode_number, field, number_length};
use crate::wire::DecodeError;
use crate::wire::sequence::SequenceNumber;

/// Length of the fixed part in bytes: cumulative, echo, error rate, flags, two counts.
const FIXED: u32 = 12;
/// Maximum number of ranges of each kind in a MACK.
const MOST_RANGES: usize = 255;
/// Flag: all data up to the sender's end has arrived (AFINACK).
const COMPLETE: u8 = 0x80;
/// Flag: a number of restored packets follows the other numbers.
const RESTORED: u8 = 0x40;

/// A bit error rate in one byte: eight steps for each power of two, from 1 down to 2^-31.75, and zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ErrorRate(u8);

impl ErrorRate {
    /// Zero, no error seen.
    pub const NONE: ErrorRate = ErrorRate(0);

    /// Returns the step nearest to a rate between 0 and 1.
    pub fn from_rate(rate: f64) -> ErrorRate {
        if rate.is_nan() || rate <= 0.0 {
            return ErrorRate::NONE;
        }
        let steps = libm::round(-8.0 * libm::log2(rate.min(1.0)));
        ErrorRate(255 - (steps as u8).min(254))
    }

    /// Returns the rate with this byte on the wire.
    pub fn from_code(code: u8) -> ErrorRate {
        ErrorRate(code)
    }

    /// Returns its byte on the wire.
    pub fn code(self) -> u8 {
        self.0
    }

    /// Returns the rate.
    pub fn rate(self) -> f64 {
        match self.0 {
            0 => 0.0,
            code => libm::exp2(-f64::from(255 - code) / 8.0),
        }
    }
}

/// A range of bytes, relative to a MACK's cumulative number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Offset of the first byte.
    pub start: u32,
    /// Number of bytes, at least one.
    pub length: u32,
}

impl Range {
    /// Returns the offset after the last byte.
    pub const fn end(&self) -> u32 {
        self.start + self.length
    }
}

/// A missing range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissingRange {
    /// Range of the missing bytes.
    pub range: Range,
    /// ELN: the packets arrived damaged, so that their loss is no sign of congestion.
    pub damaged: bool,
}

/// An aggregated acknowledgment.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Mack {
    /// Sequence number up to which all data has arrived.
    pub cumulative: SequenceNumber,
    /// Number of bytes before `cumulative` that a gateway holds and the far end has not confirmed.
    pub unconfirmed: u32,
    /// Number of bytes that may be sent beyond `cumulative`.
    pub window: u32,
    /// Timestamp of the newest packet received.
    pub echo: u32,
    /// Time since that packet's arrival, in microseconds.
    pub held_for: u32,
    /// Bit error rate of the path to the sender of this MACK.
    pub error_rate: ErrorRate,
    /// Arrival rate of packets in kbit/s, including IP headers.
    pub arrival_rate: u32,
    /// AFINACK: all data to the sender's end has arrived.
    pub is_complete: bool,
    /// Number of packets that the code across packets has restored since the connection began.
    pub restored: u32,
    /// Ranges received beyond `cumulative`, ascending, each after a gap of at least a byte.
    pub received: Vec<Range>,
    /// SNACK: missing ranges, ascending.
    pub missing: Vec<MissingRange>,
}

impl Mack {
    pub(super) fn wire_length(&self) -> u32 {
        let mut length = FIXED;
        for number in [
            self.unconfirmed,
            self.window,
            self.held_for,
            self.arrival_rate,
        ] {
            length += number_length(number.min(LARGEST_NUMBER));
        }
        if self.restored > 0 {
            length += number_length(self.restored.min(LARGEST_NUMBER));
        }
        self.each_number(|number| length += number_length(number));
        length
    }

    /// Calls `tell` with the numbers of the ranges: the gap after the previous range, and the length; a missing range's
    /// length is doubled, plus one if damaged.
    fn each_number(&self, mut tell: impl FnMut(u32)) {
        let mut end = 0;
        for range in self.received.iter().take(MOST_RANGES) {
            tell(range.start - end);
            tell(range.length);
            end = range.end();
        }
        end = 0;
        for missing in self.missing.iter().take(MOST_RANGES) {
            tell(missing.range.start - end);
            tell(missing.range.length << 1 | u32::from(missing.damaged));
            end = missing.range.end();
        }
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.cumulative.0.to_be_bytes());
        out.extend_from_slice(&self.echo.to_be_bytes());
        out.push(self.error_rate.code());
        let complete = if self.is_complete { COMPLETE } else { 0 };
        let restored = if self.restored > 0 { RESTORED } else { 0 };
        out.push(complete | restored);
        let counts = [self.received.len(), self.missing.len()];
        out.extend(counts.map(|count| count.min(MOST_RANGES) as u8));
        for number in [
            self.unconfirmed,
            self.window,
            self.held_for,
            self.arrival_rate,
        ] {
            encode_number(number, out);
        }
        if self.restored > 0 {
            encode_number(self.restored, out);
        }
        self.each_number(|number| encode_number(number, out));
    }

    pub(super) fn decode(has_missing: bool, rest: &mut Reader<'_>) -> Result<Mack, DecodeError> {
        let cumulative = SequenceNumber(rest.u32()?);
        let echo = rest.u32()?;
        let error_rate = ErrorRate::from_code(rest.u8()?);
        let flags = rest.u8()?;
        if flags & !(COMPLETE | RESTORED) != 0 {
            return Err(field("MACK flags", u32::from(flags)));
        }
        let counts = [rest.u8()?, rest.u8()?];
        if has_missing != (counts[1] > 0) {
            return Err(field("SNACK ranges", u32::from(counts[1])));
        }
        let mut mack = Mack {
            cumulative,
            unconfirmed: rest.number()?,
            window: rest.number()?,
            echo,
            held_for: rest.number()?,
            error_rate,
            arrival_rate: rest.number()?,
            is_complete: flags & COMPLETE != 0,
            restored: match flags & RESTORED {
                0 => 0,
                _ => rest.number()?,
            },
            ..Mack::default()
        };
        let mut end = 0;
        for _ in 0..counts[0] {
            let gap = rest.number()?;
            if gap == 0 {
                return Err(field("gap", 0));
            }
            let range = Range::after(end, gap, rest.number()?)?;
            end = range.end();
            mack.received.push(range);
        }
        end = 0;
        for _ in 0..counts[1] {
            let (gap, coded) = (rest.number()?, rest.number()?);
            let range = Range::after(end, gap, coded >> 1)?;
            end = range.end();
            let damaged = coded & 1 == 1;
            mack.missing.push(MissingRange { range, damaged });
        }
        Ok(mack)
    }
}

impl Range {
    fn after(end: u32, gap: u32, length: u32) -> Result<Range, DecodeError> {
        let start = end + gap;
        if length == 0 || start + length > LARGEST_NUMBER {
            return Err(field("range length", length));
        }
        Ok(Range { start, length })
    }
}
