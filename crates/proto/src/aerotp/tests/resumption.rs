//! Ends that restart with what they have kept: each byte comes once, in order, whatever was on its way.

use super::*;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

fn keeping() -> Configuration {
    let mut configuration = with_mode(Mode::NearReliable);
    configuration.keeps_until_confirmed = true;
    configuration
}

/// Restarts A with the bytes that it has kept, for the `number`th time.
fn restart_writer(pair: &mut Pair, number: u32) {
    let past = Past {
        incarnation: number,
        peer: pair.a.peer_opening(),
        received: 0,
        written: pair.a.written(),
        unconfirmed: pair.a.held_data(),
        is_closed: !pair.a.may_write(),
    };
    let first = ((HERE, THERE), MTU);
    let (now, configuration) = (pair.now(), pair.configuration.clone());
    pair.a = Connection::resume(now, configuration, identity(1000, 2000), first, &past);
}

/// Restarts B, which has read all that came in order, and has lost what came ahead.
fn restart_reader(pair: &mut Pair, number: u32) {
    let Some(b) = &pair.b else { return };
    let past = Past {
        incarnation: number,
        peer: b.peer_opening(),
        received: pair.read_bytes[1],
        written: 0,
        unconfirmed: Vec::new(),
        is_closed: false,
    };
    let first = ((THERE, HERE), MTU);
    let (now, configuration) = (pair.now(), pair.configuration.clone());
    let resumed = Connection::resume(now, configuration, identity(2000, 1000), first, &past);
    pair.b = Some(resumed);
}

fn lossy(seed: u64) -> [Link; 2] {
    let mut links = study_path(0.0, seed);
    for link in &mut links {
        link.loss = 0.05;
    }
    links
}

#[test]
fn a_writer_that_restarts_goes_on_where_the_reader_is() {
    let mut pair = Pair::new(keeping(), lossy(1));
    pair.write(1_000_000);
    pair.a.close();
    for (number, seconds) in [0.3, 0.31, 0.7, 1.2].into_iter().enumerate() {
        pair.seconds(seconds);
        restart_writer(&mut pair, number as u32 + 1);
    }
    pair.seconds(10.0);
    pair.assert_read(1_000_000);
    assert!(pair.saw(End::B, Event::Finished));
    // The restarts cost what was in flight, not what had arrived: of the megabyte less than a quarter came twice.
    let again = pair.b.as_ref().unwrap().statistics().duplicates;
    assert!(again * 1400 < 250_000, "{again} packets came twice");
}

#[test]
fn a_reader_that_restarts_gets_again_what_it_has_lost() {
    let mut pair = Pair::new(keeping(), lossy(2));
    pair.write(1_000_000);
    pair.a.close();
    for (number, seconds) in [0.3, 0.31, 0.7, 1.2].into_iter().enumerate() {
        pair.seconds(seconds);
        restart_reader(&mut pair, number as u32 + 1);
    }
    pair.seconds(10.0);
    pair.assert_read(1_000_000);
    assert!(pair.saw(End::B, Event::Finished) && pair.saw(End::A, Event::Delivered));
}

/// A reader asks for data that the writer has given up, because it does not keep what is only stored.
#[test]
fn a_gap_that_nobody_can_fill_ends_the_connection() {
    let mut configuration = keeping();
    configuration.keeps_until_confirmed = false;
    let mut pair = Pair::new(configuration, study_path(0.0, 3));
    pair.write(1_000_000);
    pair.seconds(0.5);
    pair.read_bytes[1] -= 100_000;
    restart_reader(&mut pair, 1);
    pair.seconds(2.0);
    assert!(pair.saw(End::A, Event::Reset) && pair.saw(End::B, Event::Reset));
}

/// An hour without a link, in which the writer restarts, too.
#[test]
fn data_waits_for_an_hour_without_a_link() {
    let mut configuration = keeping();
    configuration.close_timeout = Duration::from_secs(86_400);
    let mut pair = Pair::new(configuration, study_path(0.0, 4));
    for link in &mut pair.links {
        let at = |seconds: f64| Instant::from_nanos((seconds * 1e9) as u64);
        link.outages.push((at(0.2), at(3_600.0)));
    }
    pair.keeps = true;
    pair.write(500_000);
    pair.seconds(1_800.0);
    restart_writer(&mut pair, 1);
    pair.seconds(3_602.0);
    pair.assert_read(500_000);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    /// Either end, or both, may restart at any time.
    #[test]
    fn no_byte_is_lost_or_comes_twice(seed in 0..1_000_u64, restarts in proptest::collection::vec((0.001..0.4_f64, 0..3_u8), 1..6)) {
        let mut pair = Pair::new(keeping(), lossy(seed));
        pair.write(300_000);
        pair.a.close();
        let (mut seconds, mut numbers) = (0.0, [0; 2]);
        for (after, who) in restarts {
            seconds += after;
            pair.seconds(seconds);
            if who != 1 {
                numbers[0] += 1;
                restart_writer(&mut pair, numbers[0]);
            }
            if who != 0 && pair.b.is_some() {
                numbers[1] += 1;
                restart_reader(&mut pair, numbers[1]);
            }
        }
        pair.seconds(seconds + 10.0);
        pair.assert_read(300_000);
    }
}
