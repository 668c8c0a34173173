//! Several paths at once, each with links of its own.

use super::modes::{Weather, links, weather};
use super::*;
use crate::aerotp::Blocks;
use crate::fec::erasure::BlockSize;
use core::net::Ipv4Addr;
use proptest::prelude::*;

const SECOND: IpAddr = IpAddr::V4(Ipv4Addr::new(203, 0, 113, 1));

/// Wires of a rate in Mbit/s and a delay in milliseconds.
fn pair_of_links(rate: u64, delay: u64) -> [Link; 2] {
    [11, 12].map(|seed| Link::new(rate * 1_000_000, Duration::from_millis(delay), seed))
}

/// Two paths from A, each of a rate in Mbit/s and a delay in milliseconds; A opens over the first.
fn two_paths(mut configuration: Configuration, first: (u64, u64), second: (u64, u64)) -> Pair {
    let rate = |(rate, _)| DataRate::from_bits_per_second(rate * 1_000_000);
    configuration.initial_rate = rate(first);
    let mut pair = Pair::new(configuration, pair_of_links(first.0, first.1));
    pair.others
        .push((SECOND, pair_of_links(second.0, second.1)));
    let added = pair
        .a
        .add_path(Instant::ZERO, (SECOND, THERE), MTU, rate(second));
    assert_eq!(added, Some(PathId(1)));
    pair
}

/// Packets with data from A between two moments, over the first path and over the second.
fn carried(pair: &Pair, from: f64, to: f64) -> [usize; 2] {
    [HERE, SECOND].map(|address| {
        let sent = pair.log.iter().filter(|(at, end, packet)| {
            (from..to).contains(&at.as_secs_f64())
                && *end == End::A
                && packet.ip.source == address
                && packet.view().payload_bytes > 0
        });
        sent.count()
    })
}

fn outage(pair: &mut Pair, from: f64, to: f64) {
    let at = |seconds: f64| Instant::from_nanos((seconds * 1e9) as u64);
    for link in &mut pair.others[0].1 {
        link.outages.push((at(from), at(to)));
    }
}

/// 6 Mbit/s of packets of 1500 B with 1454 B of data carry 4 MB in 5.50 s; and there is the longer delay. With the slower path first
/// the peer hears of the other one before.
#[test]
fn two_paths_carry_what_they_carry_together() {
    for (first, second) in [((5, 10), (1, 250)), ((1, 250), (5, 10))] {
        for mode in [Mode::Reliable, Mode::NearReliable] {
            let mut pair = two_paths(with_mode(mode), first, second);
            pair.write(4_000_000);
            pair.a.close();
            pair.seconds(20.0);
            pair.assert_read(4_000_000);
            let (finished, _) = *pair.arrivals.last().unwrap();
            let least = 4e6 * 8.0 / (6e6 * 1454.0 / 1500.0);
            let took = finished.as_secs_f64();
            assert!((least..least + 0.3).contains(&took), "{took}");
            // Packets on their way over the longer path are not taken for lost, and the paths are told apart.
            let statistics = pair.a.statistics();
            assert_eq!((statistics.retransmitted, statistics.probes), (0, 0));
            assert_eq!(pair.b.as_ref().unwrap().statistics().refused, 0);
            let rtt = [0, 1].map(|path| pair.a.smoothed_rtt(PathId(path)).unwrap().as_secs_f64());
            for (rtt, (_, delay)) in rtt.into_iter().zip([first, second]) {
                let shortest = 2.0 * delay as f64 / 1e3;
                assert!((shortest..shortest + 0.03).contains(&rtt), "{rtt}");
            }
            let [at_first, at_second] = carried(&pair, 0.0, 5.0).map(|packets| packets as f64);
            let share = first.0 as f64 / 6.0;
            assert!((at_first / (at_first + at_second) - share).abs() < 0.01);
        }
    }
}

/// Of 20 and 5 Mbit/s, 290 and 15 ms away, packets of the nearer path lie between a hundred gaps, which one MACK cannot
/// report: several take turns, and those over the nearer path overtake the others.
#[test]
fn reports_in_turns_over_unequal_paths_lose_nothing() {
    for (first, second) in [((20, 290), (5, 15)), ((5, 15), (20, 290))] {
        for mode in [Mode::Reliable, Mode::NearReliable] {
            let mut configuration = with_mode(mode);
            configuration.send_buffer = 16 << 20;
            configuration.receive_buffer = 16 << 20;
            let mut pair = two_paths(configuration, first, second);
            pair.keeps = false;
            pair.write(12_000_000);
            // All has left after 3.9 s; what is not yet reported then is sent again, for want of anything else.
            pair.seconds(3.5);
            assert_eq!(pair.a.statistics().retransmitted, 0);
            pair.seconds(20.0);
            assert_eq!(pair.read_bytes[1], 12_000_000);
            let (finished, _) = *pair.arrivals.last().unwrap();
            let least = 12e6 * 8.0 / (25e6 * 1454.0 / 1500.0);
            let took = finished.as_secs_f64();
            assert!((least..least + 0.35).contains(&took), "{took}");
        }
    }
}

/// All but the first packets come over the longer path, and what is confirmed then goes back over the nearer one: by hand, after
/// the 10 ms that a MACK waits and 15 ms.
#[test]
fn a_confirmation_goes_back_over_the_quickest_path() {
    for (first, second) in [((20, 290), (5, 15)), ((5, 15), (20, 290))] {
        let mut configuration = with_mode(Mode::Reliable);
        configuration.confirms = true;
        let mut pair = two_paths(configuration, first, second);
        pair.write(1_000_000);
        pair.seconds(1.5);
        assert_eq!(pair.read_bytes[1], 1_000_000);
        assert_eq!(pair.a.confirmed(), 0);
        let now = pair.now();
        pair.b.as_mut().unwrap().confirm(now, 4_000);
        pair.seconds(1.53);
        assert_eq!(pair.a.confirmed(), 4_000);
    }
}

/// Nobody says that a path is down: nothing is answered there while answers come from the other one.
#[test]
fn a_path_that_falls_silent_is_left_out_until_it_answers() {
    let mut pair = two_paths(with_mode(Mode::Reliable), (5, 10), (5, 30));
    outage(&mut pair, 1.0, 3.0);
    pair.write(4_000_000);
    pair.a.close();
    pair.seconds(20.0);
    pair.assert_read(4_000_000);
    // It falls silent after twice the time of an answer, here 60 ms, a packet, four variations and 10 ms.
    let [whole, _] = carried(&pair, 1.3, 2.9);
    let most = 5e6 * 1.6 / 8.0 / 1500.0;
    assert!(
        (0.98 * most..=most + 2.0).contains(&(whole as f64)),
        "{whole}"
    );
    assert_eq!(carried(&pair, 1.3, 3.0)[1], 0);
    // It is asked every 150 ms.
    assert!((10..=20).contains(&pair.a.statistics().probes));
    let at = |seconds: f64| {
        let before = pair.arrivals.iter().rev();
        let mut before = before.skip_while(|(at, _)| at.as_secs_f64() > seconds);
        before.next().map_or(0, |(_, bytes)| *bytes) as f64 * 8.0
    };
    let goodput = (at(2.9) - at(1.5)) / 1.4;
    assert!(goodput > 0.95 * 5e6 * 1454.0 / 1500.0, "{goodput}");
    // And when it answers, both are used: within a question and the way there and back.
    let [first, second] = carried(&pair, 3.3, 3.8).map(|packets| packets as f64);
    assert!((second / first - 1.0).abs() < 0.05, "{first} {second}");
}

#[test]
fn a_path_that_is_said_to_be_down_carries_nothing_and_its_share_moves() {
    let mut pair = two_paths(with_mode(Mode::Reliable), (5, 10), (5, 30));
    outage(&mut pair, 1.0, 2.0);
    pair.write(4_000_000);
    pair.a.close();
    pair.seconds(1.0);
    pair.a.link_down(PathId(1));
    pair.settle();
    pair.seconds(2.0);
    pair.a.link_up(PathId(1), None);
    pair.settle();
    pair.seconds(20.0);
    pair.assert_read(4_000_000);
    assert_eq!(carried(&pair, 1.000_001, 2.0)[1], 0);
    let [first, second] = carried(&pair, 2.0, 3.0).map(|packets| packets as f64);
    assert!((second / first - 1.0).abs() < 0.05, "{first} {second}");
    // The data on its way when it went down: 30 ms of 5 Mbit/s, and data that had come but was not yet acknowledged.
    let again = pair.a.statistics().retransmitted;
    assert!((12..=60).contains(&again), "{again}");
}

/// Data that is lost on the path with the longer packets goes over the other in pieces.
#[test]
fn packets_are_as_long_as_their_path_takes() {
    const SHORT: u32 = 1000;
    let mut pair = two_paths(with_mode(Mode::Reliable), (5, 10), (5, 30));
    pair.a.set_mtu(PathId(0), SHORT);
    outage(&mut pair, 1.0, 100.0);
    pair.write(2_000_000);
    pair.a.close();
    pair.seconds(20.0);
    pair.assert_read(2_000_000);
    assert!(pair.a.statistics().retransmitted > 10);
    let longest = [HERE, SECOND].map(|address| {
        let sent = pair.log.iter().filter(|(_, _, it)| it.ip.source == address);
        sent.map(|(_, _, packet)| packet.wire_length()).max()
    });
    assert_eq!(longest, [Some(SHORT), Some(MTU)]);
}

/// The end of a transfer stands alone on the path that dies.
#[test]
fn what_was_last_on_a_dead_path_goes_over_the_other() {
    let mut pair = two_paths(with_mode(Mode::Reliable), (5, 10), (5, 30));
    outage(&mut pair, 0.0, 100.0);
    pair.write(3000);
    pair.a.close();
    pair.seconds(5.0);
    pair.assert_read(3000);
    assert!(pair.saw(End::A, Event::Delivered));
}

/// Two paths of the same rate take turns; of a block of 4 and 4 packets the one that lives carries four.
#[test]
fn blocks_across_two_paths_survive_the_silence_of_one() {
    let skipped = |blocks| {
        let mut configuration = with_mode(Mode::UnreliableConnection);
        configuration.coding = Coding::Fixed(crate::wire::aerotp::Protection::default());
        configuration.blocks = blocks;
        let mut pair = two_paths(configuration, (5, 10), (5, 30));
        outage(&mut pair, 0.5, 100.0);
        pair.write(1_000_000);
        pair.a.close();
        pair.seconds(10.0);
        let b = pair.b.as_ref().unwrap();
        assert_eq!(pair.read_bytes[1] + b.statistics().skipped, 1_000_000);
        b.statistics().skipped
    };
    assert_eq!(skipped(BlockSize::new(4, 4).ok().map(Blocks::Fixed)), 0);
    // Without them half of what leaves after 0.5 s is missing: of 1 MB the last 394 kB.
    let before = 0.5 * 10e6 / 8.0 * 1442.0 / 1500.0;
    let half = (1e6 - before) / 2.0;
    let none = skipped(None) as f64;
    assert!((none / half - 1.0).abs() < 0.1, "{none} {half}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, rng_seed: proptest::test_runner::RngSeed::Fixed(9), ..ProptestConfig::default() })]

    /// Whatever two paths do, all is delivered once and in order where data is repeated, and once and in order but for what is
    /// told to be missing where not.
    #[test]
    fn two_paths_keep_the_promises_of_the_modes(
        first in weather(),
        second in weather(),
        mode in prop_oneof![
            Just(Mode::Reliable), Just(Mode::NearReliable), Just(Mode::QuasiReliable), Just(Mode::UnreliableConnection),
        ],
        bytes in 1u64..60_000,
        blocks in any::<bool>(),
    ) {
        let calm = |mut weather: Weather| {
            // Beyond this hardly a packet without a code gets through.
            weather.bit_error_rate = weather.bit_error_rate.min(5e-5);
            links(&weather)
        };
        let mut configuration = with_mode(mode);
        configuration.coding = Coding::Fixed(crate::wire::aerotp::Protection::default());
        configuration.blocks = blocks.then(|| Blocks::Fixed(BlockSize::new(4, 3).unwrap()));
        let mut pair = Pair::new(configuration, calm(first));
        pair.others.push((SECOND, calm(second)));
        let rate = DataRate::from_bits_per_second(5_000_000);
        pair.a.add_path(Instant::ZERO, (SECOND, THERE), MTU, rate);
        pair.write(bytes);
        pair.a.close();
        for second in 1..=120 {
            pair.seconds(f64::from(second));
            if pair.saw(End::A, Event::Delivered) {
                break;
            }
        }
        if mode.repeats() {
            prop_assert!(pair.saw(End::A, Event::Delivered) && pair.saw(End::B, Event::Finished));
            pair.assert_read(bytes);
        } else if let Some(b) = &pair.b {
            let skipped = b.statistics().skipped;
            prop_assert!(pair.read_bytes[1] + skipped <= bytes);
            if pair.saw(End::B, Event::Finished) {
                prop_assert_eq!(pair.read_bytes[1] + skipped, bytes);
            }
        }
    }
}
