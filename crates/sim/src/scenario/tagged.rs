//! Tables of several kinds, told apart by one key. Each kind's settings are a type: its fields' documentation, ranges and defaults are
//! the schema's, and a key of another kind is refused.

use super::document::Path;
use super::error::quoted;
use super::resolve::Report;
use super::schema;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// One of several kinds of table.
pub(crate) struct Kind {
    /// Its name, as a scenario has it.
    pub name: &'static str,
    /// Description of the kind.
    about: String,
    /// Schemas of its own keys, by key.
    keys: Map<String, Value>,
    /// Defaults of its own keys.
    pub defaults: Value,
}

impl Kind {
    /// Returns a kind without keys of its own.
    pub fn plain(name: &'static str, about: &str) -> Kind {
        Kind {
            name,
            about: about.to_owned(),
            keys: Map::new(),
            defaults: Value::Object(Map::new()),
        }
    }

    /// Returns the kind of a settings type.
    pub fn of<T: JsonSchema + Serialize + Default>(name: &'static str) -> Kind {
        let schema = schema::of::<T>();
        let about = schema["description"].as_str().unwrap_or_default();
        Kind {
            name,
            about: about.to_owned(),
            keys: schema["properties"]
                .as_object()
                .cloned()
                .unwrap_or_default(),
            defaults: serde_json::to_value(T::default()).unwrap_or_default(),
        }
    }
}

/// Returns the schema of a table of these kinds. The tag is its key, its description, and true if it must be written; else the first
/// kind needs no tag. `common` are the keys of all kinds.
pub(crate) fn table(
    (tag, tag_about, is_needed): (&str, &str, bool),
    about: &str,
    common: Map<String, Value>,
    kinds: &[Kind],
) -> Value {
    let words = kinds
        .iter()
        .map(|kind| json!({ "type": "string", "const": kind.name, "description": kind.about }));
    let mut properties = common.clone();
    let first = kinds.first().map_or("", |kind| kind.name);
    let tag_about = match is_needed {
        true => tag_about.to_owned(),
        false => format!("{tag_about} Default \"{first}\"."),
    };
    let required: &[&str] = if is_needed { &[tag] } else { &[] };
    properties.insert(
        tag.to_owned(),
        json!({
            "description": tag_about,
            "oneOf": words.collect::<Vec<_>>(),
        }),
    );
    for kind in kinds {
        for (key, own) in &kind.keys {
            let described = describe(kind.name, own, &kind.defaults[key]);
            match properties.get_mut(key) {
                None => drop(properties.insert(key.clone(), described)),
                Some(shared) => append(shared, &described),
            }
        }
    }
    let branches = kinds.iter().map(|kind| {
        let keys = common.keys().map(String::as_str);
        let keys = keys
            .chain([tag])
            .chain(kind.keys.keys().map(String::as_str));
        let mut properties = Map::new();
        let name = json!({ "const": kind.name, "description": kind.about });
        properties.insert(tag.to_owned(), name);
        for (key, own) in &kind.keys {
            let mut own = own.clone();
            own["default"] = kind.defaults[key].clone();
            properties.insert(key.clone(), own);
        }
        json!({
            "properties": properties,
            "propertyNames": { "enum": keys.collect::<Vec<_>>() },
        })
    });
    json!({
        "description": about,
        "type": "object",
        "properties": properties,
        "required": required,
        "oneOf": branches.collect::<Vec<_>>(),
    })
}

/// Returns a key's schema with the kind's name and the default in its description.
fn describe(kind: &str, schema: &Value, default: &Value) -> Value {
    let mut described = schema.clone();
    if let Some(entries) = described.as_object_mut() {
        let about = schema["description"].as_str().unwrap_or_default();
        let default = match default.as_f64() {
            Some(number) => number.to_string(),
            None => default.to_string(),
        };
        let text = format!("{kind}: {} Default {default}.", lower(about));
        entries.insert("description".to_owned(), text.into());
        entries.shift_remove("default");
    }
    described
}

fn lower(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_ascii_lowercase());
    first.into_iter().chain(letters).collect()
}

/// Adds another kind's description of a key.
fn append(shared: &mut Value, other: &Value) {
    let texts = [&*shared, other].map(|schema| schema["description"].as_str().unwrap_or_default());
    let alike = texts.map(|text| text.split_once(": ").unwrap_or(("", text)));
    let joined = match alike {
        [(first, about), (second, same)] if about == same => format!("{first}, {second}: {about}"),
        _ => texts.join(" "),
    };
    shared["description"] = joined.into();
}

/// Kind of a table, as its schema tells.
pub(super) struct OfKind<'a> {
    tag: &'a str,
    name: &'a str,
    /// Keys of all kinds.
    common: Vec<&'a str>,
    /// Keys of this kind, with those of all.
    keys: Vec<&'a str>,
}

impl<'a> OfKind<'a> {
    /// Returns the kind of a table; `None` if its schema has no kinds, or not this one.
    pub fn of(table: &'a toml::Table, schema: &'a Value) -> Option<OfKind<'a>> {
        let branches = schema["oneOf"].as_array()?;
        let (tag, _) = branches.first()?["properties"].as_object()?.iter().next()?;
        let name = |branch: &'a Value| branch["properties"][tag]["const"].as_str();
        let keys = |branch: &'a Value| -> Vec<&'a str> {
            let keys = branch["propertyNames"]["enum"].as_array().into_iter();
            keys.flatten().filter_map(Value::as_str).collect()
        };
        let required = schema["required"].as_array();
        let chosen = match table.get(tag) {
            None if required.is_some_and(|keys| keys.iter().any(|key| key == tag)) => return None,
            None => branches.first()?,
            Some(word) => branches
                .iter()
                .find(|&branch| name(branch) == word.as_str())?,
        };
        let of_all = |key: &&str| branches.iter().all(|branch| keys(branch).contains(key));
        let own = keys(chosen);
        Some(OfKind {
            tag,
            name: name(chosen)?,
            common: own.iter().copied().filter(of_all).collect(),
            keys: own,
        })
    }

    /// Returns true for a key that goes with the kind.
    pub fn has(&self, key: &str) -> bool {
        self.keys.contains(&key)
    }

    /// Reports a key of another kind.
    pub fn refuse(&self, key: &str, path: &Path, report: &mut Report<'_>) {
        let own = self.keys.iter().filter(|key| !self.common.contains(key));
        let own: Vec<&str> = own.copied().collect();
        let hint = match own[..] {
            [] => String::new(),
            _ => format!(" (its own: {})", own.join(", ")),
        };
        let (tag, name) = (self.tag, quoted(self.name));
        let message = format!("{} does not go with {tag} = {name}{hint}", quoted(key));
        report.wrong_key(path, message);
    }
}
