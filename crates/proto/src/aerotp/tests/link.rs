//! A link that delays, damages, duplicates and loses packets.

use super::*;

/// A small generator of its own, for channels (SplitMix64).
#[derive(Clone, Debug)]
pub(super) struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Uniform over (0, 1].
    pub fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }
}

/// One direction of a link.
pub(super) struct Link {
    pub rate: DataRate,
    pub delay: Duration,
    pub free_at: Instant,
    pub bit_error_rate: f64,
    /// True if the IP header is hit, too.
    pub hits_ip: bool,
    pub loss: f64,
    pub duplication: f64,
    pub jitter: Duration,
    /// Nothing passes from the first to the second of these moments.
    pub outages: Vec<(Instant, Instant)>,
    pub random: Random,
    /// Packets with data that were lost.
    pub lost: u64,
}

impl Link {
    pub fn new(bits_per_second: u64, delay: Duration, seed: u64) -> Link {
        Link {
            rate: DataRate::from_bits_per_second(bits_per_second),
            delay,
            free_at: Instant::ZERO,
            bit_error_rate: 0.0,
            hits_ip: true,
            loss: 0.0,
            duplication: 0.0,
            jitter: Duration::ZERO,
            outages: Vec::new(),
            random: Random(seed),
            lost: 0,
        }
    }

    fn flips(&mut self, bits: u32, header_bits: u32) -> Vec<u32> {
        let mut flipped = Vec::new();
        if self.bit_error_rate <= 0.0 {
            return flipped;
        }
        let mut position = 0.0;
        loop {
            position += (self.random.unit().ln() / (-self.bit_error_rate).ln_1p()).floor();
            if position >= f64::from(bits) {
                return flipped;
            }
            if self.hits_ip || position >= f64::from(header_bits) {
                flipped.push(position as u32);
            }
            position += 1.0;
        }
    }

    /// Returns the delay and the damaged bits of each copy that arrives.
    pub fn fate(&mut self, now: Instant, packet: &Packet) -> Vec<(Duration, Vec<u32>)> {
        let bits = packet.wire_length() * 8;
        let start = self.free_at.max(now);
        self.free_at = start + self.rate.transmission_time(u64::from(bits)).unwrap();
        let delay = self.free_at.saturating_since(now) + self.delay;
        let out = self
            .outages
            .iter()
            .any(|&(from, to)| from <= self.free_at && self.free_at < to);
        if out || self.random.unit() <= self.loss {
            self.lost += u64::from(packet.view().payload_bytes > 0);
            return Vec::new();
        }
        let copies = if self.random.unit() <= self.duplication {
            2
        } else {
            1
        };
        (0..copies)
            .map(|_| {
                let late = (self.jitter.as_nanos() as f64 * self.random.unit()) as u64;
                let flips = self.flips(bits, packet.ip.wire_length() * 8);
                (delay + Duration::from_nanos(late), flips)
            })
            .collect()
    }
}
