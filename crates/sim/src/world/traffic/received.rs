//! Received blocks of a flow: a datagram may arrive twice, where a strategy sends copies.

use baton_proto::packet::pattern_byte;
use std::collections::BTreeMap;

/// Most remembered gaps. A block that arrives after so many later losses counts as a copy.
const MOST_GAPS: usize = 4096;

/// Received blocks, and the number of duplicates.
#[derive(Debug, Default)]
pub(in super::super) struct Received {
    /// End of the received data.
    end: u64,
    /// Gaps before that end: the end of each by its start.
    gaps: BTreeMap<u64, u64>,
    /// Number of duplicate blocks.
    pub again: u64,
}

impl Received {
    /// Takes in a block of `length` bytes; returns true on its first arrival.
    pub fn take(&mut self, offset: u64, length: u32) -> bool {
        let end = offset + u64::from(length);
        if offset >= self.end {
            if offset > self.end {
                self.gaps.insert(self.end, offset);
                if self.gaps.len() > MOST_GAPS {
                    self.gaps.pop_first();
                }
            }
            self.end = end;
            return true;
        }
        let gap = self.gaps.range(..=offset).next_back();
        let Some((&from, &to)) = gap.filter(|&(_, &to)| end <= to) else {
            self.again += 1;
            return false;
        };
        self.gaps.remove(&from);
        if from < offset {
            self.gaps.insert(from, offset);
        }
        if end < to {
            self.gaps.insert(end, to);
        }
        true
    }
}

impl Received {
    /// Returns the place of a block of pattern `stream` that has not arrived before, of data before `end`.
    pub fn place_of(&self, bytes: &[u8], stream: u32, end: u64) -> Option<u64> {
        let is_there = |offset: &u64| {
            (*offset..)
                .zip(bytes)
                .all(|(place, &byte)| byte == pattern_byte(stream, place))
        };
        let mut missing = self.missing(end);
        missing.find_map(|(from, to)| (from..to).step_by(bytes.len().max(1)).find(is_there))
    }

    /// Returns the gaps before `end`: start and end of each.
    pub fn missing(&self, end: u64) -> impl Iterator<Item = (u64, u64)> {
        let gaps = self.gaps.iter().map(|(&from, &to)| (from, to));
        gaps.chain((self.end < end).then_some((self.end, end)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Compares with a set of all arrivals, over a thousand blocks in a wild order.
    #[test]
    fn each_block_comes_for_the_first_time_once() {
        let (mut received, mut known, mut again) = (Received::default(), BTreeSet::new(), 0);
        let mut state = 1_u64;
        for _ in 0..5000 {
            // Numerical Recipes' generator; its low bits are not used.
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223) & 0xFFFF_FFFF;
            let block = (state >> 16) % 1000;
            let is_new = known.insert(block);
            again += u64::from(!is_new);
            assert_eq!(received.take(block * 100, 100), is_new, "{block}");
        }
        assert_eq!(received.again, again);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut received = Received::default();
        for block in 0..20_000 {
            received.take(block * 200, 100);
        }
        assert_eq!(received.gaps.len(), MOST_GAPS);
    }
}
