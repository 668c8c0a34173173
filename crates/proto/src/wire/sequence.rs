//! TCP sequence numbers: arithmetic modulo 2^32 (RFC 9293 section 3.4).

use core::ops::{Add, AddAssign, Sub};

/// A TCP sequence number. Comparison is by the signed distance, so it holds within 2^31 of each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct SequenceNumber(pub u32);

impl SequenceNumber {
    /// Returns the signed distance from `other` to this number: positive if this one is later.
    pub const fn distance_from(self, other: SequenceNumber) -> i32 {
        self.0.wrapping_sub(other.0) as i32
    }

    /// Returns true if this number is later than `other`.
    pub const fn is_after(self, other: SequenceNumber) -> bool {
        self.distance_from(other) > 0
    }

    /// Returns the later of two numbers.
    pub const fn later(self, other: SequenceNumber) -> SequenceNumber {
        if self.is_after(other) { self } else { other }
    }
}

impl Add<u32> for SequenceNumber {
    type Output = SequenceNumber;
    fn add(self, bytes: u32) -> SequenceNumber {
        SequenceNumber(self.0.wrapping_add(bytes))
    }
}

impl AddAssign<u32> for SequenceNumber {
    fn add_assign(&mut self, bytes: u32) {
        *self = *self + bytes;
    }
}

impl Sub<u32> for SequenceNumber {
    type Output = SequenceNumber;
    fn sub(self, bytes: u32) -> SequenceNumber {
        SequenceNumber(self.0.wrapping_sub(bytes))
    }
}
