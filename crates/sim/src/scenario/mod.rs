//! Scenario files: TOML to a typed scenario.
//!
//! Steps of loading: [`document`] parses a file and knows the place of every value, [`overrides`] applies `--set`,
//! [`check`] compares it with the schema (keys, types, units, words, ranges) and reports all mistakes, [`raw`] has the
//! types of the result, [`written_out`] makes copies by each count, and [`resolve`] makes a [`model::Scenario`]: names
//! become indices, defaults are filled in, and contradictions are reported.

mod check;
mod control;
mod copies;
mod counted;
pub(crate) mod defaults;
pub(crate) mod document;
pub mod dtn_gateways;
pub(crate) mod error;
mod expectation;
mod flights;
mod format_1;
mod hints;
mod idle;
mod ipv4_prefix;
mod link_edit;
pub mod model;
mod overrides;
pub(crate) mod profiles;
pub(crate) mod raw;
pub(crate) mod raw_flows;
pub(crate) mod raw_links;
mod raw_losses;
pub(crate) mod raw_reception;
mod raw_recordings;
mod raw_regulators;
pub(crate) mod raw_tracks;
pub(crate) mod resolve;
mod resolve_behind;
mod resolve_changes;
mod resolve_direction;
mod resolve_flows;
pub(crate) mod resolve_links;
mod resolve_live;
mod resolve_losses;
mod resolve_mobility;
mod resolve_radios;
mod resolve_reception;
mod resolve_regulators;
mod resolve_remedies;
pub(crate) mod resolve_tcp;
pub(crate) mod resolve_tracks;
mod schema;
pub(crate) mod tagged;
#[cfg(test)]
mod tests;
pub(crate) mod traces;
pub(crate) mod traffic;
pub(crate) mod units;
mod written_out;

pub use defaults::json_defaults;
pub use error::{Diagnostic, Place, ScenarioError};
pub use link_edit::LinkEdit;
pub use overrides::Override;
use profiles::BesideKernels;
pub use profiles::{Decisions, PythonClasses};
pub use resolve_remedies::json_remedies;
pub use schema::json_schema;
pub use units::quantity_of;

use crate::transport::aerotp::{self, AerotpSettings};
use baton_proto::tcp::profile::Profile;
use document::Document;
use model::Scenario;
use resolve::Report;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use std::path::Path;

/// Version of the format of scenario files, which is raised when an old file would be read differently.
pub const FORMAT: u32 = 2;
/// Largest scenario file, in bytes; recordings are separate files.
const LARGEST_FILE: u64 = 10_000_000;

/// A scenario and the facts about it for a manifest.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The scenario to run.
    pub scenario: Scenario,
    /// The scenario as TOML values with the overrides applied: shows which keys were written, and which are defaults.
    pub document: toml::Table,
    /// TOML text with the overrides applied. Parsed in the same directory it gives the same scenario.
    pub resolved: String,
    /// Recordings named by the scenario (relative to its directory), each with the SHA-256 of its content in
    /// hexadecimal.
    pub traces: Vec<(String, String)>,
    /// Probable mistakes, such as a change after the end of the run.
    pub warnings: Vec<Diagnostic>,
    copies: copies::Copies,
}

impl Loaded {
    /// Returns the table in which a flow is written: the original's for a copy.
    pub fn flow_as_written(&self, number: usize) -> Option<&toml::Table> {
        let path = document::Path::default().key("flows").index(number);
        let (path, _) = self.copies.written(&path);
        let document::Step::Index(place) = path.0.last()? else {
            return None;
        };
        self.document.get("flows")?.get(place)?.as_table()
    }

    /// Returns the warnings that apply to a live run too: it uses settings that a simulated run ignores, and programs
    /// send without flows.
    pub fn warnings_when_live(&self) -> impl Iterator<Item = &Diagnostic> {
        self.warnings
            .iter()
            .filter(|warning| !warning.key.starts_with("live.") && warning.key != "flows")
    }
}

/// Reads the scenario at `path` and its recordings, relative to its directory.
///
/// # Errors
/// Fails with every mistake that was found.
pub fn load(path: &Path, overrides: &[Override]) -> Result<Loaded, ScenarioError> {
    load_for(path, overrides, Stacks::Simulated)
}

/// Reads a scenario like [`load`] for a live run, in which a flow may have any of the kernel's congestion controls,
/// given in [`Loaded::document`]. `decisions` provides classes in Python that decide which link a mobile uses.
///
/// # Errors
/// Fails with every mistake that was found.
pub fn load_live(
    path: &Path,
    overrides: &[Override],
    decisions: &Decisions<'_>,
) -> Result<Loaded, ScenarioError> {
    load_for(path, overrides, Stacks::Kernels(decisions))
}

/// Reads a scenario like [`load`], with classes in Python.
///
/// # Errors
/// Fails with every mistake that was found.
pub fn load_with(
    path: &Path,
    overrides: &[Override],
    classes: &dyn PythonClasses,
) -> Result<Loaded, ScenarioError> {
    load_for(path, overrides, Stacks::WithPython(classes))
}

/// TCP stacks of a scenario's run.
#[derive(Clone, Copy)]
enum Stacks<'a> {
    Simulated,
    WithPython(&'a dyn PythonClasses),
    Kernels(&'a Decisions<'a>),
}

fn load_for(
    path: &Path,
    overrides: &[Override],
    stacks: Stacks<'_>,
) -> Result<Loaded, ScenarioError> {
    let origin = path.display().to_string();
    let text = read(path).map_err(|(position, message)| ScenarioError {
        diagnostics: vec![Diagnostic {
            place: Place {
                origin: origin.clone(),
                position,
            },
            key: String::new(),
            message,
        }],
    })?;
    let directory = path.parent().unwrap_or(Path::new(""));
    parse_for(&text, &origin, directory, overrides, stacks)
}

/// Returns the text of a file, or the fault in it, with line and column if it has a place.
fn read(path: &Path) -> Result<String, (Option<(usize, usize)>, String)> {
    let cannot = |error: std::io::Error| (None, format!("cannot be read: {error}"));
    let whole = |message: &str| Err((None, format!("{message}; expected a scenario file (TOML)")));
    let metadata = std::fs::metadata(path).map_err(cannot)?;
    if metadata.is_dir() {
        return whole("is a directory");
    }
    if metadata.len() > LARGEST_FILE {
        return whole("is above 10 MB");
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(cannot)?;
    // A special file has no length, and may never end.
    let mut bounded = std::io::Read::take(file, LARGEST_FILE + 1);
    std::io::Read::read_to_end(&mut bounded, &mut bytes).map_err(cannot)?;
    if bytes.len() as u64 > LARGEST_FILE {
        return whole("is above 10 MB");
    }
    String::from_utf8(bytes).map_err(|error| {
        let right = error.utf8_error().valid_up_to();
        let text = String::from_utf8_lossy(&error.as_bytes()[..right]).into_owned();
        let place = document::position(&text, right);
        (
            Some(place),
            "is not UTF-8 from here on; expected TOML".to_owned(),
        )
    })
}

/// Parses the scenario `text`; `origin` names it in messages, and its files are relative to `directory`. `overrides`
/// replace or add values before all checks.
///
/// # Errors
/// Fails with every mistake that was found.
pub fn parse(
    text: &str,
    origin: &str,
    directory: &Path,
    overrides: &[Override],
) -> Result<Loaded, ScenarioError> {
    parse_for(text, origin, directory, overrides, Stacks::Simulated)
}

/// Parses a scenario like [`parse`], with classes in Python.
///
/// # Errors
/// Fails with every mistake that was found.
pub fn parse_with(
    text: &str,
    origin: &str,
    directory: &Path,
    overrides: &[Override],
    classes: &dyn PythonClasses,
) -> Result<Loaded, ScenarioError> {
    let stacks = Stacks::WithPython(classes);
    parse_for(text, origin, directory, overrides, stacks)
}

fn parse_for(
    text: &str,
    origin: &str,
    directory: &Path,
    overrides: &[Override],
    stacks: Stacks<'_>,
) -> Result<Loaded, ScenarioError> {
    let document = Document::parse(text, origin)?;
    resolved(document, directory, overrides, stacks)
}

/// Makes a scenario of `values` with the names of a file's keys; messages name it "scenario". Otherwise it is like
/// [`parse_with`].
///
/// # Errors
/// Fails with every mistake that was found.
pub fn build(
    values: toml::Table,
    directory: &Path,
    overrides: &[Override],
    classes: &dyn PythonClasses,
) -> Result<Loaded, ScenarioError> {
    let document = Document::of_values(values, "scenario");
    resolved(document, directory, overrides, Stacks::WithPython(classes))
}

/// Returns the settings of a TCP outside a scenario: `profile`, and the keys of a flow's `tcp`.
///
/// # Errors
/// Fails with every mistake that was found, worded as for a scenario.
pub fn tcp_profile(settings: toml::Table) -> Result<Profile, ScenarioError> {
    parse_standalone(settings, "tcp", resolve_tcp::connection)
}

/// Returns the settings of an AeroTP outside a scenario: the keys of a flow's `aerotp`.
///
/// # Errors
/// Fails like [`tcp_profile`].
pub fn aerotp_settings(settings: toml::Table) -> Result<AerotpSettings, ScenarioError> {
    parse_standalone(
        settings,
        "aerotp",
        |raw: &aerotp::keys::RawHostAerotp, report| {
            aerotp::resolve::settings(raw, &document::Path::default(), report)
        },
    )
}

/// Resolves settings without a scenario; messages name them `origin`.
fn parse_standalone<R: DeserializeOwned + JsonSchema, T>(
    settings: toml::Table,
    origin: &str,
    resolve: impl FnOnce(&R, &mut Report<'_>) -> Option<T>,
) -> Result<T, ScenarioError> {
    let document = Document::of_values(settings, origin);
    let mut report = Report::new(&document, None);
    let values = document.table.clone();
    let raw: Option<R> = checked(values, &schema::of::<R>(), &mut report);
    let resolved = raw.and_then(|raw| resolve(&raw, &mut report));
    match resolved {
        Some(resolved) if report.is_clean() => Ok(resolved),
        _ => Err(report.into_error()),
    }
}

/// Returns `values` in types. `None` if some do not fit, which `report` then has.
fn checked<T: DeserializeOwned>(
    values: toml::Table,
    schema: &serde_json::Value,
    report: &mut Report<'_>,
) -> Option<T> {
    let top = document::Path::default();
    let whole = toml::Value::Table(values);
    check::check(&whole, schema, &top, report);
    if !report.is_clean() {
        return None;
    }
    T::deserialize(whole)
        .map_err(|error| report.wrong(&top, error.message().to_owned()))
        .ok()
}

fn resolved(
    mut document: Document,
    directory: &Path,
    overrides: &[Override],
    stacks: Stacks<'_>,
) -> Result<Loaded, ScenarioError> {
    overrides::apply(&mut document, overrides)?;
    refuse_newer(&document)?;
    format_1::refuse(&document)?;
    let mut values = document.table.clone();
    let beside_kernels;
    let classes: Option<&dyn PythonClasses> = match stacks {
        Stacks::WithPython(classes) => Some(classes),
        Stacks::Simulated => None,
        Stacks::Kernels(decisions) => {
            profiles::leave_out_foreign_controls(&mut values);
            beside_kernels = BesideKernels(decisions);
            Some(&beside_kernels)
        }
    };
    let mut report = Report::new(&document, classes);
    let Some(mut raw) = checked::<raw::RawScenario>(values, json_schema(), &mut report) else {
        return Err(report.into_error());
    };
    let mut traces = traces::Traces::new(directory);
    flights::read(&mut raw, &mut traces, &mut report);
    let copied = written_out::written_out(&raw, &mut report);
    if !report.is_clean() {
        return Err(report.into_error());
    }
    written_out::refuse_spacing(&raw, &mut report);
    let raw = copied.unwrap_or(raw);
    let mut scenario = resolve::resolve(&raw, &mut traces, &mut report);
    scenario.shrink();
    if !report.is_clean() {
        return Err(report.into_error());
    }
    let resolved = match toml::to_string(&document.table) {
        Ok(mut text) => {
            text.shrink_to_fit();
            text
        }
        Err(error) => {
            report.wrong(&document::Path::default(), error.to_string());
            return Err(report.into_error());
        }
    };
    let (warnings, copies) = (report.warnings, report.copies);
    Ok(Loaded {
        scenario,
        document: document.table,
        resolved,
        traces: traces.hashes,
        warnings,
        copies,
    })
}

/// Fails if the file has a newer format, whose other keys cannot be judged.
fn refuse_newer(document: &Document) -> Result<(), ScenarioError> {
    let format = document
        .table
        .get("format")
        .and_then(toml::Value::as_integer);
    let Some(format) = format.filter(|&format| format > FORMAT.into()) else {
        return Ok(());
    };
    let mut report = Report::new(document, None);
    let message = format!(
        "{format} is the format of a newer Baton; this one reads format {FORMAT}; run it with a newer version"
    );
    report.wrong(&document::Path::default().key("format"), message);
    Err(report.into_error())
}
