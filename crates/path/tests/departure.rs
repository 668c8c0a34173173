//! Announced losses: both ends of a path know in time, whatever the path loses.

mod pipe;

use baton_path::Event;
use baton_proto::time::{Duration, Instant};
use pipe::{Behaviour, Pair, PairExt};

const fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// Has one end expect a loss, or none.
fn expect(pair: &mut Pair, at_router: bool, at: Option<Instant>) {
    let now = pair.now();
    if at_router {
        pair.router.expect_loss(now, at);
    } else {
        let key = pair.key();
        pair.home.expect_loss(now, key, at);
    }
    pair.settle();
}

/// Returns what the other end has heard, and when.
fn heard(pair: &Pair, of_router: bool) -> Vec<(Instant, Option<Instant>)> {
    let news = |at: Instant, event: Event| match event {
        Event::LossExpected(loss) => Some((at, loss)),
        _ => None,
    };
    match of_router {
        true => {
            let events = pair.home_events.iter();
            events
                .filter_map(|(at, _, event)| news(*at, *event))
                .collect()
        }
        false => {
            let events = pair.router_events.iter();
            events.filter_map(|(at, event)| news(*at, *event)).collect()
        }
    }
}

#[test]
fn a_loss_is_heard_half_a_round_trip_later_at_its_time_and_called_off_once() {
    for at_router in [true, false] {
        let mut pair = Pair::up(Behaviour::delayed(40), 5);
        pair.run_for(seconds(20));
        let now = pair.now();
        let loss = now + seconds(2);
        expect(&mut pair, at_router, Some(loss));
        pair.run_for(seconds(3));
        let off = pair.now();
        expect(&mut pair, at_router, None);
        pair.run_for(seconds(20));
        let heard = heard(&pair, at_router);
        let [(first, Some(told)), (second, None)] = heard[..] else {
            panic!("{heard:?}");
        };
        let way = Duration::from_millis(40);
        assert_eq!([first, second], [now + way, off + way]);
        // To a millisecond, in which the time left is told, and the units of time stamps.
        let error = told.max(loss).saturating_since(told.min(loss));
        assert!(error <= Duration::from_millis(2), "{error}");
        assert_eq!(pair.downs(), [0, 0]);
        assert_eq!(pair.rejected(), 0);
    }
}

#[test]
fn half_the_datagrams_lost_do_not_keep_the_news_back() {
    for seed in 1..40 {
        let mut pair = Pair::up(Behaviour::delayed(20), seed);
        pair.run_for(seconds(5));
        pair.behaviour.loss = 0.5;
        let now = pair.now();
        expect(&mut pair, seed % 2 == 0, Some(now + seconds(10)));
        pair.run_for(seconds(2));
        let first = heard(&pair, seed % 2 == 0);
        let Some((_, Some(_))) = first.first() else {
            panic!("{seed}: {first:?}");
        };
        expect(&mut pair, seed % 2 == 0, None);
        pair.run_for(seconds(2));
        let last = heard(&pair, seed % 2 == 0);
        assert_eq!(last.last().unwrap().1, None, "{seed}: {last:?}");
    }
}

/// A path that was down hears again of the loss that its peer expects.
#[test]
fn a_path_that_comes_back_hears_of_it_again() {
    let mut pair = Pair::up(Behaviour::delayed(10), 7);
    pair.run_for(seconds(5));
    pair.cut();
    let at = pair.now() + seconds(100);
    expect(&mut pair, true, Some(at));
    pair.run_for(seconds(10));
    assert_eq!(heard(&pair, true), []);
    pair.behaviour.is_dead = false;
    pair.run_for(seconds(5));
    assert!(pair.key_is_up());
    assert!(matches!(heard(&pair, true)[..], [(_, Some(_))]));
}
