//! The promises of the five modes (study A, section III-D), each over channels that do everything.

use super::*;
use crate::aerotp::Blocks;
use crate::fec::erasure::BlockSize;
use crate::fec::interleaved::Strength;
use crate::wire::aerotp::Protection;
use proptest::prelude::*;

/// A channel of any kind but a dead one.
#[derive(Clone, Debug)]
pub(super) struct Weather {
    pub bit_error_rate: f64,
    loss: f64,
    duplication: f64,
    jitter: Duration,
    outage: (u64, u64),
    seed: u64,
}

pub(super) fn weather() -> impl Strategy<Value = Weather> {
    (
        prop_oneof![Just(0.0), Just(1e-5), Just(1e-4), Just(5e-4)],
        0.0..0.4,
        0.0..0.2,
        0u64..60,
        (0u64..2000, 0u64..5000),
        any::<u64>(),
    )
        .prop_map(
            |(bit_error_rate, loss, duplication, jitter, outage, seed)| Weather {
                bit_error_rate,
                loss,
                duplication,
                jitter: Duration::from_millis(jitter),
                outage,
                seed,
            },
        )
}

pub(super) fn links(weather: &Weather) -> [Link; 2] {
    let mut links = study_path(weather.bit_error_rate, weather.seed);
    for link in &mut links {
        link.loss = weather.loss;
        link.duplication = weather.duplication;
        link.jitter = weather.jitter;
        let from = Instant::from_millis(weather.outage.0);
        link.outages
            .push((from, from + Duration::from_millis(weather.outage.1)));
    }
    links
}

fn any_coding() -> impl Strategy<Value = Coding> {
    let fixed = (prop_oneof![Just(0u16), Just(8), Just(64)], any::<bool>());
    let fixed = fixed.prop_map(|(words, covers_header)| {
        Coding::Fixed(Protection {
            strength: Strength::from_words(words).unwrap(),
            covers_header,
        })
    });
    prop_oneof![Just(Coding::Adaptive), fixed]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, rng_seed: proptest::test_runner::RngSeed::Fixed(8), ..ProptestConfig::default() })]

    /// Reliable and near-reliable deliver every byte once, in order, and its end; and nothing is confirmed that was not stored.
    #[test]
    fn modes_that_repeat_deliver_all(
        weather in weather(),
        near in any::<bool>(),
        bytes in 1u64..60_000,
        coding in any_coding(),
        blocks in proptest::option::of(prop_oneof![
            Just(Blocks::Adaptive),
            Just(Blocks::Fixed(BlockSize::new(8, 2).unwrap())),
        ]),
    ) {
        let mut configuration = with_mode(if near { Mode::NearReliable } else { Mode::Reliable });
        configuration.coding = coding;
        configuration.blocks = blocks;
        let mut weather = weather;
        if let Coding::Fixed(protection) = coding
            && protection.strength.words() < 64
        {
            // Beyond this hardly a packet gets through without a code that is strong enough.
            weather.bit_error_rate = weather.bit_error_rate.min(5e-5);
        }
        let mut pair = Pair::new(configuration, links(&weather));
        pair.write(bytes);
        pair.a.close();
        for second in 1..=120 {
            pair.seconds(f64::from(second));
            let stored = pair.b.as_ref().map_or(0, |_| pair.read_bytes[1]);
            prop_assert!(pair.a.confirmed() <= stored, "{} > {stored}", pair.a.confirmed());
            if pair.saw(End::A, Event::Delivered) {
                break;
            }
        }
        prop_assert!(pair.saw(End::A, Event::Delivered));
        prop_assert!(pair.saw(End::B, Event::Finished));
        pair.assert_read(bytes);
    }

    /// Quasi-reliable and unreliable connections deliver in order, nothing twice, and say how much is left out; with no
    /// packet ever coming back.
    #[test]
    fn modes_without_repetition_need_no_way_back(
        weather in weather(),
        quasi in any::<bool>(),
        records in proptest::collection::vec(1u64..1400, 1..60),
        blocks in any::<bool>(),
    ) {
        let mode = if quasi { Mode::QuasiReliable } else { Mode::UnreliableConnection };
        let mut configuration = with_mode(mode);
        configuration.blocks = (quasi && blocks).then(|| Blocks::Fixed(BlockSize::new(8, 2).unwrap()));
        let mut pair = Pair::new(configuration, links(&weather));
        pair.links[1].loss = 1.0;
        let mut offset = 0;
        let mut ends = Vec::new();
        for length in records {
            let record = Payload::Pattern { stream: 7, offset, length: length as u32 };
            prop_assert!(pair.a.write_record(&record));
            offset += length;
            ends.push(offset);
        }
        pair.a.close();
        pair.seconds(60.0);
        prop_assert_eq!(pair.a.state(), State::Closed);
        let Some(b) = &pair.b else { return Ok(()) };
        prop_assert!(b.statistics().packets == 0);
        // Each record that was read is one that was written, whole, and later than the one before.
        let mut last = 0;
        for read in &pair.read[1] {
            let Payload::Bytes(bytes) = &read.payload else {
                let Payload::Pattern { offset, length, .. } = read.payload else { unreachable!() };
                prop_assert!(offset >= last && ends.contains(&(offset + u64::from(length))));
                last = offset + u64::from(length);
                continue;
            };
            let at = ends.iter().position(|&end| {
                let length = bytes.len() as u64;
                end > last && end >= length && bytes.iter().zip(end - length..).all(|(byte, position)| *byte == crate::packet::pattern_byte(7, position))
            });
            prop_assert!(at.is_some());
            last = ends[at.unwrap()];
        }
        let known = pair.read_bytes[1] + b.statistics().skipped;
        prop_assert!(known <= offset);
        if pair.saw(End::B, Event::Finished) {
            prop_assert_eq!(known, offset);
        }
    }
}

#[test]
fn nothing_is_confirmed_that_the_application_has_not() {
    let mut configuration = with_mode(Mode::Reliable);
    configuration.confirms = true;
    let mut pair = Pair::new(configuration, study_path(0.0, 1));
    pair.write(10_000);
    pair.seconds(1.0);
    assert_eq!((pair.a.confirmed(), pair.a.acknowledged()), (0, 10_000));
    let now = pair.now();
    pair.b.as_mut().unwrap().confirm(now, 4_000);
    pair.seconds(1.1);
    assert_eq!(pair.a.confirmed(), 4_000);
    assert!(pair.saw(End::A, Event::Confirmed));
}

/// With a code across packets a loss costs no repetition where nothing is sent again.
#[test]
fn lost_packets_are_restored_from_their_block() {
    let mut configuration = with_mode(Mode::QuasiReliable);
    configuration.blocks = Some(Blocks::Fixed(BlockSize::new(10, 3).unwrap()));
    configuration.coding = Coding::Fixed(Protection::default());
    let mut pair = Pair::new(configuration, study_path(0.0, 1));
    // Three packets of the first block are lost.
    pair.links[0]
        .outages
        .push((Instant::from_millis(5), Instant::from_millis(12)));
    pair.write(100_000);
    pair.a.close();
    pair.seconds(30.0);
    assert_eq!(pair.links[0].lost, 3);
    pair.assert_read(100_000);
    assert_eq!(pair.b.as_ref().unwrap().statistics().skipped, 0);
}

/// More than a receive buffer is lost at once, and what comes then is read.
#[test]
fn a_long_outage_leaves_a_gap_and_no_more() {
    let mut configuration = with_mode(Mode::QuasiReliable);
    configuration.receive_buffer = 100_000;
    let mut pair = Pair::new(configuration, study_path(0.0, 1));
    pair.links[0]
        .outages
        .push((Instant::from_secs(1), Instant::from_secs(3)));
    pair.write(2_500_000);
    pair.a.close();
    pair.seconds(60.0);
    let skipped = pair.b.as_ref().unwrap().statistics().skipped;
    // Two seconds of 5 Mbit/s.
    assert!((1_150_000..1_250_000).contains(&skipped), "{skipped}");
    assert_eq!(pair.read_bytes[1] + skipped, 2_500_000);
    assert!(pair.saw(End::B, Event::Finished));
}

/// A peer of which nothing is heard any more, not even an end, is not kept for ever.
#[test]
fn silence_ends_a_connection_without_answers() {
    let mut pair = Pair::new(with_mode(Mode::QuasiReliable), study_path(0.0, 1));
    pair.write(10_000);
    pair.seconds(1.0);
    assert_eq!(pair.b.as_ref().unwrap().state(), State::Established);
    pair.seconds(302.0);
    assert!(pair.saw(End::B, Event::TimedOut));
}

/// Data that has left is not held any longer if nobody answers.
#[test]
fn a_writer_without_answers_is_told_of_room() {
    let mut configuration = with_mode(Mode::QuasiReliable);
    configuration.send_buffer = 100_000;
    let mut pair = Pair::new(configuration, study_path(0.0, 1));
    pair.write(100_000);
    let more = Payload::Pattern {
        stream: 7,
        offset: 100_000,
        length: 50_000,
    };
    assert_eq!(pair.a.write(&more), 0);
    pair.seconds(1.0);
    assert!(pair.saw(End::A, Event::Writable));
    assert_eq!(pair.a.write(&more), 50_000);
    pair.seconds(2.0);
    pair.assert_read(150_000);
}

/// A router that says zero stops the flow, and not for ever.
#[test]
fn a_rate_of_nothing_grows_again() {
    let mut pair = Pair::new(with_mode(Mode::QuasiReliable), study_path(0.0, 1));
    pair.write(1_000_000);
    pair.seconds(0.5);
    let now = pair.now();
    pair.a.backpressure(now, PathId(0), DataRate::ZERO);
    pair.a.close();
    pair.seconds(1.4);
    assert!(pair.read_bytes[1] < 330_000, "{}", pair.read_bytes[1]);
    pair.seconds(20.0);
    pair.assert_read(1_000_000);
}
