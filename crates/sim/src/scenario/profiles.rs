//! Names of congestion controls.

use baton_proto::tcp::profile::Algorithm;

/// Congestion controls by name.
pub const CONGESTION_NAMES: [&str; 3] = ["reno", "newreno", "cubic"];
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
