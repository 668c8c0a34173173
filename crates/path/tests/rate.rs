//! Rates that paths find on a bottleneck, alone, beside each other and beside CUBIC.

mod bottleneck;
mod pipe;

use baton_path::Rejected;
use baton_proto::rate::DataRate;
use baton_proto::time::{Duration, Instant};
use bottleneck::{Habit, Lab, LabExt, Link};
use pipe::{Behaviour, Pair, PairExt};
use proptest::prelude::*;

const SECOND: Duration = Duration::from_secs(1);
const MBIT: u64 = 1_000_000;

fn seconds(count: u64) -> Duration {
    SECOND.saturating_mul(count)
}

fn megabits(bytes: f64, time: Duration) -> f64 {
    bytes * 8e-6 / time.as_secs_f64()
}

fn paced(lab: &mut Lab) -> f64 {
    let now = lab.now();
    lab.pace(now, 0).rate.bits_per_second() as f64 / 1e6
}

#[test]
fn random_losses_leave_nine_tenths_of_the_link() {
    for round_trip in [20, 580] {
        for loss in [0.0, 0.01, 0.05] {
            let mut link = Link::new(50 * MBIT, round_trip, 1.0);
            link.loss = loss;
            let mut lab = Lab::lab(link, 3);
            lab.add_way(Habit::Greedy);
            lab.run_for(seconds(15));
            lab.waits.clear();
            let arrived = megabits(lab.arrivals(seconds(30))[0], seconds(30));
            assert!(
                arrived >= 0.9 * 50.0,
                "{arrived} at {loss}, {round_trip} ms"
            );
            // The queue is empty but for probes.
            let mean = lab.waits.iter().sum::<f64>() / lab.waits.len() as f64;
            let most = (0.05 * round_trip as f64 / 1e3).max(0.004);
            assert!(
                mean <= most,
                "a queue of {mean} s at {loss}, {round_trip} ms"
            );
            // Reports take 2 % of the way back, and with the path's own messages little more.
            let (up, down) = (lab.offered[0] as f64, lab.back[0] as f64);
            assert!(down <= 0.025 * up, "{down} B back for {up} B");
        }
    }
}

/// Runs a path beside CUBIC, and checks their shares in the second half of the time.
fn share_with_cubic(rate: u64, round_trip: u64, time: Duration) {
    let all = rate as f64 / 1e6;
    for buffer in [0.5, 1.0, 2.0] {
        let mut lab = Lab::lab(Link::new(rate, round_trip, buffer), 3);
        lab.add_way(Habit::Greedy);
        lab.run_for(seconds(2));
        lab.add_cubic();
        lab.run_for(time.half());
        let arrived = lab.arrivals(time.half());
        let [path, cubic] = [0, 1].map(|flow| megabits(arrived[flow], time.half()));
        let told = format!("{path:.1} beside {cubic:.1} Mbit/s, {round_trip} ms, {buffer}");
        assert!(path <= 2.0 * cubic, "takes too much: {told}");
        assert!(path >= 0.25 * all, "is starved: {told}");
        assert!(path + cubic >= 0.9 * all, "wastes the link: {told}");
    }
}

#[test]
fn a_path_takes_at_most_twice_what_cubic_takes_at_20_ms() {
    share_with_cubic(20 * MBIT, 20, seconds(100));
}

#[test]
fn a_path_takes_at_most_twice_what_cubic_takes_at_100_ms() {
    share_with_cubic(20 * MBIT, 100, seconds(100));
}

#[test]
fn a_path_takes_at_most_twice_what_cubic_takes_at_580_ms() {
    share_with_cubic(10 * MBIT, 580, seconds(400));
}

/// Runs two paths of which the second begins later, and returns the ratio of their arrivals in the second half.
fn share_of_two(round_trip: u64, buffer: f64, later: Duration) -> f64 {
    let mut lab = Lab::lab(Link::new(20 * MBIT, round_trip, buffer), 3);
    lab.add_way(Habit::Greedy);
    lab.run_for(later);
    lab.add_way(Habit::Greedy);
    let time = seconds(30).max(Duration::from_millis(100 * round_trip));
    lab.run_for(time);
    let arrived = lab.arrivals(time);
    let sum = megabits(arrived[0] + arrived[1], time);
    assert!(sum >= 0.9 * 20.0, "{sum} Mbit/s, {round_trip} ms, {buffer}");
    arrived[0] / arrived[1]
}

#[test]
fn two_paths_that_begin_together_have_a_fair_part_each() {
    // Over 580 ms probes are rare, and the first shares last.
    for (round_trip, most) in [(20, 1.34), (100, 1.34), (580, 2.2)] {
        for buffer in [0.5, 1.0, 2.0] {
            let ratio = share_of_two(round_trip, buffer, Duration::ZERO);
            let told = format!("{ratio:.2}, {round_trip} ms, {buffer}");
            assert!((1.0 / most..=most).contains(&ratio), "{told}");
        }
    }
}

/// The first round trip is the handshake's, two more are the trains', and the fifth carries what the link does.
#[test]
fn a_path_finds_its_rate_from_nothing_within_five_round_trips() {
    for (rate, round_trip) in [(50, 580), (10, 580), (1, 580), (100, 100), (20, 100)] {
        for loss in [0.0, 0.01] {
            let mut link = Link::new(rate * MBIT, round_trip, 1.0);
            link.loss = loss;
            let mut lab = Lab::lab(link, 3);
            lab.add_way(Habit::Greedy);
            let trip = Duration::from_millis(round_trip);
            lab.run_for(trip.saturating_mul(4));
            // The queue that the first probe makes is drained meanwhile.
            let time = trip.saturating_mul(4);
            let arrived = megabits(lab.arrivals(time)[0], time);
            let told = format!("{arrived:.2} of {rate} Mbit/s, {round_trip} ms, {loss}");
            assert!(arrived >= 0.85 * rate as f64, "{told}");
            let longest = lab.waits.iter().fold(0.0_f64, |most, wait| most.max(*wait));
            assert!(longest <= trip.as_secs_f64(), "{longest} s, {told}");
        }
    }
}

/// Without data a path knows its rate, too: trains are of the path's own datagrams, of 110 packets at most.
#[test]
fn a_path_knows_its_rate_before_there_is_data() {
    for (rate, round_trip) in [(50, 580), (5, 100), (1, 20)] {
        let mut lab = Lab::lab(Link::new(rate * MBIT, round_trip, 1.0), 3);
        lab.add_way(Habit::Silent);
        lab.run_for(Duration::from_millis(5 * round_trip + 200));
        let found = paced(&mut lab) / rate as f64;
        // A probe's first gain is at most a half.
        assert!((0.85..=1.55).contains(&found), "{found} of {rate} Mbit/s");
        assert!(
            lab.offered[0] <= 110 * 1_500 + 5_000,
            "{} B",
            lab.offered[0]
        );
    }
}

/// A second path that comes 30 s later has its share five seconds or 25 round trips later.
#[test]
fn a_path_that_begins_later_gets_its_share() {
    let mut unfair = Vec::new();
    // Over 580 ms probes are rare, and shares differ more.
    for (rate, round_trip, least) in [(20, 20, 0.38), (20, 100, 0.38), (10, 580, 0.3)] {
        for buffer in [0.25, 1.0, 2.0] {
            let mut lab = Lab::lab(Link::new(rate * MBIT, round_trip, buffer), 3);
            lab.add_way(Habit::Greedy);
            lab.run_for(seconds(30));
            lab.add_way(Habit::Greedy);
            let settle = seconds(5).max(Duration::from_millis(25 * round_trip));
            lab.run_for(settle);
            for _ in 0..3 {
                let time = settle.saturating_mul(2).max(seconds(30));
                let arrived = lab.arrivals(time);
                let sum = arrived[0] + arrived[1];
                let share = arrived[1] / sum;
                let told = format!("{share:.2}, {rate} Mbit/s, {round_trip} ms, {buffer}");
                if !(least..=1.0 - least).contains(&share) {
                    unfair.push(told.clone());
                }
                assert!(megabits(sum, time) >= 0.85 * rate as f64, "{told}");
            }
        }
    }
    assert!(unfair.is_empty(), "{unfair:?}");
}

#[test]
fn a_collapse_is_followed_within_two_round_trips_and_a_recovery_soon() {
    for round_trip in [20, 100, 580] {
        let mut lab = Lab::lab(Link::new(10 * MBIT, round_trip, 1.0), 3);
        lab.add_way(Habit::Greedy);
        lab.run_for(seconds(15));
        let before = megabits(lab.arrivals(seconds(5))[0], seconds(5));
        assert!(before > 9.0, "{before}");
        lab.link.rate = DataRate::from_bits_per_second(100_000);
        // A datagram takes 120 ms: after less than that nobody can know more than that none has arrived.
        lab.run_for(Duration::from_millis(2 * round_trip + 25).max(Duration::from_millis(125)));
        let pace = paced(&mut lab);
        assert!(pace <= 0.2, "{pace} Mbit/s, {round_trip} ms");
        // Nothing more is sent until the queue has drained.
        let (before, queue) = (lab.offered[0], 0.9 * 10e6 / 8.0 * round_trip as f64 / 1e3);
        lab.run_for(Duration::from_secs_f64(queue * 8.0 / 100_000.0 / 2.0));
        assert!(
            (lab.offered[0] - before) as f64 <= 0.1 * queue + 6_000.0,
            "{round_trip} ms"
        );
        lab.run_for(Duration::from_secs_f64(queue * 8.0 / 100_000.0) + seconds(5));
        let slow = megabits(lab.arrivals(seconds(10))[0], seconds(10));
        assert!(
            (0.08..=0.11).contains(&slow),
            "{slow} Mbit/s, {round_trip} ms"
        );
        lab.link.rate = DataRate::from_bits_per_second(10 * MBIT);
        // A probe begins within a second or eight round trips, and doubles the rate in each round trip.
        lab.run_for(seconds(2) + Duration::from_millis(20 * round_trip));
        let fast = megabits(lab.arrivals(seconds(5))[0], seconds(5));
        assert!(fast >= 8.5, "{fast} Mbit/s, {round_trip} ms");
    }
}

#[test]
fn an_application_that_sends_little_does_not_lower_the_rate() {
    let mut lab = Lab::lab(Link::new(10 * MBIT, 100, 1.0), 3);
    lab.add_way(Habit::Greedy);
    lab.run_for(seconds(10));
    lab.way(0).habit = Habit::Every(Duration::from_millis(20));
    let little = megabits(lab.arrivals(seconds(30))[0], seconds(30));
    assert!((0.5..0.7).contains(&little), "{little}");
    assert!(paced(&mut lab) >= 9.0, "{}", paced(&mut lab));
    lab.way(0).habit = Habit::Greedy;
    lab.settle();
    let again = megabits(lab.arrivals(seconds(1))[0], seconds(1));
    assert!(again >= 8.5, "{again}");
}

/// After three minutes without data the old rate counts no more. It would send 250 kB in two round trips; of a link that
/// has become slower, a third is allowed.
#[test]
fn a_rate_that_is_minutes_old_is_found_again() {
    for (rate, most) in [(10 * MBIT, 300_000), (MBIT, 83_000)] {
        let mut lab = Lab::lab(Link::new(10 * MBIT, 100, 1.0), 3);
        lab.add_way(Habit::Greedy);
        lab.run_for(seconds(10));
        lab.way(0).habit = Habit::Silent;
        lab.run_for(seconds(180));
        lab.link.rate = DataRate::from_bits_per_second(rate);
        lab.way(0).habit = Habit::Greedy;
        let before = lab.offered[0];
        lab.settle();
        lab.run_for(Duration::from_millis(200));
        let sent = lab.offered[0] - before;
        assert!(sent <= most, "{sent} B in two round trips at {rate} bit/s");
        lab.run_for(Duration::from_millis(300));
        let again = megabits(lab.arrivals(seconds(2))[0], seconds(2)) * 1e6 / rate as f64;
        assert!(again >= 0.85, "{again} of {rate} bit/s");
    }
}

#[test]
fn a_rate_that_is_told_is_used_at_once_and_not_exceeded() {
    let mut lab = Lab::lab(Link::new(10 * MBIT, 100, 1.0), 3);
    lab.add_way(Habit::Silent);
    lab.run_for(SECOND);
    let now = lab.now();
    let told = Some(DataRate::from_bits_per_second(6 * MBIT));
    lab.way(0).router.set_rate(now, told);
    lab.way(0).habit = Habit::Greedy;
    lab.settle();
    lab.run_for(Duration::from_millis(100));
    let arrived = megabits(lab.arrivals(seconds(20))[0], seconds(20));
    assert!((5.7..=6.0).contains(&arrived), "{arrived}");
    let now = lab.now();
    lab.way(0).router.set_rate(now, None);
    lab.run_for(seconds(5));
    let found = megabits(lab.arrivals(seconds(5))[0], seconds(5));
    assert!(found >= 9.0, "{found}");
}

#[test]
fn a_link_that_carries_less_than_it_tells_lowers_the_rate() {
    for buffer in [0.2, 1.0, 5.0] {
        let mut lab = Lab::lab(Link::new(10 * MBIT, 100, buffer), 3);
        lab.add_way(Habit::Greedy);
        let now = lab.now();
        let told = Some(DataRate::from_bits_per_second(20 * MBIT));
        lab.way(0).router.set_rate(now, told);
        lab.run_for(seconds(15));
        let before = lab.offered[0];
        let arrived = megabits(lab.arrivals(seconds(20))[0], seconds(20));
        let offered = megabits((lab.offered[0] - before) as f64, seconds(20));
        assert!(arrived >= 9.0, "{arrived} of {offered} Mbit/s, {buffer}");
        assert!(offered <= 11.0, "{offered} Mbit/s, {buffer}");
    }
}

#[test]
fn what_is_in_flight_is_bounded_while_reports_stop_and_sending_goes_on_with_them() {
    let mut lab = Lab::lab(Link::new(10 * MBIT, 100, 1.0), 3);
    lab.add_way(Habit::Greedy);
    lab.run_for(seconds(5));
    lab.is_cut = true;
    let before = lab.offered[0];
    lab.run_for(seconds(4));
    // Twice what the path holds, with the wait for reports, and the path's own messages.
    let (product, sent) = (125_000, lab.offered[0] - before);
    assert!(sent <= 3 * product, "{sent} B into a cut path");
    let now = lab.now();
    let pace = lab.pace(now, 0);
    assert_eq!(pace.departure, Instant::NEVER);
    assert!(pace.rate.bits_per_second() < 10_000, "{pace:?}");
    lab.is_cut = false;
    lab.run_for(seconds(4));
    let again = megabits(lab.arrivals(seconds(4))[0], seconds(4));
    assert!(again >= 8.5, "{again}");
}

#[test]
fn paths_that_find_their_rate_and_others_refuse_each_other() {
    let mut pair = Pair::new(Behaviour::delayed(20), 1);
    assert_eq!(pair.router.pace(pair.now()), None);
    let now = pair.now();
    let mut config = pipe::initiator_config(1, 0, 9);
    config.finds_rate = true;
    pair.router = baton_path::Initiator::new(now, config);
    pair.run_for(seconds(5));
    assert!(!pair.router.is_up());
    let refused = pair.home.counters().rejected(Rejected::Handshake);
    assert_eq!(refused, pair.truth[0].offered);
    assert!(refused >= 3);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever the link does, the rate stays of its order, and most of what is sent arrives.
    #[test]
    fn any_link_is_used_and_not_flooded(
        rate_kbit in prop_oneof![100_u64..1_000, 1_000_u64..30_000],
        round_trip in 2_u64..600,
        jitter in 0_u64..20,
        buffer in 0.3_f64..3.0,
        loss in 0.0_f64..0.08,
        repetition in 0.0_f64..0.05,
        factor in 0.2_f64..4.0,
        seed in any::<u64>(),
    ) {
        let mut link = Link::new(rate_kbit * 1_000, round_trip, buffer);
        link.jitter = Duration::from_millis(jitter);
        link.buffer_bytes = link.buffer_bytes.max(15_000);
        (link.loss, link.repetition) = (loss, repetition);
        let mut lab = Lab::lab(link, seed);
        lab.add_way(Habit::Greedy);
        for rate in [rate_kbit as f64 * 1e3, rate_kbit as f64 * 1e3 * factor] {
            lab.link.rate = DataRate::from_bits_per_second(rate as u64);
            let drain = lab.link.buffer_bytes as f64 * 8.0 / rate;
            lab.run_for(seconds(20) + Duration::from_secs_f64(drain));
            let before = lab.offered[0];
            let arrived = lab.arrivals(seconds(20))[0] * 8.0 / 20.0 / rate;
            let offered = (lab.offered[0] - before) as f64 * 8.0 / 20.0 / rate;
            prop_assert!(arrived >= 0.5, "{arrived} of {offered} of {rate} bit/s");
            prop_assert!(offered <= 1.3, "{arrived} of {offered} of {rate} bit/s");
        }
    }
}
