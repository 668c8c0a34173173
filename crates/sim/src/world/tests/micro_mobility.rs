//! HAWAII and Cellular IP in whole worlds.
//!
//! A phone is 5 ms from its base stations. West and middle are 10 ms below the same router, which is 10 ms below the
//! root; east is 20 ms below the root. The correspondent is 10 ms from the root, the home agent 100 ms. A datagram goes
//! every millisecond.

use super::signals::{first, signals};
use super::*;

const LINKS: &str = r#"
    [links.west-air]
    between = ["west", "phone"]
    kind = "wired"
    rate = "100 Mbit/s"
    delay = "5 ms"
    [links.middle-air]
    between = ["middle", "phone"]
    kind = "wired"
    rate = "100 Mbit/s"
    delay = "5 ms"
    [links.east-air]
    between = ["east", "phone"]
    kind = "wired"
    rate = "100 Mbit/s"
    delay = "5 ms"
    [links.west-ground]
    between = ["junction", "west"]
    kind = "wired"
    rate = "1 Gbit/s"
    delay = "10 ms"
    [links.middle-ground]
    between = ["junction", "middle"]
    kind = "wired"
    rate = "1 Gbit/s"
    delay = "10 ms"
    [links.junction-ground]
    between = ["root", "junction"]
    kind = "wired"
    rate = "1 Gbit/s"
    delay = "10 ms"
    [links.east-ground]
    between = ["root", "east"]
    kind = "wired"
    rate = "1 Gbit/s"
    delay = "20 ms"
    [links.internet]
    between = ["home-agent", "root"]
    kind = "wired"
    rate = "1 Gbit/s"
    delay = "100 ms"
    [links.office]
    between = ["office", "root"]
    kind = "wired"
    rate = "1 Gbit/s"
    delay = "10 ms"
    [home_agents.home-agent]
    prefix = "192.0.2.0/24"
    [[flows]]
    name = "voice"
    from = "office"
    to = "phone"
    transport = "udp"
    traffic = { kind = "constant", rate = "800 kbit/s", packet_size = "100 B" }
    start = "2 s"
    stop = "9 s"
"#;

/// Returns a run of 10 s with a handover at 5 s, with these keys of it; `domain` has the keys of the protocol.
fn hand_over(to: &str, keys: &str, domain: &str) -> Results {
    let domain = match domain {
        "" => String::new(),
        keys => format!(
            "[micro_mobility.campus]\nroot = \"root\"\nrouters = [\"junction\", \"west\", \"middle\", \"east\"]\n{keys}\n"
        ),
    };
    let phone = format!(
        "[mobiles.phone]\nmobility = {{ protocol = \"mobile-ipv4\", home_agent = \"home-agent\" }}\n\
         timetable = [{{ at = \"0 s\", attach = \"west-air\" }}, {{ at = \"5 s\", attach = \"{to}\", {keys} }}]\n"
    );
    run(&scenario(10, &[LINKS, &phone, &domain]))
}

fn lost(results: &Results) -> u64 {
    flow(&results.summary, "voice").packets.to_sink.lost
}

const HARD: &str = r#"handover = "hard", announced = "500 ms""#;
const UNANNOUNCED: &str = r#"handover = "hard""#;
const UNF: &str = r#"protocol = "hawaii""#;
const MSF: &str = "protocol = \"hawaii\"\npath_setup = \"msf\"\nbuffer = \"64 kB\"";
const SSF: &str = "protocol = \"hawaii\"\npath_setup = \"ssf\"\nbuffer = \"64 kB\"";
const MNF: &str = "protocol = \"hawaii\"\npath_setup = \"mnf\"";
const CELLULAR: &str = r#"protocol = "cellular-ip""#;
const SEMISOFT: &str = "protocol = \"cellular-ip\"\nhandoff = \"semisoft\"";

/// The loss at a hard handover is the round trip between the phone and the crossover router: 2 * (5 + 10) ms to the
/// junction, 2 * (5 + 20) ms to the root. Mobile IP takes the way to the home agent, 2 * (5 + 20 + 100) ms. What is in
/// the air when the link breaks is lost with it.
#[test]
fn a_hard_handoff_loses_a_round_trip_to_the_crossover_router() {
    for (to, expected) in [("middle-air", 30.0), ("east-air", 50.0)] {
        for (domain, keys) in [(UNF, HARD), (CELLULAR, HARD), (MNF, UNANNOUNCED)] {
            let results = hand_over(to, keys, domain);
            near(lost(&results) as f64, expected, 2.0);
            let rows = signals(&results);
            let mut later = rows.iter().filter(|row| row.sent_s > 4.0);
            assert!(later.all(|row| row.name != "Registration Request"));
        }
        near(lost(&hand_over(to, HARD, "")) as f64, 250.0, 2.0);
    }
}

/// A semisoft handoff, and with MNF, loses only what was in the air, both old and new, as the phone moved: 5 ms. Without an
/// announcement it is a hard one.
#[test]
fn a_semisoft_handoff_loses_less_than_the_delay_of_the_air() {
    for (to, domain) in [
        ("middle-air", SEMISOFT),
        ("east-air", SEMISOFT),
        ("middle-air", MNF),
        ("east-air", MNF),
    ] {
        let results = hand_over(to, HARD, domain);
        assert!(lost(&results) <= 6, "{} lost", lost(&results));
        let rows = signals(&results);
        let request = first(&rows, "Semisoft Request", 4.0);
        near(request.sent_s, 4.5, 0.0001);
        let update = first(&rows, "Semisoft Route Update", 4.0);
        assert_eq!(update.way().1, "root");
    }
    let results = hand_over("middle-air", UNANNOUNCED, SEMISOFT);
    near(lost(&results) as f64, 30.0, 2.0);
}

/// The old base station of MSF and SSF forwards all that comes after the phone has left. Lost is what was in the air:
/// 5 ms.
#[test]
fn forwarding_schemes_deliver_what_comes_late() {
    for (to, domain) in [
        ("middle-air", MSF),
        ("east-air", MSF),
        ("middle-air", SSF),
        ("east-air", SSF),
    ] {
        let results = hand_over(to, HARD, domain);
        assert!(lost(&results) <= 6, "{} lost", lost(&results));
        let agents = &results.summary.agents;
        let west = agents.iter().find(|agent| agent.node == "west");
        let west = west.expect("a base station that holds packets");
        assert!(west.held > 0 && west.held == west.released);
    }
}

/// A soft handover loses nothing: the phone hears both.
#[test]
fn soft_handovers_lose_nothing() {
    for domain in [UNF, MSF, SSF, MNF, CELLULAR, SEMISOFT] {
        let results = hand_over("middle-air", r#"overlap = "300 ms""#, domain);
        assert_eq!(lost(&results), 0, "{domain}");
    }
}

/// HAWAII's phone has its path set up when the acknowledgment has come: 25 ms to the old base station and back.
#[test]
fn a_handover_is_complete_with_the_acknowledgment() {
    let results = hand_over("middle-air", HARD, UNF);
    let handover = &results.summary.handovers[0];
    near(handover.completed_s.expect("complete") - 5.0, 0.05, 0.002);
    let rows = signals(&results);
    // Each router on the way forwards it by its own entry.
    let hops = rows
        .iter()
        .filter(|row| row.sent_s > 5.0 && row.name == "Path Setup Acknowledgment");
    let hops: Vec<_> = hops.collect();
    let ways: Vec<_> = hops.iter().map(|row| row.way()).collect();
    assert_eq!(
        ways,
        [
            ("west", "junction"),
            ("junction", "middle"),
            ("middle", "phone")
        ]
    );
    let acknowledgment = hops[2];
    assert_eq!(handover.completed_s, acknowledgment.decided_s);
}

/// Returns a run of 100 s with a datagram at 10 s and one at 90 s, between which the phone is idle, and moves to the
/// middle at 50 s.
fn idle(links: &str, domain: &str) -> Results {
    let links = links
        .replace("800 kbit/s", "10 bit/s")
        .replace("start = \"2 s\"", "start = \"10 s\"")
        .replace("stop = \"9 s\"", "stop = \"91 s\"");
    let phone = "[mobiles.phone]\nmobility = { protocol = \"mobile-ipv4\", home_agent = \"home-agent\", lifetime = \"1000 s\" }\n\
                 timetable = [{ at = \"0 s\", attach = \"west-air\" }, { at = \"50 s\", attach = \"middle-air\", handover = \"hard\" }]\n";
    let domain = format!(
        "[micro_mobility.campus]\nroot = \"root\"\nrouters = [\"junction\", \"west\", \"middle\", \"east\"]\n\
         refresh = \"1 s\"\nactive_timeout = \"5 s\"\npaging_update = \"30 s\"\n{domain}\n"
    );
    run(&scenario(100, &[&links, phone, &domain]))
}

/// The tunnel begins at the home agent: 10 + 100 ms to it, 100 ms back, and 25 ms down. HAWAII's packet also waits for a
/// page and its answer, 50 ms. Nothing tells of the move within the paging area.
#[test]
fn the_first_packet_finds_an_idle_phone() {
    for (domain, delay) in [(CELLULAR, 0.235), (UNF, 0.285), (MSF, 0.285)] {
        let results = idle(LINKS, domain);
        let voice = flow(&results.summary, "voice");
        assert_eq!(
            (voice.packets.to_sink.sent, voice.packets.to_sink.lost),
            (2, 0)
        );
        let rows = signals(&results);
        let updates = rows.iter().filter(|row| row.name == "Paging Update");
        let sent: Vec<_> = updates
            .filter(|row| row.way().0 == "phone")
            .map(|row| row.sent_s)
            .collect();
        // 5 s after the registration, of 250 ms after HAWAII's path set-up of 50 ms; 5 s after the first packet, and then
        // each 30 s; 5 s after the second packet.
        let expected = [5.25 - 0.235, 15.0, 45.0, 75.0, 95.0];
        assert_eq!(sent.len(), expected.len(), "{domain}: {sent:?}");
        for (sent, expected) in sent.into_iter().zip(expected) {
            near(sent, expected + delay, 0.02);
        }
        let mut between = rows.iter().filter(|row| (16.0..90.0).contains(&row.sent_s));
        assert!(between.all(|row| row.name == "Paging Update" || row.name.starts_with("Link_")));
    }
}

/// A phone that hears pages and cannot answer them is given up by HAWAII's root: its packet is lost in the root's buffer.
/// Cellular IP's packet needs no answer.
#[test]
fn a_packet_for_an_idle_phone_is_lost_for_a_cause() {
    let deaf = "[links.middle-air]\n    up = { packet_error_rate = 1.0 }";
    let links = LINKS.replace("[links.middle-air]", deaf);
    for (domain, lost) in [(CELLULAR, 0), (UNF, 1)] {
        let results = idle(&links, domain);
        let packets = flow(&results.summary, "voice").packets.to_sink;
        assert_eq!((packets.sent, packets.lost), (2, lost));
        assert_eq!(packets.lost_by.buffer, lost);
        let rows = signals(&results);
        let pages = rows.iter().filter(|row| {
            row.sent_s > 80.0 && row.name == "Page" && row.way() == ("middle", "phone")
        });
        let expected = if lost > 0 { 3 } else { 0 };
        assert_eq!(pages.count(), expected, "{domain}");
    }
}
