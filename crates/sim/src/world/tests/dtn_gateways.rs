//! TCP in bundles over links that are away for a while, or lose packets.

use super::*;
use crate::world::summary::AgentSummary;

/// Study S's satellite, between a server's network and a train that is its own gateway.
fn path(satellite: &str) -> String {
    format!(
        r#"
        [links.back]
        between = ["server", "ground"]
        kind = "wired"
        rate = "100 Mbit/s"
        delay = "1 ms"
        queue = "1000 packets"
        [links.satellite]
        between = ["ground", "train"]
        kind = "geo"
        rate = "5 Mbit/s"
        delay = "289 ms"
        queue = "250 packets"
        {satellite}
        "#
    )
}

fn download(bytes: &str) -> String {
    format!(
        "[[flows]]\nname = \"download\"\nfrom = \"server\"\nto = \"train\"\ntraffic.bytes = \"{bytes}\"\n\
         transport.profile = \"linux-6\"\n"
    )
}

fn gateways(keys: &str) -> String {
    format!("[dtn_gateways.train]\nbetween = [\"ground\", \"train\"]\n{keys}\n")
}

/// Returns an outage of the satellite from 2 s on, of so many seconds.
fn tunnel(seconds: u32) -> String {
    let until = 2 + seconds;
    format!(
        "[[changes]]\nat = \"2 s\"\nlink = \"satellite\"\nstate = \"down\"\n\
         [[changes]]\nat = \"{until} s\"\nlink = \"satellite\"\nstate = \"up\"\n"
    )
}

fn run_download(seconds: u32, parts: &[&str]) -> (FlowSummary, Vec<AgentSummary>) {
    let results = run(&scenario(seconds, parts));
    let flow = flow(&results.summary, "download").clone();
    (flow, results.summary.agents)
}

fn agent<'a>(agents: &'a [AgentSummary], node: &str) -> &'a AgentSummary {
    let mut agents = agents.iter();
    agents
        .find(|agent| agent.node == node)
        .expect("a gateway there")
}

/// Most bytes on the link for each byte of data: a packet of 1500 bytes has at least 1230 of data.
const OVERHEAD: f64 = 1.22;

/// With an outage of T a download takes T longer, whatever T: bundles leave as soon as the link is there. What was on its
/// way is sent again after a custody timeout, in parallel to the rest.
#[test]
fn an_outage_delays_a_download_by_its_length() {
    let bytes = 5e6;
    let transmission = bytes * 8.0 / 5e6;
    let plain = [path(""), gateways(""), download("5 MB")];
    let plain: Vec<&str> = plain.iter().map(String::as_str).collect();
    let (through, agents) = run_download(60, &plain);
    let through = through.completion_s.unwrap();
    assert!(through > transmission + 0.289, "{through}");
    assert!(through < transmission * OVERHEAD + 0.5, "{through}");
    assert_eq!(agent(&agents, "ground").copies, 0);
    for outage in [5, 60, 600] {
        let tunnel = tunnel(outage);
        let (broken, agents) = run_download(60 + outage, &[&plain[..], &[&tunnel]].concat());
        assert_eq!(broken.delivered_bytes, 5_000_000);
        let later = broken.completion_s.unwrap() - through - f64::from(outage);
        // What was on its way when the tunnel began, 0.6 s of it at most, may be sent twice.
        assert!(later > -0.01 && later < 0.7, "{outage}: {later}");
        let ground = agent(&agents, "ground");
        assert_eq!(ground.expired, 0);
        assert!(ground.most_bytes > 3_000_000, "{ground:?}");
    }
}

/// TCP alone waits for its timer, which has doubled through the outage.
#[test]
fn tcp_alone_resumes_later() {
    let (tunnel, path, gateways) = (tunnel(60), path(""), gateways(""));
    let download = download("5 MB");
    let (alone, _) = run_download(300, &[&path, &tunnel, &download]);
    let (bundles, _) = run_download(300, &[&path, &gateways, &tunnel, &download]);
    let (alone, bundles) = (alone.completion_s.unwrap(), bundles.completion_s.unwrap());
    assert!(bundles + 2.0 < alone, "{bundles} {alone}");
}

/// At a loss of p goodput falls to 1-p of the loss-free one: each bundle takes 1/(1-p) transmissions.
#[test]
fn losses_cost_no_more_than_their_share() {
    let goodput = |loss: f64| {
        let loss = format!("packet_error_rate = {loss}");
        let parts = [path(&loss), gateways(""), download("20 MB")];
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let (flow, agents) = run_download(200, &parts);
        assert_eq!(flow.delivered_bytes, 20_000_000);
        (flow.goodput_bps, agent(&agents, "ground").copies)
    };
    let (without, _) = goodput(0.0);
    for loss in [0.01, 0.1, 0.3] {
        let (with, copies) = goodput(loss);
        let ratio = with / without / (1.0 - loss);
        // The last bundles of 40 s take a few round trips of 0.6 s; the losses of 15,000 bundles spread by 1 %.
        assert!(ratio < 1.02 && ratio > 0.85, "{loss}: {ratio}");
        let expected = 16_000.0 * loss / (1.0 - loss);
        near(copies as f64, expected, expected * 0.15 + 30.0);
    }
}

/// A small storage closes the server's window in the tunnel. Nothing is dropped at the gateway.
#[test]
fn a_full_storage_stops_the_sender() {
    let parts = [
        path(""),
        gateways("storage = \"200 kB\""),
        tunnel(30),
        download("3 MB"),
    ];
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let (flow, agents) = run_download(200, &parts);
    assert_eq!(flow.delivered_bytes, 3_000_000);
    let ground = agent(&agents, "ground");
    assert_eq!(ground.most_bytes, 200_000);
    assert_eq!((ground.overflowed, ground.expired), (0, 0));
    // Storage of less than a pipe is a window: 200 kB each round trip of 0.6 s.
    assert!(flow.goodput_bps < 3e6);
}

/// Bundles live for two seconds, and the tunnel is longer: the connection is reset.
#[test]
fn expired_bundles_end_the_connection() {
    let parts = [
        path(""),
        gateways("lifetime = \"2 s\""),
        tunnel(10),
        download("20 MB"),
    ];
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let (flow, agents) = run_download(40, &parts);
    assert!(flow.failure.is_some() && flow.completion_s.is_none());
    assert!(agent(&agents, "ground").expired > 0);
}

/// A handover between two links of the train, hard and with an outage of both, without a mobility protocol.
#[test]
fn a_handover_keeps_custody() {
    let train = r#"
        [links.wifi]
        between = ["ground", "train"]
        kind = "wired"
        rate = "10 Mbit/s"
        delay = "5 ms"
        [mobiles.train]
        timetable = [
          { at = "0 s", attach = "satellite" },
          { at = "4 s", attach = "wifi", handover = "hard", outage = "3 s" },
          { at = "9 s", attach = "satellite", handover = "hard", outage = "500 ms" },
        ]
    "#;
    let parts = [path(""), train.to_owned(), gateways(""), download("10 MB")];
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let (flow, agents) = run_download(60, &parts);
    assert_eq!(flow.delivered_bytes, 10_000_000);
    // 4 s and the time from 9.5 s on at 5 Mbit/s, 2 s at 10 Mbit/s.
    let satellite = 5e6 / OVERHEAD / 8.0;
    let latest = 9.5 + (10e6 - 3.0 * satellite - 1.9 * 2.0 * satellite) / satellite + 1.0;
    assert!(
        flow.completion_s.unwrap() < latest,
        "{:?} {latest} {agents:?}",
        flow.completion_s
    );
}

/// Gateways at both ends of the flow: the way between is a link of its own.
#[test]
fn the_ends_themselves_may_be_gateways() {
    let path = path("")
        .replace("\"ground\"", "\"server\"")
        .replace("[\"server\", \"server\"]", "[\"server\", \"other\"]");
    let gateways = gateways("").replace("ground", "server");
    let (flow, _) = run_download(60, &[&path, &gateways, &download("1 MB")]);
    assert_eq!(flow.delivered_bytes, 1_000_000);
    assert!(flow.completion_s.is_some() && flow.failure.is_none());
}
