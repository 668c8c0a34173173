//! TeleMIP: phones below two mobility agents, in a domain with private addresses.
//!
//! The phones are 5 ms from the near and the far subnet agent, which are 10 ms from a switch; the mobility agents east and
//! west are 1 ms above it, and 10 ms below a hub, like the correspondent. The home agent is 100 ms from the hub.

use super::signals::signals;
use super::*;
use core::fmt::Write;

const PHONES: usize = 6;

const WIRES: [(&str, &str, u32); 8] = [
    ("near", "switch", 10),
    ("far", "switch", 10),
    ("switch", "east", 1),
    ("switch", "west", 1),
    ("east", "hub", 10),
    ("west", "hub", 10),
    ("correspondent", "hub", 10),
    ("home-agent", "hub", 100),
];

const GATEWAYS: &str = "gateway = [\"east\", \"west\"]";

/// Returns phones that move from near to far after 10 s, softly, and get a datagram of 100 bytes every 10 ms.
fn phones(agents: &str) -> Results {
    let mut text = String::from("home_agents.home-agent.prefix = \"192.0.2.0/24\"\n");
    let _ = writeln!(
        text,
        "foreign_agents = {{ east = {{}}, west = {{}}, near = {{ {agents} }}, far = {{ {agents} }} }}"
    );
    let link = |text: &mut String, [from, to]: [&str; 2], delay| {
        let _ = writeln!(
            text,
            "[links.{from}-{to}]\nbetween = [\"{from}\", \"{to}\"]\nkind = \"wired\"\nrate = \"1 Gbit/s\"\n\
             delay = \"{delay} ms\""
        );
    };
    for (from, to, delay) in WIRES {
        link(&mut text, [from, to], delay);
    }
    for number in 0..PHONES {
        let name = format!("phone-{number}");
        link(&mut text, ["near", &name], 5);
        link(&mut text, ["far", &name], 5);
        let _ = writeln!(
            text,
            "[mobiles.{name}]\nmobility = {{ protocol = \"mobile-ipv4\", home_agent = \"home-agent\", delivery = \"reverse-tunnel\" }}\n\
             timetable = [{{ at = \"0 s\", attach = \"near-{name}\" }}, {{ at = \"10 s\", attach = \"far-{name}\" }}]"
        );
        for [flow, from, to] in [
            ["to", "correspondent", &name],
            ["from", &name, "correspondent"],
        ] {
            let _ = writeln!(
                text,
                "[[flows]]\nname = \"{flow}-{number}\"\nfrom = \"{from}\"\nto = \"{to}\"\ntransport = \"udp\"\n\
                 traffic = {{ kind = \"constant\", rate = \"80 kbit/s\", packet_size = \"100 B\" }}\nstart = \"2 s\"\nstop = \"15 s\""
            );
        }
    }
    run(&scenario(20, &[&text]))
}

/// Returns the phones whose datagrams pass a link, by their flows.
fn passing(rows: &[PacketRow], link: &str) -> Vec<usize> {
    let all = 0..PHONES;
    let passes = |flow: &str| rows.iter().any(|row| row.link == link && row.flow == flow);
    all.filter(|number| passes(&format!("to-{number}")) || passes(&format!("from-{number}")))
        .collect()
}

/// The phones' home addresses are 192.0.2.2 and on, the even ones first: the first mobility agent has phones 0, 2 and 4,
/// the second the others, before and after the move, and both ways. A move takes a solicitation and its answer, 10 ms, and a
/// request and its reply over 5 + 10 + 1 ms; without gateways, over 5 + 10 + 1 + 10 + 100 ms.
#[test]
fn mobiles_spread_over_the_mobility_agents() {
    for private in ["", ", private_address = true"] {
        let results = phones(&format!("{GATEWAYS}{private}"));
        let rows = packets(&results);
        assert_eq!(passing(&rows, "switch-east"), [0, 2, 4], "{private}");
        assert_eq!(passing(&rows, "switch-west"), [1, 3, 5], "{private}");
        for handover in &results.summary.handovers {
            near(handover.completed_s.unwrap() - handover.at_s, 0.042, 0.001);
        }
        for number in 0..PHONES {
            let to = flow(&results.summary, &format!("to-{number}"));
            assert_eq!((to.lost_packets, to.delivered_bytes), (0, 130_000));
            // RFC 3024: those that the old subnet agent tunnels to the mobility agent after the registration are discarded,
            // for the round trip of 32 ms until the phone has sent over the new link.
            let from = flow(&results.summary, &format!("from-{number}"));
            near(from.delivered_bytes as f64, 130_000.0 - 320.0, 100.0);
        }
    }
    let results = phones("");
    for handover in &results.summary.handovers {
        near(handover.completed_s.unwrap() - handover.at_s, 0.262, 0.001);
    }
}

/// The home agent learns of the mobility agents, which alone are registered with it, and the phones of the subnet agents'
/// private addresses. Nothing is dropped for want of a route, though only the domain has routes to these.
#[test]
fn private_addresses_are_local() {
    let results = phones(&format!("{GATEWAYS}, private_address = true"));
    let rows = signals(&results);
    let by_phone = |name: &str| {
        let mut all = rows.iter();
        all.find(|row| row.name == name && row.sender == "phone-0")
            .unwrap()
    };
    // The node east has the fourth address.
    let request = by_phone("Registration Request");
    assert_eq!(request.details, "care-of address 10.0.0.4, lifetime 3600 s");
    let regional = by_phone("Regional Registration Request");
    assert_eq!(regional.receiver, "far");
    assert!(
        regional.details.contains("care-of address 192.168.0.4"),
        "{}",
        regional.details
    );
    let outside = ["hub", "home-agent", "correspondent"];
    let is_outside = |name: &str| outside.contains(&name);
    let seen = rows
        .iter()
        .filter(|row| is_outside(&row.sender) || is_outside(&row.receiver));
    assert!(seen.clone().count() > 0);
    for row in seen {
        assert!(
            !row.details.contains("192.168."),
            "{}: {}",
            row.name,
            row.details
        );
    }
}
