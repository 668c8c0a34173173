//! Delays of single packets against the model, and the long-run rate of a link against its own.

use super::pair::with_world;
use super::traffic::{Passage, datagrams};
use std::time::Duration;

const LENGTH: usize = 1500;
const RATE: f64 = 100e6;
const DELAY: Duration = Duration::from_millis(10);
const LINK: &str = "rate = \"100 Mbit/s\"\ndelay = \"10 ms\"\nqueue = \"1000 packets\"\nframing = { bytes_per_packet = 0 }";

/// Prints how far packets and rate are from the model.
pub fn run() {
    println!("accuracy: 100 Mbit/s, 10 ms, 1500 B");
    for (name, interval) in [
        ("5 Mbit/s of datagrams", 2400),
        ("80 Mbit/s of datagrams", 150),
    ] {
        let passages = passages(interval);
        let mut errors = errors(&passages);
        errors.sort_by(f64::total_cmp);
        let at = |share: f64| errors[((errors.len() - 1) as f64 * share) as usize];
        println!(
            "  {name:22} {} packets: error of the delay median {:.3} ms (target 0.1), 99th percentile {:.3} ms \
             (target 1), largest {:.3} ms",
            errors.len(),
            at(0.5),
            at(0.99),
            at(1.0)
        );
    }
    let passages = passages(100);
    let [first, .., last] = &passages[..] else {
        panic!("datagrams arrive");
    };
    let bits = (passages.len() - 1) as f64 * LENGTH as f64 * 8.0;
    let rate = bits / (last.received - first.received) as f64 * 1e9;
    println!(
        "  120 Mbit/s of datagrams: {:.3} Mbit/s arrive, the model's rate is {:.3}: {:+.3} % (target 0.5)",
        rate / 1e6,
        RATE / 1e6,
        (rate / RATE - 1.0) * 100.0
    );
}

/// Datagrams through the world, one every so many microseconds.
fn passages(interval: u64) -> Vec<Passage> {
    let interval = Duration::from_micros(interval);
    let (passages, _) = with_world(LINK, None, |namespaces| {
        datagrams(namespaces, LENGTH, interval, Duration::from_secs(10))
    });
    passages
}

/// Returns the difference of each datagram's delay from the model's, in milliseconds. Where the sender was late and
/// sent two at once, the model has the second wait.
fn errors(passages: &[Passage]) -> Vec<f64> {
    let service = LENGTH as f64 * 8.0 / RATE * 1e9;
    let mut line_free = 0.0_f64;
    let error = |passage: &Passage| {
        line_free = line_free.max(passage.sent as f64) + service;
        let arrives = line_free + DELAY.as_nanos() as f64;
        (passage.received as f64 - arrives).abs() / 1e6
    };
    passages.iter().map(error).collect()
}
