//! Death of a path: how soon it is noticed, and that it is not noticed where there is none.

mod pipe;

use baton_path::{Event, Initiator, PACKET, Rejected};
use baton_proto::time::{Duration, Instant};
use pipe::{Behaviour, HOME, Pair, PairExt, initiator_config};

const MILLISECOND: Duration = Duration::from_millis(1);

/// Both ends' time from an unannounced cut to their event, under a stream of 1,000 packets a second.
fn detection(round_trip_ms: u64, jitter_us: u64, up: bool, down: bool) -> [Duration; 2] {
    let behaviour = Behaviour {
        jitter: Duration::from_micros(jitter_us),
        ..Behaviour::delayed(round_trip_ms / 2)
    };
    let mut pair = Pair::up(behaviour, 3);
    pair.stream(3_000, MILLISECOND, up, down, 1_000);
    assert_eq!(pair.downs(), [0, 0], "down too early");
    pair.cut();
    let cut = pair.now();
    pair.stream(1_500, MILLISECOND, up, down, 1_000);
    assert_eq!(pair.downs(), [1, 1]);
    pair.first_down()
        .map(|time| time.expect("noticed").saturating_since(cut))
}

/// The goal for the stall is `2 * round trip + 50 ms` and a round trip of the other path; this is the part of the
/// detection, at the end that receives the stream or sends it.
#[test]
fn a_cut_under_traffic_is_noticed_within_two_round_trips_and_50_ms() {
    for (round_trip, jitter_us) in [
        (20, 0),
        (20, 500),
        (50, 0),
        (50, 2_000),
        (100, 0),
        (100, 5_000),
        (600, 0),
    ] {
        let limit = Duration::from_millis(2 * round_trip + 50);
        for (up, down) in [(true, true), (true, false), (false, true)] {
            let [router, home] = detection(round_trip, jitter_us, up, down);
            let case = format!("{round_trip} ms, jitter {jitter_us} µs, up {up}, down {down}");
            println!("{case}: router {router}, home agent {home}");
            assert!(router <= limit, "{case}: router after {router}");
            assert!(home <= limit, "{case}: home agent after {home}");
        }
    }
}

#[test]
fn a_cut_without_traffic_is_noticed_by_the_next_probes() {
    let mut pair = Pair::up(Behaviour::delayed(25), 3);
    pair.run_for(Duration::from_secs(60));
    pair.cut();
    let cut = pair.now();
    pair.run_for(Duration::from_secs(10));
    let [router, home] = pair
        .first_down()
        .map(|time| time.unwrap().saturating_since(cut));
    // Two seconds to the next probe, its answer's time, two trains of three.
    assert!(
        router <= Duration::from_millis(2_400),
        "router after {router}"
    );
    assert!(
        home <= Duration::from_millis(5_400),
        "home agent after {home}"
    );
}

/// On a path that loses 2% each way, with a jitter of half the round trip.
#[test]
fn losses_and_jitter_are_no_death() {
    let lossy = Behaviour {
        loss: 0.02,
        jitter: Duration::from_millis(25),
        ..Behaviour::delayed(37)
    };
    // Hours, packets a second, share of the time with traffic, up, down.
    let cases = [
        (5, 0, 0.0, false, false),
        (3, 1, 1.0, true, true),
        (1, 50, 1.0, true, false),
        (1, 50, 1.0, false, true),
        (1, 50, 0.5, true, true),
        (1, 50, 0.3, false, true),
    ];
    for (number, (hours, rate, share, up, down)) in (1..).zip(cases) {
        let mut pair = Pair::up(lossy, number);
        let end = pair.now() + Duration::from_secs(3600 * hours);
        while pair.now() < end {
            let second = if share < pair.draws.share() { 0 } else { rate };
            if second == 0 {
                pair.run_for(Duration::from_secs(1));
            } else {
                let gap = Duration::from_nanos(1_000_000_000 / u64::from(rate));
                pair.stream(second, gap, up, down, 200);
            }
            pair.forget();
        }
        assert_eq!(
            pair.downs(),
            [0, 0],
            "{rate} packets a second, up {up}, down {down}"
        );
    }
}

/// A loss of 4% there and back of each packet, probe and receipt is a suspicion at most; trains of probes cause no further ones.
#[test]
fn suspicions_are_as_rare_as_losses() {
    let lossy = Behaviour {
        loss: 0.02,
        jitter: Duration::from_millis(25),
        ..Behaviour::delayed(37)
    };
    let mut pair = Pair::up(lossy, 3);
    pair.forget();
    pair.stream(3_600, Duration::from_secs(1), true, true, 200);
    let suspicions = pair
        .router_events
        .iter()
        .filter(|(_, event)| *event == Event::Suspect);
    // 3,600 packets and 1,800 probes.
    assert!((100..=300).contains(&suspicions.count()));
}

#[test]
fn a_dead_path_is_probed_each_second_and_comes_back_by_itself() {
    let mut pair = Pair::up(Behaviour::delayed(25), 3);
    pair.cut();
    pair.run_for(Duration::from_secs(60));
    assert_eq!(pair.downs(), [1, 1]);
    let offered = pair.truth[0].offered;
    pair.run_for(Duration::from_secs(10));
    let probes = pair.truth[0].offered - offered;
    assert!(
        (10..=13).contains(&probes),
        "{probes} probes and initiations in 10 s"
    );
    pair.behaviour.is_dead = false;
    let revived = pair.now();
    pair.run_for(Duration::from_millis(1_100));
    let (up, event) = pair.router_events.last().unwrap();
    assert!(matches!(
        event,
        Event::Up | Event::Receipted { .. } | Event::PacketMtu(_)
    ));
    assert!(pair.router.is_up() && pair.key_is_up());
    assert!(up.saturating_since(revived) <= Duration::from_millis(1_100));
}

#[test]
fn an_uplink_that_is_away_for_ten_minutes_is_up_a_round_trip_after_its_return() {
    let mut pair = Pair::up(Behaviour::delayed(25), 3);
    let left = pair.now();
    pair.router.uplink_down(left);
    pair.cut();
    pair.settle();
    assert_eq!(pair.router_events.last(), Some(&(left, Event::Down)));
    pair.run_for(Duration::from_secs(600));
    assert!(!pair.router.is_up() && !pair.key_is_up());
    pair.behaviour.is_dead = false;
    let returned = pair.now();
    pair.router.uplink_up(returned);
    pair.run_for(Duration::from_millis(75));
    assert!(pair.router.is_up(), "handshake");
    assert!(pair.key_is_up(), "confirmation");
}

#[test]
fn a_home_agent_that_has_forgotten_all_is_reached_again() {
    let mut pair = Pair::up(Behaviour::delayed(25), 3);
    pair.stream(100, MILLISECOND, true, false, 500);
    pair.run_for(MILLISECOND.saturating_mul(100));
    pair.home = pipe::listener(pair.now(), 77);
    pair.forget();
    let restart = pair.now();
    let mut first = None;
    for number in 0..1000_u32 {
        pair.send_up(&number.to_be_bytes());
        pair.run_for(MILLISECOND);
        first = first.or(pair.at_home.first().map(|(time, _)| *time));
    }
    let silence = first.expect("it is reached").saturating_since(restart);
    // A packet's way, the answer to it, the handshake, and a packet's way again: two and a half round trips.
    let most = Duration::from_millis(126);
    assert!(silence <= most, "silent for {silence}");
    assert_eq!(pair.downs(), [0, 0], "it says that it is there");
    assert!(
        pair.router_events
            .contains(&(restart_event(&pair), Event::Restarted))
    );
}

#[test]
fn a_session_of_before_a_restart_is_not_taken_for_another_of_after_it() {
    let mut pair = Pair::up(Behaviour::delayed(25), 3);
    let (now, from, mut old) = (pair.now(), pair.router_address, Vec::new());
    let sent = pair.router.send(now, PACKET, b"packet", &mut old);
    sent.unwrap();
    let mut home = pipe::listener(now, 77);
    // The router's other path has its handshake first, in the place that this one had.
    let mut other = Initiator::new(now, initiator_config(1, 1, 5));
    let mut datagram = Vec::new();
    while other.poll_transmit(now, &mut datagram).is_some() {
        let taken = home.handle_datagram(now, from, &mut datagram);
        taken.unwrap();
        datagram.clear();
        if home.poll_transmit(now, &mut datagram).is_some() {
            let taken = other.handle_datagram(now, HOME, &mut datagram);
            taken.unwrap();
        }
        datagram.clear();
    }
    assert!(other.is_up());
    let taken = home.handle_datagram(now, from, &mut old);
    assert_eq!(taken.err(), Some(Rejected::UnknownSession));
    let answer = home.poll_transmit(now, &mut datagram);
    assert_eq!(answer, Some(from));
}

/// Of initiations a home agent takes some thousand a second: those of all its routers at once must not be spent on paths that are
/// only dead.
#[test]
fn a_dead_path_costs_no_handshake_and_a_home_agent_that_has_forgotten_it_one() {
    let mut pair = Pair::up(Behaviour::delayed(25), 3);
    pair.cut();
    pair.watched = true;
    pair.run_for(Duration::from_secs(9));
    assert_eq!(pair.downs(), [1, 1]);
    assert_eq!(initiations(&pair), 0);
    pair.home = pipe::listener(pair.now(), 77);
    pair.forget();
    pair.behaviour.is_dead = false;
    pair.run_for(Duration::from_millis(1_200));
    assert!(pair.router.is_up() && pair.key_is_up());
    assert_eq!(initiations(&pair), 1);
}

#[test]
fn a_path_that_is_silent_for_ten_seconds_tries_a_handshake_each_five() {
    let mut pair = Pair::up(Behaviour::delayed(25), 3);
    pair.run_for(Duration::from_secs(2));
    pair.cut();
    pair.watched = true;
    pair.run_for(Duration::from_secs(60));
    let number = initiations(&pair);
    assert!((9..=11).contains(&number), "{number} initiations");
}

#[test]
fn a_datagram_under_keys_that_are_too_old_is_answered_by_a_reset() {
    let mut pair = Pair::up(Behaviour::delayed(25), 3);
    let (now, from, mut datagram) = (pair.now(), pair.router_address, Vec::new());
    let sent = pair.router.send(now, PACKET, b"packet", &mut datagram);
    sent.unwrap();
    // A machine that was suspended does not know how old its keys are.
    let later = now + Duration::from_secs(181);
    let taken = pair.home.handle_datagram(later, from, &mut datagram);
    assert_eq!(taken.err(), Some(Rejected::Expired));
    let mut answer = Vec::new();
    let to = pair.home.poll_transmit(later, &mut answer);
    assert_eq!(to, Some(from));
    let taken = pair.router.handle_datagram(now, HOME, &mut answer);
    assert_eq!(taken, Ok(None));
}

/// Returns how many initiations were sent.
fn initiations(pair: &Pair) -> usize {
    let sent = pair.seen.iter();
    sent.filter(|(to_home, datagram)| *to_home && datagram.first() == Some(&1))
        .count()
}

fn restart_event(pair: &Pair) -> Instant {
    let found = pair
        .router_events
        .iter()
        .find(|(_, event)| *event == Event::Restarted);
    found.expect("told").0
}

#[test]
fn an_uplink_with_another_address_tells_the_home_agent_without_waiting_for_its_next_probe() {
    let mut pair = Pair::up(Behaviour::delayed(20), 1);
    pair.run_for(Duration::from_secs(10));
    let (moved, to) = (pair.now(), "203.0.113.9:1000".parse().unwrap());
    pair.router_address = to;
    pair.router.uplink_moved(moved);
    pair.settle();
    pair.run_for(Duration::from_millis(100));
    let heard = pair
        .home_events
        .iter()
        .find_map(|(at, _, event)| match event {
            Event::Moved { to: heard, .. } if *heard == to => Some(*at),
            _ => None,
        });
    assert_eq!(heard, Some(moved + Duration::from_millis(20)));
}
