//! Protection against replays, after RFC 6479: a ring of blocks, so that advancing clears whole words.

/// Most datagrams by which an accepted one may be late: a burst of 8,192 packets of 1,400 B is 90 ms at 1 Gbit/s
/// (chosen).
pub(crate) const WINDOW: u64 = 8192;
const BLOCK_BITS: u64 = 64;
/// Most blocks: one more than fills the window, since the newest block is only partly used.
const MOST_BLOCKS: u64 = WINDOW / BLOCK_BITS + 1;

/// Counters seen. The ring grows with them, so that an idle path needs a few words.
#[derive(Default)]
pub(crate) struct ReplayWindow {
    /// Smallest counter that the peer may use.
    base: u64,
    /// Counter after the largest seen, less `base`; zero before the first.
    next: u64,
    blocks: Vec<u64>,
}

impl ReplayWindow {
    /// Creates a window of counters from `base` on.
    pub(crate) fn new(base: u64) -> ReplayWindow {
        ReplayWindow {
            base,
            ..ReplayWindow::default()
        }
    }

    /// Returns the counter after the largest seen.
    pub(crate) fn next(&self) -> u64 {
        self.base.saturating_add(self.next)
    }

    /// Returns true if a datagram with this counter is new.
    pub(crate) fn is_new(&self, counter: u64) -> bool {
        let Some(offset) = counter.checked_sub(self.base) else {
            return false;
        };
        if offset >= self.next {
            return offset < u64::MAX;
        }
        let taken = self.blocks.get(self.place(offset)).copied().unwrap_or(0);
        self.next - offset <= WINDOW && taken & bit(offset) == 0
    }

    /// Marks a counter that `is_new`, of an authentic datagram.
    pub(crate) fn take(&mut self, counter: u64) {
        let offset = counter.saturating_sub(self.base);
        if offset >= self.next {
            self.advance(offset);
        }
        let place = self.place(offset);
        if let Some(block) = self.blocks.get_mut(place) {
            *block |= bit(offset);
        }
    }

    /// Makes `offset` the largest, and clears the blocks newly in use.
    fn advance(&mut self, offset: u64) {
        let block = offset / BLOCK_BITS;
        let length = self.blocks.len() as u64;
        if block >= length && length < MOST_BLOCKS {
            let wanted = (block + 1).min(MOST_BLOCKS).next_power_of_two();
            self.blocks.resize(wanted.min(MOST_BLOCKS) as usize, 0);
        }
        let used = self.next.div_ceil(BLOCK_BITS);
        let first = used.max((block + 1).saturating_sub(MOST_BLOCKS));
        for cleared in first..=block {
            let place = self.place(cleared * BLOCK_BITS);
            if let Some(block) = self.blocks.get_mut(place) {
                *block = 0;
            }
        }
        self.next = offset.saturating_add(1);
    }

    fn place(&self, offset: u64) -> usize {
        (offset / BLOCK_BITS)
            .checked_rem(self.blocks.len() as u64)
            .unwrap_or(0) as usize
    }
}

fn bit(offset: u64) -> u64 {
    1 << (offset % BLOCK_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Checks the window against a set of all counters seen.
        #[test]
        fn takes_each_counter_once_and_none_that_is_too_old(
            base in prop_oneof![Just(0), Just(1_u64 << 40), any::<u32>().prop_map(u64::from)],
            steps in prop::collection::vec((0_u64..20_000, prop::bool::weighted(0.1)), 1..300),
        ) {
            let mut window = ReplayWindow::new(base);
            let (mut seen, mut next) = (BTreeSet::new(), base);
            for (step, jumps) in steps {
                let counter = if jumps { next + step } else { next.saturating_sub(step % 9_000).max(step % 3) };
                let is_new = counter >= base && counter + WINDOW >= next && !seen.contains(&counter);
                prop_assert_eq!(window.is_new(counter), is_new, "{} of {}", counter, next);
                if is_new {
                    window.take(counter);
                    seen.insert(counter);
                    next = next.max(counter + 1);
                }
                prop_assert_eq!(window.next(), next);
                prop_assert!(!window.is_new(counter));
            }
        }
    }

    #[test]
    fn grows_with_what_it_has_seen_and_no_further() {
        let mut window = ReplayWindow::new(0);
        window.take(0);
        assert_eq!(window.blocks.len(), 1);
        (1..1_000_000).for_each(|counter| window.take(counter));
        assert_eq!(window.blocks.len(), 129);
    }
}
