//! Each transition of study A's Table II, packet by packet.

use super::*;
use crate::wire::aerotp::{AerotpHeader, Protection};

fn headers(pair: &Pair, end: End) -> Vec<&AerotpHeader> {
    pair.log
        .iter()
        .filter(|(_, from, _)| *from == end)
        .map(|(_, _, packet)| match &packet.body {
            Body::Aerotp(packet) => &packet.header,
            _ => unreachable!(),
        })
        .collect()
}

fn clean(configuration: Configuration) -> Pair {
    Pair::new(configuration, study_path(0.0, 1))
}

/// The delay without loss is propagation and serialisation (issue's number; study A, A1).
#[test]
fn data_comes_with_the_first_packet() {
    let mut pair = clean(with_mode(Mode::Reliable));
    pair.write(100);
    pair.seconds(1.0);
    let (at, bytes) = pair.arrivals[0];
    // IP 20, header 22, opening 8, data 100, check 4.
    let serialised = Duration::from_nanos(154 * 8 * 200);
    assert_eq!(
        (at, bytes),
        (Instant::ZERO + serialised + Duration::from_millis(10), 100)
    );
    assert_eq!(pair.a.state(), State::Established);
}

#[test]
fn the_states_are_those_of_the_table() {
    let mut pair = clean(with_mode(Mode::Reliable));
    pair.write(100);
    pair.settle();
    assert_eq!(pair.a.state(), State::AsynSent);
    pair.seconds(0.015);
    assert_eq!(pair.b.as_ref().unwrap().state(), State::Established);
    assert_eq!(pair.a.state(), State::AsynSent);
    pair.seconds(0.1);
    assert_eq!(pair.a.state(), State::Established);
    // The answer has ASYN and MACK at once.
    let answer = headers(&pair, End::B)[0];
    assert!(answer.opening.is_some() && answer.mack.is_some());
    pair.a.close();
    pair.settle();
    assert_eq!(pair.a.state(), State::AfinSent);
    pair.seconds(0.2);
    assert_eq!(pair.b.as_ref().unwrap().state(), State::AfinReceived);
    assert!(pair.saw(End::A, Event::Delivered));
    assert!(
        headers(&pair, End::B)
            .last()
            .unwrap()
            .mack
            .as_ref()
            .unwrap()
            .is_complete
    );
    pair.b.as_mut().unwrap().close();
    pair.seconds(30.0);
    assert_eq!(pair.a.state(), State::Closed);
    assert_eq!(pair.b.as_ref().unwrap().state(), State::Closed);
    assert!(pair.saw(End::A, Event::Closed) && pair.saw(End::B, Event::Closed));
}

#[test]
fn a_later_packet_opens_when_the_first_is_lost() {
    let mut pair = clean(with_mode(Mode::Reliable));
    pair.links[0]
        .outages
        .push((Instant::ZERO, Instant::from_millis(3)));
    pair.write(5000);
    pair.seconds(0.016);
    assert!(pair.b.is_some());
    assert_eq!(pair.read_bytes[1], 0);
    pair.seconds(1.0);
    pair.assert_read(5000);
}

/// The text: the sender is established by the ASYNACK or by a simple MACK.
#[test]
fn a_plain_mack_establishes_when_the_asynack_is_lost() {
    let mut pair = clean(with_mode(Mode::Reliable));
    pair.write(100);
    pair.seconds(0.011);
    let now = pair.now();
    let answer = pair.b.as_mut().unwrap().poll_transmit(now);
    assert!(answer.is_none(), "it has left already");
    // Everything from B so far is lost; what comes then is stripped of its opening.
    pair.wires.lose_all();
    pair.seconds(2.0);
    assert_eq!(pair.a.state(), State::Established);
    pair.assert_read(100);
}

#[test]
fn an_opening_without_data_is_sent_and_answered() {
    let mut pair = clean(with_mode(Mode::Reliable));
    pair.seconds(1.0);
    assert_eq!(pair.a.state(), State::Established);
    // The ASYN, and the MACK that tells B that it is known.
    assert_eq!(headers(&pair, End::A).len(), 2);
}

#[test]
fn each_lost_packet_is_sent_once_more_and_no_other() {
    let mut pair = clean(with_mode(Mode::Reliable));
    pair.links[0]
        .outages
        .push((Instant::from_millis(30), Instant::from_millis(38)));
    pair.write(100_000);
    pair.a.close();
    pair.seconds(5.0);
    pair.assert_read(100_000);
    let lost = pair.links[0].lost;
    assert!(lost > 0);
    assert_eq!(pair.a.statistics().retransmitted, lost);
    assert_eq!(pair.b.as_ref().unwrap().statistics().duplicates, 0);
}

#[test]
fn a_reset_ends_the_other_side() {
    let mut pair = clean(with_mode(Mode::Reliable));
    pair.write(100);
    pair.seconds(0.5);
    pair.a.abort();
    pair.seconds(1.0);
    assert!(pair.saw(End::B, Event::Reset));
    assert_eq!(pair.b.as_ref().unwrap().state(), State::Closed);
}

#[test]
fn both_directions_carry_data_and_end_apart() {
    let mut pair = clean(with_mode(Mode::Reliable));
    pair.write(50_000);
    pair.a.close();
    pair.seconds(0.5);
    let b = pair.b.as_mut().unwrap();
    let answer = Payload::Pattern {
        stream: 9,
        offset: 0,
        length: 70_000,
    };
    assert_eq!(b.write(&answer), 70_000);
    b.close();
    pair.seconds(2.0);
    assert_eq!(pair.read_bytes, [70_000, 50_000]);
    assert!(pair.saw(End::A, Event::Finished) && pair.saw(End::B, Event::Delivered));
    pair.seconds(60.0);
    assert_eq!(pair.a.state(), State::Closed);
}

/// A peer that takes no more is asked until it does, and nothing deadlocks if its word is lost.
#[test]
fn a_shut_window_is_asked_until_it_opens() {
    let mut configuration = with_mode(Mode::Reliable);
    configuration.receive_buffer = 20_000;
    let mut pair = Pair::new(configuration, study_path(0.0, 3));
    pair.write(100_000);
    // B reads nothing: its events are not drained here.
    pair.a.poll_event();
    pair.seconds(0.2);
    // The harness reads, so take the whole way: it all arrives although the window was overrun at first.
    pair.seconds(5.0);
    pair.assert_read(100_000);
}

/// The echo is of whole microseconds: at whatever part of one the packet left and the word of its damage comes, it is sent again at
/// once.
#[test]
fn what_came_damaged_is_sent_again_when_the_peer_says_so() {
    for [left, delay] in [[0, 0], [0, 600], [600, 0], [999, 1], [600, 700]] {
        let mut configuration = with_mode(Mode::Reliable);
        configuration.coding = Coding::Fixed(Protection::default());
        let mut pair = clean(configuration);
        pair.links[0].delay += Duration::from_nanos(delay);
        pair.seconds(1.0);
        pair.run_until(Instant::from_nanos(1_000_000_000 + left));
        pair.write(1000);
        pair.settle();
        let (_, last) = pair.wires.iter_mut().last().unwrap();
        last.bit_errors = vec![last.wire_length() * 8 - 100].into();
        pair.seconds(1.1);
        let again = pair.log.iter().find(|(_, _, packet)| packet.retransmission);
        let waited = again
            .unwrap()
            .0
            .saturating_since(Instant::from_millis(1000));
        // There and back, and the packet's time on the line.
        assert!(
            waited < Duration::from_millis(23),
            "{left} {delay}: {waited:?}"
        );
        pair.assert_read(1000);
    }
}
