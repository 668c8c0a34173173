//! Scenario files: TOML to a typed scenario.

pub mod model;
