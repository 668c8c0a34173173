//! Remedies in whole worlds: study C's hard handovers between WiFi (2 Mbit/s, 20 ms) and a satellite (1 Mbit/s, 500
//! ms), and the remedies that are refused.

use super::*;
use baton_proto::remedies::Kind;

const LINKS: &str = r#"
    [links.lan]
    between = ["server", "gateway"]
    kind = "wired"
    rate = "100 Mbit/s"
    delay = "0 ms"
    queue = "1000 packets"
    [links.wifi]
    between = ["gateway", "mobile"]
    kind = "wired"
    rate = "2 Mbit/s"
    delay = "10 ms"
    queue = "50 packets"
    [links.satellite]
    between = ["gateway", "mobile"]
    kind = "wired"
    rate = "1 Mbit/s"
    delay = "250 ms"
    queue = "50 packets"
"#;

/// Handover to the satellite at 10 s, announced a round trip ahead (with the queueing delay), after an outage of 4 s.
const HARD: &str = r#"
    [mobiles.mobile]
    timetable = [
        { at = "0 s", attach = "wifi" },
        { at = "10 s", attach = "satellite", handover = "hard", outage = "4 s", announced = "400 ms" },
    ]
"#;

fn transfer(from: &str, to: &str, profile: &str, remedies: &str) -> String {
    format!(
        "[[flows]]\nname = \"f\"\nfrom = \"{from}\"\nto = \"{to}\"\ntransport.profile = \"{profile}\"\nremedies = {remedies}\n\
         transport.maximum_segment_size = \"1400 B\"
         transport.receive_buffer = \"64 KiB\"
         transport.congestion = \"reno\"\n"
    )
}

/// Study C's links under Mobile IPv6: the correspondent keeps sending to the old place until its own binding is new.
const OPTIMIZED: &str = r#"
    [home_agents.gateway]
    prefix = "2001:db8:1::/64"
    [mobiles.mobile]
    timetable = [
        { at = "0 s", attach = "wifi" },
        { at = "20 s", attach = "satellite", handover = "hard", outage = "1 s", announced = "400 ms" },
    ]
    mobility = { protocol = "mobile-ipv6", home_agent = "gateway", route_optimization = true, duplicate_address_detection = "icao-address" }
"#;

/// A window that opened with the home registration let the sender fill the path that is no longer there.
#[test]
fn a_shut_window_opens_when_the_correspondent_knows_the_new_place() {
    let frozen = transfer("server", "mobile", "rfc", "[\"freeze-tcp\"]");
    let flow = frozen.replace("[[flows]]", "[[flows]]\nstart = \"5 s\"");
    let results = run(&scenario(40, &[LINKS, OPTIMIZED, &flow]));
    let handover = &results.summary.handovers[0];
    let flow = super::flow(&results.summary, "f");
    assert_eq!(flow.timeouts, Some(0));
    // The handover lasts for 1 s and three round trips of 0.5 s: a probe at each doubling of the timeout, and no data.
    assert!(handover.lost_packets <= 3, "{}", handover.lost_packets);
    assert!(flow.longest_stall_s < 0.4 + 1.0 + 6.0 * 0.5);
}

/// Study C: "no packet or ACK lost" (C7), in either direction of the data.
#[test]
fn the_scheme_of_study_c_loses_nothing_in_a_hard_handover() {
    for profile in ["ns2", "rfc", "linux-6"] {
        for (from, to) in [("server", "mobile"), ("mobile", "server")] {
            let outcome = |remedies: &str| {
                let flow = transfer(from, to, profile, remedies);
                let results = run(&scenario(40, &[LINKS, HARD, &flow]));
                let lost = results.summary.handovers[0].lost_packets;
                (lost, super::flow(&results.summary, "f").clone())
            };
            let (lost, with) = outcome("[\"eclair\"]");
            let (lost_without, without) = outcome("\"none\"");
            // A sender that is shut out probes with the segment whose acknowledgment is kept, and a delayed acknowledgment
            // pushes out the one before it; nothing else is lost.
            let probes = match to {
                "mobile" => with.retransmitted.unwrap().min(8),
                _ => 0,
            };
            let delayed = u64::from(to == "mobile");
            assert!(lost <= probes + delayed, "{profile} {from}: {lost}");
            assert!(lost_without > 10, "{profile} {from}: {lost_without}");
            // A timeout of 200 ms, left over from WiFi, expires before the satellite answers: that is another remedy's
            // business.
            if profile == "ns2" {
                continue;
            }
            if profile == "rfc" {
                assert_eq!(with.timeouts, Some(0), "{from}");
                assert_eq!(with.retransmitted.unwrap(), probes, "{from}");
                assert!(without.timeouts > Some(0), "{from}");
            }
            // A present Linux does not wait: when the timer expires, segments missing from the kept acknowledgment
            // count as lost, and its window is one segment (`tcp_retransmit_timer`).
            if profile == "linux-6" && from == "server" {
                assert!(with.timeouts > Some(0), "{from}");
                continue;
            }
            assert!(
                with.delivered_bytes > without.delivered_bytes,
                "{profile} {from}"
            );
            // The link is back at 14 s, and new data arrives half a round trip or a whole one later.
            let longest = 4.0 + 0.4 + 0.6;
            assert!(
                with.longest_stall_s < longest,
                "{profile} {from}: {}",
                with.longest_stall_s
            );
            assert!(without.longest_stall_s > with.longest_stall_s + 0.5);
        }
    }
}

/// A sender that was shut out probes, so that a lost acknowledgment does not stop it forever (RFC 9293 section
/// 3.8.6.1).
#[test]
fn no_remedy_stops_a_transfer_for_good() {
    let timetable = r#"
        [mobiles.mobile]
        timetable = [
            { at = "0 s", attach = "wifi" },
            { at = "5 s", attach = "satellite", handover = "hard", outage = "700 ms", announced = "5 ms" },
            { at = "12 s", attach = "wifi", handover = "hard", outage = "3 s", announced = "1 s" },
            { at = "20 s", attach = "satellite", announced = "300 ms" },
            { at = "25 s", attach = "wifi" },
        ]
        [[changes]]
        at = "29 s"
        link = "wifi"
        state = "down"
        [[changes]]
        at = "31 s"
        link = "wifi"
        state = "up"
    "#;
    // That remedy needs a base station's help; no loss here is one that the base station could repair.
    let links = LINKS.to_owned() + "retransmission = { attempts = 8 }\n";
    let own = |kind: &&Kind| kind.tells() != baton_proto::remedies::Tells::BindingUpdate;
    for kind in Kind::ALL.iter().filter(own) {
        for profile in ["ns2", "linux-6"] {
            let remedies = format!("[\"{}\"]", kind.name());
            let flow = transfer("server", "mobile", profile, &remedies);
            let results = run(&scenario(60, &[&links, timetable, &flow]));
            let flow = super::flow(&results.summary, "f");
            // Twenty seconds and more of WiFi are left after the last change: a tenth of that must be used.
            assert!(
                flow.delivered_bytes > 3_000_000,
                "{} {profile}: {}",
                kind.name(),
                flow.delivered_bytes
            );
        }
    }
}

pub(super) fn refused(parts: &[&str]) -> String {
    match scenario::parse(&scenario(40, parts), "test", Path::new("."), &[]) {
        Ok(_) => panic!("taken"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn what_cannot_act_or_contradicts_is_refused_with_the_reason() {
    let down = |remedies: &str| transfer("server", "mobile", "rfc", remedies);
    let up = |remedies: &str| transfer("mobile", "server", "rfc", remedies);
    for (flow, reason) in [
        (down("[\"freeze\"]"), "unknown remedies \"freeze\""),
        (
            up("[\"freeze-tcp\"]"),
            "acts when the mobile receives; here it sends",
        ),
        (
            up("[\"method-2\"]"),
            "acts when the correspondent sends; here the mobile does",
        ),
        (
            down("[\"method-2\"]"),
            "learns of a handover from a binding update",
        ),
        (
            up("[\"astart\"]"),
            "acts when the correspondent sends; here the mobile does",
        ),
        (
            down("[\"astart\"]"),
            "learns of a handover from a binding update",
        ),
        (
            up("[\"faster-timeout-decrease\", \"timeout-reset\"]"),
            "contradict each other: both set the retransmission timeout",
        ),
        (
            down("[\"eclair\", \"freeze-tcp\"]"),
            "contradict each other: both set the window that the receiver offers",
        ),
        (
            transfer("server", "gateway", "rfc", "[\"atcp\"]"),
            "needs a mobile end",
        ),
    ] {
        let said = refused(&[LINKS, HARD, &flow]);
        assert!(said.contains(reason), "{said}");
    }
}
