//! Hierarchical Mobile IPv6 (RFC 5380) in whole worlds, against times computed by hand.
//!
//! From the aircraft it is 5 ms to a router, 10 ms more to the hub, and from there 50 ms to the home agent and 20 ms to
//! the correspondent. Links take no time but for that. The aircraft leaves the north at 20 s, and is in the south at
//! 20.3 s. Every 20 ms a datagram goes to it, and another comes from it.

use super::signals::{SignalRow, first, signals};
use super::*;

const LINKS: &str = r#"
    [links.north-cell]
    between = ["north", "aircraft"]
    kind = "wired"
    rate = "1 Gbit/s"
    delay = "5 ms"
    [links.south-cell]
    between = ["south", "aircraft"]
    kind = "wired"
    rate = "1 Gbit/s"
    delay = "5 ms"
    [links.north-ground]
    between = ["north", "hub"]
    kind = "wired"
    rate = "1 Gbit/s"
    delay = "10 ms"
    [links.south-ground]
    between = ["south", "hub"]
    kind = "wired"
    rate = "1 Gbit/s"
    delay = "10 ms"
    [links.internet]
    between = ["home-agent", "hub"]
    kind = "wired"
    rate = "1 Gbit/s"
    delay = "50 ms"
    [links.office]
    between = ["correspondent", "hub"]
    kind = "wired"
    rate = "1 Gbit/s"
    delay = "20 ms"
"#;

const VOICE: &str = r#"
    [[flows]]
    name = "down"
    from = "correspondent"
    to = "aircraft"
    transport = "udp"
    traffic = { kind = "constant", rate = "40 kbit/s", packet_size = "100 B" }
    start = "5 s"
    stop = "35 s"
    [[flows]]
    name = "up"
    from = "aircraft"
    to = "correspondent"
    transport = "udp"
    traffic = { kind = "constant", rate = "40 kbit/s", packet_size = "100 B" }
    start = "5 s"
    stop = "35 s"
"#;

/// Time of the arrival in the south, and of the router's advertisement there.
const ARRIVED: f64 = 20.3;
const ADVERTISED: f64 = 0.005;

/// One anchor point at the hub for both networks.
const HUB: &str = "[mobility_anchor_points.hub]\nprefix = \"2001:db8:9::/64\"\n\
                   access_routers = [\"north\", \"south\"]\nduplicate_address_detection = \"unique-prefix\"\n";
/// One anchor point for each network, at its router.
const EACH: &str = "[mobility_anchor_points.north]\nprefix = \"2001:db8:9::/64\"\naccess_routers = [\"north\"]\n\
                    duplicate_address_detection = \"unique-prefix\"\n\
                    [mobility_anchor_points.south]\nprefix = \"2001:db8:a::/64\"\naccess_routers = [\"south\"]\n\
                    duplicate_address_detection = \"unique-prefix\"\n";

/// Returns the aircraft with these anchor points, keys of its protocol, and second entry of its timetable.
fn moving(anchors: &str, keys: &str, to: &str, rest: &str) -> String {
    let movement = format!(
        "[home_agents.home-agent]\nprefix = \"2001:db8:1::/64\"\nduplicate_address_detection = \"unique-prefix\"\n\
         [mobiles.aircraft]\ntimetable = [{{ at = \"0 s\", attach = \"north-cell\" }}, \
         {{ at = \"20 s\", attach = \"south-cell\", {to} }}]\n\
         mobility = {{ protocol = \"mobile-ipv6\", home_agent = \"home-agent\", \
         duplicate_address_detection = \"icao-address\", {keys} }}\n"
    );
    scenario(45, &[LINKS, anchors, &movement, rest])
}

const HARD: &str = r#"handover = "hard", outage = "300 ms""#;

/// Returns the time from the arrival to the end of the handover, and the packets lost on the way to the aircraft.
fn outcome(text: &str) -> (f64, f64) {
    let results = run(text);
    let handover = &results.summary.handovers[0];
    let lost = flow(&results.summary, "down").packets.to_sink.lost;
    (handover.completed_s.unwrap() - ARRIVED, lost as f64)
}

/// Inside the domain a handover takes the round trip to the anchor point: 100 ms less than to the home agent, 50 ms
/// beyond it. So many datagrams fewer are lost: those that pass the tunnel's entry from 15 ms, or 65 ms, before the link
/// breaks until the update comes.
#[test]
fn inside_a_domain_a_handover_takes_the_round_trip_to_the_anchor_point() {
    let (plain, lost_plain) = outcome(&moving("", "", HARD, VOICE));
    near(plain, ADVERTISED + 2.0 * 0.065, 0.001);
    near(lost_plain, (0.065 + 0.3 + ADVERTISED + 0.065) / 0.02, 1.0);
    let (anchored, lost_anchored) = outcome(&moving(HUB, "", HARD, VOICE));
    near(anchored, ADVERTISED + 2.0 * 0.015, 0.001);
    near(
        lost_anchored,
        (0.015 + 0.3 + ADVERTISED + 0.015) / 0.02,
        1.0,
    );
}

/// The home agent hears nothing of it: one update and one answer.
#[test]
fn inside_a_domain_a_handover_takes_two_messages() {
    let rows = signals(&run(&moving(HUB, "", HARD, VOICE)));
    let names = [
        "Local Binding Update",
        "Binding Update",
        "Binding Acknowledgement",
    ];
    let of_mobile = |row: &&SignalRow| {
        row.sent_s >= 20.0 && !row.tunnelled && ["aircraft", "hub"].contains(&row.sender.as_str())
    };
    let sent = names.map(|name| {
        let own = rows.iter().filter(of_mobile);
        own.filter(|row| row.name == name).count()
    });
    assert_eq!(sent, [1, 0, 1]);
    let update = first(&rows, "Local Binding Update", 20.0);
    near(update.sent_s, ARRIVED + ADVERTISED, 0.001);
    assert_eq!(update.receiver, "hub");
    // At the start the regional address went to the home agent, through the anchor point.
    let home = first(&rows, "Binding Update", 0.0);
    assert!(
        home.details.contains("care-of address 2001:db8:9:"),
        "{}",
        home.details
    );
}

/// Between domains the home agent gets the new regional address, after the new anchor point has answered; the previous
/// one forwards what passes it from the update on, 5 + 20 ms after the advertisement.
#[test]
fn between_domains_the_previous_anchor_point_forwards() {
    let (took, lost) = outcome(&moving(EACH, "", HARD, VOICE));
    near(took, ADVERTISED + 2.0 * 0.005 + 2.0 * 0.065, 0.001);
    near(lost, (0.005 + 0.3 + ADVERTISED + 0.025) / 0.02, 1.0);
    // The new one detects duplicates for a second before its answer.
    let detecting = EACH.replace("unique-prefix", "perform");
    let (took, lost) = outcome(&moving(&detecting, "", HARD, VOICE));
    near(took, 1.0 + ADVERTISED + 2.0 * 0.005 + 2.0 * 0.065, 0.001);
    near(lost, (0.005 + 0.3 + ADVERTISED + 0.025) / 0.02, 1.0);
}

#[test]
fn soft_handovers_lose_nothing() {
    for anchors in [HUB, EACH] {
        let results = run(&moving(anchors, "", r#"handover = "soft""#, VOICE));
        for name in ["down", "up"] {
            let packets = flow(&results.summary, name).packets.to_sink;
            assert_eq!((packets.sent, packets.lost), (1500, 0), "{name} {anchors}");
        }
    }
}

/// An anchor point that holds packets from the announcement on loses none; nor do access routers.
#[test]
fn buffers_lose_nothing() {
    let announced = format!("{HARD}, announced = \"500 ms\"");
    let buffering = format!("{HUB}buffering = {{}}\n");
    let at_anchor = moving(&buffering, "asks_for_buffering = true", &announced, VOICE);
    let at_routers = moving(HUB, "access_router_buffering = {}", &announced, VOICE);
    for (text, expected) in [
        (at_anchor, "mobility anchor point"),
        (at_routers, "access router"),
    ] {
        let results = run(&text);
        assert_eq!(flow(&results.summary, "down").packets.to_sink.lost, 0);
        let [agent] = &results.summary.agents[..] else {
            panic!("one agent: {:?}", results.summary.agents);
        };
        assert_eq!(agent.agent, expected);
        assert!(agent.held > 25, "{agent:?}");
    }
}

/// A lost update is sent again after 1 s; after 1, 2 and 4 s the home agent gets the address on the link.
#[test]
fn an_anchor_point_that_does_not_answer_is_left_out() {
    let lost = |count: &str| {
        format!(
            "[[losses]]\nmessage = \"Local Binding Update\"\nafter = \"20 s\"\n{count}\n{VOICE}"
        )
    };
    let (took, _) = outcome(&moving(HUB, "", HARD, &lost("count = 1")));
    near(took, 1.0 + ADVERTISED + 2.0 * 0.015, 0.001);
    let (took, _) = outcome(&moving(HUB, "", HARD, &lost("")));
    near(took, 7.0 + ADVERTISED + 2.0 * 0.065, 0.001);
}

/// Segments of full size learn the size of the two tunnels, one in the other, both ways.
#[test]
fn full_segments_fit_the_nested_tunnels() {
    for (from, to) in [("correspondent", "aircraft"), ("aircraft", "correspondent")] {
        let download = format!(
            "[[flows]]\nname = \"file\"\nfrom = \"{from}\"\nto = \"{to}\"\ntransport = \"tcp\"\n\
             traffic = {{ kind = \"bulk\", bytes = \"1 MB\" }}\nstart = \"5 s\"\n"
        );
        let results = run(&moving(HUB, "", HARD, &download));
        assert_eq!(
            flow(&results.summary, "file").delivered_bytes,
            1_000_000,
            "{from}"
        );
    }
}
