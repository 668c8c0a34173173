//! Links that follow a train's position, in a whole world.

use super::signals::signals;
use super::*;

/// Runs a train at 100 m/s from 0 km on; a tunnel from 2 km to 4 km (20 s to 40 s), with the satellite's shadow from
/// 100 m before it; access points at 1.9, 2.9, … 4.1 km whose range is 474.34 m, 399.11 m with the margin.
fn world(mobile: &str, seconds: u32) -> Results {
    run(&scenario(seconds, &[LINKS, mobile]))
}

const LINKS: &str = r#"
        [lines.valley]
        tunnels = [{ from = "2 km", to = "4 km", shadow_before = "100 m" }]
        [links.ground]
        between = ["server", "gateway"]
        kind = "wired"
        rate = "100 Mbit/s"
        delay = "0 ms"
        [links.satellite]
        between = ["gateway", "train"]
        kind = "geo"
        line_of_sight = {}
        [links.tunnel]
        between = ["gateway", "train"]
        kind = "wifi"
        medium_access = false
        coverage = { from = "1.9 km", to = "4.1 km", spacing = "790 m" }
        [[flows]]
        name = "f"
        from = "server"
        to = "train"
        transport = "udp"
        traffic.kind = "constant"
        traffic.rate = "377600 bit/s"
        traffic.packet_size = "472 B"
    "#;

const TRACK: &str = "track = { along = \"valley\", speed = \"100 m/s\" }";

fn attachments(results: &Results) -> Vec<(f64, f64)> {
    series(results, "mobile train", "attached link")
}

#[test]
fn a_train_prefers_the_tunnel_s_access_points_and_loses_nothing() {
    let mobile = format!(
        "[mobiles.train]\nfailback = {{ prefer = [\"tunnel\", \"satellite\"], hold_time = \"0 s\" }}\n{TRACK}\n"
    );
    let results = world(&mobile, 60);
    // Into range at 1900 − 474.34 m, 50 ms to synchronise; out of the margin at 4100 + 399.11 m.
    let expected = [(0.0, 1.0), (14.306_58, 2.0), (44.991_1, 1.0)];
    for (found, expected) in attachments(&results).iter().zip(expected) {
        near(found.0, expected.0, 1e-3);
        assert_eq!(found.1, expected.1);
    }
    assert_eq!(attachments(&results).len(), 3);
    let kinds = results.summary.handovers.iter();
    let kinds: Vec<(&str, u64)> = kinds
        .map(|handover| (handover.kind, handover.lost_packets))
        .collect();
    assert_eq!(kinds, [("soft", 0), ("soft", 0)]);
    assert_eq!(flow(&results.summary, "f").lost_packets, 0);
}

/// Study S, table 2: the Association Response tells the train of the access point's queue, 50 ms after the first
/// reception at 1900 − 474.34 m. Before that it does not know.
#[test]
fn an_access_point_tells_of_its_queue_at_the_association() {
    let mobile = format!(
        "[mobiles.train]\nfailback = {{ prefer = [\"tunnel\", \"satellite\"], hold_time = \"0 s\" }}\n{TRACK}\n"
    );
    let links = LINKS.replace("medium_access = false", "queue = \"20 packets\"");
    let text = scenario(60, &[&links, &mobile]);
    let rows = signals(&run(&text));
    let told: Vec<_> = rows
        .iter()
        .filter(|row| row.name == "Association Response")
        .collect();
    assert_eq!(told.len(), 1, "the access points follow without a gap");
    near(told[0].sent_s, 14.306_58, 1e-3);
    assert_eq!(told[0].way(), ("gateway", "train"));
    assert_eq!(
        (told[0].link.as_str(), told[0].details.as_str()),
        ("tunnel", "queue of 20 packets")
    );
    assert_eq!(told[0].fate, "delivered");
    let mut world = unrecorded(&text);
    let train = world
        .scenario
        .nodes
        .iter()
        .position(|name| name == "train")
        .unwrap();
    let tunnel = world
        .scenario
        .links
        .iter()
        .position(|link| link.config.name == "tunnel")
        .unwrap();
    let interface = world.net.interface(train, tunnel);
    for (until_ms, known) in [(14_300, None), (14_310, Some(20))] {
        world.run_until(baton_proto::time::Instant::from_millis(until_ms), 1_000_000);
        let told = world.net.nodes[train]
            .host
            .link_parameters(interface)
            .unwrap();
        assert_eq!(told.incoming_queue, known, "{until_ms}");
    }
}

/// A mobile with a failback is on all links that are up: its addresses are there when it decides, a second after the tunnel is
/// up and at the end of the tunnel's margin, and its binding updates leave at once.
#[test]
fn a_train_updates_its_binding_in_the_moment_of_the_decision() {
    let mobile = format!(
        "[home_agents.server]\nprefix = \"2001:db8:1::/64\"\n[mobiles.train]\n\
         failback = {{ prefer = [\"tunnel\", \"satellite\"], hold_time = \"1 s\" }}\n\
         mobility = {{ protocol = \"mobile-ipv6\", home_agent = \"server\", duplicate_address_detection = \"unique-prefix\" }}\n\
         {TRACK}\n"
    );
    let rows = signals(&world(&mobile, 60));
    let updates = rows
        .iter()
        .filter(|row| row.name == "Binding Update" && row.sent_s > 10.0);
    let updates: Vec<(f64, &str)> = updates.map(|row| (row.sent_s, row.link.as_str())).collect();
    let expected = [(15.306_58, "tunnel"), (44.991_1, "satellite")];
    assert_eq!(updates.len(), 2, "{updates:?}");
    for (found, expected) in updates.iter().zip(expected) {
        near(found.0, expected.0, 1e-3);
        assert_eq!(found.1, expected.1);
    }
}

#[test]
fn a_train_with_a_satellite_alone_loses_what_is_sent_in_the_tunnel() {
    let mobile = format!(
        "[mobiles.train]\ntimetable = [{{ at = \"0 s\", attach = \"satellite\" }}]\n{TRACK}\n"
    );
    let results = world(&mobile, 60);
    assert!(results.summary.handovers.is_empty());
    // Hidden from 1900 m to 4000 m, and 550 ms until the antenna follows: down from 19 s to 40.55 s. Sent at 18.71 s
    // and later (290 ms and 0.8 ms of serialising before that), to 40.54 s: one every 10 ms.
    let lost = flow(&results.summary, "f").lost_packets;
    assert_eq!(lost, 2184);
    let fates: Vec<PacketRow> = packets(&results)
        .into_iter()
        .filter(|row| row.fate == "link down")
        .collect();
    assert_eq!(fates.len(), 2184);
    near(fates[0].sent as f64 / 1e9, 18.71, 1e-3);
}

#[test]
fn gap_fillers_carry_the_satellite_through_the_tunnel() {
    let mobile = format!(
        "[mobiles.train]\ntimetable = [{{ at = \"0 s\", attach = \"satellite\" }}]\n{TRACK}\n"
    );
    let lost = |reach: &str| {
        let tunnel = format!("shadow_before = \"100 m\", gap_filler_reach = \"{reach}\"");
        let links = LINKS.replace("shadow_before = \"100 m\"", &tunnel);
        let results = run(&scenario(60, &[&links, &mobile]));
        flow(&results.summary, "f").lost_packets
    };
    // Before the tunnel they have to reach 100 m and 50 ms of synchronising, behind it 550 ms.
    assert_eq!(lost("105 m"), 0);
    // Down from 19 s to 20.05 s and from 40 s to 40.55 s; one sent every 10 ms, and 290 ms under way at each break.
    assert_eq!(lost("0 m"), 134 + 84);
}

#[test]
fn a_line_in_the_way_of_a_mobile_with_a_timetable_does_not_move_it() {
    let mobile = format!(
        "[mobiles.train]\ntimetable = [{{ at = \"0 s\", attach = \"tunnel\" }}]\n{TRACK}\n"
    );
    let results = world(&mobile, 20);
    assert_eq!(attachments(&results), [(0.0, 2.0)]);
    // Nothing arrives before 14.31 s, when the access point is in range and the train has synchronised.
    let first = packets(&results)
        .into_iter()
        .find(|row| row.link == "tunnel" && row.is_delivered())
        .unwrap();
    assert!((14.306..14.33).contains(&first.decided_s()), "{first:?}");
}

#[test]
fn link_events_are_recorded() {
    let mobile = format!(
        "[mobiles.train]\nfailback = {{ prefer = [\"tunnel\", \"satellite\"], hold_time = \"0 s\" }}\n{TRACK}\n"
    );
    let results = world(&mobile, 60);
    let rows = signals(&results);
    let rows: Vec<String> = rows
        .iter()
        .map(|row| format!("{} {} {}", row.link, row.name, row.details))
        .collect();
    let expected = [
        "tunnel Link_Detected -80.00 dBm",
        "tunnel Link_Up ",
        "tunnel Link_Parameters_Report -77.00 dBm",
        "satellite Link_Down ",
        "satellite Link_Detected ",
        "satellite Link_Up ",
        "tunnel Link_Going_Down ",
        "tunnel Link_Down ",
    ];
    assert_eq!(rows, expected);
}
