//! Names of profiles, congestion controls and classes in Python.

use baton_proto::mobility::attachment::decision;
use baton_proto::remedies;
use baton_proto::tcp::profile::{Algorithm, Profile};
use serde_json::{Value, json};

/// Returns the profiles for the schema: each name with a line about its stack.
pub fn profile_choices() -> Value {
    let choice = |name| json!({ "type": "string", "const": name, "description": about(name) });
    Profile::NAMES.map(choice).into()
}

/// Describes the stack that a profile follows.
fn about(profile: &str) -> &'static str {
    match profile {
        "rfc" => "Requirements and recommendations of today's standards.",
        "ns2" => "The defaults of ns-2's agents since 2006.",
        "linux-2.0.36" => "Linux 2.0.36 of 1998, by the sources of the 2.0 series.",
        "linux-6" => "A present Linux, matched to the rules and defaults of 6.18.",
        "scps-tp" => "SCPS-TP for space links: SNACK, rate control, congestion control by delay.",
        "classic" => "The same Linux without SACK, timestamps, RACK, TLP and F-RTO.",
        _ => "",
    }
}

/// Prefix of the name of a class in Python.
const PYTHON: &str = "python:";

/// Source of classes in Python, by `module.Class`. An error is worded to follow the name in a sentence.
pub trait PythonClasses {
    /// Returns a congestion control.
    ///
    /// # Errors
    /// Fails with the reason that the class is none.
    fn congestion(&self, class: &str) -> Result<Algorithm, String>;

    /// Returns a remedy.
    ///
    /// # Errors
    /// Fails with the reason that the class is none.
    fn remedy(&self, class: &str) -> Result<remedies::External, String>;

    /// Returns a decision about the link to use.
    ///
    /// # Errors
    /// Fails with the reason that the class is none.
    fn decision(&self, class: &str) -> Result<decision::External, String>;
}

/// Source of decisions in Python, by `module.Class`. An error is worded to follow the name in a sentence.
pub type Decisions<'a> = dyn Fn(&str) -> Result<decision::External, String> + Sync + 'a;

/// Classes of a live run: only decisions, since all others would work inside a kernel's TCP.
pub struct BesideKernels<'a>(pub &'a Decisions<'a>);

impl PythonClasses for BesideKernels<'_> {
    fn congestion(&self, _: &str) -> Result<Algorithm, String> {
        Err(WITHIN_KERNEL.to_owned())
    }

    fn remedy(&self, _: &str) -> Result<remedies::External, String> {
        Err(WITHIN_KERNEL.to_owned())
    }

    fn decision(&self, class: &str) -> Result<decision::External, String> {
        (self.0)(class)
    }
}

const WITHIN_KERNEL: &str =
    "works inside the TCP of an endpoint, which is the kernel's in a live run (baton live)";

/// Returns the congestion control called `name`. One in Python needs `classes`, which exist only in Python.
pub fn congestion(name: &str, classes: Option<&dyn PythonClasses>) -> Result<Algorithm, String> {
    if let Some(algorithm) = Algorithm::named(name) {
        return Ok(algorithm);
    }
    match (name.strip_prefix(PYTHON), classes) {
        (Some(class), Some(classes)) => classes.congestion(class),
        _ => Err(format!(
            "{ONLY_IN_PYTHON}; valid here: {}",
            Algorithm::NAMES.join(", ")
        )),
    }
}

/// Reason for refusing a class without Python.
const ONLY_IN_PYTHON: &str = "runs only in a scenario that Python runs (baton run, baton.Scenario)";

/// Returns the class `name` without its prefix, and its source; fails without one.
pub fn resolve_class<'a>(
    name: &'a str,
    classes: Option<&'a dyn PythonClasses>,
) -> Result<(&'a str, &'a dyn PythonClasses), String> {
    let class = name.strip_prefix(PYTHON).unwrap_or(name);
    Ok((class, classes.ok_or(ONLY_IN_PYTHON)?))
}

/// Checks that `text` is `python:module.Class`. The error is empty for a text of another form.
pub fn python_class(text: &str) -> Result<(), String> {
    let Some(class) = text.strip_prefix(PYTHON) else {
        return Err(String::new());
    };
    let names: Vec<&str> = class.split('.').collect();
    if names.len() < 2 || names.contains(&"") {
        return Err("does not name a class in a module".to_owned());
    }
    Ok(())
}

/// Removes from flows the congestion controls that the simulator does not have, which are a kernel's.
pub fn leave_out_foreign_controls(scenario: &mut toml::Table) {
    let flows = scenario
        .get_mut("flows")
        .and_then(toml::Value::as_array_mut);
    let flows = flows.into_iter().flatten();
    for flow in flows {
        let transport = flow.get_mut("transport");
        if let Some(tcp) = transport.and_then(toml::Value::as_table_mut) {
            leave_out(tcp);
            for end in ["sender", "receiver"] {
                tcp.get_mut(end)
                    .and_then(toml::Value::as_table_mut)
                    .map(leave_out);
            }
        }
    }
}

fn leave_out(settings: &mut toml::Table) {
    let control = settings.get("congestion").and_then(toml::Value::as_str);
    if control.is_some_and(|control| !Algorithm::NAMES.contains(&control)) {
        settings.remove("congestion");
    }
}
