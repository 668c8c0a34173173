//! The signalling ladder of a Mobile IPv6 handover, against the timers of its standards.

use super::*;

/// Two cells of 120 ms, whose routers are 10 ms from a hub each, as the correspondent is 5 ms. Everything is wired, so
/// that times can be computed by hand. The aircraft goes from home to the foreign cell at 20 s.
const AIRCRAFT: &str = r#"
    [links.home-cell]
    between = ["home-agent", "aircraft"]
    kind = "wired"
    rate = "31.5 kbit/s"
    delay = "120 ms"
    [links.foreign-cell]
    between = ["foreign-router", "aircraft"]
    kind = "wired"
    rate = "31.5 kbit/s"
    delay = "120 ms"
    [links.backbone]
    between = ["home-agent", "hub"]
    kind = "wired"
    rate = "10 Mbit/s"
    delay = "10 ms"
    [links.foreign-backbone]
    between = ["foreign-router", "hub"]
    kind = "wired"
    rate = "10 Mbit/s"
    delay = "10 ms"
    [home_agents.home-agent]
    prefix = "2001:db8:1::/64"
    [mobiles.aircraft]
    mobility = { protocol = "mobile-ipv6", home_agent = "home-agent", home_link = "home-cell" }
    timetable = [
      { at = "0 s", attach = "home-cell" },
      { at = "20 s", attach = "foreign-cell", handover = "hard", outage = "300 ms" },
    ]
"#;

/// A row of the table of signals.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SignalRow {
    pub(super) kind: String,
    pub(super) sent_s: f64,
    pub(super) decided_s: Option<f64>,
    pub(super) sender: String,
    pub(super) receiver: String,
    pub(super) link: String,
    pub(super) name: String,
    pub(super) details: String,
    pub(super) tunnelled: bool,
    pub(super) fate: String,
    pub(super) packet: Option<u64>,
}

impl SignalRow {
    pub fn took_s(&self) -> f64 {
        self.decided_s.unwrap() - self.sent_s
    }

    pub fn way(&self) -> (&str, &str) {
        (&self.sender, &self.receiver)
    }
}

/// Returns the table in order of time.
pub(super) fn signals(results: &Results) -> Vec<SignalRow> {
    let mut rows = Vec::new();
    for batch in batches(results.tables.signals.as_ref()) {
        let column = |name: &str| batch.column_by_name(name).unwrap();
        let sent = column("sent_ns").as_primitive::<Int64Type>();
        let decided = column("decided_ns").as_primitive::<Int64Type>();
        let details = column("details").as_string::<i32>();
        let tunnelled = column("tunnelled").as_boolean();
        let packet = column("packet").as_primitive::<UInt64Type>();
        let [kinds, senders, receivers, links, called, fates] =
            ["kind", "sender", "receiver", "link", "name", "fate"].map(|name| names(column(name)));
        let seconds = |nanoseconds: i64| nanoseconds as f64 / 1e9;
        for index in 0..batch.num_rows() {
            rows.push(SignalRow {
                kind: kinds[index].clone(),
                sent_s: seconds(sent.value(index)),
                decided_s: decided
                    .is_valid(index)
                    .then(|| seconds(decided.value(index))),
                sender: senders[index].clone(),
                receiver: receivers[index].clone(),
                link: links[index].clone(),
                name: called[index].clone(),
                details: details.value(index).to_owned(),
                tunnelled: tunnelled.value(index),
                fate: fates[index].clone(),
                packet: packet.is_valid(index).then(|| packet.value(index)),
            });
        }
    }
    rows.sort_by(|one, other| one.sent_s.total_cmp(&other.sent_s));
    rows
}

/// Returns the first row of this name from a moment on.
pub(super) fn first<'a>(rows: &'a [SignalRow], name: &str, from_s: f64) -> &'a SignalRow {
    let mut later = rows.iter().filter(|row| row.sent_s >= from_s);
    later
        .find(|row| row.name == name)
        .unwrap_or_else(|| panic!("no {name} after {from_s} s"))
}

/// Study C, figure 3: the messages, in this order, and their senders.
#[test]
fn a_handover_with_aaa_and_return_routability_has_the_ladder_of_study_c() {
    let text = include_str!("../../../../../studies/C/ladder.toml");
    let results = run(text);
    let rows = signals(&results);
    let begun = results.summary.handovers[0].at_s;
    let mut from = begun;
    for (name, sender, receiver) in [
        ("Router Solicitation", "mobile", "gateway"),
        ("Router Advertisement", "gateway", "mobile"),
        ("Neighbor Solicitation", "mobile", "gateway"),
        ("Access-Request", "mobile", "aaa"),
        ("Access-Accept", "aaa", "mobile"),
        ("Binding Update", "mobile", "home"),
        ("Binding Acknowledgement", "home", "mobile"),
        ("Care-of Test Init", "mobile", "correspondent"),
        ("Care-of Test", "correspondent", "mobile"),
        ("Binding Update", "mobile", "correspondent"),
        ("Binding Acknowledgement", "correspondent", "mobile"),
    ] {
        let row = rows
            .iter()
            .find(|row| row.sent_s >= from && row.name == name && row.way() == (sender, receiver));
        let row =
            row.unwrap_or_else(|| panic!("no {name} from {sender} to {receiver} after {from}"));
        from = row.sent_s;
    }
    // Nothing but AAA's messages leaves by the new address before the answer.
    let granted = first(&rows, "Access Granted", begun).sent_s;
    let bound = rows
        .iter()
        .find(|row| row.name == "Binding Update" && row.sent_s > begun);
    assert_eq!(bound.map(|row| row.sent_s), Some(granted));
}

/// With a point of service at the gateway, a handover without warning is reported when the home agent knows of it.
#[test]
fn study_cs_ladder_takes_a_point_of_service() {
    let aaa = "aaa = { server = \"aaa\" }";
    let text = include_str!("../../../../../studies/C/ladder.toml");
    let with = format!("{aaa}\nmih = {{ point_of_service = \"gateway\" }}");
    let results = run(&text.replace(aaa, &with));
    let rows = signals(&results);
    for handover in &results.summary.handovers {
        let registered = first(&rows, "Registered", handover.at_s).sent_s;
        let request = first(&rows, "MN_HO_Complete request", handover.at_s);
        assert_eq!(
            (request.way(), request.sent_s),
            (("mobile", "gateway"), registered)
        );
        let response = first(&rows, "MN_HO_Complete response", handover.at_s);
        assert_eq!(response.way(), ("gateway", "mobile"));
        assert_eq!(response.sent_s, request.decided_s.unwrap());
    }
    let asked = |row: &&SignalRow| row.name.starts_with("MN_HO_Ca");
    assert_eq!(rows.iter().filter(asked).count(), 0);
}

#[test]
fn a_handovers_ladder_keeps_the_standards_times() {
    let results = run(&scenario(40, &[AIRCRAFT]));
    let rows = signals(&results);
    let own = |row: &&SignalRow| row.sender == "aircraft" || row.kind == "message";
    let told = rows
        .iter()
        .filter(|row| row.sent_s >= 20.0 && row.sent_s < 24.0);
    let told: Vec<&str> = told.filter(own).map(|row| row.name.as_str()).collect();
    let expected = [
        "Link_Down",
        "Detached",
        "Link_Handover_Imminent",
        "Link_Up",
        "Router Advertisement",
        "Multicast Listener Report",
        "Neighbor Solicitation",     // of the link-local address
        "Neighbor Solicitation",     // of the care-of address
        "Multicast Listener Report", // again: RFC 3810 section 6.1
        "Attached",
        "Binding Update",
        "Neighbor Solicitation",  // the home agent's, for the home address
        "Neighbor Advertisement", // the home agent defends it: RFC 6275 section 10.4.1
        "Binding Acknowledgement",
        "Registered",
    ];
    assert_eq!(told, expected);

    let down = first(&rows, "Link_Down", 20.0);
    assert_eq!(
        (down.kind.as_str(), down.link.as_str(), down.sent_s),
        ("link", "home-cell", 20.0)
    );
    let up = first(&rows, "Link_Up", 20.0);
    assert_eq!((up.link.as_str(), up.sent_s), ("foreign-cell", 20.3));
    let advertisement = first(&rows, "Router Advertisement", 20.0);
    assert_eq!(advertisement.way(), ("foreign-router", "aircraft"));
    // RFC 4862 section 5.4.2: up to 1 s (MAX_RTR_SOLICITATION_DELAY) before the first message, and the report first.
    let report = first(&rows, "Multicast Listener Report", 20.3);
    let wait = report.sent_s - advertisement.decided_s.unwrap();
    assert!((0.0..=1.0).contains(&wait), "{wait}");
    // RFC 3810 section 6.1: again within 1 s (Unsolicited Report Interval).
    let again = rows
        .iter()
        .filter(|row| row.name == report.name && row.sent_s > report.sent_s);
    near(
        again.clone().next().unwrap().sent_s,
        report.sent_s + 0.5,
        0.5,
    );
    assert_eq!(again.count(), 1);
    // RFC 4862 section 5.1: one solicitation and RetransTimer, 1 s, until the address is the mobile's.
    let solicitation = first(&rows, "Neighbor Solicitation", 20.3);
    assert_eq!(solicitation.sent_s, report.sent_s);
    let attached = first(&rows, "Attached", 20.3);
    near(attached.sent_s, solicitation.sent_s + 1.0, 1e-9);
    assert_eq!(attached.kind, "agent");
    let update = first(&rows, "Binding Update", 20.3);
    assert_eq!(
        (update.way(), update.sent_s),
        (("aircraft", "home-agent"), attached.sent_s)
    );
    assert!(
        update
            .details
            .starts_with("sequence 2, care-of address fd62:"),
        "{}",
        update.details
    );
    // RFC 6275 section 10.3.1: the home agent looks for the home address for 1 s before it answers.
    let agents = first(&rows, "Neighbor Solicitation", update.decided_s.unwrap());
    assert_eq!(
        (agents.way(), agents.fate.as_str()),
        (("home-agent", "aircraft"), "link down")
    );
    let answer = first(&rows, "Binding Acknowledgement", 20.3);
    near(answer.sent_s, update.decided_s.unwrap() + 1.0, 1e-9);
    assert_eq!(
        answer.details,
        "sequence 2, accepted (status 0), lifetime 3600 s"
    );
    let registered = first(&rows, "Registered", 20.3);
    assert_eq!(Some(registered.sent_s), answer.decided_s);
    assert_eq!(results.summary.handovers[0].completed_s, answer.decided_s);

    // Both go 120 + 10 + 10 ms, at 31.5 kbit/s and twice at 10 Mbit/s.
    let table = packets(&results);
    for row in [update, answer] {
        let packet = table
            .iter()
            .find(|packet| Some(packet.number) == row.packet)
            .unwrap();
        let bits = f64::from(packet.wire_bytes) * 8.0;
        near(
            row.took_s(),
            0.14 + bits / 31_500.0 + 2.0 * bits / 1e7,
            1e-8,
        );
    }
}

#[test]
fn a_tunnels_end_sends_on_what_it_unpacks() {
    let correspondent = r#"
        [links.correspondent]
        between = ["correspondent", "hub"]
        kind = "wired"
        rate = "10 Mbit/s"
        delay = "5 ms"
        [[flows]]
        name = "weather"
        from = "correspondent"
        to = "aircraft"
        traffic.bytes = "20 kB"
        start = "25 s"
    "#;
    let mobile = AIRCRAFT.replace("home_link", "route_optimization = true, home_link");
    let rows = signals(&run(&scenario(40, &[&mobile, correspondent])));
    let test: Vec<_> = rows
        .iter()
        .filter(|row| row.name.contains("Test"))
        .collect();
    let ways = |name: &str| {
        let named = test.iter().filter(|row| row.name == name);
        named
            .map(|row| (row.way(), row.tunnelled))
            .take(2)
            .collect::<Vec<_>>()
    };
    // RFC 6275 section 5.2.5: the home test goes through the home agent, the care-of test does not.
    let up = [
        (("aircraft", "home-agent"), true),
        (("home-agent", "correspondent"), false),
    ];
    assert_eq!(ways("Home Test Init"), up);
    let down = [
        (("correspondent", "home-agent"), false),
        (("home-agent", "aircraft"), true),
    ];
    assert_eq!(ways("Home Test"), down);
    assert_eq!(
        ways("Care-of Test Init")[0],
        (("aircraft", "correspondent"), false)
    );
    assert_eq!(
        ways("Care-of Test")[0],
        (("correspondent", "aircraft"), false)
    );
}

#[test]
fn a_message_under_way_at_the_end_has_no_receiver() {
    let rows = signals(&run(&scenario(22, &[AIRCRAFT])));
    let update = first(&rows, "Binding Update", 20.3);
    assert_eq!(
        (update.fate.as_str(), update.receiver.as_str()),
        ("under way", "")
    );
    assert_eq!(update.decided_s, None);
}

#[test]
fn without_protocols_or_records_there_is_no_table() {
    assert!(run(&scenario(1, &[PAIR])).tables.signals.is_none());
    let off = "[record]\nseries = false\npackets = false";
    assert!(run(&scenario(1, &[AIRCRAFT, off])).tables.signals.is_none());
    let some = "[record]\npackets = false";
    assert!(
        run(&scenario(1, &[AIRCRAFT, some]))
            .tables
            .signals
            .is_some()
    );
}

/// RFC 6275 section 11.8: an update is first retransmitted after 1.5 s.
#[test]
fn a_message_that_the_scenario_loses_is_sent_again() {
    let lost = "[[losses]]\nmessage = \"Binding Update\"\nbuffering = false\ncount = 1\n";
    let results = run(&scenario(40, &[AIRCRAFT, lost]));
    let rows = signals(&results);
    let updates = rows.iter().filter(|row| row.name == "Binding Update");
    let updates: Vec<&SignalRow> = updates.filter(|row| row.sender == "aircraft").collect();
    assert_eq!(updates[0].fate, "scenario");
    assert_eq!(updates[1].fate, "delivered");
    near(updates[1].sent_s - updates[0].sent_s, 1.5, 1e-9);
}

#[test]
fn messages_are_lost_from_the_scenarios_time_on() {
    let lost = "[[losses]]\nmessage = \"Binding Acknowledgement\"\nafter = \"10 s\"\ncount = 1\n";
    let rows = signals(&run(&scenario(40, &[AIRCRAFT, lost])));
    let answers = rows
        .iter()
        .filter(|row| row.name == "Binding Acknowledgement" && row.sender == "home-agent");
    let (before, later): (Vec<_>, Vec<_>) = answers.partition(|row| row.sent_s < 10.0);
    assert!(!before.is_empty() && before.iter().all(|row| row.fate == "delivered"));
    let fates: Vec<&str> = later.iter().map(|row| row.fate.as_str()).collect();
    assert_eq!(fates[..2], ["scenario", "delivered"]);
}
