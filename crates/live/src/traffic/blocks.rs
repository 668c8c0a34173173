//! Times at which a source of blocks writes: the simulator's.

use baton_proto::rate::DataRate;
use baton_proto::time::{Duration, Instant};
use baton_sim::rng::{Seed, Stream};
use baton_sim::scenario::model::{Flow, Traffic};

/// A source of blocks at a constant rate, with pauses or without.
#[derive(Debug)]
pub(super) struct Blocks {
    rate: DataRate,
    /// Bytes in a block.
    size: u32,
    /// Bytes still to be written; `None` is without end.
    left: Option<u64>,
    next: Instant,
    /// No block is due at or after this.
    stop: Option<Instant>,
    pauses: Option<Pauses>,
}

/// Times on and off.
#[derive(Debug)]
struct Pauses {
    on: Duration,
    off: Duration,
    /// Draws exponentially distributed times; without it they are exact.
    random: Option<Stream>,
    /// End of the present time on.
    on_until: Instant,
}

impl Pauses {
    fn draw(random: &mut Option<Stream>, mean: Duration) -> Duration {
        match random {
            Some(stream) => Duration::from_secs_f64(stream.exponential(mean.as_secs_f64())),
            None => mean,
        }
    }

    /// The next block's moment, which would be `next` without pauses.
    fn shift(&mut self, mut next: Instant, interval: Duration) -> Instant {
        while next >= self.on_until {
            next = self.on_until + Pauses::draw(&mut self.random, self.off);
            // A time on has at least one block, so that however short it is drawn this comes to an end.
            self.on_until = next + Pauses::draw(&mut self.random, self.on).max(interval);
        }
        next
    }
}

impl Blocks {
    /// The blocks of a flow, if that is what it sends. Its random times are those of a simulated run.
    pub fn of(flow: &Flow, seed: Seed) -> Option<Blocks> {
        let start = flow.start;
        let (rate, size, left, pauses) = match flow.traffic {
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
                let stream = seed.stream(&format!("flow {} application", flow.name));
                let mut random = random.then_some(stream);
                let on_until = start + Pauses::draw(&mut random, on);
                let pauses = Pauses {
                    on,
                    off,
                    random,
                    on_until,
                };
                (rate, packet_size, None, Some(pauses))
            }
            _ => return None,
        };
        Some(Blocks {
            rate,
            size,
            left,
            next: start,
            stop: flow.stop,
            pauses,
        })
    }

    /// Bytes of the next block, if one is due.
    pub fn take_due(&mut self, now: Instant) -> Option<u32> {
        if self.deadline()? > now {
            return None;
        }
        let length = u64::from(self.size).min(self.left.unwrap_or(u64::MAX));
        self.left = self.left.map(|left| left - length);
        let interval = self
            .rate
            .transmission_time(u64::from(self.size) * 8)
            .unwrap_or(Duration::MAX);
        self.next += interval;
        if let Some(pauses) = &mut self.pauses {
            self.next = pauses.shift(self.next, interval);
        }
        Some(length as u32)
    }

    /// Returns the time at which the next block is due, if there is one.
    pub fn deadline(&self) -> Option<Instant> {
        let is_before_stop = self.stop.is_none_or(|stop| self.next < stop);
        (is_before_stop && !self.is_done()).then_some(self.next)
    }

    /// Returns true if all blocks are out.
    pub fn is_done(&self) -> bool {
        self.left == Some(0)
    }

    /// Makes blocks no larger than `payload` bytes from now on; the rate stays.
    pub fn shrink_to(&mut self, payload: u32) {
        self.size = self.size.min(payload).max(1);
    }
}
