//! Delays of single packets against the model, and the long-run rate of a link against its own.

use super::pair::with_world;
use super::traffic::{one_way_delays, tcp_rate};
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
        let interval = Duration::from_micros(interval);
        let (delays, _) = with_world(LINK, None, |namespaces| {
            one_way_delays(namespaces, LENGTH, interval, Duration::from_secs(10))
        });
        let model = DELAY.as_nanos() as f64 + LENGTH as f64 * 8.0 / RATE * 1e9;
        let mut errors: Vec<f64> = delays
            .iter()
            .map(|&delay| (delay as f64 - model).abs() / 1e6)
            .collect();
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
    let (rate, _) = with_world(LINK, None, |namespaces| {
        tcp_rate(namespaces, Duration::from_secs(20))
    });
    // 12 of 1500 bytes are timestamps, 40 headers.
    let model = RATE * (LENGTH - 52) as f64 / LENGTH as f64;
    println!(
        "  TCP payload {:.3} Mbit/s, model {:.3}: {:+.2} % (target 0.5)",
        rate / 1e6,
        model / 1e6,
        (rate / model - 1.0) * 100.0
    );
}
