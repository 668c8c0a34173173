//! A source of blocks at a constant rate, with pauses or without.

use crate::rng::Stream;
use crate::scenario::model::Traffic;
use baton_proto::packet::Payload;
use baton_proto::rate::DataRate;
use baton_proto::time::{Duration, Instant};

/// Source of a sequence of blocks, each of which is a datagram over UDP.
#[derive(Debug)]
pub struct Blocks {
    rate: DataRate,
    size: u32,
    limit: Option<u64>,
    /// Bytes handed to the transport so far.
    pub emitted: u64,
    next: Instant,
    /// Time from which no block is due.
    stop: Option<Instant>,
    /// True if the next block begins an on-time.
    pauses_now: bool,
    /// End of the present on-time.
    on_until: Option<Instant>,
    pauses: Option<Pauses>,
}

/// On-times and off-times.
#[derive(Debug)]
struct Pauses {
    on: Duration,
    off: Duration,
    /// Draws exponentially distributed times; without it they are exact.
    random: Option<Stream>,
}

impl Pauses {
    fn draw(&mut self, mean: Duration) -> Duration {
        match &mut self.random {
            Some(stream) => Duration::from_secs_f64(stream.exponential(mean.as_secs_f64())),
            None => mean,
        }
    }
}

/// A block, by its place in the flow's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Place of its first byte in the flow's data.
    pub offset: u64,
    /// Number of bytes.
    pub length: u32,
}

impl Block {
    /// Returns its bytes, of the pattern `stream`.
    pub fn payload(self, stream: u32) -> Payload {
        Payload::Pattern {
            stream,
            offset: self.offset,
            length: self.length,
        }
    }
}

impl Blocks {
    /// Creates the blocks of an application that sends some, from `start` on and before `stop`; `stream` draws random
    /// times.
    pub fn of(
        traffic: &Traffic,
        start: Instant,
        stop: Option<Instant>,
        stream: Stream,
    ) -> Option<Blocks> {
        let (rate, size, limit, mut pauses) = match *traffic {
            Traffic::Constant {
                rate,
                packet_size,
                bytes,
            } => (rate, packet_size, bytes, None),
            Traffic::OnOff {
                rate,
                packet_size,
                on,
                off,
                random,
            } => {
                let random = random.then_some(stream);
                (rate, packet_size, None, Some(Pauses { on, off, random }))
            }
            _ => return None,
        };
        let on_until = pauses.as_mut().map(|pauses| start + pauses.draw(pauses.on));
        Some(Blocks {
            rate,
            size,
            limit,
            emitted: 0,
            next: start,
            stop,
            pauses_now: false,
            on_until,
            pauses,
        })
    }

    /// Returns the next block, if one is due.
    pub fn take_due(&mut self, now: Instant) -> Option<Block> {
        if self.deadline()? > now {
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
        let is_before_stop = self.stop.is_none_or(|stop| self.next < stop);
        (is_before_stop && !self.is_done()).then_some(self.next)
    }

    /// Returns true if all blocks are sent.
    pub fn is_done(&self) -> bool {
        self.limit.is_some_and(|limit| self.emitted >= limit)
    }

    /// Returns true if all blocks, or all of this on-time, are sent.
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

    /// Moves on to the block after the one due at `self.next`.
    fn advance(&mut self) {
        let interval = self
            .rate
            .transmission_time(u64::from(self.size) * 8)
            .unwrap_or(Duration::MAX);
        self.next += interval;
        self.pauses_now = false;
        if let (Some(pauses), Some(on_until)) = (&mut self.pauses, &mut self.on_until) {
            // Each on-time has at least one block, so the loop ends however short the drawn times are.
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
    use crate::rng::Seed;

    /// Returns 8 kbit/s in blocks of 100 B: one every 100 ms.
    fn blocks(limit: Option<u64>, pauses: Option<(Duration, Duration)>) -> Blocks {
        let rate = DataRate::from_bits_per_second(8000);
        let traffic = match pauses {
            None => Traffic::Constant {
                rate,
                packet_size: 100,
                bytes: limit,
            },
            Some((on, off)) => Traffic::OnOff {
                rate,
                packet_size: 100,
                on,
                off,
                random: false,
            },
        };
        let stream = Seed(1).stream("blocks");
        Blocks::of(&traffic, Instant::from_secs(1), None, stream).unwrap()
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
        let pauses = (Duration::from_millis(300), Duration::from_millis(450));
        let expected = [1000, 1100, 1200, 1750, 1850, 1950, 2500];
        assert_eq!(times(&mut blocks(None, Some(pauses)), 7), expected);
    }
}
