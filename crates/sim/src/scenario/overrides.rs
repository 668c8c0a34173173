//! Values set on the command line: `--set links.gsm.rate="19.2 kbit/s"`.

use super::document::{Document, Path, Set, Step};
use super::error::{Diagnostic, Place, ScenarioError, nearest, quoted, unknown};
use std::str::FromStr;
use toml::{Table, Value};

/// Most nested keys: more than any scenario needs, less than the stack allows.
const DEEPEST: usize = 16;
/// Characters of a value in a message.
const LONGEST_SHOWN: usize = 200;
/// Removes the key instead of setting it. No value of a key begins like this.
const UNSET: &str = "@unset";
/// Keys whose value is a table, or a text in place of one of the table's keys.
const TEXT_OR_TABLE: [(&str, &str); 4] = [
    ("transport", "kind"),
    ("traffic", "kind"),
    ("congestion", "kind"),
    ("queue", "limit"),
];

/// A value that replaces or adds one in the scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// Dotted keys; an element of an array by its name (`flows.download.traffic.bytes`) or its number from 0.
    pub key: String,
    /// A TOML value, text taken literally, or "@unset", which removes the key.
    pub value: String,
}

impl FromStr for Override {
    type Err = ScenarioError;

    /// Reads `key=value`.
    fn from_str(argument: &str) -> Result<Override, ScenarioError> {
        match argument.split_once('=') {
            Some((key, value)) if !key.trim().is_empty() => Ok(Override {
                key: key.trim().to_owned(),
                value: value.trim().to_owned(),
            }),
            _ => Err(error(
                format!("--set {}", cut(argument)),
                "",
                "expected key=value, like flows.download.transport.congestion=cubic".to_owned(),
            )),
        }
    }
}

fn error(origin: String, key: &str, message: String) -> ScenarioError {
    let place = Place {
        origin,
        position: None,
    };
    ScenarioError {
        diagnostics: vec![Diagnostic {
            place,
            key: key.to_owned(),
            message,
        }],
    }
}

/// Applies `changes` in order, so that the last one for a key holds.
pub(super) fn apply(document: &mut Document, changes: &[Override]) -> Result<(), ScenarioError> {
    for change in changes {
        let argument = format!("--set {}={}", change.key, cut(&change.value));
        let mut setter = Setter {
            path: Path::default(),
        };
        let keys: Vec<&str> = change.key.split('.').collect();
        if keys.len() > DEEPEST {
            let message = format!("{} nested keys; expected at most {DEEPEST}", keys.len());
            return Err(error("--set".to_owned(), "", message));
        }
        let value = parse(&change.value);
        if let Err(message) = setter.set_in_table(&mut document.table, &keys, value) {
            return Err(error(argument, &change.key, message));
        }
        document.sets.push(Set {
            path: setter.path,
            argument,
        });
    }
    Ok(())
}

/// Returns the value of `text`; `None` for one to be removed.
pub(super) fn parse(text: &str) -> Option<Value> {
    let value = Value::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()));
    (value.as_str() != Some(UNSET)).then_some(value)
}

/// Walks down to a value and records the path.
struct Setter {
    path: Path,
}

impl Setter {
    fn set_in_table(
        &mut self,
        table: &mut Table,
        keys: &[&str],
        value: Option<Value>,
    ) -> Result<(), String> {
        let [key, rest @ ..] = keys else {
            return Err("a key is missing".to_owned());
        };
        // A misspelt link must not become a new one. Other keys are checked like the file's.
        let users_names = matches!(self.path.0.as_slice(), [Step::Key(top)] if top == "links" || top == "mobiles");
        if users_names && !table.contains_key(*key) {
            let names: Vec<&str> = table.keys().map(String::as_str).collect();
            let what = if self.path == Path::default().key("links") {
                "link"
            } else {
                "mobile"
            };
            return Err(unknown(what, key, &names));
        }
        self.path = self.path.key(key);
        if value.is_none() && !table.contains_key(*key) {
            let names: Vec<&str> = table.keys().map(String::as_str).collect();
            return Err(not_set(key, &names));
        }
        if !rest.is_empty() {
            let inner = table
                .entry((*key).to_owned())
                .or_insert_with(|| Value::Table(Table::new()));
            write_out(inner, key);
            return self.set_in_value(inner, key, rest, value);
        }
        match value {
            Some(value) => table.insert((*key).to_owned(), value),
            None => table.remove(*key),
        };
        Ok(())
    }

    fn set_in_value(
        &mut self,
        inner: &mut Value,
        name: &str,
        keys: &[&str],
        value: Option<Value>,
    ) -> Result<(), String> {
        match inner {
            Value::Table(table) => self.set_in_table(table, keys, value),
            Value::Array(elements) => self.set_in_array(elements, name, keys, value),
            _ => Err(format!(
                "\"{name}\" is not a table, and cannot hold \"{}\"",
                keys[0]
            )),
        }
    }

    fn set_in_array(
        &mut self,
        elements: &mut [Value],
        name: &str,
        keys: &[&str],
        value: Option<Value>,
    ) -> Result<(), String> {
        let names = element_names(elements);
        let found = names
            .iter()
            .position(|name| name == keys[0])
            .or_else(|| keys[0].parse().ok())
            .filter(|index| *index < elements.len());
        let Some(index) = found else {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let singular = name.strip_suffix('s').unwrap_or(name);
            return Err(unknown(singular, keys[0], &names));
        };
        self.path = self.path.index(index);
        match (keys, value) {
            ([_], Some(value)) => {
                elements[index] = value;
                Ok(())
            }
            ([_], None) => Err(format!(
                "is an element of a list, which {UNSET} cannot remove; set {name} as a whole"
            )),
            (_, value) => self.set_in_value(&mut elements[index], keys[0], &keys[1..], value),
        }
    }
}

/// Makes the table for which a text stands.
fn write_out(value: &mut Value, key: &str) {
    let mut known = TEXT_OR_TABLE.iter();
    if let (Some((_, inner)), Value::String(text)) = (known.find(|(name, _)| name == &key), &value)
    {
        let text = Value::String(text.clone());
        *value = Value::Table(Table::from_iter([((*inner).to_owned(), text)]));
    }
}

/// Returns the error for removing a key that does not exist; `names` do.
fn not_set(key: &str, names: &[&str]) -> String {
    let meant = match nearest(key, names.iter().copied()) {
        Some(name) => format!("; did you mean \"{name}\"?"),
        None => String::new(),
    };
    let names = names.join(", ");
    format!(
        "{} is not set, so {UNSET} cannot remove it{meant} (set: {names})",
        quoted(key)
    )
}

/// Returns `text`, cut to a length that fits a line of a message.
fn cut(text: &str) -> String {
    match text.char_indices().nth(LONGEST_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Returns the names by which elements are addressed: their own, or their numbers.
fn element_names(elements: &[Value]) -> Vec<String> {
    elements
        .iter()
        .enumerate()
        .map(|(index, element)| match element.get("name") {
            Some(Value::String(name)) => name.clone(),
            _ => index.to_string(),
        })
        .collect()
}
