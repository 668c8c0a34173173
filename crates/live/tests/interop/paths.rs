//! Paths that lose, damage, reorder and narrow.

use crate::bench::{Bench, Setting, Side};
use crate::{at_once, for_each, profiles_and_openers};
use baton_proto::tcp::profile::Profile;
use baton_proto::time::Instant;

const LOSSY: &str = r#"
    [links.path]
    between = ["ours", "kernel"]
    kind = "wired"
    rate = "20 Mbit/s"
    delay = "5 ms"
    queue = "200 packets"
    packet_error_rate = 0.04
"#;

/// A link that damages packets and delivers them: checksums must find the damage.
const DAMAGING: &str = r#"
    [links.path]
    between = ["ours", "kernel"]
    kind = "wired"
    rate = "20 Mbit/s"
    delay = "5 ms"
    queue = "200 packets"
    bit_error_rate = 5e-6
    damaged = "delivered"
"#;

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn every_byte_comes_over_a_path_that_loses() {
    for_each(|profile, opener| {
        let setting = Setting {
            links: LOSSY,
            ..Setting::default()
        };
        let mut bench = Bench::connected(&setting, profile, opener);
        bench.carry(Side::Ours, 400_000);
        bench.carry(Side::Kernel, 400_000);
        bench.exchange(200_000);
        assert!(bench.dropped() > 0);
        assert!(bench.connection().statistics().retransmitted > 0);
        assert!(bench.kernel.info().tcpi_total_retrans > 0);
        bench.close(opener, 50_000);
    });
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn damaged_packets_are_found_by_both() {
    for_each(|profile, opener| {
        let setting = Setting {
            links: DAMAGING,
            ..Setting::default()
        };
        let mut bench = Bench::connected(&setting, profile, opener);
        bench.carry(Side::Ours, 400_000);
        bench.carry(Side::Kernel, 400_000);
        assert_eq!(bench.dropped(), 0, "the link hides nothing");
        assert!(bench.ours.discarded().damaged > 0);
        assert!(bench.connection().statistics().retransmitted > 0);
        bench.close(opener, 1);
    });
}

/// From a slow link, whose queue every window here fills, to a fast one, back, and after an outage to the fast one.
fn handovers(mobile: &str) -> String {
    let fixed = if mobile == "ours" { "kernel" } else { "ours" };
    format!(
        r#"
    [links.core]
    between = ["{fixed}", "router"]
    kind = "wired"
    rate = "100 Mbit/s"
    delay = "1 ms"
    [links.near]
    between = ["router", "{mobile}"]
    kind = "wired"
    rate = "8 Mbit/s"
    delay = "4 ms"
    queue = "100 packets"
    [links.far]
    between = ["router", "{mobile}"]
    kind = "wired"
    rate = "400 kbit/s"
    delay = "60 ms"
    queue = "20 packets"
    [mobiles.{mobile}]
    timetable = [
      {{ at = "0 s", attach = "far" }},
      {{ at = "1500 ms", attach = "near", handover = "soft" }},
      {{ at = "2300 ms", attach = "far", handover = "soft" }},
      {{ at = "3000 ms", attach = "near", handover = "hard", outage = "300 ms" }},
    ]
"#
    )
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn a_transfer_outlives_handovers() {
    let places = Side::BOTH.map(|from| [("ours", from), ("kernel", from)]);
    let places = places.as_flattened();
    let cases = profiles_and_openers()
        .into_iter()
        .flat_map(|case| places.iter().map(move |place| (case, *place)));
    at_once(cases.collect(), |((profile, opener), (mobile, from))| {
        let setting = Setting {
            links: &handovers(mobile),
            ..Setting::default()
        };
        let profile = Profile::named(profile).unwrap();
        let mut bench = Bench::connected(&setting, &profile, opener);
        bench.carry_until(from, Instant::from_millis(2200), 1);
        // Packets over the fast link overtook those that waited for the slow one.
        assert!(bench.sent[from as usize].overtaken > 0);
        bench.carry_until(from, Instant::from_millis(3400), 20_000);
        assert!(bench.dropped() > 0, "the outage lost nothing");
        bench.close(from, 5_000);
    });
}

const NARROWED: &str = r#"
    [links.first]
    between = ["ours", "west"]
    kind = "wired"
    rate = "10 Mbit/s"
    delay = "1 ms"
    [links.middle]
    between = ["west", "east"]
    kind = "wired"
    rate = "4 Mbit/s"
    delay = "10 ms"
    queue = "100 packets"
    [links.last]
    between = ["east", "kernel"]
    kind = "wired"
    rate = "10 Mbit/s"
    delay = "1 ms"
    [[changes]]
    at = "500 ms"
    link = "middle"
    mtu = "600 B"
"#;

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn both_believe_a_router_that_the_path_has_narrowed() {
    for_each(|profile, opener| {
        for from in Side::BOTH {
            let setting = Setting {
                links: NARROWED,
                ..Setting::default()
            };
            let mut bench = Bench::connected(&setting, profile, opener);
            bench.carry_until(from, Instant::from_millis(1000), 50_000);
            let option = if profile.timestamps { 12 } else { 0 };
            let narrow = 600 - 40 - option;
            match from {
                Side::Ours => {
                    assert_eq!(bench.connection().segment_size(), narrow);
                    let statistics = bench.connection().statistics();
                    assert_eq!(statistics.path_mtu_reductions, 1);
                }
                Side::Kernel => {
                    let info = bench.kernel.info();
                    assert_eq!((info.tcpi_pmtu, info.tcpi_snd_mss), (600, narrow));
                }
            }
            // The other direction finds out by itself.
            bench.carry(from.other(), 50_000);
            bench.close(from, 1);
        }
    });
}
