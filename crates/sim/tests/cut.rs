//! Worlds in parts: the same results on any number of threads, and those of the whole world where no two events coincide.

use arrow_array::RecordBatch;
use baton_sim::cut::{Cut, CutReport};
use baton_sim::record::Table;
use baton_sim::run::{Results, Run, RunOptions};
use baton_sim::scenario::{self, Loaded};
use serde_json::Value;
use std::fmt::Write;
use std::num::NonZeroUsize;
use std::path::Path;

fn parsed(text: &str) -> Loaded {
    scenario::parse(text, "cut.toml", Path::new(""), &[])
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn shipped(name: &str, changes: &[&str]) -> Loaded {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/baton/scenarios");
    let changes: Vec<_> = changes
        .iter()
        .map(|change| change.parse().unwrap())
        .collect();
    let loaded = scenario::load(&folder.join(format!("{name}.toml")), &changes);
    loaded.unwrap_or_else(|error| panic!("{error}"))
}

fn run(loaded: &Loaded, threads: Option<usize>) -> Results {
    let options = RunOptions {
        threads: threads.and_then(NonZeroUsize::new),
        ..RunOptions::default()
    };
    let mut run = Run::new(loaded.clone(), &options).unwrap();
    while !run.advance().unwrap() {}
    run.finish(None).unwrap()
}

fn rows(results: &Results) -> Vec<Vec<RecordBatch>> {
    let tables = &results.tables;
    let all = [&tables.series, &tables.packets, &tables.signals];
    let batches = |table: &Table| match table {
        Table::Batches { batches, .. } => batches.clone(),
        Table::File { .. } => panic!("tables stay in memory"),
    };
    all.map(|table| table.as_ref().map_or_else(Vec::new, batches))
        .into()
}

/// Returns the summary without what only the engine's work shows.
fn outcome(results: &Results) -> Value {
    let mut summary = serde_json::to_value(&results.summary).unwrap();
    for key in ["events", "cut"] {
        summary.as_object_mut().unwrap().remove(key);
    }
    summary
}

/// Checks that a world is cut into so many parts, and that 1, 2 and 3 threads give the same bytes. Returns the results.
fn same_on_all_threads(loaded: &Loaded, parts: usize) -> Results {
    let one = run(loaded, Some(1));
    assert_eq!(
        one.summary.cut.map(|cut| cut.parts),
        Some(parts),
        "{:?}",
        CutReport::of(&loaded.scenario)
    );
    let packets: usize = rows(&one)[1].iter().map(RecordBatch::num_rows).sum();
    assert!(
        packets > 0 || !loaded.scenario.record.packets,
        "nothing happened"
    );
    for threads in [2, 3] {
        let other = run(loaded, Some(threads));
        assert_eq!(rows(&one), rows(&other), "{threads} threads");
        assert_eq!(
            serde_json::to_string(&one.summary).unwrap(),
            serde_json::to_string(&other.summary).unwrap(),
            "{threads} threads"
        );
    }
    one
}

fn like_the_whole(loaded: &Loaded, parts: usize) {
    let cut = same_on_all_threads(loaded, parts);
    let whole = run(loaded, None);
    assert_eq!(whole.summary.cut, None);
    let (ours, theirs) = (outcome(&cut), outcome(&whole));
    for (key, value) in theirs.as_object().unwrap() {
        assert_eq!(&ours[key], value, "{key}");
    }
    // The series of a cut link's queues have other rows.
    let count = |results: &Results| {
        let tables = rows(results).into_iter().skip(1);
        let lengths = tables.map(|table| table.iter().map(RecordBatch::num_rows).sum());
        lengths.collect::<Vec<usize>>()
    };
    assert_eq!(count(&cut), count(&whole));
}

#[test]
fn shipped_scenarios_in_parts_are_like_the_whole() {
    for name in ["lte-drive", "rail", "starlink-like"] {
        like_the_whole(&shipped(name, &["duration=20 s"]), 2);
    }
}

/// Sites of some hosts at a router, joined by a tree or a ring of long lines, with flows between any two hosts. Delays have odd
/// nanoseconds, so that no two events of different parts coincide.
fn sites(seed: u64) -> String {
    let mut state = seed;
    let mut draw = |bound: u64| {
        // Knuth's MMIX.
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % bound
    };
    let count = 3 + draw(3);
    let hosts = 1 + draw(2);
    let mut text = format!("name = \"sites\"\nduration = \"3 s\"\nseed = {seed}\n");
    let line = |text: &mut String,
                name: String,
                [a, b]: [String; 2],
                (rate, micros, nanos): (u64, u64, u64)| {
        write!(
            text,
            "[links.{name}]\nbetween = [\"{a}\", \"{b}\"]\nkind = \"wired\"\nrate = \"{rate} Mbit/s\"\n\
             delay = \"{micros}.{nanos:03} us\"\nqueue = \"20 packets\"\npacket_error_rate = 0.002\n"
        )
        .unwrap();
    };
    for site in 1..count {
        let ends = [format!("r{site}"), format!("r{}", draw(site))];
        let (rate, delay, odd) = (2 + draw(20), 1_500 + draw(30_000), draw(1000));
        line(&mut text, format!("long{site}"), ends, (rate, delay, odd));
    }
    if draw(2) == 0 {
        let ends = ["r0".to_owned(), format!("r{}", count - 1)];
        line(
            &mut text,
            "ring".to_owned(),
            ends,
            (5, 2_000 + draw(9_000), draw(1000)),
        );
    }
    for host in 0..count * hosts {
        let ends = [format!("h{host}"), format!("r{}", host % count)];
        let (delay, odd) = (10 + draw(300), draw(1000));
        line(&mut text, format!("lan{host}"), ends, (100, delay, odd));
    }
    for flow in 0..4 + draw(6) {
        let from = draw(count * hosts);
        let to = (from + 1 + draw(count * hosts - 1)) % (count * hosts);
        let traffic = match draw(5) {
            0 => "traffic = { kind = \"bulk\", bytes = \"300 kB\" }",
            1 => {
                "transport = \"udp\"\ntraffic = { kind = \"constant\", rate = \"1 Mbit/s\", packet_size = \"900 B\" }"
            }
            2 => "transport = \"icmp\"\ntraffic = { kind = \"ping\", interval = \"77 ms\" }",
            3 => "traffic = { kind = \"pages\", page = \"40 kB\", think_time = \"200 ms\" }",
            _ => "traffic = { kind = \"bulk\" }",
        };
        let start = draw(500);
        write!(text, "[[flows]]\nname = \"f{flow}\"\nfrom = \"h{from}\"\nto = \"h{to}\"\nstart = \"{start} ms\"\n{traffic}\n").unwrap();
    }
    text
}

#[test]
fn random_sites_in_parts_are_like_the_whole() {
    let mut cut = 0;
    for seed in 1..20 {
        let loaded = parsed(&sites(seed));
        let Some(found) = Cut::of(&loaded.scenario).cut else {
            continue;
        };
        like_the_whole(&loaded, found.parts.len());
        cut += 1;
    }
    assert!(cut > 10, "{cut}");
}

/// Two regions of cells with a home agent between them. Mobiles cross a border; each has a flow if `flow` is given.
fn regions(record: &str, flow: &str) -> String {
    let mut text = format!(
        "name = \"regions\"\nduration = \"30 s\"\nrecord = {{ {record} }}\n\
         [home_agents.home]\nprefix = \"2001:db8:1::/64\"\nduplicate_address_detection = \"unique-prefix\"\n\
         buffering = {{ size = \"64 kB\" }}\n\
         [links.office]\nbetween = [\"desk\", \"home\"]\nkind = \"wired\"\ndelay = \"31.007 us\"\n"
    );
    for region in 0..2 {
        write!(
            text,
            "[links.line{region}]\nbetween = [\"ground{region}\", \"home\"]\nkind = \"wired\"\ndelay = \"{region}7.013 ms\"\n\
             [links.radio{region}]\nkind = \"ldacs1\"\nuser_rate = \"31.5 kbit/s\"\npacket_bit = true\n"
        )
        .unwrap();
        for (cell, longitude) in [-0.135, 0.135].into_iter().enumerate() {
            write!(
                text,
                "[links.radio{region}.cells.c{cell}]\nnode = \"ground{region}\"\nradius = \"20 km\"\n\
                 position = {{ latitude = {region}.0, longitude = {longitude} }}\n"
            )
            .unwrap();
        }
        write!(
            text,
            "[mobiles.m{region}]\ncount = 5\ntimetable = [{{ at = \"0 s\", attach = \"radio{region}\" }}]\n\
             track = {{ legs = [{{ latitude = {region}.0, longitude = -0.03 }}, {{ latitude = {region}.0, longitude = 0.05 }}], \
             speed = \"800 km/h\", spacing = \"700 ms\" }}\n\
             [mobiles.m{region}.mobility]\nprotocol = \"mobile-ipv6\"\nhome_agent = \"home\"\n\
             asks_for_buffering = true\nduplicate_address_detection = \"icao-address\"\n"
        )
        .unwrap();
        if !flow.is_empty() {
            write!(
                text,
                "[[flows]]\nname = \"f{region}\"\nfrom = \"desk\"\nto = \"m{region}\"\n{flow}\n"
            )
            .unwrap();
        }
    }
    text
}

const DATAGRAMS: &str = "transport = \"udp\"\ntraffic = { kind = \"constant\", rate = \"2 kbit/s\", packet_size = \"100 B\" }";

#[test]
fn a_fleet_in_regions_is_like_the_whole() {
    let loaded = parsed(&regions("handovers = 0", DATAGRAMS));
    like_the_whole(&loaded, 3);
    let handovers = run(&loaded, Some(2)).summary.unlisted_handovers;
    let completed: u64 = handovers.iter().map(|class| class.completed).sum();
    assert_eq!(completed, 10, "{handovers:?}");
    // Without flows, handovers may be listed: all of them, or the first ones.
    like_the_whole(&parsed(&regions("series = true", "")), 3);
    like_the_whole(&parsed(&regions("handovers = 4", "")), 3);
}

#[test]
fn a_mobile_without_a_protocol_moves_within_its_part() {
    let text = r#"
        name = "moving"
        duration = "20 s"
        record = { handovers = 0 }
        links.line = { between = ["server", "router"], kind = "wired", rate = "8 Mbit/s", delay = "12.003 ms" }
        links.one = { between = ["router", "mobile"], kind = "wired", rate = "3 Mbit/s", delay = "2 ms" }
        links.two = { between = ["router", "mobile"], kind = "wired", rate = "5 Mbit/s", delay = "3 ms" }
        mobiles.mobile.timetable = [
            { at = "0 s", attach = "one" },
            { at = "7 s", attach = "two", handover = "hard", outage = "300 ms" },
        ]
        [[flows]]
        name = "download"
        from = "server"
        to = "mobile"
        traffic = { kind = "bulk" }
    "#;
    like_the_whole(&parsed(text), 2);
}

#[test]
fn what_keeps_a_world_together_is_told() {
    let limits = |loaded: &Loaded| {
        let report = CutReport::of(&loaded.scenario);
        assert!(report.parts.is_empty(), "{report:?}");
        report.limits.join("\n")
    };
    let train = limits(&shipped("train", &[]));
    assert!(
        train.contains("a mobile's access links: satellite"),
        "{train}"
    );
    assert!(
        train.contains("`record.handovers = 0` lists none): download"),
        "{train}"
    );
    let telemetry = limits(&shipped("telemetry", &[]));
    assert!(
        telemetry.contains("flow telemetry asks for the rates of its whole way (aerotp)"),
        "{telemetry}"
    );
    let short = r#"
        name = "short"
        duration = "1 s"
        links.lan = { between = ["a", "b"], kind = "wired", rate = "1 Mbit/s", delay = "999 us" }
    "#;
    let short = limits(&parsed(short));
    assert_eq!(short, "links with a delay of less than a millisecond: lan");
}

#[test]
fn a_cut_with_nearly_all_load_in_one_part_is_not_made() {
    let text = r#"
        name = "one-sided"
        duration = "1 s"
        links.lan = { between = ["a", "b"], kind = "wired", rate = "1 Mbit/s", delay = "1 us" }
        links.line = { between = ["b", "c"], kind = "wired", rate = "1 Mbit/s", delay = "10 ms" }
        [[flows]]
        name = "download"
        from = "a"
        to = "b"
        traffic = { kind = "bulk" }
    "#;
    let loaded = parsed(text);
    let report = CutReport::of(&loaded.scenario);
    assert!(report.parts.is_empty());
    let last = report.limits.last().unwrap();
    assert_eq!(
        last,
        "one part would have 100 % of the expected load: it is not worth a cut"
    );
    assert_eq!(run(&loaded, Some(2)).summary.cut, None);
}

#[test]
fn an_interrupted_run_ends_at_one_time_in_all_parts() {
    let loaded = parsed(&sites(3));
    let stopped = |threads: usize| {
        let options = RunOptions {
            threads: NonZeroUsize::new(threads),
            ..RunOptions::default()
        };
        let mut run = Run::new(loaded.clone(), &options).unwrap();
        run.advance_to(baton_proto::time::Instant::from_millis(1_234))
            .unwrap();
        run.finish(None).unwrap()
    };
    let (one, two) = (stopped(1), stopped(2));
    assert_eq!(one.summary.simulated_s, 1.234);
    assert_eq!(rows(&one), rows(&two));
    assert!(!one.manifest.complete);
}

#[test]
fn a_long_silence_takes_few_windows() {
    let text = r#"
        name = "silent"
        duration = "10000 s"
        links.line = { between = ["a", "b"], kind = "wired", rate = "8 Mbit/s", delay = "2 ms" }
        [[flows]]
        name = "ping"
        from = "a"
        to = "b"
        transport = "icmp"
        traffic = { kind = "ping", interval = "100 s" }
    "#;
    let results = same_on_all_threads(&parsed(text), 2);
    let cut = results.summary.cut.unwrap();
    assert_eq!(cut.window_s, 0.001);
    // Two for each departure and each arrival of a request and its reply, at most, instead of ten million.
    assert!(cut.windows <= 100 * 2 * 4, "{cut:?}");
}

#[test]
fn two_equal_parts_can_be_twice_as_fast() {
    let text = r#"
        name = "equal"
        duration = "1 s"
        links.one = { between = ["a", "b"], kind = "wired", rate = "8 Mbit/s", delay = "1 us" }
        links.two = { between = ["c", "d"], kind = "wired", rate = "8 Mbit/s", delay = "1 us" }
        links.line = { between = ["b", "c"], kind = "wired", rate = "8 Mbit/s", delay = "5 ms" }
        [[flows]]
        name = "one"
        from = "a"
        to = "b"
        traffic = { kind = "bulk" }
        [[flows]]
        name = "two"
        from = "d"
        to = "c"
        traffic = { kind = "bulk" }
    "#;
    let results = same_on_all_threads(&parsed(text), 2);
    assert_eq!(results.summary.cut.unwrap().most_speed_up, 2.0);
}
