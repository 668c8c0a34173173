//! Cost of recording into Parquet files beside the bare run: each figure beside its target. Bare and recorded runs
//! alternate, so that all meet the same disturbances; the median of seven counts. A word on the command line chooses
//! one kind of run, for a profile: `cargo bench --package baton-sim --bench record -- packets`.

use baton_sim::record::Quantities;
use baton_sim::run::{Run, RunOptions};
use baton_sim::scenario;
use std::path::Path;
use std::time::Instant;

const ROUNDS: usize = 7;
/// NewReno over three hops, as in the engine's first case.
const SCENARIO: &str = r#"
    name = "benchmark"
    duration = "1000 s"
    links.a = { between = ["server", "r1"], kind = "wired", rate = "500 Mbit/s", delay = "0.5 ms", queue = "1000 packets" }
    links.b = { between = ["r1", "r2"], kind = "wired", rate = "5 Mbit/s", delay = "288 ms", queue = "250 packets" }
    links.c = { between = ["r2", "client"], kind = "wired", rate = "500 Mbit/s", delay = "0.5 ms", queue = "1000 packets" }
    [[flows]]
    name = "download"
    from = "server"
    to = "client"
    transport.congestion = "newreno"
    transport.maximum_segment_size = "1460 B"
    transport.receive_buffer = "16 MiB"
    transport.send_buffer = "16 MiB"
    transport.timestamps = false
"#;
/// Kinds of record: series, packets.
const KINDS: [(&str, bool, bool); 4] = [
    ("bare", false, false),
    ("series", true, false),
    ("packets", false, true),
    ("both", true, true),
];

#[derive(Clone, Copy, Default)]
struct Measured {
    wall: f64,
    series: u64,
    packets: u64,
}

fn main() {
    // Cargo adds options of its own.
    let chosen = std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with('-'));
    let mut runs = [[Measured::default(); KINDS.len()]; ROUNDS];
    // Once to warm up.
    for round in 0..=ROUNDS {
        for (number, (name, series, packets)) in KINDS.into_iter().enumerate() {
            if chosen.as_ref().is_none_or(|word| name == word) {
                runs[round.saturating_sub(1)][number] = measure(series, packets);
            }
        }
    }
    if chosen.is_some() {
        return;
    }
    let [bare, series, packets, both] = core::array::from_fn(|kind| {
        let mut all: Vec<Measured> = runs.iter().map(|round| round[kind]).collect();
        all.sort_by(|a, b| a.wall.total_cmp(&b.wall));
        all[ROUNDS / 2]
    });
    let row = |all: Measured, rows: u64| (all.wall - bare.wall) * 1e9 / rows as f64;
    println!("{:<54} {:>12} {:>16}", "case", "figure", "target");
    let ratio = |all: Measured| format!("{:.2}", all.wall / bare.wall);
    line("all series recorded / bare", &ratio(series), "<= 1.5");
    let cost = format!("{:.0} ns", row(series, series.series));
    line(&format!("  each of {} rows", series.series), &cost, "");
    line(
        "every packet recorded / bare",
        &ratio(packets),
        "<= 2.5, or",
    );
    let cost = format!("{:.0} ns", row(packets, packets.packets));
    line(
        &format!("  each of {} rows", packets.packets),
        &cost,
        "<= 150 ns",
    );
    line("both / bare", &ratio(both), "");
}

fn line(case: &str, figure: &str, target: &str) {
    println!("{case:<54} {figure:>12} {target:>16}");
}

fn measure(series: bool, packets: bool) -> Measured {
    let folder = std::env::temp_dir().join(format!("baton-bench-{}", std::process::id()));
    let mut loaded = scenario::parse(SCENARIO, "benchmark", Path::new("."), &[])
        .expect("the benchmark's scenario is right");
    loaded.scenario.record.series = match series {
        true => Quantities::ALL,
        false => Quantities::NONE,
    };
    loaded.scenario.record.packets = packets;
    let options = RunOptions {
        out: Some(folder.clone()),
        force: true,
        ..RunOptions::default()
    };
    let mut run = Run::new(loaded, &options).expect("the results have a place");
    let start = Instant::now();
    while !run.advance().expect("the record can be written") {}
    let tables = run.finish(None).expect("the record can be written").tables;
    let wall = start.elapsed().as_secs_f64();
    // Nothing depends on it, and the next run makes its own.
    let _ = std::fs::remove_dir_all(&folder);
    Measured {
        wall,
        series: tables.series.map_or(0, |table| table.rows()),
        packets: tables.packets.map_or(0, |table| table.rows()),
    }
}
