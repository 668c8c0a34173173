//! What the engine asks of the allocator: nothing for a packet's hop, and little for a flow.

mod counting;

use baton_proto::time::Instant;
use baton_sim::run::{Run, RunOptions};
use baton_sim::scenario;
use std::fmt::Write;
use std::path::Path;

/// Bulk flows between hosts of their own over one bottleneck, with windows of at most `window`.
fn dumbbell(flows: usize, window: &str) -> Run {
    let mut text = String::from(
        "name = \"test\"\nduration = \"60 s\"\nrecord = { series = false, packets = false }\n
        [links.bottleneck]\nbetween = [\"left\", \"right\"]\nkind = \"wired\"\nrate = \"10 Mbit/s\"\ndelay = \"10 ms\"\nqueue = \"50 packets\"\n",
    );
    let access = "kind = \"wired\"\nrate = \"1 Gbit/s\"\ndelay = \"1 ms\"\nqueue = \"100 packets\"";
    for n in 0..flows {
        write!(
            text,
            "[links.s{n}]\nbetween = [\"s{n}\", \"left\"]\n{access}\n[links.c{n}]\nbetween = [\"right\", \"c{n}\"]\n{access}\n
            [[flows]]\nname = \"f{n}\"\nfrom = \"s{n}\"\nto = \"c{n}\"\ncongestion = \"newreno\"\ntcp = {{ receive_buffer = \"{window}\", send_buffer = \"{window}\" }}\n"
        )
        .unwrap();
    }
    let loaded = scenario::parse(&text, "test", Path::new("."), &[]).unwrap();
    Run::new(loaded, &RunOptions::default()).unwrap()
}

#[test]
fn a_packet_hop_allocates_nothing() {
    let mut run = dumbbell(2, "1 MiB");
    run.advance_to(Instant::from_secs(20)).unwrap();
    let (allocations, events) = (counting::allocations(), run.world().events());
    run.advance_to(Instant::from_secs(60)).unwrap();
    let (allocations, events) = (
        counting::allocations() - allocations,
        run.world().events() - events,
    );
    let summary = run.finish(None).unwrap().summary;
    assert!(events > 100_000, "{events}");
    // Queues overflow and are repaired all the time: that too finds its room.
    assert!(
        summary
            .flows
            .iter()
            .any(|flow| flow.retransmitted > Some(10))
    );
    assert_eq!(allocations, 0, "in {events} events");
}

#[test]
fn a_flow_takes_at_most_16_kib_beside_what_is_in_flight() {
    let live_with = |flows| {
        let before = counting::live_bytes();
        let mut run = dumbbell(flows, "4 KiB");
        run.advance_to(Instant::from_secs(10)).unwrap();
        counting::live_bytes() - before
    };
    // Each brings two hosts and two links of its own; the difference leaves out what the world has once.
    let bytes = (live_with(250) - live_with(50)) / 200;
    assert!((1_000..=16 * 1024).contains(&bytes), "{bytes} B");
}
