//! One direction of a link: its rate, delay and faults.

use super::numbers::Numbers;
use baton_proto::time::{Duration, Instant};

/// IP and UDP headers of a datagram, in bytes.
const HEADERS: u64 = 28;
/// Longest wait in the queue before the link; datagrams that would wait longer are dropped.
const LONGEST_QUEUE: Duration = Duration::from_millis(300);

/// A direction of a link.
#[derive(Clone, Debug)]
pub struct Channel {
    pub is_up: bool,
    /// Rate of datagrams with their headers, in bit/s.
    pub rate: u64,
    pub delay: Duration,
    /// Longest further delay of a datagram, which may overtake others then.
    pub jitter: Duration,
    /// Datagrams in a thousand that are lost, come twice, and are damaged.
    pub lost: u64,
    pub doubled: u64,
    pub damaged: u64,
    /// Longest IP packet, in bytes.
    pub mtu: u64,
    free_at: Instant,
}

impl Channel {
    /// Creates a direction without faults.
    pub fn sound() -> Channel {
        Channel {
            is_up: true,
            rate: 10_000_000,
            delay: Duration::from_millis(20),
            jitter: Duration::ZERO,
            lost: 0,
            doubled: 0,
            damaged: 0,
            mtu: 1500,
            free_at: Instant::ZERO,
        }
    }

    /// Changes a property, or several.
    pub fn disturb(&mut self, numbers: &mut Numbers) {
        match numbers.below(8) {
            0 | 1 => self.is_up = !self.is_up,
            2 => self.rate = 100_000 << numbers.below(8),
            3 => self.delay = Duration::from_millis(1 + numbers.below(300)),
            4 => self.jitter = Duration::from_millis(numbers.below(40)),
            5 => self.lost = numbers.below(150),
            6 => (self.doubled, self.damaged) = (numbers.below(100), numbers.below(100)),
            _ => self.mtu = 1280 + 20 * numbers.below(12),
        }
    }

    /// Takes a datagram in; returns when it arrives, once or twice, as it is then.
    pub fn carry(
        &mut self,
        now: Instant,
        mut datagram: Vec<u8>,
        numbers: &mut Numbers,
    ) -> Vec<(Instant, Vec<u8>)> {
        let length = datagram.len() as u64 + HEADERS;
        let begins = self.free_at.max(now);
        let waits = begins.saturating_since(now);
        if !self.is_up || length > self.mtu || waits > LONGEST_QUEUE {
            return Vec::new();
        }
        self.free_at = begins + Duration::from_nanos(length * 8 * 1_000_000_000 / self.rate);
        if numbers.happens(self.lost) {
            return Vec::new();
        }
        if numbers.happens(self.damaged) {
            let place = numbers.below(datagram.len() as u64) as usize;
            datagram[place] ^= 1 << numbers.below(8);
        }
        let copies = 1 + usize::from(numbers.happens(self.doubled));
        let arrives = self.free_at + self.delay;
        let later = |numbers: &mut Numbers| match self.jitter.as_nanos() {
            0 => Duration::ZERO,
            most => Duration::from_nanos(numbers.below(most)),
        };
        (0..copies)
            .map(|_| (arrives + later(numbers), datagram.clone()))
            .collect()
    }
}
