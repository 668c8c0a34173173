//! Mistakes and their messages: position, key, given value, expected value, nearest valid name.

mod cases;
mod mobility;

use super::*;
use cases::{CASES, SETS};

#[test]
fn every_mistake_is_named_and_placed() {
    for (from, to, expected) in CASES {
        assert!(EXAMPLE.contains(from), "{from} is not in the example");
        let text = EXAMPLE.replacen(from, to, 1);
        let Err(error) = parse(&text, "test.toml", Path::new(""), &[]) else {
            panic!("{to} is accepted");
        };
        assert_eq!(error.to_string(), expected.join("\n"), "{from} -> {to}");
    }
}

#[test]
fn a_key_can_be_taken_out() {
    let set = |arguments: &[&str]| {
        let changes: Vec<Override> = arguments.iter().map(|text| text.parse().unwrap()).collect();
        parse(EXAMPLE, "test.toml", Path::new(""), &changes)
    };
    // Hard to soft: a soft handover has no outage.
    let soft = "mobiles.laptop.timetable.2.handover=soft";
    let refused = set(&[soft]).expect_err("outage").to_string();
    assert!(
        refused.contains(r#""outage" does not go with"#),
        "{refused}"
    );
    let taken_out = "mobiles.laptop.timetable.2.outage=@unset";
    let kept = "mobiles.laptop.timetable.2.old_queue=@unset";
    let loaded = set(&[soft, taken_out, kept]).expect("a soft handover");
    assert!(!loaded.resolved.contains("outage"), "{}", loaded.resolved);
    let AttachmentPolicy::Timetable(entries) = &loaded.scenario.mobiles[0].attachment else {
        panic!("no timetable");
    };
    assert!(matches!(entries[2].handover, Handover::Soft { .. }));
    // In quotes it is the same, and a value set later exists again.
    let again = "mobiles.laptop.timetable.2.outage=3 s";
    let quoted = r#"mobiles.laptop.timetable.2.outage="@unset""#;
    assert!(set(&[quoted, again]).is_ok());
    let message = |argument| set(&[argument]).expect_err("refused").to_string();
    assert_eq!(
        message("mobiles.laptop.timetable.2.outag=@unset"),
        "--set mobiles.laptop.timetable.2.outag=@unset: mobiles.laptop.timetable.2.outag: \"outag\" is not set, so @unset cannot remove it; did you mean \"outage\"? (set: at, attach, handover, outage, old_queue)"
    );
    assert_eq!(
        message("flows.voice=@unset"),
        "--set flows.voice=@unset: flows.voice: is an element of a list, which @unset cannot remove; set flows as a whole"
    );
    assert!(message("links.gsm.kind=@unset").contains("key \"kind\" is missing"));
}

#[test]
fn a_long_value_is_cut_in_a_message() {
    let argument = format!("duration={}", "9".repeat(70_000));
    let change: Override = argument.parse().unwrap();
    let error = parse(EXAMPLE, "test.toml", Path::new(""), &[change]).expect_err("no time");
    assert!(error.to_string().len() < 500, "{}", error.to_string().len());
}

#[test]
fn mistakes_on_the_command_line_name_it() {
    for (argument, expected) in SETS {
        let change = argument.parse();
        let result =
            change.and_then(|change| parse(EXAMPLE, "test.toml", Path::new(""), &[change]));
        match result {
            Ok(_) => panic!("--set {argument} is accepted"),
            Err(error) => assert_eq!(error.to_string(), *expected),
        }
    }
}

#[test]
fn all_mistakes_are_reported_at_once() {
    let text = EXAMPLE
        .replace("kind = \"gsm\"", "kind = \"gms\"")
        .replace("duration", "durration")
        .replace("\"10 Mbit/s\"", "\"10 Mb\"");
    let error = parse(&text, "test.toml", Path::new(""), &[]).expect_err("three mistakes");
    let keys: Vec<&str> = error
        .diagnostics
        .iter()
        .map(|one| one.key.as_str())
        .collect();
    assert_eq!(
        keys,
        ["", "durration", "links.ethernet.rate", "links.gsm.kind"]
    );
}

#[test]
fn jitter_counts_in_a_timetable() {
    let text = EXAMPLE.replace("at = \"1 min\"", "at = \"1 min\", jitter = \"50 s\"");
    let error = parse(&text, "test.toml", Path::new(""), &[]).expect_err("10 s is before 12 s");
    assert_eq!(
        error.to_string(),
        "test.toml:31:10: mobiles.laptop.timetable[2].at: may begin at \"10 s\", but the handover before it lasts \
         until \"12 s\"; expected a later time, or a shorter outage or jitter"
    );
}

#[test]
fn a_run_that_would_never_end() {
    let overrides = [
        set("duration=3650 d"),
        set("links.gsm.rate=1000 Gbit/s"),
        set("links.ethernet.rate=1000 Gbit/s"),
    ];
    let error = parse(EXAMPLE, "test.toml", Path::new(""), &overrides).expect_err("never ends");
    let keys: Vec<&str> = error
        .diagnostics
        .iter()
        .map(|one| one.key.as_str())
        .collect();
    // The interval of the series is the default: the duration makes them too many.
    assert_eq!(keys, ["duration", "flows.download"]);
}

#[test]
fn thousands_of_mistakes_are_told_in_a_few_lines_and_at_once() {
    let syntax = parse(
        "]\n".repeat(1_000_000).as_str(),
        "test.toml",
        Path::new(""),
        &[],
    );
    assert_eq!(syntax.expect_err("no TOML").diagnostics.len(), 20);
    let text = format!("{EXAMPLE}{}", "[[flows]]\nnme = 1\n".repeat(1000));
    let keys = parse(&text, "test.toml", Path::new(""), &[]).expect_err("no flows");
    let lines: Vec<String> = keys.to_string().lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), 51);
    assert_eq!(lines[50], "and 3950 more");
}

/// Units against their definitions.
#[test]
fn units() {
    let times = [
        ("7 ns", 7),
        ("7 us", 7_000),
        ("7 µs", 7_000),
        ("0.25 ms", 250_000),
        ("1.5s", 1_500_000_000),
        ("1e-3 s", 1_000_000),
        ("2 min", 120_000_000_000),
        ("1 h", 3_600_000_000_000),
        ("3650 d", 315_360_000_000_000_000),
        ("0 s", 0),
    ];
    for (text, nanoseconds) in times {
        assert_eq!(
            units::time(text).map(Duration::as_nanos),
            Ok(nanoseconds),
            "{text}"
        );
    }
    let rates = [
        ("1 bit/s", 1),
        ("9.6 kbit/s", 9_600),
        ("5.5 Mbit/s", 5_500_000),
        ("10 Gbit/s", 10_000_000_000),
    ];
    for (text, bits) in rates {
        let rate = units::Rate::try_from(text.to_owned()).map(|rate| rate.0.bits_per_second());
        assert_eq!(rate, Ok(bits), "{text}");
    }
    let sizes = [
        ("1 B", 1),
        ("110 kB", 110_000),
        ("1.5 MB", 1_500_000),
        ("2 GB", 2_000_000_000),
        ("64 KiB", 65_536),
        ("1 MiB", 1_048_576),
    ];
    for (text, bytes) in sizes {
        let size = units::Size::try_from(text.to_owned()).map(|size| size.0);
        assert_eq!(size, Ok(bytes), "{text}");
    }
    let queues = [
        ("1 packet", QueueLimit::Packets(1)),
        ("100 packets", QueueLimit::Packets(100)),
        ("64 kB", QueueLimit::Bytes(64_000)),
    ];
    for (text, limit) in queues {
        let queue = units::QueueSize::try_from(text.to_owned()).map(|queue| queue.0);
        assert_eq!(queue, Ok(limit), "{text}");
    }
}
