//! Results of a run, for Python.

use crate::errors::RunError;
use crate::table::Table;
use baton_sim::record::Tables;
use baton_sim::run::Results;
use pyo3::prelude::*;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Results of a run.
#[pyclass(frozen, module = "baton")]
pub(crate) struct Result {
    summary: Py<PyAny>,
    manifest: Py<PyAny>,
    complete: bool,
    folder: Option<PathBuf>,
    tables: Tables,
}

impl Result {
    pub(crate) fn new(py: Python<'_>, results: Results) -> PyResult<Result> {
        Ok(Result {
            summary: to_python(py, &results.summary)?,
            manifest: match &results.folder {
                // It says where recordings lie in the folder.
                Some(folder) => py
                    .import("baton.stored")?
                    .call_method1(
                        "read_manifest",
                        (pathlib(py, &folder.join("manifest.json"))?,),
                    )?
                    .unbind(),
                None => to_python(py, &results.manifest)?,
            },
            complete: results.manifest.complete,
            folder: results.folder,
            tables: results.tables,
        })
    }

    fn table(
        &self,
        py: Python<'_>,
        table: &Option<baton_sim::record::Table>,
    ) -> PyResult<Option<Table>> {
        let Some(table) = table else {
            return Ok(None);
        };
        py.detach(|| Table::of(table, self.folder.as_deref()))
            .map(Some)
    }
}

#[pymethods]
impl Result {
    /// Flows and handovers in numbers: the object that `baton run --json` prints.
    #[getter]
    fn summary(&self, py: Python<'_>) -> Py<PyAny> {
        self.summary.clone_ref(py)
    }

    /// Facts that are needed to repeat the run: version, seed, resolved scenario, hashes of traces and results.
    #[getter]
    fn manifest(&self, py: Python<'_>) -> Py<PyAny> {
        self.manifest.clone_ref(py)
    }

    /// True if the run reached its end.
    #[getter]
    fn complete(&self) -> bool {
        self.complete
    }

    /// The folder of the results; None if they are in memory only.
    #[getter]
    fn folder(&self) -> Option<PathBuf> {
        self.folder.clone()
    }

    /// Series: `time_ns`, `subject`, `series`, `value`. A run with a folder reads them from there each time.
    /// None if they were switched off.
    #[getter]
    fn series(&self, py: Python<'_>) -> PyResult<Option<Table>> {
        self.table(py, &self.tables.series)
    }

    /// Returns the HTML that a notebook shows.
    fn _repr_html_(slf: &Bound<'_, Self>) -> PyResult<String> {
        let notebook = slf.py().import("baton.notebook")?;
        notebook.call_method1("result_html", (slf,))?.extract()
    }

    /// One row for every packet on every link. A run with a folder reads them from there each time. None if
    /// they were switched off.
    #[getter]
    fn packets(&self, py: Python<'_>) -> PyResult<Option<Table>> {
        self.table(py, &self.tables.packets)
    }

    /// One row for every signalling message, and for every signal inside a host. A run with a folder reads them from
    /// there each time. None where no mobility protocol is spoken.
    #[getter]
    fn signals(&self, py: Python<'_>) -> PyResult<Option<Table>> {
        self.table(py, &self.tables.signals)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let summary = self.summary.bind(py);
        let (name, seed) = (summary.get_item("scenario")?, summary.get_item("seed")?);
        let end = if self.complete { "" } else { ", interrupted" };
        let place = match &self.folder {
            Some(folder) => format!(", in {}", folder.display()),
            None => String::new(),
        };
        Ok(format!(
            "<baton.Result of {}, seed {seed}{end}{place}>",
            name.repr()?
        ))
    }
}

/// A path as Python's own.
pub(crate) fn pathlib<'py>(py: Python<'py>, path: &Path) -> PyResult<Bound<'py, PyAny>> {
    py.import("pathlib")?.getattr("Path")?.call1((path,))
}

/// A value as Python's own dictionaries, lists and numbers, by way of JSON.
fn to_python(py: Python<'_>, value: &impl Serialize) -> PyResult<Py<PyAny>> {
    let text =
        serde_json::to_string(value).map_err(|error| RunError::new_err(error.to_string()))?;
    Ok(py.import("json")?.call_method1("loads", (text,))?.unbind())
}
