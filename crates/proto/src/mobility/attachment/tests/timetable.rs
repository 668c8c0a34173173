//! Handovers of a timetable, and on demand. The page on handovers states their rules.

use super::*;

/// Returns a mobile on interface 0 with both plain links up, after its first outputs.
fn mobile(entries: &[Entry]) -> Timeline {
    let mut mobile = Timeline::begin(settings(timetable(0, entries)), &[0, 1]);
    assert_eq!(mobile.told_at(0), ["0: Attach", "attached 0"]);
    mobile
}

fn soft(overlap: Option<u64>, old_queue: OldQueue, outgoing_after: u64) -> Handover {
    Handover::Soft {
        overlap: overlap.map(ms),
        old_queue,
        outgoing_after: ms(outgoing_after),
    }
}

/// The new link is taken at once, and the old one still delivers.
#[test]
fn a_soft_handover_leaves_the_old_link_alone() {
    let mut mobile = mobile(&[entry(4050, Some(1), SOFT)]);
    assert_eq!(mobile.mobile.poll_timeout(), Some(at(4050)));
    let expected = [
        "begun soft 0 to 1 at 4050",
        "1: Attach",
        "attached 1",
        "complete 1",
    ];
    assert_eq!(mobile.told_at(4050), expected);
    assert_eq!(mobile.mobile.attached(), Some(InterfaceId(1)));
    assert_eq!(mobile.mobile.poll_timeout(), None);
}

#[test]
fn an_overlap_ends_with_the_old_link() {
    let mut mobile = mobile(&[entry(4010, Some(1), soft(Some(1000), OldQueue::Stays, 0))]);
    assert_eq!(mobile.told_at(4010).len(), 4);
    // The transports use another link.
    assert_eq!(mobile.told_at(5010), ["0: detach", "protocol: 0 Down"]);
}

#[test]
fn an_overlap_that_has_not_ended_does_not_end_a_link_in_use_again() {
    let overlap = soft(Some(3000), OldQueue::Stays, 2000);
    let mut mobile = mobile(&[entry(2000, Some(1), overlap), entry(3000, Some(0), SOFT)]);
    assert_eq!(mobile.told_at(2000).last().unwrap(), "outgoing 0");
    let expected = [
        "begun soft 1 to 0 at 3000",
        "0: Attach",
        "attached 0",
        "complete 0",
    ];
    assert_eq!(mobile.told_at(3000), expected);
    assert_eq!(mobile.told(10_000), []);
}

#[test]
fn the_old_queue_is_discarded_when_the_new_link_is_in_use() {
    let mut mobile = mobile(&[entry(4010, Some(1), soft(None, OldQueue::Discarded, 0))]);
    assert_eq!(
        mobile.told_at(4010)[1..],
        ["1: Attach", "attached 1", "complete 1", "0: DiscardQueue"]
    );
}

#[test]
fn own_packets_may_follow_later() {
    let mut mobile = mobile(&[entry(2010, Some(1), soft(None, OldQueue::Stays, 500))]);
    assert_eq!(mobile.told_at(2010).last().unwrap(), "outgoing 0");
    assert_eq!(mobile.mobile.outgoing(), Some(InterfaceId(0)));
    assert_eq!(mobile.told_at(2510), ["outgoing none"]);
    assert_eq!(mobile.mobile.outgoing(), Some(InterfaceId(1)));
}

/// The node's own packets wait at IP as long as they take the old link.
#[test]
fn packets_waiting_at_ip_take_the_new_link() {
    let mut mobile = mobile(&[entry(2000, Some(1), soft(None, OldQueue::Rerouted, 500))]);
    assert_eq!(
        mobile.told_at(2000)[1..],
        [
            "1: Attach",
            "attached 1",
            "complete 1",
            "outgoing 0",
            "0: take far"
        ]
    );
    assert_eq!(mobile.told_at(2500), ["outgoing none", "0: take all"]);
}

#[test]
fn a_hard_handover_lets_nothing_pass_on_any_link_for_the_outage() {
    let mut mobile = mobile(&[entry(2010, Some(1), hard(1000, OldQueue::Discarded))]);
    let expected = [
        "begun hard 0 to 1 at 2010",
        "0: detach",
        "transports: 0 Down",
        "protocol: 0 Down",
        "1: detach",
    ];
    assert_eq!(mobile.told_at(2010), expected);
    assert!(mobile.mobile.is_handing_over());
    assert_eq!(
        mobile.told_at(3010),
        ["1: Attach", "attached 1", "complete 1"]
    );
    assert!(!mobile.mobile.is_handing_over());
}

#[test]
fn a_broken_link_keeps_its_queue_or_holds_it_at_ip() {
    let mut keeping = mobile(&[entry(2000, Some(0), hard(1000, OldQueue::Stays))]);
    assert_eq!(keeping.told_at(2000)[1], "0: keep");
    assert_eq!(
        keeping.told_at(3000),
        ["0: Attach", "attached 0", "complete 0"]
    );
    let mut holding = mobile(&[entry(2000, Some(1), hard(1000, OldQueue::Rerouted))]);
    let told = holding.told_at(2000);
    assert_eq!([&told[1], &told[4]], ["0: HoldAtIp", "1: HoldAtIp"]);
    // Routes lead over the new link before anything is sent there.
    assert_eq!(
        holding.told_at(3000),
        ["1: Attach", "attached 1", "0: take all", "complete 1"]
    );
}

/// With a mobility protocol the far end may act at each binding, and the node's own packets wait for the registration.
#[test]
fn own_packets_at_ip_wait_for_the_registration() {
    let rerouted = Handover::Soft {
        overlap: None,
        old_queue: OldQueue::Rerouted,
        outgoing_after: Duration::ZERO,
    };
    let mut settings = settings(timetable(0, &[entry(2000, Some(1), rerouted)]));
    settings.registers = true;
    let mut mobile = Timeline::begin(settings, &[0, 1]);
    mobile.told(0);
    let taken = |told: Vec<String>| -> Vec<String> {
        told.into_iter()
            .filter(|told| told.contains("take"))
            .collect()
    };
    assert_eq!(taken(mobile.told_at(2000)), ["0: take far"]);
    mobile.registered(2500, 1);
    assert_eq!(taken(mobile.told_at(2500)), ["0: take all"]);
}

/// A link that the scenario has down is not broken, and no event is sent.
#[test]
fn a_link_that_does_not_work_is_not_detached() {
    let mut mobile = mobile(&[entry(2000, Some(1), hard(0, OldQueue::Discarded))]);
    mobile.hear(1000, 0, LinkEvent::Down);
    assert_eq!(
        mobile.told_at(1000),
        ["transports: 0 Down", "protocol: 0 Down"]
    );
    let expected = [
        "begun hard 0 to 1 at 2000",
        "1: detach",
        "1: Attach",
        "attached 1",
        "complete 1",
    ];
    assert_eq!(mobile.told_at(2000), expected);
}

#[test]
fn a_detached_mobile_is_on_no_link_until_it_attaches() {
    let none = entry(2010, None, hard(0, OldQueue::Discarded));
    let mut mobile = mobile(&[none, entry(4010, Some(1), SOFT)]);
    let told = mobile.told_at(2010);
    assert_eq!(told[0], "begun hard 0 to none at 2010");
    assert_eq!(told[told.len() - 2..], ["attached none", "complete none"]);
    let expected = [
        "begun soft none to 1 at 4010",
        "1: Attach",
        "attached 1",
        "complete 1",
    ];
    assert_eq!(mobile.told_at(4010), expected);
}

#[test]
fn a_handover_in_an_outage_replaces_the_one_that_it_interrupts() {
    let first = entry(2000, Some(1), hard(1000, OldQueue::Discarded));
    let mut mobile = mobile(&[first, entry(2500, Some(0), SOFT)]);
    assert_eq!(mobile.told_at(2000).len(), 5);
    let expected = [
        "begun soft 0 to 0 at 2500",
        "0: Attach",
        "attached 0",
        "complete 0",
    ];
    assert_eq!(mobile.told_at(2500), expected);
    assert_eq!(mobile.told(5000), []);
}

/// IEEE 802.21: the link in use announces that it will go down, to both of its ends.
#[test]
fn a_handover_may_be_announced() {
    let announced = Some(ms(400));
    let handover = entry(10_000, Some(1), hard(4000, OldQueue::Discarded));
    let mut mobile = mobile(&[Entry {
        announced,
        ..handover
    }]);
    let expected = [
        "announced",
        "transports: 0 GoingDown",
        "protocol: 0 GoingDown",
        "0: GoingDown",
    ];
    assert_eq!(mobile.told_at(9600), expected);
    assert_eq!(mobile.mobile.poll_timeout(), Some(at(10_000)));
    assert_eq!(mobile.told_at(10_000)[0], "begun hard 0 to 1 at 10000");
}

/// A link that is already down does not go down; the handover is announced nevertheless.
#[test]
fn a_link_that_is_down_does_not_say_that_it_will_be() {
    let announced = Some(ms(400));
    let mut mobile = mobile(&[Entry {
        announced,
        ..entry(10_000, Some(1), SOFT)
    }]);
    mobile.hear(9000, 0, LinkEvent::Down);
    mobile.told(9000);
    assert_eq!(
        mobile.told_at(9600),
        ["announced", "transports: 0 GoingDown"]
    );
}

/// With a mobility protocol the handover is complete with the registration, and only the link in use is up.
#[test]
fn a_protocol_completes_a_handover() {
    let policy = timetable(0, &[entry(20_000, Some(1), hard(300, OldQueue::Discarded))]);
    let mut mobile = Timeline::begin(
        Settings {
            registers: true,
            ..settings(policy)
        },
        &[0, 1],
    );
    let expected = [
        "1: detach",
        "0: Attach",
        "attached 0",
        "protocol: 0 HandoverImminent",
        "transports: 0 Up",
        "protocol: 0 Up",
    ];
    assert_eq!(mobile.told_at(0), expected);
    let expected = [
        "begun hard 0 to 1 at 20000",
        "0: detach",
        "transports: 0 Down",
        "protocol: 0 Down",
    ];
    assert_eq!(mobile.told_at(20_000), expected);
    let expected = [
        "1: Attach",
        "attached 1",
        "protocol: 1 HandoverImminent",
        "protocol: 1 Up",
    ];
    assert_eq!(mobile.told_at(20_300), expected);
    // A late answer about the old place, one about the new place, and a repetition.
    mobile.registered(21_000, 0);
    assert_eq!(mobile.told_at(21_000), [""; 0]);
    mobile.registered(22_000, 1);
    assert_eq!(mobile.told_at(22_000), ["complete 1"]);
    mobile.registered(23_000, 1);
    assert_eq!(mobile.told_at(23_000), [""; 0]);
}

/// A mobile that has left a link softly stays on it: the protocol hears of the link, keeps its address there, and is not
/// told at the return that the link is up.
#[test]
fn a_link_left_softly_keeps_its_address() {
    let policy = timetable(0, &[entry(1000, Some(1), SOFT), entry(9000, Some(0), SOFT)]);
    let settings = Settings {
        registers: true,
        ..settings(policy)
    };
    let mut mobile = Timeline::begin(settings, &[0, 1]);
    mobile.told(2000);
    mobile.registered(2000, 1);
    mobile.told(2000);
    mobile.hear(3000, 0, LinkEvent::Down);
    assert_eq!(mobile.told_at(3000), ["protocol: 0 Down"]);
    mobile.hear(4000, 0, LinkEvent::Up);
    assert_eq!(mobile.told_at(4000), ["protocol: 0 Up"]);
    let expected = [
        "begun soft 1 to 0 at 9000",
        "0: Attach",
        "attached 0",
        "protocol: 0 HandoverImminent",
    ];
    assert_eq!(mobile.told_at(9000), expected);
    mobile.registered(9020, 0);
    assert_eq!(mobile.told_at(9020), ["complete 0"]);
}

/// After the overlap the mobile is on the old link no more, so that its address there is gone.
#[test]
fn a_link_left_for_good_is_begun_anew() {
    let overlap = soft(Some(500), OldQueue::Stays, 0);
    let policy = timetable(
        0,
        &[entry(1000, Some(1), overlap), entry(9000, Some(0), SOFT)],
    );
    let settings = Settings {
        registers: true,
        ..settings(policy)
    };
    let mut mobile = Timeline::begin(settings, &[0, 1]);
    mobile.told(1499);
    assert_eq!(mobile.told_at(1500), ["0: detach", "protocol: 0 Down"]);
    mobile.hear(3000, 0, LinkEvent::Down);
    mobile.hear(4000, 0, LinkEvent::Up);
    assert_eq!(mobile.told(8999), []);
    assert_eq!(mobile.told_at(9000).last().unwrap(), "protocol: 0 Up");
}

/// A link that comes up later reports so then.
#[test]
fn a_mobile_may_attach_to_a_link_that_does_not_work_yet() {
    let policy = timetable(0, &[entry(1000, Some(1), SOFT)]);
    let mut mobile = Timeline::begin(
        Settings {
            registers: true,
            ..settings(policy)
        },
        &[0],
    );
    mobile.told(0);
    assert_eq!(
        mobile.told_at(1000)[1..],
        ["1: Attach", "attached 1", "protocol: 1 HandoverImminent"]
    );
    mobile.hear(3000, 1, LinkEvent::Up);
    assert_eq!(mobile.told_at(3000), ["protocol: 1 Up"]);
}

/// The transports are told that the link in use is back, unless the end of a handover is to do so.
#[test]
fn a_break_of_the_link_in_use_is_told() {
    let mut mobile = mobile(&[]);
    mobile.hear(1000, 1, LinkEvent::Down);
    assert_eq!(mobile.told_at(1000), [""; 0]);
    mobile.hear(2000, 0, LinkEvent::Down);
    assert_eq!(
        mobile.told_at(2000),
        ["transports: 0 Down", "protocol: 0 Down"]
    );
    mobile.hear(3000, 0, LinkEvent::Up);
    assert_eq!(mobile.told_at(3000), ["transports: 0 Up", "protocol: 0 Up"]);
    mobile.hear(4000, 0, LinkEvent::Rollback);
    assert_eq!(
        mobile.told_at(4000),
        ["transports: 0 Rollback", "protocol: 0 Rollback"]
    );
}

/// A kernel's interfaces lose their addresses with their links: the old interface is detached when it has drained and
/// the node's own packets no longer take it.
#[test]
fn an_old_interface_goes_when_it_has_drained() {
    let draining = |outgoing_after: u64| {
        let handover = soft(None, OldQueue::Stays, outgoing_after);
        let policy = timetable(0, &[entry(1000, Some(1), handover)]);
        let settings = Settings {
            detaches_old: true,
            ..settings(policy)
        };
        let mut mobile = Timeline::begin(settings, &[0, 1]);
        mobile.told(0);
        assert!(
            mobile
                .told_at(1000)
                .contains(&"0: ReportDrained".to_owned())
        );
        mobile
    };
    let mut mobile = draining(0);
    mobile.hear(1027, 0, LinkEvent::QueueDrained);
    assert_eq!(mobile.told_at(1027), ["0: detach", "protocol: 0 Down"]);
    let mut mobile = draining(500);
    mobile.hear(1027, 0, LinkEvent::QueueDrained);
    assert_eq!(mobile.told_at(1027), [""; 0]);
    assert_eq!(
        mobile.told_at(1500),
        ["outgoing none", "0: detach", "protocol: 0 Down"]
    );
    // Back on it before it has drained.
    let mut mobile = draining(0);
    mobile.request(1010, Some(0), SOFT).unwrap();
    mobile.told(1010);
    mobile.hear(1027, 0, LinkEvent::QueueDrained);
    assert_eq!(mobile.told(2000), []);
}

#[test]
fn a_handover_on_demand_is_one_of_a_timetable() {
    let mut mobile = mobile(&[]);
    let discarded = hard(2000, OldQueue::Discarded);
    assert_eq!(
        mobile.request(1000, Some(7), SOFT),
        Err(Refusal::NoAccessLink)
    );
    assert_eq!(
        mobile.request(1000, Some(0), SOFT),
        Err(Refusal::AttachedAlready)
    );
    assert_eq!(mobile.told_at(1000), [""; 0]);
    mobile.request(1000, Some(0), discarded).unwrap();
    // The link is broken, so that even a handover to itself is a change.
    assert_eq!(mobile.request(1500, Some(0), SOFT), Ok(()));
    let told = mobile.told(5000);
    let last: Vec<&str> = told
        .iter()
        .rev()
        .take(4)
        .map(|(_, what)| what.as_str())
        .collect();
    assert_eq!(
        last,
        [
            "complete 0",
            "attached 0",
            "0: Attach",
            "begun soft 0 to 0 at 1500"
        ]
    );
}
