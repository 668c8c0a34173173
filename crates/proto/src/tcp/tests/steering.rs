//! Effects of remedies on a connection: of each control on window, timeout and segments.

use super::linux6::{linux, out};
use super::*;
use crate::crosslayer::Control;
use core::num::NonZeroU8;

/// Stacks that repair losses in different ways.
fn stacks() -> [Profile; 4] {
    [
        profile("ns2"),
        profile("rfc"),
        profile("linux-2.0.36"),
        linux(),
    ]
}

/// Ten segments of 1000 bytes are out, and more is written.
fn ten_out(profile: &Profile) -> Solo {
    let profile = Profile {
        initial_window: 10,
        delayed_ack: None,
        ..profile.clone()
    };
    let mut solo = out(&profile, 10);
    solo.connection.write_pattern(0, 1_000_000);
    solo.sends();
    solo
}

fn steer(solo: &mut Solo, controls: &[Control]) {
    for &control in controls {
        solo.connection.steer(solo.now, control);
    }
}

#[test]
fn held_new_data_waits_while_acknowledgments_close_the_window() {
    for profile in stacks() {
        let mut solo = ten_out(&profile);
        steer(&mut solo, &[Control::HoldNewData]);
        for count in 1..=10 {
            solo.at(200).receive(ack(1000 * count + 1));
            assert!(solo.sends().is_empty(), "study C: the right edge stays");
        }
        assert_eq!(solo.connection.bytes_in_flight(), 0);
        steer(&mut solo, &[Control::Thaw]);
        assert!(solo.sends().len() >= 10);
    }
}

#[test]
fn what_a_path_holds_bounds_what_is_sent_over_it() {
    for profile in stacks() {
        let mut solo = ten_out(&profile);
        steer(&mut solo, &[Control::LimitFlight(2_000)]);
        // The ten that are out are elsewhere: two more are let out, and another for each of those that comes through.
        let room = Control::NewPath {
            window: 20_000,
            threshold: 20_000,
        };
        steer(&mut solo, &[room]);
        assert_eq!(solo.sends(), ["10001..11001", "11001..12001"]);
        solo.at(200).receive(ack(10_001));
        assert!(solo.sends().is_empty());
        solo.receive(ack(11_001));
        assert_eq!(solo.sends(), ["12001..13001"]);
        assert!(solo.connection.congestion_window() >= 20_000);
    }
}

/// After a break, what was out goes over the new path and counts there.
#[test]
fn what_is_sent_again_is_bound_by_what_the_path_holds() {
    for profile in stacks() {
        let mut solo = ten_out(&profile);
        steer(&mut solo, &[Control::LimitFlight(2_000)]);
        steer(&mut solo, &[Control::ResendOutstanding]);
        solo.at(200).receive(ack(9_001));
        let sent = solo.sends();
        assert!(sent.len() <= 2, "{sent:?}");
        assert_eq!(sent.first().map(String::as_str), Some("9001..10001"));
    }
}

/// Five segments leave 20 ms apart, 50 ms before they arrive; 105 ms after the first one the link breaks, and with it the way of
/// all acknowledgments.
fn cut_off(profile: &Profile) -> Solo {
    let mut solo = Solo::established(&Profile {
        initial_window: 10,
        delayed_ack: None,
        ..profile.clone()
    });
    for round in 1..=30 {
        solo.write(1_000).sends();
        solo.at(100 * (1 + round))
            .receive(ack(round as i64 * 1_000 + 1));
    }
    for number in 0..5 {
        solo.at(3_100 + 20 * number).write(1_000).sends();
    }
    solo.at(3_205);
    steer(&mut solo, &[Control::Freeze]);
    solo.at(3_500);
    steer(&mut solo, &[Control::ResendCutOff, Control::Thaw]);
    assert_eq!(solo.sends(), ["33001..34001", "34001..35001"]);
    solo
}

/// Data that had arrived is not sent again: an acknowledgment of other data says so.
#[test]
fn what_has_lost_its_acknowledgment_alone_waits_for_another() {
    for profile in [linux(), profile("rfc")] {
        let mut solo = cut_off(&profile);
        solo.at(3_600).receive(ack(34_001));
        solo.at(3_610).receive(ack(35_001));
        assert!(solo.sends().is_empty());
        assert_eq!(solo.connection.statistics().timeouts, 0);
    }
}

/// Data that was lost after all is sent again as soon as an acknowledgment says so.
#[test]
fn what_was_lost_though_it_could_have_arrived_is_sent_again() {
    for profile in [linux(), profile("rfc")] {
        let mut solo = cut_off(&profile);
        solo.at(3_600)
            .receive(ack(31_001).sack(&[(33_001, 34_001)]));
        assert_eq!(solo.sends(), ["31001..32001", "32001..33001"]);
    }
}

/// Something has to bring an acknowledgment: of what could all have arrived the last segment is sent again.
#[test]
fn of_what_could_all_have_arrived_the_last_is_sent_again() {
    for profile in [linux(), profile("rfc")] {
        let mut solo = cut_off(&profile);
        solo.at(3_600).receive(ack(35_001));
        solo.write(2_000).sends();
        solo.at(3_690);
        steer(&mut solo, &[Control::Freeze]);
        solo.at(4_000);
        steer(&mut solo, &[Control::ResendCutOff, Control::Thaw]);
        assert_eq!(solo.sends(), ["36001..37001"]);
    }
}

#[test]
fn a_frozen_connection_notes_a_timeout_and_does_nothing() {
    for profile in stacks() {
        let mut solo = ten_out(&profile);
        let window = solo.connection.congestion_window();
        let threshold = solo.connection.slow_start_threshold();
        steer(&mut solo, &[Control::Freeze]);
        assert!(!solo.connection.view().timed_out);
        solo.at(20_000);
        assert!(solo.sends().is_empty());
        assert!(solo.connection.view().timed_out);
        assert_eq!(solo.connection.statistics().timeouts, 0);
        assert_eq!(solo.connection.congestion_window(), window);
        assert_eq!(solo.connection.slow_start_threshold(), threshold);
        // Thawed, it is timed anew, and what was out is sent again in the ordinary way.
        steer(&mut solo, &[Control::Thaw]);
        assert!(solo.sends().is_empty());
        solo.at(40_000);
        assert_eq!(solo.sends().first().map(String::as_str), Some("1..1001"));
        assert!(solo.connection.statistics().timeouts >= 1);
    }
}

/// An old path that kept what was out delivers it when the mobile is back.
#[test]
fn frozen_time_is_no_round_trip() {
    for profile in stacks() {
        let mut solo = ten_out(&profile);
        let rtt = solo.connection.smoothed_rtt();
        steer(&mut solo, &[Control::Freeze]);
        solo.at(5_000);
        steer(&mut solo, &[Control::Thaw]);
        solo.at(5_100).receive(ack(10_001));
        assert_eq!(solo.connection.smoothed_rtt(), rtt);
        assert!(!solo.sends().is_empty());
        let acknowledged = solo.connection.bytes_in_flight();
        solo.at(5_250)
            .receive(ack(10_001 + i64::from(acknowledged)));
        assert_ne!(
            solo.connection.smoothed_rtt(),
            rtt,
            "what was sent since counts"
        );
    }
}

#[test]
fn what_is_out_is_sent_again_from_one_segment_without_a_timeout() {
    for profile in stacks() {
        let mut solo = ten_out(&profile);
        steer(&mut solo, &[Control::Freeze]);
        solo.at(20_000);
        let pipe = 8_000;
        steer(
            &mut solo,
            &[
                Control::NewPath {
                    window: 1_000,
                    threshold: pipe,
                },
                Control::ResendOutstanding,
                Control::Thaw,
            ],
        );
        assert_eq!(solo.sends(), ["1..1001"]);
        assert_eq!(solo.connection.slow_start_threshold(), pipe);
        solo.at(20_150).receive(ack(1001));
        assert_eq!(solo.sends(), ["1001..2001", "2001..3001"], "slow start");
        assert_eq!(solo.connection.statistics().timeouts, 0);
    }
}

#[test]
fn a_forgiven_timeout_leaves_the_threshold_at_the_window() {
    for profile in stacks() {
        let mut solo = ten_out(&profile);
        let window = solo.connection.congestion_window();
        steer(&mut solo, &[Control::ForgiveTimeout]);
        while solo.connection.statistics().timeouts == 0 {
            let next = solo.connection.poll_timeout().expect("something is out");
            solo.at(next.as_nanos().div_ceil(1_000_000)).sends();
        }
        assert_eq!(solo.connection.slow_start_threshold(), window);
    }
}

#[test]
fn what_is_forgiven_is_the_timeout_of_what_was_out() {
    for profile in stacks() {
        let mut solo = ten_out(&profile);
        steer(&mut solo, &[Control::ForgiveTimeout]);
        solo.at(200).receive(ack(10_001));
        assert!(!solo.sends().is_empty());
        let window = solo.connection.congestion_window();
        while solo.connection.statistics().timeouts == 0 {
            let next = solo.connection.poll_timeout().expect("something is out");
            solo.at(next.as_nanos().div_ceil(1_000_000)).sends();
        }
        assert!(solo.connection.slow_start_threshold() < window);
    }
}

#[test]
fn timing_begins_anew_with_a_sample_or_without() {
    for profile in stacks() {
        let mut solo = ten_out(&profile);
        steer(&mut solo, &[Control::RestartTiming(Some(ms(600)))]);
        assert_eq!(solo.connection.smoothed_rtt(), Some(ms(600)));
        assert!(solo.connection.retransmission_timeout() >= ms(1_200));
        // Nothing goes off before it.
        let sent = solo.at(100 + 1_150).sends();
        assert!(sent.is_empty(), "{sent:?}");
        steer(&mut solo, &[Control::RestartTiming(None)]);
        assert_eq!(solo.connection.smoothed_rtt(), None);
        assert_eq!(
            solo.connection.retransmission_timeout(),
            profile.initial_rto
        );
    }
}

/// Study S, section 4: the update keeps the timer from going off "until an ACK is received through the new network".
#[test]
fn what_went_the_old_way_does_not_time_the_new_path() {
    for profile in stacks() {
        let mut solo = ten_out(&profile);
        steer(solo.at(110), &[Control::RestartTiming(Some(ms(600)))]);
        let timeout = solo.connection.retransmission_timeout();
        for number in 1..9_u32 {
            solo.at(120).receive(ack((1 + 1000 * number).into()));
        }
        assert_eq!(solo.connection.retransmission_timeout(), timeout);
        assert_eq!(solo.connection.smoothed_rtt(), Some(ms(600)));
    }
}

/// The same without a sample: an outage is no round-trip time.
#[test]
fn what_was_sent_before_timing_began_anew_is_no_sample() {
    for profile in stacks() {
        let mut solo = ten_out(&profile);
        steer(solo.at(9_000), &[Control::RestartTiming(None)]);
        for number in 1..9_u32 {
            solo.receive(ack((1 + 1000 * number).into()));
        }
        assert_eq!(solo.connection.smoothed_rtt(), None);
        assert_eq!(
            solo.connection.retransmission_timeout(),
            profile.initial_rto
        );
    }
}

/// A handover every 700 ms, and a timeout of one second: it goes off a second after the first. Of 15 timeouts in half as many
/// seconds a connection does not end (RFC 9293 section 3.8.3: 100 s at least).
#[test]
fn handovers_that_follow_each_other_do_not_put_the_timeout_off_for_ever() {
    for profile in stacks() {
        let mut solo = ten_out(&profile);
        let (begun, every) = (solo.now, 700);
        let mut first = None;
        for number in 0..60 {
            let now = begun + ms(number * every);
            steer(
                solo.at(now.as_nanos() / 1_000_000),
                &[Control::RestartTiming(None)],
            );
            for part in 0..every / 50 {
                let at = now + ms(part * 50);
                solo.at(at.as_nanos() / 1_000_000).sends();
                if solo.connection.statistics().timeouts > 0 {
                    first.get_or_insert(at.saturating_since(begun));
                }
            }
        }
        let wait = profile.initial_rto + profile.tick + ms(50);
        assert!(first.is_some_and(|first| first <= wait), "{first:?}");
        assert_eq!(solo.connection.state(), State::Established);
    }
}

/// RFC 9293 section 3.8.6: what was offered before is still taken.
#[test]
fn a_shut_window_is_said_and_what_is_under_way_is_taken() {
    for profile in stacks() {
        let mut solo = Solo::established(&profile);
        let window = |solo: &mut Solo| {
            let segment = solo
                .connection
                .poll_transmit(solo.now)
                .expect("an acknowledgment");
            (segment.header.window, solo.connection.receiving.data.next())
        };
        steer(
            &mut solo,
            &[Control::Offer(Some(0)), Control::Acknowledge(1)],
        );
        assert_eq!(window(&mut solo), (0, 1));
        solo.at(150).receive(data(1, 1001));
        solo.connection.discard(u64::MAX);
        steer(&mut solo, &[Control::Acknowledge(1)]);
        assert_eq!(window(&mut solo), (0, 1001), "taken");
        solo.sends();
        steer(&mut solo, &[Control::Offer(None), Control::Acknowledge(3)]);
        for _ in 0..3 {
            assert!(window(&mut solo).0 > 0);
        }
        assert!(solo.sends().is_empty());
    }
}

#[test]
fn acknowledgments_keep_the_window_with_which_they_were_asked_for() {
    let mut solo = Solo::established(&linux());
    let shut_then_open = [
        Control::Offer(Some(0)),
        Control::Acknowledge(1),
        Control::Offer(None),
        Control::Acknowledge(1),
    ];
    steer(&mut solo, &shut_then_open);
    let windows: Vec<bool> = core::iter::from_fn(|| solo.connection.poll_transmit(solo.now))
        .map(|segment| segment.header.window > 0)
        .collect();
    assert_eq!(windows, [false, true]);
}

#[test]
fn of_acknowledgments_the_last_is_kept() {
    let mut solo = Solo::established(&Profile {
        delayed_ack: None,
        ..profile("rfc")
    });
    steer(&mut solo, &[Control::KeepLastAcknowledgment(true)]);
    let mut sends = |from: i64| {
        solo.receive(data(from, from + 1000));
        solo.sends()
    };
    assert!(sends(1).is_empty());
    assert_eq!(sends(1001), ["ack 1001"]);
    assert_eq!(sends(2001), ["ack 2001"]);
    steer(
        &mut solo,
        &[
            Control::KeepLastAcknowledgment(false),
            Control::Acknowledge(1),
        ],
    );
    assert_eq!(solo.sends(), ["ack 3001"]);
}

#[test]
fn a_notice_says_what_is_missing_and_ends_when_nothing_is() {
    let mut solo = Solo::established(&Profile {
        delayed_ack: None,
        ..profile("rfc")
    });
    steer(
        &mut solo,
        &[Control::Notice {
            number: NonZeroU8::new(7).unwrap(),
            times: 2,
        }],
    );
    let mut said = |from: i64| {
        solo.receive(data(from, from + 1000));
        let segment = solo
            .connection
            .poll_transmit(solo.now)
            .expect("acknowledged");
        let notice = segment.header.options.notice;
        notice.map(|notice| (notice.number.get(), notice.outstanding))
    };
    assert_eq!(said(4001), Some((7, 4)));
    assert_eq!(said(3001), Some((7, 3)));
    assert_eq!(said(1), Some((7, 2)), "as long as something is missing");
    assert_eq!(said(1001), Some((7, 1)));
    assert_eq!(said(2001), Some((7, 0)));
    assert_eq!(said(5001), None);
}

/// Study S, Table 2: "DUPACKS are not sent so that there is no need to retransmit the delayed packets".
#[test]
fn tolerated_reordering_is_no_loss() {
    for profile in stacks() {
        let mut solo = ten_out(&profile);
        let window = solo.connection.congestion_window();
        steer(&mut solo, &[Control::TolerateReordering(true)]);
        // Numbers 1 to 8 overtake the first.
        for number in 1..9_u32 {
            let sacked = [(1001, 1001 + 1000 * number)];
            let blocks: &[(u32, u32)] = if profile.sack { &sacked } else { &[] };
            solo.at(200).receive(ack(1).sack(blocks));
            let sent = solo.sends();
            assert!(!sent.iter().any(|sent| sent == "1..1001"), "{sent:?}");
        }
        assert!(solo.connection.congestion_window() >= window);
        solo.at(210).receive(ack(9001));
        assert_eq!(solo.connection.statistics().fast_retransmits, 0);
        assert_eq!(solo.connection.statistics().timeouts, 0);
        assert!(solo.connection.congestion_window() >= window);
        // All of that is there, and what was inflated for it is over; gaps are losses again.
        solo.at(220).receive(ack(10_001));
        solo.sends();
        let slow_start = window + 12_000;
        assert!(solo.connection.congestion_window() <= slow_start);
        let first = 10_001;
        for number in 1..9_u32 {
            let sacked = [(first + 1000, first + 1000 + 1000 * number)];
            let blocks: &[(u32, u32)] = if profile.sack { &sacked } else { &[] };
            solo.at(230).receive(ack(first.into()).sack(blocks));
            solo.sends();
        }
        assert_eq!(solo.connection.statistics().fast_retransmits, 1);
    }
}

/// The old way goes on delivering in order while the new one overtakes it: what is acknowledged moves, and gaps are above it.
#[test]
fn tolerated_reordering_is_no_loss_while_acknowledgments_advance() {
    for profile in stacks().into_iter().filter(|profile| profile.sack) {
        let mut solo = ten_out(&profile);
        steer(&mut solo, &[Control::TolerateReordering(true)]);
        for number in 1..4_u32 {
            let sacked = [(5001, 5001 + 1000 * number)];
            solo.at(200)
                .receive(ack((1 + 1000 * number).into()).sack(&sacked));
        }
        let sent = solo.sends();
        let last = sent
            .first()
            .and_then(|sent| sent.split("..").next()?.parse::<u32>().ok());
        assert!(last.is_none_or(|start| start > 10_000), "{sent:?}");
    }
}

/// Bakshi et al.: the timer is set to the timeout in force, what a timeout has doubled included, and nothing else is touched.
#[test]
fn a_running_timer_starts_again_with_the_timeout_in_force() {
    for profile in stacks() {
        let mut solo = ten_out(&profile);
        let restarted = |solo: &mut Solo| {
            let (rto, view) = (
                solo.connection.retransmission_timeout(),
                solo.connection.view(),
            );
            steer(solo, &[Control::RestartTimer]);
            let due = solo.connection.poll_timeout().expect("it runs");
            assert_eq!(solo.connection.retransmission_timeout(), rto);
            assert_eq!(solo.connection.view(), view);
            // Clocks that tick round up.
            let exact = profile.tick.is_zero() && !profile.timer_wheel;
            let late = due.saturating_since(solo.now + rto);
            assert!(due >= solo.now + rto);
            let coarse = Duration::from_nanos(rto.as_nanos() / 4) + profile.tick;
            assert!(late <= if exact { ms(0) } else { coarse });
            due
        };
        for at in [110, 220, 330, 440] {
            solo.at(at);
            restarted(&mut solo);
        }
        assert!(solo.sends().is_empty(), "nothing has gone off");
        let rto = solo.connection.retransmission_timeout();
        while solo.connection.statistics().timeouts == 0 {
            let next = solo.connection.poll_timeout().expect("something is out");
            solo.at(next.as_nanos().div_ceil(1_000_000)).sends();
        }
        assert!(solo.connection.retransmission_timeout() > rto, "doubled");
        restarted(&mut solo);
    }
}

#[test]
fn a_timer_that_does_not_run_is_not_started() {
    for profile in stacks() {
        let mut solo = Solo::established(&profile);
        steer(&mut solo, &[Control::RestartTimer]);
        assert_eq!(solo.connection.poll_timeout(), None);
    }
}

/// Receives into 20,000 bytes, and acknowledges each segment.
fn reads() -> Solo {
    Solo::established(&Profile {
        delayed_ack: None,
        window_scaling: false,
        receive_buffer: 20_000,
        ..profile("rfc")
    })
}

/// A segment of 1000 bytes comes, and what can be is read: bytes from the first one to the right edge of the window.
fn edge(solo: &mut Solo, from: i64) -> u32 {
    solo.receive(data(from, from + 1000));
    while solo.connection.read(&mut [0; 1_000]) > 0 {}
    let next = solo.connection.poll_transmit(solo.now);
    let header = next.expect("acknowledged").header;
    header.acknowledgment.0.wrapping_sub(PEER_ISS.0 + 1) + u32::from(header.window)
}

fn more(window: u32, missing_arrives: bool) -> Control {
    Control::OfferMore {
        window,
        missing_arrives,
    }
}

/// RFC 9293 section 3.8.6: a receiver "SHOULD NOT" move the right edge of its window to the left.
#[test]
fn more_is_offered_beyond_what_was_and_the_edge_stays() {
    let mut solo = reads();
    steer(&mut solo, &[more(20_000, false)]);
    let before = edge(&mut solo, 1);
    steer(&mut solo, &[more(3_000, false)]);
    for number in 1..30_u32 {
        let now = edge(&mut solo, 1 + 1000 * i64::from(number));
        let arrived = 1000 * (number + 1);
        assert!(now >= before, "{now}");
        assert!(now <= before.max(arrived) + 3_000, "{now}");
    }
}

/// Five segments are on their way by a link that is left: what comes by the other ahead of them makes room, three segments at most are
/// under way there, and when the five have come, too, nothing of what was offered is taken back, though a sixth is lost.
#[test]
fn what_comes_ahead_of_what_still_arrives_makes_room() {
    let mut solo = reads();
    steer(&mut solo, &[more(5_000, false)]);
    assert_eq!(edge(&mut solo, 1), 6_000);
    steer(&mut solo, &[more(3_000, true)]);
    // Up to 6000 by the link that is left, from there on by the other, where 8000 is lost.
    assert_eq!(edge(&mut solo, 6_001), 10_000);
    assert_eq!(edge(&mut solo, 7_001), 11_000);
    assert_eq!(edge(&mut solo, 9_001), 12_000);
    for old in 1..=4 {
        assert_eq!(edge(&mut solo, 1000 * old + 1), 12_000);
    }
    assert_eq!(edge(&mut solo, 5_001), 12_000, "8000 has come in order");
    // The lost data comes again: from there on all goes on as usual.
    assert_eq!(edge(&mut solo, 8_001), 13_000);
}
