//! Numbers without an order, the same in each run (xorshift64*; Vigna, 2016).

/// Draws from a seed that is not zero.
#[derive(Clone, Debug)]
pub struct Numbers(pub u64);

impl Numbers {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16
    }

    /// Returns a number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// Returns true in so many of a thousand cases.
    pub fn happens(&mut self, permille: u64) -> bool {
        self.below(1000) < permille
    }
}
