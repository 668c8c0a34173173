//! Remedies of the network: a base station that retransmits and notifies, queues that are rerouted at a handover,
//! shapers and policers where flows share a satellite.

use super::*;

/// A base station whose link retransmits: 256 kbit/s, an attempt at 1500 B every 96.875 ms. Nothing passes from 10 s to
/// 14 s, the bad state of Bakshi et al. (study T, section 4.1.3).
const RADIO: &str = r#"
    [links.wire]
    between = ["server", "station"]
    kind = "wired"
    rate = "10 Mbit/s"
    delay = "5 ms"
    [links.radio]
    between = ["station", "phone"]
    kind = "wired"
    rate = "256 kbit/s"
    delay = "10 ms"
    retransmission = { attempts = 1000, pause = "50 ms" }
"#;

const BAD_STATE: &str = r#"
    [[changes]]
    at = "10 s"
    link = "radio"
    packet_error_rate = 1.0
    [[changes]]
    at = "14 s"
    link = "radio"
    packet_error_rate = 0.0
"#;

fn transfer(profile: &str, remedy: &str) -> String {
    format!(
        "[[flows]]\nname = \"f\"\nfrom = \"server\"\nto = \"phone\"\ntransport.profile = \"{profile}\"\nremedies = \"{remedy}\"\n\
         transport.receive_buffer = \"16 KiB\"\n"
    )
}

#[test]
fn a_bad_state_of_four_seconds_makes_plain_tcp_time_out_and_not_with_notifications() {
    for profile in ["rfc", "ns2", "linux-6"] {
        let outcome = |remedy: &str| {
            let flow = transfer(profile, remedy);
            let results = run(&scenario(40, &[RADIO, BAD_STATE, &flow]));
            super::flow(&results.summary, "f").clone()
        };
        let (plain, told) = (outcome("none"), outcome("ebsn"));
        assert!(plain.timeouts >= Some(1), "{profile}: {plain:?}");
        assert!(plain.retransmitted.unwrap() >= 1, "{profile}");
        assert_eq!(told.timeouts, Some(0), "{profile}");
        assert_eq!(told.retransmitted.unwrap(), 0, "{profile}");
        // Nothing is lost, and nothing sent twice: all time but the bad state is used, at 256 kbit/s with headers of at
        // most 52 B in 1500.
        let most = 36.0 * 256_000.0 / 8.0 * 1448.0 / 1500.0;
        let delivered = told.delivered_bytes as f64;
        assert!(delivered > 0.97 * most, "{profile}: {delivered} of {most}");
        assert!(told.delivered_bytes >= plain.delivered_bytes, "{profile}");
    }
}

#[test]
fn each_attempt_that_fails_is_told_at_once() {
    let results = run(&scenario(40, &[RADIO, BAD_STATE, &transfer("rfc", "ebsn")]));
    // IP, ICMP, and of the segment IP and eight bytes.
    let notices: Vec<PacketRow> = packets(&results)
        .into_iter()
        .filter(|row| row.flow.is_empty() && row.link == "wire" && !row.down)
        .collect();
    assert!(
        notices
            .iter()
            .all(|row| row.wire_bytes == 56 && row.is_delivered())
    );
    let sent: Vec<i64> = notices.iter().map(|row| row.sent).collect();
    let attempt = 46_875_000 + 50_000_000;
    assert!(
        sent.windows(2).all(|pair| pair[1] - pair[0] == attempt),
        "{sent:?}"
    );
    assert!((10.0..10.1).contains(&(sent[0] as f64 / 1e9)));
    assert!((13.85..14.0).contains(&(*sent.last().unwrap() as f64 / 1e9)));
    // A flow without the remedy costs none.
    let results = run(&scenario(40, &[RADIO, BAD_STATE, &transfer("rfc", "none")]));
    assert!(packets(&results).iter().all(|row| !row.flow.is_empty()));
}

/// Study T, section 4.1.3: stays of 10 s and 4 s, here at random.
#[test]
fn with_two_states_notifications_save_timeouts_and_gain_throughput() {
    let bursts =
        RADIO.to_owned() + "down = { burst_loss = { mean_good = \"10 s\", mean_bad = \"4 s\" } }\n";
    let mut sums = [(0, 0), (0, 0)];
    for seed in 1..=3 {
        for (remedy, sum) in ["none", "ebsn"].into_iter().zip(&mut sums) {
            let text = scenario(
                300,
                &[&format!("seed = {seed}"), &bursts, &transfer("rfc", remedy)],
            );
            let results = run(&text);
            let flow = super::flow(&results.summary, "f");
            sum.0 += flow.timeouts.unwrap();
            sum.1 += flow.delivered_bytes;
        }
    }
    let [(plain_timeouts, plain), (timeouts, told)] = sums;
    assert!(plain_timeouts >= 40, "{plain_timeouts}");
    // A SYN carries no data, and causes no notification.
    assert!(timeouts <= 3, "{timeouts}");
    assert!(told > plain, "{told} {plain}");
}

#[test]
fn a_sender_at_the_link_itself_hears_without_a_message() {
    let radio = RADIO.replace("\"station\", \"phone\"", "\"server\", \"phone\"");
    let radio = radio.replace("\"server\", \"station\"", "\"station\", \"server\"");
    let results = run(&scenario(
        40,
        &[&radio, BAD_STATE, &transfer("rfc", "ebsn")],
    ));
    assert_eq!(super::flow(&results.summary, "f").timeouts, Some(0));
    assert!(
        packets(&results)
            .iter()
            .all(|row| row.link == "radio" && !row.flow.is_empty())
    );
}

/// 1028 B take 82.24 ms on the slow link, which is offered three times its rate.
const SLOW_AND_FAST: &str = r#"
    [links.core]
    between = ["server", "router"]
    kind = "wired"
    [links.slow]
    between = ["router", "laptop"]
    kind = "wired"
    rate = "100 kbit/s"
    delay = "100 ms"
    queue = "50 packets"
    flow_control = "2 packets"
    [links.fast]
    between = ["router", "laptop"]
    kind = "wired"
    rate = "10 Mbit/s"
    delay = "1 ms"
"#;

fn constant(from: &str, to: &str) -> String {
    format!(
        "[[flows]]\nname = \"f\"\nfrom = \"{from}\"\nto = \"{to}\"\ntransport = \"udp\"\ntraffic.kind = \"constant\"\n\
         traffic.rate = \"300 kbit/s\"\ntraffic.packet_size = \"1000 B\"\n"
    )
}

fn handover_at_5_s(keys: &str) -> String {
    format!(
        "[mobiles.laptop]\ntimetable = [{{ at = \"0 s\", attach = \"slow\" }}, {{ at = \"5 s\", attach = \"fast\", {keys} }}]\n"
    )
}

/// Returns the rows of a flow in a handover with these keys, and its losses.
fn moved(from: &str, to: &str, keys: &str) -> (Vec<PacketRow>, u64) {
    let parts = [SLOW_AND_FAST, &handover_at_5_s(keys), &constant(from, to)];
    let results = run(&scenario(20, &parts));
    let lost = results.summary.handovers[0].lost_packets;
    (packets(&results), lost)
}

/// Returns the packets that arrive over a link after the handover: send time in ms, and number.
fn over<'a>(rows: &'a [PacketRow], link: &'a str) -> impl Iterator<Item = (i64, u64)> + 'a {
    let own = rows
        .iter()
        .filter(move |row| row.link == link && row.is_delivered());
    own.map(|row| (row.sent / 1_000_000, row.number))
}

fn last_arrival(rows: &[PacketRow], link: &str) -> f64 {
    let own = rows
        .iter()
        .filter(|row| row.link == link && row.is_delivered());
    own.map(PacketRow::decided_s).fold(0.0, f64::max)
}

#[test]
fn what_waits_at_ip_takes_the_new_link_in_order_and_the_old_one_delivers_its_own() {
    let (rows, lost) = moved("server", "laptop", "old_queue = \"reroute\"");
    assert_eq!(lost, 0);
    let at_once = over(&rows, "fast")
        .filter(|&(sent, _)| sent == 5_000)
        .count();
    // 49 or 50 packets wait, two of them in the link itself.
    assert!((47..=48).contains(&at_once), "{at_once}");
    let numbers: Vec<u64> = over(&rows, "fast").map(|(_, number)| number).collect();
    assert!(numbers.is_sorted());
    // One in service and two that wait: at most 3 · 82.24 ms and the delay.
    let last = last_arrival(&rows, "slow");
    assert!(
        last > 5.1 + 2.0 * 0.08224 && last < 5.1 + 3.0 * 0.08224,
        "{last}"
    );
    // Without rerouting the old link continues to deliver for 51 packets.
    let (rows, _) = moved("server", "laptop", "handover = \"soft\"");
    let last = last_arrival(&rows, "slow");
    assert!(
        last > 5.1 + 49.0 * 0.08224 && last < 5.1 + 51.0 * 0.08224,
        "{last}"
    );
    assert_eq!(
        over(&rows, "fast")
            .filter(|&(sent, _)| sent < 5_020)
            .count(),
        1
    );
}

#[test]
fn a_link_that_breaks_loses_what_it_held_and_the_rest_waits_for_the_new_one() {
    let outage = "handover = \"hard\", outage = \"1 s\"";
    let (rows, lost) = moved(
        "server",
        "laptop",
        &format!("{outage}, old_queue = \"reroute\""),
    );
    // Two packets wait, one is in service and, with 100 ms of delay, one or two are in flight.
    assert!((4..=5).contains(&lost), "{lost}");
    let fast: Vec<(i64, u64)> = over(&rows, "fast").collect();
    let at_once = fast.iter().filter(|&&(sent, _)| sent == 6_000).count();
    // The queue at IP is full except for two when the link breaks, and then fills up to its limit of 50.
    assert_eq!(at_once, 50);
    assert!(fast.iter().all(|&(sent, _)| sent >= 6_000));
    assert!(fast.is_sorted_by_key(|&(_, number)| number));
    let (rows, lost) = moved(
        "server",
        "laptop",
        &format!("{outage}, old_queue = \"discard\""),
    );
    // All packets that it held, and those that came in a second: 300 000 / 8000.
    assert!((87..=92).contains(&lost), "{lost}");
    assert!(over(&rows, "fast").all(|(sent, _)| sent >= 6_000));
}

#[test]
fn a_mobile_s_own_packets_are_rerouted_when_its_packets_leave_the_old_link() {
    let keys = "old_queue = \"reroute\", outgoing_after = \"500 ms\"";
    let (rows, lost) = moved("laptop", "server", keys);
    assert_eq!(lost, 0);
    let fast: Vec<(i64, u64)> = over(&rows, "fast").collect();
    assert!(fast.is_sorted_by_key(|&(_, number)| number));
    assert_eq!(fast[0].0, 5_500);
    let at_once = fast.iter().filter(|&&(sent, _)| sent == 5_500).count();
    assert!((47..=48).contains(&at_once), "{at_once}");
}

/// TCP loses nothing in either direction, and continues at once at the new rate.
#[test]
fn a_rerouted_transfer_uses_the_new_link_at_once() {
    let fill = |queue: &str| {
        let flow = "[[flows]]\nname = \"f\"\nfrom = \"server\"\nto = \"laptop\"\ntransport.profile = \"rfc\"\n\
                    transport.receive_buffer = \"64 KiB\"\n";
        let keys = format!("old_queue = \"{queue}\"");
        let parts = [SLOW_AND_FAST, &handover_at_5_s(&keys), flow];
        let results = run(&scenario(20, &parts));
        super::flow(&results.summary, "f").delivered_bytes
    };
    let (rerouted, delivered) = (fill("reroute"), fill("deliver"));
    assert!(rerouted > delivered, "{rerouted} {delivered}");
}

/// Keys of a mobile registered with the router, its care-of addresses known at once, and that agent.
fn registered(protocol: &str, keys: &str) -> String {
    let prefix = match protocol {
        "mobile-ipv4" => "192.0.2.0/24",
        _ => "2001:db8:1::/64",
    };
    format!(
        "mobility = {{ protocol = \"{protocol}\", home_agent = \"router\", {keys} }}\n\
         [home_agents.router]\nprefix = \"{prefix}\"\n"
    )
}

const PROTOCOLS: [(&str, &str); 5] = [
    ("mobile-ipv4", "care_of_address = \"known\""),
    (
        "mobile-ipv4",
        "care_of_address = \"known\", encapsulation = \"gre\"",
    ),
    (
        "mobile-ipv4",
        "care_of_address = \"known\", delivery = \"reverse-tunnel\", encapsulation = \"minimal\"",
    ),
    (
        "mobile-ipv4",
        "care_of_address = \"known\", delivery = \"reverse-tunnel\"",
    ),
    (
        "mobile-ipv6",
        "duplicate_address_detection = \"unique-prefix\", advertisements = \"at-link-up\"",
    ),
];

/// Of some fifty packets that wait, two are in the link itself.
#[test]
fn a_home_agent_tunnels_what_waits_anew_at_the_binding() {
    for (protocol, keys) in PROTOCOLS {
        let mobility = registered(protocol, keys);
        let handover = handover_at_5_s("old_queue = \"reroute\"");
        let flow = constant("server", "laptop");
        let results = run(&scenario(20, &[SLOW_AND_FAST, &handover, &mobility, &flow]));
        assert_eq!(results.summary.handovers[0].lost_packets, 0, "{protocol}");
        let rows = packets(&results);
        let data: Vec<PacketRow> = rows.into_iter().filter(|row| row.flow == "f").collect();
        let fast: Vec<(i64, u64)> = over(&data, "fast").collect();
        assert!(fast.is_sorted_by_key(|&(_, number)| number), "{protocol}");
        // The request, or the update, needs a millisecond and a little more.
        let bound = fast[0].0;
        assert!((5_001..5_100).contains(&bound), "{protocol}: {bound}");
        let at_once = fast.iter().filter(|&&(sent, _)| sent == bound).count();
        assert!((46..=49).contains(&at_once), "{protocol}: {at_once}");
        let last = last_arrival(&data, "slow");
        assert!(last < 5.1 + 4.0 * 0.0842, "{protocol}: {last}");
    }
}

#[test]
fn a_home_agent_tunnels_what_a_broken_link_held_back() {
    for (protocol, keys) in PROTOCOLS {
        let mobility = registered(protocol, keys);
        let hard =
            handover_at_5_s("handover = \"hard\", outage = \"1 s\", old_queue = \"reroute\"");
        let flow = constant("server", "laptop");
        let results = run(&scenario(20, &[SLOW_AND_FAST, &hard, &mobility, &flow]));
        let rows = packets(&results);
        let data: Vec<PacketRow> = rows.into_iter().filter(|row| row.flow == "f").collect();
        let fast: Vec<(i64, u64)> = over(&data, "fast").collect();
        let bound = fast[0].0;
        assert!((6_001..6_100).contains(&bound), "{protocol}: {bound}");
        let at_once = fast.iter().filter(|&&(sent, _)| sent == bound).count();
        assert!((50..=51).contains(&at_once), "{protocol}: {at_once}");
        assert!(fast.is_sorted_by_key(|&(_, number)| number), "{protocol}");
    }
}

#[test]
fn a_registered_mobile_s_own_packets_are_addressed_anew() {
    for (protocol, keys) in PROTOCOLS {
        let mobility = registered(protocol, keys);
        let handover = handover_at_5_s("old_queue = \"reroute\"");
        let flow = constant("laptop", "server");
        let results = run(&scenario(20, &[SLOW_AND_FAST, &handover, &mobility, &flow]));
        assert_eq!(results.summary.handovers[0].lost_packets, 0, "{protocol}");
        let rows = packets(&results);
        let data: Vec<PacketRow> = rows.into_iter().filter(|row| row.flow == "f").collect();
        let fast: Vec<(i64, u64)> = over(&data, "fast").collect();
        // The answer needs another millisecond.
        let complete = fast[0].0;
        assert!((5_002..5_100).contains(&complete), "{protocol}: {complete}");
        let at_once = fast.iter().filter(|&&(sent, _)| sent == complete).count();
        assert!((46..=49).contains(&at_once), "{protocol}: {at_once}");
        assert!(fast.is_sorted_by_key(|&(_, number)| number), "{protocol}");
        // All of them reach the server under the home address.
        let flow = super::flow(&results.summary, "f");
        assert!(flow.delivered_bytes > 500_000, "{protocol}");
    }
}

#[test]
fn rerouting_is_refused_where_it_cannot_act() {
    let refused = |parts: &[&str]| {
        let text = scenario(20, parts);
        let loaded = scenario::parse(&text, "test", Path::new("."), &[]);
        loaded
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default()
    };
    let handover = handover_at_5_s("old_queue = \"reroute\"");
    let without = SLOW_AND_FAST.replace("flow_control = \"2 packets\"", "");
    let message = refused(&[&without, &handover]);
    assert!(
        message.contains("no packet waits at IP before \"slow\""),
        "{message}"
    );
    // The agent at the server has no end of the slow link.
    for (protocol, prefix) in [
        ("mobile-ipv6", "2001:db8:1::/64"),
        ("mobile-ipv4", "192.0.2.0/24"),
    ] {
        let at = |agent: &str| {
            format!(
                "mobility = {{ protocol = \"{protocol}\", home_agent = \"{agent}\" }}\n\
                 [home_agents.{agent}]\nprefix = \"{prefix}\"\n"
            )
        };
        let message = refused(&[SLOW_AND_FAST, &handover, &at("server")]);
        assert!(
            message.contains("only its home agent \"server\" can change that"),
            "{message}"
        );
        assert_eq!(refused(&[SLOW_AND_FAST, &handover, &at("router")]), "");
    }
}

#[test]
fn notifications_are_refused_where_no_base_station_can_send_them() {
    let refused = |parts: &[&str]| {
        let text = scenario(20, parts);
        let loaded = scenario::parse(&text, "test", Path::new("."), &[]);
        loaded
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default()
    };
    let flow = transfer("rfc", "ebsn");
    assert_eq!(refused(&[RADIO, &flow]), "");
    let once = RADIO.replace("retransmission", "#");
    let message = refused(&[&once, &flow]);
    assert!(
        message.contains("expected `retransmission` at one of `links`"),
        "{message}"
    );
    let datagrams = constant("server", "phone") + "remedies = \"ebsn\"\n";
    let message = refused(&[RADIO, &datagrams]);
    assert!(message.contains("acts on TCP"), "{message}");
    let wifi = "[links.air]\nbetween = [\"a\", \"b\"]\nkind = \"wifi\"\nretransmission = { attempts = 3 }\n";
    let message = refused(&[wifi]);
    assert!(
        message.contains("medium access already retransmits"),
        "{message}"
    );
}

/// A satellite as in study S, 2 Mbit/s and 250 ms, and on it NewReno beside unresponsive datagrams at 1.9 Mbit/s.
const SATELLITE: &str = r#"
    [links.wire]
    between = ["server", "gateway"]
    kind = "wired"
    [[flows]]
    name = "newreno"
    from = "server"
    to = "train"
    transport.profile = "ns2"
    transport.receive_buffer = "400 kB"
    transport.congestion = "newreno"
    [[flows]]
    name = "datagrams"
    from = "server"
    to = "train"
    transport = "udp"
    traffic.kind = "constant"
    traffic.rate = "1.9 Mbit/s"
    traffic.packet_size = "1000 B"
    [links.satellite]
    between = ["gateway", "train"]
    kind = "wired"
    rate = "2 Mbit/s"
    delay = "250 ms"
    queue = "35 packets"
"#;

/// Study S, section 8: "traffic shapers/policers could also be used to enforce fairness among flows, as supported by SI-SAP".
#[test]
fn shapers_give_equal_shares_to_flows_that_do_not_share_alike() {
    let shares = |keys: &str| {
        let results = run(&scenario(400, &[SATELLITE, keys]));
        let names = ["newreno", "datagrams"];
        names.map(|name| super::flow(&results.summary, name).delivered_bytes as f64)
    };
    let jain = |[one, other]: [f64; 2]| (one + other).powi(2) / (2.0 * (one * one + other * other));
    let unshaped = shares("");
    let shaped = shares(
        "shapers = [{ flows = [\"newreno\", \"datagrams\"], per_flow = true, rate = \"1 Mbit/s\", \
         burst = \"3000 B\", queue = \"60 packets\" }]\n",
    );
    assert!(jain(unshaped) < 0.8, "{unshaped:?}");
    assert!(jain(shaped) > 0.99, "{shaped:?}");
    // No more than the rate and the burst.
    let most = 400.0 * 1e6 / 8.0 + 3000.0;
    assert!(
        shaped
            .iter()
            .all(|&bytes| bytes < most && bytes > 0.85 * most),
        "{shaped:?}"
    );
}

#[test]
fn a_policer_passes_what_its_bucket_holds_and_drops_the_rest() {
    // 1028 B every 27.413 ms are 300 kbit/s; the bucket takes 100 kbit/s.
    let policed = "policers = [{ flows = [\"f\"], rate = \"100 kbit/s\", burst = \"10280 B\", direction = \"up\" }]\n";
    let pair = PAIR.replace("\"a\", \"b\"", "\"b\", \"a\"") + policed;
    let results = run(&scenario(100, &[&pair, &constant("a", "b")]));
    let rows = packets(&results);
    let passed = rows.iter().filter(|row| row.is_delivered()).count() as f64;
    // Ten packets, and 100 s at 100 kbit/s; up to one packet's credit is left.
    let allowed = 10.0 + 100.0 * 100_000.0 / 8.0 / 1028.0;
    assert!(
        passed <= allowed && passed > allowed - 2.5,
        "{passed} of {allowed}"
    );
    assert!(rows.iter().any(|row| row.fate == "policer"));
}

#[test]
fn regulators_are_refused_that_nothing_could_pass() {
    let refused = |keys: &str| {
        let text = scenario(20, &[PAIR, keys, &constant("a", "b")]);
        let loaded = scenario::parse(&text, "test", Path::new("."), &[]);
        loaded
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default()
    };
    let policer = |flows: &str, rate: &str, burst: &str| {
        refused(&format!(
            "policers = [{{ flows = {flows}, rate = \"{rate}\", burst = \"{burst}\" }}]\n"
        ))
    };
    assert_eq!(policer("[\"f\"]", "1 Mbit/s", "1500 B"), "");
    assert!(
        policer("[\"f\"]", "1 Mbit/s", "1499 B")
            .contains("a full packet of 1500 B would never pass")
    );
    assert!(policer("[\"g\"]", "1 Mbit/s", "1500 B").contains("unknown flow \"g\""));
    assert!(policer("[\"f\", \"f\"]", "1 Mbit/s", "1500 B").contains("already regulated"));
}
