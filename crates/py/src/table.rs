//! Arrow tables for Python, without copies.

use crate::errors::from_record;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator};
use arrow_schema::SchemaRef;
use arrow_schema::ffi::FFI_ArrowSchema;
use baton_sim::record;
use pyo3::exceptions::{PyImportError, PyModuleNotFoundError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::path::Path;

/// A table that Arrow libraries take without copies: `pyarrow.table(table)`, `polars.DataFrame(table)`.
///
/// Its schema's metadata describes columns and series as JSON, under `baton.series`, `baton.packets` or
/// `baton.signals`.
#[pyclass(frozen, module = "baton")]
pub(crate) struct Table {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl Table {
    /// Columns and metadata.
    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The rows.
    pub(crate) fn batches(&self) -> &[RecordBatch] {
        &self.batches
    }

    /// The table of a run; one in a file is read from `folder`.
    pub(crate) fn of(table: &record::Table, folder: Option<&Path>) -> PyResult<Table> {
        match table {
            record::Table::Batches { schema, batches } => Ok(Table {
                schema: schema.clone(),
                batches: batches.clone(),
            }),
            record::Table::File { name, .. } => {
                let path = folder.unwrap_or(Path::new("")).join(name);
                let (schema, batches) = record::read_table(&path).map_err(from_record)?;
                Ok(Table { schema, batches })
            }
        }
    }
}

impl From<RecordBatch> for Table {
    fn from(batch: RecordBatch) -> Table {
        Table {
            schema: batch.schema(),
            batches: vec![batch],
        }
    }
}

#[pymethods]
impl Table {
    /// The schema, by Arrow's PyCapsule interface.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.schema.as_ref())
            .map_err(|error| from_record(error.into()))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// The rows, by Arrow's PyCapsule interface. `requested_schema` is ignored, as the interface allows.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = self.batches.clone().into_iter().map(Ok);
        let reader = RecordBatchIterator::new(batches, self.schema.clone());
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// A `pandas.DataFrame`. Raises `ImportError` that says what to install.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        required(slf.py(), "pandas")?;
        let table = slf.py().import("pyarrow")?.call_method1("table", (slf,))?;
        table.call_method0("to_pandas")
    }

    /// A `polars.DataFrame`. Raises `ImportError` that says what to install.
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        required(slf.py(), "polars")?.call_method1("DataFrame", (slf,))
    }

    /// Names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<&str> {
        let fields = self.schema.fields().iter();
        fields.map(|field| field.name().as_str()).collect()
    }

    /// Returns the HTML that a notebook shows.
    fn _repr_html_(slf: &Bound<'_, Self>) -> PyResult<String> {
        let notebook = slf.py().import("baton.notebook")?;
        notebook.call_method1("table_html", (slf,))?.extract()
    }

    /// Number of rows.
    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    fn __repr__(&self) -> String {
        let columns = self.column_names().join(", ");
        format!("<baton.Table of {} rows: {columns}>", self.__len__())
    }
}

/// A package that not everyone has.
fn required<'py>(py: Python<'py>, package: &str) -> PyResult<Bound<'py, PyModule>> {
    py.import(package).map_err(|error| {
        if !error.is_instance_of::<PyModuleNotFoundError>(py) {
            return error;
        }
        let how = format!("{package} is not installed; install it with: pip install {package}");
        PyImportError::new_err(how)
    })
}
