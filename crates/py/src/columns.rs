//! Columns of tables, for Python as bytes that numpy takes as they are.

mod builder;

use crate::table::Table;
use baton_sim::record;
use builder::Builder;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;
use std::sync::Mutex;

/// A table in a Parquet file, read column by column or batch by batch.
#[pyclass(frozen, module = "baton._baton")]
pub(crate) struct TableFile(record::TableReader);

#[pymethods]
impl TableFile {
    /// Opens a file and reads its footer. Raises `ValueError`.
    #[new]
    fn new(path: PathBuf) -> PyResult<TableFile> {
        let opened = record::TableReader::open(&path);
        Ok(TableFile(opened.map_err(unreadable)?))
    }

    /// Number of rows.
    fn __len__(&self) -> usize {
        self.0.rows()
    }

    /// Returns the text under a key of the file's metadata; None without one.
    fn metadata(&self, key: &str) -> Option<&str> {
        self.0.schema().metadata().get(key).map(String::as_str)
    }

    /// Returns a column; with `chosen`, a byte for each row of the file, the rows whose byte is not zero. Raises
    /// `ValueError`.
    #[pyo3(signature = (name, chosen = None))]
    fn column(&self, py: Python<'_>, name: &str, chosen: Option<&[u8]>) -> PyResult<Column> {
        py.detach(|| {
            let mut column = Builder::new(self.0.schema(), name)?;
            let mut begin = 0;
            for batch in self.0.batches(&[name]).map_err(unreadable)? {
                let batch = batch.map_err(unreadable)?;
                let end = begin + batch.num_rows();
                let rows = chosen.map(|all| all.get(begin..end).unwrap_or_default());
                column.add(&batch, rows)?;
                begin = end;
            }
            Ok(column.finished())
        })
    }

    /// Returns some columns in batches of consecutive rows. Raises `ValueError`.
    fn batches(&self, columns: Vec<String>) -> PyResult<Batches> {
        let names: Vec<&str> = columns.iter().map(String::as_str).collect();
        let batches = self.0.batches(&names).map_err(unreadable)?;
        Ok(Batches(Mutex::new(batches)))
    }
}

/// Batches of a file, one after the other, as tables.
#[pyclass(frozen, module = "baton._baton")]
pub(crate) struct Batches(Mutex<record::TableBatches>);

#[pymethods]
impl Batches {
    /// Returns itself.
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    /// Returns the next batch. Raises `ValueError`.
    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Table>> {
        py.detach(|| {
            let next = self.0.lock().map_or(None, |mut batches| batches.next());
            next.map(|batch| batch.map(Table::from).map_err(unreadable))
                .transpose()
        })
    }
}

/// A column: numbers, names or lists of numbers.
#[pyclass(frozen, module = "baton._baton")]
pub(crate) struct Column {
    kind: &'static str,
    values: Vec<u8>,
    valid: Option<Vec<u8>>,
    names: Option<Vec<String>>,
    offsets: Option<Vec<i64>>,
}

#[pymethods]
impl Column {
    /// The type of `values`, as numpy writes it: "=i8", "|b1" for truth.
    #[getter]
    fn kind(&self) -> &str {
        self.kind
    }

    /// Numbers, one after the other: of each row the value; of names, its place in `names`, -1 without one; of lists,
    /// the elements. Anything where a row has no value.
    #[getter]
    fn values<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.values)
    }

    /// A byte for each row, zero where it has no value; None if all have one, and for names and lists.
    #[getter]
    fn valid<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        let valid = self.valid.as_ref()?;
        Some(PyBytes::new(py, valid))
    }

    /// Distinct strings of a column of names, in the order of the file; None for others.
    #[getter]
    fn names(&self) -> Option<Vec<String>> {
        self.names.clone()
    }

    /// Beginnings of the lists in `values`, and their end, as numbers of 64 bits; None for others.
    #[getter]
    fn offsets<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        let offsets = self.offsets.as_ref()?;
        let bytes: Vec<u8> = offsets.iter().flat_map(|at| at.to_le_bytes()).collect();
        Some(PyBytes::new(py, &bytes))
    }
}

/// Returns a column of a table in memory. Raises `ValueError` if there is none of this name.
#[pyfunction]
pub(crate) fn table_column(table: &Table, name: &str) -> PyResult<Column> {
    let mut column = Builder::new(table.schema(), name)?;
    for batch in table.batches() {
        column.add(batch, None)?;
    }
    Ok(column.finished())
}

fn unreadable(error: record::RecordError) -> PyErr {
    PyValueError::new_err(error.to_string())
}
