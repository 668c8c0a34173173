//! The numbers over study A's path: 5 Mbit/s, 10 ms, a source that always has data, steady state.

use super::*;
use crate::wire::aerotp::Protection;

/// Goodput in Mbit/s between two moments, of a source that always has data.
fn steady(configuration: Configuration, bit_error_rate: f64, seed: u64) -> f64 {
    let mut pair = Pair::new(configuration, study_path(bit_error_rate, seed));
    pair.keeps = false;
    let at = |pair: &mut Pair, seconds: f64| {
        let room = pair.a.room();
        pair.write(room);
        pair.seconds(seconds);
        pair.read_bytes[1]
    };
    let mut start = 0;
    let mut end = 0;
    for tenth in 1..=220 {
        end = at(&mut pair, f64::from(tenth) * 0.1);
        if tenth == 20 {
            start = end;
        }
    }
    (end - start) as f64 * 8.0 / 20.0 / 1e6
}

/// Entropy of a bit that is flipped with probability `p`.
fn entropy(p: f64) -> f64 {
    if p == 0.0 {
        return 0.0;
    }
    -p * p.log2() - (1.0 - p) * (1.0 - p).log2()
}

#[test]
fn plain_repetition_reaches_its_limit() {
    for rate in [0.0, 1e-6, 1e-5, 3.5e-5, 5e-5, 1e-4] {
        let mut configuration = with_mode(Mode::Reliable);
        configuration.coding = Coding::Fixed(Protection::default());
        let goodput = steady(configuration, rate, 1);
        let payload = 1500.0 - 20.0 - 22.0 - 4.0;
        let limit = 5.0 * payload / 1500.0 * (12_000.0 * (-rate).ln_1p()).exp();
        assert!(
            goodput >= 0.95 * limit,
            "{rate}: {goodput:.3} of {limit:.3} Mbit/s"
        );
    }
}

/// Of a MACK with ranges, of 100 bytes and more, one in ten would come without a code. A fixed code for a channel that is known
/// takes 0.8 s.
#[test]
fn answers_are_coded_too_where_both_ways_flip_bits() {
    for mode in [Mode::Reliable, Mode::NearReliable] {
        for seed in 1..=10 {
            let mut pair = Pair::new(with_mode(mode), study_path(3e-3, seed));
            pair.write(200_000);
            pair.a.close();
            pair.seconds(5.0);
            pair.assert_read(200_000);
            assert!(pair.saw(End::A, Event::Delivered), "{mode:?} {seed}");
        }
    }
}

#[test]
fn the_adaptive_code_comes_near_the_channels_capacity() {
    for (rate, share) in [
        (0.0, 0.88),
        (1e-6, 0.88),
        (1e-5, 0.88),
        (3.5e-5, 0.88),
        (1e-4, 0.88),
        (1e-3, 0.70),
    ] {
        let goodput = steady(with_mode(Mode::Reliable), rate, 2);
        let capacity = 5.0 * (1.0 - entropy(rate));
        assert!(
            goodput >= share * capacity,
            "{rate}: {goodput:.3} of {capacity:.3} Mbit/s"
        );
    }
}

/// Returns two ends of a link of 50 Mbit/s with a round trip of 580 ms, and buffers of several times what it holds.
fn over_satellite(loss: f64, seed: u64) -> Pair {
    let rate = 50_000_000;
    let mut configuration = Configuration::new(DataRate::from_bits_per_second(rate));
    configuration.mode = Mode::NearReliable;
    configuration.coding = Coding::Fixed(Protection::default());
    configuration.send_buffer = 32 << 20;
    configuration.receive_buffer = 32 << 20;
    let links = [seed, seed + 1].map(|seed| {
        let mut link = Link::new(rate, Duration::from_millis(290), seed);
        link.loss = loss;
        link
    });
    let mut pair = Pair::new(configuration, links);
    pair.keeps = false;
    pair
}

/// Oracle: each packet with data arrives with probability 0.95, so a byte is sent 1 / 0.95 times in the mean, whatever the
/// number of gaps: here some 150 at a time, of which a packet lists 32. Of the last round trip's 2417 packets the lost ones
/// are sent twice more: 242 of 21700, 0.011.
#[test]
fn a_long_path_with_hundreds_of_gaps_repeats_what_was_lost_and_little_else() {
    let mut pair = over_satellite(0.05, 1);
    let bytes = 30_000_000;
    pair.write(bytes);
    pair.a.close();
    pair.seconds(12.0);
    assert_eq!(pair.read_bytes[1], bytes);
    let statistics = pair.a.statistics();
    let share = statistics.retransmitted as f64 / statistics.packets as f64;
    assert!((0.052..0.07).contains(&share), "{share}");
}

/// Oracle: the link's rate, without the packets lost and the 46 B of headers in each of 1500 B. The start and the last
/// repairs count.
#[test]
fn a_hundred_megabytes_have_nine_tenths_of_what_a_long_lossy_path_carries() {
    let bytes = 100_000_000;
    for (loss, seed) in [(0.0, 1), (0.01, 1), (0.01, 3), (0.05, 1), (0.05, 3)] {
        let mut pair = over_satellite(loss, seed);
        let (mut left, mut tenths) = (bytes, 0);
        while pair.read_bytes[1] < bytes && tenths < 600 {
            let room = pair.a.room().min(left);
            pair.write(room);
            left -= room;
            if left == 0 {
                pair.a.close();
            }
            tenths += 1;
            pair.seconds(f64::from(tenths) * 0.1);
        }
        let (ended, read) = *pair.arrivals.last().unwrap();
        assert_eq!(read, bytes);
        let carried = 50e6 / 8.0 * (1.0 - loss) * (1500.0 - 46.0) / 1500.0;
        let share = bytes as f64 / carried / ended.as_secs_f64();
        eprintln!("loss {loss}: {:.2} s, {share:.3}", ended.as_secs_f64());
        assert!(share >= 0.9, "{loss}: {ended:?}");
    }
}
