//! TCP sequence numbers: arithmetic modulo 2^32 (RFC 9293 section 3.4).

use core::ops::{Add, AddAssign, Sub};

/// A TCP sequence number. Comparison is by the signed distance, so it holds within 2^31 of each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct SequenceNumber(pub u32);

impl SequenceNumber {
    /// Signed distance from `other` to this: positive when this comes later.
    pub const fn distance_from(self, other: SequenceNumber) -> i32 {
        self.0.wrapping_sub(other.0) as i32
    }

    /// Whether this comes after `other`.
    pub const fn is_after(self, other: SequenceNumber) -> bool {
        self.distance_from(other) > 0
    }

    /// The later of the two.
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
