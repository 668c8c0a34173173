//! Packet sizes in tunnels, in whole worlds whose links all take 1500 B: 1460 B of the packet inside (RFC 2473
//! section 7).

use super::*;
use std::collections::BTreeMap;

/// Two aircraft abroad, each in a cell of its own, and a correspondent on the ground.
pub(super) const LINKS: &str = r#"
    [links.north-cell]
    between = ["north", "aircraft"]
    kind = "wired"
    rate = "10 Mbit/s"
    delay = "20 ms"
    queue = "2000 packets"
    [links.south-cell]
    between = ["south", "other"]
    kind = "wired"
    rate = "10 Mbit/s"
    delay = "20 ms"
    queue = "2000 packets"
    [links.home-ground]
    between = ["home-agent", "hub"]
    kind = "wired"
    rate = "100 Mbit/s"
    delay = "5 ms"
    [links.north-ground]
    between = ["north", "hub"]
    kind = "wired"
    rate = "100 Mbit/s"
    delay = "5 ms"
    [links.south-ground]
    between = ["south", "hub"]
    kind = "wired"
    rate = "100 Mbit/s"
    delay = "5 ms"
    [links.ground]
    between = ["correspondent", "hub"]
    kind = "wired"
    rate = "100 Mbit/s"
    delay = "5 ms"
"#;

/// Returns both aircraft and their home agent, with this key set or not.
pub(super) fn aircraft(clamp: bool) -> String {
    let mobile = |name: &str, cell: &str| {
        format!(
            "[mobiles.{name}]\ntimetable = [{{ at = \"0 s\", attach = \"{cell}\" }}]\n\
             mobility = {{ protocol = \"mobile-ipv6\", home_agent = \"home-agent\", clamp_segment_size = {clamp} }}\n"
        )
    };
    format!(
        "[home_agents.home-agent]\nprefix = \"2001:db8:1::/64\"\nclamp_segment_size = {clamp}\n{}{}",
        mobile("aircraft", "north-cell"),
        mobile("other", "south-cell")
    )
}

fn transfer(from: &str, to: &str) -> String {
    format!(
        "[[flows]]\nname = \"map\"\nfrom = \"{from}\"\nto = \"{to}\"\ntraffic.bytes = \"1 MB\"\nstart = \"5 s\"\n"
    )
}

/// Returns the lengths of the flow's packets with data on a link, by the times of their sending.
fn lengths(results: &Results, link: &str) -> Vec<u32> {
    let rows = packets(results);
    let of = rows
        .iter()
        .filter(|row| row.link == link && row.flow == "map" && row.payload > 0);
    let mut sent: Vec<(i64, u32)> = of.map(|row| (row.sent, row.wire_bytes)).collect();
    sent.sort_unstable();
    sent.into_iter().map(|(_, length)| length).collect()
}

/// The first whole segments do not fit; each source gets an error (from the home agent, or on its own host), and its
/// segments fill the tunnel from then on. Down, up, and from one mobile to the other through both tunnels.
#[test]
fn whole_segments_fill_the_tunnel_after_a_packet_too_big() {
    for (from, to, cell) in [
        ("correspondent", "aircraft", "north-cell"),
        ("aircraft", "correspondent", "north-cell"),
        ("aircraft", "other", "south-cell"),
    ] {
        let results = run(&scenario(
            60,
            &[LINKS, &aircraft(false), &transfer(from, to)],
        ));
        let map = flow(&results.summary, "map");
        assert_eq!(
            (map.delivered_bytes, map.failure.as_deref()),
            (1_000_000, None),
            "{from} {to}"
        );
        assert_eq!(map.timeouts, Some(0), "{from} {to}: {map:?}");
        let inside = lengths(&results, cell);
        let whole = inside.iter().filter(|length| **length == 1500).count();
        // 1388 B of data in each: 1500 less two IPv6 headers, TCP's and its timestamps. The rest went in the pieces of
        // the first segments.
        assert!(
            whole >= 1_000_000 / 1388 * 9 / 10,
            "{from} {to}: {whole} of {}",
            inside.len()
        );
    }
}

/// On the direct way a routing header or a home address option takes 24 bytes of a link's MTU (RFC 6275 sections 6.3
/// and 6.4). The transport learns that the first whole segments do not fit, and leaves room for the headers.
#[test]
fn whole_segments_fit_beside_the_headers_of_route_optimization() {
    let keys = "route_optimization = true, clamp_segment_size = false }";
    let optimizing = aircraft(false).replace("clamp_segment_size = false }", keys);
    // With it the direct way is there before the transfer begins.
    let ping = "[[flows]]\nname = \"ping\"\nfrom = \"aircraft\"\nto = \"correspondent\"\ntraffic.kind = \"ping\"\nstart = \"3 s\"\n";
    for (from, to) in [("correspondent", "aircraft"), ("aircraft", "correspondent")] {
        let results = run(&scenario(
            60,
            &[LINKS, &optimizing, ping, &transfer(from, to)],
        ));
        let map = flow(&results.summary, "map");
        assert_eq!(
            (map.delivered_bytes, map.timeouts),
            (1_000_000, Some(0)),
            "{from} {to}"
        );
        let whole = lengths(&results, "north-cell");
        let whole = whole.iter().filter(|length| **length == 1500).count();
        // 1404 B of data in each: 1500 less an IPv6 header, 24 B, TCP's header and its timestamps.
        assert!(whole >= 1_000_000 / 1404 * 9 / 10, "{from} {to}: {whole}");
    }
}

/// A narrower link inside the tunnel's path: its router's error concerns the tunnel, and the home agent reports it to
/// the source of the packet inside (RFC 2473 section 8.2).
#[test]
fn an_error_from_inside_the_tunnel_reaches_the_source() {
    let narrow = LINKS.replace(
        "[links.north-ground]",
        "[links.north-ground]\n    mtu = \"1400 B\"",
    );
    for (from, to) in [("correspondent", "aircraft"), ("aircraft", "correspondent")] {
        let results = run(&scenario(
            60,
            &[&narrow, &aircraft(false), &transfer(from, to)],
        ));
        let map = flow(&results.summary, "map");
        assert_eq!(
            (map.delivered_bytes, map.failure.as_deref()),
            (1_000_000, None),
            "{from} {to}"
        );
        assert!(results.summary.discarded.too_big > 0, "{from} {to}");
        let inside = lengths(&results, "north-ground");
        let whole = inside.iter().filter(|length| **length == 1400).count();
        assert!(
            whole >= 1_000_000 / 1288 * 9 / 10,
            "{from} {to}: {whole} of {}",
            inside.len()
        );
    }
}

/// With the maximum segment size clamped on the way no packet is too large.
#[test]
fn clamped_segments_fit_from_the_first_on() {
    for (from, to) in [
        ("correspondent", "aircraft"),
        ("aircraft", "correspondent"),
        ("aircraft", "other"),
    ] {
        let results = run(&scenario(
            60,
            &[LINKS, &aircraft(true), &transfer(from, to)],
        ));
        let map = flow(&results.summary, "map");
        assert_eq!(
            (map.delivered_bytes, map.retransmitted.unwrap()),
            (1_000_000, 0),
            "{from} {to}"
        );
        assert_eq!(results.summary.discarded.too_big, 0, "{from} {to}");
    }
}

/// A datagram from the correspondent, tunnelled by the home agent to the aircraft, keeps one number from its first link to
/// its last, where it is 40 B longer, and counts once. On an empty path each takes two links of 5 ms without the tunnel's
/// header, two with it, and the cell's 20 ms.
#[test]
fn a_packet_keeps_its_number_through_a_tunnel() {
    let datagrams = "[[flows]]\nname = \"map\"\nfrom = \"correspondent\"\nto = \"aircraft\"\ntransport = \"udp\"\n\
         traffic.kind = \"constant\"\ntraffic.rate = \"8 kbit/s\"\ntraffic.packet_size = \"100 B\"\nstart = \"5 s\"\nstop = \"10 s\"\n";
    let results = run(&scenario(20, &[LINKS, &aircraft(false), datagrams]));
    assert_eq!(flow(&results.summary, "map").segments_sent, 50);
    let rows = packets(&results);
    let on = |link: &str| {
        let rows = rows
            .iter()
            .filter(|row| row.link == link && row.flow == "map");
        rows.map(|row| (row.number, row.clone()))
            .collect::<BTreeMap<_, _>>()
    };
    let (first, last) = (on("ground"), on("north-cell"));
    assert_eq!(first.len(), 50);
    assert!(first.keys().eq(last.keys()));
    for (number, arrived) in &last {
        let sent = &first[number];
        assert_eq!(arrived.wire_bytes, sent.wire_bytes + 40);
        // A byte takes 80 ns at 100 Mbit/s and 800 ns at 10.
        let plain = i64::from(sent.wire_bytes) * 80;
        let tunnelled = i64::from(arrived.wire_bytes) * 80;
        let expected = 40_000_000 + 2 * plain + 2 * tunnelled + 10 * tunnelled;
        assert_eq!(arrived.decided.unwrap() - sent.sent, expected);
    }
}
