//! QUIC over a laptop's two links: downloads across handovers with a kept and a new address, and other applications.

use super::*;
use crate::transport::quic::QuicResult;

const LINKS: &str = r#"
    [links.wifi]
    between = ["access-point", "laptop"]
    kind = "wired"
    rate = "20 Mbit/s"
    delay = "15 ms"
    queue = "100 packets"

    [links.lte]
    between = ["mast", "laptop"]
    kind = "wired"
    rate = "10 Mbit/s"
    delay = "30 ms"
    queue = "100 packets"

    [links.office]
    between = ["server", "access-point"]
    kind = "wired"
    rate = "1 Gbit/s"
    delay = "5 ms"

    [links.core]
    between = ["server", "mast"]
    kind = "wired"
    rate = "1 Gbit/s"
    delay = "5 ms"
"#;

fn mobile(handover: &str) -> String {
    format!(
        "[mobiles.laptop]\ntimetable = [{{ at = \"0 s\", attach = \"wifi\" }}, {{ at = \"6 s\", attach = \"lte\", {handover} }}]\n"
    )
}

fn flow_of(ends: (&str, &str), keys: &str) -> String {
    format!(
        "[[flows]]\nname = \"f\"\nfrom = \"{}\"\nto = \"{}\"\ntransport.kind = \"quic\"\n{keys}\n",
        ends.0, ends.1
    )
}

fn quic_of(flow: &FlowSummary) -> QuicResult {
    match flow.own {
        Some(TransportResult::Quic(own)) => own,
        other => panic!("no QUIC: {other:?}"),
    }
}

/// Downloads 20 MB across a handover; returns the results.
fn download(handover: &str, address: &str) -> Results {
    let keys = format!("traffic.bytes = \"20 MB\"\ntransport.address = \"{address}\"");
    let flow = flow_of(("server", "laptop"), &keys);
    run(&scenario(40, &[LINKS, &mobile(handover), &flow]))
}

#[test]
fn a_download_goes_on_across_soft_and_hard_handovers_with_either_address() {
    for (handover, outage) in [
        ("handover = \"soft\"", 0.0),
        ("handover = \"hard\", outage = \"2 s\"", 2.0),
    ] {
        for (address, migrations) in [("kept", 0), ("new", 1)] {
            let results = download(handover, address);
            let flow = flow(&results.summary, "f");
            let case = format!("{handover}, {address}");
            assert_eq!(flow.delivered_bytes, 20_000_000, "{case}");
            assert_eq!(quic_of(flow).migrations, migrations, "{case}");
            assert_eq!(flow.failure, None, "{case}");
            // Without an outage data continues within a few round trips; with one it resumes after the outage.
            let stall = results.summary.handovers[0].flows[0].stall_s;
            let most = outage + if address == "new" { 0.5 } else { 3.0 };
            assert!((outage..most).contains(&stall), "{case}: {stall} s");
        }
    }
}

#[test]
fn packets_go_by_the_address_of_the_link_in_use() {
    let results = download("handover = \"soft\"", "new");
    let rows = packets(&results);
    let crossing = |link: &str| rows.iter().filter(|row| row.link == link).count();
    assert!(crossing("wifi") > 3000 && crossing("lte") > 3000);
    // 6 s at 20 Mbit/s, less slow start and losses; the rest over the other link.
    let taken = flow(&results.summary, "f").completion_s.unwrap();
    assert!((9.0..16.0).contains(&taken), "{taken}");
}

/// A link is filled but for headers: of 1480 B on the link 1421 B or less are data.
#[test]
fn a_long_download_fills_the_link() {
    let flow = flow_of(("server", "laptop"), "");
    let results = run(&scenario(
        30,
        &[LINKS, &mobile("handover = \"soft\""), &flow],
    ));
    let goodput = super::flow(&results.summary, "f").delivered_bytes as f64 * 8.0;
    let most = (6.0 * 20e6 + 24.0 * 10e6) * 1421.0 / 1480.0;
    assert!((0.9 * most..most).contains(&goodput), "{goodput} of {most}");
    let windows = series(&results, "flow f", "congestion window");
    assert!(windows.len() > 100 && windows.iter().all(|&(_, bytes)| bytes > 2000.0));
    assert!(!series(&results, "flow f", "smoothed round-trip time").is_empty());
}

#[test]
fn every_application_runs_over_it() {
    let cases = [
        (
            "traffic.kind = \"constant\"\ntraffic.rate = \"1 Mbit/s\"\ntraffic.bytes = \"500 kB\"",
            500_000,
        ),
        (
            "traffic.kind = \"pages\"\ntraffic.page = \"100 kB\"\ntraffic.count = 3",
            300_000,
        ),
        ("traffic.kind = \"ping\"\ntraffic.count = 5", 5 * 56),
    ];
    for (keys, bytes) in cases {
        for ends in [("server", "laptop"), ("laptop", "server")] {
            let flow = flow_of(ends, keys);
            let results = run(&scenario(
                15,
                &[LINKS, &mobile("handover = \"soft\""), &flow],
            ));
            let flow = super::flow(&results.summary, "f");
            assert_eq!(flow.delivered_bytes, bytes, "{keys} {ends:?}");
            assert!(flow.completion_s.is_some(), "{keys} {ends:?}");
        }
    }
}

#[test]
fn one_seed_leaves_the_same_packets() {
    let times = || {
        let results = download("handover = \"hard\", outage = \"1 s\"", "new");
        let rows = packets(&results).into_iter();
        rows.map(|row| (row.sent, row.wire_bytes))
            .collect::<Vec<_>>()
    };
    assert_eq!(times(), times());
}
