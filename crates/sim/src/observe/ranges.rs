//! Ranges of a stream received out of order.

use std::collections::VecDeque;

/// Most ranges kept ahead of a gap. A kernel's receiver may hold more; its acknowledgments then report them.
const MOST_RANGES: usize = 1024;

/// Received data of a stream, by position.
#[derive(Clone, Debug)]
pub(super) struct Received {
    /// Position before which all has arrived.
    pub next: u64,
    /// Disjoint ranges beyond, ascending, none touching another.
    ahead: VecDeque<(u64, u64)>,
    /// Ranges forgotten because there were too many.
    pub forgotten: u64,
}

impl Received {
    /// Creates the state of a stream that begins at `next`, before any arrival.
    pub fn from(next: u64) -> Received {
        Received {
            next,
            ahead: VecDeque::new(),
            forgotten: 0,
        }
    }

    /// Takes in `start..end`; returns true if any of it is new.
    #[inline]
    pub fn take(&mut self, start: u64, end: u64) -> bool {
        if end <= self.next || start >= end {
            return false;
        }
        if self.ahead.is_empty() && start <= self.next {
            self.next = end;
            return true;
        }
        self.merge(start.max(self.next), end)
    }

    /// Notes that all before `position` has arrived, by an acknowledgment.
    pub fn advance(&mut self, position: u64) {
        if position > self.next {
            self.take(self.next, position);
        }
    }

    fn merge(&mut self, mut start: u64, mut end: u64) -> bool {
        let first = self.ahead.partition_point(|&(_, e)| e < start);
        let last = self.ahead.partition_point(|&(s, _)| s <= end);
        let touched = self.ahead.range(first..last.max(first));
        if touched.clone().any(|&(s, e)| s <= start && end <= e) {
            return false;
        }
        for &(s, e) in touched {
            start = start.min(s);
            end = end.max(e);
        }
        self.ahead.drain(first..last.max(first));
        if start <= self.next {
            self.next = end;
        } else {
            self.ahead.insert(first, (start, end));
            if self.ahead.len() > MOST_RANGES {
                self.ahead.pop_back();
                self.forgotten += 1;
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// The oracle is a set of positions.
        #[test]
        fn agrees_with_a_set(pieces in proptest::collection::vec((0_u64..60, 1_u64..12), 1..60)) {
            let mut received = Received::from(0);
            let mut set = BTreeSet::new();
            for (start, length) in pieces {
                let before = set.len();
                set.extend(start..start + length);
                prop_assert_eq!(received.take(start, start + length), set.len() > before);
                let next = (0..).find(|position| !set.contains(position)).unwrap();
                prop_assert_eq!(received.next, next);
            }
        }
    }

    #[test]
    fn too_many_ranges_are_forgotten_and_an_acknowledgment_heals_it() {
        let mut received = Received::from(0);
        let most = MOST_RANGES as u64;
        for number in 1..=most + 10 {
            assert!(received.take(number * 10, number * 10 + 5));
        }
        assert_eq!((received.next, received.forgotten), (0, 10));
        received.advance(most * 10 + 100);
        assert_eq!(received.next, most * 10 + 100);
        assert!(received.ahead.is_empty());
    }
}
