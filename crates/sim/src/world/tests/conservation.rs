//! Every packet that arrives was sent, and every loss is counted.

use super::*;
use crate::rng::{Seed, Stream};
use std::collections::BTreeMap;

/// Draws one of a few values.
fn one_of<'a>(draws: &mut Stream, values: &[&'a str]) -> &'a str {
    values[draws.below(values.len() as u64) as usize]
}

/// Returns a small world with two access links, handovers and three flows.
fn small_world(seed: u64) -> String {
    let mut draws = Seed(seed).stream("small world");
    let mut pick = |values: &[&'static str]| one_of(&mut draws, values);
    let mut text = String::from(
        "[links.wire]\nbetween = [\"s\", \"r\"]\nkind = \"wired\"\nrate = \"5 Mbit/s\"\ndelay = \"5 ms\"\n",
    );
    for name in ["x", "y"] {
        let kind = pick(&[
            "kind = \"gsm\"",
            "kind = \"wifi\"",
            "kind = \"wired\"\nrate = \"300 kbit/s\"\ndelay = \"40 ms\"",
        ]);
        let noise = pick(&[
            "",
            "packet_error_rate = 0.02",
            "burst_loss = { mean_good = \"3 s\", mean_bad = \"200 ms\", loss_good = 0, loss_bad = 1 }",
            "bit_error_rate = 1e-5\ndamaged = \"delivered\"",
        ]);
        let queue = pick(&["5 packets", "20 kB", "100 packets"]);
        text += &format!(
            "[links.{name}]\nbetween = [\"r\", \"m\"]\n{kind}\n{noise}\nqueue = \"{queue}\"\n"
        );
    }
    let how = |word: &str| match word {
        "soft" => "handover = \"soft\"".to_owned(),
        "overlap" => "handover = \"soft\", overlap = \"300 ms\"".to_owned(),
        "discard" => "handover = \"soft\", old_queue = \"discard\"".to_owned(),
        "keep" => "handover = \"hard\", outage = \"800 ms\", old_queue = \"keep\"".to_owned(),
        _ => "handover = \"hard\", outage = \"800 ms\"".to_owned(),
    };
    text += "[mobiles.m]\ntimetable = [{ at = \"0 s\", attach = \"x\" }";
    for (at, link) in [(5, "y"), (12, "x"), (20, "y")] {
        let how = how(pick(&["soft", "overlap", "discard", "keep", "hard"]));
        text += &format!(", {{ at = \"{at} s\", attach = \"{link}\", {how} }}");
    }
    text += "]\n";
    for (name, from, to) in [("down", "s", "m"), ("up", "m", "s")] {
        let congestion = pick(&[
            "reno", "newreno", "cubic", "westwood", "scalable", "bic", "vegas", "hybla",
        ]);
        let profile = pick(&[
            "rfc",
            "ns2",
            "linux-2.0.36",
            "linux-6",
            "classic",
            "scps-tp",
        ]);
        let bytes = pick(&["", "traffic.bytes = \"20 kB\"", "stop = \"15 s\""]);
        text += &format!(
            "[[flows]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\ntransport.profile = \"{profile}\"\ntransport.congestion = \"{congestion}\"\n{bytes}\n"
        );
    }
    text + "[[flows]]\nname = \"talk\"\nfrom = \"s\"\nto = \"m\"\ntransport = \"udp\"\ntraffic.kind = \"on-off\"\ntraffic.rate = \"20 kbit/s\"\ntraffic.packet_size = \"200 B\"\ntraffic.on = \"1 s\"\ntraffic.off = \"1 s\"\n"
}

#[test]
fn every_packet_has_one_fate_on_every_link() {
    for seed in 1..=40 {
        let text = scenario(60, &[&format!("seed = {seed}"), &small_world(seed)]);
        let results = run(&text);
        let rows = packets(&results);
        check_rows(&rows, &format!("seed {seed}:\n{text}"));
        check_counts(&results, &rows, &format!("seed {seed}:\n{text}"));
    }
}

fn check_rows(rows: &[PacketRow], context: &str) {
    let end = 60_000_000_000;
    let mut last = BTreeMap::new();
    let mut ways: BTreeMap<u64, Vec<&PacketRow>> = BTreeMap::new();
    for row in rows {
        match row.decided {
            None => assert_eq!(row.fate, "under way", "{context}"),
            Some(at) => {
                assert!(row.sent <= at && at <= end, "{row:?} {context}");
                assert_ne!(row.fate, "under way", "{context}");
            }
        }
        // No packet overtakes another on a link.
        if row.is_delivered() {
            let last = last.entry((row.link.clone(), row.down)).or_insert((0, 0));
            let now = (row.decided.unwrap_or(0), row.sent);
            assert!(*last <= now, "{row:?} {context}");
            *last = now;
        }
        ways.entry(row.number).or_default().push(row);
    }
    for way in ways.values() {
        let mut links: Vec<&str> = way.iter().map(|row| row.link.as_str()).collect();
        links.sort_unstable();
        links.dedup();
        assert_eq!(links.len(), way.len(), "twice on a link: {way:?} {context}");
        // The next link begins where and when the last one ended.
        let mut way = way.clone();
        way.sort_by_key(|row| row.sent);
        for pair in way.windows(2) {
            assert!(pair[0].is_delivered(), "{context}");
            assert_eq!(pair[0].decided, Some(pair[1].sent), "{context}");
        }
    }
}

fn check_counts(results: &Results, rows: &[PacketRow], context: &str) {
    let mut numbers: Vec<u64> = rows.iter().map(|row| row.number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len() as u64, results.summary.packets, "{context}");
    for flow in &results.summary.flows {
        let own = || rows.iter().filter(|row| row.flow == flow.name);
        let dropped = own().filter(|row| !row.is_delivered() && row.decided.is_some());
        assert_eq!(dropped.count() as u64, flow.lost_packets, "{context}");
        // All data that the application received left the source's first link at least once.
        let first = if flow.name == "up" { "wire" } else { "x" };
        let arrived: u64 = own()
            .filter(|row| row.is_delivered() && row.down == (flow.name != "up"))
            .filter(|row| (row.link == first) || (first == "x" && row.link == "y"))
            .map(|row| u64::from(row.payload))
            .sum();
        assert!(flow.delivered_bytes <= arrived, "{} {context}", flow.name);
        assert_eq!(flow.failure, None, "{context}");
    }
    let transfers = results
        .summary
        .flows
        .iter()
        .filter(|flow| flow.transport == "tcp");
    for flow in transfers.filter(|flow| flow.completion_s.is_some()) {
        assert_eq!(flow.delivered_bytes, 20_000, "{context}");
    }
}
