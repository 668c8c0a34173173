//! Classes in Python that a scenario names, and what they raise.

use crate::{control, decision, remedy};
use baton_proto::mobility::attachment::decision::External as Decision;
use baton_proto::remedies::External as Remedy;
use baton_proto::tcp::profile::Algorithm;
use baton_sim::scenario::PythonClasses;
use pyo3::prelude::*;
use std::cell::RefCell;
use std::path::Path;

thread_local! {
    /// The first exception of a class in the run that this thread works on. The engine cannot hand it up: what it calls
    /// there always succeeds.
    static FAILURE: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Takes the exception that a class has raised on this thread since the last call.
pub(crate) fn take_failure() -> Option<PyErr> {
    FAILURE.take()
}

/// Does something in Python, unless something has failed before: the run ends soon. `None` if it fails.
pub(crate) fn attempt<T>(call: impl FnOnce(Python<'_>) -> PyResult<T>) -> Option<T> {
    if FAILURE.with_borrow(Option::is_some) {
        return None;
    }
    match Python::attach(call) {
        Ok(value) => Some(value),
        Err(error) => {
            FAILURE.set(Some(error));
            None
        }
    }
}

/// The classes whose modules are looked for in a directory first.
pub(crate) struct Classes<'a>(pub &'a Path);

impl Classes<'_> {
    /// The class `module.Class`, which is to be of `kind`, made into something. Fails with a text that follows the name in
    /// a sentence.
    fn load<T>(
        &self,
        (class, kind): (&str, &str),
        make: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>,
    ) -> Result<T, String> {
        Python::attach(|py| {
            let helper = py.import("baton.classes")?;
            make(&helper.call_method1("load", (class, self.0, kind))?)
        })
        .map_err(|error: PyErr| Python::attach(|py| error.value(py).to_string()))
    }
}

impl PythonClasses for Classes<'_> {
    fn congestion(&self, class: &str) -> Result<Algorithm, String> {
        self.load((class, "congestion control"), |loaded| {
            Ok(Algorithm::External(control::external(class, loaded)))
        })
    }

    fn remedy(&self, class: &str) -> Result<Remedy, String> {
        self.load((class, "remedy"), |loaded| remedy::external(class, loaded))
    }

    fn decision(&self, class: &str) -> Result<Decision, String> {
        self.load((class, "decision"), |loaded| {
            Ok(decision::external(class, loaded))
        })
    }
}
