//! Forward error correction by links, against sums of binomial terms (exact fractions, from Python) and shares of the
//! rate.

use super::*;

/// Returns a link of 8 Mbit/s with these keys: a packet of 1500 B takes 1.5 ms without a code.
fn link(keys: &str) -> String {
    format!(
        "[links.air]\nbetween = [\"aircraft\", \"ground\"]\nkind = \"wired\"\nrate = \"8 Mbit/s\"\ndelay = \"10 ms\"\n{keys}\n"
    )
}

/// Datagrams of 1500 B for a minute, at a rate that the link carries with any code.
const DATAGRAMS: &str = "[[flows]]\nname = \"udp\"\nfrom = \"aircraft\"\nto = \"ground\"\ntransport = \"udp\"\nstop = \"60 s\"\n\
     traffic = { kind = \"constant\", rate = \"3.8 Mbit/s\", packet_size = \"1472 B\" }\n";

/// Returns the share of lost packets among those sent in a time.
fn lost(rows: &[PacketRow], (from, to): (f64, f64)) -> f64 {
    let within = |row: &&PacketRow| (from..to).contains(&(row.sent as f64 / 1e9));
    let sent = rows.iter().filter(within);
    let lost = sent.clone().filter(|row| !row.is_delivered()).count();
    lost as f64 / sent.count() as f64
}

#[test]
fn the_residual_loss_of_a_code_is_the_binomial_tail() {
    for (parity, rate, expected) in [
        (2, 1e-4, 0.101_783),
        (8, 5e-4, 0.022_884),
        (16, 1.5e-3, 0.023_281),
        (32, 4e-3, 0.020_157),
    ] {
        let link = link(&format!(
            "bit_error_rate = {rate:e}\ncoding = {{ parity = {parity} }}"
        ));
        let results = run(&scenario(61, &[&link, DATAGRAMS]));
        // 19 361 packets: three standard errors.
        let error = 3.0 * f64::sqrt(expected * (1.0 - expected) / 19_361.0);
        near(lost(&packets(&results), (0.0, 61.0)), expected, error);
    }
}

#[test]
fn parity_takes_its_share_of_the_rate() {
    // (255, 223): 1500 B take 1724 B.
    let flow = DATAGRAMS.replace("3.8 Mbit/s", "20 Mbit/s");
    for (coding, bytes) in [("\"none\"", 1500.0), ("{ parity = 32 }", 1724.0)] {
        let results = run(&scenario(
            60,
            &[&link(&format!("coding = {coding}")), &flow],
        ));
        let flow = super::flow(&results.summary, "udp");
        near(flow.goodput_bps, 8e6 * 1472.0 / bytes, 8e3);
    }
}

#[test]
fn damaged_packets_arrive_with_the_errors_that_the_code_leaves() {
    // At 3e-3 a codeword has six wrong bytes in the mean: a code that corrects one leaves every packet damaged.
    let of = |coding: &str| {
        let keys = format!("bit_error_rate = 3e-3\ndamaged = \"delivered\"\ncoding = {coding}");
        let results = run(&scenario(61, &[&link(&keys), DATAGRAMS]));
        results.summary.discarded.damaged
    };
    let all = 19_361.0;
    near(of("{ parity = 2 }") as f64, all, 0.001 * all);
    // 9.3e-4 of the packets; a checksum of 16 bits misses none.
    near(
        of("{ parity = 32 }") as f64,
        9.309e-4 * all,
        3.0 * f64::sqrt(9.309e-4 * all),
    );
}

/// The weakest codes that leave a loss of a thousandth are those of 6 bytes at 1e-4 and of 18 at 1e-3.
#[test]
fn the_code_follows_a_step_of_the_bit_error_rate() {
    let changes = "[[changes]]\nat = \"20 s\"\nlink = \"air\"\nbit_error_rate = 1e-3\n\
                   [[changes]]\nat = \"40 s\"\nlink = \"air\"\nbit_error_rate = 1e-4\n";
    let link = link("bit_error_rate = 1e-4\ncoding = { loss = 1e-3 }");
    let results = run(&scenario(61, &[&link, DATAGRAMS, changes]));
    let parity = series(&results, "link air down", "parity");
    let at = |time: f64| parity.iter().rev().find(|row| row.0 <= time).unwrap().1;
    assert_eq!(at(0.15), 2.0);
    for step in 0..170 {
        let later = f64::from(step) / 10.0;
        // The estimate varies by some per cent.
        near(at(2.0 + later), 6.0, 2.0);
        near(at(22.0 + later), 18.0, 2.0);
        near(at(43.0 + later), 6.0, 2.0);
    }
    let rows = packets(&results);
    for span in [(2.0, 20.0), (22.0, 40.0), (42.0, 60.0)] {
        let share = lost(&rows, span);
        assert!(share < 2e-3, "{span:?}: {share}");
    }
    // Until the second report after the step the code is too weak.
    assert!(lost(&rows, (20.0, 21.0)) < 0.5);
    // The unused way back has a code, too, and its receiver has measured nothing.
    assert!(
        series(&results, "link air up", "parity")
            .iter()
            .all(|row| row.1 == 2.0)
    );
}

/// AeroTP's unreliable connection leaves errors to the link, and sends at the rate that the code leaves.
#[test]
fn an_unreliable_connection_over_a_code_that_adapts_loses_little() {
    let flow = "[[flows]]\nname = \"telemetry\"\nfrom = \"aircraft\"\nto = \"ground\"\nstop = \"30 s\"\n\
                transport = { kind = \"aerotp\", mode = \"unreliable-connection\" }\n\
                traffic = { kind = \"constant\", rate = \"4 Mbit/s\", packet_size = \"1000 B\" }\n";
    let lost = |coding: &str| {
        let keys = format!("bit_error_rate = 2e-4\ncoding = {coding}");
        let results = run(&scenario(31, &[&link(&keys), flow]));
        let flow = super::flow(&results.summary, "telemetry");
        1.0 - flow.delivered_bytes as f64 / (4e6 / 8.0 * 30.0)
    };
    // 1 - (1 - 2e-4)^(8 * 1046).
    near(lost("\"none\""), 0.812, 0.03);
    assert!(lost("{ loss = 1e-3 }") < 5e-3);
}

/// Returns a flow over AeroTP's unreliable connection, at 1 Mbit/s.
fn demanding(name: &str, times: &str, tolerated: &str) -> String {
    format!(
        "[[flows]]\nname = \"{name}\"\nfrom = \"aircraft\"\nto = \"ground\"\n{times}\n\
         transport = {{ kind = \"aerotp\", mode = \"unreliable-connection\", tolerated_loss = {tolerated} }}\n\
         traffic = {{ kind = \"constant\", rate = \"1 Mbit/s\", packet_size = \"1000 B\" }}\n"
    )
}

/// By exact fractions the weakest codes at 1e-3 are those of 12 bytes for a loss of 0.05, and of 18 for a thousandth.
#[test]
fn the_most_demanding_connection_sets_the_code() {
    let link = link("bit_error_rate = 1e-3\ncoding = { by = \"transport\" }");
    let video = demanding("video", "start = \"5 s\"\nstop = \"60 s\"", "0.05");
    let telemetry = demanding("telemetry", "start = \"20 s\"\nstop = \"30 s\"", "1e-3");
    let results = run(&scenario(61, &[&link, &video, &telemetry]));
    let parity = series(&results, "link air down", "parity");
    let at = |time: f64| parity.iter().rev().find(|row| row.0 <= time).unwrap().1;
    // No connection asks for a code before the first one opens.
    assert_eq!(at(4.9), 2.0);
    for step in 0..90 {
        let later = f64::from(step) / 10.0;
        near(at(8.0 + later), 12.0, 2.0);
        near(at(21.0 + later), 18.0, 2.0);
        // The connection ends 10 s after its last packet.
        near(at(45.0 + later), 12.0, 2.0);
    }
}

/// Neither TCP nor a mode with a code of its own leaves errors to the link.
#[test]
fn a_connection_with_means_of_its_own_asks_for_no_code() {
    let link = link("bit_error_rate = 1e-5\ncoding = { by = \"transport\" }");
    for transport in [
        "\"tcp\"",
        "{ kind = \"aerotp\", mode = \"reliable\" }",
        "{ kind = \"aerotp\", mode = \"quasi-reliable\" }",
    ] {
        let flow = format!(
            "[[flows]]\nname = \"file\"\nfrom = \"aircraft\"\nto = \"ground\"\nstop = \"5 s\"\ntransport = {transport}\n"
        );
        let results = run(&scenario(6, &[&link, &flow]));
        let parity = series(&results, "link air down", "parity");
        assert!(parity.iter().all(|row| row.1 == 2.0), "{transport}");
    }
}
