//! Words of other tools, and what they are called here, or why they are not there.

use super::document::{Path, Step};
use super::error::{quoted, unknown, valid};
use super::resolve::Report;
use crate::link::cells;
use serde_json::{Map, Value as Schema};
use toml::{Table, Value};

/// Kinds of links that have keys of their own.
const KINDS: [&str; 4] = ["geo", "wifi", "trace", cells::KIND];

/// Keys of other tools, with the key here.
const KEYS: [(&str, &str); 13] = [
    ("bandwidth", "rate"),
    ("bit_rate", "rate"),
    ("bitrate", "rate"),
    ("capacity", "rate"),
    ("speed", "rate"),
    ("latency", "delay"),
    ("loss", "packet_error_rate"),
    ("loss_rate", "packet_error_rate"),
    ("packet_loss", "packet_error_rate"),
    ("buffer", "queue"),
    ("queue_size", "queue"),
    ("cc", "congestion"),
    ("protocol", "transport"),
];

const NO_ECN: &str = "explicit congestion notification is not modelled";
const OF_SATELLITES: &str = "a geostationary one is \"geo\", one in a low orbit \"starlink\" or, with a recording, \"trace\"";
const NO_LATER_BBR: &str = "of BBR the first version is modelled, as \"bbr\"; a live run (baton live) has the kernel's control";

/// Keys and words for what there is not, or not under this name, with the key that a word stands at ("" for a key itself).
const NOT_MODELLED: [(&str, &str, &str); 16] = [
    ("", "ecn", NO_ECN),
    ("", "l4s", NO_ECN),
    ("congestion", "bbr2", NO_LATER_BBR),
    ("congestion", "bbr3", NO_LATER_BBR),
    ("congestion", "bbrv2", NO_LATER_BBR),
    ("congestion", "bbrv3", NO_LATER_BBR),
    ("congestion", "dctcp", NO_ECN),
    ("congestion", "prague", NO_ECN),
    ("kind", "4g", "it is \"lte\""),
    ("kind", "nr", "it is \"5g\""),
    ("kind", "ethernet", "it is \"wired\""),
    ("kind", "leo", OF_SATELLITES),
    ("kind", "satellite", OF_SATELLITES),
    (
        "kind",
        "wifi5",
        "say \"wifi6\" with a rate of its own, or \"trace\" with a recording",
    ),
    (
        "transport",
        "http3",
        "it runs over \"quic\", with traffic = \"pages\"",
    ),
    (
        "transport",
        "mptcp",
        "Multipath TCP is not simulated; a live run (baton live) has the kernel's",
    ),
];

/// Keys of links that a radio network has too.
const OF_RADIOS: [&str; 3] = ["kind", "mtu", "queue"];

/// Describes the mistake in `key`, which a table at `path` with these `properties` does not have.
pub(super) fn unknown_key(
    key: &str,
    properties: Option<&Map<String, Schema>>,
    path: &Path,
    report: &Report<'_>,
) -> String {
    let names = keys_here(properties, path, report);
    let lower = key.to_lowercase();
    let mut meant = KEYS.iter().filter(|(theirs, _)| *theirs == lower);
    let meant = meant.find(|(_, ours)| names.contains(ours));
    let why = match (meant, not_modelled("", key)) {
        (Some((_, ours)), _) => format!("; here it is \"{ours}\""),
        (None, Some(why)) => format!(": {why}"),
        (None, None) => return unknown("key", key, &names),
    };
    format!("unknown key {}{why}{}", quoted(key), valid("key", &names))
}

/// Describes the mistake in the word `given` at the key `what`, which takes `words`.
pub(super) fn unknown_word(what: &str, given: &str, words: &[&str]) -> String {
    match not_modelled(what, given) {
        Some(why) => {
            let valid = valid(what, words);
            format!("unknown {what} {}: {why}{valid}", quoted(given))
        }
        None => unknown(what, given, words),
    }
}

/// Returns the reason why the key `at` does not have this word, or why there is no such key, if one is known.
fn not_modelled(at: &str, word: &str) -> Option<&'static str> {
    let lower = word.to_lowercase();
    let mut known = NOT_MODELLED.iter();
    let known = known.find(|(key, theirs, _)| *key == at && *theirs == lower);
    known.map(|(_, _, why)| *why)
}

/// The keys that a table at `path` may hold. Of a link's, what only other kinds have is left out.
fn keys_here<'a>(
    properties: Option<&'a Map<String, Schema>>,
    path: &Path,
    report: &Report<'_>,
) -> Vec<&'a str> {
    let kind = match path.0.as_slice() {
        [Step::Key(top), Step::Key(name), ..] if top == "links" => {
            let kind = Path::default().key("links").key(name).key("kind");
            report.written(&kind).and_then(Value::as_str)
        }
        _ => None,
    };
    let fits = |name: &str, about: &Schema| {
        let about = about["description"].as_str().unwrap_or("");
        // As the documentation of such keys begins: "wifi only: ...".
        let only = about.split_once(" only").map(|(only, _)| only);
        match (kind, only.filter(|only| KINDS.contains(only))) {
            (Some(kind), Some(only)) => kind == only,
            (Some(cells::KIND), None) => OF_RADIOS.contains(&name),
            _ => true,
        }
    };
    let all = properties.into_iter().flatten();
    all.filter(|(name, about)| fits(name, about))
        .map(|(name, _)| name.as_str())
        .collect()
}

/// `value` as a number, if it is written in per cent.
pub(super) fn per_cent(value: &Value) -> Option<f64> {
    let number: f64 = value.as_str()?.strip_suffix('%')?.trim().parse().ok()?;
    (0.0..=100.0).contains(&number).then_some(number / 100.0)
}

/// Shows how to write an array of tables, for a user who has written a table at `path`.
pub(super) fn double_brackets(path: &Path, table: &Table) -> String {
    let keys = path.0.iter().filter_map(|step| match step {
        Step::Key(key) => Some(key.as_str()),
        Step::Index(_) => None,
    });
    let header = keys.collect::<Vec<_>>().join(".");
    // As tables of mobiles are written: [flows.download].
    let named = table
        .iter()
        .next()
        .filter(|_| table.values().all(Value::is_table));
    let name = named.map_or_else(String::new, |(name, _)| {
        format!(" and name = {} in it", quoted(name))
    });
    format!("is a table; write [[{header}]], with two brackets{name}")
}
