//! How much faster a sweep is on two cores than on one. Alternating, so that both meet the same disturbances; the
//! best of five counts.

use baton_sim::scenario;
use baton_sim::sweep::{Pool, Task};
use std::path::Path;
use std::time::{Duration, Instant};

const RUNS: u64 = 64;
const TARGET: f64 = 1.9;
const SCENARIO: &str = r#"
    name = "benchmark"
    duration = "60 s"
    links.path = { between = ["server", "client"], kind = "wired", rate = "20 Mbit/s", delay = "20 ms", queue = "100 packets", packet_error_rate = 0.001 }
    flows = [{ name = "download", from = "server", to = "client" }]
"#;

fn main() {
    let mut best = [f64::INFINITY; 2];
    for _ in 0..5 {
        for workers in [1, 2] {
            best[workers - 1] = best[workers - 1].min(measure(workers));
        }
    }
    let [one, two] = best;
    let speedup = one / two;
    println!(
        "sweep of {RUNS} runs: {one:.3} s on one core, {two:.3} s on two: {speedup:.2} times as fast (target {TARGET})"
    );
}

/// Wall seconds of all runs.
fn measure(workers: usize) -> f64 {
    let loaded = scenario::parse(SCENARIO, "benchmark", Path::new("."), &[])
        .expect("the benchmark's scenario is right");
    let begun = Instant::now();
    let mut pool = Pool::new(vec![loaded], workers, || None).expect("there are threads");
    for seed in 0..RUNS {
        pool.submit(Task { point: 0, seed });
    }
    while pool.under_way() > 0 {
        if let Some(outcome) = pool.next(Duration::from_secs(1)) {
            outcome.result.expect("nothing is written");
        }
    }
    begun.elapsed().as_secs_f64()
}
