//! Handovers prepared with a point of service (IEEE 802.21).

use super::*;
use crate::mobility::attachment::failback::FailbackTimes;
use crate::mobility::handover_service::Signalling;

fn mobile(policy: Policy) -> Timeline {
    mobile_with(policy, Signalling::Backward)
}

fn mobile_with(policy: Policy, signalling: Signalling) -> Timeline {
    let settings = Settings {
        registers: true,
        signalling: Some(signalling),
        ..settings(policy)
    };
    let mut mobile = Timeline::begin(settings, &[0, 1]);
    mobile.told(0);
    mobile
}

fn announced(milliseconds: u64, handover: Handover, ahead: u64) -> Policy {
    let announced = Some(ms(ahead));
    let handover = entry(milliseconds, Some(1), handover);
    timetable(
        0,
        &[Entry {
            announced,
            ..handover
        }],
    )
}

const BEGUN: &str = "begun soft 0 to 1";

#[test]
fn a_soft_handover_waits_for_the_answer() {
    let mut mobile = mobile(timetable(0, &[entry(20_000, Some(1), SOFT)]));
    assert_eq!(mobile.told_at(20_000), ["prepare 1"]);
    assert_eq!(mobile.mobile.poll_timeout(), None);
    mobile.prepared(20_280);
    // It began when it was due: the wait is part of it.
    assert_eq!(mobile.told_at(20_280)[0], format!("{BEGUN} at 20000"));
}

#[test]
fn an_announced_handover_is_prepared_before_it_is_due() {
    let mut early = mobile(announced(20_000, SOFT, 1000));
    assert_eq!(early.told_at(19_000).last().unwrap(), "prepare 1");
    early.prepared(19_280);
    assert_eq!(early.told_at(19_280), [""; 0]);
    assert_eq!(early.told_at(20_000)[0], format!("{BEGUN} at 20000"));
    // The announcement hides this much of the wait.
    let mut late = mobile(announced(20_000, SOFT, 100));
    late.told(19_900);
    assert_eq!(late.told_at(20_000), [""; 0]);
    late.prepared(20_180);
    assert_eq!(late.told_at(20_180)[0], format!("{BEGUN} at 20000"));
}

/// With forward signalling the mobile joins the new link for the messages, and the protocol hears once that it is up.
#[test]
fn forward_signalling_joins_the_new_link_ahead() {
    let soft = || timetable(0, &[entry(20_000, Some(1), SOFT)]);
    let mut mobile = mobile_with(soft(), Signalling::Forward);
    let joined = ["1: Attach", "protocol: 1 Up", "prepare 1"];
    assert_eq!(mobile.told_at(20_000), joined);
    mobile.prepared(20_280);
    let told = mobile.told_at(20_280);
    assert_eq!(told[0], format!("{BEGUN} at 20000"));
    let to_protocol: Vec<&String> = told
        .iter()
        .filter(|one| one.starts_with("protocol"))
        .collect();
    assert_eq!(to_protocol, ["protocol: 1 HandoverImminent"]);
    // A joined link that goes down and comes back meanwhile.
    let mut mobile = mobile_with(soft(), Signalling::Forward);
    assert_eq!(mobile.told_at(20_000), joined);
    mobile.hear(20_100, 1, LinkEvent::Down);
    assert_eq!(mobile.told_at(20_100), ["protocol: 1 Down"]);
    mobile.hear(20_200, 1, LinkEvent::Up);
    assert_eq!(mobile.told_at(20_200), ["protocol: 1 Up"]);
}

#[test]
fn a_hard_handover_waits_for_nobody() {
    let handover = hard(300, OldQueue::Discarded);
    let mut unannounced = mobile(timetable(0, &[entry(20_000, Some(1), handover)]));
    assert_eq!(unannounced.told_at(20_000)[0], "begun hard 0 to 1 at 20000");
    let mut unanswered = mobile(announced(20_000, handover, 100));
    assert_eq!(unanswered.told_at(19_900).last().unwrap(), "prepare 1");
    assert_eq!(unanswered.told_at(20_000)[0], "begun hard 0 to 1 at 20000");
    // An answer without a wait.
    unanswered.prepared(20_100);
    assert_eq!(unanswered.told_at(20_100), [""; 0]);
}

fn preference() -> Policy {
    let times = FailbackTimes {
        hold_time: ms(1000),
        hysteresis: ms(0),
        longest_switch_time: ms(100),
    };
    let order = [1, 0].map(InterfaceId).to_vec();
    Policy::Preference(Box::new(Preference::new(times, order)))
}

/// Returns a mobile that begins on its second link, prefers the first from 20 s on, and prepares the handover.
fn returning() -> Timeline {
    let settings = Settings {
        registers: true,
        signalling: Some(Signalling::Backward),
        ..settings(preference())
    };
    let mut mobile = Timeline::begin(settings, &[0]);
    mobile.hear(19_000, 1, LinkEvent::Up);
    mobile.told(19_999);
    assert_eq!(mobile.told_at(20_000), ["prepare 1"]);
    mobile
}

/// The candidate is lost during the preparation: the mobile stays on its link, and its protocol is told, since packets
/// may go to the candidate.
#[test]
fn a_candidate_that_is_lost_is_not_used() {
    let mut mobile = returning();
    mobile.hear(20_100, 1, LinkEvent::Down);
    mobile.prepared(20_280);
    let told = mobile.told(40_000);
    let expected = [
        (20_100, "protocol: 1 Down".to_owned()),
        (20_200, "protocol: 0 Rollback".to_owned()),
    ];
    assert_eq!(told, expected);
    assert_eq!(mobile.mobile.attached(), Some(InterfaceId(0)));
}

/// The protocol ends the wait if the link in use is lost meanwhile, and the mobile moves at once.
#[test]
fn a_link_that_is_lost_ends_the_waiting() {
    let mut mobile = returning();
    mobile.hear(20_100, 0, LinkEvent::Down);
    assert_eq!(
        mobile.told_at(20_100),
        ["transports: 0 Down", "protocol: 0 Down"]
    );
    mobile.prepared(20_100);
    assert_eq!(mobile.told_at(20_100)[0], format!("{BEGUN} at 20000"));
}

/// The link in use and networks out of reach are not prepared.
#[test]
fn only_a_move_is_prepared() {
    let mut mobile = mobile(timetable(0, &[entry(1000, Some(2), SOFT)]));
    mobile
        .request(500, Some(0), hard(0, OldQueue::Stays))
        .unwrap();
    let told = mobile.told(2000);
    assert!(
        told.iter().all(|(_, what)| !what.starts_with("prepare")),
        "{told:?}"
    );
}
