//! Strangers, forgers, replays, floods, lost messages and clocks that go back.

mod pipe;

use baton_path::{Event, Initiator, Listener, NotSent, PACKET, PresharedKey, Rejected};
use baton_proto::time::{Duration, Instant};
use pipe::{Behaviour, Datagram, Draws, Ends, HOME, Pair, PairExt, initiator_config, router_key};
use std::net::SocketAddr;

const SECOND: Duration = Duration::from_secs(1);

/// A pair that has exchanged frames of all types but cookies, and is quiet; and the frames.
fn exchanged() -> (Pair, Vec<Datagram>) {
    let mut pair = Pair::new(Behaviour::delayed(20), 5);
    pair.watched = true;
    pair.run_for(SECOND);
    pair.send_up(&[0x45; 90]);
    pair.send_down(&[0x45; 90]);
    pair.run_for(SECOND);
    pair.watched = false;
    pair.run_for(SECOND.saturating_mul(10));
    pair.forget();
    let seen = core::mem::take(&mut pair.seen);
    for kind in [1, 2, 4] {
        assert!(
            seen.iter().any(|(_, datagram)| datagram[0] == kind),
            "no frame of type {kind}"
        );
    }
    (pair, seen)
}

/// Hands over a datagram that must be rejected, and checks that nothing has changed.
fn must_reject(pair: &mut Pair, to_home: bool, datagram: &[u8], what: &str) {
    let state = |ends: &Ends| {
        let timeouts = [ends.router.poll_timeout(), ends.home.poll_timeout()];
        (ends.rejected(), timeouts)
    };
    let (now, (rejected, timeouts)) = (pair.now(), state(pair));
    let forger: SocketAddr = "203.0.113.66:66".parse().unwrap();
    let copy = &mut datagram.to_vec();
    let is_taken = if to_home {
        pair.home.handle_datagram(now, forger, copy).is_ok()
    } else {
        pair.router.handle_datagram(now, forger, copy).is_ok()
    };
    assert!(!is_taken, "{what} was taken: {datagram:02x?}");
    assert_eq!(state(pair), (rejected + 1, timeouts), "{what}");
    let out = &mut Vec::new();
    assert_eq!(pair.router.poll_transmit(now, out), None, "{what}");
    if pair.home.poll_transmit(now, out) == Some(forger) {
        // A session that is not known: who has sent this hears so, in no more bytes.
        assert!(out.len() <= datagram.len() && datagram[0] == 4, "{what}");
        assert_eq!((out[0], &out[4..16]), (5, &datagram[4..16]), "{what}");
    }
    assert_eq!(pair.home.poll_transmit(now, out), None, "{what}");
    assert_eq!(pair.router.poll_event(), None, "{what}");
    assert_eq!(pair.home.poll_event(), None, "{what}");
}

/// Hands a copy to the home agent.
fn offer(pair: &mut Pair, from: SocketAddr, datagram: &[u8]) -> Result<(), Rejected> {
    let now = pair.now();
    offer_to(&mut pair.home, now, from, datagram)
}

fn offer_to(
    home: &mut Listener,
    now: Instant,
    from: SocketAddr,
    datagram: &[u8],
) -> Result<(), Rejected> {
    let mut copy = datagram.to_vec();
    let taken = home.handle_datagram(now, from, &mut copy);
    taken.map(|_| ())
}

fn still_works(pair: &mut Pair) {
    let address = pair.home.path(pair.key()).unwrap().remote;
    assert_eq!(address, pair.router_address);
    pair.send_up(b"up");
    pair.send_down(b"down");
    pair.run_for(SECOND);
    assert_eq!(
        pair.at_home.last().map(|(_, packet)| &packet[..]),
        Some(&b"up"[..])
    );
    assert_eq!(
        pair.at_router.last().map(|(_, packet)| &packet[..]),
        Some(&b"down"[..])
    );
}

#[test]
fn replayed_frames_change_nothing() {
    let (mut pair, seen) = exchanged();
    for (to_home, datagram) in &seen {
        must_reject(&mut pair, *to_home, datagram, "replay");
        must_reject(&mut pair, !*to_home, datagram, "reflection");
    }
    still_works(&mut pair);
}

#[test]
fn frames_with_flipped_bits_or_cut_short_change_nothing() {
    let (mut pair, seen) = exchanged();
    for (to_home, datagram) in seen.iter().filter(|(_, datagram)| datagram.len() < 200) {
        for bit in 0..datagram.len() * 8 {
            let mut flipped = datagram.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            must_reject(&mut pair, *to_home, &flipped, "flipped");
        }
        for length in 0..datagram.len() {
            must_reject(&mut pair, *to_home, &datagram[..length], "cut short");
        }
    }
    still_works(&mut pair);
}

/// Frames that are new to their receiver, with flipped bits: none is taken, and then the true one is.
#[test]
fn forged_frames_before_the_true_one_change_nothing() {
    let mut pair = Pair::new(Behaviour::delayed(20), 5);
    let (now, address) = (pair.now(), pair.router_address);
    let mut initiation = Vec::new();
    pair.router.poll_transmit(now, &mut initiation).unwrap();
    // Its last 16 bytes are for times of load.
    for bit in 0..(initiation.len() - 16) * 8 {
        let mut flipped = initiation.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        must_reject(&mut pair, true, &flipped, "flipped initiation");
    }
    pair.home
        .handle_datagram(now, address, &mut initiation)
        .unwrap();
    let mut response = Vec::new();
    pair.home.poll_transmit(now, &mut response).unwrap();
    for bit in 0..response.len() * 8 {
        // The sender's index is what the initiator is told, and covered by the code all the same.
        let mut flipped = response.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        must_reject(&mut pair, false, &flipped, "flipped response");
    }
    pair.router
        .handle_datagram(now, HOME, &mut response)
        .unwrap();
    assert!(pair.router.is_up());
    let mut packet = Vec::new();
    pair.router.poll_transmit(now, &mut packet).unwrap();
    let mut others = Vec::new();
    while pair.router.poll_transmit(now, &mut others).is_some() {}
    while pair.router.poll_event().is_some() {}
    for bit in 0..packet.len() * 8 {
        let mut flipped = packet.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        must_reject(&mut pair, true, &flipped, "flipped confirmation");
    }
    pair.home
        .handle_datagram(now, address, &mut packet)
        .unwrap();
    assert!(pair.key_is_up());
}

#[test]
fn each_lost_message_of_a_handshake_costs_a_retry() {
    for lost in 0..4 {
        let mut pair = Pair::new(Behaviour::delayed(20), 5);
        for number in 0.. {
            if pair.truth[0].offered + pair.truth[1].offered > lost || number > 200 {
                break;
            }
            pair.behaviour.is_dead = pair.truth[0].offered + pair.truth[1].offered == lost;
            pair.run_for(Duration::from_millis(1));
        }
        pair.behaviour.is_dead = false;
        pair.run_for(Duration::from_millis(1_500));
        assert!(
            pair.router.is_up() && pair.key_is_up(),
            "datagram {lost} lost"
        );
        pair.forget();
        still_works(&mut pair);
    }
}

#[test]
fn other_keys_get_nowhere() {
    // A home agent's key that is another's: not one byte comes back.
    let mut pair = Pair::new(Behaviour::delayed(20), 5);
    let mut config = initiator_config(1, 0, 1);
    config.home_agent = router_key(77).public();
    pair.router = Initiator::new(pair.now(), config);
    pair.run_for(SECOND.saturating_mul(20));
    assert!(pair.home.counters().rejected(Rejected::Stranger) >= 4);
    assert_eq!(pair.truth[1].offered, 0, "an answer to a stranger");

    // A router that the home agent does not know.
    let mut pair = Pair::new(Behaviour::delayed(20), 5);
    pair.router = Initiator::new(pair.now(), initiator_config(2, 0, 1));
    pair.run_for(SECOND.saturating_mul(20));
    assert!(pair.home.counters().rejected(Rejected::UnknownPeer) >= 4);
    assert_eq!(pair.truth[1].offered, 0);

    // Another preshared key: neither end believes in a session.
    let mut pair = Pair::new(Behaviour::delayed(20), 5);
    let mut config = initiator_config(1, 0, 1);
    config.preshared = PresharedKey::default();
    pair.router = Initiator::new(pair.now(), config);
    pair.run_for(SECOND.saturating_mul(20));
    assert!(pair.router.counters().rejected(Rejected::Handshake) >= 4);
    assert!(!pair.router.is_up() && !pair.key_is_up());
    assert_eq!(
        (
            pair.router.counters().sessions,
            pair.home.counters().sessions
        ),
        (0, 0)
    );
}

#[test]
fn under_a_flood_a_router_shows_a_cookie_and_is_let_in() {
    let mut pair = Pair::new(Behaviour::delayed(20), 5);
    let mut initiation = Vec::new();
    let mut flooder = Initiator::new(pair.now(), initiator_config(3, 0, 3));
    flooder.poll_transmit(pair.now(), &mut initiation).unwrap();
    let forger: SocketAddr = "203.0.113.66:66".parse().unwrap();
    for _ in 0..1_200 {
        let taken = offer(&mut pair, forger, &initiation);
        assert!(taken.is_err());
    }
    assert_eq!(pair.home.counters().rejected(Rejected::UnknownPeer), 1_000);
    assert_eq!(pair.home.counters().rejected(Rejected::Load), 200);
    pair.settle();
    pair.run_for(Duration::from_millis(101));
    assert!(
        pair.router.is_up() && pair.key_is_up(),
        "one round trip more, and no retry"
    );
    assert_eq!(pair.home.counters().rejected(Rejected::Load), 201);
    // The next second is one of load from its beginning, and the one after an idle second is not.
    pair.run_for(SECOND);
    assert_eq!(offer(&mut pair, forger, &initiation), Err(Rejected::Load));
    pair.run_for(SECOND.saturating_mul(2));
    assert_eq!(
        offer(&mut pair, forger, &initiation),
        Err(Rejected::UnknownPeer)
    );
}

#[test]
fn a_cookie_is_worth_nothing_at_another_address_or_with_a_flipped_bit() {
    let mut pair = Pair::new(Behaviour::delayed(20), 5);
    let (now, address) = (pair.now(), pair.router_address);
    let mut initiation = Vec::new();
    let mut router = Initiator::new(now, initiator_config(1, 0, 3));
    router.poll_transmit(now, &mut initiation).unwrap();
    let mut flooder = Initiator::new(now, initiator_config(3, 0, 3));
    let mut flood = Vec::new();
    flooder.poll_transmit(now, &mut flood).unwrap();
    for _ in 0..1_000 {
        assert!(offer(&mut pair, address, &flood).is_err());
    }
    let load = offer(&mut pair, address, &initiation);
    assert_eq!(load, Err(Rejected::Load));
    let mut cookie = Vec::new();
    pair.home.poll_transmit(now, &mut cookie).unwrap();
    assert!(
        cookie.len() < initiation.len(),
        "an answer is no amplification"
    );
    for bit in 0..cookie.len() * 8 {
        let mut flipped = cookie.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(router.handle_datagram(now, HOME, &mut flipped).is_err());
    }
    assert_eq!(router.handle_datagram(now, HOME, &mut cookie), Ok(None));
    initiation.clear();
    router.poll_transmit(now, &mut initiation).expect("at once");
    let other: SocketAddr = "192.0.2.1:1001".parse().unwrap();
    let taken = offer(&mut pair, other, &initiation);
    assert_eq!(taken, Err(Rejected::Load));
    assert_eq!(offer(&mut pair, address, &initiation), Ok(()));
}

#[test]
fn a_clock_that_has_gone_back_costs_one_round_trip() {
    let mut pair = Pair::up(Behaviour::delayed(20), 5);
    let mut config = initiator_config(1, 0, 42);
    config.unix_nanoseconds -= 86_400_000_000_000;
    pair.router = Initiator::new(pair.now(), config);
    pair.router_events.clear();
    pair.run_for(Duration::from_millis(100));
    assert_eq!(pair.home.counters().rejected(Rejected::Stale), 1);
    assert_eq!(
        pair.router_events.first().map(|(_, event)| *event),
        Some(Event::Up)
    );
    assert!(
        pair.home_events
            .iter()
            .any(|(_, _, event)| *event == Event::Restarted)
    );
    pair.forget();
    still_works(&mut pair);
}

#[test]
fn a_path_follows_its_router_to_another_address_and_no_replay() {
    let (mut pair, seen) = exchanged();
    let before = pair.router_address;
    pair.router_address = "192.0.2.9:9999".parse().unwrap();
    pair.send_up(b"from elsewhere");
    pair.run_for(Duration::from_millis(20));
    let moved = Event::Moved {
        from: before,
        to: pair.router_address,
    };
    assert!(pair.home_events.iter().any(|(_, _, event)| *event == moved));
    for (_, datagram) in seen.iter().filter(|(to_home, _)| *to_home) {
        must_reject(&mut pair, true, datagram, "replay from a third address");
    }
    pair.run_for(SECOND);
    still_works(&mut pair);
}

#[test]
fn two_routers_with_one_key_take_turns_and_nothing_hangs() {
    let mut pair = Pair::up(Behaviour::delayed(20), 5);
    let mut double = Initiator::new(pair.now(), initiator_config(1, 0, 99));
    let address: SocketAddr = "192.0.2.200:1000".parse().unwrap();
    let end = pair.now() + SECOND.saturating_mul(60);
    while pair.now() < end {
        let (now, mut datagram) = (pair.now(), Vec::new());
        double.handle_timeout(now);
        while double.poll_transmit(now, &mut datagram).is_some() {
            let _ = pair.home.handle_datagram(now, address, &mut datagram);
            datagram.clear();
            while let Some(to) = pair.home.poll_transmit(now, &mut datagram) {
                let mut answer = core::mem::take(&mut datagram);
                if to == address {
                    let _ = double.handle_datagram(now, HOME, &mut answer);
                } else {
                    pair.outbox.push((false, answer));
                }
            }
        }
        pair.run_for(Duration::from_millis(1));
    }
    let sessions = pair.home.counters().sessions;
    // Each finds out by its probes, which come every 100 ms when it has just come up, three of them in vain.
    assert!(
        (3..400).contains(&sessions),
        "{sessions} sessions in a minute"
    );
    let restarts = pair
        .home_events
        .iter()
        .filter(|(_, _, event)| *event == Event::Restarted);
    assert!(restarts.count() >= 2, "an operator hears of it");
}

#[test]
fn a_seventeenth_path_is_refused_and_told() {
    let mut pair = Pair::up(Behaviour::delayed(20), 5);
    let now = pair.now();
    let mut last = Vec::new();
    for path in 1..=16 {
        let mut router = Initiator::new(now, initiator_config(1, path, path));
        let address = SocketAddr::from(([192, 0, 2, path], 1));
        let mut datagram = Vec::new();
        router.poll_transmit(now, &mut datagram).unwrap();
        let taken = offer(&mut pair, address, &datagram);
        datagram.clear();
        let answer = pair.home.poll_transmit(now, &mut datagram);
        answer.expect("an answer");
        router.handle_datagram(now, HOME, &mut datagram).unwrap();
        last.push((taken, router.is_up(), router.poll_event()));
    }
    let refused = (Err(Rejected::TooManyPaths), false, Some(Event::Refused));
    assert_eq!(last.pop(), Some(refused));
    assert!(last.iter().all(|(taken, is_up, _)| taken.is_ok() && *is_up));
}

#[test]
fn a_removed_router_is_gone_and_its_keys_are_not_another_s() {
    let mut pair = Pair::up(Behaviour::delayed(20), 5);
    let (now, from, key) = (pair.now(), pair.router_address, pair.key());
    let mut datagram = Vec::new();
    let sent = pair.router.send(now, PACKET, b"late", &mut datagram);
    sent.unwrap();
    assert!(pair.home.remove_peer(&router_key(1).public()));
    let taken = offer(&mut pair, from, &datagram);
    assert_eq!(taken, Err(Rejected::UnknownSession));
    pair.home
        .add_peer(
            router_key(2).public(),
            PresharedKey::from_bytes([9; 32]),
            &[],
        )
        .unwrap();
    pair.router = Initiator::new(now, initiator_config(2, 0, 8));
    pair.run_for(SECOND);
    assert!(pair.router.is_up());
    assert_eq!(pair.home.path(key), None);
    let now = pair.now();
    let sent = pair.home.send(now, key, PACKET, b"whose?", &mut datagram);
    assert_eq!(sent, Err(NotSent::UnknownPath));
}

/// A home agent's answer to a transport frame of a session that it does not know.
fn reset_of(pair: &Pair, frame: &[u8]) -> Vec<u8> {
    let (now, from) = (pair.now(), pair.router_address);
    let mut forgetful = pipe::listener(now, 77);
    let refused = offer_to(&mut forgetful, now, from, frame);
    assert_eq!(refused, Err(Rejected::UnknownSession));
    let mut reset = Vec::new();
    let to = forgetful.poll_transmit(now, &mut reset);
    assert_eq!(to, Some(from));
    reset
}

#[test]
fn a_reset_is_heeded_for_what_is_under_way_and_seldom_and_ends_nothing() {
    let (mut pair, seen) = exchanged();
    let old = seen
        .iter()
        .rev()
        .find(|(up, datagram)| *up && datagram[0] == 4);
    let old = reset_of(&pair, &old.unwrap().1);
    must_reject(&mut pair, false, &old, "reset of what has arrived");
    pair.watched = true;
    for _ in 0..100 {
        let (now, mut datagram) = (pair.now(), Vec::new());
        let sent = pair.router.send(now, PACKET, b"packet", &mut datagram);
        sent.unwrap();
        let reset = reset_of(&pair, &datagram);
        for bit in 0..reset.len() * 8 {
            let mut flipped = reset.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            must_reject(&mut pair, false, &flipped, "flipped reset");
        }
        pair.arrive((false, reset));
        // The session goes on meanwhile.
        pair.arrive((true, datagram));
        assert_eq!(pair.at_home.last().unwrap().1, b"packet");
        pair.run_for(Duration::from_millis(100));
    }
    let seen = core::mem::take(&mut pair.seen);
    let initiations = seen.iter().filter(|(_, datagram)| datagram[0] == 1).count();
    assert!(
        (5..=11).contains(&initiations),
        "{initiations} initiations in 10 s"
    );
    assert_eq!(pair.downs(), [0, 0]);
    still_works(&mut pair);
}

#[test]
fn a_flood_of_unknown_sessions_is_not_made_larger_nor_answered_without_end() {
    let (mut pair, seen) = exchanged();
    let (_, frame) = seen.iter().find(|(_, datagram)| datagram[0] == 4).unwrap();
    let (now, mut sent, mut answered) = (pair.now(), 0, 0);
    for number in 0..20_000_u32 {
        let mut datagram = frame[..32].to_vec();
        datagram[4..8].copy_from_slice(&(u32::MAX - number).to_le_bytes());
        sent += datagram.len();
        let from = SocketAddr::from((number.to_be_bytes(), 1000));
        assert_eq!(
            offer(&mut pair, from, &datagram),
            Err(Rejected::UnknownSession)
        );
        let mut answer = Vec::new();
        if let Some(to) = pair.home.poll_transmit(now, &mut answer) {
            assert_eq!(to, from);
            answered += answer.len();
        }
    }
    assert!(
        answered > 0 && answered <= sent / 8,
        "{answered} of {sent} bytes"
    );
    assert!(pair.home.counters().answers_dropped > 10_000);
    pair.run_for(SECOND);
    still_works(&mut pair);
}

/// Datagrams of any length and content, most of which begin like a frame, at a pair with a session.
#[test]
fn noise_changes_nothing() {
    let (mut pair, seen) = exchanged();
    let mut draws = Draws(17);
    for _ in 0..20_000 {
        let length = draws.bits() as usize % 300;
        let mut datagram: Vec<u8> = (0..length).map(|_| draws.bits() as u8).collect();
        let (to_home, model) = &seen[draws.bits() as usize % seen.len()];
        let kept = (draws.bits() as usize % 20).min(length).min(model.len());
        datagram[..kept].copy_from_slice(&model[..kept]);
        must_reject(&mut pair, *to_home, &datagram, "noise");
    }
    still_works(&mut pair);
}
