//! A radio network as one interface, in which the network hands the mobile over from cell to cell.

use super::*;
use crate::mobility::attachment::failback::FailbackTimes;

/// Returns a mobile with a mobility protocol in a cell of the network.
fn in_a_cell(registers: bool, entries: &[Entry]) -> Timeline {
    let settings = Settings {
        registers,
        ..settings(timetable(2, entries))
    };
    let mut mobile = Timeline::begin(settings, &[0, 1, 2]);
    // The network reports itself.
    mobile.hear(0, 2, LinkEvent::Up);
    mobile.told(0);
    mobile
}

#[test]
fn a_mobile_begins_in_the_network_that_it_is_in() {
    let policy = timetable(2, &[]);
    let mut mobile = Timeline::begin(
        Settings {
            registers: true,
            ..settings(policy)
        },
        &[0, 1, 2],
    );
    mobile.hear(0, 2, LinkEvent::Up);
    let expected = [
        "0: detach",
        "1: detach",
        "2: Attach",
        "attached 2",
        "protocol: 2 HandoverImminent",
        "transports: 2 Up",
        "protocol: 2 Up",
    ];
    assert_eq!(mobile.told_at(0), expected);
}

/// Study D, section 4: the cell drains before HO_COM, with which the handover begins; it is complete when the home
/// agent has answered.
#[test]
fn the_network_changes_the_cell() {
    let mut mobile = in_a_cell(true, &[]);
    mobile.hear(1000, 2, LinkEvent::CellGoingDown);
    assert_eq!(
        mobile.told_at(1000),
        ["transports: 2 GoingDown", "protocol: 2 GoingDown"]
    );
    mobile.hear(2000, 2, LinkEvent::HandoverImminent);
    assert_eq!(
        mobile.told_at(2000),
        ["begun hard 2 to 2 at 2000", "protocol: 2 HandoverImminent"]
    );
    mobile.hear(2100, 2, LinkEvent::Down);
    assert_eq!(
        mobile.told_at(2100),
        ["transports: 2 Down", "protocol: 2 Down"]
    );
    mobile.hear(2300, 2, LinkEvent::Up);
    assert_eq!(
        mobile.told_at(2300),
        ["2: Attach", "attached 2", "protocol: 2 Up"]
    );
    mobile.registered(3000, 2);
    assert_eq!(mobile.told_at(3000), ["complete 2"]);
}

#[test]
fn without_a_protocol_a_change_of_the_cell_is_complete_with_the_link() {
    let mut mobile = in_a_cell(false, &[]);
    mobile.hear(2000, 2, LinkEvent::HandoverImminent);
    mobile.hear(2100, 2, LinkEvent::Down);
    mobile.hear(2300, 2, LinkEvent::Up);
    let told = mobile.told(2300);
    let last: Vec<&str> = told
        .iter()
        .filter(|(at, _)| *at == 2300)
        .map(|(_, what)| &what[..])
        .collect();
    assert_eq!(last, ["2: Attach", "attached 2", "complete 2"]);
}

/// The loss and return of the same cell is no handover; a change to another cell is one, which began with the loss.
#[test]
fn a_lost_network_may_come_back_elsewhere() {
    let mut mobile = in_a_cell(true, &[]);
    mobile.hear(1000, 2, LinkEvent::Down);
    mobile.hear(1500, 2, LinkEvent::Up);
    let told = mobile.told(1500);
    let told: Vec<(u64, &str)> = told.iter().map(|(at, what)| (*at, what.as_str())).collect();
    assert_eq!(
        told,
        [
            (1000, "transports: 2 Down"),
            (1000, "protocol: 2 Down"),
            (1500, "transports: 2 Up"),
            (1500, "protocol: 2 Up"),
        ]
    );
    mobile.hear(2000, 2, LinkEvent::Down);
    mobile.told(2000);
    mobile.hear(2500, 2, LinkEvent::HandoverImminent);
    mobile.hear(2500, 2, LinkEvent::Up);
    let expected = [
        "begun hard 2 to 2 at 2000",
        "protocol: 2 HandoverImminent",
        "2: Attach",
        "attached 2",
        "protocol: 2 Up",
    ];
    assert_eq!(mobile.told_at(2500), expected);
}

/// A mobile that is to use a network out of reach stays in place, and moves when the network is up.
#[test]
fn a_network_out_of_reach_is_waited_for() {
    let policy = timetable(0, &[entry(1000, Some(2), SOFT)]);
    let mut mobile = Timeline::begin(settings(policy), &[0, 1]);
    mobile.told(0);
    assert_eq!(mobile.told(5000), []);
    assert_eq!(mobile.mobile.attached(), Some(InterfaceId(0)));
    mobile.hear(6000, 2, LinkEvent::Up);
    let expected = [
        "begun hard 0 to 2 at 6000",
        "protocol: 2 HandoverImminent",
        "2: Attach",
        "attached 2",
        "complete 2",
    ];
    assert_eq!(mobile.told_at(6000), expected);
}

/// The protocol gets events of the cells of a network that is not in use, the transports do not; to use the network
/// then needs no more signals.
#[test]
fn the_protocol_knows_a_network_that_is_not_in_use() {
    let policy = timetable(0, &[entry(5000, Some(2), SOFT)]);
    let mut mobile = Timeline::begin(
        Settings {
            registers: true,
            ..settings(policy)
        },
        &[0, 1],
    );
    mobile.told(0);
    mobile.hear(1000, 2, LinkEvent::Up);
    assert_eq!(mobile.told_at(1000), ["protocol: 2 Up"]);
    mobile.hear(2000, 2, LinkEvent::HandoverImminent);
    assert_eq!(mobile.told_at(2000), [""; 0]);
    mobile.hear(2100, 2, LinkEvent::Down);
    mobile.hear(2200, 2, LinkEvent::Up);
    mobile.told(2200);
    let expected = [
        "begun soft 0 to 2 at 5000",
        "2: Attach",
        "attached 2",
        "protocol: 2 HandoverImminent",
    ];
    assert_eq!(mobile.told_at(5000), expected);
}

/// After a hard handover away from the network, the protocol took it for down.
#[test]
fn a_network_that_was_broken_with_is_up_again_when_it_is_used() {
    let away = entry(1000, Some(0), hard(0, OldQueue::Discarded));
    let mut mobile = in_a_cell(true, &[away, entry(5000, Some(2), SOFT)]);
    assert!(
        mobile
            .told_at(1000)
            .contains(&"protocol: 2 Down".to_owned())
    );
    assert_eq!(
        mobile.told_at(5000)[2..],
        [
            "attached 2",
            "protocol: 2 HandoverImminent",
            "protocol: 2 Up"
        ]
    );
}

/// A cell about to be replaced is no reason to leave the network; one without a replacement is.
#[test]
fn preference_leaves_a_network_and_not_a_cell() {
    let times = FailbackTimes {
        hold_time: ms(5000),
        hysteresis: ms(0),
        longest_switch_time: ms(100),
    };
    let order = [2, 0].map(InterfaceId).to_vec();
    let policy = Policy::Preference(Box::new(Preference::new(times, order)));
    let mut mobile = Timeline::begin(settings(policy), &[0, 1, 2]);
    mobile.hear(0, 2, LinkEvent::Up);
    for event in [
        LinkEvent::CellGoingDown,
        LinkEvent::HandoverImminent,
        LinkEvent::Down,
        LinkEvent::Up,
    ] {
        mobile.hear(1000, 2, event);
    }
    let told = mobile.told(4000);
    assert!(
        told.iter().all(|(_, what)| what != "attached 0"),
        "{told:?}"
    );
    mobile.hear(5000, 2, LinkEvent::GoingDown);
    assert_eq!(
        mobile.told_at(5000)[2..],
        [
            "begun soft 2 to 0 at 5000",
            "0: Attach",
            "attached 0",
            "complete 0"
        ]
    );
}
