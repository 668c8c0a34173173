//! Whatever the path does, the bytes arrive once, in order and complete, and both ends close.

use super::*;
use crate::tcp::profile::Algorithm;
use proptest::prelude::*;

const ALGORITHMS: [Algorithm; 3] = [Algorithm::Reno, Algorithm::NewReno, Algorithm::Cubic];

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
    pair.run_to_end(Instant::from_secs(100_000));
    for (end, stream, length) in [(&pair.b, 1, lengths.0), (&pair.a, 2, lengths.1)] {
        assert_eq!(end.application.received.len() as u64, length);
        assert!(is_pattern(&end.application.received, stream), "{pattern}");
        assert_eq!(end.connection.state(), State::Closed);
        let closed = end.events.iter().filter(|(_, e)| *e == Event::Closed);
        assert_eq!(closed.count(), 1, "{:?}", end.events);
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
        (name, algorithm) in (0_usize..3, 0_usize..3),
        pattern in any::<bool>(),
        buffer in prop_oneof![Just(None), (1_u32..5_000).prop_map(Some)],
        timestamps in any::<bool>(),
    ) {
        let mut profile = profile(Profile::NAMES[name]);
        profile.congestion = ALGORITHMS[algorithm];
        profile.timestamps = timestamps;
        // So long a silence must be possible that the list runs out.
        profile.syn_retries = 400;
        profile.data_retries = 400;
        profile.maximum_rto = Duration::from_secs(4);
        if let Some(buffer) = buffer {
            profile.receive_buffer = buffer;
        }
        let (forward, back) = match buffer {
            Some(buffer) if buffer < 200 => (forward % 3_000, back % 1_000),
            _ => (forward, back),
        };
        let mut pair = Pair::new(&profile, &profile, by_list(list));
        feed(&mut pair.a.application, 1, forward, pattern);
        feed(&mut pair.b.application, 2, back, pattern);
        check(&mut pair, (forward, back), pattern);
    }
}
