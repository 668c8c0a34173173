//! Numbers of the daemons beside their targets: what a handover, a flickering uplink and a restart cost two hosts that talk, and what a home
//! agent of 10,000 routers takes. As root; `make bench-daemon` runs it with the throughput of the tunnel. Names of cases behind `--` choose.
//!
//! Times depend on what else the machine does: how late it was itself stands beside them.

#[allow(dead_code, reason = "tests need more of it")]
#[path = "../../tests/deployed/world/mod.rs"]
mod world;

mod many;
mod router;
mod stalls;
mod wireguard;

use std::time::Duration;

/// A figure: its name, what was measured, and the target.
pub struct Row(pub &'static str, pub String, pub String);

/// A case, which is measured by a call of it.
type Case = fn() -> Vec<Row>;

fn main() {
    // `cargo test` calls benchmarks, too.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    println!(
        "load of the machine: {}",
        load.split(' ').next().unwrap_or_default()
    );
    println!("{:<58} {:<44} target", "case", "measured");
    let cases: [(&str, Case); 6] = [
        ("announced", stalls::announced),
        ("unannounced", stalls::unannounced),
        ("wireguard", wireguard::unannounced),
        ("flicker", stalls::flicker),
        ("restart", stalls::restart),
        ("many", many::bound),
    ];
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let is_wanted = |name: &str| wanted.len() < 2 || wanted.iter().any(|wanted| wanted == name);
    let cases = cases.into_iter().filter(|(name, _)| is_wanted(name));
    for Row(case, measured, target) in cases.flat_map(|(_, case)| case()) {
        println!("{case:<58} {measured:<44} {target}");
    }
}

/// Writes a time in milliseconds.
fn milliseconds(time: Duration) -> String {
    format!("{:.0} ms", time.as_secs_f64() * 1e3)
}

/// Writes the median of times, the shortest and the longest.
fn spread(mut times: Vec<Duration>) -> String {
    times.sort();
    let [Some(least), Some(median), Some(most)] =
        [0, times.len() / 2, times.len().saturating_sub(1)].map(|place| times.get(place))
    else {
        return "none".to_owned();
    };
    let [least, median, most] = [least, median, most].map(|time| milliseconds(*time));
    format!("{median} ({least} to {most})")
}
