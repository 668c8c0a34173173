//! TP++ over whole paths: table I's rows that need links, gateways or a NAT.

use super::aerotp::path;
use super::*;
use crate::transport::tp_plus_plus::TpPlusPlusResult;

fn telemetry(keys: &str) -> String {
    format!(
        "[[flows]]\nname = \"telemetry\"\nfrom = \"aircraft\"\nto = \"ground\"\ntransport.kind = \"tp++\"\n{keys}\n"
    )
}

fn sent(seconds: u32, parts: &[&str], keys: &str) -> FlowSummary {
    let own = telemetry(keys);
    let results = run(&scenario(seconds, &[parts, &[&own]].concat()));
    flow(&results.summary, "telemetry").clone()
}

fn counters(flow: &FlowSummary) -> TpPlusPlusResult {
    match flow.own {
        Some(TransportResult::TpPlusPlus(counters)) => counters,
        ref other => panic!("{other:?}"),
    }
}

/// 1437 bytes of payload in packets of 1500 at 5 Mbit/s, and 10 ms one way.
#[test]
fn a_transfer_takes_its_bits_at_the_link_s_rate() {
    let flow = sent(10, &[&path(0.0)], "traffic.bytes = \"1 MB\"");
    assert_eq!((flow.delivered_bytes, flow.lost_packets), (1_000_000, 0));
    let bits = 8.0 * (1e6 + 63.0 * f64::ceil(1e6 / 1437.0));
    near(flow.completion_s.unwrap(), bits / 5e6 + 0.01, 1e-4);
}

/// A packet with a flipped bit is refused as a whole and sent again a timeout of 1 s later, at a constant rate: of 1 MB
/// in 696 packets a share of 1 - (1 - BER)^12000 each time.
#[test]
fn bit_errors_cost_timeouts_and_no_data() {
    let flow = sent(60, &[&path(1e-5)], "traffic.bytes = \"1 MB\"");
    assert_eq!(flow.delivered_bytes, 1_000_000);
    assert!(flow.failure.is_none());
    let share = 1.0 - (1.0 - 1e-5_f64).powi(12_000);
    let again = 696.0 * share / (1.0 - share);
    // Three standard deviations; acknowledgments are damaged too, rarely.
    near(
        flow.retransmitted.unwrap() as f64,
        again,
        3.0 * again.sqrt() + 10.0,
    );
    assert!(counters(&flow).damaged_tpdus > 0);
}

/// Behind a code of 8 + 2 that loses packets at 5 %: the binomial sum over j > 2 of C(10, j) p^j q^(10 - j) j / 10 is
/// 0.356 %.
#[test]
fn the_code_leaves_what_the_binomial_formula_says() {
    let lossy = path(0.0).replace("[links.air]", "[links.air]\npacket_error_rate = 0.05");
    let keys = "traffic.bytes = \"60 MB\"\ntransport.mode = \"quasi-reliable\"\ntransport.blocks = { data = 8, repair = 2 }";
    let flow = sent(150, &[&lossy], keys);
    let found = counters(&flow);
    assert_eq!((found.mode, found.acknowledgments), ("quasi-reliable", 0));
    assert_eq!(flow.retransmitted, Some(2), "the last TPDU, twice more");
    let share = found.skipped_bytes as f64 / 60e6;
    // Three standard deviations of 5263 blocks, of which 1.15 % fail with three losses or a few more.
    near(share, 0.003_56, 0.0015);
    assert_eq!(flow.delivered_bytes + found.skipped_bytes, 60_000_000);
}

/// "TCP compatible: no", "partial-path support: no": gateways that end TCP and UDP let it pass, end to end.
#[test]
fn gateways_do_not_take_part() {
    let gateways = "[aerotp_gateways.air]\nlinks = [\"air\"]\n";
    let keys = "traffic.bytes = \"1 MB\"";
    let [plain, across] = [&[] as &[&str], &[gateways]].map(|gateways| {
        let air = path(0.0);
        sent(10, &[&[air.as_str()], gateways].concat(), keys)
    });
    assert_eq!(across.delivered_bytes, 1_000_000);
    assert_eq!(across.completion_s, plain.completion_s);
}

/// "multipath friendly: yes": over links of 5 and 1 Mbit/s with 10 and 250 ms, the sum of their rates, and nothing sent
/// twice.
#[test]
fn two_links_carry_the_sum_of_their_rates() {
    let links = r#"
        [links.mast]
        between = ["aircraft", "tower"]
        kind = "wired"
        rate = "5 Mbit/s"
        delay = "10 ms"
        [links.satellite]
        between = ["aircraft", "tower"]
        kind = "wired"
        rate = "1 Mbit/s"
        delay = "250 ms"
        [links.back]
        between = ["tower", "ground"]
        kind = "wired"
        rate = "1 Gbit/s"
        delay = "0 ms"
    "#;
    let keys = "traffic.bytes = \"4 MB\"\ntransport.paths = [\"mast\", \"satellite\"]";
    let flow = sent(20, &[links], keys);
    assert_eq!(
        (flow.delivered_bytes, flow.retransmitted),
        (4_000_000, Some(0))
    );
    let bits = 8.0 * (4e6 + 63.0 * f64::ceil(4e6 / 1437.0));
    // The last packet over the satellite arrives 240 ms later.
    near(flow.completion_s.unwrap(), bits / 6e6 + 0.13, 0.14);
}

/// A record is delivered on arrival, whatever is missing before it: the longest silence is that of a few losses in a
/// row, not of a timeout.
#[test]
fn a_gap_holds_up_nothing() {
    let lossy = path(0.0).replace("[links.air]", "[links.air]\npacket_error_rate = 0.02");
    let keys = "traffic.kind = \"constant\"\ntraffic.rate = \"1 Mbit/s\"\ntraffic.packet_size = \"1000 B\"";
    let flow = sent(40, &[&lossy], keys);
    // All but what is on its way again in the last second.
    near(flow.delivered_bytes as f64, 5e6, 1.5e4);
    assert!(flow.longest_stall_s < 0.1, "{}", flow.longest_stall_s);
}
