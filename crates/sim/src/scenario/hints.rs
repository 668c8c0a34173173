//! Words of other tools, with their names here, or the reason that they do not exist.

use super::document::{Path, Step};
use super::error::{nearest, quoted, unknown, valid};
use serde_json::{Map, Value as Schema};
use toml::{Table, Value};

/// Keys of other tools, with the key here.
const KEYS: [(&str, &str); 15] = [
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
    ("dama", "demand"),
    ("fec", "coding"),
    ("protocol", "transport"),
];

const NO_ECN: &str = "explicit congestion notification is not modelled";
const OF_SATELLITES: &str = "a geostationary satellite is \"geo\"; one in low orbit is \"starlink\" or, with a recording, \"trace\"";
const NO_LATER_BBR: &str = "only the first version of BBR is modelled, as \"bbr\"; a live run (baton live) uses the kernel's";

/// Keys and words that do not exist here, or not under this name, with the key of a word ("" for a key itself).
const NOT_MODELLED: [(&str, &str, &str); 19] = [
    ("", "ecn", NO_ECN),
    ("", "l4s", NO_ECN),
    ("congestion", "bbr2", NO_LATER_BBR),
    ("congestion", "bbr3", NO_LATER_BBR),
    ("congestion", "bbrv2", NO_LATER_BBR),
    ("congestion", "bbrv3", NO_LATER_BBR),
    ("congestion", "dctcp", NO_ECN),
    ("congestion", "prague", NO_ECN),
    ("kind", "4g", "here it is \"lte\""),
    ("kind", "nr", "here it is \"5g\""),
    (
        "kind",
        "dvb-rcs",
        "here it is \"geo\" with the table \"demand\"",
    ),
    ("kind", "ethernet", "here it is \"wired\""),
    ("kind", "leo", OF_SATELLITES),
    ("kind", "manet", "here it is \"ad-hoc\""),
    ("kind", "mesh", "here it is \"ad-hoc\""),
    ("kind", "satellite", OF_SATELLITES),
    (
        "kind",
        "wifi5",
        "write \"wifi6\" with its own rate, or \"trace\" with a recording",
    ),
    (
        "transport",
        "http3",
        "write \"quic\", with traffic.kind = \"pages\"",
    ),
    (
        "transport",
        "mptcp",
        "Multipath TCP is not simulated; a live run (baton live) uses the kernel's",
    ),
];

/// Returns true for a key of other tools that has another meaning in a kind here.
pub(super) fn is_of_others(key: &str) -> bool {
    KEYS.iter().any(|(theirs, _)| *theirs == key)
}

/// Describes the mistake in `key`, which a table with these `properties` does not have.
pub(super) fn unknown_key(key: &str, properties: Option<&Map<String, Schema>>) -> String {
    let names = properties.into_iter().flatten();
    let names: Vec<&str> = names.map(|(name, _)| name.as_str()).collect();
    let lower = key.to_lowercase();
    let inner = keys_of_kinds(properties);
    let place = |ours: &&str| {
        let has = |(_, key): &&(&str, &str)| key == ours;
        let within = |(table, key)| format!("{table}.{key}");
        match names.contains(ours) {
            true => Some((*ours).to_owned()),
            false => inner.iter().find(has).copied().map(within),
        }
    };
    let mut theirs = KEYS.iter().filter(|(theirs, _)| *theirs == lower);
    let meant = theirs.find_map(|(_, ours)| place(ours));
    let near = || {
        let own = nearest(key, names.iter().copied());
        let inner = nearest(key, inner.iter().map(|(_, key)| *key));
        inner
            .filter(|_| own.is_none())
            .and_then(|near| place(&near))
    };
    let why = match (meant, not_modelled("", key)) {
        (Some(ours), _) => format!("; here it is \"{ours}\""),
        (None, Some(why)) => format!(": {why}"),
        (None, None) => match near() {
            Some(near) => format!("; did you mean \"{near}\"?"),
            None => return unknown("key", key, &names),
        },
    };
    format!("unknown key {}{why}{}", quoted(key), valid("key", &names))
}

/// Returns the keys of the tables of several kinds among these values, each with its table's key.
fn keys_of_kinds(properties: Option<&Map<String, Schema>>) -> Vec<(&str, &str)> {
    let tables = properties.into_iter().flatten().flat_map(|(name, value)| {
        let branches = value["anyOf"].as_array().into_iter().flatten();
        branches.map(move |branch| (name.as_str(), branch))
    });
    let of_kinds = tables.filter(|(_, table)| table["oneOf"][0]["propertyNames"].is_object());
    let keys = of_kinds.flat_map(|(name, table)| {
        let keys = table["properties"].as_object().into_iter().flatten();
        keys.map(move |(key, _)| (name, key.as_str()))
    });
    keys.collect()
}

/// Describes the mistake in the word `given` at the key `what`, whose words are `words`.
pub(super) fn unknown_word(what: &str, given: &str, words: &[&str]) -> String {
    match not_modelled(what, given) {
        Some(why) => {
            let valid = valid(what, words);
            format!("unknown {what} {}: {why}{valid}", quoted(given))
        }
        None => unknown(what, given, words),
    }
}

/// Returns the reason that the key `at` does not have this word, or that no such key exists, if known.
fn not_modelled(at: &str, word: &str) -> Option<&'static str> {
    let lower = word.to_lowercase();
    let mut known = NOT_MODELLED.iter();
    // A kind may be that of a link, a transport or a congestion control.
    let is_at = |key: &str| key == at || at == "kind" && !key.is_empty();
    let known = known.find(|(key, theirs, _)| is_at(key) && *theirs == lower);
    known.map(|(_, _, why)| *why)
}

/// Returns `value` as a number, if it is a percentage.
pub(super) fn per_cent(value: &Value) -> Option<f64> {
    let number: f64 = value.as_str()?.strip_suffix('%')?.trim().parse().ok()?;
    (0.0..=100.0).contains(&number).then_some(number / 100.0)
}

/// Shows the syntax of an array of tables, for a user who has written a table at `path`.
pub(super) fn double_brackets(path: &Path, table: &Table) -> String {
    let keys = path.0.iter().filter_map(|step| match step {
        Step::Key(key) => Some(key.as_str()),
        Step::Index(_) => None,
    });
    let header = keys.collect::<Vec<_>>().join(".");
    // In the syntax of mobiles: [flows.download].
    let named = table
        .iter()
        .next()
        .filter(|_| table.values().all(Value::is_table));
    let name = named.map_or_else(String::new, |(name, _)| {
        format!(" and name = {} in it", quoted(name))
    });
    format!("is a table; write [[{header}]], with two brackets{name}")
}
