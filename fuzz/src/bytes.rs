//! Decisions drawn from an input, one after another. Where it ends, zeros follow.

/// The rest of an input.
pub struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    /// All of `data`.
    pub fn new(data: &'a [u8]) -> Bytes<'a> {
        Bytes(data)
    }

    /// Returns true if nothing is left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next byte.
    pub fn u8(&mut self) -> u8 {
        match self.0.split_first() {
            Some((first, rest)) => {
                self.0 = rest;
                *first
            }
            None => 0,
        }
    }

    /// The next two bytes.
    pub fn u16(&mut self) -> u16 {
        u16::from_be_bytes([self.u8(), self.u8()])
    }

    /// The next four bytes.
    pub fn u32(&mut self) -> u32 {
        u32::from_be_bytes([self.u8(), self.u8(), self.u8(), self.u8()])
    }

    /// One bit, which costs a byte.
    pub fn bool(&mut self) -> bool {
        self.u8() & 1 == 1
    }

    /// One of a few values.
    pub fn one_of<T: Clone>(&mut self, values: &[T]) -> T {
        values[usize::from(self.u8()) % values.len()].clone()
    }

    /// Up to `count` bytes as they are.
    pub fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        taken
    }

    /// All that is left, as it is.
    pub fn rest(&mut self) -> &'a [u8] {
        self.take(usize::MAX)
    }
}
