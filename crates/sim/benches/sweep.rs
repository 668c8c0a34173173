//! Speed-up of a sweep on two cores over one. Both alternate, so that they meet the same disturbances; the best of
//! three counts. Processor time shows whether the threads hinder one another, even if another program takes half of the
//! machine. Bare arithmetic, which does not even share memory, shows the worth of two cores of this machine at that
//! moment.

use baton_sim::scenario;
use baton_sim::sweep;
use std::hint::black_box;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

/// Number of runs: so many that the end, when one thread has nothing left to do, is a small part of the whole.
const RUNS: u64 = 256;
const TARGET: &str = ">= 1.9";
const SCENARIO: &str = r#"
    name = "benchmark"
    duration = "60 s"
    links.path = { between = ["server", "client"], kind = "wired", rate = "20 Mbit/s", delay = "20 ms", queue = "100 packets", packet_error_rate = 0.001 }
    flows = [{ name = "download", from = "server", to = "client" }]
"#;

fn main() {
    let mut wall = [f64::INFINITY; 2];
    let mut processor = wall;
    let mut arithmetic = wall;
    for _ in 0..3 {
        for workers in [1, 2] {
            let before = processor_seconds();
            wall[workers - 1] = wall[workers - 1].min(measure(workers));
            let used = processor_seconds() - before;
            processor[workers - 1] = processor[workers - 1].min(used);
            arithmetic[workers - 1] = arithmetic[workers - 1].min(bare_arithmetic(workers));
        }
    }
    let speedup = wall[0] / wall[1];
    println!("{:<54} {:>12} {:>16}", "case", "figure", "target");
    println!(
        "{:<54} {speedup:>12.2} {TARGET:>16}",
        format!("sweep of {RUNS} runs on 2 cores / on 1")
    );
    println!(
        "  wall {:.3} s and {:.3} s; processor {:.2} s and {:.2} s",
        wall[0], wall[1], processor[0], processor[1]
    );
    println!(
        "{:<54} {:>12.2}",
        "bare arithmetic on 2 cores / on 1",
        2.0 * arithmetic[0] / arithmetic[1]
    );
}

/// Returns the wall seconds of threads that each do the same work in registers.
fn bare_arithmetic(threads: usize) -> f64 {
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || {
                let draw = |state: u64, _| {
                    state
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1)
                };
                black_box((0..2_000_000_000_u64).fold(black_box(thread as u64), draw))
            });
        }
    });
    begun.elapsed().as_secs_f64()
}

/// Returns the processor time of all threads so far, on systems with Linux's counter (ticks of 10 ms); NaN elsewhere.
fn processor_seconds() -> f64 {
    let status = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Behind the name in brackets: user and system time are the fields 14 and 15 of all.
    let fields = status.rsplit(')').next().unwrap_or_default();
    let ticks = fields.split_whitespace().skip(11).take(2);
    ticks
        .map(|field| field.parse::<f64>().unwrap_or(f64::NAN) / 100.0)
        .reduce(|user, system| user + system)
        .unwrap_or(f64::NAN)
}

/// Returns the wall seconds of all runs.
fn measure(workers: usize) -> f64 {
    let loaded = scenario::parse(SCENARIO, "benchmark", Path::new("."), &[])
        .expect("the benchmark's scenario is right");
    let begun = Instant::now();
    let (next, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= RUNS {
                        return;
                    }
                    sweep::run(&loaded, seed, || None, &stop).expect("nothing is written");
                }
            });
        }
    });
    begun.elapsed().as_secs_f64()
}
