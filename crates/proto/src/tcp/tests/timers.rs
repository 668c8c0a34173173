//! The retransmission timer, delayed acknowledgments, Nagle's rule and idle periods.

use super::*;

/// RFC, without the floor that hides the arithmetic.
fn no_floor() -> Profile {
    Profile {
        minimum_rto: ms(1),
        ..profile("rfc")
    }
}

#[test]
fn the_timeout_follows_rfc_6298() {
    let mut solo = Solo::established(&no_floor());
    // The SYN took 100 ms: SRTT 100, RTTVAR 50, RTO 300.
    assert_eq!(solo.connection.retransmission_timeout(), ms(300));
    solo.write(1_000);
    assert_eq!(solo.sends(), ["1..1001"]);
    // 180 ms: RTTVAR = 3/4·50 + 1/4·80 = 57.5, SRTT = 7/8·100 + 1/8·180 = 110, RTO = 340.
    solo.at(280).receive(ack(1_001));
    assert_eq!(solo.connection.smoothed_rtt(), Some(ms(110)));
    assert_eq!(solo.connection.retransmission_timeout(), ms(340));
}

#[test]
fn the_timeout_doubles_until_something_new_is_measured() {
    let mut solo = Solo::established(&no_floor());
    solo.write(2_000);
    assert_eq!(solo.sends(), ["1..1001", "1001..2001"]);
    // At 100 ms with an RTO of 300 ms: 400, 400 + 600, 1000 + 1200.
    assert_eq!(solo.wakes_at(), Some(400));
    assert_eq!(solo.at(400).sends(), ["1..1001"]);
    assert_eq!(solo.wakes_at(), Some(1_000));
    assert_eq!(solo.at(1_000).sends(), ["1..1001"]);
    assert_eq!(solo.wakes_at(), Some(2_200));
    // Karn: the acknowledgment of what was sent twice measures nothing and leaves the backoff.
    solo.at(1_100).receive(ack(1_001));
    assert_eq!(solo.connection.last_rtt_sample(), Some(ms(100)));
    assert_eq!(solo.connection.retransmission_timeout(), ms(1_200));
    assert_eq!(
        solo.sends(),
        ["1001..2001"],
        "slow start, acknowledgment by acknowledgment"
    );
    solo.at(1_200).receive(ack(2_001));
    assert_eq!(solo.connection.retransmission_timeout(), ms(1_200));
    solo.write(1_000);
    assert_eq!(solo.sends(), ["2001..3001"]);
    solo.at(1_300).receive(ack(3_001));
    // 100 ms again: RTTVAR 3/4·50 = 37.5, RTO = 100 + 150.
    assert_eq!(solo.connection.retransmission_timeout(), ms(250));
    assert_eq!(solo.connection.statistics().timeouts, 2);
    assert_eq!(solo.connection.statistics().retransmitted, 3);
}

/// RFC 6298 section 5: the timer runs from the first segment that goes out (5.1), counts anew from each acknowledgment
/// of new data (5.3), and stops when nothing is out (5.2).
#[test]
fn the_timer_counts_from_the_last_progress() {
    let mut solo = Solo::established(&profile("rfc"));
    solo.write(3_000);
    solo.sends();
    assert_eq!(solo.wakes_at(), Some(100 + 1_000));
    solo.at(250).receive(ack(1));
    assert_eq!(solo.wakes_at(), Some(100 + 1_000), "no progress");
    for (at, acknowledged) in [(300, 1_001), (350, 2_001)] {
        solo.at(at).receive(ack(acknowledged));
        assert_eq!(solo.wakes_at(), Some(at + 1_000));
    }
    solo.at(400).receive(ack(3_001));
    assert_eq!(solo.wakes_at(), None);
    // After a timeout it runs again (5.6), and after the next progress from there.
    solo.write(2_000);
    solo.sends();
    assert_eq!(solo.at(1_400).sends(), ["3001..4001"]);
    assert_eq!(solo.wakes_at(), Some(1_400 + 2_000));
    solo.at(1_500).receive(ack(4_001));
    assert_eq!(solo.sends(), ["4001..5001"]);
    assert_eq!(solo.wakes_at(), Some(1_500 + 2_000));
}

#[test]
fn timestamps_tell_a_retransmission_from_the_original() {
    let mut profile = no_floor();
    profile.timestamps = true;
    let mut pair = Pair::new(&profile, &profile, {
        let mut lost = false;
        Box::new(move |passing| {
            let first = passing.segment.payload.length() > 0 && !lost;
            lost |= first;
            if first {
                Fate::Drop
            } else {
                Fate::Deliver(ms(50))
            }
        })
    });
    pair.run_until(at_ms(1_000));
    pair.a.connection.write(&[7; 100]);
    pair.run_until(at_ms(3_000));
    assert_eq!(pair.a.connection.statistics().timeouts, 1);
    // 100 ms of path and, after the loss, no delayed acknowledgment's wait beyond 200 ms; without timestamps
    // Karn would have left the sample of the SYN.
    assert_eq!(pair.a.connection.last_rtt_sample(), Some(ms(300)));
    assert_eq!(pair.a.connection.statistics().rtt_samples, 2);
}

#[test]
fn a_dead_path_is_given_up() {
    let mut few = no_floor();
    few.data_retries = 3;
    let mut solo = Solo::established(&few);
    solo.write(10);
    assert_eq!(solo.sends(), ["1..11"]);
    for at in [400, 1_000, 2_200] {
        assert_eq!(solo.at(at).sends(), ["1..11"]);
    }
    solo.at(4_600);
    assert_eq!(solo.events(), [Event::Connected, Event::TimedOut]);
}

#[test]
fn every_second_full_segment_is_acknowledged_and_the_rest_after_200_ms() {
    let mut solo = Solo::established(&profile("rfc"));
    solo.at(1_000).receive(data(1, 1_001));
    assert_eq!(solo.sends(), Vec::<String>::new());
    solo.at(1_010).receive(data(1_001, 2_001));
    assert_eq!(solo.sends(), ["ack 2001"]);
    solo.at(1_020).receive(data(2_001, 3_001));
    assert_eq!(solo.wakes_at(), Some(1_220));
    assert_eq!(solo.at(1_220).sends(), ["ack 3001"]);
    // The delay is that of the first that waits (RFC 1122 section 4.2.3.2), however little comes after it.
    solo.at(1_500).receive(data(3_001, 3_101));
    solo.at(1_600).receive(data(3_101, 3_201));
    assert_eq!(solo.wakes_at(), Some(1_700));
    assert_eq!(solo.at(1_700).sends(), ["ack 3201"]);
    // Data of our own carries it.
    solo.at(2_000).receive(data(3_201, 4_201)).write(1);
    assert_eq!(solo.sends(), ["1..2"]);
    assert_eq!(solo.connection.receiving.acks.last_sent(), 4_201);
    assert_eq!(
        solo.connection.poll_timeout(),
        Some(at_ms(3_000)),
        "only the RTO"
    );
}

#[test]
fn what_is_out_of_order_is_acknowledged_at_once() {
    let mut solo = Solo::established(&profile("rfc"));
    solo.at(1_000).receive(data(1_001, 2_001));
    assert_eq!(solo.sends(), ["ack 1 sack 1001..2001"]);
    solo.receive(data(1, 1_001));
    assert_eq!(
        solo.sends(),
        ["ack 2001"],
        "it closes the gap (RFC 5681 section 4.2)"
    );
    solo.receive(data(1, 1_001));
    assert_eq!(solo.sends(), ["ack 2001"], "a duplicate");
}

#[test]
fn without_delay_each_segment_is_acknowledged() {
    let mut solo = Solo::established(&profile("ns2"));
    solo.at(1_000).receive(data(1, 1_001));
    assert_eq!(solo.sends(), ["ack 1001"]);
}

#[test]
fn nagle_holds_small_segments_while_something_is_out() {
    let mut solo = Solo::established(&profile("rfc"));
    solo.write(10);
    assert_eq!(solo.sends(), ["1..11"]);
    solo.write(20);
    assert_eq!(solo.sends(), Vec::<String>::new());
    solo.write(1_000);
    assert_eq!(
        solo.sends(),
        ["11..1011"],
        "a full segment goes, its rest waits"
    );
    solo.at(200).receive(ack(1_011));
    assert_eq!(solo.sends(), ["1011..1031"]);
    let mut eager = profile("rfc");
    eager.nagle = false;
    let mut solo = Solo::established(&eager);
    solo.write(10);
    assert_eq!(solo.sends(), ["1..11"]);
    solo.write(20);
    assert_eq!(solo.sends(), ["11..31"]);
}

#[test]
fn nagle_and_delayed_acknowledgments_wait_for_each_other() {
    // The well-known stall: write, write, read. The second half waits for the acknowledgment of the
    // first, which the receiver delays by 200 ms.
    let rfc = profile("rfc");
    let mut pair = Pair::new(&rfc, &rfc, delay(10));
    pair.run_until(at_ms(1_000));
    pair.a.connection.write(&[1; 100]);
    pair.settle();
    pair.a.connection.write(&[2; 100]);
    pair.run_until(at_ms(1_100));
    assert_eq!(pair.b.application.received.len(), 100);
    pair.run_until(at_ms(2_000));
    assert_eq!(pair.b.application.received.len(), 200);
    let second = pair.a.log.iter().find(|(_, what)| what == "101..201");
    assert_eq!(second.unwrap().0, at_ms(1_000 + 10 + 200 + 10));
}

#[test]
fn the_window_falls_back_after_an_idle_timeout() {
    let mut solo = Solo::established(&profile("rfc"));
    let mut next = 1;
    // Twenty segments, acknowledged one by one in slow start: the window grows from 10 to 20 and more.
    solo.write(40_000);
    for _ in 0..40 {
        solo.sends();
        next += 1_000;
        solo.at(200).receive(ack(next));
    }
    let grown = solo.connection.congestion_window();
    assert!(grown >= 20_000, "{grown}");
    // The RTO is 1 s: at 1.2 s of silence RFC 5681 section 4.1 restarts from the initial window.
    solo.at(1_400).write(30_000);
    assert_eq!(solo.sends().len(), 10);
    assert_eq!(solo.connection.congestion_window(), 10_000);
}
