//! One run of a sweep, for Python.

use crate::classes;
use crate::errors::RunError;
use crate::scenario::Scenario;
use baton_sim::sweep;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};

/// A request to end runs, which other threads make.
#[pyclass(frozen, module = "baton")]
#[derive(Default)]
pub(crate) struct Stop(AtomicBool);

#[pymethods]
impl Stop {
    #[new]
    fn new() -> Stop {
        Stop::default()
    }

    /// Ends the runs under way, whose outcomes are lost, and those that begin later.
    fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs a scenario without recording anything but the summary: returns it as JSON, or else the reason why there is none.
///
/// Other threads of Python go on meanwhile.
#[pyfunction]
pub(crate) fn sweep_run(
    py: Python<'_>,
    scenario: PyRef<'_, Scenario>,
    seed: u64,
    stop: PyRef<'_, Stop>,
) -> PyResult<(Option<String>, Option<String>)> {
    let (loaded, stop) = (scenario.loaded(), &stop.0);
    let ended = py.detach(|| {
        // State that an earlier run on this thread left when it ended otherwise.
        classes::take_failure();
        sweep::run(loaded, seed, failure, stop)
    });
    match ended {
        Ok(summary) => {
            let text = serde_json::to_string(&summary)
                .map_err(|error| RunError::new_err(error.to_string()))?;
            Ok((Some(text), None))
        }
        Err(reason) => Ok((None, Some(reason))),
    }
}

/// Returns the error that a class in Python has raised on this thread, as Python prints it: the way there, then the
/// error.
fn failure() -> Option<String> {
    let error = classes::take_failure()?;
    Some(Python::attach(|py| {
        let traceback = error.traceback(py);
        // Without it, as of a thread that is out of memory, the error still tells.
        let way = traceback.and_then(|traceback| traceback.format().ok());
        format!("{}{error}", way.unwrap_or_default())
    }))
}
