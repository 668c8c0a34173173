//! Names of profiles and congestion controls.

use baton_proto::tcp::profile::{Algorithm, Profile};
use serde_json::{Value, json};

/// The profiles for the schema: each name with a line on whose habits they are.
pub fn profile_choices() -> Value {
    let choice = |name| json!({ "type": "string", "const": name, "description": about(name) });
    Profile::NAMES.map(choice).into()
}

/// Whose habits a profile has.
fn about(profile: &str) -> &'static str {
    match profile {
        "rfc" => "What today's standards ask for or recommend.",
        "ns2" => "The defaults of ns-2's agents since 2006.",
        "linux-2.0.36" => "Linux 2.0.36 as a study of 1999 shows it.",
        "linux-6" => "A present Linux, matched to the rules and defaults of 6.18.",
        "scps-tp" => "SCPS-TP for space links: SNACK, Vegas, rate control.",
        "classic" => "The same Linux without SACK, timestamps, RACK, TLP and F-RTO.",
        _ => "",
    }
}

/// Congestion controls by name.
pub const CONGESTION_NAMES: [&str; 9] = [
    "reno", "newreno", "cubic", "bbr", "westwood", "scalable", "bic", "vegas", "hybla",
];
/// Before the name of a congestion control that is a class in Python.
const PYTHON: &str = "python:";

/// Brings the congestion control that the class `module.Class` in Python is; the error follows its name in a
/// sentence.
pub type PythonControls<'a> = &'a dyn Fn(&str) -> Result<Algorithm, String>;

/// The congestion control called `name`. One in Python needs `controls`, which only Python has.
pub fn congestion(name: &str, controls: Option<PythonControls<'_>>) -> Result<Algorithm, String> {
    match (name, name.strip_prefix(PYTHON), controls) {
        ("reno", ..) => Ok(Algorithm::Reno),
        ("newreno", ..) => Ok(Algorithm::NewReno),
        ("cubic", ..) => Ok(Algorithm::Cubic),
        ("bbr", ..) => Ok(Algorithm::Bbr),
        ("westwood", ..) => Ok(Algorithm::Westwood(Default::default())),
        ("scalable", ..) => Ok(Algorithm::Scalable(Default::default())),
        ("bic", ..) => Ok(Algorithm::Bic(Default::default())),
        ("vegas", ..) => Ok(Algorithm::Vegas(Default::default())),
        ("hybla", ..) => Ok(Algorithm::Hybla(Default::default())),
        (_, Some(class), Some(controls)) => controls(class),
        _ => Err(format!(
            "runs only in a scenario that Python runs (baton run, baton.Scenario); here there are {}",
            CONGESTION_NAMES.join(", ")
        )),
    }
}

/// Whether `text` is `python:module.Class`. Nothing is said of a text that is not meant to be one.
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
    if control.is_some_and(|control| !CONGESTION_NAMES.contains(&control)) {
        settings.remove("congestion");
    }
}
