//! Whatever the path does, the bytes arrive once, in order and complete, and both ends close.

use super::*;
use crate::tcp::profile::Algorithm;
use crate::tcp::receiving::Receiver;
use proptest::prelude::*;

/// All but BBR, which needs Linux's recovery; a test of its own has it.
fn algorithms() -> [Algorithm; 8] {
    [
        Algorithm::Reno,
        Algorithm::NewReno,
        Algorithm::Cubic,
        Algorithm::Westwood(Default::default()),
        Algorithm::Scalable(Default::default()),
        Algorithm::Bic(Default::default()),
        Algorithm::Vegas(Default::default()),
        Algorithm::Hybla(Default::default()),
    ]
}

/// A path that loses, doubles and delays by a list of numbers, used in turn, and then behaves.
fn by_list(list: Vec<u8>) -> Path {
    let mut next = list.into_iter();
    Box::new(move |_| match next.next() {
        None => Fate::Deliver(ms(20)),
        Some(number) if number < 50 => Fate::Drop,
        Some(number) if number < 80 => Fate::Twice(ms(20), ms(u64::from(number) * 2)),
        Some(number) => Fate::Deliver(ms(20 + u64::from(number) / 4)),
    })
}

fn check(pair: &mut Pair, lengths: (u64, u64), pattern: bool) {
    pair.run_to_rest(Instant::from_secs(100_000));
    for (end, stream, length) in [(&pair.b, 1, lengths.0), (&pair.a, 2, lengths.1)] {
        assert_eq!(end.application.received.len() as u64, length);
        assert!(is_pattern(&end.application.received, stream), "{pattern}");
        assert_eq!(end.connection.state(), State::Closed);
        let closed = end.events.iter().filter(|(_, e)| *e == Event::Closed);
        // The peer's short TIME-WAIT may be over before it has heard our FIN.
        let forgotten = end.connection.is_transaction()
            && end.events.iter().any(|(_, e)| *e == Event::TimedOut);
        assert!(closed.count() == 1 || forgotten, "{:?}", end.events);
    }
}

fn feed(application: &mut Application, stream: u32, length: u64, pattern: bool) {
    application.close_when_written = true;
    if pattern {
        application.pattern = Some((stream, length));
    } else {
        application.bytes = (0..length).map(|p| pattern_byte(stream, p)).collect();
    }
}

#[test]
fn a_clean_path_delivers_and_closes() {
    for name in Profile::NAMES {
        for pattern in [true, false] {
            let profile = profile(name);
            let mut pair = Pair::new(&profile, &profile, delay(20));
            feed(&mut pair.a.application, 1, 300_000, pattern);
            feed(&mut pair.b.application, 2, 70_000, pattern);
            check(&mut pair, (300_000, 70_000), pattern);
            let retransmitted = pair.a.connection.statistics().retransmitted
                + pair.b.connection.statistics().retransmitted;
            assert_eq!(retransmitted, 0, "{name}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_path_delivers_once_in_order_and_closes(
        list in prop::collection::vec(any::<u8>(), 0..400),
        (forward, back) in (0_u64..60_000, 0_u64..20_000),
        (name, algorithm) in (0_usize..6, 0_usize..8),
        pattern in any::<bool>(),
        buffer in prop_oneof![Just(None), (1_u32..5_000).prop_map(Some)],
        timestamps in any::<bool>(),
        remembered in prop_oneof![Just(None), any::<[bool; 2]>().prop_map(Some)],
    ) {
        let mut profile = profile(Profile::NAMES[name]);
        profile.congestion = algorithms()[algorithm].clone();
        profile.timestamps = timestamps;
        // So long a silence must be possible that the list runs out.
        profile.syn_retries = 400;
        profile.syn_ack_retries = 400;
        profile.data_retries = 400;
        profile.maximum_rto = Duration::from_secs(4);
        if let Some(buffer) = buffer {
            profile.receive_buffer = buffer;
        }
        let (forward, back) = match buffer {
            Some(buffer) if buffer < 200 => (forward % 3_000, back % 1_000),
            _ => (forward, back),
        };
        profile.transaction_opening = remembered.is_some();
        let mut pair = Pair::new(&profile, &profile, by_list(list));
        if let Some(remembered) = remembered {
            pair = pair.with_transactions(remembered);
        }
        feed(&mut pair.a.application, 1, forward, pattern);
        feed(&mut pair.b.application, 2, back, pattern);
        check(&mut pair, (forward, back), pattern);
    }

    /// Segments cut anyhow, overlapping, repeated and out of order, are put together as they were.
    #[test]
    fn overlapping_pieces_are_put_together(
        pieces in prop::collection::vec((-50_i64..3_000, 1_u32..400, any::<bool>()), 0..120),
    ) {
        let payload = |start: i64, length: u32, pattern: bool| {
            // Position 1 is the pattern's first byte; what lies before it is other data.
            let offset = (start - 1) as u64;
            if pattern && start >= 1 {
                Payload::Pattern { stream: 3, offset, length }
            } else {
                Payload::Bytes((0..u64::from(length)).map(|i| pattern_byte(3, offset.wrapping_add(i))).collect())
            }
        };
        let mut receiver = Receiver::new((2_500, u32::MAX));
        receiver.advertise(100, 0);
        for (start, length, pattern) in pieces {
            receiver.accept(start, payload(start, length, pattern));
            let mut blocks = receiver.blocks().to_vec();
            blocks.sort_unstable();
            prop_assert!(blocks.iter().all(|(start, end)| receiver.next() < *start && start < end && *end <= 2_501));
            prop_assert!(blocks.windows(2).all(|pair| pair[0].1 < pair[1].0));
        }
        // Every second byte from here on, then the rest: whatever was missing is filled.
        for start in (1..2_501).step_by(2).chain((2..2_501).step_by(2)) {
            receiver.accept(start, payload(start, 1, start % 3 == 0));
        }
        for start in 1..2_501 {
            receiver.accept(start, payload(start, 1, false));
        }
        prop_assert_eq!(receiver.readable_bytes(), 2_500);
        let mut bytes = vec![0; 2_500];
        prop_assert_eq!(receiver.read(&mut bytes), 2_500);
        prop_assert!(is_pattern(&bytes, 3));
        prop_assert!(receiver.blocks().is_empty());
    }
}
