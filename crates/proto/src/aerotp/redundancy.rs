//! Redundancy of adaptive blocks: as few repair packets as keep a block whole at the measured loss.

use super::configuration::Blocks;
use crate::fec::erasure::BlockSize;
use crate::fec::failure::block_failure;
use crate::fec::meter::ErrorMeter;
use crate::time::Duration;

/// Most packets with data in a block, chosen: larger blocks save hardly more packets, and cost more work each.
const MOST_SOURCES: u8 = 128;
/// Tolerated share of blocks that cannot be restored, chosen.
const FAILURE: f64 = 1e-3;
/// Loss that is assumed over a link that is about to go down, chosen: a fifth of the packets.
const LEAVING: f64 = 0.2;

/// Packets of a connection whose fate is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fates {
    /// Packets with data that arrived, or were restored.
    pub arrived: u32,
    /// Packets with data that did not arrive; the restored ones are among them.
    pub lost: u32,
}

/// Meter of packet loss.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LossMeter(ErrorMeter);

impl LossMeter {
    /// Takes in packets whose fate has become known.
    pub(crate) fn note(&mut self, fates: Fates) {
        // Restored packets count twice: as arrived, and as lost.
        let all = fates.arrived.max(fates.lost);
        if all > 0 {
            self.0.note(f64::from(all), f64::from(fates.lost));
        }
    }

    /// Returns the present estimate, 0 to 1; zero if losses are too rare to be counted.
    pub(crate) fn rate(&self) -> f64 {
        self.0.rate().min(1.0)
    }
}

/// Plan of the next blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    blocks: Blocks,
    /// Share of packets that are lost.
    loss: f64,
    /// True while the links used are about to go down.
    is_leaving: bool,
}

impl Plan {
    pub(super) fn new(blocks: Blocks) -> Plan {
        Plan {
            blocks,
            loss: 0.0,
            is_leaving: false,
        }
    }

    pub(super) fn set_loss(&mut self, loss: f64) {
        self.loss = loss;
    }

    pub(super) fn set_leaving(&mut self, is_leaving: bool) {
        self.is_leaving = is_leaving;
    }

    /// Returns the largest size of the next block; `None` if it needs no repair packets.
    pub(super) fn size(&self) -> Option<BlockSize> {
        match self.blocks {
            Blocks::Fixed(size) => Some(size),
            Blocks::Adaptive => {
                let repairs = self.repairs(MOST_SOURCES);
                let size = BlockSize::new(MOST_SOURCES, repairs).ok();
                size.filter(|_| repairs > 0)
            }
        }
    }

    /// Returns the number of repair packets behind so many packets with data: the fewest with which a block fails with
    /// the tolerated probability, at most half as many as packets with data, and one for a single packet.
    fn repairs(&self, sources: u8) -> u8 {
        let loss = match self.is_leaving {
            true => self.loss.max(LEAVING),
            false => self.loss,
        };
        let most = (sources / 2).max(1);
        let is_enough = |&repairs: &u8| block_failure(loss, sources, repairs) <= FAILURE;
        (0..most).find(is_enough).unwrap_or(most)
    }

    /// Returns the number of repair packets of a block of this size that is closed with so many packets with data. One at
    /// least tells the receiver that the block is complete.
    pub(super) fn repairs_at_close(&self, size: BlockSize, sources: u8) -> u8 {
        match self.blocks {
            Blocks::Fixed(_) => size.repairs(),
            Blocks::Adaptive => self.repairs(sources).clamp(1, size.repairs()),
        }
    }

    /// Returns the longest time for which a block is open. Adaptive blocks are repaired before a loss would be noticed
    /// at a round-trip time, an eighth of it after the packet.
    pub(super) fn patience(&self, reordering_wait: Duration, rtt: Option<Duration>) -> Duration {
        let longest = Duration::from_nanos(reordering_wait.as_nanos() / 2);
        match (self.blocks, rtt) {
            (Blocks::Adaptive, Some(rtt)) => longest.min(Duration::from_nanos(rtt.as_nanos() / 16)),
            _ => longest,
        }
    }

    /// Returns true if an overdue block of so many packets waits for the next one, which is ready: on a slow link each
    /// packet would have a repair packet of its own else.
    pub(super) fn waits_for_more(&self, sources: u8, is_ready: bool) -> bool {
        self.blocks == Blocks::Adaptive && is_ready && sources < 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(loss: f64) -> Plan {
        let mut plan = Plan::new(Blocks::Adaptive);
        plan.set_loss(loss);
        plan
    }

    /// Checks the numbers against binomial sums in exact fractions, from Python: the first m with P(X > m) of k + m at
    /// most 1/1000.
    #[test]
    fn repairs_are_the_fewest_that_the_binomial_sum_allows() {
        let expected = [
            (0.001, 128, 2),
            (0.001, 4, 1),
            (0.0005, 1, 0),
            (0.01, 128, 6),
            (0.01, 32, 3),
            (0.01, 4, 1),
            (0.05, 128, 16),
            (0.05, 32, 7),
        ];
        for (loss, sources, repairs) in expected {
            assert_eq!(plan(loss).repairs(sources), repairs, "{loss} {sources}");
        }
    }

    #[test]
    fn a_clean_link_has_none_and_no_link_more_than_half() {
        assert_eq!(plan(0.0).size(), None);
        for sources in 1..=128 {
            assert_eq!(plan(0.9).repairs(sources), (sources / 2).max(1));
        }
    }

    #[test]
    fn repairs_are_raised_while_the_link_is_about_to_go_and_drop_back() {
        let mut plan = plan(0.0);
        plan.set_leaving(true);
        let raised = plan.size().expect("repair packets");
        assert!(raised.repairs() > 32, "{raised:?}");
        plan.set_leaving(false);
        assert_eq!(plan.size(), None);
    }
}
