//! Handshakes and sessions over a pipe.

mod pipe;

use baton_path::Event;
use baton_proto::time::{Duration, Instant};
use pipe::{Behaviour, Pair, PairExt};

#[test]
fn a_path_is_up_after_one_round_trip_and_carries_packets_both_ways() {
    let mut pair = Pair::new(Behaviour::delayed(20), 1);
    pair.run_for(Duration::from_millis(40));
    assert_eq!(
        pair.router_events,
        [(Instant::from_millis(1040), Event::Up)]
    );
    assert_eq!(pair.router.assigned(), b"assigned");
    pair.run_for(Duration::from_millis(20));
    assert!(pair.key_is_up(), "the router's confirmation makes it so");
    assert_eq!(
        pair.send_up(&[0x45; 700]),
        1,
        "after the probe that confirms"
    );
    pair.send_down(&[0x60; 900]);
    pair.run_for(Duration::from_millis(20));
    assert_eq!(pair.at_home, [(pair.now(), vec![0x45; 700])]);
    assert_eq!(pair.at_router, [(pair.now(), vec![0x60; 900])]);
    assert_eq!(pair.rejected(), 0);
}

#[test]
fn a_rekey_under_traffic_loses_nothing() {
    let behaviour = Behaviour {
        jitter: Duration::from_millis(30),
        ..Behaviour::delayed(20)
    };
    let mut pair = Pair::up(behaviour, 7);
    pair.stream(40_000, Duration::from_millis(10), true, true, 500);
    pair.run_for(Duration::from_secs(1));
    assert_eq!(
        pair.router.counters().sessions,
        4,
        "at 0, 120, 240 and 360 s"
    );
    assert_eq!(pair.home.counters().sessions, 4);
    for arrived in [&pair.at_home, &pair.at_router] {
        let mut numbers: Vec<_> = arrived
            .iter()
            .map(|(_, packet)| packet[..4].to_vec())
            .collect();
        numbers.sort();
        numbers.dedup();
        assert_eq!(numbers.len(), 40_000);
        assert_eq!(arrived.len(), 40_000);
    }
    assert_eq!(pair.downs(), [0, 0]);
}
