//! Readers that stop and go on.

use crate::bench::{Bench, PLAIN, Setting, Side};
use crate::for_each;

/// More than the buffers of both sides hold.
const MUCH: u64 = 2_000_000;

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn we_probe_a_window_that_the_kernel_has_shut() {
    for_each(|profile, opener| {
        let setting = Setting {
            links: PLAIN,
            receive_buffer: Some(16_000),
            ..Setting::default()
        };
        let mut bench = Bench::connected(&setting, profile, opener);
        bench.until("shut, and probed twice", |bench| {
            bench.write(Side::Ours, MUCH);
            bench.connection().peer_window() == 0
                && bench.connection().statistics().window_probes >= 2
        });
        // It goes on for more than one window, stops once more, and goes on to the end.
        let stop = bench.carried[0].read + 100_000;
        bench.until("read on", |bench| {
            bench.write(Side::Ours, MUCH);
            bench.read(Side::Ours);
            bench.carried[0].read >= stop
        });
        let probes = bench.connection().statistics().window_probes;
        bench.until("shut again, and probed", |bench| {
            bench.write(Side::Ours, MUCH);
            bench.connection().peer_window() == 0
                && bench.connection().statistics().window_probes > probes
        });
        let left = 300_000u64.saturating_sub(bench.carried[0].written);
        bench.carry(Side::Ours, left);
        bench.close(Side::Ours, 1);
    });
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn the_kernel_probes_a_window_that_we_have_shut() {
    for_each(|profile, opener| {
        let mut profile = profile.clone();
        profile.receive_buffer = 16_000;
        let setting = Setting {
            links: PLAIN,
            ..Setting::default()
        };
        let mut bench = Bench::connected(&setting, &profile, opener);
        let probes = |bench: &Bench| bench.sent[Side::Kernel as usize].bare_probes;
        bench.until("shut, and probed twice", |bench| {
            bench.write(Side::Kernel, MUCH);
            bench.connection().receive_window() < 1000 && probes(bench) >= 2
        });
        let stop = bench.carried[1].read + 100_000;
        bench.until("read on", |bench| {
            bench.write(Side::Kernel, MUCH);
            bench.read(Side::Kernel);
            bench.carried[1].read >= stop
        });
        let before = probes(&bench);
        bench.until("shut again, and probed", |bench| {
            bench.write(Side::Kernel, MUCH);
            bench.connection().receive_window() < 1000 && probes(bench) > before
        });
        bench.carry(Side::Kernel, 100_000);
        bench.close(Side::Kernel, 1);
    });
}
