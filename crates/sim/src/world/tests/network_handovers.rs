//! Handovers that the network begins, in whole worlds, and the queues of SI-SAP that open at a handover.
//!
//! A train as in study S: a satellite of 2 Mbit/s and 250 ms, and a terrestrial network of 11 Mbit/s and 5 ms, both from
//! the gateway.

use super::signals::{SignalRow, signals};
use super::*;

const NETWORK: &str = r#"
    [links.satellite]
    between = ["gateway", "train"]
    kind = "wired"
    rate = "2 Mbit/s"
    delay = "250 ms"
    queue = "200 packets"
    [links.wifi]
    between = ["gateway", "train"]
    kind = "wired"
    rate = "11 Mbit/s"
    delay = "5 ms"
    queue = "35 packets"
    WIFI
    [links.wire]
    between = ["server", "gateway"]
    kind = "wired"
    [home_agents.gateway]
    prefix = "2001:db8:1::/64"
    duplicate_address_detection = "unique-prefix"
"#;

const DATAGRAMS: &str = r#"
    [[flows]]
    name = "passengers"
    from = "server"
    to = "train"
    transport = "udp"
    traffic.kind = "constant"
    traffic.rate = "2 Mbit/s"
    traffic.packet_size = "1000 B"
    start = "10 s"
"#;

fn network(wifi: &str) -> String {
    NETWORK.replace("WIFI", wifi)
}

/// Returns the train with a policy and further keys of the point of service.
fn train(policy: &str, keys: &str) -> String {
    format!(
        "[mobiles.train]\n{policy}\nmobility = {{ protocol = \"mobile-ipv6\", home_agent = \"gateway\", \
         duplicate_address_detection = \"unique-prefix\", mih = {{ point_of_service = \"gateway\"{keys} }} }}\n"
    )
}

const PREFERS: &str = r#"failback = { prefer = ["satellite", "wifi"], hold_time = "1 s" }"#;
const STAYS: &str =
    r#"timetable = [{ at = "0 s", attach = "satellite" }, { at = "59 s", attach = "wifi" }]"#;
const RULE: &str = r#", network_handovers = [{ from = "satellite", to = "wifi", overloaded_for = "1 s", powers_down = true }]"#;

fn time_of(rows: &[SignalRow], name: &str) -> f64 {
    let found = rows.iter().find(|row| row.name == name);
    found.unwrap_or_else(|| panic!("no {name}")).sent_s
}

/// The train moves because the network says so: a second after the queue is more than half full. By itself it stays, and
/// loses a twelfth of the datagrams.
#[test]
fn the_network_moves_a_train_whose_link_is_overloaded() {
    for policy in [PREFERS, STAYS] {
        let run_with = |keys: &str| {
            let parts = [&network(""), &train(policy, keys), DATAGRAMS];
            run(&scenario(40, &parts))
        };
        let alone = run_with("");
        assert_eq!(alone.summary.handovers.len(), 0);
        let lost = |results: &Results| {
            let flow = super::flow(&results.summary, "passengers");
            1.0 - flow.goodput_bps / 2e6
        };
        // With its headers and the tunnel's a datagram has 1088 B: 1.84 Mbit/s of 2 fit, less what waits at the end.
        assert!(lost(&alone) > 0.08, "{}", lost(&alone));
        let ordered = run_with(RULE);
        assert_eq!(ordered.summary.handovers.len(), 1);
        let rows = signals(&ordered);
        let overloaded = time_of(&rows, "Link Overloaded");
        // 0.176 Mbit/s too much fill half of the queue, 0.87 Mbit, in 4.9 s; the rule waits for another second.
        assert!((15.9..16.3).contains(&overloaded), "{overloaded}");
        let handover = &ordered.summary.handovers[0];
        // Two round trips and a half over the satellite, and half a second in its queue for each request, or somewhat more.
        let took = handover.at_s - overloaded;
        assert!((2.6..3.2).contains(&took), "{took}");
        let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        for name in [
            "MIH_Link_Get_Parameters request",
            "Net_HO_Candidate_Query response",
            "Net_HO_Commit request",
            "MN_HO_Complete request",
            "MIH_Link_Actions response",
        ] {
            assert!(names.contains(&name), "no {name}");
        }
        // The mobile asks nobody about a handover that it is ordered to make.
        assert!(!names.contains(&"MN_HO_Candidate_Query request"));
        let later = rows.iter().filter(|row| row.sent_s > handover.at_s + 5.0);
        assert!(
            later.clone().all(|row| row.link != "satellite"),
            "it is off"
        );
        // The satellite is switched off with the packets in it.
        assert!(lost(&ordered) < 0.04, "{}", lost(&ordered));
    }
}

#[test]
fn rules_are_refused_that_nobody_could_follow() {
    let refused = |keys: &str| {
        let parts = [&network(""), &train(PREFERS, keys), DATAGRAMS];
        let text = scenario(40, &parts);
        let loaded = scenario::parse(&text, "test", Path::new("."), &[]);
        loaded
            .err()
            .map_or(String::new(), |error| error.to_string())
    };
    assert_eq!(refused(RULE), "");
    for (key, link, message) in [
        (
            "to",
            "satellite",
            "is the link that is left; expected another",
        ),
        ("to", "wire", "is no access link of the mobile"),
        (
            "from",
            "wire",
            "expected between = [\"gateway\", \"train\"]",
        ),
    ] {
        let before = match key {
            "to" => "to = \"wifi\"",
            _ => "from = \"satellite\"",
        };
        let found = refused(&RULE.replace(before, &format!("{key} = \"{link}\"")));
        assert!(found.contains(message), "{found}");
    }
}

const TRANSFER: &str = r#"
    [[flows]]
    name = "ftp"
    from = "server"
    to = "train"
    transport.profile = "ns2"
    transport.receive_buffer = "400 kB"
"#;
const MOVES: &str =
    r#"timetable = [{ at = "0 s", attach = "satellite" }, { at = "20 s", attach = "wifi" }]"#;

/// A queue opens with the handover, follows the window, and closes two seconds after the completion; between the two it
/// holds back what exceeds its rate.
#[test]
fn a_queue_is_open_from_a_handover_on() {
    let shaper = |keys: &str| {
        format!(
            "shapers = [{{ flows = [\"ftp\"], rate = \"1 Mbit/s\", burst = \"3000 B\", queue = \"200 packets\", \
             open_after_handover = \"2 s\"{keys} }}]"
        )
    };
    for (keys, modifies) in [("", false), (", follows_window = true", true)] {
        let parts = [&network(&shaper(keys)), &train(MOVES, ""), TRANSFER];
        let results = run(&scenario(40, &parts));
        let rows = signals(&results);
        let handover = results.summary.handovers.last().expect("one");
        let completed = handover.completed_s.expect("it is registered");
        // The handover begins when the point of service has answered.
        let begun = rows
            .iter()
            .rfind(|row| row.name == "Link_Handover_Imminent");
        let begun_s = begun.expect("it begins").sent_s;
        near(time_of(&rows, "SI-C-QUEUE_OPEN"), begun_s, 1e-9);
        near(time_of(&rows, "SI-C-QUEUE_CLOSE"), completed + 2.0, 1e-9);
        let changes = rows.iter().filter(|row| row.name == "SI-C-QUEUE_MODIFY");
        assert_eq!(changes.clone().count() > 0, modifies);
        for row in changes {
            let rate = row.details.split(", ").nth(1).expect("a rate");
            let rate: u64 = rate.trim_end_matches(" bit/s").parse().expect("a number");
            assert!(rate <= 1_000_000, "{rate}");
            assert!(row.sent_s > handover.at_s && row.sent_s < completed + 2.0);
        }
    }
}
