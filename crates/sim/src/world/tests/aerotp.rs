//! AeroTP over study A's path: what arrives, how fast, and what links and routers say.

use super::*;

/// Study A's path: 5 Mbit/s and 10 ms (its "10 s" are a slip) between two fast networks.
fn path(bit_error_rate: f64) -> String {
    format!(
        r#"
        [links.front]
        between = ["aircraft", "air-gateway"]
        kind = "wired"
        rate = "10 Gbit/s"
        delay = "0 ms"
        [links.air]
        between = ["air-gateway", "ground-gateway"]
        kind = "wired"
        rate = "5 Mbit/s"
        delay = "10 ms"
        queue = "100 packets"
        bit_error_rate = {bit_error_rate:e}
        damaged = "delivered"
        [links.back]
        between = ["ground-gateway", "ground"]
        kind = "wired"
        rate = "10 Gbit/s"
        delay = "0 ms"
        "#
    )
}

fn telemetry(keys: &str) -> String {
    format!(
        "[[flows]]\nname = \"telemetry\"\nfrom = \"aircraft\"\nto = \"ground\"\ntransport = \"aerotp\"\n{keys}\n"
    )
}

#[test]
fn adaptive_coding_carries_four_megabytes_over_a_channel_on_which_tcp_stands() {
    let flow = telemetry("bytes = \"4 MB\"");
    let results = run(&scenario(12, &[&path(5e-5), &flow]));
    let flow = super::flow(&results.summary, "telemetry");
    eprintln!("{}", serde_json::to_string_pretty(flow).unwrap());
    eprintln!("{:?}", results.summary.discarded);
    assert_eq!(flow.delivered_bytes, 4_000_000);
    assert!(flow.completion_s.is_some() && flow.failure.is_none());
    assert!(flow.goodput_bps > 4.4e6, "{}", flow.goodput_bps);
}
