//! One-way delays of the packets of a flow, in histograms of bounded size.

use baton_proto::packet::Packet;
use baton_proto::time::Duration;
use serde::Serialize;

/// Buckets in an octave, of equal width. The middle of a bucket is within 1/128 of all that falls into it.
const BUCKETS: usize = 1 << BUCKET_BITS;
const BUCKET_BITS: u32 = 6;
/// Octaves of 64 bits: the first holds times below [`BUCKETS`].
const OCTAVES: usize = (u64::BITS - BUCKET_BITS) as usize + 1;

/// Delays of packets, in nanoseconds: a histogram that is linear within octaves. Only octaves with a packet have
/// buckets.
#[derive(Clone, Debug)]
pub struct Delays {
    packets: u64,
    sum: u128,
    smallest: u64,
    largest: u64,
    /// For each octave the place of its buckets, plus one; zero if it has none.
    places: [u8; OCTAVES],
    counts: Vec<[u32; BUCKETS]>,
}

impl Default for Delays {
    fn default() -> Delays {
        Delays {
            packets: 0,
            sum: 0,
            smallest: u64::MAX,
            largest: 0,
            places: [0; OCTAVES],
            counts: Vec::new(),
        }
    }
}

impl Delays {
    /// Creates an empty histogram; out of line, since a way needs it once.
    #[cold]
    fn none() -> Box<Delays> {
        Box::default()
    }

    /// Counts a packet.
    #[inline]
    pub fn add(&mut self, delay: Duration) {
        let nanos = delay.as_nanos();
        self.packets += 1;
        self.sum += u128::from(nanos);
        self.smallest = self.smallest.min(nanos);
        self.largest = self.largest.max(nanos);
        let (octave, bucket) = place_of(nanos);
        let count = &mut self.buckets(octave)[bucket];
        *count = count.saturating_add(1);
    }

    /// Counts the packets of another histogram, too.
    pub fn merge(&mut self, other: &Delays) {
        self.packets += other.packets;
        self.sum += other.sum;
        self.smallest = self.smallest.min(other.smallest);
        self.largest = self.largest.max(other.largest);
        for (octave, theirs) in other.octaves() {
            for (count, further) in self.buckets(octave).iter_mut().zip(theirs) {
                *count = count.saturating_add(*further);
            }
        }
    }

    /// Returns the number of packets counted.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Returns mean, quantiles and the largest; `None` without a packet.
    pub fn summary(&self) -> Option<DelaySummary> {
        let quantile = |per_mille| self.quantile(per_mille).map(seconds);
        (self.packets > 0).then_some(())?;
        Some(DelaySummary {
            packets: self.packets,
            mean_s: self.sum as f64 / self.packets as f64 / 1e9,
            p5_s: quantile(50)?,
            p50_s: quantile(500)?,
            p95_s: quantile(950)?,
            p99_s: quantile(990)?,
            p99_9_s: quantile(999)?,
            largest_s: seconds(self.largest),
        })
    }

    /// Returns the smallest delay that so many of a thousand packets did not exceed, within 1 %, in nanoseconds.
    fn quantile(&self, per_mille: u64) -> Option<u64> {
        let rank = (u128::from(self.packets) * u128::from(per_mille)).div_ceil(1000) as u64;
        let mut below = 0;
        for (octave, counts) in self.octaves() {
            for (bucket, &count) in counts.iter().enumerate() {
                below += u64::from(count);
                if count > 0 && below >= rank {
                    return Some(middle(octave, bucket).clamp(self.smallest, self.largest));
                }
            }
        }
        (self.packets > 0).then_some(self.largest)
    }

    #[inline]
    fn buckets(&mut self, octave: usize) -> &mut [u32; BUCKETS] {
        if self.places[octave] == 0 {
            self.give_buckets(octave);
        }
        &mut self.counts[usize::from(self.places[octave]) - 1]
    }

    #[cold]
    fn give_buckets(&mut self, octave: usize) {
        // One octave of growth, not the four with which a vector begins: most flows have delays in one octave or two.
        self.counts.reserve_exact(1);
        self.counts.push([0; BUCKETS]);
        self.places[octave] = self.counts.len() as u8;
    }

    fn octaves(&self) -> impl Iterator<Item = (usize, &[u32; BUCKETS])> {
        let places = self.places.iter().enumerate();
        places.filter_map(|(octave, &place)| {
            let place = usize::from(place).checked_sub(1)?;
            Some((octave, self.counts.get(place)?))
        })
    }
}

/// Returns the octave of a time, and its bucket there.
fn place_of(nanos: u64) -> (usize, usize) {
    let shift = (u64::BITS - BUCKET_BITS).saturating_sub(nanos.leading_zeros() + 1);
    if nanos < BUCKETS as u64 {
        return (0, nanos as usize);
    }
    (shift as usize + 1, (nanos >> shift) as usize - BUCKETS)
}

/// Returns the time in the middle of a bucket.
fn middle(octave: usize, bucket: usize) -> u64 {
    match octave.checked_sub(1) {
        None => bucket as u64,
        Some(shift) => (((BUCKETS + bucket) as u64) << shift) + ((1 << shift) >> 1),
    }
}

fn seconds(nanos: u64) -> f64 {
    Duration::from_nanos(nanos).as_secs_f64()
}

/// Delays of a flow's packets in one direction, without payload and with it. A histogram is created for its first
/// packet, since few flows have packets of all kinds.
#[derive(Clone, Debug, Default)]
pub(super) struct WayDelays([Option<Box<Delays>>; 2]);

impl WayDelays {
    /// Counts a packet.
    #[inline]
    pub fn add(&mut self, delay: Duration, has_data: bool) {
        let of_kind = &mut self.0[usize::from(has_data)];
        of_kind.get_or_insert_with(Delays::none).add(delay);
    }

    /// Counts the packets of another part of the world, too.
    pub fn merge(&mut self, other: &WayDelays) {
        for (own, their) in self.0.iter_mut().zip(&other.0) {
            if let Some(their) = their {
                own.get_or_insert_with(Delays::none).merge(their);
            }
        }
    }

    /// Returns the delays of packets with payload, if any has arrived.
    pub fn of_data(&self) -> Option<&Delays> {
        self.0[1].as_deref()
    }

    /// Sums up those of all packets.
    pub fn summary(&self) -> Option<DelaySummary> {
        let mut all = Delays::default();
        self.0.iter().flatten().for_each(|kind| all.merge(kind));
        all.summary()
    }
}

/// One-way delays of packets, each from its sender to its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DelaySummary {
    /// Packets that arrived.
    pub packets: u64,
    /// Mean, in seconds.
    pub mean_s: f64,
    /// 5th percentile.
    pub p5_s: f64,
    /// Median.
    pub p50_s: f64,
    /// 95th percentile.
    pub p95_s: f64,
    /// 99th percentile.
    pub p99_s: f64,
    /// 99.9th percentile.
    pub p99_9_s: f64,
    /// The largest.
    pub largest_s: f64,
}

/// Returns true if a packet, in tunnels or not, brings undamaged transport payload.
#[inline]
pub(super) fn brings_data(packet: &Packet) -> bool {
    packet.bit_errors.is_empty() && packet.has_data()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Delays over all magnitudes from 1 ns to some 1,000 s, by a recurrence (Knuth's MMIX).
    fn spread(count: u64) -> Vec<u64> {
        let mut state = 1_u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            state
        };
        (0..count)
            .map(|_| (next() >> 24) >> (next() >> 32 & 31))
            .collect()
    }

    fn counted(nanos: &[u64]) -> Delays {
        let mut delays = Delays::default();
        nanos
            .iter()
            .for_each(|&each| delays.add(Duration::from_nanos(each)));
        delays
    }

    #[test]
    fn quantiles_are_within_one_per_cent_of_a_sorted_list() {
        let mut nanos = spread(30_011);
        let summary = counted(&nanos).summary().unwrap();
        nanos.sort_unstable();
        // The nearest rank: the smallest value that this share of all does not exceed.
        let exact =
            |share: f64| nanos[(share * nanos.len() as f64).ceil() as usize - 1] as f64 / 1e9;
        for (measured, share) in [
            (summary.p5_s, 0.05),
            (summary.p50_s, 0.5),
            (summary.p95_s, 0.95),
            (summary.p99_s, 0.99),
            (summary.p99_9_s, 0.999),
        ] {
            let error = (measured - exact(share)).abs();
            assert!(
                error <= 0.01 * exact(share),
                "{measured} for {}",
                exact(share)
            );
        }
        assert_eq!(summary.largest_s, exact(1.0));
        let mean = nanos.iter().sum::<u64>() as f64 / nanos.len() as f64 / 1e9;
        assert!((summary.mean_s - mean).abs() <= 1e-12 * mean);
    }

    #[test]
    fn every_bucket_is_narrower_than_two_per_cent() {
        for nanos in spread(10_000)
            .into_iter()
            .chain([0, 63, 64, 127, 128, u64::MAX])
        {
            let (octave, bucket) = place_of(nanos);
            let middle = middle(octave, bucket);
            assert!(middle.abs_diff(nanos) <= nanos / 100, "{nanos}: {middle}");
        }
    }

    #[test]
    fn merged_histograms_are_that_of_all_packets() {
        let nanos = spread(5_000);
        let (first, second) = nanos.split_at(1_234);
        let mut merged = counted(first);
        merged.merge(&counted(second));
        assert_eq!(merged.summary(), counted(&nanos).summary());
        assert_eq!(Delays::default().summary(), None);
    }

    #[test]
    fn its_size_is_bounded() {
        assert!(size_of::<Delays>() <= 144, "{}", size_of::<Delays>());
        let delays = counted(&(0..64).map(|bit| 1 << bit).collect::<Vec<u64>>());
        assert!(delays.counts.len() <= OCTAVES);
        // An idle path's delays lie in one octave: 256 B.
        let idle = counted(&[18_000_000; 1000]);
        assert_eq!((idle.counts.len(), idle.counts.capacity()), (1, 1));
        assert_eq!(size_of::<WayDelays>(), 16);
    }

    #[test]
    fn a_way_has_a_histogram_for_each_kind_of_packet_that_came() {
        let mut way = WayDelays::default();
        assert!(way.summary().is_none() && way.of_data().is_none());
        way.add(Duration::from_millis(10), false);
        assert!(way.0[1].is_none());
        assert_eq!(way.summary().unwrap().packets, 1);
        way.add(Duration::from_millis(30), true);
        let (data, all) = (way.of_data().unwrap(), way.summary().unwrap());
        assert_eq!((data.packets(), all.packets), (1, 2));
        assert_eq!((all.mean_s, all.largest_s), (0.02, 0.03));
    }
}
