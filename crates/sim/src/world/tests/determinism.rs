//! The same scenario and seed give the same bytes.

use super::*;
use crate::captures::CaptureSettings;
use std::fs;
use std::path::PathBuf;

/// Every source of random draws: losses, bursts, jitter, bit errors, medium access, random times.
const RANDOM: &str = r#"
    [links.radio]
    between = ["a", "b"]
    kind = "wifi"
    packet_error_rate = 0.01
    [links.wire]
    between = ["b", "c"]
    kind = "wired"
    rate = "2 Mbit/s"
    delay = "20 ms"
    jitter = "5 ms"
    bit_error_rate = 1e-6
    queue = { limit = "50 packets", management = "red", minimum_threshold = 5, maximum_threshold = 15 }
    burst_loss = { mean_good = "2 s", mean_bad = "50 ms", loss_good = 0, loss_bad = 1 }
    [[flows]]
    name = "bulk"
    from = "a"
    to = "c"
    start_jitter = "100 ms"
    [[flows]]
    name = "talk"
    from = "c"
    to = "a"
    transport = "udp"
    traffic.kind = "on-off"
    traffic.rate = "100 kbit/s"
    traffic.on = "1 s"
    traffic.off = "1 s"
"#;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("baton-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Folder(path)
    }

    /// Names and contents of all files.
    fn files(&self) -> Vec<(String, Vec<u8>)> {
        let mut files: Vec<_> = fs::read_dir(&self.0)
            .unwrap()
            .map(|entry| entry.unwrap())
            .map(|entry| {
                let name = entry.file_name().into_string().unwrap();
                (name, fs::read(entry.path()).unwrap())
            })
            .collect();
        files.sort();
        files
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn files_of(name: &str, text: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Folder::new(name);
    let options = RunOptions {
        out: Some(folder.0.clone()),
        captures: Some(CaptureSettings::default()),
        ..RunOptions::default()
    };
    run_with(text, &options);
    folder.files()
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_does_not() {
    let text = scenario(10, &["seed = 1", RANDOM]);
    let first = files_of("first", &text);
    let names: Vec<&str> = first.iter().map(|(name, _)| name.as_str()).collect();
    let expected = [
        "capture-a-radio.pcapng",
        "capture-b-radio.pcapng",
        "capture-b-wire.pcapng",
        "capture-c-wire.pcapng",
        "manifest.json",
        "packets.parquet",
        "series.parquet",
        "summary.json",
    ];
    assert_eq!(names, expected);
    assert!(
        first == files_of("second", &text),
        "the same seed, other bytes"
    );
    let other = files_of("third", &scenario(10, &["seed = 2", RANDOM]));
    for ((name, one), (_, two)) in first.iter().zip(&other) {
        assert!(one != two, "{name} is the same with another seed");
    }
}

#[test]
fn what_is_recorded_does_not_change_the_run() {
    let summary = |record: &str| {
        let results = run(&scenario(10, &[RANDOM, record]));
        serde_json::to_string(&results.summary).unwrap()
    };
    let all = summary("");
    for off in [
        "series = false",
        "packets = false",
        "series = false\npackets = false",
    ] {
        assert_eq!(summary(&format!("[record]\n{off}")), all);
    }
}

#[test]
fn another_flow_elsewhere_leaves_a_links_draws_alone() {
    let lossy = |name: &str, ends: &str| {
        format!(
            "[links.{name}]\nbetween = {ends}\nkind = \"wired\"\nrate = \"1 Mbit/s\"\ndelay = \"10 ms\"\njitter = \"3 ms\"\npacket_error_rate = 0.1\n"
        )
    };
    let talk = |name: &str, to: &str| {
        format!(
            "[[flows]]\nname = \"{name}\"\nfrom = \"a\"\nto = \"{to}\"\ntransport = \"udp\"\ntraffic.kind = \"on-off\"\ntraffic.rate = \"100 kbit/s\"\ntraffic.on = \"1 s\"\ntraffic.off = \"1 s\"\n"
        )
    };
    let links = [lossy("x", r#"["a", "b"]"#), lossy("y", r#"["a", "c"]"#)].concat();
    let fates = |flows: &str| {
        let rows = packets(&run(&scenario(30, &[&links, flows])));
        let own = rows.into_iter().filter(|row| row.link == "x");
        own.map(|row| (row.sent, row.decided, row.fate))
            .collect::<Vec<_>>()
    };
    let alone = fates(&talk("one", "b"));
    assert!(alone.iter().any(|(_, _, fate)| fate == "channel error"));
    let beside = fates(&[talk("two", "c"), talk("one", "b")].concat());
    assert_eq!(alone, beside);
}
