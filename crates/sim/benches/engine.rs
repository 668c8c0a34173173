//! How fast the engine is: data packets and events per second of wall time, recording off.
//!
//! The cases are those of which other simulators' figures are known (NewReno over one bottleneck). Each runs
//! once to warm up and three times to count; the median counts.

use baton_sim::run::{Run, RunOptions};
use baton_sim::scenario;
use std::fmt::Write;
use std::path::Path;
use std::time::Instant;

fn main() {
    println!(
        "{:<44} {:>9} {:>14} {:>14} {:>12}",
        "case", "wall s", "data packets/s", "events/s", "Mbit/s"
    );
    case("1 flow, 3 hops, 5 Mbit/s, 289 ms, 1000 s", &long_path());
    case("10 flows, 1 Gbit/s, 10 ms, 10 s", &dumbbell(10, 10));
    case("100 flows, 1 Gbit/s, 10 ms, 10 s", &dumbbell(100, 10));
    case(
        "1000 flows, 1000 hosts a side, 1 Gbit/s, 5 s",
        &dumbbell(1000, 5),
    );
}

fn case(name: &str, scenario: &str) {
    let mut runs: Vec<(f64, u64, u64, f64)> = (0..4).map(|_| measure(scenario)).collect();
    runs.remove(0);
    runs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (wall, packets, events, goodput) = runs[1];
    println!(
        "{name:<44} {wall:>9.3} {:>14.0} {:>14.0} {:>12.3}",
        packets as f64 / wall,
        events as f64 / wall,
        goodput / 1e6
    );
}

/// Wall seconds, data segments sent, events handled and goodput of one run.
fn measure(text: &str) -> (f64, u64, u64, f64) {
    let loaded = scenario::parse(text, "benchmark", Path::new("."), &[])
        .expect("the benchmark's scenario is right");
    let mut run = Run::new(loaded, &RunOptions::default()).expect("nothing is written");
    let start = Instant::now();
    while !run.advance().expect("nothing is recorded") {}
    let wall = start.elapsed().as_secs_f64();
    let summary = run.finish(None).expect("nothing is written").summary;
    let segments = summary.flows.iter().map(|flow| flow.segments_sent).sum();
    let goodput = summary.flows.iter().map(|flow| flow.goodput_bps).sum();
    (wall, segments, summary.events, goodput)
}

const HEAD: &str = "name = \"benchmark\"\nrecord = { series = false, packets = false }\n";
const TCP: &str = "congestion = \"newreno\"\ntcp = { maximum_segment_size = \"1460 B\", receive_buffer = \"16 MiB\", send_buffer = \"16 MiB\", timestamps = false }\n";

fn long_path() -> String {
    format!(
        "duration = \"1000 s\"\n{HEAD}
        [links.a]\nbetween = [\"server\", \"r1\"]\nkind = \"wired\"\nrate = \"500 Mbit/s\"\ndelay = \"0.5 ms\"\nqueue = \"1000 packets\"
        [links.b]\nbetween = [\"r1\", \"r2\"]\nkind = \"wired\"\nrate = \"5 Mbit/s\"\ndelay = \"288 ms\"\nqueue = \"250 packets\"
        [links.c]\nbetween = [\"r2\", \"client\"]\nkind = \"wired\"\nrate = \"500 Mbit/s\"\ndelay = \"0.5 ms\"\nqueue = \"1000 packets\"
        [[flows]]\nname = \"download\"\nfrom = \"server\"\nto = \"client\"\n{TCP}"
    )
}

fn dumbbell(flows: usize, seconds: u32) -> String {
    let mut text = format!(
        "duration = \"{seconds} s\"\n{HEAD}
        [links.bottleneck]\nbetween = [\"left\", \"right\"]\nkind = \"wired\"\nrate = \"1 Gbit/s\"\ndelay = \"10 ms\"\nqueue = \"2000 packets\"\n"
    );
    let access =
        "kind = \"wired\"\nrate = \"10 Gbit/s\"\ndelay = \"1 ms\"\nqueue = \"2000 packets\"";
    for n in 0..flows {
        let _ = write!(
            text,
            "[links.s{n}]\nbetween = [\"s{n}\", \"left\"]\n{access}\n[links.c{n}]\nbetween = [\"right\", \"c{n}\"]\n{access}\n
            [[flows]]\nname = \"f{n}\"\nfrom = \"s{n}\"\nto = \"c{n}\"\nstart_jitter = \"1 s\"\n{TCP}"
        );
    }
    text
}
