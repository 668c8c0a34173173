//! Closing: one side, both, at once, with losses; TIME-WAIT; resets.

use super::*;

#[test]
fn a_half_closed_connection_still_carries_data_the_other_way() {
    let rfc = profile("rfc");
    let mut pair = Pair::new(&rfc, &rfc, delay(10));
    pair.a.connection.write(b"request");
    pair.a.connection.close();
    pair.run_until(at_ms(500));
    assert_eq!(pair.a.connection.state(), State::FinWait2);
    assert_eq!(pair.b.connection.state(), State::CloseWait);
    assert_eq!(pair.when(Side::B, Event::PeerClosed), Some(at_ms(30)));
    pair.b.application.pattern = Some((9, 50_000));
    pair.b.application.close_when_written = true;
    pair.run_until(at_ms(2_000));
    assert_eq!(pair.a.application.received.len(), 50_000);
    assert!(is_pattern(&pair.a.application.received, 9));
    // The side that closed first waits (RFC 9293 section 3.6).
    assert_eq!(pair.a.connection.state(), State::TimeWait);
    assert_eq!(pair.b.connection.state(), State::Closed);
    pair.run_to_rest(Instant::from_secs(100));
    assert_eq!(pair.a.connection.state(), State::Closed);
}

#[test]
fn both_may_close_at_once() {
    // RFC 9293 figure 13.
    let rfc = profile("rfc");
    let mut pair = Pair::new(&rfc, &rfc, delay(10));
    pair.run_until(at_ms(500));
    pair.a.connection.close();
    pair.b.connection.close();
    pair.run_until(at_ms(515));
    assert_eq!(pair.a.connection.state(), State::Closing);
    assert_eq!(pair.b.connection.state(), State::Closing);
    pair.run_until(at_ms(600));
    assert_eq!(pair.a.connection.state(), State::TimeWait);
    assert_eq!(pair.b.connection.state(), State::TimeWait);
    assert_eq!(pair.when(Side::A, Event::Closed), Some(at_ms(520)));
    pair.run_to_rest(Instant::from_secs(100));
}

#[test]
fn time_wait_answers_a_repeated_fin_and_starts_over() {
    let mut solo = Solo::established(&profile("rfc"));
    solo.connection.close();
    assert_eq!(solo.sends(), ["FIN 1"]);
    solo.at(200).receive(ack(2));
    assert_eq!(solo.connection.state(), State::FinWait2);
    let fin = || from_peer(TcpFlags::FIN.with(TcpFlags::ACK), 1, 2);
    solo.at(300).receive(fin());
    assert_eq!(solo.sends(), ["ack 2"]);
    assert_eq!(solo.connection.state(), State::TimeWait);
    assert_eq!(solo.wakes_at(), Some(60_300));
    solo.at(1_000).receive(fin());
    assert_eq!(solo.sends(), ["ack 2"]);
    assert_eq!(solo.wakes_at(), Some(61_000));
    // RFC 1337: a reset does not cut it short.
    solo.at(2_000).receive(from_peer(TcpFlags::RST, 2, 2));
    assert_eq!(solo.connection.state(), State::TimeWait);
    solo.at(61_000);
    assert_eq!(solo.connection.state(), State::Closed);
}

#[test]
fn a_fin_is_repeated_like_data() {
    let mut solo = Solo::established(&profile("rfc"));
    solo.write(500);
    solo.connection.close();
    assert_eq!(solo.sends(), ["1..501 FIN 501"]);
    assert_eq!(solo.connection.state(), State::FinWait1);
    assert_eq!(solo.at(1_100).sends(), ["1..501 FIN 501"]);
    solo.at(1_200).receive(ack(501));
    assert_eq!(
        solo.connection.state(),
        State::FinWait1,
        "the data, not the FIN"
    );
    assert_eq!(solo.at(3_200).sends(), ["FIN 501"]);
    solo.at(3_300).receive(ack(502));
    assert_eq!(solo.connection.state(), State::FinWait2);
}

#[test]
fn a_fin_that_comes_early_waits_for_the_data_before_it() {
    let mut solo = Solo::established(&profile("rfc"));
    solo.events();
    solo.at(200)
        .receive(from_peer(TcpFlags::FIN.with(TcpFlags::ACK), 1_001, 1));
    assert_eq!(solo.sends(), ["ack 1"]);
    assert_eq!(solo.connection.state(), State::Established);
    solo.at(300).receive(data(1, 1_001));
    assert_eq!(solo.sends(), ["ack 1002"]);
    assert_eq!(solo.connection.state(), State::CloseWait);
    assert_eq!(solo.events(), [Event::Readable, Event::PeerClosed]);
}

#[test]
fn an_abort_resets_the_peer() {
    let rfc = profile("rfc");
    let mut pair = Pair::new(&rfc, &rfc, delay(10));
    pair.a.application.pattern = Some((1, 100_000));
    pair.run_until(at_ms(45));
    pair.b.connection.abort();
    pair.run_until(at_ms(1_000));
    assert_eq!(pair.b.connection.state(), State::Closed);
    assert_eq!(pair.a.connection.state(), State::Closed);
    assert_eq!(pair.when(Side::A, Event::Reset), Some(at_ms(55)));
}

#[test]
fn nothing_is_written_after_close() {
    let mut solo = Solo::established(&profile("rfc"));
    solo.connection.close();
    assert_eq!(solo.connection.write(b"late"), 0);
    assert_eq!(solo.connection.write_pattern(0, 4), 0);
}
