//! TCP through one world against TCP through a bare pair of devices, in turns.

use super::pair::{ADDRESSES, bare_host, copy_until, with_world};
use super::traffic::tcp_rate;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

const TURN: Duration = Duration::from_secs(6);
const TURNS: usize = 3;
const MTU: u32 = 1500;
/// A link that is never the bottleneck.
const LINK: &str = "rate = \"100 Gbit/s\"\ndelay = \"0 ms\"\nqueue = \"100000 packets\"";

/// Prints the throughput of a bare pair, of a world, and of a world that records every packet.
pub fn run() {
    println!(
        "capacity: TCP, {MTU} B packets, the bare pair without offloads, one forwarding thread; {TURNS} turns of {TURN:?}"
    );
    let mut rates = [const { Vec::new() }; 3];
    let mut faults = [0; 2];
    for _ in 0..TURNS {
        rates[0].push(bare());
        for (place, record) in [(1, false), (2, true)] {
            let (rate, dropped, lost_rows) = world(record);
            rates[place].push(rate);
            faults[0] += dropped;
            faults[1] += lost_rows;
        }
    }
    let [bare, plain, recorded] = rates.map(|mut rates| {
        rates.sort_by(f64::total_cmp);
        rates[TURNS / 2] / 1e9
    });
    println!("  bare pair             {bare:6.2} Gbit/s");
    for (name, rate) in [("world", plain), ("world, all recorded", recorded)] {
        println!(
            "  {name:21} {rate:6.2} Gbit/s = {:.2} of the bare pair (target 0.9)",
            rate / bare
        );
    }
    println!(
        "  packets dropped that the model did not drop: {} (target 0); rows lost by the record: {}",
        faults[0], faults[1]
    );
}

fn bare() -> f64 {
    let [(one, first), (other, second)] = ADDRESSES.map(|address| bare_host(address, MTU));
    let (namespaces, devices) = ([one, other], [first, second]);
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = stop.clone();
    let copier = thread::spawn(move || {
        baton_live::priority::raise();
        copy_until(&devices, &stopped);
    });
    let rate = tcp_rate(&namespaces, TURN);
    stop.store(true, Ordering::Relaxed);
    copier.join().expect("the copier ends");
    rate
}

fn world(record: bool) -> (f64, u64, u64) {
    let folder = std::env::temp_dir().join(format!("baton-bench-live-{}", std::process::id()));
    let out = record.then(|| folder.clone());
    let (rate, outcome) = with_world(LINK, out, |namespaces| tcp_rate(namespaces, TURN));
    let _ = std::fs::remove_dir_all(&folder);
    (rate, outcome.dropped, outcome.lost_rows)
}
