//! The exceptions, and which error becomes which.

use baton_proto::wire::DecodeError;
use baton_sim::record::RecordError;
use baton_sim::sweep::panic_words;
use baton_sim::{run, scenario};
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

create_exception!(
    baton,
    BatonError,
    PyException,
    "Error that Baton raises; its text is written for people."
);
create_exception!(
    baton,
    ScenarioError,
    BatonError,
    "A scenario is wrong. The text has one line for each mistake: file, line, column, key, what was expected, and \
     the nearest valid name."
);
create_exception!(
    baton,
    RunError,
    BatonError,
    "A run could not be made, or its results could not be kept: a folder that exists already, a full disk."
);

create_exception!(
    baton,
    FolderError,
    RunError,
    "The given folder cannot take the results: it exists already, holds something else, or is in use."
);

create_exception!(
    baton,
    PacketError,
    BatonError,
    "Bytes that are no packet, or a packet that its receiver drops: cut short, damaged, or not for it."
);

/// From bytes that are no packet.
pub(crate) fn from_decode(error: DecodeError) -> PyErr {
    PacketError::new_err(format!("{error}; a receiver drops the packet"))
}

/// From an error of the scenario's reader. (Both types are foreign, so that `From` cannot be used.)
pub(crate) fn from_scenario(error: scenario::ScenarioError) -> PyErr {
    ScenarioError::new_err(error.to_string())
}

/// From an error of a run.
pub(crate) fn from_run(error: run::RunError) -> PyErr {
    use RecordError::{Busy, Exists, NoInterface, NoName, NotResults, Stranger};
    match &error {
        run::RunError::Record(NoInterface(_)) => input_error(&error.to_string()),
        run::RunError::Record(
            Exists(_) | NotResults(_) | Stranger { .. } | Busy(_) | NoName(_),
        ) => FolderError::new_err(error.to_string()),
        _ => RunError::new_err(error.to_string()),
    }
}

/// The package's own exception for what the user gave.
pub(crate) fn input_error(text: &str) -> PyErr {
    Python::attach(|py| {
        let made = py
            .import("baton.errors")
            .and_then(|errors| errors.getattr("InputError")?.call1((text,)));
        made.map_or_else(|error| error, PyErr::from_value)
    })
}

/// From an error of a record.
pub(crate) fn from_record(error: RecordError) -> PyErr {
    RunError::new_err(error.to_string())
}

/// Returns the result of `call`. A panic in it, which is a mistake in Baton, becomes an exception of ours instead of
/// one that no `except Exception` catches.
pub(crate) fn guarded<T>(call: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(call))
        .unwrap_or_else(|panic| Err(BatonError::new_err(panic_words(panic.as_ref()))))
}
