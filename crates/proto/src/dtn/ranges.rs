//! Sets of numbers that mostly follow each other.

use std::collections::BTreeMap;

/// A set of numbers, as ranges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranges {
    /// Last number of each range, by its first.
    ranges: BTreeMap<u64, u64>,
}

impl Ranges {
    /// Returns true if a number is in the set.
    pub fn contains(&self, number: u64) -> bool {
        let below = self.ranges.range(..=number).next_back();
        below.is_some_and(|(_, &last)| number <= last)
    }

    /// Adds a number; returns true if it was not in the set.
    pub fn insert(&mut self, number: u64) -> bool {
        if self.contains(number) {
            return false;
        }
        let next = number.checked_add(1);
        let last = next.and_then(|next| self.ranges.remove(&next));
        let last = last.unwrap_or(number);
        let below = self.ranges.range_mut(..number).next_back();
        match below.filter(|(_, end)| end.checked_add(1) == Some(number)) {
            Some((_, end)) => *end = last,
            None => {
                self.ranges.insert(number, last);
            }
        }
        true
    }

    /// Removes all but the last `count` ranges.
    pub fn keep_last(&mut self, count: usize) {
        while self.ranges.len() > count {
            self.ranges.pop_first();
        }
    }

    /// Returns the first and the last number of each range, in order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        self.ranges.iter().map(|(&first, &last)| (first, last))
    }
}
