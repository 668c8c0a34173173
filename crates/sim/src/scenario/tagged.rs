//! Tables of several kinds, distinguished by one key. Each kind's settings are a type: its fields' documentation,
//! ranges and defaults are the schema's, and a key of another kind is refused.

use super::document::Path;
use super::error::quoted;
use super::resolve::Report;
use super::schema;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// One of several kinds of table.
pub(crate) struct Kind {
    /// Name in a scenario.
    pub name: &'static str,
    /// Description of the kind.
    about: String,
    /// Schemas of its own keys, by key.
    keys: Map<String, Value>,
    /// Required keys of its own.
    needed: Vec<Value>,
    /// Defaults of its own keys.
    pub defaults: Value,
    /// Returns true if this kind has a common key.
    shares: fn(&str) -> bool,
}

impl Kind {
    /// Returns a kind without keys of its own.
    pub fn plain(name: &'static str, about: &str) -> Kind {
        Kind {
            name,
            about: about.to_owned(),
            keys: Map::new(),
            needed: Vec::new(),
            defaults: Value::Object(Map::new()),
            shares: |_| true,
        }
    }

    /// Returns the kind of a settings type. Its defaults are those of serde.
    pub fn of<T: JsonSchema>(name: &'static str) -> Kind {
        let schema = schema::of::<T>();
        let properties = schema["properties"].as_object();
        let (mut keys, mut defaults) = (Map::new(), Map::new());
        for (key, schema) in properties.into_iter().flatten() {
            let mut schema = schema.clone();
            let entries = schema.as_object_mut();
            if let Some(default) = entries.and_then(|entries| entries.shift_remove("default")) {
                defaults.insert(key.clone(), default);
            }
            keys.insert(key.clone(), schema);
        }
        Kind {
            about: schema["description"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            keys,
            needed: schema["required"].as_array().cloned().unwrap_or_default(),
            defaults: Value::Object(defaults),
            ..Kind::plain(name, "")
        }
    }

    /// Returns true if this kind has a key of all kinds.
    pub fn shares(&self, key: &str) -> bool {
        (self.shares)(key)
    }

    /// Returns the kind with those of the keys of all kinds alone for which `shares` returns true.
    pub fn sharing(self, shares: fn(&str) -> bool) -> Kind {
        Kind { shares, ..self }
    }
}

/// Key that distinguishes kinds.
#[derive(Clone, Copy)]
pub(crate) struct Tag {
    /// The key.
    pub key: &'static str,
    /// Its description.
    pub about: &'static str,
    /// Kind of a table without the key; `None` if it is required.
    pub default: Option<&'static str>,
}

impl Tag {
    /// Writes the default into a table without the key.
    pub fn complete(self, table: &mut toml::Table) {
        if let Some(default) = self.default.filter(|_| !table.contains_key(self.key)) {
            table.insert(self.key.to_owned(), default.into());
        }
    }
}

/// Returns the schema of a table of these kinds. `common` are the keys of all kinds.
pub(crate) fn table(tag: Tag, about: &str, common: Map<String, Value>, kinds: &[Kind]) -> Value {
    let mut schema = json!({ "description": about, "type": "object", "properties": common });
    add(&mut schema, tag, kinds);
    schema
}

/// Adds kinds to the schema of a type with the keys of all kinds.
pub(crate) fn add_to(schema: &mut Schema, tag: Tag, kinds: &[Kind]) {
    let mut value = schema.clone().to_value();
    add(&mut value, tag, kinds);
    *schema = Schema::try_from(value).unwrap_or_default();
}

/// Adds kinds, and the key that tells them apart, to the schema of a table with the keys of all kinds.
fn add(schema: &mut Value, tag: Tag, kinds: &[Kind]) {
    let common = schema["properties"].as_object().cloned();
    let common = common.unwrap_or_default();
    let words = kinds
        .iter()
        .map(|kind| json!({ "type": "string", "const": kind.name, "description": kind.about }));
    let mut word = json!({ "description": tag.about, "oneOf": words.collect::<Vec<_>>() });
    if let Some(default) = tag.default {
        word["default"] = default.into();
    } else {
        let required = schema["required"].as_array().into_iter().flatten();
        let required = required.cloned().chain([tag.key.into()]);
        schema["required"] = required.collect();
    }
    let mut properties = Map::from_iter([(tag.key.to_owned(), word)]);
    properties.extend(common.clone());
    for kind in kinds {
        for (key, own) in &kind.keys {
            let described = describe(kind.name, own, &kind.defaults[key]);
            match properties.get_mut(key) {
                None => drop(properties.insert(key.clone(), described)),
                Some(shared) => append(shared, &described),
            }
        }
    }
    schema["properties"] = properties.into();
    let branches = kinds.iter().map(|kind| branch(tag, kind, &common));
    schema["oneOf"] = branches.collect();
}

/// Returns a kind's part of the schema: its own keys, and the names of all keys that it has.
fn branch(tag: Tag, kind: &Kind, common: &Map<String, Value>) -> Value {
    let shared = common.keys().map(String::as_str);
    let shared = shared.filter(|key| (kind.shares)(key));
    let own = kind.keys.keys().map(String::as_str);
    let keys = [tag.key].into_iter().chain(shared).chain(own);
    let mut properties = Map::new();
    let name = json!({ "const": kind.name, "description": kind.about });
    properties.insert(tag.key.to_owned(), name);
    for (key, own) in &kind.keys {
        let mut own = own.clone();
        if let Some(default) = kind.defaults.get(key) {
            own["default"] = default.clone();
        }
        properties.insert(key.clone(), own);
    }
    json!({
        "properties": properties,
        "propertyNames": { "enum": keys.collect::<Vec<_>>() },
        "required": kind.needed,
    })
}

/// Returns a key's schema with the kind's name and the default in its description.
fn describe(kind: &str, schema: &Value, default: &Value) -> Value {
    let mut described = schema.clone();
    let about = lower(schema["description"].as_str().unwrap_or_default());
    let default = match default {
        Value::Null => String::new(),
        Value::Number(number) => format!(" Default {}.", number.as_f64().unwrap_or_default()),
        other => format!(" Default {other}."),
    };
    described["description"] = format!("{kind}: {about}{default}").into();
    described
}

/// Returns a description in the form for the middle of a sentence; an abbreviation at its beginning stays.
fn lower(text: &str) -> String {
    let mut letters = text.chars();
    let (first, rest) = (letters.next(), letters.as_str());
    let is_abbreviation = rest.starts_with(|letter: char| letter.is_ascii_uppercase());
    let first = first.map(|letter| match is_abbreviation {
        true => letter,
        false => letter.to_ascii_lowercase(),
    });
    first.into_iter().chain(rest.chars()).collect()
}

/// Adds another kind's description of a key. Values that differ from kind to kind are given with the kinds alone.
fn append(shared: &mut Value, other: &Value) {
    let bare = |schema: &Value| {
        let mut bare = schema.clone();
        bare["description"] = Value::Null;
        bare
    };
    if bare(shared) != bare(other) {
        *shared = json!({ "description": shared["description"] });
    }
    let texts = [&*shared, other].map(|schema| schema["description"].as_str().unwrap_or_default());
    let alike = texts.map(|text| text.split_once(": ").unwrap_or(("", text)));
    let joined = match alike {
        [(first, about), (second, same)] if about == same => format!("{first}, {second}: {about}"),
        _ => texts.join(" "),
    };
    shared["description"] = joined.into();
}

/// Returns the table for which the name of a kind stands; `None` if `schema` is of another kind of table, or has no
/// kind of this name.
pub(super) fn named(name: &str, schema: &Value) -> Option<toml::Table> {
    let branch = schema["oneOf"].as_array()?.first()?;
    let (tag, _) = branch["properties"].as_object()?.iter().next()?;
    let table = toml::Table::from_iter([(tag.clone(), name.into())]);
    OfKind::of(&table, schema)?;
    Some(table)
}

/// Kind of a table, by its schema.
pub(super) struct OfKind<'a> {
    tag: &'a str,
    name: &'a str,
    /// Schemas of the keys of this kind alone, after that of the tag.
    properties: &'a Map<String, Value>,
    /// Keys of this kind, including those of all.
    keys: Vec<&'a str>,
    /// Required keys.
    needed: Vec<&'a str>,
    /// All kinds in the schema.
    branches: &'a [Value],
}

impl<'a> OfKind<'a> {
    /// Returns the kind of a table; `None` if its schema has no kinds, or not this one.
    pub fn of(table: &'a toml::Table, schema: &'a Value) -> Option<OfKind<'a>> {
        let branches = schema["oneOf"].as_array()?;
        let (tag, _) = branches.first()?["properties"].as_object()?.iter().next()?;
        let name = |branch: &'a Value| branch["properties"][tag]["const"].as_str();
        let chosen = match table.get(tag) {
            Some(word) => word.as_str(),
            None => schema["properties"][tag]["default"].as_str(),
        };
        let chosen = branches.iter().find(|&branch| name(branch) == chosen)?;
        Some(OfKind {
            tag,
            name: name(chosen)?,
            properties: chosen["properties"].as_object()?,
            keys: words(&chosen["propertyNames"]["enum"]),
            needed: words(&chosen["required"]),
            branches,
        })
    }

    /// Returns true for a key of this kind.
    pub fn has(&self, key: &str) -> bool {
        self.keys.contains(&key)
    }

    /// Returns the schema of a key of this kind alone.
    pub fn schema(&self, key: &str) -> Option<&'a Value> {
        self.properties.get(key).filter(|_| key != self.tag)
    }

    /// Returns the required keys of this kind alone, and their schemas.
    pub fn needed(&self) -> impl Iterator<Item = (&'a str, &'a Value)> {
        let needed = self.needed.iter();
        needed.filter_map(|key| Some((*key, self.properties.get(*key)?)))
    }

    /// Describes the kind, as a scenario has it.
    pub fn described(&self) -> String {
        format!("{} = {}", self.tag, quoted(self.name))
    }

    /// Reports a key of other kinds, and names them if this one has no keys of its own.
    pub fn refuse(&self, key: &str, path: &Path, report: &mut Report<'_>) {
        let has = |branch: &&Value| words(&branch["propertyNames"]["enum"]).contains(&key);
        let others = self.branches.iter().filter(has);
        let others = others.filter_map(|branch| branch["properties"][self.tag]["const"].as_str());
        let others: Vec<String> = others.map(quoted).collect();
        let own: Vec<&str> = self.properties.keys().skip(1).map(String::as_str).collect();
        let hint = match own[..] {
            [] => format!("; it goes with {}", others.join(", ")),
            _ => format!(" (its own: {})", own.join(", ")),
        };
        let message = format!(
            "{} does not go with {}{hint}",
            quoted(key),
            self.described()
        );
        report.wrong_key(path, message);
    }
}

/// A type of several kinds, distinguished by a key.
pub(crate) trait Tagged: DeserializeOwned {
    /// The key.
    const TAG: Tag;

    /// Returns all kinds.
    fn kinds() -> Vec<Kind>;
}

/// A table of several kinds; the name of a kind stands for a table with only that tag.
#[derive(Clone, Debug)]
pub struct NameOr<T>(pub T);

impl<'de, T: Tagged> Deserialize<'de> for NameOr<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<NameOr<T>, D::Error> {
        let mut table = match toml::Value::deserialize(deserializer)? {
            toml::Value::Table(table) => table,
            name => toml::Table::from_iter([(T::TAG.key.to_owned(), name)]),
        };
        T::TAG.complete(&mut table);
        T::deserialize(table).map(NameOr).map_err(D::Error::custom)
    }
}

impl<T: Tagged> JsonSchema for NameOr<T> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "NameOr".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let kinds = T::kinds();
        let names = kinds.iter().filter(|kind| kind.needed.is_empty());
        let names = names
            .map(|kind| json!({ "type": "string", "const": kind.name, "description": kind.about }));
        let names = json!({ "type": "string", "oneOf": names.collect::<Vec<_>>() });
        let table = table(T::TAG, "Of one kind.", Map::new(), &kinds);
        json_schema!({ "anyOf": [names, table] })
    }
}

/// Returns the words of a list in a schema.
fn words(list: &Value) -> Vec<&str> {
    let words = list.as_array().into_iter().flatten();
    words.filter_map(Value::as_str).collect()
}
