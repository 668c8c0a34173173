//! Failback in a whole world: the times at which links are left and returned to, and the cost.

use super::*;

/// Runs steady datagrams of 500 B every 10 ms; `good` takes 4 + 5 ms, `spare` 8 + 30 ms.
fn world(times: &str, changes: &[(&str, &str)]) -> Results {
    let links = r#"
        [links.wire]
        between = ["server", "router"]
        kind = "wired"
        rate = "100 Mbit/s"
        delay = "0 ms"
        [links.good]
        between = ["router", "laptop"]
        kind = "wired"
        rate = "1 Mbit/s"
        delay = "5 ms"
        [links.spare]
        between = ["router", "laptop"]
        kind = "wired"
        rate = "500 kbit/s"
        delay = "30 ms"
        [[flows]]
        name = "f"
        from = "server"
        to = "laptop"
        transport = "udp"
        traffic.kind = "constant"
        traffic.rate = "377600 bit/s"
        traffic.packet_size = "472 B"
    "#;
    let mobile =
        format!("[mobiles.laptop]\nfailback = {{ prefer = [\"good\", \"spare\"], {times} }}\n");
    let changes: String = changes
        .iter()
        .map(|(at, state)| {
            format!("[[changes]]\nat = \"{at}\"\nlink = \"good\"\nstate = \"{state}\"\n")
        })
        .collect();
    run(&scenario(30, &[links, &mobile, &changes]))
}

const TIMES: &str = "hold_time = \"3 s\", hysteresis = \"8 s\", longest_switch_time = \"50 ms\"";

/// Returns the time of each attachment, and its link.
fn attachments(results: &Results) -> Vec<(f64, f64)> {
    series(results, "mobile laptop", "attached link")
}

#[test]
fn a_lost_link_is_left_in_time_and_returned_to_without_loss_or_burst() {
    let results = world(TIMES, &[("5.005 s", "down"), ("10 s", "up")]);
    assert_eq!(
        attachments(&results),
        [(0.0, 1.0), (5.055, 2.0), (13.0, 1.0)]
    );
    let [lost, returned] = &results.summary.handovers[..] else {
        panic!("{:?}", results.summary.handovers);
    };
    // The datagram of 5.0 s was in flight when the link broke; five, of 5.01 to 5.05 s, were sent into it until the
    // switch.
    assert_eq!(
        (lost.at_s, lost.completed_s, lost.kind),
        (5.005, Some(5.055), "hard")
    );
    assert_eq!((lost.lost_packets, lost.flows[0].lost_packets), (6, 6));
    // The one of 4.99 s arrives at 4.99904 s; the one of 5.06 s on the spare link 38.04 ms after it was sent.
    near(lost.flows[0].stall_s, 5.06 + 0.03804 - 5.0, 1e-6);
    // The return is soft: nothing is lost, and early datagrams of the faster link overlap with the last of the slower.
    // Two streams of one datagram every 10 ms bring at most two in 10 ms, which is no burst.
    assert_eq!(
        (returned.at_s, returned.kind, returned.lost_packets),
        (13.0, "soft", 0)
    );
    let mut arrivals: Vec<i64> = packets(&results)
        .iter()
        .filter(|row| row.down && row.link != "wire" && row.is_delivered())
        .filter_map(|row| row.decided)
        .filter(|at| (12_900_000_000..13_200_000_000).contains(at))
        .collect();
    arrivals.sort_unstable();
    let in_10_ms = |from: &i64| {
        arrivals
            .iter()
            .filter(|at| (*from..from + 10_000_000).contains(*at))
            .count()
    };
    assert_eq!(arrivals.iter().map(in_10_ms).max(), Some(2));
    // All datagrams have arrived but for those six and the last one, which leaves at 30 s.
    assert_eq!(
        flow(&results.summary, "f").delivered_bytes / 472,
        3001 - 6 - 1
    );
}

#[test]
fn a_break_shorter_than_the_switch_time_is_sat_out() {
    let results = world(TIMES, &[("5.005 s", "down"), ("5.045 s", "up")]);
    assert_eq!(attachments(&results), [(0.0, 1.0)]);
    assert!(results.summary.handovers.is_empty());
    // One was in flight; four were sent into the dead link, at 5.01 to 5.04 s.
    assert_eq!(flow(&results.summary, "f").lost_packets, 5);
}

#[test]
fn a_link_that_comes_and_goes_is_not_followed() {
    let changes = [
        ("5 s", "down"),
        ("6 s", "up"),
        ("8 s", "down"),  // before the hold time is over
        ("8.5 s", "up"),  // held at 11.5 s: the first return
        ("12 s", "down"), // lost again
        ("13 s", "up"),   // held at 16 s, but the last return was at 11.5 s: 19.5 s
    ];
    let results = world(TIMES, &changes);
    let expected = [
        (0.0, 1.0),
        (5.05, 2.0),
        (11.5, 1.0),
        (12.05, 2.0),
        (19.5, 1.0),
    ];
    assert_eq!(attachments(&results), expected);
}

/// Returns the second handover of a TCP transfer: `good` is down from 1 s to 10 s, and 3 s later the mobile breaks
/// `spare` to return. A round trip on `spare` with 20 packets in its queue takes 60 + 20 * 24 + 2 * 24 ms.
fn broken_first(from: &str, to: &str, remedies: &str) -> crate::world::summary::HandoverSummary {
    let links = r#"
        [links.good]
        between = ["server", "laptop"]
        kind = "wired"
        rate = "1 Mbit/s"
        delay = "5 ms"
        [links.spare]
        between = ["server", "laptop"]
        kind = "wired"
        rate = "500 kbit/s"
        delay = "30 ms"
        queue = "20 packets"
        [mobiles.laptop]
        failback = { prefer = ["good", "spare"], hold_time = "3 s", handover = "hard" }
        [[changes]]
        at = "1 s"
        link = "good"
        state = "down"
        [[changes]]
        at = "10 s"
        link = "good"
        state = "up"
    "#;
    let flow = format!(
        "[[flows]]\nname = \"f\"\nfrom = \"{from}\"\nto = \"{to}\"\nremedies = {remedies}\n\
         transport = {{ profile = \"rfc\", maximum_segment_size = \"1460 B\" }}\n"
    );
    let results = run(&scenario(30, &[links, &flow]));
    let [_, returned] = &results.summary.handovers[..] else {
        panic!("{:?}", results.summary.handovers);
    };
    returned.clone()
}

#[test]
fn a_link_is_broken_a_round_trip_after_its_announcement_and_nothing_is_lost_with_a_scheme() {
    for (from, to) in [("server", "laptop"), ("laptop", "server")] {
        let returned = broken_first(from, to, "[\"eclair\"]");
        near(returned.at_s, 13.588, 1e-9);
        assert_eq!(
            (returned.kind, returned.lost_packets),
            ("hard", 0),
            "{from}"
        );
        let returned = broken_first(from, to, "\"none\"");
        near(returned.at_s, 13.588, 1e-9);
        assert!(returned.lost_packets > 1, "{from}");
    }
}
