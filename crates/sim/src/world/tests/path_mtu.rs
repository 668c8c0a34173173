//! Path-MTU discovery, and damaged packets that are delivered.

use super::*;

fn link(name: &str, ends: [&str; 2], mtu: u32) -> String {
    let [a, b] = ends;
    format!(
        "[links.{name}]\nbetween = [\"{a}\", \"{b}\"]\nkind = \"wired\"\nrate = \"1 Mbit/s\"\ndelay = \"10 ms\"\nqueue = \"1000 packets\"\nmtu = \"{mtu} B\"\n"
    )
}

#[test]
fn tcp_finds_a_narrow_hop_in_the_middle() {
    let links = [
        link("first", ["a", "r"], 1500),
        link("narrow", ["r", "s"], 600),
        link("last", ["s", "b"], 1500),
    ]
    .concat();
    let flow = "[[flows]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\ntraffic.bytes = \"100 kB\"";
    let results = run(&scenario(60, &[&links, flow]));
    let flow = super::flow(&results.summary, "f");
    assert_eq!(
        (flow.delivered_bytes, flow.failure.clone()),
        (100_000, None)
    );
    // The ten segments of the initial window are too long; by then the first error has arrived.
    assert_eq!(results.summary.discarded.too_big, 10);
    assert_eq!((flow.timeouts, flow.fast_retransmits), (Some(0), Some(0)));
    let rows = packets(&results);
    let narrow = rows.iter().filter(|row| row.link == "narrow");
    assert_eq!(narrow.map(|row| row.wire_bytes).max(), Some(600));
}

const TWO_WAYS: &str = r#"
    [mobiles.b]
    timetable = [
      { at = "0 s", attach = "wide" },
      { at = "1 s", attach = "narrow" },
    ]
"#;

#[test]
fn a_handover_to_a_smaller_mtu_is_survived_in_both_directions() {
    let links = [
        link("core", ["a", "r"], 1500),
        link("wide", ["r", "b"], 1500),
        link("narrow", ["r", "b"], 600),
    ]
    .concat();
    // Downward the router answers, upward the mobile's own interface does.
    for ends in [["a", "b"], ["b", "a"]] {
        let [from, to] = ends;
        let flow = format!(
            "[[flows]]\nname = \"f\"\nfrom = \"{from}\"\nto = \"{to}\"\ntraffic.bytes = \"300 kB\""
        );
        let results = run(&scenario(60, &[&links, TWO_WAYS, &flow]));
        let flow = super::flow(&results.summary, "f");
        assert_eq!(
            (flow.delivered_bytes, flow.failure.clone()),
            (300_000, None)
        );
        assert!(results.summary.discarded.too_big > 0);
        assert_eq!(flow.timeouts, Some(0), "{ends:?}");
        let rows = packets(&results);
        let narrow = rows.iter().filter(|row| row.link == "narrow");
        assert_eq!(narrow.map(|row| row.wire_bytes).max(), Some(600));
    }
}

#[test]
fn datagrams_shrink_to_the_path() {
    for ends in [["a", "b"], ["b", "a"]] {
        let [from, to] = ends;
        let links = [
            link("wide", ["a", "r"], 1500),
            link("narrow", ["r", "b"], 600),
        ]
        .concat();
        let flow = format!(
            "[[flows]]\nname = \"f\"\nfrom = \"{from}\"\nto = \"{to}\"\ntransport = \"udp\"\ntraffic.kind = \"constant\"\ntraffic.rate = \"80 kbit/s\"\ntraffic.packet_size = \"572 B\"\n[[changes]]\nat = \"1 s\"\nlink = \"narrow\"\nmtu = \"300 B\""
        );
        let results = run(&scenario(10, &[&links, &flow]));
        // One is lost before the error arrives; the other datagrams of 272 B keep the rate.
        assert_eq!(results.summary.discarded.too_big, 1, "{ends:?}");
        let flow = super::flow(&results.summary, "f");
        near(flow.delivered_bytes as f64, 100_000.0, 1200.0);
    }
}

#[test]
fn no_damaged_packet_reaches_an_application() {
    let link = "[links.path]\nbetween = [\"a\", \"b\"]\nkind = \"wired\"\nrate = \"1 Mbit/s\"\ndelay = \"10 ms\"\nbit_error_rate = 3e-6\ndamaged = \"delivered\"";
    let flows = "[[flows]]\nname = \"tcp\"\nfrom = \"a\"\nto = \"b\"\ntraffic.bytes = \"2 MB\"\n[[flows]]\nname = \"udp\"\nfrom = \"b\"\nto = \"a\"\ntransport = \"udp\"\ntraffic.kind = \"constant\"\ntraffic.rate = \"400 kbit/s\"\ntraffic.packet_size = \"1000 B\"\nstop = \"100 s\"";
    let results = run(&scenario(200, &[link, flows]));
    assert_eq!(flow(&results.summary, "tcp").delivered_bytes, 2_000_000);
    // A packet of 1028 B is hit with 1 − (1 − 3e-6)^8224 = 2.44 %: of 5000 it is 122, standard deviation 10.9.
    let udp = flow(&results.summary, "udp");
    let lost = 5000 - udp.delivered_bytes / 1000;
    near(lost as f64, 122.0, 4.0 * 10.9);
    // None was dropped by the link; the rest of the damaged ones belong to TCP.
    assert_eq!(udp.lost_packets, 0);
    assert!(results.summary.discarded.damaged >= lost);
    assert!(
        packets(&results)
            .iter()
            .all(|row| row.fate == "delivered" || row.fate == "queue full")
    );
}
