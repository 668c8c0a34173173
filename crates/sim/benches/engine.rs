//! Speed of the engine on one core: each figure beside its target.
//!
//! The targets belong to one machine, whose bare heap was measured too. A case's second figure is the first one times
//! the ratio of both machines' heaps, which takes the machine out of the figure. The heap's events are timed beside
//! each repetition, since a virtual machine's neighbours change from one second to the next.
//!
//! The cases are those with known figures of other simulators (NewReno over one bottleneck). Each runs once to warm up
//! and five times to count; the median counts, of the ratios too. A word on the command line chooses the cases without
//! a record whose name contains it: `cargo bench --package baton-sim --bench engine -- "1 flow"`; a second word,
//! `once`, runs each of them a single time, for a profile.

mod counted;
#[path = "../tests/counting/mod.rs"]
mod counting;

use baton_sim::rng::Seed;
use baton_sim::run::{Results, Run, RunOptions};
use baton_sim::scenario;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt::Write;
use std::path::Path;
use std::time::Instant;

fn main() {
    // Cargo adds options of its own.
    let mut words = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with('-'));
    let chosen = words.next();
    let once = words.next().is_some_and(|word| word == "once");
    println!("{:<54} {:>12} {:>16}", "case", "figure", "target");
    let cases = [
        Case {
            name: "1 flow, 3 hops, 5 Mbit/s, 289 ms, 1000 s",
            target: ">= 2.0",
            instructions: Some("<= 4000"),
            heap: FEW,
            scenario: long_path(),
        },
        Case {
            name: "10 flows, 1 Gbit/s, 10 ms, 10 s",
            target: ">= 1.6",
            instructions: None,
            heap: FEW,
            scenario: dumbbell(10, 10, LARGE),
        },
        Case {
            name: "100 flows, 1 Gbit/s, 10 ms, 10 s",
            target: "",
            instructions: None,
            heap: FEW,
            scenario: dumbbell(100, 10, LARGE),
        },
        Case {
            name: "1000 flows, 1000 hosts a side, 1 Gbit/s, 5 s",
            target: ">= 0.8",
            instructions: Some("<= 7000"),
            heap: MANY,
            scenario: dumbbell(1000, 5, LARGE),
        },
    ];
    for case in &cases {
        if chosen.as_ref().is_none_or(|word| case.name.contains(word)) {
            bare(case, if once { 1 } else { 6 });
        }
    }
    if chosen.is_none() {
        memory(&dumbbell(1000, 5, "4 KiB"));
        instructions(&cases);
    }
}

struct Case {
    name: &'static str,
    target: &'static str,
    /// Target of the instructions a data packet, for the cases that have one.
    instructions: Option<&'static str>,
    heap: Heap,
    scenario: String,
}

/// A bare heap, and the time of one of its events on the targets' machine.
struct Heap {
    pending: u64,
    nanoseconds: f64,
}

const FEW: Heap = Heap {
    pending: 4,
    nanoseconds: 16.0,
};
const MANY: Heap = Heap {
    pending: 1000,
    nanoseconds: 29.0,
};

fn line(case: &str, figure: &str, target: &str) {
    println!("{case:<54} {figure:>12} {target:>16}");
}

/// Measures the memory of a run whose windows are so small that hardly anything is in flight.
fn memory(scenario: &str) {
    let before = counting::live_bytes();
    let loaded = scenario::parse(scenario, "benchmark", Path::new("."), &[])
        .expect("the benchmark's scenario is right");
    let flows = loaded.scenario.flows.len();
    let mut run = Run::new(loaded, &RunOptions::default()).expect("nothing is written");
    while !run.advance().expect("nothing is recorded") {}
    let bytes = counting::live_bytes() - before;
    let kibibytes = bytes as f64 / 1024.0 / flows as f64;
    line(
        "memory of 1 of 1000 flows, with 2 hosts and 2 links",
        &format!("{kibibytes:.1} KiB"),
        "<= 16",
    );
}

/// Counts the instructions a data packet of the cases with a target for them, where valgrind is installed.
fn instructions(cases: &[Case]) {
    for case in cases {
        if let Some(target) = case.instructions
            && let Some(counted) = counted::count(case.name)
        {
            let each = counted.instructions / counted.packets.max(1);
            line(case.name, "", "");
            line("  instructions a data packet", &each.to_string(), target);
        }
    }
}

/// Measures data packets per second of wall time, with no record. Of several runs the first one warms up.
fn bare(case: &Case, times: usize) {
    let mut runs: Vec<(Measured, f64)> = (0..times)
        .map(|_| (measure(&case.scenario), bare_heap(case.heap.pending)))
        .collect();
    runs.rotate_left(1);
    runs.truncate(times.max(2) - 1);
    let million = |count: u64, run: &Measured| count as f64 / run.wall / 1e6;
    let of_all = |figure: &dyn Fn(&(Measured, f64)) -> f64| median(runs.iter().map(figure));
    let rate = of_all(&|(run, _)| million(run.segments, run));
    line(case.name, &format!("{rate:.2} M/s"), case.target);
    let there = of_all(&|(run, heap)| million(run.segments, run) * heap / case.heap.nanoseconds);
    line(
        "  times the ratio of the bare heaps",
        &format!("{there:.2} M/s"),
        case.target,
    );
    let heap = of_all(&|(_, heap)| *heap);
    line(
        &format!("  an event of a bare heap of {}", case.heap.pending),
        &format!("{heap:.0} ns"),
        "",
    );
    let events = of_all(&|(run, _)| million(run.events, run));
    line("  events", &format!("{events:.2} M/s"), "");
    let each = of_all(&|(run, _)| run.events as f64 / run.segments as f64);
    line("  events a data packet", &format!("{each:.2}"), "");
    let packets = of_all(&|(run, _)| run.segments as f64);
    line("  data packets", &format!("{packets:.0}"), "");
}

fn median(figures: impl Iterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.collect();
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// Measures the limit of an engine with a queue of events: the time in nanoseconds that a bare binary heap of 32-byte
/// events takes to give one out and take another in, with so many pending. They are due at random times, each within a
/// second.
fn bare_heap(pending: u64) -> f64 {
    const EVENTS: u64 = 2_000_000;
    let mut draws = Seed(1).stream("bare heap");
    let mut event =
        |now: u64, number: u64| Reverse((now + draws.below(1_000_000_000), number, [0_u64; 2]));
    let mut heap: BinaryHeap<_> = (0..pending).map(|number| event(0, number)).collect();
    let start = Instant::now();
    for number in pending..pending + EVENTS {
        if let Some(Reverse((now, ..))) = heap.pop() {
            heap.push(event(now, number));
        }
    }
    start.elapsed().as_secs_f64() * 1e9 / EVENTS as f64
}

struct Measured {
    wall: f64,
    /// Segments that the senders sent.
    segments: u64,
    events: u64,
}

fn measure(text: &str) -> Measured {
    let loaded = scenario::parse(text, "benchmark", Path::new("."), &[])
        .expect("the benchmark's scenario is right");
    let mut run = Run::new(loaded, &RunOptions::default()).expect("the results have a place");
    let start = Instant::now();
    while !run.advance().expect("nothing is recorded") {}
    let Results { summary, .. } = run.finish(None).expect("nothing is written");
    Measured {
        wall: start.elapsed().as_secs_f64(),
        segments: summary.flows.iter().map(|flow| flow.segments_sent).sum(),
        events: summary.events,
    }
}

const RECORD_NOTHING: &str = "record = { series = false, packets = false }";
/// A buffer that never limits a flow.
const LARGE: &str = "16 MiB";

fn tcp(buffer: &str) -> String {
    format!(
        "transport.congestion = \"newreno\"\ntransport.maximum_segment_size = \"1460 B\"\ntransport.receive_buffer = \"{buffer}\"\ntransport.send_buffer = \"{buffer}\"\ntransport.timestamps = false\n"
    )
}

fn long_path() -> String {
    format!(
        "duration = \"1000 s\"\nname = \"benchmark\"\n{RECORD_NOTHING}
        [links.a]\nbetween = [\"server\", \"r1\"]\nkind = \"wired\"\nrate = \"500 Mbit/s\"\ndelay = \"0.5 ms\"\nqueue = \"1000 packets\"
        [links.b]\nbetween = [\"r1\", \"r2\"]\nkind = \"wired\"\nrate = \"5 Mbit/s\"\ndelay = \"288 ms\"\nqueue = \"250 packets\"
        [links.c]\nbetween = [\"r2\", \"client\"]\nkind = \"wired\"\nrate = \"500 Mbit/s\"\ndelay = \"0.5 ms\"\nqueue = \"1000 packets\"
        [[flows]]\nname = \"download\"\nfrom = \"server\"\nto = \"client\"\n{}",
        tcp(LARGE)
    )
}

fn dumbbell(flows: usize, seconds: u32, buffer: &str) -> String {
    let mut text = format!(
        "duration = \"{seconds} s\"\nname = \"benchmark\"\n{RECORD_NOTHING}
        [links.bottleneck]\nbetween = [\"left\", \"right\"]\nkind = \"wired\"\nrate = \"1 Gbit/s\"\ndelay = \"10 ms\"\nqueue = \"2000 packets\"\n"
    );
    let access =
        "kind = \"wired\"\nrate = \"10 Gbit/s\"\ndelay = \"1 ms\"\nqueue = \"2000 packets\"";
    let tcp = tcp(buffer);
    for n in 0..flows {
        let _ = write!(
            text,
            "[links.s{n}]\nbetween = [\"s{n}\", \"left\"]\n{access}\n[links.c{n}]\nbetween = [\"right\", \"c{n}\"]\n{access}\n
            [[flows]]\nname = \"f{n}\"\nfrom = \"s{n}\"\nto = \"c{n}\"\nstart_jitter = \"1 s\"\n{tcp}"
        );
    }
    text
}
