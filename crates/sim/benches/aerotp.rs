//! AeroTP's promises in numbers, each beside its target: set-up, goodput over study A's path, and the memory of many
//! connections. A word on the command line chooses: `setup`, `goodput` or `memory`.

#[path = "../tests/counting/mod.rs"]
mod counting;
mod measured;
mod spliced;

use baton_proto::time::Instant;
use baton_sim::run::{Run, RunOptions};
use baton_sim::scenario;
use measured::line;
use std::fmt::Write;
use std::path::Path;

fn main() {
    // Cargo adds options of its own.
    let mut words = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with('-'));
    let chosen = words.next();
    let is_chosen = |name: &str| chosen.as_ref().is_none_or(|word| name.contains(word));
    println!("{:<54} {:>12} {:>16}", "case", "figure", "target");
    if is_chosen("setup") {
        set_up();
    }
    if is_chosen("goodput") {
        goodput();
    }
    if is_chosen("memory") {
        memory();
    }
}

/// Measures study A's A1: from the call to the first data that the far application reads, at 20 % loss both ways.
/// `baton reproduce A` counts up to the first data packet that arrives, which for AeroTP need not be the first one
/// sent.
fn set_up() {
    let aerotp = mean_set_up(
        "transport.kind = \"aerotp\"\ntraffic.kind = \"constant\"\ntraffic.rate = \"4.416 Mbit/s\"\ntraffic.packet_size = \"1446 B\"\ntraffic.bytes = \"14460 B\"\ntransport.mode = \"reliable\"\ntransport.coding = \"none\"",
    );
    let tcp = mean_set_up(
        "transport.profile = \"ns2\"\ntraffic.bytes = \"1000 B\"\ntransport.maximum_segment_size = \"1000 B\"\ntransport.initial_rto = \"3 s\"\ntransport.syn_retries = 6\ntransport.receiver = { initial_rto = \"1000 s\", maximum_rto = \"1000 s\" }",
    );
    // The source makes its first packet an interval after the call.
    let interval = 8.0 * 1446.0 / 4.416e6;
    let aerotp = aerotp + interval;
    line(
        "set-up, 20 % loss: TCP's mean delay over AeroTP's",
        &format!("{:.0}", tcp / aerotp),
        ">= 100",
    );
    println!(
        "  {:.2} s and {:.2} ms over 500 calls, the source's first interval of {:.2} ms included",
        tcp,
        aerotp * 1e3,
        interval * 1e3
    );
}

fn mean_set_up(caller: &str) -> f64 {
    const CALLS: usize = 500;
    let mut text = String::from(
        "duration = \"450 s\"\nname = \"benchmark\"\nrecord = { series = false, packets = false }\n[links.radio]\nbetween = [\"article\", \"ground\"]\nkind = \"wired\"\nrate = \"10 Mbit/s\"\ndelay = \"5 ms\"\npacket_error_rate = 0.2\n",
    );
    for number in 0..CALLS {
        let start = number as f64 / 10.0;
        let _ = write!(
            text,
            "[[flows]]\nname = \"c{number}\"\nfrom = \"article\"\nto = \"ground\"\nstart = \"{start:.1} s\"\n{caller}\n"
        );
    }
    let mut run = begin(&text);
    let mut waiting: Vec<usize> = (0..CALLS).collect();
    let mut sum = 0.0;
    while !waiting.is_empty()
        && let Some(at) = run.next_time()
    {
        run.advance_to(at).expect("nothing is recorded");
        let flows = run.world().flows();
        waiting.retain(|&number| {
            let waits = flows[number].progress.delivered_bytes == 0;
            if !waits {
                sum += at.as_secs_f64() - number as f64 / 10.0;
            }
            waits
        });
    }
    sum / (CALLS - waiting.len()) as f64
}

fn begin(text: &str) -> Run {
    let loaded = scenario::parse(text, "benchmark", Path::new("."), &[])
        .expect("the benchmark's scenario is right");
    Run::new(loaded, &RunOptions::default()).expect("nothing is written")
}

/// Measures a source that always has data, over 5 Mbit/s and 10 ms, from 2 s to 22 s; IPv4, 1500 B on the wire, with
/// bit errors in IP's headers too.
fn goodput() {
    for rate in [0.0, 1e-6, 1e-5, 3.5e-5, 5e-5, 1e-4, 1e-3] {
        let survives = (12_000.0 * f64::ln_1p(-rate)).exp();
        let limit = 5.0 * (1500.0 - 20.0 - 22.0 - 4.0) / 1500.0 * survives;
        if rate <= 1e-4 {
            let plain = steady("none", rate);
            line(
                &format!("goodput, BER {rate:.1e}, no code: of its limit"),
                &format!("{:.3}", plain / limit),
                ">= 0.95",
            );
            println!("  {plain:.3} of {limit:.3} Mbit/s");
        }
        let capacity = 5.0 * (1.0 - entropy(rate));
        let adaptive = steady("adaptive", rate);
        line(
            &format!("goodput, BER {rate:.1e}, adaptive: of the capacity"),
            &format!("{:.3}", adaptive / capacity),
            if rate > 1e-4 { ">= 0.70" } else { ">= 0.88" },
        );
        println!("  {adaptive:.3} of {capacity:.3} Mbit/s");
    }
}

/// Returns the entropy of a bit that is flipped with probability `p`.
fn entropy(p: f64) -> f64 {
    if p == 0.0 {
        return 0.0;
    }
    -p * p.log2() - (1.0 - p) * (1.0 - p).log2()
}

/// Returns the goodput in Mbit/s.
fn steady(coding: &str, bit_error_rate: f64) -> f64 {
    let mut run = begin(&format!(
        "duration = \"22 s\"\nname = \"benchmark\"\nrecord = {{ series = false, packets = false }}\n[links.air]\nbetween = [\"article\", \"ground\"]\nkind = \"wired\"\nrate = \"5 Mbit/s\"\ndelay = \"10 ms\"\nqueue = \"250 packets\"\nbit_error_rate = {bit_error_rate:e}\ndamaged = \"delivered\"\n[[flows]]\nname = \"telemetry\"\nfrom = \"article\"\nto = \"ground\"\ntransport.kind = \"aerotp\"\ntransport.mode = \"reliable\"\ntransport.coding = \"{coding}\"\n"
    ));
    let mut delivered_by = |second: u64| {
        run.advance_to(Instant::from_secs(second))
            .expect("nothing is recorded");
        run.world().flows()[0].progress.delivered_bytes
    };
    let begun = delivered_by(2);
    (delivered_by(22) - begun) as f64 * 8.0 / 20.0 / 1e6
}

fn memory() {
    const NATIVE: usize = 10_000;
    line(
        "an idle AeroTP connection of 10 000 in a host",
        &format!("{:.0} B", spliced::native(NATIVE)),
        "<= 2048",
    );
    for connections in [1_000, 10_000, 100_000] {
        let taken = spliced::measure(connections);
        line(
            &format!("{connections} idle TCP connections over a gateway: one of them"),
            &format!("{:.0} B", taken.near_bytes),
            "the same",
        );
        println!(
            "  {:.0} B at the other gateway; {:.0} us to open it, hand 500 B over, and wait",
            taken.far_bytes, taken.microseconds
        );
    }
}
