//! Numbers of links in five bytes.

/// A link by its number in the scenario, as packets, mobiles and handovers keep it. An aircraft has a link to each cell, so
/// that a million of them have more links than four bytes can count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkNumber([u8; 5]);

impl LinkNumber {
    /// Largest number of links of a scenario.
    pub const MOST: usize = 1 << 40;

    /// Packs a number below [`MOST`](Self::MOST).
    #[inline]
    pub const fn new(number: usize) -> LinkNumber {
        let [a, b, c, d, e, ..] = (number as u64).to_le_bytes();
        LinkNumber([a, b, c, d, e])
    }

    /// Returns the number.
    #[inline]
    pub const fn get(self) -> usize {
        let [a, b, c, d, e] = self.0;
        u64::from_le_bytes([a, b, c, d, e, 0, 0, 0]) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::LinkNumber;

    #[test]
    fn numbers_come_back_as_they_were() {
        for number in [0, 255, 256, 0xFFFF_FFFF, 1 << 32, LinkNumber::MOST - 1] {
            assert_eq!(LinkNumber::new(number).get(), number);
        }
    }
}
