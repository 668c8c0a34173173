//! The pool of a sweep, for Python.

use crate::classes;
use crate::errors::RunError;
use crate::scenario::Scenario;
use baton_sim::sweep::{self, Task};
use pyo3::prelude::*;
use std::num::NonZero;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// From one look at signals to the next.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Point, seed, and the summary as JSON or the reason why there is none.
type Outcome = (usize, u64, Option<String>, Option<String>);

/// Threads that run scenarios without recording anything but the summary; used by `baton sweep`.
#[pyclass(frozen, module = "baton")]
pub(crate) struct Pool {
    pool: Mutex<Option<sweep::Pool>>,
    workers: usize,
}

impl Pool {
    fn pool(&self) -> MutexGuard<'_, Option<sweep::Pool>> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Pool {
    /// Waits for the threads without the interpreter lock, which a class in Python may want.
    fn drop(&mut self) {
        Python::attach(|py| self.close(py));
    }
}

#[pymethods]
impl Pool {
    /// Starts `workers` threads, by default one for each core. Raises `RunError` if the system grants none.
    #[new]
    #[pyo3(signature = (scenarios, workers = None))]
    fn new(scenarios: Vec<PyRef<'_, Scenario>>, workers: Option<usize>) -> PyResult<Pool> {
        let cores = || std::thread::available_parallelism().map_or(1, NonZero::get);
        let workers = workers.unwrap_or_else(cores);
        let loaded = scenarios.iter().map(|scenario| scenario.loaded().clone());
        let pool = sweep::Pool::new(loaded.collect(), workers, failure).map_err(|error| {
            RunError::new_err(format!("cannot start {workers} threads: {error}"))
        })?;
        Ok(Pool {
            pool: Mutex::new(Some(pool)),
            workers,
        })
    }

    /// Number of threads.
    #[getter]
    fn workers(&self) -> usize {
        self.workers
    }

    /// Adds a run of `scenarios[point]`. Raises `RunError` when the pool is closed.
    fn submit(&self, point: usize, seed: u64) -> PyResult<()> {
        match self.pool().as_mut() {
            Some(pool) => {
                pool.submit(Task { point, seed });
                Ok(())
            }
            None => Err(RunError::new_err("the pool is closed")),
        }
    }

    /// Waits for a run to end: its point, its seed, and its summary as JSON or else the reason why there is none.
    ///
    /// Outcomes come in the order in which runs end; `None` when none is under way. Ctrl-C raises
    /// `KeyboardInterrupt`, and runs go on until `close`.
    fn next(&self, py: Python<'_>) -> PyResult<Option<Outcome>> {
        loop {
            py.check_signals()?;
            let waited = py.detach(|| {
                let mut guard = self.pool();
                let pool = guard.as_mut().filter(|pool| pool.under_way() > 0)?;
                Some(pool.next(LOOK_EVERY))
            });
            match waited {
                None => return Ok(None),
                Some(None) => {}
                Some(Some(outcome)) => return described(outcome).map(Some),
            }
        }
    }

    /// Ends the runs under way, whose outcomes are lost.
    fn close(&self, py: Python<'_>) {
        py.detach(|| drop(self.pool().take()));
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

fn described(outcome: sweep::Outcome) -> PyResult<Outcome> {
    let Task { point, seed } = outcome.task;
    match outcome.result {
        Ok(summary) => {
            let text = serde_json::to_string(&summary)
                .map_err(|error| RunError::new_err(error.to_string()))?;
            Ok((point, seed, Some(text), None))
        }
        Err(reason) => Ok((point, seed, None, Some(reason))),
    }
}
