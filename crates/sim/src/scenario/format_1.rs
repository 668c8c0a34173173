//! Keys of format 1 that have another place since format 2.

use super::document::{Document, Path};
use super::error::{ScenarioError, quoted};
use super::resolve::Report;
use super::tagged::Tagged;
use super::units;
use crate::transport::RawTransport;
use toml::{Table, Value};

/// Keys of a flow that belong to its `transport`.
const OF_TRANSPORT: [&str; 2] = ["profile", "congestion"];

/// Keys of a flow that belong to its `traffic`.
const OF_TRAFFIC: [&str; 12] = [
    "bytes",
    "rate",
    "packet_size",
    "on",
    "off",
    "random",
    "request",
    "page",
    "think_time",
    "count",
    "interval",
    "size",
];

/// Reports the keys of format 1 in each link and flow, and their present form. The rest of such a file is not checked.
///
/// # Errors
/// Fails with one mistake for each table to which such keys have moved.
pub(super) fn refuse(document: &Document) -> Result<(), ScenarioError> {
    let mut report = Report::new(document, None);
    let top = Path::default().key("links");
    let links = document.table.get("links").and_then(Value::as_table);
    for (name, link) in links.into_iter().flatten() {
        let link_path = top.key(name);
        let Some(link) = link.as_table().filter(|link| is_trace(link)) else {
            continue;
        };
        tell(recording(link), &link_path, &mut report);
        for way in ["down", "up"] {
            let direction = link.get(way).and_then(Value::as_table);
            tell(
                direction.and_then(recording),
                &link_path.key(way),
                &mut report,
            );
        }
    }
    let top = Path::default().key("flows");
    let flows = document.table.get("flows").and_then(Value::as_array);
    for (index, flow) in flows.into_iter().flatten().enumerate() {
        if let Some(flow) = flow.as_table() {
            let path = top.index(index);
            tell(moved(flow, "transport", &OF_TRANSPORT), &path, &mut report);
            tell(moved(flow, "traffic", &OF_TRAFFIC), &path, &mut report);
        }
    }
    match report.is_clean() {
        true => Ok(()),
        false => Err(report.into_error()),
    }
}

/// Reports keys of the table at `path` that have moved.
fn tell(moved: Option<Moved<'_>>, path: &Path, report: &mut Report<'_>) {
    let Some(Moved { keys, now }) = moved else {
        return;
    };
    let (first, rest) = (keys[0], &keys[1..]);
    let others: String = rest
        .iter()
        .map(|key| format!(", {}", quoted(key)))
        .collect();
    let has = if rest.is_empty() { "has" } else { "have" };
    let message = format!(
        "{}{others} {has} moved in format 2; write {now}",
        quoted(first)
    );
    report.wrong_key(&path.key(first), message);
}

fn is_trace(link: &Table) -> bool {
    link.get("kind").and_then(Value::as_str) == Some("trace")
}

/// Returns the keys of a direction that are in `recording` now.
fn recording(direction: &Table) -> Option<Moved<'_>> {
    let formats = [
        ("mahimahi", "mahimahi", "file"),
        ("csv", "csv", "file"),
        ("bandwidth", "leoreplayer", "bandwidth"),
    ];
    // A rate there is a mistake of another kind.
    let names_file = |old: &str| {
        let name = direction.get(old).and_then(Value::as_str);
        name.is_some_and(|name| units::rate(name).is_err())
    };
    let mut found = formats.into_iter();
    let (old, kind, key) = found.find(|(old, ..)| names_file(old))?;
    let mut table = Table::from_iter([("kind".to_owned(), kind.into())]);
    let mut keys = Vec::new();
    let others = [("delay", "delay"), ("at_end", "at_end")];
    let others = others.into_iter().skip(usize::from(kind != "leoreplayer"));
    for (old, key) in [(old, key)].into_iter().chain(others) {
        if let Some((old, value)) = direction.get_key_value(old) {
            table.insert(key.to_owned(), value.clone());
            keys.push(old.as_str());
        }
    }
    let now = format!("recording = {}", Value::Table(table));
    Some(Moved { keys, now })
}

/// Keys that are in one table now.
struct Moved<'a> {
    /// At least one.
    keys: Vec<&'a str>,
    /// The table, in format 2.
    now: String,
}

/// Returns the keys of a flow that are in the table `name` now: `own`, and settings of transports.
fn moved<'a>(flow: &'a Table, name: &str, own: &[&str]) -> Option<Moved<'a>> {
    let (mut keys, mut table) = (Vec::new(), Table::new());
    if let Some(kind) = flow.get(name).and_then(Value::as_str) {
        table.insert("kind".to_owned(), kind.into());
    }
    for (key, value) in flow {
        match value {
            _ if own.contains(&key.as_str()) => {
                table.insert(key.clone(), value.clone());
            }
            // Settings of a transport were under its name.
            Value::Table(settings) if name == "transport" && is_transport(key) => {
                table.extend(settings.clone());
            }
            _ => continue,
        }
        keys.push(key.as_str());
    }
    let now = format!("{name} = {}", Value::Table(table));
    (!keys.is_empty()).then_some(Moved { keys, now })
}

/// Returns true for the name of a transport. Tables of format 2 are recognised first, since making the kinds takes a
/// while.
fn is_transport(key: &str) -> bool {
    let is_known = ["transport", "traffic"].contains(&key);
    !is_known && RawTransport::kinds().iter().any(|kind| kind.name == key)
}
