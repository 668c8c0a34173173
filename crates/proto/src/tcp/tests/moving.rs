//! Connections that go on at another host, by way of the bytes that tell of them.

use super::*;
use crate::wire::split_context::{Message, SplitContext, TcpContext};
use core::net::SocketAddr;
use proptest::prelude::*;

/// A half as another gateway reads it.
fn through_bytes(half: TcpContext) -> TcpContext {
    let end = |last| SocketAddr::new(end_point(last, 0).address, 7);
    let sent = Message::Context(Box::new(SplitContext {
        mobile: end(1),
        correspondent: end(2),
        flow: None,
        towards_mobile: half.clone(),
        towards_correspondent: half,
    }));
    let bytes = sent.encode();
    let (read, length) = Message::decode(&bytes)
        .expect("well formed")
        .expect("whole");
    assert_eq!((&read, length), (&sent, bytes.len()));
    match read {
        Message::Context(context) => context.towards_mobile,
        Message::Request(_) => unreachable!(),
    }
}

/// A connection goes on at another host, whose clock shows another time, and comes back after `away` in all.
fn move_there_and_back(connection: &Connection, now: Instant, away: Duration) -> Connection {
    let ends = (connection.local(), connection.remote());
    let profile = connection.common.profile.clone();
    let elsewhere = Instant::from_secs(1_000_000);
    let told = through_bytes(connection.context(now).expect("it can be told"));
    let moved = Connection::resume((elsewhere, Duration::ZERO), ends, &profile, 1500, &told);
    let again = through_bytes(moved.context(elsewhere).expect("it can be told again"));
    assert_eq!(again.readings(), told.readings());
    Connection::resume((now, away), ends, &profile, 1500, &again)
}

impl TcpContext {
    /// Returns the part that does not depend on the settings and measurements of the gateway that goes on.
    fn readings(&self) -> TcpContext {
        let mut told = self.clone();
        told.receive_buffer = (0, 0);
        told.congestion_window = 0;
        told.slow_start_threshold = 0;
        told.timers.retransmission = None;
        told
    }
}

impl Pair {
    fn move_end(&mut self, side: Side) {
        let now = self.now();
        let end = self.end(side);
        end.run_application(now);
        if end.connection.reset_due.is_none() {
            end.connection = move_there_and_back(&end.connection, now, Duration::ZERO);
        }
    }
}

/// Fates of segments by a list of numbers, used in turn, and then none but the way.
fn by_list(list: Vec<u8>) -> Path {
    let mut next = list.into_iter();
    Box::new(move |_| match next.next() {
        None => Fate::Deliver(ms(20)),
        Some(number) if number < 40 => Fate::Drop,
        Some(number) if number < 60 => Fate::Twice(ms(20), ms(u64::from(number) * 2)),
        Some(number) => Fate::Deliver(ms(20 + u64::from(number) / 4)),
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever the path does and whenever an end moves, the bytes arrive once, in order and complete, and both ends close.
    #[test]
    fn all_bytes_arrive_whenever_an_end_moves(
        list in prop::collection::vec(any::<u8>(), 0..300),
        moves in prop::collection::vec((0_u64..400, any::<bool>()), 1..12),
        lengths in (0_u64..60_000, 0_u64..20_000),
        name in 0_usize..Profile::NAMES.len(),
        (timestamps, pattern) in any::<(bool, bool)>(),
        bbr in any::<bool>(),
    ) {
        let mut profile = profile(Profile::NAMES[name]);
        profile.timestamps = timestamps;
        (profile.syn_retries, profile.syn_ack_retries, profile.data_retries) = (400, 400, 400);
        profile.maximum_rto = Duration::from_secs(4);
        if bbr && profile.recovery == crate::tcp::profile::Recovery::Linux {
            profile.congestion = crate::tcp::profile::Algorithm::Bbr;
        }
        let mut pair = Pair::new(&profile, &profile, by_list(list));
        let Ends { a, b, .. } = &mut *pair;
        let ends = [(a, 1, lengths.0), (b, 2, lengths.1)];
        for (end, stream, length) in ends {
            end.application.close_when_written = true;
            match pattern {
                true => end.application.pattern = Some((stream, length)),
                false => end.application.bytes = (0..length).map(|p| pattern_byte(stream, p)).collect(),
            }
        }
        for (wait, of_a) in moves {
            let until = pair.now() + ms(wait);
            pair.run_until(until);
            if of_a || pair.syn_seen {
                pair.move_end(if of_a { Side::A } else { Side::B });
            }
        }
        pair.run_to_rest(Instant::from_secs(100_000));
        for (end, stream, length) in [(&pair.b, 1, lengths.0), (&pair.a, 2, lengths.1)] {
            prop_assert_eq!(end.application.received.len() as u64, length);
            prop_assert!(is_pattern(&end.application.received, stream));
            prop_assert_eq!(end.connection.state(), State::Closed);
        }
    }
}

/// RFC 6298 section 5: what is out has its timer, of which the time on the way is taken off; and the acknowledgment of what another host has
/// sent gives no round-trip time.
#[test]
fn time_on_the_way_passes() {
    let mut solo = Solo::established(&profile("rfc"));
    solo.connection.write_pattern(1, 1000);
    while solo.connection.poll_transmit(solo.now).is_some() {}
    let due = solo.connection.poll_timeout().unwrap();
    let left = due.saturating_since(solo.now);
    assert_eq!(left, Duration::from_secs(1));
    let away = ms(400);
    let moved = move_there_and_back(&solo.connection, solo.now, away);
    let sooner = moved.poll_timeout().unwrap().saturating_since(solo.now);
    assert_eq!(sooner, ms(600));
    solo.connection = moved;
    let samples = solo.connection.statistics().rtt_samples;
    solo.now += ms(100);
    solo.receive(from_peer(TcpFlags::ACK, 1, 1001));
    assert_eq!(solo.connection.bytes_acknowledged(), 1000);
    assert_eq!(solo.connection.statistics().rtt_samples, samples);
}

/// A reset that has still to leave does so where it is.
#[test]
fn a_connection_that_is_to_reset_its_peer_stays() {
    let mut solo = Solo::established(&profile("rfc"));
    solo.connection.abort();
    assert_eq!(solo.connection.context(solo.now), None);
}
