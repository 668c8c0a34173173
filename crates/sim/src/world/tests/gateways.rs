//! Agents at gateways in whole worlds: split connections, a satellite PEP, snoop.

use super::*;

/// A wired way of 20 ms to the gateway.
const LAN: &str = r#"
    [links.lan]
    between = ["server", "gateway"]
    kind = "wired"
    rate = "100 Mbit/s"
    delay = "10 ms"
    queue = "1000 packets"
"#;

/// An access link.
fn access(name: &str, gateway: &str, rate: &str, delay: &str, more: &str) -> String {
    format!(
        "[links.{name}]\nbetween = [\"{gateway}\", \"mobile\"]\nkind = \"wired\"\nrate = \"{rate}\"\ndelay = \"{delay}\"\n\
         queue = \"100 packets\"\n{more}\n"
    )
}

/// A mobile that stays on a link.
fn stays(link: &str) -> String {
    format!("[mobiles.mobile]\ntimetable = [{{ at = \"0 s\", attach = \"{link}\" }}]\n")
}

fn transfer(from: &str, to: &str, remedies: &str, more: &str) -> String {
    format!(
        "[[flows]]\nname = \"f\"\nfrom = \"{from}\"\nto = \"{to}\"\nremedies = {remedies}\n{more}\n"
    )
}

const LOSS: &str = "packet_errors = 0.01\n";

#[test]
fn a_split_connection_carries_all_bytes_both_ways() {
    let satellite = access("satellite", "gateway", "2 Mbit/s", "250 ms", "");
    for (from, to) in [("server", "mobile"), ("mobile", "server")] {
        for profile in ["ns2", "rfc", "linux-6"] {
            let more = format!("profile = \"{profile}\"\nbytes = \"1 MB\"");
            let flow = transfer(from, to, "[\"split-connection\"]", &more);
            let results = run(&scenario(
                60,
                &[LAN, &satellite, &stays("satellite"), &flow],
            ));
            let flow = super::flow(&results.summary, "f");
            assert_eq!(flow.delivered_bytes, 1_000_000, "{from} {profile}");
            assert_eq!(flow.failure, None);
        }
    }
    let _ = LOSS;
}
