//! Answers of each remedy to what it hears, and rules that hold for all of them. What the answers do to a connection is
//! tested in `tcp/tests/steering.rs`.

use super::Kind;
use crate::crosslayer::{
    Acknowledgment, Control, CrossLayerSignal, HandoverNotice, PathParameters, PeerMoved, Remedy,
    TransportView,
};
use crate::rate::DataRate;
use crate::time::{Duration, Instant};
use core::num::NonZeroU8;

/// Study C's satellite: a pipe of 62,500 bytes.
const SATELLITE: PathParameters = PathParameters {
    to_mobile: DataRate::from_bits_per_second(1_000_000),
    from_mobile: DataRate::from_bits_per_second(1_000_000),
    round_trip: Duration::from_millis(500),
    queue_packets: Some(35),
};

/// Forty segments of 1000 bytes in the window, sixty in the threshold, measured at 20 ms.
const VIEW: TransportView = TransportView {
    congestion_window: 40_000,
    slow_start_threshold: 60_000,
    bytes_in_flight: 40_000,
    segment_size: 1_000,
    smoothed_rtt: Some(Duration::from_millis(20)),
    timed_out: false,
};

const CONNECTED: CrossLayerSignal = CrossLayerSignal::Connected(SATELLITE);

/// An update that took so long, from a link whose queue holds 35 packets.
fn moved(milliseconds: u64) -> CrossLayerSignal {
    CrossLayerSignal::PeerMoved(PeerMoved {
        delay: Duration::from_millis(milliseconds),
        rate: Some(DataRate::from_bits_per_second(1_000_000)),
        queue_packets: Some(35),
    })
}

fn noticed(number: u8, outstanding: u16) -> CrossLayerSignal {
    CrossLayerSignal::Noticed(HandoverNotice {
        number: NonZeroU8::new(number).unwrap(),
        outstanding,
    })
}

fn hears(remedy: &mut dyn Remedy, signal: &CrossLayerSignal, view: &TransportView) -> Vec<Control> {
    remedy.on_signal(signal, view)
}

/// At the mobile or the correspondent, which sends or not.
fn part(kind: Kind, at_mobile: bool, sends: bool) -> Box<dyn Remedy> {
    let part = match at_mobile {
        true => kind.at_mobile(sends),
        false => kind.at_correspondent(sends),
    };
    part.expect("it has a part there")
}

const fn path(window: u32, threshold: u32) -> Control {
    Control::NewPath { window, threshold }
}

fn notice(number: u8, times: u8) -> Control {
    let number = NonZeroU8::new(number).unwrap();
    Control::Notice { number, times }
}

#[test]
fn freeze_tcp_shuts_the_window_and_opens_it_with_three_acknowledgments() {
    let mut remedy = part(Kind::FreezeTcp, true, false);
    let mut says = |signal| hears(&mut *remedy, &signal, &VIEW);
    let shut = [Control::Offer(Some(0)), Control::Acknowledge(1)];
    assert_eq!(says(CrossLayerSignal::GoingDown), shut);
    assert_eq!(says(CrossLayerSignal::Disconnected), []);
    let open = [Control::Offer(None), Control::Acknowledge(3)];
    assert_eq!(says(CONNECTED), open);
    let stays = [Control::Offer(None), Control::Acknowledge(1)];
    assert_eq!(says(CrossLayerSignal::Rollback), stays);
}

#[test]
fn acknowledgments_after_reconnection_are_three_and_halve_a_mobile_sender() {
    let mut receiver = part(Kind::DuplicateAcks, true, false);
    assert_eq!(
        hears(&mut *receiver, &CONNECTED, &VIEW),
        [Control::Acknowledge(3)]
    );
    let mut sender = part(Kind::DuplicateAcks, true, true);
    let again = [path(20_000, 20_000), Control::ResendOutstanding];
    assert_eq!(hears(&mut *sender, &CONNECTED, &VIEW), again);
}

#[test]
fn atcp_begins_again_if_its_timer_has_gone_off_and_else_waits_for_it() {
    let mut sender = part(Kind::Atcp, true, true);
    let disconnected = CrossLayerSignal::Disconnected;
    assert_eq!(hears(&mut *sender, &disconnected, &VIEW), [Control::Freeze]);
    let waits = [Control::ForgiveTimeout, Control::Thaw];
    assert_eq!(hears(&mut *sender, &CONNECTED, &VIEW), waits);
    hears(&mut *sender, &disconnected, &VIEW);
    let timed_out = TransportView {
        timed_out: true,
        ..VIEW
    };
    let again = [
        path(1_000, 40_000),
        Control::ResendOutstanding,
        Control::Thaw,
    ];
    assert_eq!(hears(&mut *sender, &CONNECTED, &timed_out), again);
    // A soft handover is none of its business.
    assert_eq!(hears(&mut *sender, &CONNECTED, &VIEW), []);

    let mut receiver = part(Kind::Atcp, true, false);
    assert_eq!(hears(&mut *receiver, &disconnected, &VIEW), []);
    let shut_then_open = [
        Control::Offer(Some(0)),
        Control::Acknowledge(1),
        Control::Offer(None),
        Control::Acknowledge(1),
    ];
    assert_eq!(hears(&mut *receiver, &CONNECTED, &VIEW), shut_then_open);
}

#[test]
fn the_scheme_of_study_c_stops_in_time_and_begins_with_the_new_pipe() {
    let (ahead, down) = (CrossLayerSignal::GoingDown, CrossLayerSignal::Disconnected);
    let mut sender = part(Kind::Eclair, true, true);
    assert_eq!(hears(&mut *sender, &ahead, &VIEW), [Control::HoldNewData]);
    assert_eq!(hears(&mut *sender, &down, &VIEW), [Control::Freeze]);
    let again = [
        path(1_000, 62_500),
        Control::ResendOutstanding,
        Control::Thaw,
    ];
    assert_eq!(hears(&mut *sender, &CONNECTED, &VIEW), again);
    assert_eq!(hears(&mut *sender, &CONNECTED, &VIEW), [Control::Thaw]);

    let mut receiver = part(Kind::Eclair, true, false);
    let shut = [
        Control::Offer(Some(0)),
        Control::Acknowledge(1),
        Control::KeepLastAcknowledgment(true),
    ];
    assert_eq!(hears(&mut *receiver, &ahead, &VIEW), shut);
    assert_eq!(hears(&mut *receiver, &down, &VIEW), []);
    let open = [
        Control::KeepLastAcknowledgment(false),
        // In 508 ms, with the 8 ms that a segment takes, 63,500 bytes pass.
        Control::Offer(Some(64_000)),
        Control::Acknowledge(1),
    ];
    assert_eq!(hears(&mut *receiver, &CONNECTED, &VIEW), open);
    // A soft handover that was announced opens the window again, too.
    assert_eq!(hears(&mut *receiver, &ahead, &VIEW), shut);
    assert_eq!(hears(&mut *receiver, &CONNECTED, &VIEW), open);
}

/// 1 Mbit/s and twice 250 ms.
#[test]
fn the_scheme_at_the_sender_waits_until_all_is_acknowledged() {
    let mut remedy = part(Kind::ClosingWindow, false, true);
    let all = CrossLayerSignal::AllAcknowledged;
    assert_eq!(hears(&mut *remedy, &all, &VIEW), []);
    assert_eq!(
        hears(&mut *remedy, &moved(250), &VIEW),
        [Control::HoldNewData]
    );
    let begins = [path(1_000, 62_500), Control::Thaw];
    assert_eq!(hears(&mut *remedy, &all, &VIEW), begins);
    assert_eq!(hears(&mut *remedy, &all, &VIEW), []);
    // With nothing out, no acknowledgment would ever end the wait.
    let idle = TransportView {
        bytes_in_flight: 0,
        ..VIEW
    };
    assert_eq!(hears(&mut *remedy, &moved(250), &idle), begins);
}

#[test]
fn reordering_is_tolerated_towards_a_shorter_path_until_nothing_is_missing() {
    let mut receiver = part(Kind::Reordering, true, false);
    let sent = CrossLayerSignal::UpdateSent;
    assert_eq!(hears(&mut *receiver, &sent, &VIEW), [notice(1, 3)]);
    assert_eq!(hears(&mut *receiver, &sent, &VIEW), [notice(2, 3)]);
    for kind in [Kind::Reordering, Kind::Method1] {
        let mut sender = part(kind, false, true);
        let tolerates = [Control::TolerateReordering(true)];
        assert_eq!(hears(&mut *sender, &moved(5), &VIEW), tolerates);
        // Nothing has overtaken anything yet.
        assert_eq!(hears(&mut *sender, &noticed(1, 0), &VIEW), []);
        assert_eq!(hears(&mut *sender, &noticed(1, 12), &VIEW), []);
        let ends = [Control::TolerateReordering(false)];
        assert_eq!(hears(&mut *sender, &noticed(1, 0), &VIEW), ends);
    }
    let mut sender = part(Kind::Reordering, false, true);
    assert_eq!(hears(&mut *sender, &moved(290), &VIEW), []);
}

#[test]
fn the_timer_follows_twice_the_delay_of_the_update() {
    let follows = [Control::RestartTiming(Some(Duration::from_millis(580)))];
    for kind in [Kind::AdaptiveTimer, Kind::Method1] {
        let mut sender = part(kind, false, true);
        assert_eq!(hears(&mut *sender, &moved(290), &VIEW), follows, "{kind:?}");
    }
}

#[test]
fn the_window_is_bounded_by_the_new_queue() {
    let mut sender = part(Kind::BufferNotification, false, true);
    assert_eq!(
        hears(&mut *sender, &moved(5), &VIEW),
        [path(35_000, 35_000)]
    );
    let small = TransportView {
        congestion_window: 35_000,
        ..VIEW
    };
    assert_eq!(hears(&mut *sender, &moved(5), &small), []);
}

/// Study S, section 6: "ssthresh is restored to the value assumed before the previous satellite-to-WiFi VHO. Cwnd is then set to
/// ssthresh".
#[test]
fn method_2_bounds_the_window_and_restores_the_threshold() {
    let mut sender = part(Kind::Method2, false, true);
    assert_eq!(hears(&mut *sender, &moved(290), &VIEW), []);
    assert_eq!(
        hears(&mut *sender, &moved(5), &VIEW),
        [path(35_000, 35_000)]
    );
    let later = TransportView {
        slow_start_threshold: 9_000,
        ..VIEW
    };
    let restored = [path(60_000, 60_000)];
    assert_eq!(hears(&mut *sender, &moved(290), &later), restored);
    assert_eq!(hears(&mut *sender, &moved(290), &later), []);
}

#[test]
fn resets_count_a_notice_once() {
    for (kind, resets) in [
        (Kind::TimeoutReset, vec![Control::RestartTiming(None)]),
        (Kind::WindowReset, vec![path(1_000, 20_000)]),
        (
            Kind::PathReset,
            vec![path(1_000, 20_000), Control::RestartTiming(None)],
        ),
    ] {
        let mut mobile = part(kind, true, false);
        let says = [notice(1, 3), Control::Acknowledge(1)];
        assert_eq!(hears(&mut *mobile, &CONNECTED, &VIEW), says);
        let mut sender = part(kind, false, true);
        assert_eq!(hears(&mut *sender, &noticed(1, 0), &VIEW), resets);
        assert_eq!(hears(&mut *sender, &noticed(1, 0), &VIEW), []);
        assert_eq!(hears(&mut *sender, &noticed(2, 0), &VIEW), resets);
        // A sender that is the mobile needs nobody to tell it.
        let mut own = part(kind, true, true);
        assert_eq!(hears(&mut *own, &CONNECTED, &VIEW), resets);
    }
}

/// 62,500 bytes are 63 segments of 1000, and one more.
#[test]
fn the_receiver_offers_what_its_link_holds() {
    let mut receiver = part(Kind::PathWindow, true, false);
    let offers = [Control::Offer(Some(64_000))];
    let begun = CrossLayerSignal::Begun(SATELLITE);
    assert_eq!(hears(&mut *receiver, &begun, &VIEW), offers);
    assert_eq!(hears(&mut *receiver, &CONNECTED, &VIEW), offers);
}

#[test]
fn a_path_is_forgotten_when_the_peer_has_moved() {
    let mut sender = part(Kind::ForgottenPath, false, true);
    assert_eq!(hears(&mut *sender, &moved(5), &VIEW), [Control::ForgetPath]);
    assert_eq!(hears(&mut *sender, &CONNECTED, &VIEW), []);
}

/// Returns the answers to an acknowledgment at so many milliseconds.
fn acknowledged(
    remedy: &mut dyn Remedy,
    (at_ms, bytes, rtt_ms): (u64, u64, Option<u64>),
    view: &TransportView,
) -> Vec<Control> {
    let acknowledgment = Acknowledgment {
        at: Instant::from_millis(at_ms),
        bytes,
        rtt: rtt_ms.map(Duration::from_millis),
    };
    remedy.on_acknowledged(&acknowledgment, view)
}

/// 5 Mbit/s and twice 290 ms hold 362 segments of 1000 bytes. The window doubles each round trip, and its acknowledgments come at
/// the bottleneck's rate; the threshold, 20 segments at first, must not hold it up, and ends where the path is full.
#[test]
fn the_threshold_follows_what_the_path_delivers() {
    let mut remedy = part(Kind::Astart, false, true);
    let mut view = TransportView {
        congestion_window: 20_000,
        slow_start_threshold: 20_000,
        smoothed_rtt: Some(Duration::from_millis(580)),
        ..VIEW
    };
    let early = acknowledged(&mut *remedy, (0, 1_000, None), &view);
    assert_eq!(early, []);
    assert_eq!(hears(&mut *remedy, &moved(290), &view), []);
    let pipe = 362_500.0;
    for round in 0..8 {
        let segments = u64::from(view.congestion_window / 1_000);
        let begin = 1_000 + round * 580;
        for number in 0..segments.min(362) {
            // A segment each 1.6 ms.
            let at = begin + number * 16 / 10;
            let answer = acknowledged(&mut *remedy, (at, 1_000, None), &view);
            if let [Control::RaiseThreshold(threshold)] = answer[..] {
                assert!(threshold > view.slow_start_threshold);
                view.slow_start_threshold = threshold;
            }
            if view.congestion_window < view.slow_start_threshold {
                view.congestion_window += 1_000;
            }
        }
        assert!(f64::from(view.slow_start_threshold) < 1.3 * pipe, "{round}");
    }
    let window = f64::from(view.congestion_window);
    assert!((0.7 * pipe..1.3 * pipe).contains(&window), "{window}");
    // Three duplicates have halved the threshold: from now on it stays.
    let halved = TransportView {
        congestion_window: 180_000,
        slow_start_threshold: 180_000,
        ..view
    };
    for at in 0..300 {
        let answer = acknowledged(&mut *remedy, (20_000 + at, 10_000, None), &halved);
        assert_eq!(answer, []);
    }
}

/// After a timeout, which leaves a window of one segment, the estimate raises the threshold again.
#[test]
fn a_timeout_does_not_end_the_adaptive_start() {
    let mut remedy = part(Kind::Astart, false, true);
    hears(&mut *remedy, &moved(290), &VIEW);
    let timed_out = TransportView {
        congestion_window: 1_000,
        slow_start_threshold: 2_000,
        smoothed_rtt: Some(Duration::from_millis(580)),
        ..VIEW
    };
    let raised = (0..40).any(|number| {
        let signal = (number * 2, 1_000, None);
        !acknowledged(&mut *remedy, signal, &timed_out).is_empty()
    });
    assert!(raised);
}

/// Study T, section 7.2.2, in its own numbers: the round-trip time falls from 16 s to 10 ms.
#[test]
fn three_short_round_trips_bring_the_timeout_down() {
    for mut sender in [
        part(Kind::FasterTimeoutDecrease, true, true),
        part(Kind::FasterTimeoutDecrease, false, true),
    ] {
        let view = TransportView {
            smoothed_rtt: Some(Duration::from_secs(14)),
            ..VIEW
        };
        let mut says = |rtt| acknowledged(&mut *sender, (0, 1_000, rtt), &view);
        let falls = [Control::RestartTiming(Some(Duration::from_millis(10)))];
        assert_eq!(says(Some(10)), []);
        assert_eq!(says(None), [], "that of a retransmission");
        assert_eq!(says(Some(10)), []);
        assert_eq!(says(Some(10)), falls);
        // One that is not short, or not like the others, begins a row anew.
        for rtt in [10, 20, 9_000, 10, 10, 21, 25] {
            assert_eq!(says(Some(rtt)), [], "{rtt}");
        }
        let falls = [Control::RestartTiming(Some(Duration::from_millis(22)))];
        assert_eq!(says(Some(22)), falls);
    }
    assert!(Kind::FasterTimeoutDecrease.at_mobile(false).is_none());
}

#[test]
fn names_are_found_again_and_are_not_shared() {
    for &kind in Kind::ALL {
        assert_eq!(Kind::named(kind.name()), Some(kind));
    }
    assert_eq!(Kind::named("nothing"), None);
}

#[test]
fn contradictions_are_mutual_and_each_contradicts_itself() {
    for &one in Kind::ALL {
        assert!(one.contradicts(one).is_some());
        for &two in Kind::ALL {
            let (there, back) = (one.contradicts(two), two.contradicts(one));
            assert_eq!(there.is_some(), back.is_some(), "{one:?} {two:?}");
        }
    }
}

/// The satellite's pipe is 62,500 bytes; of its queue of 35 packets half counts, rounded down.
#[test]
fn a_ready_mobile_offers_what_the_link_takes_and_stirs_the_sender_after_a_break() {
    let mut remedy = part(Kind::ReadyMobile, true, false);
    let mut says = |signal| hears(&mut *remedy, &signal, &VIEW);
    let takes = |missing_arrives| Control::OfferMore {
        window: 62_500 + 17_000,
        missing_arrives,
    };
    assert_eq!(says(CrossLayerSignal::Begun(SATELLITE)), [takes(true)]);
    // A soft handover needs no word to the sender, and an announcement no answer.
    assert_eq!(says(CONNECTED), [takes(true)]);
    assert_eq!(says(CrossLayerSignal::GoingDown), []);
    assert_eq!(says(CrossLayerSignal::Disconnected), []);
    let stirs = [
        Control::Offer(Some(0)),
        Control::Acknowledge(1),
        takes(false),
        Control::Acknowledge(3),
    ];
    assert_eq!(says(CONNECTED), stirs);
    assert_eq!(says(CONNECTED), [takes(true)]);
}

const NEW_TIMING: Control = Control::RestartTiming(Some(Duration::from_millis(508)));

/// From a longer path, softly: what is still on it takes its time.
const FROM_LONGER: TransportView = TransportView {
    smoothed_rtt: Some(Duration::from_secs(1)),
    ..VIEW
};

/// A sender knows the new path of its data: 0.5 s and 8 ms for a segment, and a window of what the link takes, or its
/// own if that is smaller.
#[test]
fn a_sender_that_is_ready_goes_on_with_the_new_path() {
    let onto = path(40_000, 79_500);
    let mut remedy = part(Kind::ReadyMobile, true, true);
    let mut says = |signal, view| hears(&mut *remedy, &signal, view);
    assert_eq!(says(CONNECTED, &VIEW), [onto, NEW_TIMING, Control::Thaw]);
    let disconnected = CrossLayerSignal::Disconnected;
    assert_eq!(says(disconnected, &VIEW), [Control::Freeze]);
    let lost = [onto, Control::ResendCutOff, NEW_TIMING, Control::Thaw];
    assert_eq!(says(CONNECTED, &VIEW), lost);
    assert_eq!(says(CONNECTED, &FROM_LONGER), [onto, Control::Thaw]);
}

/// It knows the same of the path, before whose link the queue is: it lets no more into the network than that takes, and what the
/// old link still delivers, all 40,000 bytes here, leaves its window on the new one as it was.
#[test]
fn a_gateway_that_is_ready_goes_on_with_the_new_path() {
    let limit = Control::LimitFlight(79_500);
    let (beside, alone) = (path(80_000, 79_500), path(40_000, 79_500));
    let mut remedy = Kind::ReadyGateway.steering().expect("it has one");
    let mut says = |signal, view| hears(&mut *remedy, &signal, view);
    let softly = [limit, beside, NEW_TIMING, Control::Thaw];
    assert_eq!(says(CONNECTED, &VIEW), softly);
    let disconnected = CrossLayerSignal::Disconnected;
    assert_eq!(says(disconnected, &VIEW), [Control::Freeze]);
    let lost = [
        limit,
        alone,
        Control::ResendCutOff,
        NEW_TIMING,
        Control::Thaw,
    ];
    assert_eq!(says(CONNECTED, &VIEW), lost);
    assert_eq!(
        says(CONNECTED, &FROM_LONGER),
        [limit, beside, Control::Thaw]
    );
    // From a link with hardly a window it goes on as a connection that begins.
    let narrow = TransportView {
        congestion_window: 2_000,
        bytes_in_flight: 2_000,
        ..FROM_LONGER
    };
    assert_eq!(says(CONNECTED, &narrow)[1], path(12_000, 79_500));
}

#[test]
fn a_bad_state_starts_the_timer_again_and_nothing_else_does() {
    for at_mobile in [true, false] {
        let mut sender = part(Kind::Ebsn, at_mobile, true);
        let bad = CrossLayerSignal::BadState;
        assert_eq!(hears(&mut *sender, &bad, &VIEW), [Control::RestartTimer]);
        assert_eq!(hears(&mut *sender, &CONNECTED, &VIEW), []);
        assert_eq!(hears(&mut *sender, &moved(250), &VIEW), []);
    }
    assert!(Kind::Ebsn.at_mobile(false).is_none());
    assert!(Kind::Ebsn.at_correspondent(false).is_none());
}
