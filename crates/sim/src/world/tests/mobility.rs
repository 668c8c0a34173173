//! Mobile IPv6 and NEMO in whole worlds, as timelines.
//!
//! An aircraft leaves its home cell for a foreign one at 20 s, without a link for 300 ms. Cells have 1 Mbit/s and 50 ms,
//! the ground 10 ms from hub to each router: 70 ms from home agent to the aircraft abroad, 60 ms at home.

use super::signals::{first, signals};
use super::*;

pub(super) const LINKS: &str = r#"
    [links.home-cell]
    between = ["home-agent", "aircraft"]
    kind = "wired"
    rate = "1 Mbit/s"
    delay = "50 ms"
    [links.foreign-cell]
    between = ["foreign-router", "aircraft"]
    kind = "wired"
    rate = "1 Mbit/s"
    delay = "50 ms"
    [links.home-ground]
    between = ["home-agent", "hub"]
    kind = "wired"
    rate = "100 Mbit/s"
    delay = "10 ms"
    [links.foreign-ground]
    between = ["foreign-router", "hub"]
    kind = "wired"
    rate = "100 Mbit/s"
    delay = "10 ms"
    [links.ground]
    between = ["correspondent", "hub"]
    kind = "wired"
    rate = "100 Mbit/s"
    delay = "10 ms"
    [home_agents.home-agent]
    prefix = "2001:db8:1::/64"
    duplicate_address_detection = "unique-prefix"
"#;

/// Returns a datagram of 100 bytes every 20 ms, from the ground to `to`.
fn voice(to: &str) -> String {
    format!(
        "[[flows]]\nname = \"voice\"\nfrom = \"correspondent\"\nto = \"{to}\"\ntransport = \"udp\"\ntraffic.kind = \"constant\"\n\
         traffic.rate = \"40 kbit/s\"\ntraffic.packet_size = \"100 B\"\nstart = \"5 s\"\n"
    )
}

/// Returns the aircraft's timetable and its protocol with further keys.
fn aircraft(keys: &str) -> String {
    format!(
        "[mobiles.aircraft]\ntimetable = [{{ at = \"0 s\", attach = \"home-cell\" }}, \
         {{ at = \"20 s\", attach = \"foreign-cell\", handover = \"hard\", outage = \"300 ms\" }}]\n\
         mobility = {{ home_agent = \"home-agent\", home_link = \"home-cell\", {keys} }}\n"
    )
}

const HOST: &str = r#"protocol = "mobile-ipv6""#;

/// Returns the time from the start of the handover to its completion.
fn completed(keys: &str) -> f64 {
    let results = run(&scenario(40, &[LINKS, &aircraft(keys), &voice("aircraft")]));
    let handovers = &results.summary.handovers;
    assert_eq!(handovers.len(), 1);
    handovers[0].completed_s.expect("it is registered") - handovers[0].at_s
}

/// RFC 4862 section 5.4: with an advertisement at once there remain a random delay below a second, a second of
/// duplicate address detection, and the round trip of the registration.
#[test]
fn a_handover_takes_the_time_of_its_messages() {
    let least = 0.3 + 0.05 + 2.0 * 0.07;
    let asked = completed(HOST);
    assert!((least + 1.0..least + 2.02).contains(&asked), "{asked}");
    let known = format!("{HOST}, duplicate_address_detection = \"icao-address\"");
    let unasked = completed(&known);
    assert!((least..least + 0.02).contains(&unasked), "{unasked}");
}

/// An AAA server at the correspondent: its answer takes 70 ms each way between it and the aircraft, and its processing
/// time; a lost request is repeated after 2 s (RFC 5080).
#[test]
fn an_aaa_server_is_asked_first() {
    let known = format!("{HOST}, duplicate_address_detection = \"icao-address\"");
    let alone = completed(&known);
    let asking =
        format!("{known}, aaa = {{ server = \"correspondent\", processing = \"200 ms\" }}");
    near(completed(&asking) - alone, 2.0 * 0.07 + 0.2, 0.01);
    let lost = "[[losses]]\nmessage = \"Access-Request\"\ncount = 1\n";
    let parts = [LINKS, &aircraft(&asking), &voice("aircraft"), lost];
    let results = run(&scenario(40, &parts));
    let handover = &results.summary.handovers[0];
    let took = handover.completed_s.expect("it is registered") - handover.at_s;
    near(took - alone, 2.0 + 2.0 * 0.07 + 0.2, 0.01);
}

/// A home agent that is a correspondent as well: its own packets go through the tunnel, too.
#[test]
fn a_home_agent_speaks_with_its_mobile_itself() {
    let own = voice("aircraft").replace("\"correspondent\"", "\"home-agent\"");
    let echo = "[[flows]]\nname = \"echo\"\nfrom = \"home-agent\"\nto = \"aircraft\"\ntraffic.kind = \"ping\"\nstart = \"25 s\"\n";
    let results = run(&scenario(40, &[LINKS, &aircraft(HOST), &own, echo]));
    let abroad = results.summary.handovers[0].completed_s.unwrap();
    let lost = flow(&results.summary, "voice").lost_packets;
    near(lost as f64, (abroad - 20.0) / 0.02, 10.0);
    assert_eq!(flow(&results.summary, "echo").lost_packets, 0);
    // Tunnelled packets for another of its own addresses are delivered locally, and go nowhere.
    let mut text = scenario(40, &[LINKS, &aircraft(HOST), &own, echo]);
    text.push_str("[record]\npackets = true\n");
    let rows = packets(&run(&text));
    let (asked, answered) = {
        let at_cell = rows
            .iter()
            .filter(|row| row.link == "foreign-cell" && row.flow == "echo");
        let (down, up): (Vec<_>, Vec<_>) = at_cell.partition(|row| row.down);
        (down.len(), up.len())
    };
    assert!(answered >= asked - 1 && answered > 10, "{asked} {answered}");
    let of_echo = rows
        .iter()
        .filter(|row| row.link == "home-ground" && row.flow == "echo");
    // The last one has not reached the cell.
    near(of_echo.count() as f64, (asked + answered) as f64, 1.0);
}

/// Without a protocol the routes follow at once; with one, packets go to the home cell until the home agent knows.
#[test]
fn packets_are_lost_until_the_home_agent_knows() {
    let keys = format!("{HOST}, duplicate_address_detection = \"icao-address\"");
    let results = run(&scenario(
        40,
        &[LINKS, &aircraft(&keys), &voice("aircraft")],
    ));
    let handover = &results.summary.handovers[0];
    // The last before the link broke are on their way in the cell, the first after the update came are not lost.
    let silent = handover.completed_s.unwrap() - 0.07 - (handover.at_s - 0.05);
    near(handover.lost_packets as f64, silent / 0.02, 2.0);
    let delivered = flow(&results.summary, "voice").delivered_bytes / 100;
    // A path of 90 ms holds four or five.
    let under_way = 35 * 50 - delivered - handover.lost_packets;
    assert!((3..=5).contains(&under_way), "{under_way}");
}

/// A router sends no advertisement over a link reported down, whatever its interval.
#[test]
fn nothing_is_advertised_on_a_link_that_is_down() {
    for (advertisements, least) in [("at-link-up", 1), ("frequent", 280), ("seldom", 1)] {
        let keys = format!("{HOST}, advertisements = \"{advertisements}\"");
        let results = run(&scenario(60, &[LINKS, &aircraft(&keys)]));
        let rows = signals(&results);
        let home = rows
            .iter()
            .filter(|row| row.name == "Router Advertisement" && row.sender == "home-agent");
        let (before, after): (Vec<_>, Vec<_>) = home.partition(|row| row.sent_s <= 20.0);
        // At most 70 ms apart, for 20 s.
        assert!(before.len() >= least, "{advertisements}: {}", before.len());
        assert!(after.is_empty(), "{advertisements}: {after:?}");
    }
}

/// RFC 6275 section 10.4.2: abroad everything comes out of the tunnel, 40 bytes longer on the way.
#[test]
fn abroad_packets_come_through_the_tunnel() {
    let results = run(&scenario(40, &[LINKS, &aircraft(HOST), &voice("aircraft")]));
    let rows = packets(&results);
    let lengths = |link: &str| -> Vec<u32> {
        let of = rows
            .iter()
            .filter(|row| row.link == link && row.flow == "voice");
        let mut lengths: Vec<u32> = of.map(|row| row.wire_bytes).collect();
        lengths.sort_unstable();
        lengths.dedup();
        lengths
    };
    assert_eq!(lengths("home-cell"), [148]);
    assert_eq!(lengths("foreign-cell"), [188]);
}

/// Section 11.3.1: with return routability the correspondent sends directly, with 24 bytes of routing header, and the
/// home agent sees none of it.
#[test]
fn an_optimised_route_does_not_pass_the_home_agent() {
    let keys = format!("{HOST}, route_optimization = true");
    let results = run(&scenario(
        40,
        &[LINKS, &aircraft(&keys), &voice("aircraft")],
    ));
    let rows = packets(&results);
    let late = |link: &str| -> Vec<u32> {
        let of = rows
            .iter()
            .filter(|row| row.link == link && row.flow == "voice");
        of.filter(|row| row.sent > 30_000_000_000)
            .map(|row| row.wire_bytes)
            .collect()
    };
    assert!(late("home-ground").is_empty());
    let direct = late("foreign-cell");
    assert!(
        direct.len() > 400 && direct.iter().all(|length| *length == 172),
        "{direct:?}"
    );
}

/// RFC 3963: nodes behind a mobile router keep their addresses and notice nothing but the delay.
#[test]
fn a_network_moves_as_a_whole() {
    let cabin = r#"
        [links.cabin]
        between = ["aircraft", "cabin"]
        kind = "wired"
        rate = "100 Mbit/s"
        delay = "1 ms"
        [links.seat]
        between = ["cabin", "passenger"]
        kind = "wired"
        rate = "100 Mbit/s"
        delay = "1 ms"
        [[flows]]
        name = "film"
        from = "correspondent"
        to = "passenger"
        traffic.bytes = "500 kB"
        start = "15 s"
    "#;
    let keys = r#"protocol = "nemo", network_prefix = "2001:db8:1:100::/64""#;
    let results = run(&scenario(
        90,
        &[LINKS, cabin, &aircraft(keys), &voice("cabin")],
    ));
    let film = flow(&results.summary, "film");
    assert_eq!(
        (film.delivered_bytes, film.failure.as_deref()),
        (500_000, None)
    );
    let voice = flow(&results.summary, "voice").delivered_bytes / 100;
    assert!((80 * 50..85 * 50).contains(&voice), "{voice}");
}

/// Back at home the binding is removed, and nothing goes through a tunnel (RFC 6275 section 11.5.5).
#[test]
fn a_mobile_that_returns_is_at_home_again() {
    let mobile = aircraft(HOST).replace(
        "outage = \"300 ms\" }]",
        "outage = \"300 ms\" }, { at = \"30 s\", attach = \"home-cell\", handover = \"hard\", outage = \"300 ms\" }]",
    );
    let results = run(&scenario(60, &[LINKS, &mobile, &voice("aircraft")]));
    assert_eq!(results.summary.handovers.len(), 2);
    assert!(results.summary.handovers[1].completed_s.is_some());
    let rows = packets(&results);
    let at_home = rows
        .iter()
        .filter(|row| row.link == "home-cell" && row.sent > 40_000_000_000);
    let heard: Vec<u32> = at_home
        .filter(|row| row.flow == "voice")
        .map(|row| row.wire_bytes)
        .collect();
    assert!(heard.len() > 900 && heard.iter().all(|length| *length == 148));
}

/// Packets that the mobile node hands to a socket without an event for its application are answered at once: a mobile that
/// stays at home sends and acknowledges as one without the protocol.
#[test]
fn a_mobile_at_home_speaks_tcp_as_any_host() {
    let stays = "[mobiles.aircraft]\ntimetable = [{ at = \"0 s\", attach = \"home-cell\" }]\n";
    let speaks = format!(
        "{stays}mobility = {{ home_agent = \"home-agent\", home_link = \"home-cell\", {HOST} }}\n"
    );
    for (from, to) in [("aircraft", "correspondent"), ("correspondent", "aircraft")] {
        let file = format!(
            "[[flows]]\nname = \"file\"\nfrom = \"{from}\"\nto = \"{to}\"\ntraffic.bytes = \"300 kB\"\nstart = \"5 s\"\n"
        );
        // Slow start overflows it: there are duplicate acknowledgments, too.
        let links = LINKS.replacen("\"50 ms\"", "\"50 ms\"\nqueue = \"10 packets\"", 1);
        let took = |mobile: &str| {
            let results = run(&scenario(40, &[&links, mobile, &file]));
            let file = flow(&results.summary, "file").clone();
            assert_eq!(file.delivered_bytes, 300_000);
            assert!(file.duplicate_acks > 0);
            let counts = [
                file.segments_sent,
                file.retransmitted.unwrap(),
                file.duplicate_acks,
            ];
            (file.completion_s.unwrap(), counts)
        };
        assert_eq!(took(&speaks), took(stays), "{from}");
    }
}

/// The same scenario and seed give the same packets.
#[test]
fn signalling_is_deterministic() {
    let text = scenario(40, &[LINKS, &aircraft(HOST), &voice("aircraft")]);
    let all = |results: &Results| format!("{:?}", packets(results));
    assert_eq!(all(&run(&text)), all(&run(&text)));
}

/// Returns two aircraft in foreign cells from the start, whose home agent assigns prefixes from this pool, or none.
fn fleet(pool: Option<&str>) -> String {
    let agent = match pool {
        Some(pool) => format!("prefix_pool = \"{pool}\"\n"),
        None => String::new(),
    };
    let second = "[links.far-cell]\nbetween = [\"foreign-router\", \"glider\"]\nkind = \"wired\"\nrate = \"1 Mbit/s\"\ndelay = \"50 ms\"\n";
    let mobile = |name: &str, cell: &str| {
        format!(
            "[mobiles.{name}]\ntimetable = [{{ at = \"0 s\", attach = \"{cell}\" }}]\nmobility = {{ {HOST}, \
             home_agent = \"home-agent\", duplicate_address_detection = \"icao-address\" }}\n"
        )
    };
    let (aircraft, glider) = (
        mobile("aircraft", "foreign-cell"),
        mobile("glider", "far-cell"),
    );
    format!("{LINKS}{agent}{second}{aircraft}{glider}")
}

/// A round trip between home agent and aircraft takes 140 ms and some transmission; two of them come before the first
/// binding update.
#[test]
fn a_home_prefix_is_assigned_by_two_round_trips() {
    let registered = |parts: &[&str]| {
        let results = run(&scenario(20, parts));
        let rows = signals(&results);
        let received = flow(&results.summary, "voice").delivered_bytes;
        // The later of the two aircraft.
        let last = rows.iter().rfind(|row| row.name == "Registered");
        (last.expect("both are registered").sent_s, received)
    };
    let voice = voice("aircraft");
    let (alone, sent) = registered(&[&fleet(None), &voice]);
    let assigned = fleet(Some("2001:db8:8::/48"));
    let (after, received) = registered(&[&assigned, &voice]);
    near(after - alone, 2.0 * 0.14, 0.03);
    // All datagrams, of 100 B every 20 ms for 15 s, reach the home address in the prefix.
    assert!(sent > 70_000);
    assert_eq!(received, sent);
    // A lost request or answer is repeated a second later.
    for message in ["IKE_SA_INIT", "IKE_AUTH"] {
        let lost = format!("[[losses]]\nmessage = \"{message}\"\ncount = 1\n");
        let (late, _) = registered(&[&assigned, &voice, &lost]);
        near(late - after, 1.0, 0.03);
    }
}

/// The first prefix is the first aircraft's, and there is no other.
#[test]
fn an_aircraft_without_a_home_prefix_is_refused() {
    let parts = [&fleet(Some("2001:db8:8:7::/64")), &voice("glider")];
    let results = run(&scenario(20, &parts.map(String::as_str)));
    let rows = signals(&results);
    let assigned = first(&rows, "Home Prefix Assigned", 0.0);
    assert_eq!(assigned.sender, "aircraft");
    assert_eq!(assigned.details, "prefix 2001:db8:8:7::/64");
    let refused = first(&rows, "Home Prefix Refused", 0.0);
    assert_eq!(
        (&*refused.sender, &*refused.details),
        ("glider", "no prefix left")
    );
    let bound: Vec<&str> = rows
        .iter()
        .filter(|row| row.name == "Registered")
        .map(|row| row.sender.as_str())
        .collect();
    assert_eq!(bound, ["aircraft"]);
    assert_eq!(flow(&results.summary, "voice").delivered_bytes, 0);
}
