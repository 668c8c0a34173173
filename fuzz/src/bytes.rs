//! Decisions drawn from an input, one after another; at its end zeros follow.

/// Rest of an input.
pub struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    /// Creates decisions from all of `data`.
    pub fn new(data: &'a [u8]) -> Bytes<'a> {
        Bytes(data)
    }

    /// Returns true if nothing is left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the next byte.
    pub fn u8(&mut self) -> u8 {
        match self.0.split_first() {
            Some((first, rest)) => {
                self.0 = rest;
                *first
            }
            None => 0,
        }
    }

    /// Returns the next two bytes.
    pub fn u16(&mut self) -> u16 {
        u16::from_be_bytes([self.u8(), self.u8()])
    }

    /// Returns the next four bytes.
    pub fn u32(&mut self) -> u32 {
        u32::from_be_bytes([self.u8(), self.u8(), self.u8(), self.u8()])
    }

    /// Returns one bit, which costs a byte.
    pub fn bool(&mut self) -> bool {
        self.u8() & 1 == 1
    }

    /// Returns one of a few values.
    pub fn one_of<T: Clone>(&mut self, values: &[T]) -> T {
        values[usize::from(self.u8()) % values.len()].clone()
    }

    /// Returns up to `count` bytes unchanged.
    pub fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        taken
    }

    /// Returns the rest unchanged.
    pub fn rest(&mut self) -> &'a [u8] {
        self.take(usize::MAX)
    }
}
