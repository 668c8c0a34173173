//! Worked examples of the arithmetic, and a peer that claims anything.

use super::*;
use crate::message::Stamp;
use proptest::prelude::*;

const fn at(milliseconds: u64) -> Instant {
    Instant::from_millis(milliseconds)
}

/// A report of which the newest datagram has arrived at a time by a clock that is 5 s ahead.
fn heard(next: u64, received: u32, received_bytes: u32, arrival_ms: u64) -> Heard {
    Heard {
        next,
        received,
        received_bytes,
        headers: 28,
        arrival: Stamp::of(at(arrival_ms + 5_000)),
        round_trip: Some(Duration::from_millis(40)),
    }
}

/// Checks by hand: eleven datagrams of 1,000 bytes leave 10 ms apart, take 20 ms, and from the sixth on 5 ms more each.
/// One is lost.
#[test]
fn rates_queue_and_losses_are_those_of_the_reports() {
    let mut flight = Flight::new(at(0), 0);
    let mut samples = Samples::new(at(0));
    for number in 0..11 {
        flight.sent(at(10 * number), 1_000, true);
    }
    let mut points = Vec::new();
    for number in 0..11_u64 {
        if number == 8 {
            continue;
        }
        let arrival = 10 * number + 20 + 5 * number.saturating_sub(5);
        let count = number as u32 + 1 - u32::from(number > 8);
        let departed = flight.report(number + 1);
        let told = heard(number + 1, count, count * 972, arrival);
        let point = samples.take(at(arrival + 20), &told, departed, false);
        points.push(point.unwrap());
    }
    let [first, sixth, last] = [points[0], points[5], points[9]];
    let before = sixth.since(&first);
    // 1,000 bytes in 10 ms, and arrivals as far apart.
    assert!((before.offered - 100_000.0).abs() < 1.0, "{before:?}");
    assert!((before.delivered - 100_000.0).abs() < 100.0, "{before:?}");
    assert!((before.stretch - 1.0).abs() < 1e-3 && before.lost == 0.0);
    let after = last.since(&sixth);
    // Four of five datagrams in 75 ms, which left within 50 ms.
    assert!((after.offered - 100_000.0).abs() < 1.0, "{after:?}");
    assert!(
        (after.delivered - 4_000.0 / 0.075).abs() < 100.0,
        "{after:?}"
    );
    assert!((after.stretch - 1.5).abs() < 1e-3, "{after:?}");
    assert!((last.queue - 0.025).abs() < 2e-5, "{last:?}");
    assert_eq!(flight.bytes(), 0);
    // A lost datagram is believed to be lost after three reports.
    assert_eq!((after.sent, after.lost), (5.0, 0.0));
    flight.sent(at(110), 1_000, true);
    let departed = flight.report(12);
    let told = heard(12, 11, 11 * 972, 160);
    let point = samples.take(at(180), &told, departed, false).unwrap();
    assert_eq!(point.since(&sixth).lost, 1.0);
}

/// The peer's first report may leave before anything has arrived there: it tells of no delay.
#[test]
fn a_report_of_nothing_is_no_sample_of_the_queue() {
    let mut finder = Finder::new(at(0), 0);
    finder.reported(at(600), &heard(0, 0, 0, 300));
    for number in 0..10_u64 {
        finder.sent(at(700 + 100 * number), 100, true);
        let count = number as u32 + 1;
        // Of 40 ms there and back, 20 ms there.
        let arrival = 720 + 100 * number;
        finder.reported(
            at(arrival + 20),
            &heard(number + 1, count, count * 72, arrival),
        );
        let queue = finder.samples.newest().map(|point| point.queue);
        assert!(queue.is_some_and(|queue| queue < 1e-4), "{queue:?}");
    }
}

fn send_train(finder: &mut Finder, now: Instant) -> Vec<bool> {
    let mut pressing = Vec::new();
    while let Some(is_pressing) = finder.next_in_train() {
        pressing.push(is_pressing);
        finder.sent_in_train(now, 1_000);
    }
    pressing
}

/// Checks by hand: ten datagrams of 1,000 bytes leave at once and arrive 8 ms apart, which is 1 Mbit/s.
#[test]
fn a_train_gives_the_rate_at_which_it_arrives() {
    let mut finder = Finder::new(at(0), 0);
    let pressing = send_train(&mut finder, at(0));
    assert_eq!(pressing.len(), 10);
    assert!(pressing[0] && pressing[9] && !pressing[1..9].contains(&true));
    finder.reported(at(40), &heard(1, 1, 972, 20));
    finder.reported(at(112), &heard(10, 10, 9_720, 92));
    let found = finder.bandwidth * 8.0;
    assert!((found - 1e6).abs() < 1e4, "{found}");
    assert_eq!(finder.next_in_train(), None);
}

/// Checks by hand: a datagram leaves 10 ms behind ten that arrive 8 ms apart, waits for them, and is reported with them.
#[test]
fn a_train_that_is_reported_with_data_behind_it_gives_the_rate() {
    let mut finder = Finder::new(at(0), 0);
    send_train(&mut finder, at(0));
    finder.sent(at(10), 1_000, false);
    finder.reported(at(40), &heard(1, 1, 972, 20));
    finder.reported(at(120), &heard(11, 11, 11 * 972, 100));
    let found = finder.bandwidth * 8.0;
    assert!((found - 1e6).abs() < 1e4, "{found}");
    assert_eq!(finder.next_in_train(), None);
}

/// Checks by hand: ten arrive within 2 ms, and of a hundred the last 99 in 39.6 ms, which is 20 Mbit/s.
#[test]
fn a_train_that_arrives_too_fast_is_followed_by_a_longer_one() {
    let mut finder = Finder::new(at(0), 0);
    send_train(&mut finder, at(0));
    finder.reported(at(40), &heard(1, 1, 972, 20));
    finder.reported(at(42), &heard(10, 10, 9_720, 22));
    // At least nine in 5 ms.
    let least = finder.bandwidth * 8.0;
    assert!((least - 9.0 * 8_000.0 / 0.005).abs() < 1e3, "{least}");
    // Data send no more until the longer one has told the rate.
    let sent = finder.pace(at(45)).rate.bits_per_second() as f64;
    assert!((sent - least).abs() < 1e3, "{sent}");
    assert_eq!(send_train(&mut finder, at(50)).len(), 100);
    finder.reported(at(90), &heard(11, 11, 11 * 972, 70));
    let last = Heard {
        arrival: Stamp::of(at(5_070) + Duration::from_micros(39_600)),
        ..heard(110, 110, 110 * 972, 0)
    };
    finder.reported(at(130), &last);
    let found = finder.bandwidth * 8.0;
    assert!((found - 20e6).abs() < 2e5, "{found}");
}

/// Without a report of its first datagrams a train gives no rate, and is sent again, three times in all.
#[test]
fn a_train_whose_beginning_is_not_reported_is_sent_again() {
    let mut finder = Finder::new(at(0), 0);
    for number in 0..3_u64 {
        assert_eq!(send_train(&mut finder, at(1_000 * number)).len(), 10);
        finder.sent(at(1_000 * number + 500), 1_000, true);
        let next = 11 * (number + 1);
        // Only the datagram behind the train has arrived.
        let count = number as u32 + 1;
        let arrival = 1_000 * number + 520;
        finder.reported(at(arrival + 20), &heard(next, count, count * 972, arrival));
    }
    assert_eq!(finder.next_in_train(), None);
}

/// A rate that a train has found and data does not confirm is replaced by what arrives: a policer lets a train pass.
#[test]
fn a_rate_that_is_not_carried_is_not_kept() {
    let mut finder = Finder::new(at(0), 0);
    send_train(&mut finder, at(0));
    finder.reported(at(40), &heard(1, 1, 972, 20));
    finder.reported(at(112), &heard(10, 10, 9_720, 92));
    // 1.2 Mbit/s are sent, of which each fourth datagram arrives without delay: 0.3 Mbit/s.
    let (mut sent, mut arrived) = (10_u64, 10_u32);
    for number in 0..120_u64 {
        let now = 200 + number * 1_000 * 8 / 1_200;
        finder.sent(at(now), 1_000, true);
        sent += 1;
        if number % 4 == 0 {
            arrived += 1;
            finder.reported(at(now + 40), &heard(sent, arrived, arrived * 972, now + 20));
        }
    }
    let found = finder.bandwidth * 8.0;
    assert!(found < 0.5e6, "{found}");
}

/// Late datagrams of an application that sends little are not the link's.
#[test]
fn a_few_late_datagrams_do_not_lower_the_rate() {
    let mut finder = Finder::new(at(0), 0);
    let rate = DataRate::from_bits_per_second(10_000_000);
    finder.set_rate(at(0), Some(rate));
    // A train that arrives within 2 ms does not refute the word.
    send_train(&mut finder, at(0));
    finder.reported(at(40), &heard(1, 1, 972, 20));
    finder.reported(at(42), &heard(10, 10, 9_720, 22));
    for number in 0..100_u64 {
        let now = 100 + 100 * number;
        finder.sent(at(now), 100, true);
        let count = number as u32 + 1;
        let arrival = now + 20 + if number > 20 { 30 } else { 0 };
        finder.reported(
            at(arrival + 20),
            &heard(number + 11, count + 10, count * 72 + 9_720, arrival),
        );
    }
    let found = finder.pace(at(20_000)).rate.bits_per_second();
    assert!(found > 9_500_000, "{found}");
}

/// Checks by hand: ten datagrams of 1,000 bytes arrive 8 ms apart, so a word of 50 Mbit/s is refuted by 1 Mbit/s.
#[test]
fn a_train_tries_a_rate_that_is_told() {
    let mut finder = Finder::new(at(0), 0);
    finder.set_rate(at(0), Some(DataRate::from_bits_per_second(50_000_000)));
    send_train(&mut finder, at(0));
    finder.reported(at(40), &heard(1, 1, 972, 20));
    finder.reported(at(112), &heard(10, 10, 9_720, 92));
    let found = finder.bandwidth * 8.0;
    assert!((found - 1e6).abs() < 1e4, "{found}");
}

/// A train of which ten datagrams of 1,000 bytes arrive 8 ms apart confirms a word of 1.02 Mbit/s, of which 0.99 is sent.
#[test]
fn a_train_near_a_rate_that_is_told_confirms_it() {
    let mut finder = Finder::new(at(0), 0);
    finder.set_rate(at(0), Some(DataRate::from_bits_per_second(1_020_000)));
    send_train(&mut finder, at(0));
    finder.reported(at(40), &heard(1, 1, 972, 20));
    finder.reported(at(112), &heard(10, 10, 9_720, 92));
    let used = finder.pace(at(112)).rate.bits_per_second();
    assert!(used.abs_diff(1_009_800) < 10, "{used}");
}

/// Datagrams from before an outage do not fill a path that is back, and reports of them say nothing.
#[test]
fn a_path_that_was_down_has_nothing_in_flight() {
    let mut finder = Finder::new(at(0), 0);
    let mut sent = 0;
    let mut fill = |finder: &mut Finder, now: u64| {
        while finder.pace(at(now)).departure != Instant::NEVER {
            finder.sent(at(now), 1_500, true);
            sent += 1;
        }
        sent
    };
    let before = fill(&mut finder, 0);
    finder.restart(at(5_000));
    assert!(fill(&mut finder, 5_000) > before);
    finder.reported(at(5_010), &heard(before, 3, 3 * 1_472, 4_990));
    assert!(finder.samples.newest().is_none());
    finder.reported(at(5_040), &heard(before + 1, 4, 4 * 1_472, 5_020));
    let queue = finder.samples.newest().map(|point| point.queue);
    assert_eq!(queue, Some(0.0));
}

/// Checks RFC 9438, section 4.2: K is the cube root of `W_max * (1 - beta) / C`, for 1,000 segments 9.09 s.
#[test]
fn a_window_is_again_at_its_maximum_after_the_time_of_rfc_9438() {
    let mut cubic = Cubic::new(at(0), 1_000.0 * DATAGRAM);
    cubic.cut(at(0), false);
    assert!((cubic.window() - 700.0 * DATAGRAM).abs() < 1.0);
    let mut now = at(0);
    while !cubic.has_recovered() {
        now += Duration::from_millis(10);
        cubic.grow(now, 0.2, true);
        assert!(now < at(20_000));
    }
    assert!((now.as_secs_f64() - 9.09).abs() < 0.3, "{now}");
    // Unused, it stays as it is.
    let before = cubic.window();
    cubic.grow(at(30_000), 0.2, false);
    assert_eq!(cubic.window(), before);
}

/// By hand from RFC 9438, sections 4.2 and 4.7: of 1,000 segments 850 are the plateau, the cube root of 150 / 0.4 is 7.21 s, and
/// as long after it the window is again what it was.
#[test]
fn a_path_that_makes_room_waits_twice_as_long_as_to_its_plateau() {
    let mut cubic = Cubic::new(at(0), 1_000.0 * DATAGRAM);
    cubic.cut(at(0), true);
    assert!((cubic.window() - 700.0 * DATAGRAM).abs() < 1.0);
    let mut now = at(0);
    while !cubic.has_recovered() {
        now += Duration::from_millis(10);
        cubic.grow(now, 0.2, true);
        assert!(now < at(20_000));
        let is_half = now == at(7_200);
        assert!(!is_half || (cubic.window() / DATAGRAM - 850.0).abs() < 10.0);
    }
    assert!((now.as_secs_f64() - 14.42).abs() < 0.3, "{now}");
}

/// An action of a path: a departure of so many bytes, a report, a deadline, a new rate, and the time before it.
#[derive(Clone, Debug)]
enum Action {
    Send(u64),
    Report(Heard),
    Left(u64),
    Restart,
    Tell(Option<u64>),
}

fn action() -> impl Strategy<Value = (Action, u64)> {
    let next = prop_oneof![0_u64..300, any::<u64>()];
    let count = prop_oneof![0_u32..300, any::<u32>()];
    let trip = prop::option::of(any::<u64>().prop_map(|bits| Duration::from_nanos(bits >> 20)));
    let report = (next, count, any::<u32>(), 0_u64..140_000, trip);
    let report = report.prop_map(|(next, received, received_bytes, arrival, round_trip)| {
        let round = heard(next, received, received_bytes, arrival);
        Action::Report(Heard {
            round_trip,
            ..round
        })
    });
    let action = prop_oneof![
        6 => (40_u64..1_500).prop_map(Action::Send),
        6 => report,
        1 => any::<u64>().prop_map(Action::Left),
        1 => Just(Action::Restart),
        1 => prop::option::of(any::<u64>()).prop_map(Action::Tell),
    ];
    let wait = prop_oneof![0_u64..10_000_000, 0_u64..20_000_000_000];
    (action, wait)
}

proptest! {
    #[test]
    fn a_peer_may_claim_anything(actions in prop::collection::vec(action(), 1..300)) {
        let mut now = at(1_000);
        let mut finder = Finder::new(now, 0);
        let (mut sent, mut told) = (0, false);
        for (action, wait) in actions {
            now += Duration::from_nanos(wait);
            finder.handle_timeout(now);
            prop_assert!(finder.deadline().is_none_or(|deadline| deadline > now));
            match action {
                Action::Send(bytes) => {
                    sent += bytes;
                    finder.sent(now, bytes, true);
                }
                Action::Report(heard) => finder.reported(now, &heard),
                Action::Left(next) => finder.left_flight(next),
                Action::Restart => finder.restart(now),
                Action::Tell(rate) => {
                    told |= rate.is_some();
                    finder.set_rate(now, rate.map(DataRate::from_bits_per_second));
                }
            }
            let pace = finder.pace(now);
            let rate = pace.rate.bits_per_second() as f64 / 8.0;
            prop_assert!(rate >= LEAST_RATE);
            // No more than all that was sent within the shortest time, made up for losses, at the highest gain; or the
            // first rate at the shortest round-trip time.
            let most = (sent as f64 / 0.005 / 0.9).max(INITIAL_DATAGRAMS * DATAGRAM / LEAST_TRIP);
            prop_assert!(told || rate <= 2.77 * most, "{} B/s after {} B", rate, sent);
            prop_assert!(finder.limit().is_finite() && finder.flight.bytes() <= sent);
        }
    }
}
