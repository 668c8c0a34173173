//! MACK and SNACK: what has arrived, in ranges, and what is missing (docs/aerotp.md, section 4.3).

use super::{LARGEST_NUMBER, Reader, encode_number, field, number_length};
use crate::wire::DecodeError;
use crate::wire::sequence::SequenceNumber;

/// Bytes of the part that is always the same length: cumulative, echo, error rate, flags, two counts.
const FIXED: u32 = 12;
/// The most ranges of a kind that a MACK can hold.
const MOST_RANGES: usize = 255;
/// All that was sent to the end has arrived (AFINACK).
const COMPLETE: u8 = 0x80;

/// A bit error rate in one byte: eight steps to each power of two, from 1 down to 2^-31.75; and none at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ErrorRate(u8);

impl ErrorRate {
    /// No error was seen.
    pub const NONE: ErrorRate = ErrorRate(0);

    /// The nearest step to a rate between 0 and 1.
    pub fn from_rate(rate: f64) -> ErrorRate {
        if rate.is_nan() || rate <= 0.0 {
            return ErrorRate::NONE;
        }
        let steps = libm::round(-8.0 * libm::log2(rate.min(1.0)));
        ErrorRate(255 - (steps as u8).min(254))
    }

    /// The rate, zero for none.
    pub fn rate(self) -> f64 {
        match self.0 {
            0 => 0.0,
            code => libm::exp2(-f64::from(255 - code) / 8.0),
        }
    }
}

/// Bytes that follow each other, by their distance from a MACK's cumulative number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Distance of the first byte.
    pub start: u32,
    /// Number of bytes, at least one.
    pub length: u32,
}

impl Range {
    /// Distance of the byte behind the last.
    pub const fn end(&self) -> u32 {
        self.start + self.length
    }
}

/// A range that is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissingRange {
    /// What is missing.
    pub range: Range,
    /// ELN: its packets came and were damaged, so that nothing is said of congestion.
    pub damaged: bool,
}

/// An aggregated acknowledgment.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Mack {
    /// All before this has arrived.
    pub cumulative: SequenceNumber,
    /// How many of the last bytes before `cumulative` are not confirmed by the far end: a gateway holds them.
    pub unconfirmed: u32,
    /// Bytes that may be sent beyond `cumulative`.
    pub window: u32,
    /// Timestamp of the newest packet that has arrived.
    pub echo: u32,
    /// How long ago that was, in microseconds.
    pub held_for: u32,
    /// Bit errors of the way to the sender of this MACK.
    pub error_rate: ErrorRate,
    /// The rate at which packets have arrived, in kbit/s with their IP headers.
    pub arrival_rate: u32,
    /// AFINACK: all data to the sender's end has arrived.
    pub is_complete: bool,
    /// What has arrived beyond `cumulative`, ascending, with a gap of at least a byte before each.
    pub received: Vec<Range>,
    /// SNACK: what the receiver misses, ascending.
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
        self.each_number(|number| length += number_length(number));
        length
    }

    /// The ranges as numbers: the distance from the last one's end, and the length; a missing one's length twice and one
    /// more if it came damaged.
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
        out.push(self.error_rate.0);
        out.push(if self.is_complete { COMPLETE } else { 0 });
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
        self.each_number(|number| encode_number(number, out));
    }

    pub(super) fn decode(has_missing: bool, rest: &mut Reader<'_>) -> Result<Mack, DecodeError> {
        let cumulative = SequenceNumber(rest.u32()?);
        let echo = rest.u32()?;
        let error_rate = ErrorRate(rest.u8()?);
        let flags = rest.u8()?;
        if flags & !COMPLETE != 0 {
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
