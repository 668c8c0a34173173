//! The JSON Schema of scenario files, for editors and for `check`.

use super::FORMAT;
use super::raw::RawScenario;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};
use std::sync::LazyLock;

/// Returns the JSON Schema (draft 2020-12) of scenario files. Besides the standard's keywords it uses `format` for
/// values with units: `time`, `positive-time`, `data-rate`, `size`, `queue-size`, `distance`, `speed`, `frequency`,
/// `power`, `ipv6-prefix`, `name` and `python-class`. Its `$id` ends in the version of the format.
pub fn json_schema() -> &'static Value {
    // Built once per process: it takes longer than checking most scenarios.
    static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
        let mut schema = of::<RawScenario>();
        schema["$id"] = format!("urn:baton:scenario:{FORMAT}").into();
        schema
    });
    &SCHEMA
}

/// Returns the JSON Schema of one type, without references.
///
/// The library could leave them out itself, but then it makes the schema of a type anew wherever the type is used.
pub(super) fn of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12();
    let schema = settings.into_generator().into_root_schema_for::<T>();
    let mut schema = schema.to_value();
    tidy(&mut schema);
    let types = match schema.as_object_mut().and_then(|root| root.remove("$defs")) {
        Some(Value::Object(types)) => types,
        _ => Map::new(),
    };
    replace_references(&mut schema, &types);
    schema
}

/// Puts the schema of each type into the places that refer to it; keys beside the reference override the type's.
fn replace_references(schema: &mut Value, types: &Map<String, Value>) {
    if let Value::Object(object) = schema
        && let Some(Value::String(reference)) = object.remove("$ref")
    {
        let name = reference.rsplit('/').next().unwrap_or_default();
        let beside = std::mem::take(object);
        object.extend(
            types
                .get(name)
                .and_then(Value::as_object)
                .cloned()
                .unwrap_or_default(),
        );
        object.extend(beside);
    }
    match schema {
        Value::Array(elements) => {
            elements
                .iter_mut()
                .for_each(|element| replace_references(element, types));
        }
        Value::Object(object) => {
            object
                .values_mut()
                .for_each(|value| replace_references(value, types));
        }
        _ => {}
    }
}

/// Adapts a schema to TOML, which has no null, and closes tables to unknown keys.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Array(elements) => elements.iter_mut().for_each(tidy),
        Value::Object(object) => {
            object.values_mut().for_each(tidy);
            drop_null(object);
            if object.get("properties").is_some_and(Value::is_object) {
                let closed = Value::Bool(false);
                object.entry("additionalProperties").or_insert(closed);
            }
        }
        _ => {}
    }
}

fn drop_null(object: &mut Map<String, Value>) {
    if object.get("default").is_some_and(Value::is_null) {
        object.remove("default");
    }
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            object.insert("type".to_owned(), only);
        }
    }
    for list in ["enum", "anyOf", "oneOf"] {
        let Some(Value::Array(branches)) = object.get_mut(list) else {
            continue;
        };
        branches.retain(|branch| !branch.is_null() && branch.get("type") != Some(&"null".into()));
        if list == "anyOf" && branches.len() == 1 {
            let only = branches.remove(0);
            object.remove(list);
            if let Value::Object(only) = only {
                for (key, value) in only {
                    object.entry(key).or_insert(value);
                }
            }
        }
    }
}
