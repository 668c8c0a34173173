//! Python's values as those of a scenario.

use crate::errors::from_scenario;
use baton_sim::scenario::{Diagnostic, Place, ScenarioError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use toml::{Table, Value};

/// Tables and arrays in one another: more than any scenario needs, less than the stack holds. A table that
/// holds itself ends here.
const DEEPEST: usize = 16;

/// `dict` with the values of a scenario; `origin` names it in messages.
pub(crate) fn table(dict: &Bound<'_, PyDict>, origin: &str) -> PyResult<Table> {
    convert_table(dict, "", 0).map_err(|(key, message)| {
        let place = Place {
            origin: origin.to_owned(),
            position: None,
        };
        from_scenario(ScenarioError {
            diagnostics: vec![Diagnostic {
                place,
                key,
                message,
            }],
        })
    })
}

/// The key at which something does not fit, and why.
type Misfit = (String, String);

fn convert_table(dict: &Bound<'_, PyDict>, at: &str, depth: usize) -> Result<Table, Misfit> {
    let mut table = Table::new();
    for (key, value) in dict {
        let Ok(key) = key.extract::<String>() else {
            let message = format!("a key is {}; expected text", kind(&key));
            return Err((at.to_owned(), message));
        };
        let path = match at {
            "" => key.clone(),
            _ => format!("{at}.{key}"),
        };
        table.insert(key, convert(&value, &path, depth + 1)?);
    }
    Ok(table)
}

fn convert(value: &Bound<'_, PyAny>, at: &str, depth: usize) -> Result<Value, Misfit> {
    if depth > DEEPEST {
        let message = format!("tables and arrays are nested more than {DEEPEST} deep");
        return Err((at.to_owned(), message));
    }
    let elements = |items: &mut dyn Iterator<Item = Bound<'_, PyAny>>| {
        let items = items.enumerate();
        items
            .map(|(index, item)| convert(&item, &format!("{at}[{index}]"), depth + 1))
            .collect::<Result<Vec<Value>, Misfit>>()
            .map(Value::Array)
    };
    let misfit = |message: String| (at.to_owned(), message);
    if let Ok(text) = value.cast::<PyString>() {
        let text = text.extract::<String>();
        text.map(Value::String)
            .map_err(|_| misfit("is not Unicode text".to_owned()))
    } else if let Ok(truth) = value.cast::<PyBool>() {
        Ok(Value::Boolean(truth.is_true()))
    } else if let Ok(number) = value.cast::<PyInt>() {
        number
            .extract()
            .map(Value::Integer)
            .map_err(|_| misfit("integer out of range; expected -2^63 to 2^63 - 1".to_owned()))
    } else if let Ok(number) = value.cast::<PyFloat>() {
        Ok(Value::Float(number.value()))
    } else if let Ok(dict) = value.cast::<PyDict>() {
        convert_table(dict, at, depth).map(Value::Table)
    } else if let Ok(list) = value.cast::<PyList>() {
        elements(&mut list.iter())
    } else if let Ok(tuple) = value.cast::<PyTuple>() {
        elements(&mut tuple.iter())
    } else if value.is_none() {
        Err(misfit(
            "is None; leave the key out for its default".to_owned(),
        ))
    } else {
        let expected = "expected text, a number, True or False, a list or a dictionary";
        Err(misfit(format!("is {}; {expected}", kind(value))))
    }
}

fn kind(value: &Bound<'_, PyAny>) -> String {
    let name = value.get_type().name();
    name.map_or("of an unknown type".to_owned(), |name| {
        format!("of type {name}")
    })
}
