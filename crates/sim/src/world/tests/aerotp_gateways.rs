//! TCP and UDP across a link between AeroTP gateways.

use super::aerotp::{UDP, path};
use super::*;

/// Returns gateways on the path of [`path`], with these rules.
fn gateways(rules: &str) -> String {
    format!("[aerotp_gateways.air]\nlinks = [\"air\"]\nrules = [{rules}]\n")
}

const DOWNLOAD: &str = r#"
    [[flows]]
    name = "download"
    from = "aircraft"
    to = "ground"
    traffic.bytes = "1 MB"
    transport.profile = "linux-6"
"#;

fn download(seconds: u32, parts: &[&str]) -> FlowSummary {
    let results = run(&scenario(seconds, &[parts, &[DOWNLOAD]].concat()));
    flow(&results.summary, "download").clone()
}

#[test]
fn gateways_carry_tcp_ten_times_as_fast_over_a_channel_on_which_it_stalls() {
    let path = &path(5e-5);
    let plain = download(300, &[path]).completion_s.unwrap_or(300.0);
    for mode in ["reliable", "near-reliable"] {
        let rule = format!("{{ mode = \"{mode}\" }}");
        let across = download(300, &[path, &gateways(&rule)]);
        assert_eq!(across.delivered_bytes, 1_000_000, "{mode}");
        let completion = across.completion_s.unwrap();
        assert!(
            plain > 10.0 * completion,
            "{mode}: {completion} and {plain}"
        );
        // The gateways repair damage on the air: the client's TCP sees no loss.
        assert_eq!(across.retransmitted.unwrap(), 0, "{mode}");
        assert!(across.failure.is_none(), "{mode}");
    }
}

/// Without a table of rules all traffic crosses as AeroTP; with one, traffic that matches no rule crosses unchanged.
#[test]
fn the_first_matching_rule_applies_and_other_traffic_crosses_unchanged() {
    let path = &path(0.0);
    let on_air = |gateways: &str| {
        let results = run(&scenario(20, &[path, gateways, DOWNLOAD]));
        let flow = flow(&results.summary, "download");
        assert_eq!(flow.delivered_bytes, 1_000_000, "{gateways}");
        protocols(&results, "air")
    };
    let all = "[aerotp_gateways.air]\nlinks = [\"air\"]";
    assert_eq!(on_air(all), ["aerotp"]);
    // The flow's port is 5001; its hosts are 10.0.0.1 and 10.0.0.4.
    for fits in [
        "port = 5001",
        "destination = \"10.0.0.4/32\"",
        "code_point = 0",
    ] {
        let rules = format!("{{ port = 80 }}, {{ {fits}, mode = \"near-reliable\" }}");
        assert_eq!(on_air(&gateways(&rules)), ["aerotp"], "{fits}");
    }
    for other in [
        "port = 80",
        "destination = \"10.0.0.1/32\"",
        "code_point = 46",
    ] {
        let rule = format!("{{ {other} }}");
        assert_eq!(on_air(&gateways(&rule)), ["tcp"], "{other}");
    }
}

/// Returns the bodies of packets that were sent over a link, each once.
fn protocols(results: &Results, link: &str) -> Vec<String> {
    let mut found = Vec::new();
    for batch in batches(results.tables.packets.as_ref()) {
        let links = names(batch.column_by_name("link").unwrap());
        let protocols = names(batch.column_by_name("protocol").unwrap());
        let here = links.into_iter().zip(protocols);
        found.extend(here.filter_map(|(at, protocol)| (at == link).then_some(protocol)));
    }
    found.sort();
    found.dedup();
    found
}

/// At 5e-5 two thirds of datagrams of 1000 B get through as UDP, nearly all with a code (measured 0.985).
#[test]
fn datagrams_cross_with_the_redundancy_of_their_rule() {
    let udp = UDP.replace("1472 B", "1000 B").replace("4.416", "2");
    let delivered = |rule: &str| {
        let parts = [&*path(5e-5), &gateways(rule), &udp];
        let results = run(&scenario(61, &parts));
        flow(&results.summary, "udp").delivered_bytes as f64 / 15e6
    };
    let datagrams = delivered("{ mode = \"unreliable-datagram\", coding = { words = 32 } }");
    let plain = delivered("{ port = 80 }");
    let reliable = delivered("{}");
    near(plain, (1.0 - 5e-5_f64).powi(1028 * 8), 0.03);
    // Errors remain in the headers: IPv4's, and the part of AeroTP's that no code covers.
    assert!(datagrams > 0.97, "{datagrams}");
    near(reliable, 1.0, 1e-9);
}

/// With one packet in twenty lost, the residual loss of blocks (4,4) is 1e-5, by the binomial formula.
#[test]
fn datagrams_restored_by_a_code_across_packets_reach_their_flow() {
    let udp = UDP.replace("1472 B", "1000 B").replace("4.416", "2");
    let lossy = path(0.0).replace("damaged = \"delivered\"", "packet_error_rate = 0.05");
    let delivered = |blocks: &str| {
        let rule =
            format!("{{ mode = \"unreliable-connection\", reordering_wait = \"200 ms\"{blocks} }}");
        let results = run(&scenario(61, &[&*lossy, &gateways(&rule), &udp]));
        flow(&results.summary, "udp").delivered_bytes as f64 / 15e6
    };
    near(delivered(""), 0.95, 0.01);
    near(delivered(", blocks = { data = 4, repair = 4 }"), 1.0, 0.001);
}

/// The link is down for 3 s. AeroTP continues as soon as it is up, and the TCP half does not time out for want of an
/// answer.
#[test]
fn after_an_outage_the_gateways_go_on_at_once() {
    let outage = "[[changes]]\nat = \"1 s\"\nlink = \"air\"\nstate = \"down\"\n\
                  [[changes]]\nat = \"4 s\"\nlink = \"air\"\nstate = \"up\"\n";
    for mode in ["reliable", "near-reliable"] {
        let gateways = gateways(&format!("{{ mode = \"{mode}\" }}"));
        let path = &path(0.0);
        let through = download(30, &[path, &gateways]);
        let broken = download(30, &[path, &gateways, outage]);
        assert_eq!(broken.delivered_bytes, 1_000_000, "{mode}");
        let lost = broken.completion_s.unwrap() - through.completion_s.unwrap();
        near(lost, 3.0, 0.3);
    }
}

/// Two connections that each begin at the link's rate come to share it.
#[test]
fn two_downloads_share_the_link() {
    let second = DOWNLOAD.replace("\"download\"", "\"second\"");
    let parts = [&*path(5e-5), &gateways("{}"), DOWNLOAD, &second];
    let results = run(&scenario(30, &parts));
    for name in ["download", "second"] {
        let flow = flow(&results.summary, name);
        assert_eq!(flow.delivered_bytes, 1_000_000, "{name}");
        assert!(flow.completion_s.unwrap() < 8.0, "{flow:?}");
    }
}

/// Each connection begins at the link's rate. The queue signals the gateway before it is full, and drops nothing.
#[test]
fn a_gateways_queue_holds_its_connections_back() {
    let second = DOWNLOAD.replace("\"download\"", "\"second\"");
    let path = path(0.0).replace("100 packets", "30 packets");
    let results = run(&scenario(30, &[&*path, &gateways("{}"), DOWNLOAD, &second]));
    for name in ["download", "second"] {
        let flow = flow(&results.summary, name);
        assert_eq!(flow.delivered_bytes, 1_000_000, "{name}");
        assert_eq!(flow.lost_packets, 0, "{name}");
    }
}

/// Measured: 6.8 s, of which 6.4 are the link's.
#[test]
fn the_shipped_scenario_meets_its_expectations() {
    let text = include_str!("../../../../../scenarios/aerotp-gateway.toml");
    let results = run(text);
    let flow = flow(&results.summary, "download");
    assert_eq!(flow.delivered_bytes, 4_000_000);
    assert!(flow.completion_s.unwrap() < 15.0 && flow.longest_stall_s < 1.0);
}
