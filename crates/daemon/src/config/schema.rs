//! JSON Schemas of configurations, for editors.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

/// Version of the formats of configurations.
const FORMAT: u32 = 1;

/// Returns the JSON Schema (draft 2020-12) of a role's configuration. Its `$id` contains the role's name and ends in
/// the version of the format.
pub fn of<T: JsonSchema>(role: &str) -> Value {
    let generator = SchemaSettings::draft2020_12().into_generator();
    let mut schema = generator.into_root_schema_for::<T>().to_value();
    schema["$id"] = format!("urn:baton:{role}:{FORMAT}").into();
    schema
}
