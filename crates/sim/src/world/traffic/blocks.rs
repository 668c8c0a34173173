//! A source of blocks at a constant rate, with pauses or without.

use super::received::Received;
use crate::rng::Stream;
use baton_proto::packet::{Payload, pattern_byte};
use baton_proto::rate::DataRate;
use baton_proto::time::{Duration, Instant};

/// The source: a sequence of blocks, each of which is a datagram over UDP.
#[derive(Debug)]
pub(super) struct Blocks {
    rate: DataRate,
    size: u32,
    limit: Option<u64>,
    /// Bytes handed to the transport so far.
    pub emitted: u64,
    /// Blocks that have arrived at the far end in datagrams.
    pub received: Received,
    next: Instant,
    /// True if the next block begins a time on.
    pauses_now: bool,
    /// End of the present time on.
    on_until: Option<Instant>,
    pauses: Option<Pauses>,
}

/// Times on and off.
#[derive(Debug)]
pub(super) struct Pauses {
    pub on: Duration,
    pub off: Duration,
    /// Draws exponentially distributed times; without it they are exact.
    pub random: Option<Stream>,
}

impl Pauses {
    fn draw(&mut self, mean: Duration) -> Duration {
        match &mut self.random {
            Some(stream) => Duration::from_secs_f64(stream.exponential(mean.as_secs_f64())),
            None => mean,
        }
    }
}

/// A block by its place in the flow's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub offset: u64,
    pub length: u32,
}

impl Block {
    pub fn payload(self, stream: u32) -> Payload {
        Payload::Pattern {
            stream,
            offset: self.offset,
            length: self.length,
        }
    }
}

impl Blocks {
    /// Returns the place of a received block of pattern `stream`, if it has not arrived before.
    pub fn place_of(&self, bytes: &[u8], stream: u32) -> Option<u64> {
        let is_there = |offset: &u64| {
            (*offset..)
                .zip(bytes)
                .all(|(place, &byte)| byte == pattern_byte(stream, place))
        };
        let mut missing = self.received.missing(self.emitted);
        missing.find_map(|(from, to)| (from..to).step_by(bytes.len().max(1)).find(is_there))
    }

    /// Creates a source of blocks of `size` bytes, the first at `start`, `limit` bytes in all.
    pub fn new(
        rate: DataRate,
        size: u32,
        limit: Option<u64>,
        start: Instant,
        mut pauses: Option<Pauses>,
    ) -> Blocks {
        let on_until = pauses.as_mut().map(|pauses| start + pauses.draw(pauses.on));
        Blocks {
            rate,
            size,
            limit,
            emitted: 0,
            received: Received::default(),
            next: start,
            pauses_now: false,
            on_until,
            pauses,
        }
    }

    /// Returns the next block, if one is due.
    pub fn take_due(&mut self, now: Instant) -> Option<Block> {
        if self.next > now || self.is_done() {
            return None;
        }
        let left = self
            .limit
            .map_or(u64::MAX, |limit| limit.saturating_sub(self.emitted));
        let block = Block {
            offset: self.emitted,
            length: u64::from(self.size).min(left) as u32,
        };
        self.emitted += u64::from(block.length);
        self.advance();
        Some(block)
    }

    /// Returns the time of the next block, if there is one.
    pub fn deadline(&self) -> Option<Instant> {
        (!self.is_done()).then_some(self.next)
    }

    /// Returns true if all blocks are sent.
    pub fn is_done(&self) -> bool {
        self.limit.is_some_and(|limit| self.emitted >= limit)
    }

    /// Returns true if all blocks, or all of this time on, are sent.
    pub fn rests(&self) -> bool {
        self.pauses_now || self.is_done()
    }

    /// Returns the payload bytes of a block.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Makes blocks no larger than `payload` bytes from now on; the rate stays.
    pub fn shrink_to(&mut self, payload: u32) {
        self.size = self.size.min(payload).max(1);
    }

    /// Moves on to the moment of the block after the one due at `self.next`.
    fn advance(&mut self) {
        let interval = self
            .rate
            .transmission_time(u64::from(self.size) * 8)
            .unwrap_or(Duration::MAX);
        self.next += interval;
        self.pauses_now = false;
        if let (Some(pauses), Some(on_until)) = (&mut self.pauses, &mut self.on_until) {
            // A time on has at least one block, so that however short it is drawn this comes to an end.
            while self.next >= *on_until {
                self.pauses_now = true;
                self.next = *on_until + pauses.draw(pauses.off);
                *on_until = self.next + pauses.draw(pauses.on).max(interval);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 8 kbit/s in blocks of 100 B: one every 100 ms.
    fn blocks(limit: Option<u64>, pauses: Option<Pauses>) -> Blocks {
        let rate = DataRate::from_bits_per_second(8000);
        Blocks::new(rate, 100, limit, Instant::from_secs(1), pauses)
    }

    fn times(blocks: &mut Blocks, count: usize) -> Vec<u64> {
        std::iter::from_fn(|| {
            let at = blocks.deadline()?;
            blocks.take_due(at)?;
            Some(at.as_nanos() / 1_000_000)
        })
        .take(count)
        .collect()
    }

    #[test]
    fn blocks_come_at_the_rate_and_the_last_is_what_is_left() {
        let mut blocks = blocks(Some(250), None);
        assert_eq!(blocks.take_due(Instant::from_millis(999)), None);
        assert_eq!(times(&mut blocks, 9), [1000, 1100, 1200]);
        assert_eq!((blocks.emitted, blocks.deadline()), (250, None));
    }

    #[test]
    fn exact_pauses() {
        let pauses = Pauses {
            on: Duration::from_millis(300),
            off: Duration::from_millis(450),
            random: None,
        };
        let expected = [1000, 1100, 1200, 1750, 1850, 1950, 2500];
        assert_eq!(times(&mut blocks(None, Some(pauses)), 7), expected);
    }
}
