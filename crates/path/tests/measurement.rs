//! Measurements of a path against the truth of its pipe, its MTU, and the memory that it takes.

mod pipe;

use baton_path::{Event, Measured};
use baton_proto::time::Duration;
use pipe::{Behaviour, Pair, PairExt};

const SECOND: Duration = Duration::from_secs(1);

fn within(value: f64, expected: f64, tolerance: f64, what: &str) {
    assert!(
        (value - expected).abs() <= tolerance,
        "{what}: {value}, expected {expected}"
    );
}

fn measured(pair: &mut Pair) -> [Measured; 2] {
    let (now, key) = (pair.now(), pair.key());
    [
        pair.router.measured(now),
        pair.home.measured(now, key).unwrap(),
    ]
}

#[test]
fn round_trip_loss_variation_and_rate_are_those_of_the_pipe() {
    let behaviour = Behaviour {
        loss: 0.05,
        jitter: Duration::from_millis(10),
        repetition: 0.03,
        ..Behaviour::delayed(30)
    };
    let mut pair = Pair::up(behaviour, 5);
    pair.run_for(SECOND.saturating_mul(2));
    pair.truth = Default::default();
    let before = measured(&mut pair);
    pair.stream(40_000, Duration::from_millis(2), true, true, 1_000);
    let end = measured(&mut pair);
    let truth = pair.truth;
    for (at, (before, end)) in before.into_iter().zip(end).enumerate() {
        // Twice a delay of 30 ms and a mean of 5 ms; the mean deviation of a sum of two even draws of 10 ms is 3.3 ms.
        within(
            end.round_trip.unwrap().as_secs_f64(),
            0.070,
            0.006,
            "round trip",
        );
        within(
            end.round_trip_variation.as_secs_f64(),
            0.0033,
            0.0025,
            "variation",
        );
        // The mean of the difference of two even draws is a third; of packets that overtake none is looked at.
        within(
            end.delay_variation.as_secs_f64(),
            0.0033,
            0.0025,
            "delay variation",
        );
        let ways = [
            (truth[at], before.outward_total, end.outward_total),
            (truth[1 - at], before.inward_total, end.inward_total),
        ];
        for (truth, before, end) in ways {
            let sent = end.sent - before.sent;
            let lost = sent - (end.received - before.received);
            let expected = truth.lost as f64 / truth.offered as f64;
            within(
                lost as f64 / sent as f64,
                expected,
                0.001,
                "loss since the beginning",
            );
            within(sent as f64, truth.offered as f64, 100.0, "datagrams");
        }
        within(end.outward.loss(), 0.05, 0.02, "loss in ten seconds");
        within(end.inward.loss(), 0.05, 0.02, "loss in ten seconds");
        // 500 packets of 1,036 B a second, and up to 200 reports of 56 B.
        within(
            end.sent_bytes_per_second as f64,
            523_000.0,
            8_000.0,
            "rate sent",
        );
        within(
            end.received_bytes_per_second as f64,
            497_000.0,
            15_000.0,
            "rate received",
        );
    }
}

#[test]
fn loss_in_one_direction_is_told_from_loss_in_the_other() {
    let mut pair = Pair::up(Behaviour::delayed(30), 5);
    for number in 0..5_000_u32 {
        pair.behaviour.loss = 0.10;
        pair.send_up(&number.to_be_bytes());
        pair.behaviour.loss = 0.0;
        pair.run_for(Duration::from_millis(2));
    }
    let [router, home] = measured(&mut pair);
    within(router.outward.loss(), 0.10, 0.015, "outward at the router");
    within(home.inward.loss(), 0.10, 0.015, "inward at the home agent");
    assert_eq!(router.inward.loss(), 0.0);
    assert_eq!(home.outward.loss(), 0.0);
}

#[test]
fn an_idle_path_costs_at_most_one_kilobit_a_second_with_the_headers_of_ipv6() {
    let mut pair = Pair::up(Behaviour::delayed(30), 5);
    pair.run_for(SECOND.saturating_mul(30));
    pair.truth = Default::default();
    pair.run_for(SECOND.saturating_mul(1_000));
    let datagrams = pair.truth[0].offered + pair.truth[1].offered;
    let bits = (pair.truth[0].bytes + pair.truth[1].bytes + 20 * datagrams) * 8;
    assert!(pair.truth[0].offered >= 500, "probes");
    assert!(bits <= 1_000_000, "{bits} bits in 1000 s");
}

#[test]
fn receipts_cost_at_most_two_per_cent_and_a_floor() {
    for (length, gap_us) in [(1_400, 100), (100, 1_000)] {
        let mut pair = Pair::up(Behaviour::delayed(30), 5);
        pair.run_for(SECOND.saturating_mul(5));
        pair.truth = Default::default();
        pair.stream(
            5_000_000 / gap_us,
            Duration::from_micros(u64::from(gap_us)),
            true,
            false,
            length,
        );
        let floor = 5 * 41 * 84 + 5 * 84;
        let [up, down] = pair.truth;
        assert!(down.bytes <= up.bytes / 50 + floor, "{down:?} for {up:?}");
        assert!(down.offered >= 5 * 39, "{down:?}");
    }
}

#[test]
fn receipts_name_what_has_arrived() {
    let mut pair = Pair::up(Behaviour::delayed(30), 5);
    let counter = pair.send_down(b"kept until receipted");
    assert!(pair.home.path(pair.key()).unwrap().receipted <= counter);
    pair.run_for(Duration::from_millis(100));
    let receipted = Event::Receipted { up_to: counter + 1 };
    assert!(
        pair.home_events
            .iter()
            .any(|(_, _, event)| *event == receipted)
    );
    pair.cut();
    let lost = pair.send_down(b"to be sent another way");
    pair.run_for(SECOND);
    let receipted = pair.home.path(pair.key()).unwrap().receipted;
    assert!((counter + 1..=lost).contains(&receipted), "{receipted}");
}

#[test]
fn the_largest_packet_is_found_within_eight_bytes() {
    for mtu in [1280, 1300, 1380, 1420, 1492, 1500] {
        let mut pair = Pair::up(
            Behaviour {
                mtu,
                ..Behaviour::delayed(20)
            },
            5,
        );
        pair.run_for(SECOND.saturating_mul(40));
        let home = pair.home.path(pair.key()).unwrap().packet_mtu;
        for found in [pair.router.packet_mtu(), home] {
            // 20 and 8 bytes of IPv4 and UDP, 36 of the frame.
            let whole = usize::from(found) + 64;
            assert!(whole <= mtu && whole + 8 >= mtu, "{whole} of {mtu}");
        }
        let longest = vec![0x45; usize::from(home)];
        pair.send_up(&longest);
        pair.run_for(SECOND);
        assert_eq!(pair.at_home.last().unwrap().1, longest);
        let (now, too_long) = (pair.now(), vec![0; usize::from(home) + 1]);
        let sent = pair.router.send(now, 0, &too_long, &mut Vec::new());
        assert_eq!(sent, Err(baton_path::NotSent::TooLong(home)));
        assert_eq!(pair.downs(), [0, 0]);
    }
}

#[test]
fn a_black_hole_is_noticed_and_left() {
    let mut pair = Pair::up(Behaviour::delayed(20), 5);
    pair.run_for(SECOND.saturating_mul(10));
    assert_eq!(pair.router.packet_mtu(), 1436);
    pair.behaviour.mtu = 1400;
    pair.stream(2_000, Duration::from_millis(10), true, false, 1_436 - 200);
    assert_eq!(pair.router.packet_mtu(), 1436, "nothing was lost");
    for _ in 0..2_000 {
        let length = usize::from(pair.router.packet_mtu());
        pair.send_up(&vec![0x45; length]);
        pair.run_for(Duration::from_millis(10));
    }
    let whole = usize::from(pair.router.packet_mtu()) + 64;
    assert!((1_392..=1_400).contains(&whole), "{whole}");
    assert!(
        pair.router_events
            .iter()
            .any(|(_, event)| *event == Event::PacketMtu(1216))
    );
}

#[test]
fn losses_alone_leave_the_mtu_as_it_is() {
    let mut pair = Pair::up(
        Behaviour {
            loss: 0.02,
            ..Behaviour::delayed(20)
        },
        5,
    );
    pair.run_for(SECOND.saturating_mul(30));
    let before = pair.router.packet_mtu();
    assert_eq!(before, 1436);
    pair.stream(60_000, Duration::from_millis(10), true, false, 1_436);
    assert_eq!(pair.router.packet_mtu(), 1436);
}
