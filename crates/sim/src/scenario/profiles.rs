//! Names of profiles, congestion controls and classes in Python.

use baton_proto::mobility::attachment::decision;
use baton_proto::remedies;
use baton_proto::tcp::profile::{Algorithm, Profile};
use serde_json::{Value, json};

/// The profiles for the schema: each name with a line on whose habits they are.
pub fn profile_choices() -> Value {
    let choice = |name| json!({ "type": "string", "const": name, "description": about(name) });
    Profile::NAMES.map(choice).into()
}

/// Describes the stack that a profile follows.
fn about(profile: &str) -> &'static str {
    match profile {
        "rfc" => "What today's standards ask for or recommend.",
        "ns2" => "The defaults of ns-2's agents since 2006.",
        "linux-2.0.36" => "Linux 2.0.36 as a study of 1999 shows it.",
        "linux-6" => "A present Linux, matched to the rules and defaults of 6.18.",
        "scps-tp" => "SCPS-TP for space links: SNACK, rate control, congestion control by delay.",
        "classic" => "The same Linux without SACK, timestamps, RACK, TLP and F-RTO.",
        _ => "",
    }
}

/// Before the name of a class in Python.
const PYTHON: &str = "python:";

/// Brings what classes in Python are, by `module.Class`. An error follows the name in a sentence.
pub trait PythonClasses {
    /// A congestion control.
    ///
    /// # Errors
    /// Reason why it is none.
    fn congestion(&self, class: &str) -> Result<Algorithm, String>;

    /// A remedy.
    ///
    /// # Errors
    /// Reason why it is none.
    fn remedy(&self, class: &str) -> Result<remedies::External, String>;

    /// A decision which link to use.
    ///
    /// # Errors
    /// Reason why it is none.
    fn decision(&self, class: &str) -> Result<decision::External, String>;
}

/// Brings the decision that a class in Python is, by `module.Class`. An error follows the name in a sentence.
pub type Decisions<'a> = dyn Fn(&str) -> Result<decision::External, String> + Sync + 'a;

/// Classes of a live run: all but decisions would work inside a kernel's TCP.
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
    "works inside the TCP of an end, which is the kernel's in a live run (baton live)";

/// The congestion control called `name`. One in Python needs `classes`, which only Python has.
pub fn congestion(name: &str, classes: Option<&dyn PythonClasses>) -> Result<Algorithm, String> {
    if let Some(algorithm) = Algorithm::named(name) {
        return Ok(algorithm);
    }
    match (name.strip_prefix(PYTHON), classes) {
        (Some(class), Some(classes)) => classes.congestion(class),
        _ => Err(format!(
            "{ONLY_IN_PYTHON}; here there are {}",
            Algorithm::NAMES.join(", ")
        )),
    }
}

/// Reason for refusing a class where there is no Python.
const ONLY_IN_PYTHON: &str = "runs only in a scenario that Python runs (baton run, baton.Scenario)";

/// The class that `name` is, without what stands before it, and what brings it; fails where nobody does.
pub fn brought<'a>(
    name: &'a str,
    classes: Option<&'a dyn PythonClasses>,
) -> Result<(&'a str, &'a dyn PythonClasses), String> {
    let class = name.strip_prefix(PYTHON).unwrap_or(name);
    Ok((class, classes.ok_or(ONLY_IN_PYTHON)?))
}

/// Checks that `text` is `python:module.Class`. The error is empty for a text that is not meant to be one.
pub fn python_class(text: &str) -> Result<(), String> {
    let Some(class) = text.strip_prefix(PYTHON) else {
        return Err(String::new());
    };
    let names: Vec<&str> = class.split('.').collect();
    if names.len() < 2 || names.contains(&"") {
        return Err("names no class in a module".to_owned());
    }
    Ok(())
}

/// Takes out of flows the congestion controls that the simulator has not: they are a kernel's.
pub fn leave_out_foreign_controls(scenario: &mut toml::Table) {
    let flows = scenario
        .get_mut("flows")
        .and_then(toml::Value::as_array_mut);
    let flows = flows.into_iter().flatten();
    for flow in flows.filter_map(toml::Value::as_table_mut) {
        leave_out(flow);
        if let Some(tcp) = flow.get_mut("tcp").and_then(toml::Value::as_table_mut) {
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
