//! Handovers with a point of service (IEEE 802.21) in whole worlds: later by exactly the travel time of its messages.
//!
//! The cells have 1 Mbit/s and 50 ms, the ground 100 Mbit/s and 10 ms from hub to each node. The aircraft leaves its home
//! cell for a foreign one at 20 s. Nothing else is sent.

use super::mobility::LINKS;
use super::signals::signals;
use super::*;

/// Delay in seconds and rate in bit/s.
type Hop = (f64, f64);
const CELL: Hop = (0.05, 1e6);
const GROUND: Hop = (0.01, 1e8);

const SOFT: &str = r#"timetable = [{ at = "0 s", attach = "home-cell" }, { at = "20 s", attach = "foreign-cell" }]"#;
const FAILBACK: &str =
    r#"failback = { prefer = ["foreign-cell", "home-cell"], hold_time = "1 s" }"#;
/// The preferred cell works from 19 s on.
const COMES: &str = r#"
    [[changes]]
    at = "1 s"
    link = "foreign-cell"
    state = "down"
    [[changes]]
    at = "19 s"
    link = "foreign-cell"
    state = "up"
"#;

/// Runs this movement, with this point of service if any.
fn travel(movement: &str, service: Option<&str>) -> Results {
    let changes = if movement == FAILBACK { COMES } else { "" };
    travel_with(movement, service, changes)
}

fn travel_with(movement: &str, service: Option<&str>, changes: &str) -> Results {
    let keys = service.map(|node| format!("point_of_service = \"{node}\""));
    travel_by(movement, keys.as_deref(), changes)
}

/// Runs a movement with these keys of the point of service.
fn travel_by(movement: &str, keys: Option<&str>, changes: &str) -> Results {
    let mih = keys.map(|keys| format!(", mih = {{ {keys} }}"));
    let aircraft = format!(
        "[mobiles.aircraft]\n{movement}\nmobility = {{ protocol = \"mobile-ipv6\", home_agent = \"home-agent\", \
         home_link = \"home-cell\", duplicate_address_detection = \"icao-address\"{} }}\n",
        mih.unwrap_or_default()
    );
    run(&scenario(40, &[LINKS, &aircraft, changes]))
}

/// Returns the time from the decision of the last handover to its completion.
fn took(results: &Results) -> f64 {
    let handover = results.summary.handovers.last().expect("one");
    handover.completed_s.expect("it is registered") - handover.at_s
}

/// Returns the travel time of these messages of a run: each hop's delay, and the time of their bytes at its rate.
fn by_the_paths(results: &Results, names: &[&str], ways: [&[Hop]; 2]) -> f64 {
    let packets = packets(results);
    let rows = signals(results);
    let after = results.summary.handovers.len() - 1;
    let from = results.summary.handovers[after].at_s - 2.0;
    let of = |name: &&str| {
        let mut rows = rows
            .iter()
            .filter(|row| row.name == *name && row.sent_s >= from);
        let row = rows.next().unwrap_or_else(|| panic!("no {name}"));
        assert!(rows.next().is_none(), "{name} once");
        let packet = packets
            .iter()
            .find(|packet| Some(packet.number) == row.packet);
        let bits = f64::from(packet.expect("it was sent").wire_bytes) * 8.0;
        let way = ways[usize::from(name.starts_with("N2N"))];
        way.iter()
            .map(|(delay, rate)| delay + bits / rate)
            .sum::<f64>()
    };
    names.iter().map(of).sum()
}

const ALONE: [&str; 4] = [
    "MN_HO_Candidate_Query request",
    "MN_HO_Candidate_Query response",
    "MN_HO_Commit request",
    "MN_HO_Commit response",
];
const TOGETHER: [&str; 8] = [
    ALONE[0],
    "N2N_HO_Query_Resources request",
    "N2N_HO_Query_Resources response",
    ALONE[1],
    ALONE[2],
    "N2N_HO_Commit request",
    "N2N_HO_Commit response",
    ALONE[3],
];

/// The point of service is at the gateway that is left, in the middle of the ground, and at the new gateway, which
/// needs to ask no other node.
#[test]
fn a_soft_handover_is_later_by_two_exchanges() {
    for movement in [SOFT, FAILBACK] {
        let alone = took(&travel(movement, None));
        for (service, names, ways) in [
            ("home-agent", &TOGETHER[..], [&[CELL][..], &[GROUND; 2][..]]),
            (
                "correspondent",
                &TOGETHER,
                [&[CELL, GROUND, GROUND], &[GROUND; 2]],
            ),
            ("foreign-router", &ALONE, [&[CELL, GROUND, GROUND], &[]]),
        ] {
            let results = travel(movement, Some(service));
            let expected = by_the_paths(&results, names, ways);
            near(took(&results) - alone, expected, 1e-8);
            let told = signals(&results);
            let told = told
                .iter()
                .filter(|row| row.name == "MN_HO_Complete response" && row.sent_s > 19.0);
            assert_eq!(told.count(), 1, "{service}");
        }
    }
}

/// The messages go by the new cell, whose router is the point of service, one hop away.
#[test]
fn forward_signalling_goes_by_the_new_link() {
    let alone = took(&travel(SOFT, None));
    let keys = "point_of_service = \"foreign-router\", signalling = \"forward\"";
    let results = travel_by(SOFT, Some(keys), "");
    let expected = by_the_paths(&results, &ALONE, [&[CELL], &[]]);
    near(took(&results) - alone, expected, 1e-8);
    let rows = signals(&results);
    let mut before = rows.iter().filter(|row| ALONE.contains(&row.name.as_str()));
    assert!(before.all(|row| row.link == "foreign-cell"));
}

/// The exchanges take some 0.28 s: an announcement one second ahead hides them, one of 0.1 s hides that much of them.
#[test]
fn an_announced_handover_is_prepared_before_it_is_due() {
    let announced = |time: &str| {
        let entry = format!("attach = \"foreign-cell\", announced = \"{time}\"");
        SOFT.replace("attach = \"foreign-cell\"", &entry)
    };
    let alone = took(&travel(SOFT, None));
    let early = travel(&announced("1 s"), Some("home-agent"));
    near(took(&early), alone, 1e-8);
    let asked = signals(&early);
    let asked = asked.iter().find(|row| row.name == ALONE[0]);
    assert_eq!(asked.map(|row| row.sent_s), Some(19.0));
    let late = travel(&announced("100 ms"), Some("home-agent"));
    let ways = [&[CELL][..], &[GROUND; 2][..]];
    let expected = by_the_paths(&late, &TOGETHER, ways) - 0.1;
    near(took(&late) - alone, expected, 1e-8);
}

/// A hard handover is not delayed: announced or not, answered or not.
#[test]
fn a_hard_handover_waits_for_nobody() {
    let hard = |announced: &str| {
        let entry = format!(
            "attach = \"foreign-cell\", handover = \"hard\", outage = \"300 ms\"{announced}"
        );
        SOFT.replace("attach = \"foreign-cell\"", &entry)
    };
    let alone = took(&travel(&hard(""), None));
    for (announced, asked) in [
        ("", &[][..]),
        (", announced = \"1 s\"", &TOGETHER),
        // The response is in the air when the link breaks.
        (", announced = \"100 ms\"", &TOGETHER[..4]),
    ] {
        let results = travel(&hard(announced), Some("home-agent"));
        near(took(&results), alone, 1e-8);
        let rows = signals(&results);
        let rows = rows.iter().filter(|row| row.name.contains("_HO_"));
        let (told, before): (Vec<_>, Vec<_>) = rows.partition(|row| row.sent_s > 20.3);
        let names: Vec<&str> = before.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, asked);
        // The link that was left is the point of service's own.
        let names: Vec<&str> = told.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, ["MN_HO_Complete request", "MN_HO_Complete response"]);
        assert!(told.iter().all(|row| row.link != "home-cell"));
    }
}

/// The better link is lost again while the point of service is asked about it: the mobile stays where it is.
#[test]
fn a_candidate_that_is_lost_is_not_used() {
    let gone = "[[changes]]\nat = \"20.1 s\"\nlink = \"foreign-cell\"\nstate = \"down\"\n";
    let results = travel_with(FAILBACK, Some("correspondent"), &format!("{COMES}{gone}"));
    let rows = signals(&results);
    assert!(
        rows.iter()
            .any(|row| row.name == ALONE[0] && row.sent_s == 20.0)
    );
    let later = rows.iter().filter(|row| row.sent_s >= 19.0);
    let mut moves = later.filter(|row| match row.name.as_str() {
        "Link_Down" => row.link == "home-cell",
        name => ["Link_Handover_Imminent", "Detached"].contains(&name),
    });
    assert_eq!(moves.next(), None);
    // A handover that had begun used the link until it was lost.
    assert_eq!(results.summary.handovers.len(), 1);
}

/// The mobile moves to the other link at once if the link in use is lost while the point of service is asked.
#[test]
fn a_link_that_is_lost_ends_the_waiting() {
    let gone = "[[changes]]\nat = \"20.1 s\"\nlink = \"home-cell\"\nstate = \"down\"\n";
    let results = travel_with(FAILBACK, Some("correspondent"), &format!("{COMES}{gone}"));
    let rows = signals(&results);
    let imminent = rows
        .iter()
        .rfind(|row| row.name == "Link_Handover_Imminent")
        .expect("a handover");
    assert_eq!(
        (imminent.sent_s, imminent.link.as_str()),
        (20.1, "foreign-cell")
    );
    assert!(
        rows.iter()
            .any(|row| row.name == "Handover Not Prepared" && row.sent_s == 20.1)
    );
}
