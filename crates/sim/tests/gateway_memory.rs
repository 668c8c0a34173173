//! Memory of idle TCP connections across two AeroTP gateways.

mod counting;
#[path = "../benches/measured/mod.rs"]
#[allow(dead_code, reason = "the benchmarks use the rest")]
mod measured;
#[path = "../benches/spliced/mod.rs"]
#[allow(dead_code, reason = "the benchmarks use the rest")]
mod spliced;

#[test]
fn an_idle_connection_takes_at_most_8_kb_at_each_gateway() {
    let taken = spliced::measure(1_000);
    println!("{} B and {} B", taken.near_bytes, taken.far_bytes);
    for bytes in [taken.near_bytes, taken.far_bytes] {
        // Less than this would mean that the connections are not there.
        assert!((1_000.0..8_000.0).contains(&bytes), "{bytes} B");
    }
}
