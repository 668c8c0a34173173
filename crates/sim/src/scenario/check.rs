//! Checks values against the schema: every unknown or missing key, wrong type, wrong unit, wrong word and value out of
//! range is found here, in one pass, so that the typed layer after it gets only values that its types can hold. The
//! schema is the one that editors use, so both agree.

use super::document::Path;
use super::error::quoted;
use super::hints::{double_brackets, is_of_others, per_cent, unknown_key, unknown_word};
use super::resolve::Report;
use super::tagged::{OfKind, named};
use super::units::{FORMATS, Format};
use serde_json::{Map, Value as Schema};
use toml::{Table, Value};

/// Reports everything in `value`, which is at `path`, that `schema` does not allow.
pub(super) fn check(value: &Value, schema: &Schema, path: &Path, report: &mut Report<'_>) {
    if let Some(branches) = alternatives(schema) {
        return check_alternatives(value, schema, &branches, path, report);
    }
    match (kind(schema), value) {
        ("object", Value::Table(table)) => check_table(table, schema, path, report),
        ("array", Value::Array(elements)) => check_array(elements, schema, path, report),
        ("array", Value::Table(table)) if kind(&schema["items"]) == "object" => {
            report.wrong_key(path, double_brackets(path, table));
        }
        _ => {
            if let Err(why) = check_scalar(value, schema) {
                let what = last_key(path);
                report.wrong(path, scalar_message(value, schema, &why, what));
            }
        }
    }
}

fn kind(schema: &Schema) -> &str {
    schema["type"].as_str().unwrap_or("")
}

/// Returns the branches of `anyOf` and `oneOf`; words alone are no branches (see [`words`]).
fn alternatives(schema: &Schema) -> Option<Vec<&Schema>> {
    // A table of several kinds counts as one table.
    if words(schema).is_some() || kind(schema) == "object" {
        return None;
    }
    let branches = schema.get("anyOf").or_else(|| schema.get("oneOf"))?;
    Some(branches.as_array()?.iter().collect())
}

/// Returns the words allowed as a value.
fn words(schema: &Schema) -> Option<Vec<&str>> {
    if let Some(word) = schema["const"].as_str() {
        return Some(vec![word]);
    }
    if let Some(list) = schema["enum"].as_array() {
        return list.iter().map(Schema::as_str).collect();
    }
    schema["oneOf"]
        .as_array()?
        .iter()
        .map(|branch| branch["const"].as_str())
        .collect()
}

fn check_alternatives(
    value: &Value,
    schema: &Schema,
    branches: &[&Schema],
    path: &Path,
    report: &mut Report<'_>,
) {
    // At most one branch is a table, and one an array: a table or an array must be meant for that branch.
    let whole = match value {
        Value::Table(_) => Some("object"),
        Value::Array(_) => Some("array"),
        _ => None,
    };
    if let Some(branch) = branches.iter().find(|branch| Some(kind(branch)) == whole) {
        return check(value, branch, path, report);
    }
    // The name of a kind stands for a table of that kind, which may have required keys.
    let takes_names = branches.iter().any(|branch| words(branch).is_some());
    if let (true, Value::String(name)) = (takes_names, value)
        && let Some((table, branch)) = branches
            .iter()
            .find_map(|branch| Some((named(name, branch)?, branch)))
    {
        return check_table(&table, branch, path, report);
    }
    let mut first = None;
    for branch in branches {
        match check_scalar(value, branch) {
            Ok(()) => return,
            // A format can be more precise than a list of words.
            Err(why) if first.is_none() || branch.get("format").is_some() => first = Some(why),
            Err(_) => {}
        }
    }
    let why = first.unwrap_or_default();
    // Words, and a text of an unsuitable kind: one of the words is meant.
    let mut others = branches.iter().filter(|branch| kind(branch) != "object");
    let is_text = |branch: &&&Schema| matches!(kind(branch), "string" | "array");
    let texts = others.clone().count() > 1 && others.all(|branch| is_text(&branch));
    let words = branches.iter().find_map(|branch| words(branch));
    if let (Some(words), Value::String(text)) = (words, value)
        && texts
        && why.is_empty()
    {
        return report.wrong(path, unknown_word(last_key(path), text, &words));
    }
    report.wrong(path, scalar_message(value, schema, &why, last_key(path)));
}

fn check_table(table: &Table, schema: &Schema, path: &Path, report: &mut Report<'_>) {
    let known = schema["properties"].as_object();
    let of_kind = OfKind::of(table, schema);
    let fits = |key: &str| of_kind.as_ref().is_none_or(|own| own.has(key));
    for (key, value) in table {
        let here = path.key(key);
        let own = of_kind.as_ref().and_then(|own| own.schema(key));
        match (known.and_then(|known| known.get(key)), &of_kind) {
            (Some(schema), _) if fits(key) => check(value, own.unwrap_or(schema), &here, report),
            (Some(_), Some(of_kind)) if !is_of_others(key) => of_kind.refuse(key, &here, report),
            (None, _) if schema["additionalProperties"].is_object() => {
                check(value, &schema["additionalProperties"], &here, report);
            }
            _ => {
                let own: Option<Map<String, Schema>> = known.map(|known| {
                    let own = known.iter().filter(|(key, _)| fits(key));
                    own.map(|(key, schema)| (key.clone(), schema.clone()))
                        .collect()
                });
                let message = unknown_key(key, own.as_ref());
                report.wrong_key(&here, message);
            }
        }
    }
    for key in schema["required"].as_array().into_iter().flatten() {
        let key = key.as_str().unwrap_or_default();
        if !table.contains_key(key) {
            let expected = expected(&schema["properties"][key]);
            report.wrong_key(
                path,
                format!("key \"{key}\" is missing; expected {expected}"),
            );
        }
    }
    if let Some(of_kind) = &of_kind {
        for (key, schema) in of_kind.needed() {
            if !table.contains_key(key) {
                let needs = of_kind.described();
                let expected = expected(schema);
                let message =
                    format!("key \"{key}\" is missing ({needs} needs it); expected {expected}");
                report.wrong_key(path, message);
            }
        }
    }
}

fn check_array(elements: &[Value], schema: &Schema, path: &Path, report: &mut Report<'_>) {
    let least = schema["minItems"].as_u64().unwrap_or(0);
    let most = schema["maxItems"].as_u64().unwrap_or(u64::MAX);
    let count = elements.len() as u64;
    if count < least || count > most {
        let expected = if least == most {
            format!("{least}")
        } else {
            format!("at least {least}")
        };
        report.wrong(path, format!("has length {count}; expected {expected}"));
    }
    for (index, element) in elements.iter().enumerate() {
        check(element, &schema["items"], &path.index(index), report);
    }
}

/// Checks that `value` fits; an error is worded to follow it in a sentence.
fn check_scalar(value: &Value, schema: &Schema) -> Result<(), String> {
    if let Some(words) = words(schema) {
        return match value {
            Value::String(text) if words.contains(&text.as_str()) => Ok(()),
            _ => Err(String::new()),
        };
    }
    match (kind(schema), value) {
        ("string", Value::String(text)) => match format(schema) {
            Some(format) => (format.check)(text),
            None => Ok(()),
        },
        ("string", Value::Integer(_) | Value::Float(_)) if format(schema).is_some() => {
            Err("has no unit".to_owned())
        }
        ("boolean", Value::Boolean(_)) => Ok(()),
        ("integer", Value::Integer(number)) => check_range(*number as f64, schema),
        ("number", Value::Integer(number)) => check_range(*number as f64, schema),
        ("number", Value::Float(number)) => check_range(*number, schema),
        _ => Err("does not fit".to_owned()),
    }
}

fn check_range(number: f64, schema: &Schema) -> Result<(), String> {
    if !number.is_finite() {
        return Err("is not a finite number".to_owned());
    }
    let (least, most) = range(schema);
    if number < least || number > most {
        return Err("is out of range".to_owned());
    }
    Ok(())
}

/// Returns true if a number must be a probability or the like.
fn is_share(schema: &Schema) -> bool {
    kind(schema) == "number" && range(schema) == (0.0, 1.0)
}

fn range(schema: &Schema) -> (f64, f64) {
    let default = match schema["format"].as_str() {
        Some("uint32") => f64::from(u32::MAX),
        _ => f64::MAX,
    };
    (
        schema["minimum"].as_f64().unwrap_or(f64::MIN),
        schema["maximum"].as_f64().unwrap_or(default),
    )
}

fn format(schema: &Schema) -> Option<&'static Format> {
    let name = schema["format"].as_str()?;
    FORMATS.iter().find(|format| format.name == name)
}

fn last_key(path: &Path) -> &str {
    use super::document::Step;
    path.0
        .iter()
        .rev()
        .find_map(|step| match step {
            Step::Key(key) => Some(key.as_str()),
            Step::Index(_) => None,
        })
        .unwrap_or("value")
}

fn scalar_message(value: &Value, schema: &Schema, why: &str, what: &str) -> String {
    if let (Some(words), Value::String(text)) = (words(schema), value) {
        return unknown_word(what, text, &words);
    }
    if let Some(number) = per_cent(value).filter(|_| is_share(schema)) {
        let text = found(value);
        return format!("{text} is a percentage; expected a fraction, here {number}");
    }
    let why = if why.is_empty() { "does not fit" } else { why };
    format!("{} {why}; expected {}", found(value), expected(schema))
}

/// Returns `value` as a message shows it.
fn found(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Table(_) => "a table".to_owned(),
        Value::Array(_) => "an array".to_owned(),
        other => other.to_string(),
    }
}

/// Describes the values that fit `schema`.
fn expected(schema: &Schema) -> String {
    if let Some(branches) = alternatives(schema) {
        let parts: Vec<String> = branches.iter().map(|branch| expected(branch)).collect();
        return parts.join(", or ");
    }
    if let Some(words) = words(schema) {
        let words: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
        return words.join(", ");
    }
    if let Some(format) = format(schema) {
        return format.expected.to_owned();
    }
    match kind(schema) {
        "object" => "a table".to_owned(),
        "array" => "an array".to_owned(),
        "boolean" => "true or false".to_owned(),
        "string" => "text".to_owned(),
        kind @ ("integer" | "number") => {
            let name = if kind == "integer" {
                "a whole number"
            } else {
                "a number"
            };
            match range(schema) {
                (f64::MIN, f64::MAX) => name.to_owned(),
                (least, f64::MAX) => format!("{name} of at least {least}"),
                (least, most) => format!("{name} from {least} to {most}"),
            }
        }
        _ => "another value".to_owned(),
    }
}
